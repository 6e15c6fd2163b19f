"""Write a scene as a Midtown clip: the path of the first bone and the rotations of all bones."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities
from keyframer.formats.kit.rigid_joints import Joints, report_frames, sample_joints
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    Tolerance,
    UniqueByteNames,
    Written,
    check_max_error,
    first_clip,
    plain_path,
    report_rate,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.midtown.bridge.scene import Options, angles_of
from keyframer.formats.midtown.document import new_document
from keyframer.formats.midtown.records import Channel, Dialect, make_channel
from keyframer.formats.midtown.skeleton import Bone, Skeleton, write_skeleton
from keyframer.formats.midtown.sniff import FARTHEST
from keyframer.scene import Clip, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
from keyframer.text import counted, encode_name

CAPABILITIES = Capabilities(("parents", "frames"))
NOISE = 1e-9
"""metres or radians: smaller numbers are rounding errors of matrices and become 0"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing; the defaults follow the retail game."""

    dialect: str = "retail"
    """``retail``, ``beta`` or ``old``"""
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


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def from_scene(self, scene: Scene, options: WriteOptions) -> Written:
        """Write a scene as a clip with its skeleton, and report losses."""
        report = LossReport("midtown")
        converted = in_space(scene, Space("y", metres_per_unit=1.0, v_up=scene.space.v_up))
        if scene.space.metres_per_unit != 1.0:
            report.add(Outcome.BAKED, "/space", "this format uses metres; lengths are written without conversion")
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
        if not (rows != rows[:1]).any() and scene.source_format != "midtown":
            raise CannotWrite("nothing to write: no bone or object rotates, and the first one does not move")
        report_lost_motion(converted, joints, Tolerance.of(converted, options.max_error), report, set(joints.nodes))
        channels = [make_channel(rows, _distance(clip, options))]
        if layout is Dialect.BETA:
            channels += _raw_channels(clip, len(rows), report)
        report_frames(converted, clip, options.fps, joints, "bone", report, positioned=1)
        companions = ((".skel", write_skeleton(_skeleton(converted, joints, report))),) if options.skeleton else ()
        if not options.skeleton:
            report.add(Outcome.DROPPED, "/parents", "names, offsets and parents of bones need a skeleton file")
        reader_options: dict[str, object] = {}
        if options.euler_order != "YZX":
            reader_options["euler_order"] = options.euler_order
        if options.fps != 30.0:
            reader_options["fps"] = options.fps
        for name, value in reader_options.items():
            detail = f"readers need the option {name}={value}, which the file does not store"
            report.add(Outcome.DROPPED, "/reading", detail)
        return Written(new_document(channels, layout=layout), report, companions, reader_options)


def angles(joints: Joints, order: str) -> Floats:
    """Return (T, 3 J) roll, pitch and heading: angles about X, Y, Z, without jumps of full turns."""
    return np.unwrap(angles_of(joints.rotations_xyzw, order), axis=0).reshape(len(joints.times), -1)


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
            message = "only the first bone can change its position; the others can only rotate"
            report.add(Outcome.DROPPED, path, message, error=float(distances[joint]), unit="scene unit")


def _raw_channels(clip: Clip, frames: int, report: LossReport) -> list[Channel]:
    channels = []
    for raw in clip.raw_channels:
        stored: Any = raw.extras.get("midtown", {})
        if len(raw.values) != frames:
            message = f"{counted(len(raw.values), 'frame')}, but the clip has {frames}"
            report.add(Outcome.DROPPED, plain_path("raw_channels", raw.name), message)
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
        node_name = self.scene.nodes[number].name
        one_word = "".join("_" if character.isspace() or character in "{}" else character for character in node_name)
        name = self.names.claim(one_word, fallback="bone")
        if self.names.decode(name) != node_name:
            message = f"renamed to {self.names.decode(name)!r} in the skeleton"
            self.report.add(Outcome.BAKED, plain_path("nodes", node_name), message)
        return name
