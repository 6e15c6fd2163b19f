"""Fixtures of several tests of this folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.exchange.truth import ORACLES


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture(scope="module")
def exported_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of three.js' GLTFExporter and of glTF-Transform."""
    if not (ORACLES / "node_modules" / "@gltf-transform" / "core").is_dir():
        pytest.skip("glTF-Transform is not installed (tools/install_node_tools.sh)")
    folder = tmp_path_factory.mktemp("foreign")
    for script in ("export_three.mjs", "export_transform.mjs"):
        command = ["node", str(ORACLES / "gltf" / script), str(folder)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ORACLES, check=False)
        assert ran.returncode == 0, ran.stderr
    return folder
