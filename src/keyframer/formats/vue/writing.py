"""Write scenes as VUE files: for each frame the matrix of every object, the lights, and what the camera sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyframer.arrays import Floats
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities, StoredAs
from keyframer.formats.kit.frame_times import in_time_unit
from keyframer.formats.kit.repeated_tracks import moments_to_check
from keyframer.formats.kit.scene_writing import Written, first_clip, frames_per_second, plain_path, report_rate
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.vue import FORMAT
from keyframer.formats.vue.document import Command, new_frame
from keyframer.maths import affine, quat
from keyframer.posing import Pose, pose
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Clip, LightType, NodeKind, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
from keyframer.scene.losses import (
    DETAIL_UNSUPPORTED,
    KEYS_RESAMPLED,
    KIND_CHANGED,
    LIGHTS_UNSUPPORTED,
    MOTION_SAMPLED,
    NAME_CHANGED,
    NODES_UNSUPPORTED,
    TRANSFORM_APPLIED,
)
from keyframer.text import counted

_AT_ONCE = 256
"""frames that are posed at once"""
_CHECKED = 500
"""number of frames after which errors are measured"""
_NOISE = 1e-6
_DISTANCE = 100.0
"""of the target of a camera or light that has none"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options. Frames are those of the clip."""

    shadows: bool = False
    """write the shadow flag of lights, which 3ds Max added"""
    decimals: int | None = None
    """round numbers to so many decimals, to compare files line by line: 3D Studio for DOS wrote 4"""

    def __post_init__(self) -> None:
        if self.decimals is not None and not 0 <= self.decimals <= 12:
            raise ValueError(f"decimals must be from 0 to 12, not {self.decimals}")


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        (
            *("names", "pivots", "scale axes", "cameras", "lights", "frames"),
            *("scale_axes", "visible", "fov", "roll", "color", "hotspot", "falloff"),
        ),
        {
            "cameras": (StoredAs(("fov_degrees", "roll_degrees"), "the lens and the roll of the view"),),
            "lights": (
                StoredAs(("color",), "the colour times the multiplier"),
                StoredAs(("hotspot_degrees", "falloff_degrees"), "the cones of a spotlight"),
            ),
        },
    )

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Return a document with all frames of the first clip, and the loss report."""
        report = LossReport(FORMAT.name)
        converted = in_space(scene, Space("z", metres_per_unit=scene.space.metres_per_unit, v_up=scene.space.v_up))
        clip = first_clip(converted, report)
        report_dropped(converted, clip, report, self.capabilities.handled)
        objects = [number for number, node in enumerate(converted.nodes) if node.mesh is not None]
        kinds = (NodeKind.DUMMY, NodeKind.BONE, NodeKind.OBJECT)
        objects = objects or [number for number, node in enumerate(converted.nodes) if node.kind in kinds]
        cameras = [number for number, node in enumerate(converted.nodes) if node.camera is not None]
        lights = [number for number, node in enumerate(converted.nodes) if node.light is not None]
        if not (objects or cameras or lights):
            raise CannotWrite("nothing to write: the scene has no objects, lights and cameras")
        _report_nodes(converted, objects, cameras, lights, report)
        span = clip_span(clip) if clip.channels else (0.0, 0.0)
        start, end = (np.floor(time / (clip.units_per_frame or 1.0)) for time in span)
        frames = np.arange(start, end + 1.0)
        report_rate(clip, 30.0, report)
        records = []
        numbers = [*objects, *cameras[:1], *lights]
        hidden = np.zeros(len(numbers), np.int64)
        for begin in range(0, len(frames), _AT_ONCE):
            block = frames[begin : begin + _AT_ONCE]
            posed = pose(converted, frames=block)
            hidden += np.count_nonzero(~posed.visible[:, numbers], axis=0)
            columns = [_objects(converted, posed, objects), _lights(converted, posed, lights, options)]
            columns.append(_camera(converted, posed, cameras[0]) if cameras else [])
            for row, number in enumerate(block.tolist()):
                commands = [command for column in columns for shown, command in [each[row] for each in column] if shown]
                if options.decimals is not None:
                    for command in commands:
                        command.values = np.round(command.values, options.decimals)
                records.append(new_frame(int(number), commands))
        for number, count in zip(numbers, hidden.tolist(), strict=True):
            if count:
                path = f"{plain_path('nodes', converted.nodes[number].name)}/position"
                report.add(DETAIL_UNSUPPORTED["hidden frames"], path, count=count)
        _report_frames(converted, clip, frames, numbers, report)
        return Written(Document(FORMAT, list(records)), report)


def _report_nodes(scene: Scene, objects: list[int], cameras: list[int], lights: list[int], report: LossReport) -> None:
    """Report what becomes of nodes that are not an object or a light of their own name."""
    aims = {scene.nodes[number].target for number in (*cameras[:1], *lights)}
    for number, node in enumerate(scene.nodes):
        path = plain_path("nodes", node.name)
        if number in cameras[1:]:
            report.add(NODES_UNSUPPORTED["second view"], path)
        elif number in cameras:
            report.add(NAME_CHANGED["view"], path, outcome=Outcome.APPROXIMATED)
        elif number in lights:
            kind = scene.lights[node.light or 0].type
            if kind is LightType.DIRECTIONAL:
                report.add(KIND_CHANGED["light"], path, lights=kind.value)
            elif kind is LightType.AMBIENT:
                report.add(LIGHTS_UNSUPPORTED["ambient"], path)
        elif number in aims:
            report.add(KIND_CHANGED["reason"], path, kind="a position", reason="it is part of its camera or light")
        elif number not in objects:
            report.add(NODES_UNSUPPORTED["frames"], path, kind=node.kind.noun)
        else:
            report.add(TRANSFORM_APPLIED["frames"], path, kind=node.kind.noun)
            if not np.allclose(_to_node(scene, number), np.eye(4)):
                report.add(DETAIL_UNSUPPORTED["origin"], f"{path}/position")


def _report_frames(scene: Scene, clip: Clip, frames: Floats, numbers: list[int], report: LossReport) -> None:
    """Report the number of frames, with a bound of the errors between them."""
    report.measured["frames"] = float(len(frames))
    words: dict[str, Any] = {"frames": len(frames), "joints": counted(len(numbers), "part")}
    if not numbers or len(frames) < 2:
        report.add(KEYS_RESAMPLED["frames"], "/clips/frames", **words)
        return
    in_frames = in_time_unit(clip, "frame", frames_per_second(clip), 1.0)
    moments = moments_to_check((channel.track for channel in in_frames.channels), frames, _CHECKED)
    after = np.clip(np.searchsorted(frames, moments), 1, len(frames) - 1)
    share = (moments - frames[after - 1])[:, None, None]
    stored = np.array([affine.inverse(_to_node(scene, number)) for number in numbers])
    wanted, *sides = (
        affine.multiply(pose(scene, frames=at).world[:, numbers], affine.inverse(stored))
        for at in (moments, frames[after - 1], frames[after])
    )
    with np.errstate(all="ignore"):
        one, two = (affine.decompose_sheared(side) for side in sides)
        places, scales = (first * (1 - share) + last * share for first, last in ((one[0], two[0]), (one[2], two[2])))
        turns = quat.slerp(one[1], two[1], share[..., 0])
        found = affine.compose(places, turns, scales, one[3])
        reach = _reach(scene, numbers)
        off = np.nan_to_num(np.abs(affine.multiply(found - wanted, stored)))
    turned = float(off[..., :3, :3].max())
    moved = float(np.linalg.norm(off[..., :3, 3], axis=-1).max()) + turned * reach
    if moved <= _NOISE * max(float(np.nan_to_num(np.abs(wanted[..., :3, 3])).max()), 1.0):
        report.add(KEYS_RESAMPLED["frames"], "/clips/frames", **words)
        return
    for what, error, unit in (("positions", moved, "scene unit"), ("axes", np.degrees(turned), "degree")):
        report.add(MOTION_SAMPLED["frames"], "/clips/frames", error=float(error), unit=unit, kind=what, **words)


def _reach(scene: Scene, numbers: list[int]) -> float:
    """Return how far vertices of objects are from their nodes, at most."""
    meshes = [scene.meshes[mesh] for number in numbers if (mesh := scene.nodes[number].mesh) is not None]
    return max((float(np.nan_to_num(np.abs(mesh.positions)).max(initial=0.0)) for mesh in meshes), default=0.0)


Column = list[tuple[bool, Command]]
"""for each frame whether a command is in it, and the command"""


def _name(scene: Scene, number: int) -> bytes:
    node = scene.nodes[number]
    raw = node.raw_name if node.raw_name is not None else node.name.encode("utf-8", "replace")
    return raw.replace(b'"', b"'").replace(b"\r", b" ").replace(b"\n", b" ")


def _to_node(scene: Scene, number: int) -> Floats:
    """Return the matrix that takes the vertices of an object as 3D Studio stores them to its node: a mesh may have axes
    of its own, in which its vertices are stored."""
    node = scene.nodes[number]
    shift: Floats = np.eye(4)
    shift[:3, 3] = -node.pivot
    axes = None if node.mesh is None else scene.meshes[node.mesh].axes
    if axes is not None and np.isfinite(axes).all() and abs(float(np.linalg.det(axes))) > 1e-30:
        shift = affine.multiply(shift, affine.inverse(axes))
    return shift


def _objects(scene: Scene, posed: Pose, numbers: list[int]) -> list[Column]:
    """Return the commands of objects: the matrix takes the vertices as 3D Studio stores them to the frame."""
    columns = []
    for number in numbers:
        matrices = posed.world[:, number] @ _to_node(scene, number)
        rows = np.concatenate([matrices[:, :3, :3].transpose(0, 2, 1).reshape(-1, 9), matrices[:, :3, 3]], axis=1)
        shown = posed.visible[:, number] & np.isfinite(rows).all(axis=1)
        name = _name(scene, number)
        columns.append([(bool(show), Command(b"transform", name, row)) for show, row in zip(shown, rows, strict=True)])
    return columns


def _aim(scene: Scene, posed: Pose, number: int) -> tuple[Floats, Floats]:
    """Return (T, 3) positions of a camera or light, and of what it is aimed at."""
    position, target = posed.world[:, number, :3, 3], scene.nodes[number].target
    if target is not None and 0 <= target < len(scene.nodes):
        return position, posed.world[:, target, :3, 3]
    backwards = posed.world[:, number, :3, 2]
    length = np.maximum(np.linalg.norm(backwards, axis=1, keepdims=True), 1e-30)
    return position, position - backwards / length * _DISTANCE


def _lights(scene: Scene, posed: Pose, numbers: list[int], options: WriteOptions) -> list[Column]:
    columns = []
    for number in numbers:
        index = scene.nodes[number].light
        assert index is not None
        light = scene.lights[index]
        position, target = _aim(scene, posed, number)
        color = posed.light_colors[:, index] * posed.light_multipliers[:, index, None]
        parts, keyword = [position, color], b"light"
        if light.type in (LightType.SPOT, LightType.DIRECTIONAL):
            cones = [posed.light_hotspot_degrees[:, index, None], posed.light_falloff_degrees[:, index, None]]
            parts, keyword = [position, target, color, *cones], b"spotlight"
        if options.shadows:
            parts.append(np.ones((len(position), 1)))
        rows = np.concatenate(parts, axis=1)
        shown = posed.visible[:, number] & np.isfinite(rows).all(axis=1) & (light.type is not LightType.AMBIENT)
        name = _name(scene, number)
        columns.append([(bool(show), Command(keyword, name, row)) for show, row in zip(shown, rows, strict=True)])
    return columns


def _camera(scene: Scene, posed: Pose, number: int) -> list[Column]:
    index = scene.nodes[number].camera
    assert index is not None
    position, target = _aim(scene, posed, number)
    lens = 2400.0 / np.maximum(posed.camera_fov_degrees[:, index], 1e-3)
    rows = np.column_stack([position, target, _roll(posed.world[:, number, :3, :3]), lens])
    shown = np.asarray(np.isfinite(rows).all(axis=1))
    return [[(bool(show), Command(b"camera", b"", row)) for show, row in zip(shown, rows, strict=True)]]


def _roll(axes: Floats) -> Floats:
    """Return in degrees how far cameras are turned clockwise, seen from behind, out of the position with Z up."""
    right, ahead = axes[:, :, 0], -axes[:, :, 2]
    level = np.cross(ahead, (0.0, 0.0, 1.0))
    straight = (level * level).sum(axis=1) < 1e-12 * np.maximum((ahead * ahead).sum(axis=1), 1e-30)
    level[straight] = np.cross(ahead[straight], (0.0, 1.0, 0.0))
    level /= np.maximum(np.linalg.norm(level, axis=1, keepdims=True), 1e-30)
    above = np.cross(level, ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-30))
    degrees: Floats = np.degrees(np.arctan2(-(right * above).sum(axis=1), (right * level).sum(axis=1)))
    return degrees + 0.0
