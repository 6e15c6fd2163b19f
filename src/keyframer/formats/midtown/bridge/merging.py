"""Merge an edited scene into its Midtown clip and its skeleton.

During the edit, the columns of the frames are records: the path of the first bone, and the angles of each bone.
Names, offsets and the tree of bones are in the text of the skeleton, which is rewritten if one of them changed;
other words of the bones stay.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.curves import RotationForm, Track
from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count
from keyframer.formats.kit.rigid_joints import joints_in_original_order, unscaled_joints_at
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    CannotMerge,
    Tolerance,
    Written,
    plain_path,
)
from keyframer.formats.merging import Column, Edited, RecordRules, Tree
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.scene import Options, posed_channel, skeleton_of, to_scene
from keyframer.formats.midtown.bridge.stored_motion import angles_of, stored_path
from keyframer.formats.midtown.bridge.writing import NOISE, BoneMaker, report_lost_motion
from keyframer.formats.midtown.skeleton import Bone, Skeleton, default_skeleton, read_skeleton, write_skeleton
from keyframer.scene import Channel, NodeKind, RawChannel, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted
from keyframer.wire.record import Record

AnyChannel = r.Channel | r.OldChannel
Columns = Mapping[int | None, npt.ArrayLike]
"""columns of a channel by bone; None: the path of the first bone, or all columns of a channel without bones"""


class ChannelRules(RecordRules):
    def key(self, record: Record) -> int | None:
        """Return the offset of a channel, which identifies it."""
        return record.offset


class Merger(bridge.Merger[Options]):
    rules = ChannelRules()
    stores_local = True

    def read(self, document: Document, options: Options) -> tuple[Scene, list[AnyChannel]]:
        kinds = (r.Channel, r.OldChannel)
        return to_scene(document, options), [record for record in document.find(Record) if isinstance(record, kinds)]

    def tree(self, document: Document, scene: Scene, links: list[AnyChannel]) -> Tree:
        """Return the clip with a record for each column of its frames."""
        posed = posed_channel(links)
        columns: dict[int, Columns] = {
            id(channel): _named_columns(channel.rows) if channel is posed else {None: channel.rows} for channel in links
        }
        return _with_columns(document, columns)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        return _ClipWriter(scene, original).written()

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

    def finish(
        self, edited: Edited, theirs: Written, original: bridge.Original
    ) -> tuple[Document, Mapping[str, object]]:
        """Return the document with rows instead of columns, with the bones in the order of the skeleton."""
        parts = edited.parts
        order = {parts.get(id(column)): place for place, column in enumerate(theirs.document.find(Column))}
        order[None] = -1  # the path of the first bone
        tops = []
        for top in edited.document.records:
            clip = copy.copy(top)
            clip.children = [copy.copy(channel) for channel in top.children]
            for channel in clip.children:
                columns: list[Any] = sorted(channel.children, key=lambda column: order[parts.get(id(column))])
                channel.rows = np.concatenate([column.values for column in columns], axis=1)  # type: ignore[attr-defined]
                channel.children = []
            tops.append(clip)
        return replace(edited.document, records=tops), theirs.reader_options

    def companion_files(self, document: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        """Return the text of the skeleton in the options, if any."""
        skeleton = skeleton_of(Options(**options))
        if skeleton is None:
            return ()
        return ((".skel", write_skeleton(skeleton) if skeleton.text is None else skeleton.text),)

    def companion_options(self, written: Written) -> dict[str, object]:
        return {"skeleton": read_skeleton(written.companions[0][1])} if written.companions else {}


def _named_columns(rows: Array) -> Columns:
    """Return the path of the first bone, and the angles of each bone by its number."""
    return {None: rows[:, :3], **{bone: rows[:, 3 + 3 * bone : 6 + 3 * bone] for bone in range(rows.shape[1] // 3 - 1)}}


def _with_columns(document: Document, columns: Mapping[int, Columns]) -> Tree:
    """Return a document with records of columns instead of the rows of its channels, by the `id` of the channel.

    All other records in the clip are left out.
    """
    parts: dict[int, tuple[str, int]] = {}
    tops = []
    for top in document.records:
        clip = copy.copy(top)
        clip.children = []
        for channel in top.children:
            if id(channel) in columns:
                changed: Any = copy.copy(channel)
                changed.rows = channel.rows[:0]  # type: ignore[attr-defined]
                changed.children = []
                for bone, values in columns[id(channel)].items():
                    changed.children.append(Column(np.asarray(values, "<f4")))
                    if bone is not None:
                        parts[id(changed.children[-1])] = ("nodes", bone)
                clip.children.append(changed)
        tops.append(clip)
    return Tree(replace(document, records=tops), parts)


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


class _ClipWriter:
    """Writes a scene as a clip with the conventions of the original."""

    def __init__(self, scene: Scene, original: bridge.Original) -> None:
        self.scene, self.before, self.channels = scene, original.scene, original.links
        self.original, self.options, self.matching = original, original.options, original.matching
        self.report = LossReport("midtown")
        posed = posed_channel(self.channels)
        if posed is None or not scene.clips or not self.matching.nodes:
            raise CannotMerge("no animated bone of the original is left")
        self.posed = posed
        matched = self.matching.nodes
        self.bones, self.parents = joints_in_original_order(scene, matched, depth_first=True)
        self.original_numbers = [matched.get(node) for node in self.bones]
        """number of each bone in the original, None for new bones"""
        if matched.keys() - set(self.bones) or self.original_numbers[0] != 0:
            raise CannotMerge("the root bone changed")
        times = np.arange(frame_count(scene.clips[0]), dtype=np.float64)
        sampled = [node for node in self.bones if node not in original.untouched]
        self.joints = unscaled_joints_at(scene, sampled, times, matched)
        new = set(sampled) - matched.keys()
        if new:
            report_lost_motion(scene, self.joints, Tolerance.of(scene, DEFAULT_MAX_ERROR), self.report, new)

    def written(self) -> Written:
        """Write the path of the first bone as the file stores it (without the effect of ``in_place``), and all angles.

        Bones that the edit does not affect have the angles of the original.
        """
        joints = self.joints
        last = len(self.posed.rows) - 1
        original_columns = _named_columns(self.posed.rows[np.minimum(np.arange(len(joints.times)), last)])
        path = original_columns[None]
        if self.bones[0] in joints.nodes:
            path = stored_path(joints.positions[:, 0], float(self.posed.distance), self.options.in_place)
        angles = angles_of(joints.rotations_xyzw, self.options.euler_order)
        angles[np.abs(angles) < NOISE] = 0.0
        new_angles = dict(zip(joints.nodes, np.moveaxis(angles, 1, 0), strict=True))
        named: dict[int | None, npt.ArrayLike] = {None: path}
        for node, old in zip(self.bones, self.original_numbers, strict=True):
            columns = new_angles[node] if node in new_angles else original_columns[old]
            named[node] = np.unwrap(np.asarray(columns), axis=0) if old is None else columns
        tree = _with_columns(self.original.document, {id(self.posed): named, **self._raw_rows()})
        return Written(tree.document, self.report, reader_options=self._skeleton(), parts=tree.parts)

    def _raw_rows(self) -> dict[int, Columns]:
        """Return the frames of channels that move no bones, by the `id` of the channel in the original."""
        raw_channels = {_identity(raw_channel): raw_channel for raw_channel in self.scene.clips[0].raw_channels}
        other_channels = [channel for channel in self.channels if channel is not self.posed]
        stored_channels = dict(zip(map(_identity, self.before.clips[0].raw_channels), other_channels, strict=True))
        if raw_channels.keys() - stored_channels.keys():
            raise CannotMerge("raw channels were added")
        return {id(stored_channels[identity]): {None: raw.values} for identity, raw in raw_channels.items()}

    def _skeleton(self) -> dict[str, object]:
        """Return the reader options for a skeleton with the bones of the scene; empty if the skeleton is unchanged.

        If the original has no matching skeleton, the default rig is used.
        """
        given = skeleton_of(self.options)
        count = len(self.before.nodes)
        skeleton = default_skeleton(count) if given is None or len(given.bones) != count else given
        unrenamed = self.original.unrenamed(self.scene)
        bone_maker = BoneMaker(self.scene, self.report, [skeleton.bones[old].name for old in unrenamed.values()])
        bones = []
        for node, parent, old in zip(self.bones, self.parents, self.original_numbers, strict=True):
            if old is None:
                bones.append(bone_maker.bone(self.joints, self.joints.joint_of_node[node]))
                continue
            original_bone, position = skeleton.bones[old], self.scene.nodes[node].position
            offset = original_bone.offset
            if not np.array_equal(position, self.before.nodes[old].position):
                x, y, z = map(float, position)
                offset = x, y, z
                if not all(map(math.isfinite, offset)):
                    raise CannotMerge("a bone has a non-finite offset")
            name = original_bone.name if node in unrenamed else bone_maker.claim(node)
            bones.append(Bone(name, parent, offset, original_bone.words))
        if tuple(bones) == skeleton.bones:
            return {}
        declared_count = None if skeleton.declared_count is None else len(bones)
        return {"skeleton": Skeleton(tuple(bones), declared_count), "found": ""}


def _identity(channel: RawChannel) -> object:
    """Return the offset of a channel in the file, or its name if it is not from a file."""
    location: Any = channel.extras.get("midtown", {})
    return location.get("offset") or channel.name
