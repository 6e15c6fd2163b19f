"""Checks that work takes time in proportion to its input, by ratios of processor time within one test."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import TypeVar

from keyframer.formats.guard import GcPaused

MOST_RATIO = 2.5
"""for twice as much"""
SHORTEST = 0.002
"""seconds below which a ratio says nothing about growth"""
TRIES = 25
"""only work that seems to grow too fast is measured so often: a busy machine slows large work more than small work"""

Given = TypeVar("Given")


def seconds(work: Callable[[Given], object], given: Given) -> float:
    """Return the processor time that the work takes; it hardly depends on how busy the machine is."""
    start = time.process_time()
    work(given)
    return time.process_time() - start


def assert_linear(work: Callable[[Given], object], small: Given, large: Given, times: float) -> None:
    """Assert that each doubling of the input from ``small`` to ``large`` takes at most 2.5 times as long.

    ``times`` is how many times larger ``large`` is than ``small``. The shortest of several tries counts, because other
    programs can only make a try slower. Garbage collection is paused: it would search all objects of earlier tests,
    and only large inputs would trigger it.
    """
    most = MOST_RATIO ** math.log2(times)
    best_small = best_large = math.inf
    for _ in range(TRIES):
        gc.collect()
        with GcPaused():
            best_small = min(best_small, seconds(work, small))
            best_large = min(best_large, seconds(work, large))
        if best_large <= most * max(best_small, SHORTEST):
            return
    raise AssertionError(f"{best_large / best_small:.1f} times as long for {times:g} times as much")
