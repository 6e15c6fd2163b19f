"""Reading every real 3D Studio file: Keyframer against assimp and lib3ds, each in process, best of N rounds.

The time is from a path to a document (assimp: a scene, without post-processing; lib3ds: its structures), and includes
releasing it. Peers are optional: impasse (PyPI, the extra `bench`) with Debian's libassimp-dev, and Debian's lib3ds-dev
with gcc. A peer is timed on the files that it can load, and Keyframer on the same files.

``--base`` names a checkout of an earlier commit (``git worktree add ../base cc89646``): reading files of up to 100 KB
is measured in processor time, alternating between its sources and ours, each in a separate process.

Usage: python -m benchmarks.bench_3ds_corpus [--rounds N] [--base CHECKOUT]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks._timing import (
    CORPUS_3DS,
    Contestant,
    against_goal,
    best_of,
    best_of_each,
    corpus_files,
    headline,
    machine_load,
    row,
)

import keyframer


def read_all(paths: list[Path]) -> None:
    for path in paths:
        keyframer.read(path)


def read_into_memory(paths: list[Path]) -> None:
    for path in paths:
        path.read_bytes()


SMALL = 100_000
"""maximum size of a small file, in bytes"""


def against_base(paths: list[Path], base: Path, rounds: int) -> None:
    """Compare reading small files with the sources of an earlier commit."""
    small = [str(path) for path in paths if path.stat().st_size <= SMALL]
    program = f"import keyframer\npaths = {small!r}\ndef work():\n    for path in paths: keyframer.read(path)"
    checkout = Path(__file__).resolve().parents[1]
    contestants = {"base": Contestant(base, program), "ours": Contestant(checkout, program)}
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds + 1):  # the first round is the slowest
        for name, contestant in contestants.items():
            best[name] = min(best[name], contestant.round())
    for contestant in contestants.values():
        contestant.close()
    row(f"base, {len(small)} files of up to {SMALL // 1000} KB, processor time", best["base"])
    row("Keyframer, the same files, processor time", best["ours"], against_goal(best["base"] / best["ours"], 2))


def against_assimp(paths: list[Path], rounds: int) -> None:
    """Compare with assimp: all files together, then file by file."""
    try:
        import impasse
        from impasse.errors import AssimpError
    except ImportError as error:  # also raised if the library itself is missing
        print(f"  assimp: not compared ({error}; pip install -e '.[bench]' and Debian's libassimp-dev)")
        return

    def load(path: Path) -> object:
        return impasse.load(os.fspath(path), processing=0)

    def loads(path: Path) -> bool:
        try:
            load(path)
        except AssimpError:
            return False
        return True

    def load_all(paths: list[Path]) -> None:
        for path in paths:
            load(path)

    good = [path for path in paths if loads(path)]
    best = best_of_each({"assimp": lambda: load_all(good), "ours": lambda: read_all(good)}, runs=rounds)
    row(f"assimp, {len(good)} files ({len(paths) - len(good)} refused)", best["assimp"])
    row("Keyframer, the same files", best["ours"], against_goal(best["assimp"] / best["ours"], 1))
    by_file(good, load)


def by_file(paths: list[Path], load: Callable[[Path], object]) -> None:
    """Print results by file: large files dominate the sum, but most files are small."""
    ratios = []
    for path in paths:
        functions = {"assimp": partial(load, path), "ours": partial(keyframer.read, path)}
        # Single files take microseconds: elapsed time would measure other programs.
        best = best_of_each(functions, runs=3, repeats=2, clock=time.process_time)
        ratios.append(best["assimp"] / best["ours"])
    faster = sum(ratio > 1 for ratio in ratios)
    share = faster / len(paths)
    print(
        f"  file by file: faster than assimp on {faster} of {len(paths)} ({share:.0%}, goal at least 75 %: "
        f"{'met' if share >= 0.75 else 'MISSED'}), "
        f"median {statistics.median(ratios):.2f} x, from {min(ratios):.2f} x to {max(ratios):.1f} x"
    )


def against_lib3ds(paths: list[Path], rounds: int) -> None:
    """Compare with lib3ds, a C library that reads into C structures."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        print("  lib3ds: not compared (no C compiler)")
        return
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "lib3ds_loop"
        source = Path(__file__).with_name("lib3ds_loop.c")
        built = subprocess.run(
            [compiler, "-O2", "-o", program, source, "-l3ds", "-lm"], capture_output=True, text=True, check=False
        )
        if built.returncode:
            reason = next(iter(built.stderr.strip().splitlines()), "no message")
            print(f"  lib3ds: not compared (needs Debian's lib3ds-dev: {reason})")
            return
        verdicts = run(program, paths, "probe")
        good = [path for path, verdict in zip(paths, verdicts, strict=True) if verdict == "ok"]
        crashing = [path.name for path, verdict in zip(paths, verdicts, strict=True) if verdict == "died"]
        theirs = ours = float("inf")
        for _ in range(rounds):
            theirs = min(theirs, float(run(program, good, "time", "1")[-1]))
            ours = min(ours, best_of(lambda: read_all(good), runs=1))
    row(
        f"lib3ds, {len(good)} files ({len(paths) - len(good) - len(crashing)} refused, {len(crashing)} crash it)",
        theirs,
    )
    row("Keyframer, the same files", ours, against_goal(theirs / ours, 1.5))
    if crashing:
        print(f"  left out because lib3ds crashes on them: {', '.join(crashing)}")


def run(program: Path, paths: list[Path], *arguments: str) -> list[str]:
    """Run lib3ds_loop on these paths; returns the words it prints."""
    listing = "".join(f"{path}\n" for path in paths)
    process = subprocess.run([program, *arguments], input=listing, capture_output=True, text=True, check=True)
    return process.stdout.split()


def main() -> None:
    parser = argparse.ArgumentParser(description="Read every real 3D Studio file, compared with assimp and lib3ds")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--base", type=Path, help="a checkout of the commit to compare with")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    paths = corpus_files()
    if not paths:
        raise SystemExit(f"no corpus at {CORPUS_3DS}: nothing to measure")
    size = sum(path.stat().st_size for path in paths)
    headline(f"The 3D Studio corpus: {len(paths)} files, {size / 1e6:.1f} MB, best of {rounds}, {machine_load()}")
    best = best_of_each({"memory": lambda: read_into_memory(paths), "ours": lambda: read_all(paths)}, runs=rounds)
    row("only reading the files into memory", best["memory"])
    row("Keyframer, all files", best["ours"], f"{len(paths) / best['ours']:.0f} files per second")
    if arguments.base is not None:
        against_base(paths, arguments.base, rounds)
    against_assimp(paths, rounds)
    against_lib3ds(paths, rounds)


if __name__ == "__main__":
    main()
