"""Write an edited scene with the conventions of its Midtown clip and skeleton.

A clip is one table: it is written anew. Header fields, channels that move no bones, and the numbers of tracks
that did not change are those of the original. Names, offsets and the tree of bones are in the text of the skeleton,
which is rewritten if one of them changed; other words of the bones stay.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.curves import RotationForm, Track
from keyframer.formats import bridge
from keyframer.formats._scene_differences import Path
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count
from keyframer.formats.kit.rigid_joints import Joints, joints_in_original_order, unscaled_joints_at
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, CannotMerge, Tolerance, Written, plain_path
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.scene import (
    Options,
    angles_of,
    posed_channel,
    skeleton_of,
    stored_path,
    to_scene,
)
from keyframer.formats.midtown.bridge.writing import NOISE, BoneMaker, report_lost_motion
from keyframer.formats.midtown.skeleton import Bone, Skeleton, default_skeleton, read_skeleton, write_skeleton
from keyframer.scene import Channel, NodeKind, RawChannel, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted
from keyframer.wire.record import Record

AnyChannel = r.Channel | r.OldChannel


class Merger(bridge.Merger[Options]):
    is_table = True

    def read(self, document: Document, options: Options) -> tuple[Scene, list[AnyChannel]]:
        kinds = (r.Channel, r.OldChannel)
        return to_scene(document, options), [record for record in document.find(Record) if isinstance(record, kinds)]

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        """Return the clip with new frames, and the options for reading its skeleton if that changed."""
        channels: list[AnyChannel] = original.links
        report, posed, old_nodes = LossReport("midtown"), posed_channel(channels), original.matching.nodes
        if posed is None or not scene.clips or not old_nodes:
            raise CannotMerge("no animated bone of the original is left")
        bones, parents = joints_in_original_order(scene, old_nodes, depth_first=True)
        if old_nodes.keys() - set(bones) or old_nodes.get(bones[0]) != 0:
            raise CannotMerge("the root bone changed")
        times = np.arange(frame_count(scene.clips[0]), dtype=np.float64)
        joints = unscaled_joints_at(scene, bones, times, old_nodes)
        moved = {node for node in bones if node not in old_nodes or _is_changed(original, node, "position")}
        if moved:
            report_lost_motion(scene, joints, Tolerance.of(scene, DEFAULT_MAX_ERROR), report, moved)
        rows = {id(posed): _rows(joints, posed, original)}
        rows |= _raw_rows(scene, original.scene, [channel for channel in channels if channel is not posed])
        document = _with_rows(original.document, rows)
        options = _skeleton_options(scene, original, joints, parents, report)
        parts = {number: ("nodes", node) for number, node in enumerate(bones)}
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

    def companion_files(self, document: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        """Return the text of the skeleton in the options, if any."""
        skeleton = skeleton_of(Options(**options))
        if skeleton is None:
            return ()
        return ((".skel", write_skeleton(skeleton) if skeleton.text is None else skeleton.text),)

    def companion_options(self, written: Written) -> dict[str, object]:
        return {"skeleton": read_skeleton(written.companions[0][1])} if written.companions else {}


def _with_frame_count(channel: RawChannel, count: int, report: LossReport) -> RawChannel:
    """Return a channel with ``count`` frames: the last is repeated, or the end is removed; an empty one stays empty."""
    if len(channel.values) in (0, count):
        return channel
    message = f"{counted(len(channel.values), 'frame')} became {count}, as many as the clip has"
    report.add(Outcome.APPROXIMATED, plain_path("raw_channels", channel.name), message)
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


def _skeleton_options(
    scene: Scene, original: bridge.Original, joints: Joints, parents: list[int], report: LossReport
) -> dict[str, object]:
    """Return the reader options for a skeleton with the bones of the scene; empty if the skeleton is unchanged.

    If the original has no matching skeleton, the default rig is used.
    """
    given, before = skeleton_of(original.options), original.scene
    count = len(before.nodes)
    skeleton = default_skeleton(count) if given is None or len(given.bones) != count else given
    unrenamed = original.unrenamed(scene)
    bone_maker = BoneMaker(scene, report, [skeleton.bones[old].name for old in unrenamed.values()])
    bones = []
    for place, (node, parent) in enumerate(zip(joints.nodes, parents, strict=True)):
        old = original.matching.nodes.get(node)
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
        return {}
    return {"skeleton": Skeleton(tuple(bones), None if skeleton.declared_count is None else len(bones)), "found": ""}
