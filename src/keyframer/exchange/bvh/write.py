"""Writes scenes as BVH: a hierarchy of joints at rest, and their motion, frame by frame.

Joints of BVH have an offset from their parent, but no rotation at rest: all have the axes of the scene there. So the
rotations that are written are those relative to the rest pose, and offsets are along the axes of the scene. Programs
disagree whether the position of a joint replaces its offset (Blender) or is added to it (three.js): joints with a
position have no offset. Most of them read one root only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keyframer.exchange.kit.options import SceneOptions
from keyframer.files import check_output, write_bytes
from keyframer.formats.contract import refuse_unknown
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities
from keyframer.formats.kit.rigid_joints import Joints, report_frames, sample_joints
from keyframer.formats.kit.scene_reading import UniqueNames, path_finder
from keyframer.formats.kit.scene_writing import first_clip, frames_per_second, plain_path, without_invalid_links
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.maths import affine, quat
from keyframer.maths.euler import continuous_angles_of
from keyframer.scene import Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport
from keyframer.scene.losses import (
    AXES_TURNED,
    LINK_INVALID,
    NAME_CHANGED,
    NODE_ADDED,
    RATE_CHANGED,
)

CAPABILITIES = Capabilities(("parents", "frames"), reported=("scale axes",))  # with the scale of joints
_ORDER = "ZXY"
_CHANNELS = ["XYZ".index(axis) for axis in _ORDER]
_POSITION, _ROTATION = (
    " ".join(f"{axis}{kind}" for axis in order) for order, kind in (("XYZ", "position"), (_ORDER, "rotation"))
)
_DIGITS = 8
"""digits of the largest position: those of single precision"""
_DECIMALS = 7
"""of angles: at the end of an arm of a unit, half of the last one moves a joint by 1e-9"""
_MOST_TABS = 40
_UNSAFE = re.compile(r"[^\w.:+-]")


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """Write a scene; the options are those of the exporter."""
    refuse_unknown("bvh", ("fps", "max_error"), options)
    given = SceneOptions(**options)
    check_output(path, overwrite=overwrite)
    report = LossReport("bvh")
    if scene.origin is not None:
        report.find_path = path_finder(scene.origin.document)
    scene, invalid = without_invalid_links(scene)
    for place, problem in invalid:
        report.add(LINK_INVALID, place, problem=problem)
    converted = in_space(scene, Space("y", metres_per_unit=scene.space.metres_per_unit, v_up=scene.space.v_up))
    if converted.nodes is not scene.nodes:
        axes = f"{scene.space.up.upper()} up, {scene.space.handedness.value}-handed"
        report.add(AXES_TURNED, "/space", given=axes, written="Y up, right-handed")
    clip = first_clip(converted, report)
    report_dropped(converted, clip, report, CAPABILITIES.handled, "BVH")
    fps = given.fps or frames_per_second(clip)
    if not math.isclose(fps, clip.frames_per_second):
        report.add(RATE_CHANGED["sampled"], "/clips/rate", fps=fps, clip_fps=clip.frames_per_second)
    joints = sample_joints(converted, clip, fps, report, depth_first=True)
    if not joints.nodes:
        raise CannotWrite("nothing to write: the scene has no joints and no objects")
    report_frames(converted, clip, fps, joints, "joint", report)
    skeleton = _Skeleton(joints, _names(converted, joints, report))
    text = "".join([*skeleton.hierarchy(), *skeleton.motion(fps)])
    write_bytes(path, text.encode(), overwrite=overwrite)
    report.written = [str(path)]
    return report


def _names(scene: Scene, joints: Joints, report: LossReport) -> list[str]:
    """Return unique names of one word for the joints, and before them that of a root if there are several."""
    unique = UniqueNames()
    names = []
    for number in joints.nodes:
        name = scene.nodes[number].name
        names.append(unique.claim(_UNSAFE.sub("_", name)))
        if names[-1] != name:
            report.add(NAME_CHANGED["rule"], plain_path("nodes", name), name=names[-1], rule=": one word, and unique")
    if joints.parents.count(-1) > 1:
        report.add(NODE_ADDED["root"], "/nodes")
        names.insert(0, unique.claim("root"))
    return names


class _Skeleton:
    """Joints relative to the rest pose, in which all of them have the axes of the scene."""

    def __init__(self, joints: Joints, names: list[str]) -> None:
        """``names`` are those of the joints, after that of a root if they have several."""
        count, added = len(joints.times), len(names) - len(joints.nodes)
        self.names = names
        self.parents = [-1] * added + [parent + added for parent in joints.parents]
        at_rest = affine.decompose(joints.rig.world_at_rest[0][joints.nodes])[1]
        of_parents = np.where(np.array(joints.parents)[:, None] < 0, quat.IDENTITY_XYZW, at_rest[joints.parents])
        positions = quat.rotate(of_parents, joints.positions)
        rotations = quat.multiply(quat.multiply(of_parents, joints.rotations_xyzw), quat.conjugate(at_rest))
        degrees = np.degrees(continuous_angles_of(rotations, _ORDER))
        size = float(np.abs(positions).max())
        if not math.isfinite(size):
            raise CannotWrite("nothing to write: a position is not finite")
        self.decimals = max(_DIGITS - math.ceil(math.log10(size or 1.0)), 1)
        still = np.zeros((count, added, 3))
        self.positions = np.concatenate([still, np.round(positions, self.decimals) + 0.0], axis=1)
        self.degrees = np.concatenate([still, np.round(degrees, _DECIMALS) + 0.0], axis=1)
        moves = np.ptp(self.positions, axis=0).max(axis=-1) > 1.5 * 0.1**self.decimals  # else rounding
        self.has_position = [parent < 0 or moved for parent, moved in zip(self.parents, moves.tolist(), strict=True)]

    def hierarchy(self) -> Iterator[str]:
        """Yield the text of the joints, parents first and each followed by its descendants."""
        yield "HIERARCHY\n"
        depths: list[int] = []
        for number, parent in enumerate(self.parents):
            depth = depths[parent] + 1 if depths else 0
            if depths:
                yield from _closed(depths[-1], depth)
            depths.append(depth)
            indent, moves = _indent(depth), self.has_position[number]
            place = np.zeros(3) if moves else self.positions[0, number]
            offset = " ".join(f"{value:.{self.decimals}f}" for value in place.tolist())
            yield f"{indent}{'JOINT' if depth else 'ROOT'} {self.names[number]}\n{indent}{{\n"
            yield f"{indent}\tOFFSET {offset}\n"
            yield f"{indent}\tCHANNELS {f'6 {_POSITION} {_ROTATION}' if moves else f'3 {_ROTATION}'}\n"
        yield from _closed(depths[-1], 0)

    def motion(self, fps: float) -> Iterator[str]:
        """Yield the frames, each as one line."""
        yield f"MOTION\nFrames: {len(self.positions)}\nFrame Time: {1 / fps:.12g}\n"
        columns = []
        for number, moves in enumerate(self.has_position):
            columns += [self.positions[:, number]] * moves + [self.degrees[:, number, _CHANNELS]]
        kinds = [[self.decimals] * 3 * moves + [_DECIMALS] * 3 for moves in self.has_position]
        line = " ".join(f"%.{decimals}f" for kind in kinds for decimals in kind) + "\n"
        for row in np.concatenate(columns, axis=1):
            yield line % tuple(row.tolist())


def _indent(depth: int) -> str:
    return "\t" * min(depth, _MOST_TABS)


def _closed(last: int, depth: int) -> Iterator[str]:
    """Yield the ends of the joints from the depth of the last one up to that of the next; the last one has no children
    unless the next one is deeper."""
    if depth <= last:
        indent = _indent(last + 1)
        yield f"{indent}End Site\n{indent}{{\n{indent}\tOFFSET 0 0 0\n{indent}}}\n"
    for level in range(last, depth - 1, -1):
        yield f"{_indent(level)}}}\n"
