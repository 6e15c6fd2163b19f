"""Panels as a drawing (axes with labelled ticks, curves, keys with their handles, ease and wrap), and as text: Braille
patterns, 2 x 4 dots each."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from keyframer.exchange.opening import Source, scene_from
from keyframer.inspecting.drawing import Area, Drawing, Line, Mark, Point, TextLabel
from keyframer.inspecting.panels import Curve, Panel, chosen_panels
from keyframer.scene import Scene
from keyframer.scene.scene import with_clip
from keyframer.text import safe_text

COLORS = ("#c62f2f", "#2a8c3a", "#2b5fc0", "#b07a00", "#7a3fb0", "#00868c", "#b5478f", "#5c5c5c")
WIDTH, PANEL_HEIGHT = 820, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 38, 34
_GRID, _FRAME, _EASE, _SEAM = "#e4e6ea", "#9aa0a8", "#f2b33d", "#8a6fc9"
_MOST_DECIMALS = 6
_SMALLEST_MARK, _LARGEST_MARK, _MARK_SHARE = 2.0, 5.0, 0.7
"""smallest and largest mark of a key in pixels, and its share of the average distance between keys"""
_LEAST_FOR_HANDLES = 12
"""average distance between keys in pixels below which handles are not drawn"""


def plot(
    scene: Scene | Source,
    *,
    node: str | Sequence[str] = (),
    track: str | Sequence[str] = (),
    clip: int | str = 0,
    span: tuple[float, float] | None = None,
    most: int = 24,
) -> Drawing:
    """Draw the curves of a scene or a file, with keys, tangents, ease and wrap; notebooks show the drawing.
    ``plot(scene).save("curves.svg")`` writes SVG or PNG.

    ``node`` and ``track`` choose by names of nodes, also patterns such as ``Sail*``, and by kinds of tracks:
    ``position``, ``rotation`` …, or ``raw``; without both, all tracks with several keys are drawn. ``clip`` is the
    index or the name of a clip, ``span`` a range of time in its unit, ``most`` the maximum number of tracks. Raises
    LookupError for an unknown node, kind or clip.
    """
    chosen = with_clip(scene_from(scene, clip), clip)
    nodes, kinds = ([given] if isinstance(given, str) else list(given) for given in (node, track))
    title = os.path.basename(os.fspath(scene)) if isinstance(scene, (str, os.PathLike)) else chosen.title
    return chart(chosen_panels(chosen, nodes, kinds, span, most)[0], safe_text(title))


def chart(panels: Sequence[Panel], title: str = "", width: int = WIDTH, panel_height: int = PANEL_HEIGHT) -> Drawing:
    """Draw all panels, one below the other."""
    head = 24 if title else 0
    drawing = Drawing(width, head + panel_height * max(len(panels), 1), title)
    if title:
        drawing.add(TextLabel((_LEFT, 17), title, size=13, bold=True))
    for number, panel in enumerate(panels):
        _PanelDrawer(drawing, panel, head + number * panel_height, panel_height).draw()
    if not panels:
        drawing.add(TextLabel((_LEFT, head + 30), "no animation"))
    return drawing


class _PanelDrawer:
    """Draws one panel."""

    def __init__(self, drawing: Drawing, panel: Panel, top: int, height: int) -> None:
        self._drawing, self._panel = drawing, panel
        self._left, self._right = _LEFT, drawing.width - _RIGHT
        self._top, self._bottom = top + _TOP, top + height - _BOTTOM
        self._x = panel.span
        self._y = value_range(panel)

    def _at(self, time: float, value: float) -> Point:
        across = (time - self._x[0]) / (self._x[1] - self._x[0])
        up = (value - self._y[0]) / (self._y[1] - self._y[0])
        return (
            self._left + min(max(across, -0.02), 1.02) * (self._right - self._left),
            self._bottom - min(max(up, -0.03), 1.03) * (self._bottom - self._top),
        )

    def draw(self) -> None:
        panel, add = self._panel, self._drawing.add
        title = panel.title if len(panel.title) <= 90 else f"{panel.title[:89]}…"
        add(TextLabel((self._left, self._top - 22), title, bold=True))
        add(TextLabel((self._left - 56, self._top - 7), panel.y_label, "#666666", 10))
        self._axes()
        for begin, end in panel.eases:
            self._ease(begin, end)
        for seam in panel.seams:
            add(Line([self._at(seam, self._y[0]), self._at(seam, self._y[1])], _SEAM, 1, dashed=True))
        for number, curve in enumerate(panel.curves):
            self._curve(curve, COLORS[number % len(COLORS)])
        room = (self._right - self._left) / max(len({key.time for key in panel.keys}), 1)
        for key in panel.keys:
            if not math.isfinite(key.value):  # cannot be drawn
                continue
            color = COLORS[key.curve % len(COLORS)]
            point = self._at(key.time, key.value)
            for handle in (key.arriving, key.leaving) if room >= _LEAST_FOR_HANDLES else ():
                if handle is not None:
                    tip = self._at(*handle)
                    add(Line([point, tip], color, 0.8), Mark(tip, color, 3.0, "ring"))
            add(Mark(point, color, min(max(_MARK_SHARE * room, _SMALLEST_MARK), _LARGEST_MARK), "diamond", key.tooltip))
        self._legend()

    def _axes(self) -> None:
        add = self._drawing.add
        for value in ticks(*self._y, 4):
            _, y = self._at(self._x[0], value)
            add(Line([(self._left, y), (self._right, y)], _GRID))
            add(TextLabel((self._left - 6, y + 3.5), tick_text(value, self._y), "#666666", 10, "end"))
        for time in ticks(*self._x, 10):
            x, _ = self._at(time, self._y[0])
            add(Line([(x, self._bottom), (x, self._top)], _GRID))
            add(TextLabel((x, self._bottom + 13), tick_text(time, self._x), "#666666", 10, "middle"))
        corners = [(self._left, self._top), (self._left, self._bottom), (self._right, self._bottom)]
        add(
            Line(corners, _FRAME),
            TextLabel((self._right, self._bottom + 26), self._panel.x_label, "#666666", 10, "end"),
        )

    def _ease(self, begin: float, end: float) -> None:
        """Draw a band over the time of a slow start or stop."""
        left, right = self._at(begin, self._y[0])[0], self._at(end, self._y[0])[0]
        if right - left > 0.5:
            corners = [(left, self._bottom), (right, self._bottom), (right, self._top), (left, self._top)]
            self._drawing.add(Area(corners, _EASE, 0.22))

    def _curve(self, curve: Curve, color: str) -> None:
        """Draw a curve: solid between the keys, dashed outside."""
        for points, outside in self._segments(curve):
            if len(points) > 1:
                self._drawing.add(Line(points, color, 1.0 if outside else 1.6, dashed=outside))

    def _segments(self, curve: Curve) -> Iterator[tuple[list[Point], bool]]:
        times, values = curve.times, curve.values
        if self._panel.keyed is None:
            yield [self._at(t, v) for t, v in zip(times.tolist(), values.tolist(), strict=True)], False
            return
        first, last = self._panel.keyed
        for low, high, outside in ((-math.inf, first, True), (first, last, False), (last, math.inf, True)):
            inside = (times >= low) & (times <= high)
            yield (
                [self._at(t, v) for t, v in zip(times[inside].tolist(), values[inside].tolist(), strict=True)],
                outside,
            )

    def _legend(self) -> None:
        labels: list[tuple[str, str]] = []
        curves = self._panel.curves
        if len(curves) > 1 or (curves and curves[0].name not in self._panel.title):
            labels = [(c.name, COLORS[n % len(COLORS)]) for n, c in enumerate(curves)]
        if self._panel.eases:
            labels.append(("ease", _EASE))
        if self._panel.seams:
            labels.append(("wrap", _SEAM))
        x = float(self._right)
        for text, color in reversed(labels):
            x -= 6.2 * len(text) + 18
            y = self._top - 8
            self._drawing.add(Area([(x, y - 8), (x + 9, y - 8), (x + 9, y + 1), (x, y + 1)], color))
            self._drawing.add(TextLabel((x + 12, y), text, "#444444", 10))


def value_range(panel: Panel) -> tuple[float, float]:
    """Return the lowest and the highest value with a margin; never an empty range."""
    finite = [curve.values[np.isfinite(curve.values)] for curve in panel.curves]
    values = np.concatenate(finite) if finite else np.empty(0)
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    magnitude = max(abs(low), abs(high))
    if high - low <= magnitude * 1e-6:  # a constant value: rounding must not look like motion
        return low - max(magnitude * 0.1, 0.5), high + max(magnitude * 0.1, 0.5)
    room = (high - low) * 0.08
    return low - room, high + room


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return about ``about`` round numbers in a range: multiples of 1, 2 or 5 times a power of ten. Empty if the range
    is empty or not finite."""
    step = (high - low) / max(about, 1)
    if not (math.isfinite(step) and step > 0):
        return []
    power = 10.0 ** math.floor(math.log10(step))
    step = next((power * factor for factor in (1, 2, 5, 10) if power * factor >= step * 0.999), power * 10)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)][:100] if last - first < 1000 else []


def tick_text(value: float, span: tuple[float, float]) -> str:
    """Format the label of a tick with a number of digits that suits the range of the axis."""
    size = span[1] - span[0]
    if abs(value) < size * 1e-9:
        return "0"
    if abs(value) >= 1e6 or size < 1e-4:
        return f"{value:.3g}"
    decimals = min(max(0, 2 - math.floor(math.log10(size))), _MOST_DECIMALS) if size < 100 else 0
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""bits of a Braille character: four rows of two dots"""
_ANSI = (31, 32, 34, 33, 35, 36, 91, 37)
"""colours of curves: red, green, blue …"""
_LABEL = 10
"""columns for the numbers of the value axis"""
_KEY_COLUMNS = 3
"""columns that the mark of a key needs"""


class Dots:
    """A screen of Braille characters, two dots across and four down in each."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._bits = [[0] * columns for _ in range(rows)]
        self._colors = [[-1] * columns for _ in range(rows)]
        self._marks: dict[tuple[int, int], str] = {}

    def dot(self, across: float, up: float, color: int) -> None:
        """Draw a dot. ``across`` and ``up`` are fractions (0 to 1) of the width from the left and of the height from
        the bottom."""
        if not (0 <= across <= 1 and 0 <= up <= 1):
            return
        x = min(int(across * self.columns * 2), self.columns * 2 - 1)
        y = min(int((1 - up) * self.rows * 4), self.rows * 4 - 1)
        self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
        self._colors[y // 4][x // 2] = color

    def line(self, across: Sequence[float], up: Sequence[float], color: int) -> None:
        """Draw dots along a line through these points."""
        for (x0, y0), (x1, y1) in pairwise(zip(across, up, strict=True)):
            steps = int(max(abs(x1 - x0) * self.columns * 2, abs(y1 - y0) * self.rows * 4)) + 1
            for step in range(min(steps, 4 * (self.columns + self.rows)) + 1):
                share = step / steps
                self.dot(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share, color)

    def mark(self, across: float, up: float, sign: str, color: int) -> None:
        if 0 <= across <= 1 and 0 <= up <= 1:
            x = min(int(across * self.columns), self.columns - 1)
            y = min(int((1 - up) * self.rows), self.rows - 1)
            self._marks[y, x] = sign
            self._colors[y][x] = color

    def lines(self, colored: bool) -> Iterator[str]:
        for y in range(self.rows):
            parts: list[str] = []
            for x in range(self.columns):
                sign = self._marks.get((y, x)) or (chr(0x2800 + self._bits[y][x]) if self._bits[y][x] else " ")
                color = self._colors[y][x]
                parts.append(f"\x1b[{_ANSI[color % len(_ANSI)]}m{sign}\x1b[0m" if colored and color >= 0 else sign)
            yield "".join(parts).rstrip(" ")


def panels_as_text(panels: Sequence[Panel], columns: int = 80, rows: int = 10, *, colored: bool = False) -> str:
    """Return all panels as text, one below the other."""
    lines: list[str] = []
    for panel in panels:
        lines += [*_panel_lines(panel, max(columns, 40), max(rows, 3), colored), ""]
    return "\n".join(lines) + ("\n" if lines else "no animation\n")


def _panel_lines(panel: Panel, columns: int, rows: int, colored: bool) -> Iterator[str]:
    width = columns - _LABEL - 1
    (low, high), (left, right) = value_range(panel), panel.span
    dots = Dots(width, rows)

    def across(time: float) -> float:
        return (time - left) / (right - left)

    def up(value: float) -> float:
        return (value - low) / (high - low)

    for number, curve in enumerate(panel.curves):
        good = np.isfinite(curve.values)
        xs = [across(time) for time in curve.times[good].tolist()]
        dots.line(xs, [up(value) for value in curve.values[good].tolist()], number)
    if len({key.time for key in panel.keys}) * _KEY_COLUMNS <= width:  # else marks would cover the curve
        for key in panel.keys:
            dots.mark(across(key.time), up(key.value), "◆", key.curve)
    yield safe_text(panel.title)[:columns]
    yield _legend(panel, colored)[: columns if not colored else None]
    labels = {0: tick_text(high, (low, high)), rows - 1: tick_text(low, (low, high))}
    labels[(rows - 1) // 2] = tick_text((low + high) / 2, (low, high))
    for number, line in enumerate(dots.lines(colored)):
        yield f"{labels.get(number, '')[:_LABEL]:>{_LABEL}}┤{line}"
    yield " " * _LABEL + "└" + "─" * width
    start, end = tick_text(left, panel.span), tick_text(right, panel.span)
    middle = panel.x_label[: max(width - len(start) - len(end) - 2, 0)]
    yield " " * (_LABEL + 1) + start + middle.center(width - len(start) - len(end)) + end


def _legend(panel: Panel, colored: bool) -> str:
    names = [
        f"\x1b[{_ANSI[number % len(_ANSI)]}m{safe_text(curve.name)}\x1b[0m" if colored else safe_text(curve.name)
        for number, curve in enumerate(panel.curves)
    ]
    extra = [word for word, is_shown in (("ease", panel.eases), ("repeats", panel.seams)) if is_shown]
    return (
        " " * (_LABEL + 1)
        + ", ".join(names)
        + (f" in {panel.y_label}" if panel.y_label else "")
        + (f" ({', '.join(extra)})" if extra else "")
    )
