"""Batches of small files: missing results, memory, a second run, two workers, `check`, and a shell loop over assimp.

    .venv/bin/python -m benchmarks.bench_batch --files 100000

Each part can be run alone (``--part``). ``--place /dev/shm`` avoids waiting for the disk: every output is synced before
it is renamed.
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


def batch(operation: str, source: Path | None, out: Path, *options: str) -> tuple[float, float, int]:
    """Run a batch; returns its seconds, the processor seconds of coordinator and workers, and the largest resident size
    of any of these processes in bytes.
    """
    inputs = [] if source is None else [str(source)]
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", START, "batch", operation, *inputs, "-o", str(out), *options],
        stderr=subprocess.PIPE,
        env={**os.environ, **_as_installed(out.parent)},
    )
    assert process.stderr is not None
    text = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    print("    " + next((line for line in text.splitlines() if " files: " in line), "?").removeprefix("keyframer: "))
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


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


def real_static(count: int) -> list[Path]:
    """Return up to ``count`` real files of up to 100 KB without motion; empty without a corpus."""
    files: list[Path] = []
    for path in corpus_files():
        if len(files) < count and path.stat().st_size <= 100_000:
            try:
                scene = keyframer.load(path)
            except keyframer.FormatError:
                continue
            if not any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels):
                files.append(path)
    return files


def assimp(place: Path, count: int) -> None:
    """Compare with a shell loop over assimp, on copies of a sample and on real files."""
    if shutil.which("assimp") is None:
        print("assimp is not installed: no comparison")
        return
    for title, files in (
        ("copies of a static sample", sample_copies(new_folder(place), count)),
        ("static real files", real_static(count)),
    ):
        if files:
            compare(place, title, files)


def compare(place: Path, title: str, files: list[Path]) -> None:
    """Convert files with a shell loop over assimp and with one and two workers; print the best of two runs."""
    names = place / "names"
    names.write_text("".join(f"{path}\n" for path in files))
    count = len(files)
    best = {"assimp": float("inf"), "1": float("inf"), "2": float("inf")}
    works = dict(best)
    for _ in range(2):
        out = new_folder(place)
        export = f'assimp export "$f" "{out}/$(basename "$f").glb" >/dev/null 2>&1'
        script = f'while IFS= read -r f; do {export}; done < "{names}"'
        start = time.perf_counter()
        loop_process = subprocess.Popen(["sh", "-c", script])
        _, _, usage = os.wait4(loop_process.pid, 0)
        loop_process.returncode = 0
        best["assimp"] = min(best["assimp"], time.perf_counter() - start)
        works["assimp"] = min(works["assimp"], usage.ru_utime + usage.ru_stime)
        written = len(list(out.glob("*.glb")))
        for workers in ("1", "2"):
            arguments = ("--files-from", str(names), "-j", workers)
            seconds, work, _ = batch("convert", None, new_folder(place), *arguments)
            best[workers], works[workers] = min(best[workers], seconds), min(works[workers], work)
    print(f"{count} {title}, {sum(path.stat().st_size for path in files) / count:.0f} bytes on average, best of two")
    loop = best["assimp"]
    print(
        f"  shell loop over assimp export {loop:8.1f} s, {count / loop:.0f} files per second ({written} written", end=""
    )
    print(f", not synced); {1e3 * works['assimp'] / count:.1f} ms of processor time per file")
    for workers in ("1", "2"):
        seconds = best[workers]
        print(f"  keyframer batch -j {workers} {seconds:18.1f} s, {count / seconds:.0f} files per second", end="")
        print(f", {loop / seconds:.2f} x; {1e3 * works[workers] / count:.1f} ms of processor time per file")


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
