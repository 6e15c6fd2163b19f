"""Workers are forked from a process that has already imported the modules that most files need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keyframer.batch.operation_table import OPERATIONS

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
SCRIPT = """
import json, sys
from importlib import import_module
from keyframer.batch import local_executor
from keyframer.batch.job import Job
from keyframer.batch.operation_table import OPERATIONS
from keyframer.batch.job_execution import perform

for module in OPERATIONS[sys.argv[1]].loads:
    import_module(module)
before = set(sys.modules)
error = perform(Job(sys.argv[1], sys.argv[2], sys.argv[3]))["error"]
print(json.dumps([error, sorted(name for name in set(sys.modules) - before if name.startswith("keyframer"))]))
"""


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "identify"])  # imports almost nothing
def test_first_file_imports_no_modules(operation: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, operation, str(EXAMPLE), str(tmp_path / "out.glb")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(ran.stdout) == [None, []]
