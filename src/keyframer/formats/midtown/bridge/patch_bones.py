"""Bones that come into a Midtown clip and its skeleton or go from them; the angles of all others keep their bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.formats._matching import Matching, Rebuilt, new_parts
from keyframer.formats._scenediff import by_kind
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import frame_count, frames_kept
from keyframer.formats.kit.rigid_joints import Joints, joints_at, nodes_depth_first, places_above, wanted_joints
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Tolerance, Unpatchable
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.options import Options
from keyframer.formats.midtown.bridge.rig import default_rig
from keyframer.formats.midtown.bridge.scene import posed_channel, skeleton_of
from keyframer.formats.midtown.bridge.writing import HOLDS, NOISE, BoneNames, angles, tell_lost_motion
from keyframer.formats.midtown.skeleton import Bone, Skeleton
from keyframer.formats.midtown.skeleton_text import patch_skeleton
from keyframer.maths import euler
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.record import Record

Floats = npt.NDArray[np.float64]
AnyChannel = r.Channel | r.OldChannel


def channels_of(document: Document) -> list[AnyChannel]:
    return [each for each in document.find(Record) if isinstance(each, (r.Channel, r.OldChannel))]


def skeleton_for(options: Options, bones: int) -> Skeleton:
    """The skeleton that the options give, or the default one where that does not fit."""
    given = skeleton_of(options)
    return default_rig(bones) if given is None or len(given.bones) != bones else given


def stored_angles(turns_xyzw: Floats, order: str) -> Floats:
    """Roll, pitch and heading of turns, as a row of the table has them."""
    found = euler.from_quaternion(turns_xyzw, order)
    return np.asarray(found[..., [order.index(axis) for axis in "XYZ"]], np.float64) + 0.0  # no zeros below zero


def out_of_order(scene: Scene) -> bool:
    """Whether bones do not stand as their skeleton has them: each behind its parent and what hangs on that."""
    above = [-1 if node.parent is None else node.parent for node in scene.nodes]
    return nodes_depth_first(above, range(len(above))) != list(range(len(above)))


def rebuild(
    document: Document, options: Options, before: Scene, after: Scene, matching: Matching, report: LossReport
) -> Rebuilt:
    """The table with the columns of other bones, and the skeleton that goes with it."""
    channels = channels_of(document)
    posed = posed_channel(channels)
    if posed is None or not after.clips or not matching.nodes:
        raise Unpatchable("no bone is left of what there was")
    wanted, above = wanted_joints(after)
    there = sorted(matching.nodes, key=lambda new: matching.nodes[new])
    order = nodes_depth_first(above, [*there, *sorted(wanted - set(there))])
    if set(there) - set(order) or matching.nodes.get(order[0]) != 0:
        raise Unpatchable("another bone is the first")
    parents = places_above(order, above)
    _take_frames(channels, posed, before, after, matching)
    joints, _ = joints_at(after, order, parents, np.arange(len(posed.rows), dtype=np.float64))
    origins = [matching.nodes.get(node) for node in order]
    posed.rows = _table(posed, joints, origins, options.euler_order)
    old = skeleton_for(options, len(before.nodes))
    made = patch_skeleton(old, _bones(old, after, joints, origins, report), origins)
    new = [node for node, origin in zip(order, origins, strict=True) if origin is None]
    if new:
        tell_dropped(*new_parts(after, new), report, HOLDS)
        tell_lost_motion(after, joints, Tolerance.of(after, DEFAULT_MAX_ERROR), report, set(new))
    places = {node: place for place, node in enumerate(order)}
    return Rebuilt(places, {}, len(order), {"skeleton": made, "found": ""})


def _take_frames(
    channels: list[AnyChannel], posed: AnyChannel, before: Scene, after: Scene, matching: Matching
) -> None:
    """All channels with as many frames as the scene has."""
    count = frame_count(after.clips[0])
    stays = {old: new for new, old in matching.nodes.items()}
    was = by_kind(before.clips[0]) or {}
    known = {(stays[node], kind): track for (node, kind), track in was.items() if node in stays}
    kept = frames_kept(known, by_kind(after.clips[0]) or {}, len(posed.rows), count)
    for channel in channels:
        channel.rows = np.array(channel.rows[kept])


def _table(posed: AnyChannel, joints: Joints, origins: list[int | None], order: str) -> npt.NDArray[np.float32]:
    """The path of the first bone as it is, and the angles of each: those of the file, or new ones."""
    fresh = angles(joints, order)
    fresh = np.where(np.abs(fresh) < NOISE, 0.0, fresh)
    columns = [posed.rows[:, :3]]
    for place, origin in enumerate(origins):
        if origin is None:
            columns.append(fresh[:, 3 * place : 3 * place + 3].astype(posed.rows.dtype))
        else:
            columns.append(posed.rows[:, 3 + 3 * origin : 6 + 3 * origin])
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


def _bones(
    old: Skeleton, after: Scene, joints: Joints, origins: list[int | None], report: LossReport
) -> tuple[Bone, ...]:
    names = BoneNames(after, report, [bone.name for bone in old.bones])
    made = []
    for place, origin in enumerate(origins):
        parent = joints.parents[place]
        if origin is None:
            made.append(names.bone(joints, place))
        else:
            was = old.bones[origin]
            made.append(Bone(was.name, parent, was.offset, was.words))
    return tuple(made)
