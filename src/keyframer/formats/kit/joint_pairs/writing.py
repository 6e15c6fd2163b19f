"""Write a scene as an animation and its model, new or with the conventions of the original pair.

An animation is one table of frames: an edited one is written anew, with the original numbers of what did not change.
Header fields, trailing bytes and columns that no joint reads stay. Meshes and joints of the model that did not change
keep their records.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from keyframer.arrays import Floats, Singles
from keyframer.formats import bridge
from keyframer.formats._matching import Path
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count, rate_of_keys
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.pair_writer import (
    OriginalPair,
    PairWriter,
    has_free_vertices,
    stored_columns,
    texture_of,
)
from keyframer.formats.kit.joint_pairs.reading import Options, pair_of, read_companion_document, to_scene
from keyframer.formats.kit.joint_pairs.records import BOUNDS_FLOATS, COMPONENTS, Frames, Joint, Mesh
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.rigid_joints import (
    Joints,
    find_joint_nodes,
    joints_at,
    joints_in_original_order,
    parent_joints,
    parents_first,
    report_frames,
    sample_joints,
    unscaled_joints_at,
)
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    CannotMerge,
    Written,
    first_clip,
    frames_per_second,
    plain_path,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene, Space
from keyframer.scene.clip import FASTEST
from keyframer.scene.loss_report import CannotWrite, LossReport
from keyframer.scene.losses import (
    BOUNDS_RECOMPUTED,
    MATERIALS_UNSUPPORTED,
    MESHES_UNSUPPORTED,
    RATE_CHANGED,
)

CAPABILITIES = Capabilities(
    ("parents", "meshes", "materials", "textures", "skins", "pivots", "bounds", "frames"),
    reported=("scale axes",),  # with the scale, which is applied to the vertices
)
_POSED_AT_ONCE = 4_000_000
"""largest product of vertices and frames that are posed at once"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options. An animation and its model are two files."""

    files: ClassVar[tuple[str, ...]] = ("animation", "model")
    file: str = "animation"
    """the file to write: ``animation`` or ``model``; the other one is its companion"""
    companion: bool = True
    """whether the other file is written, too; an animation only if a joint moves"""
    fps: int | None = None
    """frames per second; None: those of the clip, rounded to a whole number, or up to 120 at which no key of the clip
    is between frames"""
    max_error: float = DEFAULT_MAX_ERROR
    """not used: every frame is written"""

    def __post_init__(self) -> None:
        if self.file not in self.files:
            raise ValueError(f"file must be {' or '.join(self.files)}, not {self.file!r}")
        if self.fps is not None and not 0 < self.fps <= FASTEST:
            raise ValueError(f"fps must be a positive whole number up to {FASTEST:g}, not {self.fps}")


class Writer(SceneWriter[WriteOptions]):
    options: type[WriteOptions] = WriteOptions
    capabilities = CAPABILITIES

    def __init__(self, family: Family, merger: Merger) -> None:
        super().__init__(merger)
        self.family = family

    def layout(self, options: WriteOptions) -> dict[str, Any]:
        """Return arguments for new documents that follow from further options of a format."""
        return {}

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Write the animation (or the model) of a scene, and the other file; report losses."""
        family, layout = self.family, self.layout(options)
        report = LossReport(family.name)
        converted = in_space(scene, Space("z", metres_per_unit=scene.space.metres_per_unit, v_up=False))
        converted = with_constant_shapes(converted, report)
        clip = first_clip(converted, report)
        implied, numbered = _implied(converted)
        report_dropped(converted, clip, report, CAPABILITIES.handled | implied)
        fps = options.fps or rate_of_keys(clip)
        if not math.isclose(fps, clip.frames_per_second):
            report.add(RATE_CHANGED["sampled"], "/clips/rate", fps=fps, clip_fps=clip.frames_per_second)
        joints = sample_joints(converted, clip, float(fps), report, depth_first=False)
        for name in numbered:
            report.forget(plain_path("nodes", name))
        if not joints.nodes:
            raise CannotWrite("nothing to write: the scene has no joints and no meshes")
        if has_free_vertices(converted, range(len(converted.nodes))):
            joints = joints.with_anchor()
        writer = PairWriter(converted, joints, report)
        meshes = [mesh for records in writer.meshes().values() for mesh in records]
        model = family.new_model(meshes, writer.bound_joints(), **layout) if meshes else None
        if options.file == "model":
            if model is None:
                raise CannotWrite("nothing to write: the scene has no meshes")
            animation = _animation(family, writer, clip, fps, layout, report)
            companion = ((family.animation_ending, family.encode(animation)),)
            return Written(model, report, companion if options.companion and joints.moves() else ())
        document = _animation(family, writer, clip, fps, layout, report)
        if model is None or not options.companion:
            if model is not None:
                report.add(MESHES_UNSUPPORTED["not requested"], "/meshes")
            return Written(document, report)
        return Written(document, report, ((family.model_ending, family.encode(model)),))

    def options_for(self, suffix: str) -> dict[str, object]:
        """Return the writer option that selects the file of the pair with this suffix."""
        file = {self.family.animation_ending: "animation", self.family.model_ending: "model"}.get(suffix)
        return {} if file is None else {"file": file}


def _implied(scene: Scene) -> tuple[set[str], list[str]]:
    """Return the features that readers give to every file, and the names of the nodes that they add for meshes: these
    arrive without being stored. Surfaces are smooth and white; meshes, their skins and their nodes are numbered.
    """
    names = [f"mesh{number}" for number in range(len(scene.meshes))]
    found = {
        "smoothing": all(mesh.smoothing is not None and (mesh.smoothing == 1).all() for mesh in scene.meshes),
        "materials.diffuse": all(material.diffuse in (None, (1.0, 1.0, 1.0)) for material in scene.materials),
        "meshes.name": [mesh.name for mesh in scene.meshes] == names,
        "skins.name": [skin.name for skin in scene.skins] == names,
    }
    skinned = [node for node in scene.nodes if node.skin is not None and node.parent is None and not np.any(node.pivot)]
    added = [node.name for node in skinned if node.name == f"mesh{node.mesh}" == f"mesh{node.skin}"]
    return {name for name, is_implied in found.items() if is_implied}, added


def _animation(
    family: Family, writer: PairWriter, clip: Clip, fps: int, layout: dict[str, Any], report: LossReport
) -> Document:
    """Write an animation with components only for values that change: a flag for each of Tx Ty Tz Qx Qy Qz."""
    joints, records = writer.joints, []
    moving: list[Singles] = []
    for record, columns in writer.animated_joints(clip):
        record.flags = sum(1 << bit for bit in columns)
        record.start_index = len(moving) if columns else 0
        moving += columns.values()
        records.append(record)
    count = len(joints.times)
    report_frames(writer.scene, clip, fps, joints, "joint", report)
    if clip.bounds is not None:
        report.add(BOUNDS_RECOMPUTED, "/clips/bounds")
    rows = np.stack(moving, axis=1) if moving else np.zeros((count, 0), np.float32)
    return family.new_animation(records, rows, bounds=boxes(writer.scene, joints), frame_rate=fps, **layout)


def boxes_at(scene: Scene, times: Floats) -> Floats:
    """Return (T, 2, 3) boxes at these times of the clip."""
    joint_nodes, parents = find_joint_nodes(scene)
    nodes = parents_first(parents, sorted(joint_nodes))
    return boxes(scene, joints_at(scene, nodes, parent_joints(nodes, parents), times)[0])


def boxes(scene: Scene, joints: Joints) -> Floats:
    """Return (T, 2, 3) boxes of the posed vertices; of the joints if there are no vertices."""
    origins = joints.rigid[..., :3, 3]
    low, high = origins.min(axis=1), origins.max(axis=1)
    mesh_nodes = [
        i for i, node in enumerate(scene.nodes) if node.mesh is not None and len(scene.meshes[node.mesh].positions)
    ]
    if not mesh_nodes:
        return np.stack([low, high], axis=1) + 0.0  # whether 0 or -0 is found depends on the processor
    low, high = np.full_like(low, np.inf), np.full_like(high, -np.inf)
    weights = joints.rig.properties.morph_weights(joints.rig.sample(joints.times), len(joints.times))
    for number in mesh_nodes:
        count = len(scene.meshes[scene.nodes[number].mesh or 0].positions)
        step = max(1, _POSED_AT_ONCE // count)
        vertex_weights = weights.get(number)
        for begin in range(0, len(joints.times), step):
            block = slice(begin, begin + step)
            points = posed_vertices(
                scene, number, joints.world[block], None if vertex_weights is None else vertex_weights[block]
            )
            np.minimum(low[block], points.min(axis=1), out=low[block])
            np.maximum(high[block], points.max(axis=1), out=high[block])
    return np.stack([low, high], axis=1) + 0.0


_SKIN_FIELDS = ("joints", "inverse_bind", "vertex_indices", "joint_indices", "weights", "positions")


class Merger(bridge.Merger[Options]):
    is_table = True

    def __init__(self, family: Family) -> None:
        self.family = family
        self.companion_endings = (("model", family.model_ending), ("animation", family.animation_ending))
        """option and suffix of each file that can be the companion"""

    def read(self, document: Document, options: Options) -> tuple[Scene, OriginalPair]:
        scene = to_scene(self.family, document, options)
        return scene, OriginalPair(*pair_of(self.family, document, options), scene)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        """Return the file that was loaded, and the other one of the pair as an option for reading."""
        pair = _remaining(scene, original)
        _refuse(scene, pair)
        family = self.family
        report = LossReport(family.name)
        clip = first_clip(scene, report)
        count = frame_count(clip) if len(pair.rows) else 0
        order, _ = joints_in_original_order(scene, pair.numbers, depth_first=False)
        joints = unscaled_joints_at(scene, order, np.arange(max(count, 1), dtype=np.float64), pair.numbers)
        if has_free_vertices(scene, set(range(len(scene.nodes))) - pair.mesh_numbers.keys()):
            joints = joints.with_anchor()
        writer = PairWriter(scene, joints, report, pair)
        meshes = writer.meshes()
        _report_unused_materials(scene, report)
        documents: dict[str, Document] = {}
        if pair.animation is not None:
            documents["animation"] = replace(pair.animation, records=[_merged_animation(family, writer, clip, count)])
        if pair.model is not None or meshes:
            documents["model"] = _model(family, writer, [mesh for records in meshes.values() for mesh in records])
        main = documents.pop(family.kind(original.document))
        parts = {number: ("nodes", node) for number, node in enumerate({*joints.nodes, *meshes} - {-1})}
        return Written(main, report, reader_options={**documents, "found": ""} if documents else {}, parts=parts)

    def stores(self, scene: Scene, path: Path) -> bool:
        match path:
            case ("nodes", int(number), "name" | "parent" | "position" | "rotation_xyzw"):
                return scene.nodes[number].skin is None
            case ("clips", 0, "channels", int(), "position" | "rotation") | ("clips", 0, "rate" | "end" | "bounds"):
                return True
            case ("meshes", int(), "positions" | "corners" | "uv"):
                return True
            case ("meshes", int(number), "face_materials"):
                materials = scene.meshes[number].face_materials
                return materials is not None and bool(
                    (materials >= 0).all() and (materials < len(scene.materials)).all()
                )
            case ("materials", int(number), "name"):
                return texture_of(scene.materials[number]) in ("", scene.materials[number].name)
            case ("materials", int(), "maps", *slot):
                return not slot or slot == ["texture1", "file_name"]
            case ("skins", int(), name):
                return name in _SKIN_FIELDS
        return False

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with a value and a box for every frame; unchanged if the original has no frames."""
        boxes = before.clips[0].bounds if before.clips else None
        if not scene.clips or boxes is None or not len(boxes):
            return scene
        scene = at_whole_frames(scene, max(round(frames_per_second(scene.clips[0])), 1), report)
        clip, frames = scene.clips[0], int(scene.clips[0].end) + 1
        if clip.bounds is not None and len(clip.bounds) == frames:
            return scene
        report.add(BOUNDS_RECOMPUTED, "/clips/bounds")
        bounds = boxes_at(scene, np.arange(frames, dtype=np.float64))
        return replace(scene, clips=[replace(clip, bounds=bounds), *scene.clips[1:]])

    def keeps_layout(self, original: Document, requested: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        """Return whether the layout stays and the requested file of the pair exists."""
        file = requested.get("file", self.family.kind(original))
        if not set(requested) <= {"dialect", "file"} or (
            file != self.family.kind(original) and options.get(file) is None
        ):
            return False
        return "dialect" not in requested or str(requested["dialect"]) == str(original.dialect)

    def choose_file(self, written: Written, requested: Mapping[str, Any]) -> Written:
        family, kind = self.family, self.family.kind(written.document)
        if requested.get("file", kind) == kind or not written.companions:
            return written
        ((_, data),) = written.companions
        suffix = dict(self.companion_endings)[kind]
        return Written(family.decode(data), written.report, ((suffix, family.encode(written.document)),))

    def companion_files(self, document: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        for name, suffix in self.companion_endings:
            if options.get(name) is not None:
                companion = read_companion_document(self.family, options[name], f"the {name}")
                return ((suffix, self.family.encode(companion)),)
        return ()

    def companion_options(self, written: Written) -> dict[str, object]:
        names = {suffix: name for name, suffix in self.companion_endings}
        return {names[suffix]: self.family.decode(data) for suffix, data in written.companions}


def _remaining(scene: Scene, original: bridge.Original) -> OriginalPair:
    """Return the original with the numbers of the joints and meshes that are left; joints come first in its scene."""
    pair: OriginalPair = original.links
    pairs = sorted(original.matching.nodes.items(), key=lambda numbers: numbers[1])
    count = len(pair.names)
    return replace(
        pair,
        numbers={new: old for new, old in pairs if old < count},
        mesh_numbers={new: old - count for new, old in pairs if old >= count},
        changes=original.changes,
    )


def _refuse(scene: Scene, pair: OriginalPair) -> None:
    """Raise `CannotMerge` for edits that the files of the original cannot store."""
    if bool(scene.clips) != (pair.animation is not None):
        raise CannotMerge("a clip was added to a model without an animation" if scene.clips else "the clip was removed")
    if pair.animation is None and any(pair.is_moved(node, kind) for node in pair.numbers for kind in _MOTION):
        raise CannotMerge("a joint moved in a model, which has only the bind pose of its skins")
    channels = scene.clips[0].channels if scene.clips else []
    if not len(pair.rows) and any(channel.track.kind in _MOTION for channel in channels):
        raise CannotMerge("tracks were added to an animation without frames")


_MOTION = ("position", "rotation")


def _report_unused_materials(scene: Scene, report: LossReport) -> None:
    meshes = [scene.meshes[node.mesh] for node in scene.nodes if node.mesh is not None]
    used = {
        number for mesh in meshes if mesh.face_materials is not None for number in set(mesh.face_materials.tolist())
    }
    for number, material in enumerate(scene.materials):
        if number not in used:
            report.add(MATERIALS_UNSUPPORTED["unused"], plain_path("materials", material.name))


def _merged_animation(family: Family, writer: PairWriter, clip: Clip, count: int) -> Any:
    """Return the animation with new joints and frames; without frames, only its joints change."""
    pair = writer.original
    assert pair.animation is not None
    animation: Any = copy.copy(pair.animation.first(family.animation))
    assert animation is not None
    animation.frame_rate = int(clip.rate)
    written = list(writer.animated_joints(clip))
    joints = [joint for joint, _ in written]
    frames = copy.copy(pair.animation.first(Frames))
    if frames is not None and count:
        boxes = np.asarray(clip.bounds, "<f4").reshape(count, -1)
        if ("clips", 0, "bounds") not in pair.changes:
            boxes = pair.rows[:, :BOUNDS_FLOATS]
        old = [pair.numbers.get(node) for node in writer.joints.nodes]
        columns = [columns for _, columns in written]
        frames.rows = np.column_stack([boxes, *_arranged(pair, count, joints, old, columns)])
    animation.children = [*joints, *([] if frames is None else [frames])]
    return animation


def _arranged(
    pair: OriginalPair,
    count: int,
    joints: list[Joint],
    old_numbers: list[int | None],
    new_columns: list[dict[int, Singles]],
) -> list[Singles]:
    """Return the columns of the frames, and set flags and first columns of the joints.

    A joint with the same components as before keeps the place of its columns, unless another joint reads them, too.
    Other columns are appended. Columns that no joint reads any more are removed; those that none ever read stay, with
    the nearest frames if there are more or fewer of them.
    """
    nearest = np.rint(np.linspace(0, len(pair.rows) - 1, count)).astype(np.int64)
    columns: list[Singles] = list(pair.rows[nearest, BOUNDS_FLOATS:].T)
    readers = Counter(at for old in old_numbers if old is not None for at in _places(pair.joints[old]))
    for joint, old, new in zip(joints, old_numbers, new_columns, strict=True):
        places = range(0) if old is None else _places(pair.joints[old])
        joint.flags = joint.flags >> COMPONENTS << COMPONENTS | sum(1 << bit for bit in new)
        if old is not None and list(new) == pair.joints[old].moving:
            stored = stored_columns(pair.rows, pair.joints[old])
            if all(new[bit].tobytes() == stored[bit].tobytes() for bit in new):
                continue
            if all(readers[at] == 1 for at in places):
                columns[places.start : places.stop] = new.values()
                continue
        readers.subtract(places)
        if new:
            joint.start_index = len(columns)
            columns += new.values()
    read_before = {at for joint in pair.joints for at in _places(joint)}
    read_now = {at for joint in joints for at in _places(joint)}
    kept = [at for at in range(len(columns)) if at in read_now or at not in read_before]
    place = {at: number for number, at in enumerate(kept)}
    for joint in joints:
        if joint.moving:
            joint.start_index = place[joint.start_index]
    return [columns[at] for at in kept]


def _places(joint: Joint) -> range:
    """Return the columns of a joint, after the box."""
    return range(joint.start_index, joint.start_index + len(joint.moving))


def _model(family: Family, writer: PairWriter, meshes: list[Mesh]) -> Document:
    pair = writer.original
    original = pair.model
    if original is None:
        assert pair.animation is not None
        original = Document(pair.animation.format, [family.model()], dialect=pair.animation.dialect)
    model = copy.copy(original.first(family.model))
    assert model is not None
    model.children = family.in_order(meshes, writer.bound_joints())
    return replace(original, records=[model])
