"""Read joints and their tracks; frames are computed as in MD5."""

from __future__ import annotations

import math

import numpy as np

from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_QUATERNION_INVALID,
    LIMIT_COPIES,
    LINK_INDEX_OUT_OF_RANGE,
    SEM_UNKNOWN_FLAG_BITS,
)
from keyframer.curves import RotationForm, Track
from keyframer.formats.hale3d.bridge.quaternions import with_w
from keyframer.formats.hale3d.records import COMPONENTS, Frames, Joint
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.limits import Budget
from keyframer.scene import Channel, Clip, Node, NodeKind


def joint_nodes(reporter: Reporter, joints: list[Joint], parents: list[int | None], names: list[str]) -> list[Node]:
    """Return the nodes of joints in the base frame. A joint with non-finite numbers rests at its parent."""
    nodes = []
    for joint, parent, name in zip(joints, parents, names, strict=True):
        node = Node(name, NodeKind.BONE, parent, raw_name=joint.name)
        base = [float(number) for number in (*joint.position, *joint.orientation)]
        if all(map(math.isfinite, base)):
            node.position, node.rotation_xyzw = np.array(base[:3]), np.array(base[3:])
        else:
            non_finite = [index for index, number in enumerate(base) if not math.isfinite(number)]
            field, start = ("position", 0) if non_finite[0] < 3 else ("orientation", 3)
            reporter.report(DATA_NON_FINITE, joint, field, count=len(non_finite), index=non_finite[0] - start)
        reporter.mark(node, "hale3d", joint, {"flags": joint.flags, "start_index": joint.start_index})
        nodes.append(node)
    return nodes


def animate(reporter: Reporter, joints: list[Joint], frames: Frames, clip: Clip, budget: Budget) -> None:
    """Add the boxes, the range and a channel for each animated position and rotation to the clip.

    Joints with invalid columns, and all joints after the budget is used up, get no channels.
    """
    components = np.asarray(frames.components, np.float64)
    clip.bounds = np.asarray(frames.bounds, np.float64)
    clip.start, clip.end = 0.0, float(max(len(components) - 1, 0))
    budget.grant("copies", 4 * components.size)
    for index, joint in enumerate(joints):
        bits = joint.moving
        if joint.flags >> COMPONENTS:
            reporter.report(SEM_UNKNOWN_FLAG_BITS, joint, "flags", bits=joint.flags & ~63)
        if not bits or not len(components):
            continue
        if joint.start_index + len(bits) > components.shape[1]:
            reporter.report(
                LINK_INDEX_OUT_OF_RANGE,
                joint,
                "start_index",
                what="joint",
                item=index,
                kind="component",
                index=joint.start_index + len(bits) - 1,
                count=components.shape[1],
            )
            continue
        sampled_values = len(components) * (3 * any(bit < 3 for bit in bits) + 4 * any(bit >= 3 for bit in bits))
        if not budget.charge("copies", sampled_values):
            reporter.report(
                LIMIT_COPIES, joint, "start_index", what="repeated use of components", **budget.state("copies")
            )
            return
        base = np.array([*joint.position, *joint.orientation[:3]], np.float64)
        rows = np.tile(base, (len(components), 1))
        rows[:, bits] = components[:, joint.start_index : joint.start_index + len(bits)]
        if any(bit < 3 for bit in bits):
            non_finite = ~np.isfinite(rows[:, :3])
            if non_finite.any():
                first, count = int(non_finite.any(axis=1).argmax()), np.count_nonzero(non_finite)
                reporter.report(DATA_NON_FINITE, joint, f"frames[{first}]", count=count, index=first)
            track = Track.sampled("position", rows[:, :3])
            reporter.mark(track, "hale3d", joint)
            clip.channels.append(Channel(index, track))
        if any(bit >= 3 for bit in bits):
            turns, invalid = with_w(rows[:, 3:])
            if invalid is not None:
                reporter.report(DATA_QUATERNION_INVALID, joint, f"frames[{invalid}]", frame=f"frame {invalid}")
            track = Track.sampled("rotation", turns, form=RotationForm.QUATERNION_ABSOLUTE)
            reporter.mark(track, "hale3d", joint)
            clip.channels.append(Channel(index, track))
