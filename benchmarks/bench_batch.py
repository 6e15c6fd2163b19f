"""Many small files: everything accounted for, memory of the coordinator, a second run, two cores, and a shell loop.

    .venv/bin/python benchmarks/bench_batch.py --files 100000

Each part can be run alone (``--part``); ``--place /dev/shm`` takes the disk out of it: every output is synced to the
disk before it gets its name, and for small files that waiting is most of the work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _timing import against_goal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from batch_torture import LEDGER, START, make_tree  # noqa: E402

PARTS = ("all", "many", "cores", "assimp")


def batch(operation: str, source: Path, out: Path, *options: str) -> tuple[float, int, int]:
    """Seconds, exit code, and the largest resident size of the coordinator in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", START, "batch", operation, str(source), "-o", str(out), *options],
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    text = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)  # of the coordinator alone: its workers are not its waited-for children
    process.returncode = os.waitstatus_to_exitcode(status)
    print("    " + next((line for line in text.splitlines() if " files: " in line), "?").removeprefix("keyframer: "))
    return time.perf_counter() - start, process.returncode, peak_of(usage.ru_maxrss)


def peak_of(kibibytes: int) -> int:
    return kibibytes * 1024


def many(place: Path, count: int, operation: str) -> None:
    source, out = place / "in", place / "out"
    broken = make_tree(source, count)
    print(f"{count:,} files ({broken:,} damaged), {operation}")
    first, code, peak = batch(operation, source, out)
    base = sqlite3.connect(out / LEDGER)
    counts = dict(base.execute("SELECT status, COUNT(*) FROM files GROUP BY 1"))
    base.close()
    written = sum(1 for path in out.rglob("*") if path.is_file() and not path.name.startswith(LEDGER))
    print(f"  first run   {first:8.1f} s, {count / first:.0f} files a second, exit {code}")
    accounted = sum(counts.values())
    print(f"  rows {counts}, {written:,} outputs; accounted for: {'all' if accounted == count else accounted}")
    print(f"  coordinator {peak / 1e6:.0f} MB at its peak (goal: below 300)")
    again, _, peak = batch(operation, source, out)
    print(f"  second run  {again:8.1f} s (goal: below 60), coordinator {peak / 1e6:.0f} MB")
    print(f"  ledger {(out / LEDGER).stat().st_size / count:.0f} bytes a file")
    shutil.rmtree(source)
    shutil.rmtree(out)


def cores(place: Path, count: int) -> None:
    source = place / "in"
    make_tree(source, count)
    print(f"convert, {count:,} files, one worker against two (best of two, in turns)")
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(2):
        for workers in best:
            best[workers] = min(best[workers], batch("convert", source, place / "out", "-j", str(workers))[0])
            shutil.rmtree(place / "out")
    for workers, seconds in best.items():
        print(f"  {workers} worker(s): {seconds:.1f} s, {count / seconds:.0f} files a second")
    print(f"  {against_goal(best[1] / best[2], 1.8)}")
    shutil.rmtree(source)


def assimp(place: Path, count: int) -> None:
    """Static files both can read: a mesh without motion."""
    if shutil.which("assimp") is None:
        print("assimp is not installed: no comparison")
        return
    data = (ROOT / "tests" / "samples" / "3ds" / "bare_editor.3ds").read_bytes()
    source = place / "in"
    source.mkdir()
    for number in range(count):
        (source / f"{number:05}.3ds").write_bytes(data)
    out = place / "assimp"
    out.mkdir()
    script = f'for f in "{source}"/*.3ds; do assimp export "$f" "{out}/$(basename "$f" .3ds).glb" >/dev/null; done'
    start = time.perf_counter()
    subprocess.run(["sh", "-c", script], check=True)
    loop = time.perf_counter() - start
    made = len(list(out.glob("*.glb")))
    print(f"{count} static files ({len(data)} bytes each) as .glb")
    print(f"  shell loop over assimp export {loop:8.1f} s, {count / loop:.0f} files a second ({made} made, not synced)")
    for workers in ("1", "2"):
        seconds, _, _ = batch("convert", source, place / "ours", "-j", workers)
        print(
            f"  keyframer batch -j {workers}          {seconds:8.1f} s, {count / seconds:.0f} files a second, "
            f"{loop / seconds:.2f} x"
        )
        shutil.rmtree(place / "ours")
    shutil.rmtree(source)
    shutil.rmtree(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--converted", type=int, default=1_000, help="files for one core against two")
    parser.add_argument("--static", type=int, default=500, help="files for the shell loop")
    parser.add_argument("--operation", default="check")
    parser.add_argument("--part", choices=PARTS, default="all")
    parser.add_argument("--place", help="folder to work in (default: the system's)")
    options = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="keyframer-bench-", dir=options.place) as folder:
        place = Path(folder)
        if options.part in ("all", "assimp"):
            assimp(place, options.static)
        if options.part in ("all", "cores"):
            cores(place, options.converted)
        if options.part in ("all", "many"):
            many(place, options.files, options.operation)


if __name__ == "__main__":
    main()
