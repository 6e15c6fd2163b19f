"""Draws the paths of nodes in space, seen from the front right and above, in a box with labelled edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats
from keyframer.inspecting.charts import COLORS, Dots, tick_text
from keyframer.inspecting.drawing import Area, Drawing, Line, Mark, Point, TextLabel
from keyframer.inspecting.panels import value_label
from keyframer.posing import pose
from keyframer.scene import Handedness, Scene
from keyframer.text import safe_text

WIDTH, HEIGHT = 820, 620
_AROUND, _ABOVE = math.radians(32), math.radians(24)
"""angles of the view: from the front to the right, and upwards"""
_MOST_DOTS = 240
_MOST_KEYS = 1_000
_LONGEST = 60
"""maximum number of characters of the name of a path"""
_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1]
"""pairs of corners of a box that differ in one coordinate"""


@dataclass(eq=False)
class Path:
    """The position of one node, frame by frame."""

    name: str
    frames: Floats
    positions: Floats
    """(T, 3) in the space of the scene"""
    keys: list[int]
    """indices of ``frames`` that have a position key"""


def motion_paths(scene: Scene, nodes: Sequence[int], frames: Sequence[float]) -> list[Path]:
    """Return the paths of nodes at these frames and at the keys of their position tracks."""
    key_frames = [_key_frames(scene, number, min(frames), max(frames)) for number in nodes]
    sampled = pose(scene, frames=sorted({*frames, *(frame for keyed in key_frames for frame in keyed)}))
    paths: list[Path] = []
    for number, keyed in zip(nodes, key_frames, strict=True):
        positions = np.nan_to_num(sampled.world[:, number, :3, 3]).clip(-1e18, 1e18)
        marks = [at for at, frame in enumerate(sampled.frames.tolist()) if frame in keyed]
        paths.append(Path(scene.nodes[number].name, sampled.frames, positions, marks))
    return paths


def _key_frames(scene: Scene, node: int, first: float, last: float) -> set[float]:
    key_frames: set[float] = set()
    for channel in scene.channels_of(node):
        if channel.track.kind == "position":
            with np.errstate(all="ignore"):  # extreme rates
                frames = channel.track.times / (scene.clips[0].units_per_frame or 1.0)
            key_frames |= set(frames[(frames >= first) & (frames <= last)][:_MOST_KEYS].tolist())
    return key_frames


class _Box:
    """The box around all paths and its projection."""

    def __init__(self, scene: Scene, paths: Sequence[Path]) -> None:
        points = np.concatenate([path.positions for path in paths]) if paths else np.zeros((1, 3))
        low, high = points.min(axis=0), points.max(axis=0)
        room = max(float((high - low).max()), max(float(np.abs(points).max()), 1.0) * 1e-6) * 0.04
        self.low, self.high = low - room, high + room
        self.up = "xyz".index(scene.space.up)
        front = {"x": (0.0, 0.0, 1.0), "y": (0.0, 0.0, 1.0), "z": (0.0, -1.0, 0.0)}[scene.space.up]
        above, towards = np.eye(3)[self.up], np.array(front)
        side = np.cross(above, towards)
        if scene.space.handedness is Handedness.LEFT:
            towards = -towards
        flat = towards * math.cos(_AROUND) + side * math.sin(_AROUND)
        self._right = side * math.cos(_AROUND) - towards * math.sin(_AROUND)
        self._top = above * math.cos(_ABOVE) - flat * math.sin(_ABOVE)
        corners = self.projected(self.corners)
        self._low, self._size = corners.min(axis=0), np.maximum(np.ptp(corners, axis=0), 1e-12)

    @property
    def corners(self) -> Floats:
        """(8, 3); bit i of the number of a corner is its side of axis i."""
        return np.array([[(self.low, self.high)[number >> axis & 1][axis] for axis in range(3)] for number in range(8)])

    def projected(self, positions: Floats) -> Floats:
        """Return (n, 2) coordinates in the view: right and up."""
        return np.stack([positions @ self._right, positions @ self._top], axis=1)

    def fractions(self, positions: Floats) -> Floats:
        """Return (n, 2) positions from 0 to 1 across the projected box."""
        return np.asarray((self.projected(positions) - self._low) / self._size)

    @property
    def ratio(self) -> float:
        return float(self._size[0] / self._size[1])


def path_drawing(scene: Scene, paths: Sequence[Path], title: str = "") -> Drawing:
    """Draw all paths in one box: a dot per frame if there are few, a diamond per key, labels at the first and last
    frame."""
    drawing = Drawing(WIDTH, HEIGHT, title)
    box = _Box(scene, paths)
    left, top, width, height = 70.0, 60.0, WIDTH - 140.0, HEIGHT - 130.0
    if box.ratio > width / height:
        shrunk = width / box.ratio
        top, height = top + (height - shrunk) / 2, shrunk
    else:
        shrunk = height * box.ratio
        left, width = left + (width - shrunk) / 2, shrunk

    def at(positions: Floats) -> list[Point]:
        return [(left + x * width, top + (1 - y) * height) for x, y in box.fractions(positions).tolist()]

    drawing.add(TextLabel((24, 24), title, size=13, bold=True))
    corners = at(box.corners)
    floor = [number for number in (0, 1, 2, 3, 4, 5, 6, 7) if not number >> box.up & 1]
    order = [floor[0], floor[1], floor[3], floor[2]]
    drawing.add(Area([corners[number] for number in order], "#f3f4f6"))
    for a, b in _EDGES:
        drawing.add(Line([corners[a], corners[b]], "#c9ced6"))
    _label_edges(drawing, scene, box, corners)
    for number, path in enumerate(paths):
        color = COLORS[number % len(COLORS)]
        shadow = path.positions.copy()
        shadow[:, box.up] = box.low[box.up]
        drawing.add(Line(at(shadow), "#d3d6dc", 1.2), Line(at(path.positions), color, 1.8))
        points = at(path.positions)
        if len(points) <= _MOST_DOTS:
            drawing.add(*(Mark(point, color, 3.0, "dot") for point in points))
        for key in path.keys:
            x, y, z = path.positions[key].tolist()
            tooltip = f"key at {path.frames[key]:g}: {x:g}, {y:g}, {z:g}"
            drawing.add(Mark(points[key], color, 6.0, "diamond", tooltip))
        for end in sorted({0, len(points) - 1}):
            drawing.add(TextLabel((points[end][0] + 6, points[end][1] - 6), f"{path.frames[end]:g}", color, 10))
        drawing.add(TextLabel((WIDTH - 24, 24 + 15 * number), _short(path.name), color, 11, "end"))
    return drawing


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _label_edges(drawing: Drawing, scene: Scene, box: _Box, corners: list[Point]) -> None:
    """Label one edge for each axis: numbers at its ends, the name of the axis in the middle."""
    lowest = max(range(8), key=lambda number: corners[number][1])
    leftmost = min(range(8), key=lambda number: corners[number][0])
    for axis in range(3):
        begin = leftmost if axis == box.up else lowest
        end = begin ^ (1 << axis)
        span = (float(box.low[axis]), float(box.high[axis]))
        for corner in (begin, end):
            x, y = corners[corner]
            value = span[corner >> axis & 1]
            if axis == box.up:
                drawing.add(TextLabel((x - 6, y + 4), tick_text(value, span), "#666666", 10, "end"))
            else:
                shift = 16 if corner == lowest else 0
                side = -shift if corners[end][0] < corners[begin][0] else shift
                drawing.add(TextLabel((x + side, y + 16), tick_text(value, span), "#666666", 10, "middle"))
        x, y = (corners[begin][0] + corners[end][0]) / 2, (corners[begin][1] + corners[end][1]) / 2
        aside = -8 if axis == box.up or corners[end][0] < corners[begin][0] else 8
        below = 0 if axis == box.up else 16
        drawing.add(TextLabel((x + aside, y + below), "xyz"[axis], "#444444", 11, "end" if aside < 0 else "start"))
    drawing.add(TextLabel((24, HEIGHT - 16), f"x, y, z in {value_label('position', scene)}", "#666666", 10))


def paths_as_text(scene: Scene, paths: Sequence[Path], columns: int, rows: int, *, colored: bool = False) -> str:
    """Return the view of `path_drawing` in Braille characters, with the frames and ranges of each path below."""
    box = _Box(scene, paths)
    dots = Dots(max(columns, 20), max(rows, 5))
    for number, path in enumerate(paths):
        seen = box.fractions(path.positions)
        dots.line(seen[:, 0].tolist(), seen[:, 1].tolist(), number)
        for key in path.keys:
            dots.mark(float(seen[key, 0]), float(seen[key, 1]), "◆", number)
        for sign, at in (("○", 0), ("●", -1)):
            dots.mark(float(seen[at, 0]), float(seen[at, 1]), sign, number)
    lines = list(dots.lines(colored))
    for path in paths:
        low, high = path.positions.min(axis=0).tolist(), path.positions.max(axis=0).tolist()
        ranges = ", ".join(f"{axis} {a:g}..{b:g}" for axis, a, b in zip("xyz", low, high, strict=True))
        span = f"frames {path.frames[0]:g} ○ to {path.frames[-1]:g} ●"
        lines.append(f"{safe_text(path.name)[:60]}: {span}; {ranges} {value_label('position', scene)}")
    return "\n".join(lines) + "\n"
