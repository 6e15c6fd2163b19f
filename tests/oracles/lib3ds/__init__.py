"""lib3ds 1.3 as an oracle: a small C program, compiled on demand."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def build(folder: Path, name: str = "evaluate") -> Path:
    """Compile a program into a folder and return its path; raises RuntimeError with the reason on failure."""
    if shutil.which("gcc") is None:
        raise RuntimeError("gcc is not installed")
    program, source = folder / name, Path(__file__).parent / f"{name}.c"
    done = subprocess.run(
        ["gcc", "-O2", "-o", str(program), str(source), "-l3ds", "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError("lib3ds 1.3 is not installed (Debian: lib3ds-dev)")
    return program
