"""Values and world matrices of a scene at times, as plain data: what ``keyframer sample`` shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.limits import budgeted
from keyframer.maths import affine
from keyframer.posing import Pose, pose
from keyframer.scene import Handedness, Scene
from keyframer.text import safe_text

SCHEMA = "keyframer.sample/1"
AXES = ("file", "y-up")
_LONGEST = 1e9
"""times from 0 that can be asked for"""
_MOST_FRAMES = 1_000_000
_USUAL_FRAMES = 101
"""frames that are taken at most where none are asked for"""
_WHOLE = 1e-6
"""how far from a whole number a frame may be and still count as one"""
_MOST = 1_000
"""characters of a name"""
_MOST_IN_ARRAYS = 255
"""characters of a name where all names have the room of the longest"""

Floats = npt.NDArray[np.float64]

_MIRRORS = {
    "x": np.diag([1.0, 1.0, -1.0, 1.0]),
    "y": np.diag([1.0, 1.0, -1.0, 1.0]),
    "z": np.diag([1.0, -1.0, 1.0, 1.0]),
}
"""left-handed data is mirrored along an axis that is not up, on both sides: a node's own space is mirrored with it"""
_Y_UP = {
    "x": np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
    "y": np.eye(4),
    "z": np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]]),
}
"""what turns the up axis to Y; a node's own space stays as it is"""


def parse_frames(text: str) -> list[float]:
    """``0:100:5`` (the end is included) or ``3.5,7``; parts may be mixed. ValueError says what is wrong."""
    frames: list[float] = []
    for part in text.split(","):
        numbers = [_number(piece) for piece in part.split(":")]
        if len(numbers) == 1:
            frames.append(numbers[0])
            continue
        if len(numbers) > 3:
            raise ValueError(f"{part!r} is not START:END or START:END:STEP")
        start, end, step = numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1.0
        if step <= 0 or end < start:
            raise ValueError(f"{part!r} does not lead from START up to END")
        count = math.floor((end - start) / step + 1e-9) + 1
        if len(frames) + count > _MOST_FRAMES:
            raise ValueError(f"{part!r} asks for {count} frames, at most {_MOST_FRAMES} are sampled")
        frames += [start + step * index for index in range(count)]
    return frames


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not abs(number) <= _LONGEST:
        raise ValueError(f"{text!r} is not a time from {-_LONGEST:g} to {_LONGEST:g}")
    return number


def default_frames(scene: Scene) -> list[float]:
    """The whole frames of the active segment: every one, or every second, third … so that there are at most 101."""
    if not scene.clips:
        return [0.0]
    clip = scene.clips[0]
    start, end = clip.start / clip.units_per_frame, clip.end / clip.units_per_frame
    if not (math.isfinite(start) and math.isfinite(end)):
        return [0.0]
    first, last = math.ceil(start - _WHOLE), math.floor(end + _WHOLE)
    if last < first:
        return [start]
    step = -(-(last - first) // (_USUAL_FRAMES - 1)) or 1
    return [float(frame) for frame in range(first, last + 1, step)]


class Sample:
    """Some nodes of a scene at some times. Nodes are chosen by shown name; LookupError names one that is not there."""

    def __init__(
        self,
        scene: Scene,
        *,
        frames: Sequence[float] | None,
        times: Sequence[float] | None,
        nodes: Sequence[str] = (),
        axes: str = "file",
    ) -> None:
        self.scene = scene
        if frames is None and times is None:
            frames = default_frames(scene)
        self.numbers = self._find(nodes) if nodes else list(range(len(scene.nodes)))
        with budgeted(size=scene.stored_bytes):
            self.pose: Pose = pose(scene, times, frames=frames)
        self._turn = _Y_UP[scene.space.up] if axes == "y-up" else None

    def _find(self, names: Sequence[str]) -> list[int]:
        """Nodes by their shown name, as it is or as `sample` shows it."""
        nodes = list(reversed(list(enumerate(self.scene.nodes))))
        known = {_name(node.name): number for number, node in nodes} | {node.name: number for number, node in nodes}
        return [known[name] if name in known else self.scene.find(name) for name in names]

    def world(self, number: int) -> Floats:
        """(T, 4, 4) in the axes asked for."""
        world: Floats = self.pose.world[:, number]
        if self._turn is None:
            return world
        if self.scene.space.handedness is Handedness.LEFT:
            mirror = _MIRRORS[self.scene.space.up]
            world = mirror @ world @ mirror
        return np.asarray(self._turn @ world)

    def record(self) -> dict[str, Any]:
        """The sample as JSON values; a number that is none becomes null."""
        return {
            "schema": SCHEMA,
            "frames": _plain(self.pose.frames),
            "times": _plain(self.pose.times_seconds),
            "axes": "y-up, right-handed" if self._turn is not None else str(self.scene.space),
            "nodes": [self._node(number) for number in self.numbers],
            "raw_channels": [
                {"name": _name(raw.name), "values": _plain(raw.values)}
                for clip in self.scene.clips[:1]
                for raw in clip.raw_channels
            ],
        }

    def _node(self, number: int) -> dict[str, Any]:
        node = self.scene.nodes[number]
        parent = self.scene.nodes[node.parent].name if node.parent is not None else None
        found: dict[str, Any] = {
            "name": _name(node.name),
            "id": node.file_id,
            "kind": node.kind.value,
            "parent": None if parent is None else _name(parent),
            "world": _plain(self.world(number).reshape(-1, 16)),
            "visible": self.pose.visible[:, number].tolist(),
        }
        if node.camera is not None:
            found["fov_degrees"] = _plain(self.pose.camera_fov_degrees[:, node.camera])
        if node.light is not None:
            found["color"] = _plain(self.pose.light_colors[:, node.light])
            found["multiplier"] = _plain(self.pose.light_multipliers[:, node.light])
            if self.scene.lights[node.light].hotspot_degrees is not None:
                found["hotspot_degrees"] = _plain(self.pose.light_hotspot_degrees[:, node.light])
                found["falloff_degrees"] = _plain(self.pose.light_falloff_degrees[:, node.light])
        if number in self.pose.morph_weights and node.morph is not None:
            found["morph"] = {
                "shapes": [_name(name) for name in node.morph.names],
                "weights": _plain(self.pose.morph_weights[number]),
            }
        return found

    columns = ("frame", "seconds", "node", "x", "y", "z", "qx", "qy", "qz", "qw", "sx", "sy", "sz", "visible")

    def rows(self) -> Iterator[list[float | str | bool]]:
        """One row for each node and time: world position, rotation, scale (shear is only in the matrices)."""
        frames, seconds = self.pose.frames.tolist(), self.pose.times_seconds.tolist()
        for number in self.numbers:
            position, turn, scale = affine.decompose(self.world(number))
            name = self.scene.nodes[number].name
            numbers = np.concatenate([position, turn, scale], axis=1).tolist()
            visible = self.pose.visible[:, number].astype(bool).tolist()
            for frame, second, parts, seen in zip(frames, seconds, numbers, visible, strict=True):
                yield [frame, second, name, *parts, seen]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What a ``.npz`` file holds."""
        chosen = np.array(self.numbers, np.int64)
        world = (
            np.stack([self.world(number) for number in self.numbers], axis=1)
            if self.numbers
            else np.empty((len(self.pose.frames), 0, 4, 4))
        )
        arrays: dict[str, npt.NDArray[Any]] = {
            "frames": self.pose.frames,
            "times": self.pose.times_seconds,
            "names": np.array(
                [_name(self.scene.nodes[number].name)[:_MOST_IN_ARRAYS] for number in self.numbers], np.str_
            ),
            "world": world,
            "visible": self.pose.visible[:, chosen],
        }
        for clip in self.scene.clips[:1]:
            arrays |= {f"raw_{index}": raw.values for index, raw in enumerate(clip.raw_channels)}
        return arrays


def _plain(array: npt.NDArray[Any]) -> Any:
    values = array.tolist()
    if np.isfinite(array).all():
        return values
    return _without_odd(values)


def _without_odd(values: Any) -> Any:
    if isinstance(values, list):
        return [_without_odd(value) for value in values]
    return values if math.isfinite(values) else None


def _name(text: str) -> str:
    return safe_text(text)[:_MOST]
