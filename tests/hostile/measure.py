"""Measures time and memory of hostile files: ``python -m tests.hostile.measure [--to BYTES] [TITLE …]`` prints a table
for docs/reliability.md; the tests use the same functions for smaller files."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import keyframer
from tests.growth import MOST_RATIO
from tests.hostile.shapes import ALL

ROOT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
SIZES = tuple(64 * 1024 << power for power in range(9))
"""64 KiB to 16 MiB"""
SHORTEST = 0.05
"""seconds below which a ratio says nothing about growth"""

TRIES = 3
"""how often a size that seems to take too long is measured again"""


class Cost(NamedTuple):
    """The cost of one file in a separate process."""

    size: int
    seconds: float
    """of the processor, for all of it"""
    document: int
    """bytes by which resident memory grew at most while the file was decoded and written back"""
    report: int
    """the same with the scene and the report"""


def allowed(size: int) -> int:
    """Return the bytes of memory that reading a file of this size may take."""
    return 40 * size + 64 * MIB


def work(data: bytes, format: str) -> None:
    """Decode, encode and check a file; checking builds a scene."""
    with suppress(keyframer.FormatError):
        document = keyframer.decode(data, format=format)
        assert keyframer.encode(document) == data
        keyframer.check(document)


_CHILD = """
import os, sys, time
from contextlib import suppress
import keyframer
from tests.hostile.measure import work
from tests.hostile.shapes import SHAPES
size, *titles = sys.argv[1:]
for number, format in enumerate(titles[::2]):
    if not os.fork():
        title = titles[2 * number + 1]
        break
    assert os.wait()[1] == 0
else:
    sys.exit()
size, shape = int(size), SHAPES[format][title]
work(shape(4096), format)
data = shape(size)
def status(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field)) * 1024
def forget_peak():
    open("/proc/self/clear_refs", "w").write("5")
forget_peak()
before, start = status("VmRSS"), time.process_time()
peaks = []
with suppress(keyframer.FormatError):
    document = keyframer.decode(data, format=format)
    assert keyframer.encode(document) == data
    peaks.append(status("VmHWM"))
    forget_peak()
    keyframer.check(document)
peaks.append(status("VmHWM"))
print(len(data), time.process_time() - start, peaks[0] - before, max(peaks) - before)
"""


def costs(shapes: Sequence[tuple[str, str]], size: int) -> list[Cost]:
    """Return the costs of shapes (format and title), each in a separate process (Linux)."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(size), *(word for shape in shapes for word in shape)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return [Cost(int(row[0]), float(row[1]), int(row[2]), int(row[3])) for row in rows]


def _fastest(format: str, title: str, size: int, tries: int = 1) -> float:
    return min(cost.seconds for cost in costs([(format, title)] * tries, size))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=int, default=SIZES[-1], metavar="BYTES")
    parser.add_argument("titles", nargs="*", metavar="TITLE")
    options = parser.parse_args(arguments)
    sizes = [size for size in SIZES if size <= options.to]
    broken = 0
    for format, title, _ in ALL:
        if options.titles and title not in options.titles:
            continue
        (cost,) = costs([(format, title)], sizes[-1])
        # every size in separate processes: one that has grown already would be faster than a fresh one
        times = [_fastest(format, title, size, 3 if size < MIB else 1) for size in sizes[:-1]] + [cost.seconds]
        for _ in range(TRIES):
            slow = [at for at in range(1, len(times)) if times[at] > MOST_RATIO * max(times[at - 1], SHORTEST)]
            for at in sorted({*slow, *(at - 1 for at in slow)}):  # whatever else runs can only make it slower
                times[at] = min(times[at], _fastest(format, title, sizes[at]))
        worst = max(later / max(earlier, SHORTEST) for earlier, later in pairwise(times))
        within = worst <= MOST_RATIO and cost.report <= allowed(cost.size)
        broken += not within
        sys.stdout.write(
            f"| {format} | {title.replace('_', ' ')} | {times[-1]:.1f} | {worst:.2f} "
            f"| {cost.document / MIB:.0f} | {cost.document / cost.size:.1f} "
            f"| {cost.report / MIB:.0f} | {cost.report / cost.size:.1f} |{'' if within else ' too much'}\n"
        )
        sys.stdout.flush()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
