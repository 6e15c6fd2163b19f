"""Time and memory of hostile files: ``python -m tests.hostile.measure [BYTES …]`` prints a table for
docs/reliability.md; the tests use the same functions for smaller files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import keyframer
from tests.hostile.shapes import ALL

ROOT = Path(__file__).resolve().parents[2]
SIZES = tuple(64 * 1024 << power for power in range(9))
"""64 KiB to 16 MiB"""


def work(data: bytes, format: str, report: bool = True) -> None:
    """All that reading does: a document and its bytes again, and a report, for which a scene is made."""
    with suppress(keyframer.FormatError):
        document = keyframer.decode(data, format=format)
        assert keyframer.encode(document) == data
        if report:
            keyframer.check(document)


def seconds(data: bytes, format: str, tries: int = 1) -> float:
    """The best of a few tries: the machine may be busy."""
    best = float("inf")
    for _ in range(tries):
        start = time.process_time()
        work(data, format)
        best = min(best, time.process_time() - start)
    return best


_CHILD = """
import sys
from tests.hostile.measure import work
from tests.hostile.shapes import SHAPES
format, title, size, report = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "report"
shape = SHAPES[format][title]
work(shape(4096), format, True)
data = shape(size)
open("/proc/self/clear_refs", "w").write("5")
def status(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field)) * 1024
before = status("VmRSS")
work(data, format, report)
print(len(data), status("VmHWM") - before)
"""


def memory(format: str, title: str, size: int, what: str = "report") -> tuple[int, int]:
    """Size of the file and growth of the peak of resident memory, in a process of its own (Linux); ``what``:
    ``document`` for reading and writing back, ``report`` for a scene and a report as well."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, format, title, str(size), what],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    length, growth = done.stdout.split()
    return int(length), int(growth)


def main(sizes: list[int]) -> None:
    rows = []
    for format, title, shape in ALL:
        times = [seconds(shape(size), format, 2) for size in sizes]
        ratios = [later / max(earlier, 0.02) for earlier, later in pairwise(times)]
        length, document = memory(format, title, sizes[-1], "document")
        _, report = memory(format, title, sizes[-1], "report")
        rows.append((format, title, times[-1], max(ratios, default=0.0)))
        sys.stdout.write(
            f"| {format} | {title.replace('_', ' ')} | {times[-1]:.2f} | {max(ratios, default=0):.2f} "
            f"| {document / 2**20:.0f} | {document / length:.1f} | {report / 2**20:.0f} | {report / length:.1f} |\n"
        )
        sys.stdout.flush()
    sys.stderr.write(json.dumps({"worst ratio": max(row[3] for row in rows), "slowest": max(row[2] for row in rows)}))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or list(SIZES))
