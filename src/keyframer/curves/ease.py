"""Ease: slow starts and stops, a warp of u within a segment before any interpolation."""

from __future__ import annotations

import numpy as np

from .key_columns import KeyColumns
from .segments import Segments
from .track import Floats


def segment_ease(columns: KeyColumns, segments: Segments) -> tuple[Floats, Floats] | None:
    """Ease out of the left and into the right key of every segment, together at most 1; None if all are 0."""
    leaving = np.where(segments.lasting, columns.ease_from, 0.0)
    arriving = np.zeros(len(leaving))
    arriving[:-1] = columns.ease_to[1:]
    arriving = np.where(segments.lasting, arriving, 0.0)
    if not (leaving.any() or arriving.any()):
        return None
    total = np.maximum(leaving + arriving, 1.0)
    return leaving / total, arriving / total


def warp(u: Floats, leaving: Floats, arriving: Floats) -> Floats:
    """u with a start that takes `leaving` and a stop that takes `arriving` of the segment."""
    speed = 1 / (2 - leaving - arriving)
    start = speed * u * u / np.where(leaving > 0, leaving, 1.0)
    stop = 1 - speed * (1 - u) ** 2 / np.where(arriving > 0, arriving, 1.0)
    cruise = speed * (2 * u - leaving)
    return np.where(u < leaving, start, np.where(u <= 1 - arriving, cruise, stop))
