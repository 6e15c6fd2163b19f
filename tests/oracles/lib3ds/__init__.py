"""lib3ds 1.3 as an oracle: a small C program, compiled when it is needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "evaluate.c"


def build(folder: Path) -> Path:
    """The program, compiled into a folder; RuntimeError says why it cannot be."""
    if shutil.which("gcc") is None:
        raise RuntimeError("gcc is not installed")
    program = folder / "evaluate"
    done = subprocess.run(
        ["gcc", "-O2", "-o", str(program), str(SOURCE), "-l3ds", "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError("lib3ds 1.3 is not installed (Debian: lib3ds-dev)")
    return program
