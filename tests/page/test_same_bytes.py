"""Files have the same bytes, and poses the same bits, on every processor and in the browser.

Samples, and every second small file of the corpus (113), are read, written back, checked, posed and exported here, on a
processor without its newer instructions, with numpy 1.26, and in the Python of the page, which is a 32-bit system.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.corpus import CORPUS, animation_files
from tests.page.conftest import PAGE
from tests.page.outcomes import Outcome, outcomes
from tests.samples import FOLDER, all_samples

HERE = Path(__file__).parent
SMALL = 10_000
SAMPLES = [str(path) for _, path in all_samples()]
REAL_FILES = [str(path.resolve()) for path in animation_files() if path.is_file() and path.stat().st_size < SMALL][::2]


@pytest.fixture(scope="module")
def here() -> dict[str, Outcome]:
    """Outcomes of all files in this process."""
    return outcomes(SAMPLES + REAL_FILES)


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    path = tmp_path / "files.json"
    path.write_text(json.dumps(SAMPLES + REAL_FILES), "utf-8")
    return path


def older_processor() -> dict[str, str]:
    """Return the environment in which numpy, its BLAS and the C library use only the oldest instructions."""
    core = importlib.import_module("numpy._core" if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "numpy.core")
    features = core._multiarray_umath
    newer = [name for name in features.__cpu_dispatch__ if features.__cpu_features__.get(name)]
    settings = {"NPY_DISABLE_CPU_FEATURES": " ".join(newer)} if newer else {}
    if platform.machine() == "x86_64":
        settings |= {"OPENBLAS_CORETYPE": "Nehalem", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA"}
    return {**os.environ, **settings}


def printed(command: list[str], environment: dict[str, str] | None = None) -> dict[str, Outcome]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Outcome] = json.loads(done.stdout)
    return found


def differences(first: dict[str, Outcome], second: dict[str, Outcome]) -> list[str]:
    assert first.keys() == second.keys()
    return [
        f"{Path(path).name}: {what}: {first[path].get(what)}, {second[path].get(what)}"
        for path in first
        for what in sorted(first[path].keys() | second[path].keys())
        if first[path].get(what) != second[path].get(what)
    ]


def test_on_an_older_processor(here: dict[str, Outcome], listing: Path) -> None:
    there = printed([sys.executable, str(HERE / "outcomes.py"), str(listing)], older_processor())
    assert differences(here, there) == []


def test_with_the_oldest_numpy(here: dict[str, Outcome], listing: Path) -> None:
    """The Python of Blender 5.0 has numpy 1.26."""
    python = HERE.parents[1] / ".venv-blender/bin/python"
    if not python.is_file():
        pytest.skip("Blender 5.0 is not installed (make peers)")
    version = subprocess.run(
        [python, "-c", "import numpy; print(numpy.__version__)"], capture_output=True, text=True, check=True
    )
    assert version.stdout.startswith("1.26.")
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    there = printed([str(python), str(HERE / "outcomes.py"), str(listing)], environment)
    assert differences(here, there) == []


def test_in_the_browser(tool: ModuleType, here: dict[str, Outcome], listing: Path) -> None:
    if not PAGE.is_dir():
        pytest.skip("the page is not built (make page)")
    if not tool.is_fresh():
        pytest.skip("the page is older than the library (make page)")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    folders = json.dumps([str(folder) for folder in (FOLDER, listing.parent, CORPUS.resolve()) if folder.is_dir()])
    command = [node, str(HERE / "run_python.mjs"), str(PAGE / "python"), folders]
    there = printed([*command, str(HERE / "outcomes.py"), str(listing)])
    assert all(found["written back"] is True for found in there.values())
    assert differences(here, there) == []
