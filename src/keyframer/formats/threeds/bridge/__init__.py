"""The bridge between 3D Studio documents and scenes.

Reading, in the order of `scene`, which goes once through the document:

1. `editor` reads the settings (unit, background, fog), the materials, and the objects: meshes, cameras and lights as
   the 3D editor stores them, in scene space.
2. `nodes` reads the tree of the keyframer: names, parents, targets.
3. `tracks` reads the keys of all nodes together. Their first keys are the rest pose.
4. Cameras, lights and meshes are attached to their nodes. If stored vertices and keyframer disagree about the place of
   a mesh, `vertex_space` decides. Objects without a node get one.

`declared_fields` says once how fields of a scene are stored in chunks, for both directions; `context` has the options
and what all readers need: reports, sub-chunks, extras for chunks that are not read.

Writing, in the order of `writing`:

1. `write_nodes` takes the mirrors out of the nodes, fits their tracks to frames and places them at frame 0; then it
   writes one node after the other, with its object. `write_motion` writes tracks and finds targets, `write_objects`
   writes meshes, cameras, lights and materials.
2. The sections are put together: version, editor, keyframer.

An edited scene is written in the same way, but with the `original_conventions` of its document: names, numbers, pivots,
matrices. The merger in `writing` says which of its records correspond to those of the original, which keeps all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.catalogue import (
    DATA_OUT_OF_RANGE,
    LINK_COUNT_MISMATCH,
    LINK_PARENT_AFTER_CHILD,
    LINK_UNRESOLVED_NAME,
    SEM_EMPTY_TRACK,
    SEM_UNKNOWN_ENUM,
    SEM_UNKNOWN_VERSION,
)
from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_angles,
    check_boxes,
    check_depth,
    check_fields,
    check_file_name,
    check_flags,
    check_key_flags,
    check_name,
    check_negative_times,
    check_numbers,
    check_range,
    check_unique,
    check_zero_rows,
    shown,
)
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Options
from keyframer.formats.threeds.bridge.scene import to_linked_scene
from keyframer.formats.threeds.bridge.summary import describe, summarise
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.records import HideTrack
from keyframer.issues import Severity
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

# Field and longest name in 3D Studio, which truncates the longer names of other programs (an info: 9,416 of 10,112
# models of lighting fixtures have some).
_NAMES: dict[type[Chunk], tuple[str, int]] = {
    r.NamedObject: ("name", 10),
    r.NodeHeader: ("name", 10),
    r.InstanceName: ("name", 10),
    r.ParentName: ("name", 10),
    r.LightExclude: ("name", 10),
    r.ViewCamera: ("name", 10),
    r.MaterialName: ("name", 16),
    r.MaterialGroup: ("material", 16),
    r.KeyframerHeader: ("name", 12),
    r.ProcessName: ("name", 12),
}
_MAY_BE_EMPTY = (r.KeyframerHeader, r.InstanceName, r.ParentName, r.LightExclude, r.ViewCamera, r.ProcessName)
_FILE_NAMES: dict[type[Chunk], str] = {r.MapName: "name", r.BackgroundBitmap: "name", r.SpotMap: "name"}
_DOS_NAME = 12
"""length of the longest 8.3 file name"""

_KEY_FLAGS = 0x1F
_TRACK_FLAGS = 0xFFB
"""all bits except bit 2 and the upper four; bits 10 and 11 are the axis edited last, in 36 real files"""
_MAP_FLAGS = 0x3FB
_DUMMIES = (b"$$$DUMMY", b"DUMMY")

_TRACKS: tuple[type[Chunk], ...] = (
    *(r.PositionTrack, r.RotationTrack, r.ScaleTrack, r.FovTrack, r.RollTrack, r.ColorTrack),
    *(r.MorphTrack, r.HotspotTrack, r.FalloffTrack, r.HideTrack),
)
_CHECKED_BY_SCENE_READER: dict[type[Chunk], tuple[str, ...]] = {
    r.PointArray: ("points",),
    r.TextureVertices: ("uv",),
    r.Pivot: ("pivot",),
    r.MeshMatrix: ("x_axis", "y_axis", "z_axis", "origin"),  # a non-finite number makes the matrix singular
    r.Camera: ("position", "target", "bank"),
    r.Light: ("position",),
    r.Spotlight: ("target",),
    r.SpotRoll: ("roll",),
}
"""fields that the scene reader checks, in the first chunk of the kind in its parent"""
_CHECKED_ELSEWHERE: set[tuple[type[Chunk], str]] = {
    *((cls, "keys") for cls in _TRACKS),
    *((cls, field) for cls, fields in _CHECKED_BY_SCENE_READER.items() for field in fields),
    (r.BoundBox, "minimum"),  # a box with non-finite numbers is reported separately
    (r.BoundBox, "maximum"),
}


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    chunks = [*document.find(Chunk)]
    for chunk in chunks:
        check = _CHECKS.get(type(chunk))
        if check is not None:
            check(reporter, chunk)
        if scene is not None and len(chunk.children) > 1:
            _check_repeated(reporter, chunk)
    check_numbers(reporter, document, () if scene is None else _CHECKED_ELSEWHERE)
    objects = [chunk for chunk in chunks if isinstance(chunk, r.NamedObject)]
    materials = [chunk for chunk in chunks if isinstance(chunk, r.MaterialName)]
    check_unique(reporter, "objects", "name", ((named_object, named_object.name) for named_object in objects))
    check_unique(reporter, "materials", "name", ((material, material.name) for material in materials))
    _check_nodes(document, scene, {named_object.name for named_object in objects}, reporter)


def _check_name_in(reporter: Reporter, chunk: Chunk) -> None:
    field, longest = _NAMES[type(chunk)]
    name: bytes = getattr(chunk, field)
    if name or not isinstance(chunk, _MAY_BE_EMPTY):
        check_name(reporter, chunk, field, name, longest)


def _check_material_group(reporter: Reporter, group: r.MaterialGroup) -> None:
    _check_name_in(reporter, group)
    check_zero_rows(reporter, group, "faces", group.faces[:, None])


def _check_file_name_in(reporter: Reporter, chunk: Chunk) -> None:
    field = _FILE_NAMES[type(chunk)]
    check_file_name(reporter, chunk, field, getattr(chunk, field), _DOS_NAME)


def _check_repeated(reporter: Reporter, parent: Chunk) -> None:
    """Check numbers in repeated chunks, of which a scene uses only the first."""
    seen = set()
    for child in parent.children:
        cls = type(child)
        if cls in _CHECKED_BY_SCENE_READER:
            if cls in seen:
                check_fields(reporter, child, _CHECKED_BY_SCENE_READER[cls])
            seen.add(cls)


def _check_vertex_flags(reporter: Reporter, mesh: r.Mesh) -> None:
    points = next((child for child in mesh.children if isinstance(child, r.PointArray)), None)
    for flags in mesh.children:
        if isinstance(flags, r.PointFlags) and points is not None and len(flags.flags) < len(points.points):
            count = len(flags.flags)
            reporter.report(
                LINK_COUNT_MISMATCH, flags, "flags", claimed=len(points.points), what="vertex flags", found=count
            )


def _check_version(reporter: Reporter, record: r.Version | r.MeshVersion) -> None:
    if not 1 <= record.version <= 4:
        reporter.report(SEM_UNKNOWN_VERSION, record, "version", version=record.version, known="1 to 4")


def _check_lens(reporter: Reporter, camera: r.Camera) -> None:
    if not camera.lens > 0:
        value = f"{camera.lens:g}"
        reporter.report(DATA_OUT_OF_RANGE, camera, "lens", what="the lens", value=value, allowed="read as 50 mm")


def _check_cone(reporter: Reporter, spot: r.Spotlight) -> None:
    if not 0 <= spot.falloff <= _WIDEST_CONE:
        allowed = f"a cone has 0 to {_WIDEST_CONE} degrees"
        reporter.report(
            DATA_OUT_OF_RANGE, spot, "falloff", what="the falloff", value=f"{spot.falloff:g}", allowed=allowed
        )
    if spot.hotspot > spot.falloff:
        allowed = f"wider than the falloff of {spot.falloff:g}"
        reporter.report(
            DATA_OUT_OF_RANGE, spot, "hotspot", what="the hotspot", value=f"{spot.hotspot:g}", allowed=allowed
        )


_WIDEST_CONE = 180


def _check_choice(reporter: Reporter, record: Chunk, field: str, value: int, last: int) -> None:
    """Report a number outside an enumeration, as a warning because the layout does not depend on the number."""
    if not 0 <= value <= last:
        reporter.report(SEM_UNKNOWN_ENUM, record, field, severity=Severity.WARNING, value=value, known=f"0 to {last}")


def _check_track(reporter: Reporter, track: r.Track) -> None:
    keys: Keys = track.keys  # type: ignore[attr-defined]  # each class of tracks declares its own key layout
    check_flags(reporter, track, "flags", track.flags, _TRACK_FLAGS)
    if len(keys) == 0:
        reporter.report(SEM_EMPTY_TRACK, track, "keys", what="a track without keys")
        return
    check_key_flags(reporter, track, "keys", keys.flags, _KEY_FLAGS)
    check_negative_times(reporter, track, "keys", keys.time)  # the bridge reports huge times
    if isinstance(track, r.RotationTrack):
        check_angles(reporter, track, "keys", keys.value[:, 0])


_CHECKS: dict[type[Chunk], Callable[[Reporter, Any], None]] = {
    **dict.fromkeys(_NAMES, _check_name_in),
    **dict.fromkeys(_FILE_NAMES, _check_file_name_in),
    **dict.fromkeys(_TRACKS, _check_track),
    **dict.fromkeys((r.Version, r.MeshVersion), _check_version),
    r.MaterialGroup: _check_material_group,
    r.Mesh: _check_vertex_flags,
    r.Camera: _check_lens,
    r.Spotlight: _check_cone,
    r.Frames: lambda reporter, frames: check_range(reporter, frames, "end", frames.start, frames.end),
    r.MaterialShading: lambda reporter, chunk: _check_choice(reporter, chunk, "shading", chunk.shading, 4),
    r.MeshTextureInfo: lambda reporter, chunk: _check_choice(reporter, chunk, "type", chunk.type, 2),
    r.MapParameters: lambda reporter, chunk: check_flags(reporter, chunk, "flags", chunk.flags, _MAP_FLAGS),
    r.PointArray: lambda reporter, points: check_zero_rows(reporter, points, "points", points.points),
    r.FaceArray: lambda reporter, faces: check_zero_rows(reporter, faces, "faces", faces.faces[:, :3]),
    r.BoundBox: lambda reporter, box: check_boxes(
        reporter, box, "minimum", np.array([box.minimum]), np.array([box.maximum])
    ),
}
"""the rules for one chunk, by its class"""


def _check_nodes(document: Document, scene: Scene | None, objects: set[bytes], reporter: Reporter) -> None:
    """Check the order and depth of the keyframer's nodes, and whether their objects exist in the editor."""
    keyframer = document.first(r.Keyframer)
    if keyframer is None or scene is None:
        return
    records: list[Record] = [child for child in keyframer.children if isinstance(child, r.Node)]
    parents = [node.parent for node in scene.nodes[: len(records)]]
    for index, parent in enumerate(parents):
        if parent is not None and parent > index:
            name, parent_name = scene.nodes[index].name, scene.nodes[parent].name
            reporter.report(
                LINK_PARENT_AFTER_CHILD, records[index], name=shown(name.encode()), parent=shown(parent_name.encode())
            )
    check_depth(reporter, records, parents)
    if document.first(r.Editor) is not None:
        with_children = set(parents)
        for index, header in _headers(records):
            if header.name not in objects and header.name not in _DUMMIES:
                is_group = index in with_children and isinstance(records[index], r.ObjectNode)
                severity = Severity.INFO if is_group else None
                reporter.report(LINK_UNRESOLVED_NAME, header, "name", severity, kind="object", name=shown(header.name))


def _headers(nodes: list[Record]) -> Iterator[tuple[int, r.NodeHeader]]:
    """Yield index and headers of nodes, except ambient lights: these have no object in the editor."""
    for index, node in enumerate(nodes):
        if not isinstance(node, r.AmbientNode):
            yield from ((index, child) for child in node.children if isinstance(child, r.NodeHeader))


class StudioBridge(Bridge[Options]):
    options = Options
    check = staticmethod(apply_rules)
    summarise = staticmethod(summarise)
    describe = staticmethod(describe)

    def read(self, document: Document, options: Options) -> Scene:
        return to_linked_scene(document, options)[0]

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return where the keys of a channel are stored.

        Keys of a visibility track are sorted; the first, with the state before the first toggle, is not stored.
        """
        location = super().key_location(record, channel)
        if location is None or not isinstance(record, HideTrack):
            return location
        return location._replace(order=[None, *record.keys.time.argsort(kind="stable").tolist()])

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.threeds.bridge.writing import Merger, Writer

        return Writer(Merger())


BRIDGE = StudioBridge()
