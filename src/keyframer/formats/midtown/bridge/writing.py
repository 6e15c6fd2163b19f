"""Write a scene as a Midtown clip (the path of the first bone and the rotations of all bones) and its skeleton, new or
with the conventions of the original clip and skeleton. Models are not written.

A clip is one table: an edited one is written anew. Header fields, channels that move no bones, and the numbers of
tracks that did not change are those of the original. Names, offsets and the tree of bones are in the text of the
skeleton, which is rewritten if one of them changed; other words of the bones stay.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import RotationForm, Track
from keyframer.formats import bridge
from keyframer.formats._matching import Path
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count
from keyframer.formats.kit.rigid_joints import (
    Joints,
    joints_in_original_order,
    report_frames,
    sample_joints,
    unscaled_joints_at,
)
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    CannotMerge,
    Tolerance,
    UniqueByteNames,
    Written,
    check_max_error,
    first_clip,
    plain_path,
    report_rate,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.scene import (
    Options,
    model_document,
    own_text,
    posed_channel,
    skeleton_of,
    stored_path,
    to_scene,
)
from keyframer.formats.midtown.document import decode, encode, new_document
from keyframer.formats.midtown.records import Dialect, ModelText, make_channel
from keyframer.formats.midtown.skeleton import Bone, Skeleton, default_skeleton, read_skeleton, write_skeleton
from keyframer.formats.midtown.sniff import FARTHEST
from keyframer.maths.euler import angles_of, continuous_angles_of
from keyframer.scene import Channel, Clip, NodeKind, RawChannel, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport
from keyframer.scene.losses import (
    LENGTHS_CONVERTED,
    MOTION_UNSUPPORTED,
    NODES_UNSUPPORTED,
    RAW_CHANNEL_LENGTH,
    READER_OPTION_NEEDED,
)
from keyframer.text import encode_name
from keyframer.wire.record import Record

CAPABILITIES = Capabilities(("parents", "frames"))
_FILES = {".anim": "clip", ".skel": "skeleton", ".mod": "model"}
"""the file that an extension selects"""
NOISE = 1e-9
"""metres or radians: smaller numbers are rounding errors of matrices and become 0"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing; the defaults follow the retail game."""

    dialect: str = "retail"
    """``retail``, ``beta`` or ``old``"""
    file: str = "clip"
    """what is written under the name of the output: the ``clip``, or its ``skeleton``; the other is written next to it.
    The extension of the output decides (``.anim``, ``.skel``)
    """
    skeleton: bool = True
    """whether the bones' names, offsets and tree are written next to the clip, as a ``.skel``"""
    distance: float | None = None
    """forward distance of one loop in metres along -Z; None: that of the source if it is a Midtown clip that was not
    read in place, else 0
    """
    euler_order: str = "YZX"
    """order of the rotations about X (roll), Y (pitch) and Z (heading), as in the options for reading"""
    fps: float = 30.0
    """frames per second, which the format does not store"""
    max_error: float = DEFAULT_MAX_ERROR
    """fraction of the scene's size: bones that move farther than this relative to their parent are reported (not the
    first bone, whose path is written)
    """

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        Options(euler_order=self.euler_order, fps=self.fps)
        if self.dialect not in {dialect.value for dialect in Dialect}:
            known = ", ".join(dialect.value for dialect in Dialect)
            raise ValueError(f"dialect must be one of {known}, not {self.dialect!r}")
        if self.file not in _FILES.values():
            raise ValueError(f"file must be clip or skeleton, not {self.file!r}")


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Write a scene as a clip with its skeleton, and report losses."""
        if options.file == "model":
            raise CannotWrite("models of Midtown Madness 2 cannot be written: choose .anim, .skel or another format")
        report = LossReport("midtown")
        converted = in_space(scene, Space("y", metres_per_unit=1.0, v_up=scene.space.v_up))
        if scene.space.metres_per_unit != 1.0:
            report.add(LENGTHS_CONVERTED["not scaled"], "/space", reason="this format uses metres")
        clip = first_clip(converted, report)
        report_rate(clip, options.fps, report)
        layout = Dialect(options.dialect)
        report_dropped(
            converted, clip, report, CAPABILITIES.handled | ({"raw channels"} if layout is Dialect.BETA else set())
        )
        joints = sample_joints(converted, clip, options.fps, report, depth_first=True)
        if not joints.nodes:
            raise CannotWrite("nothing to write: the scene has no bones or objects")
        rows = np.concatenate([joints.positions[:, 0], angles(joints, options.euler_order)], axis=1)
        rows[np.abs(rows) <= NOISE] = 0.0
        if not np.abs(rows).max() <= FARTHEST:
            largest = np.abs(rows).max()
            raise CannotWrite(
                f"a position or angle of {largest:g} is too large for a Midtown clip (limit: {FARTHEST:g})"
            )
        is_clip = options.file == "clip"
        if is_clip and not (rows != rows[:1]).any() and scene.source_format != "midtown":
            raise CannotWrite("nothing to write: no bone or object rotates, and the first one does not move")
        report_lost_motion(converted, joints, Tolerance.of(converted, options.max_error), report, set(joints.nodes))
        channels = [make_channel(rows, _distance(clip, options))]
        if layout is Dialect.BETA:
            channels += _raw_channels(clip, len(rows), report)
        report_frames(converted, clip, options.fps, joints, "bone", report, positioned=1)
        document = new_document(channels, layout=layout)
        companions: tuple[tuple[str, bytes], ...] = ()
        if options.skeleton or not is_clip:
            skeleton = write_skeleton(_skeleton(converted, joints, report))
            companions = ((".skel", skeleton),) if is_clip else ((".anim", encode(document)),)
            document = document if is_clip else decode(skeleton)
        else:
            report.add(NODES_UNSUPPORTED["skeleton"], "/parents")
        reader_options: dict[str, object] = {}
        if options.euler_order != "YZX":
            reader_options["euler_order"] = options.euler_order
        if options.fps != 30.0:
            reader_options["fps"] = options.fps
        for name, value in reader_options.items():
            report.add(READER_OPTION_NEEDED, "/reading", name=name, value=value)
        return Written(document, report, companions, reader_options)

    def options_for(self, suffix: str) -> dict[str, object]:
        return {"file": _FILES[suffix]} if suffix in _FILES else {}


def angles(joints: Joints, order: str) -> Floats:
    """Return (T, 3 J) roll, pitch and heading: angles about X, Y, Z, without jumps."""
    return continuous_angles_of(joints.rotations_xyzw, order).reshape(len(joints.times), -1)


def _distance(clip: Clip, options: WriteOptions) -> float:
    if options.distance is not None:
        return options.distance
    stored: Any = clip.extras.get("midtown", {})
    distance = stored.get("distance", 0.0)
    return float(distance) if math.isfinite(distance) and not stored.get("in_place") else 0.0


def report_lost_motion(
    scene: Scene, joints: Joints, tolerance: Tolerance, report: LossReport, nodes: Collection[int]
) -> None:
    """Report the lost translation of bones: all but the first can only rotate."""
    distances = np.sqrt(((joints.positions - joints.positions[:1]) ** 2).sum(axis=-1)).max(axis=0)
    for joint in np.flatnonzero(distances > tolerance.length).tolist():
        if joint and joints.nodes[joint] in nodes:
            path = f"{plain_path('nodes', scene.nodes[joints.nodes[joint]].name)}/position"
            report.add(MOTION_UNSUPPORTED["position"], path, unit="scene unit", error=float(distances[joint]))


def _raw_channels(clip: Clip, frames: int, report: LossReport) -> list[r.Channel]:
    channels = []
    for raw in clip.raw_channels:
        stored: Any = raw.extras.get("midtown", {})
        if len(raw.values) != frames:
            path = plain_path("raw_channels", raw.name)
            report.add(MOTION_UNSUPPORTED["raw frames"], path, count=len(raw.values), frames=frames)
            continue
        channels.append(make_channel(raw.values, stored.get("distance", 0.0), stored.get("type", 0)))
    return channels


def _skeleton(scene: Scene, joints: Joints, report: LossReport) -> Skeleton:
    maker = BoneMaker(scene, report)
    return Skeleton(tuple(maker.bone(joints, joint) for joint in range(len(joints.nodes))), len(joints.nodes))


class BoneMaker:
    """Makes bones for a skeleton, with unique names without white space and braces."""

    def __init__(self, scene: Scene, report: LossReport, reserved: Iterable[bytes] = ()) -> None:
        self.scene, self.report = scene, report
        self.names = UniqueByteNames(reserved=reserved)

    def bone(self, joints: Joints, joint: int) -> Bone:
        """Return a bone for a joint, with its offset at the first frame."""
        node = self.scene.nodes[joints.nodes[joint]]
        x, y, z = (float(np.float32(value)) if abs(value) > NOISE else 0.0 for value in joints.positions[0, joint])
        stored: Any = node.extras.get("midtown", {})
        return Bone(
            self.claim(joints.nodes[joint]),
            joints.parents[joint],
            (x, y, z),
            tuple(encode_name(word) for word in stored.get("words", ())),
        )

    def claim(self, number: int) -> bytes:
        """Return a unique name for a node; reports a changed name."""
        node = self.scene.nodes[number]
        one_word = "".join("_" if character.isspace() or character in "{}" else character for character in node.name)
        return self.names.claim_for(node, self.report, one_word, " in the skeleton", "bone")


AnyChannel = r.Channel | r.OldChannel


class Merger(bridge.Merger[Options]):
    is_table = True

    def read(self, document: Document, options: Options) -> tuple[Scene, list[AnyChannel]]:
        kinds = (r.Channel, r.OldChannel)
        return to_scene(document, options), [record for record in document.find(Record) if isinstance(record, kinds)]

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        """Return the clip with new frames, and the options for reading its skeleton if that changed."""
        channels: list[AnyChannel] = original.links
        report, posed, text = LossReport("midtown"), posed_channel(channels), own_text(original.document)
        old_nodes = _old_bones(original)
        if isinstance(text, ModelText):
            raise CannotMerge("models cannot be edited")
        if not old_nodes or (text is None and (posed is None or not scene.clips)):
            raise CannotMerge("no animated bone of the original is left")
        bones, parents = joints_in_original_order(scene, old_nodes, depth_first=True)
        if old_nodes.keys() - set(bones) or old_nodes.get(bones[0]) != 0:
            raise CannotMerge("the root bone changed")
        times = np.zeros(1) if posed is None else np.arange(frame_count(scene.clips[0]), dtype=np.float64)
        joints = unscaled_joints_at(scene, bones, times, old_nodes)
        moved = {node for node in bones if node not in old_nodes or _is_changed(original, node, "position")}
        if moved:
            report_lost_motion(scene, joints, Tolerance.of(scene, DEFAULT_MAX_ERROR), report, moved)
        skeleton = _edited_skeleton(scene, original, joints, parents, report)
        parts = {number: ("nodes", node) for number, node in enumerate(bones)}
        if posed is None:
            document = original.document if skeleton is None else decode(write_skeleton(skeleton))
            return Written(document, report, parts=parts)
        rows = {id(posed): _rows(joints, posed, original)}
        rows |= _raw_rows(scene, original.scene, [channel for channel in channels if channel is not posed])
        document = _with_rows(original.document, rows)
        options: dict[str, object] = {} if skeleton is None else {"skeleton": skeleton, "found": ""}
        return Written(document, report, reader_options=options, parts=parts)

    def stores(self, scene: Scene, path: Path) -> bool:
        match path:
            case ("nodes", int(number), "name" | "parent" | "position"):
                return scene.nodes[number].kind is NodeKind.BONE
            case ("clips", 0, "channels", int(number), str(kind)):
                return kind == "rotation" or (kind == "position" and scene.nodes[number].parent is None)
            case ("clips", 0, "end" | "raw_channels"):
                return True
        return False

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with a value for every frame: position of the first bone, rotations of all, raw channels."""
        if scene.clips and not before.clips:
            raise CannotMerge("the original has no motion")
        if not scene.clips or not scene.nodes:
            return scene
        scene = at_whole_frames(scene, before.clips[0].rate, report)
        clip = scene.clips[0]
        count = int(clip.end) + 1
        raw_channels = [_with_frame_count(raw_channel, count, report) for raw_channel in clip.raw_channels]
        animated = {(channel.node, channel.track.kind) for channel in clip.channels}
        constant = [
            Channel(number, _constant_track("rotation", node.rotation_xyzw, count))
            for number, node in enumerate(scene.nodes)
            if (number, "rotation") not in animated and node.kind is NodeKind.BONE
        ]
        if (0, "position") not in animated:
            constant.insert(0, Channel(0, _constant_track("position", scene.nodes[0].position, count)))
        clip = replace(clip, raw_channels=raw_channels, channels=[*clip.channels, *constant])
        return replace(scene, clips=[clip, *scene.clips[1:]])

    def keeps_layout(self, original: Document, requested: Mapping[str, object], options: Mapping[str, object]) -> bool:
        others = {name: value for name, value in requested.items() if name != "file"}
        own = _kind_of(original)
        return requested.get("file", own) == own and super().keeps_layout(original, others, options)

    def companion_files(self, document: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        """Return the texts of the skeleton and of the model in the options, if any."""
        given = Options(**options)
        skeleton, files = skeleton_of(given), []
        if skeleton is not None:
            files.append((".skel", write_skeleton(skeleton) if skeleton.text is None else skeleton.text))
        if given.model is not None:
            files.append((".mod", encode(model_document(given.model))))
        return tuple(files)

    def companion_options(self, written: Written) -> dict[str, object]:
        options: dict[str, object] = {}
        for suffix, data in written.companions:
            if suffix != ".anim":
                options |= {"skeleton": read_skeleton(data)} if suffix == ".skel" else {"model": decode(data)}
        return options


def _kind_of(document: Document) -> str:
    text = own_text(document)
    return "clip" if text is None else "model" if isinstance(text, ModelText) else "skeleton"


def _old_bones(original: bridge.Original) -> dict[int, int]:
    """Return the original numbers of the bones that are left; the node of a body is none."""
    nodes = original.scene.nodes
    return {new: old for new, old in original.matching.nodes.items() if nodes[old].kind is NodeKind.BONE}


def _with_frame_count(channel: RawChannel, count: int, report: LossReport) -> RawChannel:
    """Return a channel with ``count`` frames: the last is repeated, or the end is removed; an empty one stays empty."""
    if len(channel.values) in (0, count):
        return channel
    path = plain_path("raw_channels", channel.name)
    report.add(RAW_CHANNEL_LENGTH, path, count=len(channel.values), frames=count)
    chosen = np.minimum(np.arange(count), len(channel.values) - 1)
    return replace(channel, values=np.asarray(channel.values)[chosen])


def _constant_track(kind: str, value: npt.ArrayLike, count: int) -> Track:
    form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
    return Track.sampled(kind, np.tile(np.asarray(value, np.float64), (count, 1)), form=form)


def _is_changed(original: bridge.Original, node: int, kind: str) -> bool:
    return ("clips", 0, "channels", node, kind) in original.changes


def _rows(joints: Joints, posed: AnyChannel, original: bridge.Original) -> npt.NDArray[np.float32]:
    """Return the frames: the path of the first bone without the effect of ``in_place``, and the angles of all bones.

    Tracks that did not change keep their numbers.
    """
    angles = angles_of(joints.rotations_xyzw, original.options.euler_order)
    angles[np.abs(angles) < NOISE] = 0.0
    path = stored_path(joints.positions[:, 0], float(posed.distance), original.options.in_place)
    columns = [path if _is_changed(original, joints.nodes[0], "position") else posed.rows[:, :3]]
    for place, node in enumerate(joints.nodes):
        old = original.matching.nodes.get(node)
        if old is None:
            columns.append(np.unwrap(angles[:, place], axis=0))
        else:
            first = 3 + 3 * old
            is_changed = _is_changed(original, node, "rotation")
            columns.append(angles[:, place] if is_changed else posed.rows[:, first : first + 3])
    return np.concatenate(columns, axis=1).astype("<f4")


def _raw_rows(scene: Scene, before: Scene, stored: list[AnyChannel]) -> dict[int, npt.NDArray[np.float32]]:
    """Return the frames of channels that move no bones, by the `id` of the channel in the original."""
    raw_channels = {_identity(raw_channel): raw_channel for raw_channel in scene.clips[0].raw_channels}
    by_identity = dict(zip(map(_identity, before.clips[0].raw_channels), stored, strict=True))
    if raw_channels.keys() - by_identity.keys():
        raise CannotMerge("raw channels were added")
    rows = {}
    for raw_channel, old in zip(before.clips[0].raw_channels, stored, strict=True):
        new = raw_channels.get(_identity(raw_channel))
        if new is not None:
            unchanged = np.array_equal(new.values, raw_channel.values, equal_nan=True)
            rows[id(old)] = old.rows if unchanged else np.asarray(new.values, "<f4")
    return rows


def _identity(channel: RawChannel) -> object:
    """Return the offset of a channel in the file, or its name if it is not from a file."""
    location: Any = channel.extras.get("midtown", {})
    return location.get("offset") or channel.name


def _with_rows(document: Document, rows: Mapping[int, npt.NDArray[np.float32]]) -> Document:
    """Return the document with these frames, by the `id` of the channel; other channels are left out."""
    clip = copy.copy(document.records[0])
    clip.children = []
    for channel in document.records[0].children:
        if id(channel) in rows:
            written: Any = copy.copy(channel)
            written.rows = rows[id(channel)]
            clip.children.append(written)
    return replace(document, records=[clip, *document.records[1:]])


def _edited_skeleton(
    scene: Scene, original: bridge.Original, joints: Joints, parents: list[int], report: LossReport
) -> Skeleton | None:
    """Return a skeleton with the bones of the scene; None if the skeleton is unchanged.

    If the original has no matching skeleton, the default rig is used.
    """
    text, before = own_text(original.document), original.scene
    given = skeleton_of(original.options) if text is None else read_skeleton(text.text)
    count = sum(node.kind is NodeKind.BONE for node in before.nodes)
    skeleton = default_skeleton(count) if given is None or len(given.bones) != count else given
    old_bones = _old_bones(original)
    unrenamed = {new: old for new, old in original.unrenamed(scene).items() if new in old_bones}
    bone_maker = BoneMaker(scene, report, [skeleton.bones[old].name for old in unrenamed.values()])
    bones = []
    for place, (node, parent) in enumerate(zip(joints.nodes, parents, strict=True)):
        old = old_bones.get(node)
        if old is None:
            bones.append(bone_maker.bone(joints, place))
            continue
        bone, position = skeleton.bones[old], scene.nodes[node].position
        offset = bone.offset
        if not np.array_equal(position, before.nodes[old].position):
            x, y, z = map(float, position)
            offset = x, y, z
            if not all(map(math.isfinite, offset)):
                raise CannotMerge("a bone has a non-finite offset")
        bones.append(Bone(bone.name if node in unrenamed else bone_maker.claim(node), parent, offset, bone.words))
    if tuple(bones) == skeleton.bones:
        return None
    return Skeleton(tuple(bones), None if skeleton.declared_count is None else len(bones))
