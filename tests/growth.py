"""Whether work grows in proportion to what is given: ratios of processor time within one test, never seconds."""

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
    """Return the processor time of this process: how busy the machine is matters little."""
    start = time.process_time()
    work(given)
    return time.process_time() - start


def assert_linear(work: Callable[[Given], object], small: Given, large: Given, times: float) -> None:
    """Each doubling from ``small`` to ``large``, which is ``times`` as much, takes at most 2.5 times as long.

    The best of several tries: whatever else runs on the machine can only make it slower. Garbage collection is paused:
    it would look through all that earlier tests left in memory, and only large work sets it off.
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
