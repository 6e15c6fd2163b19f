"""Writing and batches work without what only Linux has; ``make portable`` runs more tests this way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.portable import needs_linux

HERE = Path(__file__).parent


@needs_linux
def test_files_and_batches() -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    chosen = ["tests/test_files.py", "tests/batch/test_command.py", "-k", "not ctrl_c and not hanging"]
    ran = subprocess.run([*pytest, *chosen], cwd=HERE.parents[1], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "which were taken away" in ran.stdout
