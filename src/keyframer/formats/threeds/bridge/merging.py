"""Merge an edited scene into its 3D Studio document: reading, writing, matching and placing of chunks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    CannotMerge,
    Tolerance,
    Written,
    first_clip,
    units_per_second,
)
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Options, child
from keyframer.formats.threeds.bridge.declared_fields import SHADINGS
from keyframer.formats.threeds.bridge.original_conventions import find_conventions, object_of
from keyframer.formats.threeds.bridge.rigid_parts import without_skins
from keyframer.formats.threeds.bridge.scene import Links, to_linked_scene
from keyframer.formats.threeds.bridge.write_motion import names_shapes
from keyframer.formats.threeds.bridge.writing import face_group_materials, write_document
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.record import Raw, Record

_COLORS = (r.ColorFloat, r.ColorByte, r.ColorFloatGamma, r.ColorByteGamma)
_PERCENTAGES = (r.PercentInt, r.PercentFloat)
_SELF_ILLUMINATION = (r.MaterialSelfIllumination, r.MaterialSelfIlluminated)
"""the percentage, and the flag of older releases"""
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

    def kind(self, record: Record) -> object:
        for equivalent in (_COLORS, _PERCENTAGES, _SELF_ILLUMINATION):
            if isinstance(record, equivalent):
                return equivalent
        return r.Node if isinstance(record, r.Node) else type(record)

    def key(self, record: Record) -> Hashable:
        if isinstance(record, (r.NamedObject, r.LightExclude)):
            return record.name
        return record.material.lower() if isinstance(record, r.MaterialGroup) else None

    def adapt(self, theirs: Record, ours: Record) -> Record:
        """Return a colour in the type that the file uses (floats if bytes are inexact), and other records unchanged."""
        if not isinstance(ours, _COLORS) or not isinstance(theirs, r.ColorFloat):
            return theirs
        components = [component * 255 for component in theirs.rgb]
        if isinstance(ours, _BYTES) and all(abs(component - round(component)) < 1e-4 for component in components):
            return type(ours)(tuple(min(max(round(component), 0), 255) for component in components))
        gamma = isinstance(ours, (r.ColorByteGamma, r.ColorFloatGamma))
        return r.ColorFloatGamma(theirs.rgb) if gamma else theirs

    def place(self, parent: Record | None, siblings: Sequence[Record], new: Record) -> int | None:
        """Return the index of a new chunk in its parent: at the end, with these exceptions.

        Materials follow the mesh version, other settings of the editor precede objects, chunks of a node except tracks
        follow its header, chunks of an object come first, and faces follow vertices. The result is None for sections of
        the file, for header, segment and current time of the keyframer, and for names of materials: they are placed as
        in the newly written document.
        """
        if isinstance(new, (r.Editor, r.Keyframer, r.KeyframerHeader, r.Frames, r.CurrentTime, r.MaterialName)):
            return None
        if isinstance(parent, r.Editor):
            if isinstance(new, r.Material):
                return _index_after(siblings, r.MeshVersion)
            return next((i for i, sibling in enumerate(siblings) if isinstance(sibling, r.NamedObject)), len(siblings))
        if isinstance(parent, r.Node) and not isinstance(new, r.Track):
            return _index_after(siblings, r.NodeHeader)
        if isinstance(parent, r.NamedObject):
            return 0
        if isinstance(parent, r.Mesh) and isinstance(new, (r.PointArray, r.FaceArray)):
            return _index_after(siblings, r.PointArray)
        return len(siblings)

    def update_dependent_fields(self, record: Record, ours: Record) -> None:
        """Adjust the number of vertex flags if the number of vertices changed."""
        if not isinstance(record, r.Mesh) or not isinstance(ours, r.Mesh):
            return
        points, flags, old_points = child(record, r.PointArray), child(record, r.PointFlags), child(ours, r.PointArray)
        old_count = 0 if old_points is None else len(old_points.points)
        if points is not None and flags is not None and len(points.points) != old_count:
            table = np.zeros(len(points.points), "<u2")
            common = min(len(table), len(flags.flags))
            table[:common] = flags.flags[:common]
            record.children = [r.PointFlags(table) if child is flags else child for child in record.children]


def _index_after(siblings: Sequence[Record], kind: type[Record]) -> int:
    """Return the index after the last record of a kind; 0 if there is none."""
    return max((i + 1 for i, sibling in enumerate(siblings) if isinstance(sibling, kind)), default=0)


class Merger(bridge.Merger[Options]):
    rules = StudioRules()
    stores_unit = True
    """chunk 0100 stores the unit of length"""
    equivalent_records = (*_COLORS, *_PERCENTAGES)
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
        fps = units_per_second(clip)
        document, parts = write_document(scene, clip, fps, DEFAULT_MAX_ERROR, report, conventions)
        document.records = _wrapped_as_original(document, original.document)
        return Written(document, report, parts=parts)

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene without skins, with times in frames, since the file does not store a frame rate."""
        scene = without_skins(scene, Tolerance.of(scene, DEFAULT_MAX_ERROR), report)
        return super().normalise(scene, before, report)


def _wrapped_as_original(written: Document, original: Document) -> list[Record]:
    """Return the records of a new document in a top chunk of the original's kind.

    The original may be a project, a material library without an editor, or only an editor section.
    """
    original_top = next((record for record in original.records if not isinstance(record, Raw)), None)
    (top,) = written.records
    editor = written.first(r.Editor)
    if original_top is None or editor is None:
        return written.records
    if isinstance(original_top, r.Editor):
        if written.first(r.Node) is not None:
            raise CannotMerge("the file is only an editor section, which cannot contain a keyframer")
        return [editor]
    materials: list[Record] = []
    if any(isinstance(child, r.Material) for child in original_top.children):  # outside the editor
        materials = [child for child in editor.children if isinstance(child, r.Material)]
        editor.children = [child for child in editor.children if not isinstance(child, r.Material)]
    new_top = type(original_top)()
    new_top.children = [*materials, *top.children]
    return [new_top]


def _with_known_shading(scene: Scene, original: bridge.Original) -> Scene:
    """Restore the shading of materials whose new shading the format cannot store; new materials get none."""
    shadings = {new: original.scene.materials[old].shading for new, old in original.matching.materials.items()}
    materials = [
        material if material.shading in (None, *SHADINGS) else replace(material, shading=shadings.get(number))
        for number, material in enumerate(scene.materials)
    ]
    return replace(scene, materials=materials)
