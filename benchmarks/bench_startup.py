"""Processor time of a cold start: `identify` compared with a bare interpreter, others with importing numpy.

Goals: ``identify`` at most 5 times ``python -c pass``; ``info``, ``dump``, ``check`` and ``convert`` of a small file
at most 2.5 times ``python -c "import numpy"``. The processor time of the process is measured, because other programs
hardly change it. Rounds alternate, and the median of each command is printed. Modules are compiled before, as an
installer does, into a separate folder.

Usage: python -m benchmarks.bench_startup [--rounds N] [--base CHECKOUT]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._timing import against_goal, headline, machine_load

HERE = Path(__file__).resolve().parents[1]
EXAMPLE = HERE / "examples" / "windmill.3ds"
START = "import sys; from keyframer.cli import main; sys.exit(main())"  # what the installed command does
BARE, NUMPY = "python -c pass", 'python -c "import numpy"'
GOALS = {"identify": (BARE, 5.0), **dict.fromkeys(("info", "dump", "check", "convert"), (NUMPY, 2.5))}


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the arguments of the interpreter for each row of the table."""
    arguments = {name: ["-c", START, name, str(EXAMPLE)] for name in GOALS}
    arguments["convert"] += ["-f", "-o", str(folder / "windmill.glb")]
    return {BARE: ["-c", "pass"], NUMPY: ["-c", "import numpy"], "--version": ["-c", START, "--version"], **arguments}


def processor_time(arguments: list[str], environment: dict[str, str]) -> float:
    """Return the processor seconds of one process, including system time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(checkouts: list[Path], rounds: int) -> list[dict[str, float]]:
    """Return the median of each command for each checkout; the first round, which compiles, does not count."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        times = [{name: list[float]() for name in commands(Path(folder))} for _ in checkouts]
        for number in range(rounds + 1):
            for checkout, times_of in zip(checkouts, times, strict=True):
                environment["PYTHONPATH"] = os.fspath(checkout / "src")
                for name, arguments in commands(Path(folder)).items():
                    seconds = processor_time(arguments, environment)
                    if number:
                        times_of[name].append(seconds)
    return [{name: statistics.median(values) for name, values in times_of.items()} for times_of in times]


def main() -> int:
    parser = argparse.ArgumentParser(description="Processor time of commands from a cold start")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--base", type=Path, help="a checkout of an earlier commit to compare with")
    arguments = parser.parse_args()
    checkouts = [HERE, *([arguments.base] if arguments.base else [])]
    headline(f"Cold starts, median processor time of {arguments.rounds} rounds, {machine_load()}")
    ours, *others = measure(checkouts, arguments.rounds)
    missed = 0
    for name, seconds in ours.items():
        verdict = ""
        if name in GOALS:
            peer, goal = GOALS[name]
            missed += seconds / ours[peer] > goal
            verdict = f"{against_goal(seconds / ours[peer], goal, at_most=True)} of {peer}"
        for other in others:
            verdict += f"; base {other[name] * 1e3:.1f} ms"
        print(f"  {name:26} {seconds * 1e3:7.1f} ms   {verdict}".rstrip())
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
