"""Panels in a terminal: curves as dots of Braille characters, keys as diamonds, axes with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from keyframer.inspecting.charts import tick_text, value_range
from keyframer.inspecting.panels import Panel
from keyframer.text import safe_text

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
