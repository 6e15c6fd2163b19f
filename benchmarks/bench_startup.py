"""How long ``keyframer identify`` takes from a cold start, against a bare interpreter.

The target is 2.5 times ``python -c pass``. Runs alternate, and the smallest time of each counts, so that a busy machine
does not decide. Modules are compiled before (as an installer does), into a folder of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "windmill.3ds"
START = "import sys; from keyframer.cli import main; sys.exit(main())"  # what the installed command does
TARGET = 2.5

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "keyframer --version": ["-c", START, "--version"],
    "keyframer --help": ["-c", START, "--help"],
    "keyframer identify": ["-c", START, "identify", str(EXAMPLE)],
    "keyframer info": ["-c", START, "info", str(EXAMPLE)],
    "keyframer dump": ["-c", START, "dump", str(EXAMPLE)],
}


def measure(names: list[str], rounds: int) -> dict[str, float]:
    """The smallest time of each command in seconds; a first round that compiles does not count."""
    best = dict.fromkeys(names, float("inf"))
    with tempfile.TemporaryDirectory() as compiled:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        for counted in range(rounds + 1):
            for name in names:
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, *COMMANDS[name]], check=True, stdout=subprocess.DEVNULL, env=environment
                )
                if counted:
                    best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> int:
    best = measure(list(COMMANDS), 25)
    bare = best["python -c pass"]
    for name, seconds in best.items():
        print(f"{name:22} {seconds * 1000:7.1f} ms  {seconds / bare:5.2f} x")
    ratio = best["keyframer identify"] / bare
    print(f"identify: {ratio:.2f} times a bare interpreter, the target is {TARGET}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
