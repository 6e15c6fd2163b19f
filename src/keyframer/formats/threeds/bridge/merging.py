"""Merge an edited scene into its 3D Studio document: matching of chunks, and positions of new ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Tolerance, Written, first_clip, units_per_second
from keyframer.formats.kit.skin_writing import without_skins
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Links, child
from keyframer.formats.threeds.bridge.declared_fields import SHADINGS
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.bridge.original_conventions import find_conventions, object_of
from keyframer.formats.threeds.bridge.prepared_scene import PreparedScene
from keyframer.formats.threeds.bridge.scene import to_linked_scene
from keyframer.formats.threeds.bridge.write_tracks import names_shapes
from keyframer.formats.threeds.bridge.writing import face_group_materials, write_document
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.record import Raw, Record

_COLORS = (r.ColorFloat, r.ColorByte, r.ColorFloatGamma, r.ColorByteGamma)
_SHARES = (r.PercentInt, r.PercentFloat)
_GLOWS = (r.MaterialSelfIllumination, r.MaterialSelfIlluminated)
"""the second is the flag of older releases"""
_BYTES = (r.ColorByte, r.ColorByteGamma)


class StudioRules(RecordRules):
    flags: ClassVar = {
        (r.NodeHeader, "flags1"): 0,
        (r.NodeHeader, "flags2"): 0,
        (r.MapParameters, "flags"): 0,
        (r.Track, "flags"): 0,
        (r.FaceArray, "faces"): 3,
    }
    copied: ClassVar = (_COLORS,)
    outside: ClassVar = (r.MaterialGroup, r.SmoothGroups, r.FogBackground, r.DimBackground)

    def kind(self, record: Record) -> object:
        for alike in (_COLORS, _SHARES, _GLOWS):
            if isinstance(record, alike):
                return alike
        return r.Node if isinstance(record, r.Node) else type(record)

    def key(self, record: Record) -> Hashable:
        if isinstance(record, (r.NamedObject, r.LightExclude)):
            return record.name
        return record.material.lower() if isinstance(record, r.MaterialGroup) else None

    def adapt(self, theirs: Record, ours: Record) -> Record:
        """Return a colour in the type that the file uses; as floats if bytes are not exact."""
        if not isinstance(ours, _COLORS) or not isinstance(theirs, r.ColorFloat):
            return theirs
        whole = [part * 255 for part in theirs.rgb]
        if isinstance(ours, _BYTES) and all(abs(part - round(part)) < 1e-4 for part in whole):
            return type(ours)(tuple(min(max(round(part), 0), 255) for part in whole))
        gamma = isinstance(ours, (r.ColorByteGamma, r.ColorFloatGamma))
        return r.ColorFloatGamma(theirs.rgb) if gamma else theirs

    def place(self, parent: Record | None, siblings: Sequence[Record], new: Record) -> int | None:
        """Return the position of a new chunk.

        That is the last position, except that settings of the editor precede objects, chunks of a node follow its
        header, flags of an object precede its body, and faces follow vertices.
        """
        if isinstance(new, (r.Editor, r.Keyframer, r.KeyframerHeader, r.Frames, r.CurrentTime, r.MaterialName)):
            return None
        if isinstance(parent, r.Editor):
            before: tuple[type[Record], ...] = (r.NamedObject,)
            if isinstance(new, r.Material):
                return _after(siblings, (r.MeshVersion,))
            return next((i for i, sibling in enumerate(siblings) if isinstance(sibling, before)), len(siblings))
        if isinstance(parent, r.Node) and not isinstance(new, r.Track):
            return _after(siblings, (r.NodeHeader,))
        if isinstance(parent, r.NamedObject):
            return 0
        if isinstance(parent, r.Mesh) and isinstance(new, (r.PointArray, r.FaceArray)):
            return _after(siblings, (r.PointArray,))
        return len(siblings)

    def update_dependent_fields(self, record: Record) -> None:
        """Adjust the number of vertex flags to the number of vertices."""
        if not isinstance(record, r.Mesh):
            return
        points, flags = child(record, r.PointArray), child(record, r.PointFlags)
        if points is not None and flags is not None and len(flags.flags) != len(points.points):
            table = np.zeros(len(points.points), "<u2")
            common = min(len(table), len(flags.flags))
            table[:common] = flags.flags[:common]
            record.children = [r.PointFlags(table) if child is flags else child for child in record.children]


def _after(siblings: Sequence[Record], kinds: tuple[type[Record], ...]) -> int:
    return max((i + 1 for i, sibling in enumerate(siblings) if isinstance(sibling, kinds)), default=0)


class Merger(bridge.Merger[Options]):
    rules = StudioRules()
    stores_unit = True
    """chunk 0100 stores the unit of length"""
    equivalent_records = (*_COLORS, *_SHARES)
    """colours and percentages, which a new file stores as floats or integers"""

    def read(self, document: Document, options: Options) -> tuple[Scene, Links]:
        return to_linked_scene(document, options)

    def tree(self, document: Document, scene: Scene, links: Links) -> Tree:
        parts: dict[int, tuple[str, int]] = {}
        for number, node in enumerate(scene.nodes):
            for chunk in (links.nodes[number], object_of(links, node)):
                if chunk is not None:
                    parts.setdefault(id(chunk), ("nodes", number))
        numbers: dict[bytes, int] = {}
        for number, material in enumerate(links.materials):
            parts[id(material)] = ("materials", number)
            name = child(material, r.MaterialName)
            numbers.setdefault(b"" if name is None else name.name.lower(), number)
        return Tree(document, parts | face_group_materials(document, numbers))

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        report = LossReport("3ds")
        edited = scene is not original.scene
        scene = _with_known_shading(with_constant_shapes(scene, report, names_shapes), original)
        clip = first_clip(scene, report)
        conventions = find_conventions(scene, original, edited=edited)
        prepared = PreparedScene(
            scene, clip, units_per_second(clip), DEFAULT_MAX_ERROR, report, conventions=conventions
        )
        document, parts = write_document(prepared, clip, report)
        document.records = _wrapped_as_original(document, original.document)
        return Written(document, report, parts=parts)

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene without skins, with times in frames, since the file does not store a frame rate."""
        scene = without_skins(scene, Tolerance.of(scene, DEFAULT_MAX_ERROR), report)
        return super().normalise(scene, before, report)


def _wrapped_as_original(written: Document, original: Document) -> list[Record]:
    """Wrap the records of a new document as in the original.

    The original may be a project, a material library without an editor, or only an editor section.
    """
    wrapper = next((top for top in original.records if not isinstance(top, Raw)), None)
    (top,) = written.records
    editor = written.first(r.Editor)
    if wrapper is None or editor is None:
        return written.records
    if isinstance(wrapper, r.Editor):
        return [editor]
    outside = any(isinstance(child, r.Material) for child in wrapper.children)
    materials = [child for child in editor.children if isinstance(child, r.Material)] if outside else []
    if materials:
        editor.children = [child for child in editor.children if not isinstance(child, r.Material)]
    wrapped = type(wrapper)()
    wrapped.children = [*materials, *top.children]
    return [wrapped]


def _with_known_shading(scene: Scene, original: bridge.Original) -> Scene:
    """Restore the shading of materials whose new shading has no number in the format."""
    known = {new: original.scene.materials[old].shading for new, old in original.matching.materials.items()}
    materials = [
        material if material.shading in (None, *SHADINGS) else replace(material, shading=known.get(number))
        for number, material in enumerate(scene.materials)
    ]
    return replace(scene, materials=materials)
