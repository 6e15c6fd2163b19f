"""The bridge between Horde3D documents and scenes: `scene` reads what one to three files have, with the tree of
`scene_graph` and the material files that it names.

There is no writer: the engine's own converter makes its files from Collada, and materials refer to shaders that a scene
does not have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyframer.catalogue import DATA_OUT_OF_RANGE, DATA_QUATERNION_LENGTH, SEM_EMPTY_TRACK
from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.horde3d import SCENE_ENDING
from keyframer.formats.horde3d import document as d
from keyframer.formats.horde3d.bridge.materials import materials_beside
from keyframer.formats.horde3d.bridge.scene import KINDS, Options, geometry_beside, kind_of, to_scene
from keyframer.formats.kit.common_rules import check_name, check_numbers, check_unique
from keyframer.formats.kit.scene_reading import Reporter, companion_paths
from keyframer.formats.kit.summary_tables import Table, overview
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

_ENDINGS = {"model": SCENE_ENDING, "geometry": ".geo", "animation": ".anim"}
_COVERED = {
    *((cls, "frames") for cls in (d.Entity, d.OldEntity)),
    (d.Geometry, "inverse_bind"),
    (d.Stream, "values"),
    (d.MorphStream, "values"),
}
"""fields that reading a scene checks for non-finite numbers"""
_COLUMNS = {"rotation": (0, 16), "position": (16, 12), "scale": (28, 12)}
"""first byte and number of bytes of each kind of values in a frame"""


class HordeBridge(Bridge[Options]):
    options = Options
    internal_options = ("found", "materials")
    read = staticmethod(to_scene)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        entities = d.entities_of(document)
        for entity in entities:
            check_name(reporter, entity, "name", d.name_of(entity.name))
            length = np.sqrt((np.asarray(entity.frames["rotation"], np.float64) ** 2).sum(axis=1))
            wrong = np.flatnonzero(np.isfinite(length) & (np.abs(length - 1) > 0.01))
            if len(wrong):
                first = int(wrong[0])
                reporter.report(DATA_QUATERNION_LENGTH, entity, f"frames[{first}]", length=float(length[first]))
        check_unique(reporter, "entities", "name", ((entity, d.name_of(entity.name)) for entity in entities))
        top = document.first(d.Animation)
        if top is not None and not top.frame_count:
            reporter.report(SEM_EMPTY_TRACK, top, what="the animation has no frames")
        for stream in document.find(d.Stream):
            if stream.kind >= len(d.KINDS):
                allowed = f"kinds 0 to {len(d.KINDS) - 1} are known"
                reporter.report(DATA_OUT_OF_RANGE, stream, "kind", what="the kind", value=stream.kind, allowed=allowed)
            elif stream.element_size != d.SIZES[stream.kind]:
                self._report_size(reporter, stream, d.SIZES[stream.kind])
        for difference in document.find(d.MorphStream):
            if difference.element_size != 12:
                self._report_size(reporter, difference, 12)
        triangles = document.first(d.Triangles)
        if triangles is not None and triangles.corner_count % 3:
            allowed = "a triangle has three"
            count = triangles.corner_count
            reporter.report(
                DATA_OUT_OF_RANGE, triangles, "corner_count", what="the number of corners", value=count, allowed=allowed
            )
        check_numbers(reporter, document, () if scene is None else _COVERED)

    @staticmethod
    def _report_size(reporter: Reporter, stream: d.Stream | d.MorphStream, size: int) -> None:
        what, allowed = "the size of an element", f"{size} bytes are read"
        reporter.report(
            DATA_OUT_OF_RANGE, stream, "element_size", what=what, value=stream.element_size, allowed=allowed
        )

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Return options with the other files: those of the same stem in the same folder, and the geometry that a scene
        file names."""
        own = kind_of(document)
        if own is None:
            return {}
        found: dict[str, object] = {}
        for kind in KINDS:
            if kind == "geometry" and own == "animation" and "model" not in found:
                continue  # geometry alone has neither names nor a tree
            model = document if own == "model" else found.get("model")
            paths = [] if kind == own else companion_paths(path, _ENDINGS[kind])
            if kind == "geometry" and kind != own and isinstance(model, Document):
                named = geometry_beside(path, model)
                paths = [] if named is None else [named]
            for candidate in paths:
                try:
                    companion = d.decode(read_bytes(candidate))
                except (OSError, FormatError):
                    continue
                if companion.first(KINDS[kind]) is not None:
                    found[kind] = companion
                    break
        model = document if own == "model" else found.get("model")
        materials = materials_beside(path, model) if isinstance(model, Document) else {}
        if materials:
            found["materials"] = materials
        return {**found, "found": tuple(found)} if found else {}

    def summarise(self, document: Document) -> list[Table]:
        streams = Table("streams", "Streams", ("kind", "bytes per vertex", "vertices"))
        for stream in document.find(d.Stream):
            kind = d.KINDS[stream.kind].replace("_", " ") if stream.kind < len(d.KINDS) else str(stream.kind)
            streams.add(kind, stream.element_size, len(stream.values))
        animation = document.first(d.Animation)
        rows: list[tuple[str, str | int]] = [("kind of file", kind_of(document) or "unknown")]
        rows += [] if animation is None else [("frames of the animation", animation.frame_count)]
        return [overview(*rows), *([streams] if streams.rows else [])]

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        if not isinstance(record, d.Entity | d.OldEntity):
            return None
        return KeyLocation("frames", columns=_COLUMNS[channel.track.kind])


BRIDGE = HordeBridge()
