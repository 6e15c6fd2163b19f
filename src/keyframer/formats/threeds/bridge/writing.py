"""Write a scene as a 3D Studio document that all readers show alike.

In a new document, vertices are stored in scene space at frame 0. The mesh matrix (chunk 4160) is the matrix of the
node at frame 0, and the keyframer has the same transform: readers with and without keyframer support show the same
picture.

An edited scene is merged into its document: `Merger` says how chunks of both correspond, and where new ones go.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules
from keyframer.formats.kit.mesh_welding import with_smoothing_groups
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    CannotMerge,
    Tolerance,
    Written,
    check_max_error,
    first_clip,
    report_rate,
    units_per_second,
    whole_frame,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Options, child
from keyframer.formats.threeds.bridge.declared_fields import (
    BACKGROUND_IMAGE,
    CAPABILITIES,
    CURRENT_TIME,
    ENVIRONMENT,
    SHADINGS,
    write_file_names,
)
from keyframer.formats.threeds.bridge.editor import METRES_PER_INCH
from keyframer.formats.threeds.bridge.nodes import Program
from keyframer.formats.threeds.bridge.original_conventions import OriginalConventions, find_conventions, object_of
from keyframer.formats.threeds.bridge.rigid_parts import without_skins
from keyframer.formats.threeds.bridge.scene import TICKS_PER_FRAME, Links, to_linked_scene
from keyframer.formats.threeds.bridge.write_motion import names_shapes
from keyframer.formats.threeds.bridge.write_nodes import NodeWriter
from keyframer.formats.threeds.bridge.write_objects import MapNames, material_names, write_material
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Clip, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport
from keyframer.scene.losses import CLIP_RANGE_CHANGED, LENGTHS_CONVERTED, READER_OPTION_NEEDED
from keyframer.text import encode_name
from keyframer.wire.record import Raw, Record

_WRITER = b"KEYFRAMER"
_ADVICE = "find_rate=true searches for a sufficient frame rate"
_MOST_NODES = 32_000
"""numbers of nodes have 16 bits with a sign, and the writer may add nodes: targets, and pieces of meshes"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing; the defaults suit the original programs."""

    fps: float = 30.0
    """frames per second, which the format does not store; 3D Studio plays 30"""
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the scene's size"""
    find_rate: bool = False
    """if whole frames cannot meet ``max_error``, search for a frame rate that does and report it (slow)"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive and finite, not {self.fps}")


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Return a document of the scene, the loss report, and the options that readers of the document need."""
        report = LossReport("3ds")
        if not scene.nodes and not scene.materials:
            raise CannotWrite("nothing to write: the scene has no objects or materials")
        converted = in_space(scene, Space("z", metres_per_unit=scene.space.metres_per_unit))
        converted = with_constant_shapes(converted, report, names_shapes)
        converted = with_smoothing_groups(converted, report)
        converted = without_skins(converted, Tolerance.of(converted, options.max_error), report)
        if len(converted.nodes) > _MOST_NODES:
            raise CannotWrite(
                f"{len(converted.nodes)} nodes are too many for a 3D Studio file: at most {_MOST_NODES} can be written"
            )
        clip = first_clip(converted, report)
        report_dropped(converted, clip, report, CAPABILITIES.handled)
        report_rate(clip, options.fps, report)
        reader_options: dict[str, object] = {} if options.fps == 30.0 else {"fps": options.fps}
        if reader_options:
            report.add(READER_OPTION_NEEDED, "/reading", name="fps", value=f"{options.fps:g}")
        fps, max_error, find_rate = options.fps, options.max_error, options.find_rate
        document, _ = write_document(
            converted, clip, fps, max_error, report, OriginalConventions(), find_rate=find_rate
        )
        return Written(document, report, reader_options=reader_options)


def write_document(
    scene: Scene,
    clip: Clip,
    fps: float,
    max_error: float,
    report: LossReport,
    original: OriginalConventions,
    *,
    find_rate: bool = False,
) -> tuple[Document, dict[int, tuple[str, int]]]:
    """Return the document of a scene, and the scene parts of its records, by `id` of the record."""
    rules = KeyRules(fps, 1.0, wraps=True, rate_advice=_ADVICE, find_rate=find_rate)
    fitter = KeyFitter(clip, rules, Tolerance.of(scene, max_error), report)
    nodes = NodeWriter(scene, fitter, report, original)
    maps = MapNames(report, as_given=bool(original.nodes))
    names = material_names(scene.materials, report, original.material_names)
    nodes.write_all(names, maps)
    materials = [write_material(material, name, maps) for material, name in zip(scene.materials, names, strict=True)]
    environment = write_file_names(scene.environment, BACKGROUND_IMAGE, maps.claim)
    environment += write_declared_fields(scene.environment, ENVIRONMENT)
    editor: list[Chunk] = [r.MeshVersion(3), *materials, _unit(scene, report), *environment, *nodes.objects]
    sections: list[Chunk] = [r.Version(3), r.Editor(children=list(editor))]
    if nodes.nodes or original.has_keyframer:
        sections.append(r.Keyframer(children=[*_keyframer_head(fitter, clip, report, original), *nodes.nodes]))
    material_parts = {id(chunk): ("materials", number) for number, chunk in enumerate(materials)}
    numbers = {name.lower(): number for number, name in reversed(list(enumerate(names)))}
    document = new_document(*sections)
    return document, nodes.parts | material_parts | face_group_materials(document, numbers)


def _unit(scene: Scene, report: LossReport) -> r.MasterScale:
    """Return the unit that the source states, or else 1, as in all 418 files of our corpus that have a master scale.

    A metre is no such statement, except in a 3D Studio file: it is the only unit of glTF, of games and of new Blender
    scenes, whatever their numbers mean. Readers that apply a master scale would scale such numbers by 39.37.
    """
    metres = scene.space.metres_per_unit
    if metres is None or (metres == 1.0 and scene.source_format != "3ds"):
        if metres is not None:
            report.add(
                LENGTHS_CONVERTED["not scaled"], "/space", reason="they are metres, and master scale 1 means inches"
            )
        return r.MasterScale(1.0)
    return r.MasterScale(metres / METRES_PER_INCH)


def face_group_materials(document: Document, numbers: Mapping[bytes, int]) -> dict[int, tuple[str, int]]:
    """Return the scene part (``("materials", 3)``) of each face group whose material exists, by the group's `id`.

    ``numbers`` are the numbers of the materials by name in lower case.
    """
    groups = [(id(group), group.material.lower()) for group in document.find(r.MaterialGroup)]
    return {group: ("materials", numbers[name]) for group, name in groups if name in numbers}


def _keyframer_head(fitter: KeyFitter, clip: Clip, report: LossReport, original: OriginalConventions) -> list[Chunk]:
    """Return the chunks before the nodes: header, active segment, current time."""
    begin, end = (float(value) for value in fitter.times([clip.start, clip.end]))
    first, last = whole_frame(begin), whole_frame(end)
    if (first, last) != (begin, end):
        report.add(CLIP_RANGE_CHANGED["segment"], "/clips/segment", unit_name="frames", first=first, last=last)
    current = 0.0 if clip.current is None else float(fitter.times(clip.current))
    current_frame = round(current) if math.isfinite(current) else 0
    if current_frame != current:
        report.add(CLIP_RANGE_CHANGED["current"], "/clips/current", frame=current_frame)
    header = r.KeyframerHeader(5, _WRITER, last)
    if original.has_keyframer:
        known = original.header or header
        header = r.KeyframerHeader(known.revision, encode_name(clip.name), known.length)
        if Program(known.revision, known.name).is_max:
            current_frame *= TICKS_PER_FRAME
    writes_current = clip.current is not None or not original.has_keyframer
    current_time = write_declared_fields(replace(clip, current=current_frame), CURRENT_TIME) if writes_current else []
    return [header, r.Frames(first, last), *current_time]


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
