"""lib3ds 1.3 as an oracle: a small C program, compiled on demand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "evaluate.c"


def build(folder: Path) -> Path:
    """Compile the program into a folder and return its path; raises RuntimeError with the reason on failure."""
    if shutil.which("gcc") is None:
        raise RuntimeError("gcc is not installed")
    program = folder / "evaluate"
    done = subprocess.run(
        ["gcc", "-O2", "-o", str(program), str(SOURCE), "-l3ds", "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError("lib3ds 1.3 is not installed (Debian: lib3ds-dev)")
    return program
