"""The bridge between MD5 documents and scenes: that of all pairs of animations and models (`kit.joint_pairs`), and
cameras, which are only read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.catalogue import (
    DATA_OUT_OF_RANGE,
    DATA_QUATERNION_INVALID,
    DATA_RATE_INVALID,
    SEM_EMPTY_TRACK,
    SEM_UNKNOWN_VERSION,
)
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.document import Document
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.pair_bridge import PairBridge
from keyframer.formats.kit.joint_pairs.reading import SPACE, Options, with_w
from keyframer.formats.kit.scene_reading import Reporter, finite_rows
from keyframer.formats.md5 import FORMAT, VERSION
from keyframer.formats.md5.camera import CameraFrames, CameraPath, Cut
from keyframer.formats.md5.document import Animation, Model, decode, encode, new_animation, new_model
from keyframer.maths import quat
from keyframer.scene import Camera, Channel, Clip, Node, NodeKind, Scene
from keyframer.scene.clip import FASTEST

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

FAMILY = Family(
    FORMAT,
    Animation,
    Model,
    VERSION,
    ".md5anim",
    ".md5mesh",
    decode,
    encode,
    new_animation,
    new_model,
    lambda meshes, joints: [*joints, *meshes],
)
_CAMERA_AXES = quat.from_matrix3([[0, 0, -1], [-1, 0, 0], [0, 1, 0]])
"""Doom's cameras look along X with Y to the left and Z up; those of scenes look along -Z with X to the right"""


class Md5Bridge(PairBridge):
    def read(self, document: Document, options: Options) -> Scene:
        path = document.first(CameraPath)
        if path is None:
            return super().read(document, options)
        if options.model is not None or options.animation is not None:
            raise ValueError("this file is a camera: it has no model and no animation")
        return _camera_scene(path, document)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        path = document.first(CameraPath)
        if path is None:
            super().check(document, scene, reporter)
            return
        if path.version != VERSION:
            reporter.report(SEM_UNKNOWN_VERSION, path, "version", version=path.version, known=str(VERSION))
        if path.frame_rate > FASTEST:
            reporter.report(DATA_RATE_INVALID, path, "frame_rate", rate=path.frame_rate)
        frames = document.first(CameraFrames)
        count = 0 if frames is None else len(frames.rows)
        if not count:
            reporter.report(SEM_EMPTY_TRACK, path, what="the file has no frames")
        before = 0
        for cut in document.find(Cut):
            if not before < cut.frame < count:
                allowed = f"Doom 3 takes cuts from 1 to {count - 1}, in rising order"
                reporter.report(DATA_OUT_OF_RANGE, cut, "frame", what="a cut", value=cut.frame, allowed=allowed)
            before = max(before, cut.frame)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        return {} if document.first(CameraPath) is not None else super().companions(document, path)

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.md5.writing import Md5Merger, Md5Writer

        return Md5Writer(self.family, Md5Merger(self.family))


def _camera_scene(path: CameraPath, document: Document) -> Scene:
    """Return a scene with a camera. A cut is a jump: two keys at one time."""
    scene = Scene(source_format=FORMAT.name, space=SPACE)
    reporter = Reporter(document, scene.issues)
    clip = Clip(rate=float(path.frame_rate) or 1.0, extras={FORMAT.name: {"version": path.version}})
    if path.frame_rate == 0:
        reporter.report(DATA_RATE_INVALID, path, "frame_rate", rate=path.frame_rate)
    scene.clips.append(clip)
    frames = document.first(CameraFrames)
    if frames is None or not len(frames.rows):
        return scene
    rows = finite_rows(reporter, frames, "rows", frames.rows)
    turns, invalid = with_w(rows[:, 3:6])
    if invalid is not None:
        reporter.report(DATA_QUATERNION_INVALID, frames, f"rows[{invalid}]", frame=f"frame {invalid}")
    turns = quat.multiply(turns, _CAMERA_AXES)
    shown, times = _shots([cut.frame for cut in document.find(Cut)], len(rows))
    clip.end = float(times[-1])
    node = Node("camera", NodeKind.CAMERA, position=rows[shown[0], :3], rotation_xyzw=turns[shown[0]], camera=0)
    scene.cameras.append(Camera(node.name, float(rows[shown[0], 6])))
    scene.nodes.append(node)
    for kind, values, form in (
        ("position", rows[:, :3], RotationForm.NONE),
        ("rotation", turns, RotationForm.QUATERNION_ABSOLUTE),
        ("fov", rows[:, 6], RotationForm.NONE),
    ):
        track = Track(kind, times, values[shown], Interpolation.LINEAR, form=form)
        clip.channels.append(Channel(0, track))
    for part in (node, scene.cameras[0], *(channel.track for channel in clip.channels)):
        reporter.mark(part, FORMAT.name, frames)
    return scene


def _shots(cuts: list[int], count: int) -> tuple[Array, Floats]:
    """Return which frames are shown, and when, as the engine does it.

    It skips a frame for each cut that the count of frames has passed: the frame of a cut is the end of a shot, and at
    the same time the next one begins.
    """
    shown, times, passed = [], [], 0
    for time in range(count):
        if time:
            shown.append(time + passed)
            times.append(time)
        before = passed
        while passed < len(cuts) and time + passed >= cuts[passed]:
            passed += 1
        if not time or before < passed < count - time:
            shown.append(min(time + passed, count - 1))
            times.append(time)
        if time + passed >= count - 1:
            break
    return np.array(shown), np.array(times, np.float64)


BRIDGE = Md5Bridge(FAMILY)
