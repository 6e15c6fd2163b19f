"""Measures what commands cost on small hostile files: ``python -m tests.hostile.expense [--json] [NAME …]``.

A name is an attack, an operation, or ATTACK/OPERATION.

A process that has imported all modules and run all operations once forks a child for every attack and operation: the
growth of the child's peak resident memory and its processor time are those of the operation alone (Linux).
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from keyframer.cli import main as keyframer
from keyframer.limits import BASE_INPUT_SIZE
from tests.growth import MOST_RATIO
from tests.hostile.attacks import ATTACKS, Files
from tests.samples import FOLDER as SAMPLES

MIB = 1024 * 1024
MOST_SECONDS, MOST_GROWTH = 2.0, 300 * MIB
"""for the files of an attack up to 64 KiB, and so many times as much for each doubling"""
PATIENCE = 10
"""seconds of the processor after which a child is ended"""
HOLD = 6 << 30
"""bytes of address space that a child may add: a cost beyond this is a MemoryError, not a dead machine"""

OPERATIONS: dict[str, list[str]] = {
    "glb": ["convert", "{file}", "-o", "{out}/x.glb"],
    "gltf": ["convert", "{file}", "-o", "{out}/x.gltf"],
    "3ds": ["convert", "{file}", "-o", "{out}/x.3ds"],
    "u3d": ["convert", "{file}", "-o", "{out}/x.u3d"],
    "hale3d": ["convert", "{file}", "--to", "hale3d", "-o", "{out}/x.anim"],
    "midtown": ["convert", "{file}", "--to", "midtown", "-o", "{out}/x.anim"],
    "nodeanim": ["convert", "{file}", "-o", "{out}/x.nanim"],
    "ase": ["convert", "{file}", "-o", "{out}/x.ase"],
    "cut": ["convert", "{file}", "--cut", "1:50", "--rate", "60", "--reverse", "-o", "{out}/x.glb"],
    "rate": ["convert", "{file}", "--rate", "25", "-o", "{out}/x.3ds"],
    "view": ["view", "{file}", "--export", "{out}/x.html"],
    "thumbnail": ["thumbnail", "{file}", "-o", "{out}/x.png"],
    "film": ["thumbnail", "{file}", "--size", "64", "-o", "{out}/x.gif"],
    "sheet": ["thumbnail", "{file}", "--size", "32", "--sheet", "4x4", "-o", "{out}/x.png"],
    "plot": ["plot", "{file}", "-o", "{out}/x.svg"],
    "plot-png": ["plot", "{file}", "-o", "{out}/x.png"],
    "path": ["plot", "{file}", "--motion", "-o", "{out}/x.svg"],
    "sample": ["sample", "{file}", "--format", "json", "-o", "{out}/x.json"],
    "sample-text": ["sample", "{file}", "-o", "{out}/x.txt"],
    "npz": ["sample", "{file}", "--format", "npz", "-o", "{out}/x.npz"],
    "check": ["check", "{file}"],
    "info": ["info", "{file}"],
    "diff": ["diff", "{file}", "{other}"],
    "diff-self": ["diff", "{file}", "{file}"],
}

_PICTURES = {"film": 90 * 64 * 64 / (256 * 256)}
"""operations that make more pixels than a thumbnail: how many times as many"""


class Expense(NamedTuple):
    attack: str
    operation: str
    size: int
    """bytes of all files"""
    seconds: float
    """of the processor"""
    growth: int
    """bytes of resident memory"""
    code: int
    """of exit; -9 where patience ended"""
    said: str
    """the first line of stderr"""

    sampled: int
    """numbers that curves and matrices were asked for"""
    decoded: int
    """bytes of decoded images"""
    written: int
    """bytes of outputs"""

    @property
    def within(self) -> bool:
        most = MOST_SECONDS * _share(self.size) * _PICTURES.get(self.operation, 1.0)
        return self.seconds <= most and self.growth <= most_growth(self.size)


def most_growth(size: int) -> int:
    """Return the bytes of memory that an attack of this size may take."""
    return round(MOST_GROWTH * _share(size))


def _share(size: int) -> float:
    return MOST_RATIO ** math.log2(max(size, BASE_INPUT_SIZE) / BASE_INPUT_SIZE)


def write_files(files: Files, folder: Path) -> tuple[str, int]:
    """Write the files of an attack; return the main one and the total size."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return str(folder / next(iter(files))), sum(map(len, files.values()))


def run(arguments: list[str]) -> dict[str, Any]:
    """Run a command in a child of this process; return its cost and its result."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        before = _status("VmRSS")  # of what a fork leaves: files that are mapped are not
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        hold = _status("VmSize") + HOLD  # the libraries of other tests may take up gigabytes already
        resource.setrlimit(resource.RLIMIT_AS, (hold, hold))
        stderr, shown = io.StringIO(), io.StringIO()
        work = count_work()
        code = 4
        try:
            with redirect_stderr(stderr), redirect_stdout(shown):
                code = keyframer(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        finally:
            measured = {"code": code, "growth": _status("VmHWM") - before, "said": stderr.getvalue()[-2_000:]}
            answer = json.dumps({**measured, **work})
            os.write(write_end, answer.encode())
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        answer = stream.read()
    _, status, used = os.wait4(child, 0)
    ended = {"code": -9, "growth": used.ru_maxrss * 1024, "said": "ended", "sampled": 0, "decoded": 0}
    result = json.loads(answer) if answer else ended
    assert not os.WIFSIGNALED(status) or os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGXCPU, signal.SIGSEGV)
    return {**result, "seconds": used.ru_utime + used.ru_stime}


def count_work() -> dict[str, int]:
    """Count from now on, beside all budgets, what curves, rigs and image decoders really produce."""
    from PIL import ImageFile

    from keyframer.curves import curve_bank
    from keyframer.posing import Rig

    work = {"sampled": 0, "decoded": 0}

    def counted(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            result = function(*arguments)
            work["sampled"] += result.size
            return result

        return call

    curve_bank._evaluate = counted(curve_bank._evaluate)
    curve_bank.CurveBank.evaluate_pairs = counted(curve_bank.CurveBank.evaluate_pairs)  # type: ignore[method-assign]
    Rig.world = counted(Rig.world)  # type: ignore[method-assign]
    load = ImageFile.ImageFile.load

    def loaded(image: Any) -> Any:
        work["decoded"] += 4 * image.width * image.height if image.tile else 0
        return load(image)

    ImageFile.ImageFile.load = loaded  # type: ignore[method-assign]
    return work


def _status(field: str) -> int:
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith(field)) * 1024


def warm_up(folder: Path, operations: set[str]) -> None:
    """Run all operations once on a harmless file."""
    for operation in operations:
        pattern, out = OPERATIONS[operation], folder / f"warm-{operation}"
        out.mkdir()
        for sample in (SAMPLES / "3ds" / "windmill.3ds", SAMPLES / "hale3d" / "wave-nul-ended.anim"):
            arguments = [part.format(file=sample, out=out, other=sample) for part in pattern]
            with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
                keyframer(arguments)


def expenses(pairs: list[tuple[str, str]]) -> Iterator[Expense]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm_up(folder, {operation for _, operation in pairs})
        other = str(SAMPLES / "3ds" / "windmill.3ds")
        for attack, some in groupby(sorted(pairs), key=lambda pair: pair[0]):
            file, size = write_files(ATTACKS[attack](), folder / attack)
            for _, operation in some:
                out = folder / f"{attack}-{operation}"
                out.mkdir()
                expense = run([part.format(file=file, out=out, other=other) for part in OPERATIONS[operation]])
                lines = expense["said"].replace(str(folder), "").splitlines()
                expense["said"] = (lines or [""])[-1][:200]
                expense["written"] = sum(path.stat().st_size for path in out.iterdir())
                yield Expense(attack, operation, size, **expense)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="one record a line")
    parser.add_argument("--all", action="store_true", help="also what is within the rule")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks and operations (default: all)")
    options = parser.parse_args(arguments)
    attacks = [name for name in ATTACKS if name in options.names] or list(ATTACKS)
    operations = [name for name in OPERATIONS if name in options.names] or list(OPERATIONS)
    pairs = [(name.split("/")[0], name.split("/")[1]) for name in options.names if "/" in name]
    broken = 0
    for expense in expenses(pairs or [(attack, operation) for attack in attacks for operation in operations]):
        broken += not expense.within
        if options.json:
            sys.stdout.write(json.dumps(expense._asdict()) + "\n")
        elif options.all or not expense.within:
            sys.stdout.write(
                f"{expense.attack} {expense.operation}: {expense.size} bytes, {expense.seconds:.1f} s, "
                f"{expense.growth / MIB:.0f} MiB, {expense.written} bytes written, exit {expense.code} {expense.said}\n"
            )
        sys.stdout.flush()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
