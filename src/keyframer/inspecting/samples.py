"""World matrices and animated values of a scene at given times, as plain data for ``keyframer sample``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.formats.kit.coordinates import to_right_handed_y_up
from keyframer.inspecting.tables import csv_cell
from keyframer.limits import budgeted
from keyframer.maths import affine
from keyframer.posing import Pose, pose
from keyframer.scene import Scene
from keyframer.text import safe_text

SCHEMA = "keyframer.sample/1"
AXES = ("file", "y-up")
_LAST_TIME = 1e9
"""largest time that `parse_frames` accepts"""
_MOST_FRAMES = 1_000_000
_DEFAULT_FRAMES = 101
"""maximum number of frames sampled by default"""
_WHOLE = 1e-6
"""frames this close to a whole number are treated as whole"""
_LONGEST_NAME = 1_000
"""maximum number of characters of a name"""
_MATRICES_PER_BLOCK = 4096
"""matrices computed at once"""
_LONGEST_NAME_IN_ARRAYS = 255
"""maximum number of characters of a name in arrays, where all names take the space of the longest"""

T = TypeVar("T")


def parse_frames(text: str) -> list[float]:
    """Parse ``0:100:5`` (the end is included) or ``3.5,7``; both can be combined. Raises ValueError."""
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
            raise ValueError(f"{part!r}: END is before START, or STEP is not positive")
        count = math.floor((end - start) / step + 1e-9) + 1
        if len(frames) + count > _MOST_FRAMES:
            raise ValueError(f"{part!r}: {len(frames) + count:g} frames, the limit is {_MOST_FRAMES}")
        frames += [start + step * index for index in range(count)]
    return frames


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not abs(number) <= _LAST_TIME:
        raise ValueError(f"{text!r} is not a time from {-_LAST_TIME:g} to {_LAST_TIME:g}")
    return number


def default_frames(scene: Scene) -> list[float]:
    """Return at most 101 whole frames of the active segment: every frame, or every second, third …

    A segment that contains no whole frame gives its start; a scene without a finite segment gives frame 0.
    """
    if not scene.clips:
        return [0.0]
    clip = scene.clips[0]
    start, end = clip.start / clip.units_per_frame, clip.end / clip.units_per_frame
    if not (math.isfinite(start) and math.isfinite(end)):
        return [0.0]
    first, last = math.ceil(start - _WHOLE), math.floor(end + _WHOLE)
    if last < first:
        return [start]
    step = -(-(last - first) // (_DEFAULT_FRAMES - 1)) or 1
    return [float(frame) for frame in range(first, last + 1, step)]


class Sample:
    """Some nodes of a scene at some times. Nodes are chosen by name; raises LookupError for an unknown name."""

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
        self._to_y_up = to_right_handed_y_up(scene.space) if axes == "y-up" else None

    def _find(self, names: Sequence[str]) -> list[int]:
        """Return nodes by name, as stored or as displayed."""
        nodes = list(reversed(list(enumerate(self.scene.nodes))))
        by_name = {_name(node.name): number for number, node in nodes} | {node.name: number for number, node in nodes}
        return [by_name[name] if name in by_name else self.scene.find(name) for name in names]

    @np.errstate(all="ignore")  # huge keys may overflow
    def world(self, nodes: int | Sequence[int]) -> Floats:
        """Return the (T, 4, 4) world matrices of a node in the chosen axes, (T, n, 4, 4) of several nodes."""
        world: Floats = self.pose.world[:, nodes]
        if self._to_y_up is None:
            return world
        conversion, mirror = self._to_y_up
        return np.asarray(conversion @ world @ mirror)

    def record(self) -> dict[str, Any]:
        """Return the sample as JSON values; non-finite numbers become null."""
        return {
            "schema": SCHEMA,
            "frames": _plain(self.pose.frames),
            "times": _plain(self.pose.times_seconds),
            "axes": "y-up, right-handed" if self._to_y_up is not None else str(self.scene.space),
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
        record: dict[str, Any] = {
            "name": _name(node.name),
            "id": node.file_id,
            "kind": node.kind.value,
            "parent": None if parent is None else _name(parent),
            "world": _plain(self.world(number).reshape(-1, 16)),
            "visible": self.pose.visible[:, number].tolist(),
        }
        if node.camera is not None:
            record["fov_degrees"] = _plain(self.pose.camera_fov_degrees[:, node.camera])
        if node.light is not None:
            record["color"] = _plain(self.pose.light_colors[:, node.light])
            record["multiplier"] = _plain(self.pose.light_multipliers[:, node.light])
            if self.scene.lights[node.light].hotspot_degrees is not None:
                record["hotspot_degrees"] = _plain(self.pose.light_hotspot_degrees[:, node.light])
                record["falloff_degrees"] = _plain(self.pose.light_falloff_degrees[:, node.light])
        if number in self.pose.morph_weights and node.morph is not None:
            record["morph"] = {
                "shapes": [_name(name) for name in node.morph.names],
                "weights": _plain(self.pose.morph_weights[number]),
            }
        return record

    def csv(self) -> str:
        """Return `columns` and `rows` as CSV."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.rows():
            writer.writerow([csv_cell(cell) if isinstance(cell, (str, bool)) else repr(cell) for cell in row])
        return stream.getvalue()

    columns = ("frame", "seconds", "node", "x", "y", "z", "qx", "qy", "qz", "qw", "sx", "sy", "sz", "visible")

    def rows(self) -> Iterator[list[float | str | bool]]:
        """Yield one row per node and time: world position, rotation, scale (shear is only in the matrices)."""
        frames, seconds = self.pose.frames.tolist(), self.pose.times_seconds.tolist()
        for numbers in blocks(self.numbers, len(frames)):
            with np.errstate(all="ignore"):
                parts = affine.decompose(self.world(numbers))
            values = np.concatenate(parts, axis=2).swapaxes(0, 1).tolist()
            visible = self.pose.visible[:, numbers].astype(bool).T.tolist()
            for number, node_values, node_visible in zip(numbers, values, visible, strict=True):
                name = self.scene.nodes[number].name
                rows = zip(frames, seconds, node_values, node_visible, strict=True)
                for frame, second, columns, is_visible in rows:
                    yield [frame, second, name, *columns, is_visible]

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of an ``.npz`` file."""
        chosen = np.array(self.numbers, np.int64)
        arrays: dict[str, Array] = {
            "frames": self.pose.frames,
            "times": self.pose.times_seconds,
            "names": np.array(
                [_name(self.scene.nodes[number].name)[:_LONGEST_NAME_IN_ARRAYS] for number in self.numbers], np.str_
            ),
            "world": self.world(self.numbers),
            "visible": self.pose.visible[:, chosen],
        }
        for clip in self.scene.clips[:1]:
            arrays |= {f"raw_{index}": raw.values for index, raw in enumerate(clip.raw_channels)}
        return arrays


def blocks(nodes: Sequence[T], times: int) -> Iterator[Sequence[T]]:
    """Yield the nodes in groups: at most 4,096 matrices for this number of times, but at least one node."""
    size = max(_MATRICES_PER_BLOCK // max(times, 1), 1)
    for start in range(0, len(nodes), size):
        yield nodes[start : start + size]


def _plain(array: Array) -> Any:
    values = array.tolist()
    if np.isfinite(array).all():
        return values
    return _without_non_finite(values)


def _without_non_finite(values: Any) -> Any:
    if isinstance(values, list):
        return [_without_non_finite(value) for value in values]
    return values if math.isfinite(values) else None


def _name(text: str) -> str:
    return safe_text(text)[:_LONGEST_NAME]
