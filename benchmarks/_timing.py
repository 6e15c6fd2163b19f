"""Shared code of the benchmarks: best-of-N timing, lines of results, the machine in one line, and the corpus."""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

CORPUS_3DS = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "3ds"
"""the folder of real files next to a checkout, as in tests/corpus.py"""


def best_of(work: Callable[[], object], *, runs: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of the fastest run: other work on the machine only adds time."""
    gc.collect()  # collect garbage of earlier work first
    best = float("inf")
    for _ in range(runs):
        begin = clock()
        result = work()
        best = min(best, clock() - begin)
        del result  # freeing the result is not part of the time
    return best


def corpus_files() -> list[Path]:
    """Return the real 3D Studio files; empty without a corpus."""
    return sorted(path for path in CORPUS_3DS.glob("*") if path.suffix.lower() == ".3ds")


def machine() -> str:
    """Return the machine in one line, without its name."""
    return (
        f"{os.cpu_count()} cores ({_processor()}), {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, numpy {numpy.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def headline(title: str) -> None:
    """Print a title, and the machine in one line."""
    print(f"{title}\n{machine()}\n")


def row(title: str, seconds: float, *notes: str) -> None:
    """Print one line of results: milliseconds, then ratios and remarks."""
    print(f"  {title:<54} {seconds * 1e3:10.3f} ms   {'; '.join(notes)}".rstrip())


def against_goal(ratio: float, goal: float, *, at_most: bool = False) -> str:
    """Return a ratio with its goal, and whether the goal is met."""
    met = ratio <= goal if at_most else ratio >= goal
    return f"{ratio:.2f} x, goal {'at most' if at_most else 'at least'} {goal:g} x: {'met' if met else 'MISSED'}"


def best_of_each(
    functions: dict[str, Callable[[], object]],
    *,
    runs: int = 5,
    repeats: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return the seconds of the fastest run of each function; runs alternate, so that other work affects all equally.

    In each of ``runs`` rounds, every function is called ``repeats`` times in a row, because its first call finds
    nothing in the processor's caches.
    """
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(runs):
        for name, function in functions.items():
            best[name] = min(best[name], best_of(function, runs=repeats, clock=clock))
    return best


def machine_load() -> str:
    """Return the load average and the number of cores."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


class Contestant:
    """A separate process that repeats some work with the sources of one checkout.

    ``program`` defines ``work()``. Each `round` calls it once and measures the processor time of the call. Rounds
    of several contestants alternate, so other programs hardly affect the ratio. ``result`` is what the last call
    returned, as far as JSON can express it.
    """

    result: Any = None

    def __init__(self, checkout: Path, program: str) -> None:
        loop = (
            "import json, sys, time, gc\nfor _ in sys.stdin:\n    gc.collect()\n    begin = time.process_time()\n"
            "    result = work()\n    print(json.dumps([time.process_time() - begin, result]), flush=True)\n"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"{program}\n{loop}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.fspath(checkout / "src")},
        )

    def round(self) -> float:
        """Return the processor seconds of one more call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        seconds, self.result = json.loads(self._process.stdout.readline())
        return float(seconds)

    def close(self) -> None:
        self._process.communicate()
