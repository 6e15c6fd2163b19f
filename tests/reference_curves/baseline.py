"""Baselines as text: one line per time, with the time and the components."""

from __future__ import annotations

from pathlib import Path

from .curves import default_of, sample_times
from .slow import SlowTrack, Vector, evaluate

BASELINES = Path(__file__).parent / "baselines"
PICTURES = Path(__file__).parent / "pictures"


def write_text(track: SlowTrack) -> str:
    """The text of a baseline, computed by the slow evaluator."""
    lines = []
    for t in sample_times(track):
        t = float(f"{t:.12g}")
        value = evaluate(track, t, default_of(track))
        lines.append(" ".join([f"{t:.12g}", *(f"{round(x, 12) + 0.0:.12g}" for x in value)]))
    return "\n".join(lines) + "\n"


def read_text(text: str) -> tuple[list[float], list[Vector]]:
    """Times and values of a baseline."""
    rows = [[float(word) for word in line.split()] for line in text.splitlines()]
    return [row[0] for row in rows], [row[1:] for row in rows]
