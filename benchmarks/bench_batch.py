"""Batches of small files: missing results, memory, a second run, two workers, `check`, and loops over assimp.

    .venv/bin/python -m benchmarks.bench_batch --files 100000

Each part can be run alone (``--part``). ``--place /dev/shm`` avoids waiting for the disk: every output is synced before
it is renamed. Processor time is that of all processes of a run, also of those that the fork server started (Linux).

The loops over assimp convert the same files to GLB: one starts ``assimp export`` for each file, the other calls
libassimp in one process (impasse). They do not sync, have no ledger, and look for no images. *Mixed* are real files of
any size, every seventh with motion, for which assimp writes NaN as key times.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path

from benchmarks._timing import against_goal, corpus_files
from tools.batch_torture import LEDGER, START, make_tree

import keyframer
from keyframer.text import counted

ROOT = Path(__file__).resolve().parents[1]

PARTS = ("all", "many", "cores", "assimp", "check")


def new_folder(place: Path) -> Path:
    """Make an empty folder. Outputs of earlier runs are kept until the end: ext4 does not reuse the inodes of files
    that were deleted in the last seconds, and searching for other ones took 0.5 ms for each new file.
    """
    return Path(tempfile.mkdtemp(dir=place))


def measured(command: list[str], variables: Mapping[str, str] = os.environ) -> tuple[float, float, int, str]:
    """Run a command; returns its seconds, the processor seconds and the largest resident size in bytes of all processes
    that it started, and its messages.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # processes whose parent ends become ours
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=variables)
    assert process.stderr is not None
    text = process.stderr.read().decode()
    seconds, work, peak = 0.0, 0.0, 0
    with suppress(ChildProcessError):  # no more processes
        while True:
            number, status, usage = os.wait4(-1, 0)
            work, peak = work + usage.ru_utime + usage.ru_stime, max(peak, usage.ru_maxrss * 1024)
            if number == process.pid:
                seconds = time.perf_counter() - start
                process.returncode = os.waitstatus_to_exitcode(status)
    return seconds, work, peak, text


_SET_CHILD_SUBREAPER = 36


def batch(
    operation: str, source: Path | None, out: Path, *options: str, checkout: Path = ROOT
) -> tuple[float, float, int]:
    """Run a batch of a checkout; returns its seconds, the processor seconds of coordinator and workers, and the largest
    resident size of any of these processes in bytes.
    """
    inputs = [] if source is None else [str(source)]
    command = [sys.executable, "-c", START, "batch", operation, *inputs, "-o", str(out), *options]
    variables = {**os.environ, "PYTHONPATH": str(checkout / "src"), **_as_installed(out.parent)}
    seconds, work, peak, text = measured(command, variables)
    print("    " + next((line for line in text.splitlines() if " files: " in line), "?").removeprefix("keyframer: "))
    return seconds, work, peak


def _as_installed(place: Path) -> dict[str, str]:
    """Return environment variables that let Python store compiled modules, as in an installation; empty if it does so
    anyway. Without stored modules every start takes half as long again.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place / "bytecode")}


def many(place: Path, count: int, operation: str) -> None:
    """Run a batch over many files twice; print results, memory and the size of the ledger."""
    source, out = new_folder(place), new_folder(place)
    damaged = make_tree(source, count)
    print(f"{count:,} files ({damaged:,} damaged), {operation}")
    first, work, peak = batch(operation, source, out)
    ledger = sqlite3.connect(out / LEDGER)
    counts = dict(ledger.execute("SELECT status, COUNT(*) FROM files GROUP BY 1"))
    ledger.close()
    written = sum(1 for path in out.rglob("*") if path.is_file() and not path.name.startswith(LEDGER))
    print(f"  first run   {first:8.1f} s, {count / first:.0f} files per second; {work:.0f} s of processor time")
    missing = count - sum(counts.values())
    print(f"  rows {counts}, {written:,} outputs; {missing:,} files without a row")
    print(f"  largest process {peak / 1e6:.0f} MB (goal: below 300)")
    second, work, peak = batch(operation, source, out)
    print(f"  second run  {second:8.1f} s (goal: below 60); {work:.0f} s of processor time, {peak / 1e6:.0f} MB")
    print(f"  ledger {(out / LEDGER).stat().st_size / count:.0f} bytes per file")


def cores(place: Path, count: int) -> None:
    """Compare one worker with two."""
    source = new_folder(place)
    make_tree(source, count)
    print(f"convert, {count:,} files, one worker against two (best of two alternating runs)")
    best = {1: float("inf"), 2: float("inf")}
    works = {1: float("inf"), 2: float("inf")}
    for _ in range(2):
        for workers in best:
            seconds, work, _ = batch("convert", source, new_folder(place), "-j", str(workers))
            best[workers], works[workers] = min(best[workers], seconds), min(works[workers], work)
    for workers, seconds in best.items():
        print(f"  {counted(workers, 'worker')}: {seconds:.1f} s, {count / seconds:.0f} files per second", end="")
        print(f"; {works[workers]:.1f} s of processor time")
    print(f"  {against_goal(best[1] / best[2], 1.8)}")


def checks(place: Path, count: int) -> None:
    """Measure `check` of small files with two workers, including ledger and syncing."""
    source = new_folder(place)
    make_tree(source, count)
    least_time = least_work = float("inf")
    for _ in range(2):
        seconds, work, _ = batch("check", source, new_folder(place), "-j", "2")
        least_time, least_work = min(least_time, seconds), min(least_work, work)
    print(
        f"check, {count:,} small files, two workers (best of two): {count / least_time:.0f} files per second", end=" "
    )
    print(f"(goal: 1,000); {1e3 * least_work / count:.2f} ms of processor time per file")


def sample_copies(place: Path, count: int) -> list[Path]:
    """Write copies of a sample without its keyframer section: static meshes, which assimp can read as well."""
    document = keyframer.read(ROOT / "tests" / "samples" / "3ds" / "windmill.3ds")
    main = document.records[0]
    main.children = [chunk for chunk in main.children if type(chunk).__name__ != "Keyframer"]
    data = keyframer.encode(document)
    files = [place / f"{number:05}.3ds" for number in range(count)]
    for path in files:
        path.write_bytes(data)
    return files


def real_files(largest: float = math.inf) -> tuple[list[Path], list[Path]]:
    """Return the real files without and with motion, up to a size; empty without a corpus."""
    still: list[Path] = []
    moving: list[Path] = []
    for path in corpus_files():
        if path.stat().st_size <= largest:
            try:
                scene = keyframer.load(path)
            except keyframer.FormatError:
                continue
            moves = any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)
            (moving if moves else still).append(path)
    return still, moving


def mixed_copies(place: Path, count: int) -> list[Path]:
    """Copy real files, every seventh with motion; a file is repeated if there are fewer."""
    still, moving = map(cycle, real_files())
    files = [place / f"{number:05}.3ds" for number in range(count)]
    for number, path in enumerate(files):
        shutil.copyfile(next(moving if number % 7 == 6 else still), path)
    return files


def assimp(place: Path, count: int) -> None:
    """Compare with loops over assimp: copies of a sample, real files without motion, and mixed real files."""
    if shutil.which("assimp") is None:
        print("assimp is not installed: no comparison")
        return
    compare(place, "copies of a static sample", sample_copies(new_folder(place), count))
    if corpus_files():
        compare(place, "static real files of up to 100 KB", real_files(100_000)[0][:count])
        best = compare(place, "mixed real files", mixed_copies(new_folder(place), count))
        for name, goal in (("keyframer batch -j 2", 1.1), ("keyframer batch -j 1", 0.7)):
            for other in (PROCESS_LOOP, LIBRARY_LOOP):
                print(f"  {name} against {other}: {against_goal(best[other][0] / best[name][0], goal)}")


PROCESS_LOOP = "assimp export, a process for each file"
LIBRARY_LOOP = "libassimp, all files in one process"
_SHELL_LOOP = 'while IFS= read -r f; do assimp export "$f" "$1/$(basename "$f").glb" >/dev/null 2>&1; done < "$0"'
_PYTHON_LOOP = """
import os, sys, impasse
from impasse.core import export
for name in open(sys.argv[1]).read().splitlines():
    try:
        export(impasse.load(name, processing=0), os.path.join(sys.argv[2], os.path.basename(name) + ".glb"), "glb2")
    except Exception:
        pass  # assimp refuses this file
"""


def compare(place: Path, title: str, files: list[Path]) -> dict[str, tuple[float, float]]:
    """Convert files with loops over assimp and with one and two workers; print and return the seconds and the processor
    seconds of each, the best of alternating runs.
    """
    names = place / "names"
    names.write_text("".join(f"{path}\n" for path in files))
    sizes = sorted(path.stat().st_size for path in files)
    count = len(files)
    print(f"{count} {title}: {sizes[count // 2]:,} bytes in the median, {sum(sizes) / count:,.0f} on average")

    def loop(*command: str) -> tuple[float, float]:
        out = new_folder(place)
        seconds, work, _, problem = measured([*command, str(names), str(out)])
        written = len(list(out.glob("*.glb")))
        if written < count:
            print(f"    {command[0]}: {written} written {problem[-200:]}")
        return seconds, work

    def ours(workers: int) -> tuple[float, float]:
        return batch("convert", None, new_folder(place), "--files-from", str(names), "-j", str(workers))[:2]

    runs: dict[str, Callable[[], tuple[float, float]]] = {
        PROCESS_LOOP: lambda: loop("sh", "-c", _SHELL_LOOP),
        LIBRARY_LOOP: lambda: loop(sys.executable, "-c", _PYTHON_LOOP),
        "keyframer batch -j 1": lambda: ours(1),
        "keyframer batch -j 2": lambda: ours(2),
    }
    best = dict.fromkeys(runs, (math.inf, math.inf))
    for _ in range(3):
        for name, run in runs.items():
            best[name] = (*map(min, best[name], run()),)
    for name, (seconds, work) in best.items():
        ratios = ", ".join(f"{best[other][0] / seconds:.2f} x" for other in (PROCESS_LOOP, LIBRARY_LOOP))
        print(f"  {name:<40} {seconds:6.1f} s, {count / seconds:4.0f} files per second, {ratios}", end="")
        print(f"; {1e3 * work / count:.1f} ms of processor time for each file")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--converted", type=int, default=1_000, help="files for one worker against two, and for check")
    parser.add_argument("--static", type=int, default=500, help="files for the comparison with assimp")
    parser.add_argument("--operation", default="check")
    parser.add_argument("--part", choices=PARTS, default="all")
    parser.add_argument("--place", help="folder for temporary files (default: that of the system)")
    options = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="keyframer-bench-", dir=options.place) as folder:
        place = Path(folder)
        if options.part in ("all", "assimp"):
            assimp(place, options.static)
        if options.part in ("all", "cores"):
            cores(place, options.converted)
        if options.part in ("all", "check"):
            checks(place, options.converted)
        if options.part in ("all", "many"):
            many(place, options.files, options.operation)


if __name__ == "__main__":
    main()
