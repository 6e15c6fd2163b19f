"""tools/install_blender.sh finds a Python for each version of Blender, or says why its tests are skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.blender.outside import BLENDERS, ROOT

PYTHON = """#!/bin/sh
case "$1 $2" in
    "-c "*"!= '{version}')") exit 0 ;;
    "-c import bpy") exit 0 ;;
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    "-m pip") echo "$@" >> installed ;;
    *) exit 1 ;;
esac
"""
"""stands for a Python of one version; records what pip installs"""


def run(folder: Path, *places: Path) -> str:
    """Run a copy of the script, with these folders and the usual programs on the PATH."""
    (folder / "tools").mkdir(exist_ok=True)
    shutil.copy(ROOT / "tools" / "install_blender.sh", folder / "tools")
    (folder / "usual").mkdir(exist_ok=True)
    for name in ("sh", "mkdir", "cp", "rm", "touch", "dirname"):
        if not (folder / "usual" / name).exists():
            (folder / "usual" / name).symlink_to(str(shutil.which(name)))
    settings = {
        "PATH": os.pathsep.join(map(str, (*places, folder / "usual"))),
        "HOME": str(folder / "home"),
        "PYTHON": "missing",
    }
    command = ["sh", str(folder / "tools" / "install_blender.sh")]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout


def make_python(path: Path, version: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(PYTHON.replace("{version}", version), encoding="utf-8")
    path.chmod(0o755)


def test_each_version_without_a_python_is_reported(tmp_path: Path) -> None:
    assert run(tmp_path).splitlines() == [
        "no Python 3.11 for bpy 5.0.1: the tests in Blender 5.0 are skipped",
        "no Python 3.13 for bpy 5.2.3: the tests in Blender 5.2 are skipped",
    ]
    assert not any((tmp_path / path.name).exists() for path in BLENDERS.values())


@pytest.mark.parametrize("place", ["home/.pyenv/versions/3.13.0/bin/python", "bin/python3.13"])
def test_each_version_is_installed_with_its_python(tmp_path: Path, place: str) -> None:
    make_python(tmp_path / "other" / "python3.11", "3.11")
    make_python(tmp_path / place, "3.13")
    assert run(tmp_path, tmp_path / "other", tmp_path / "bin") == ""
    installed = (tmp_path / "installed").read_text(encoding="utf-8").splitlines()
    assert [line.split()[-1] for line in installed] == ["bpy==5.0.1", "bpy==5.2.3"]
    assert run(tmp_path, tmp_path / "other", tmp_path / "bin") == ""
    assert len((tmp_path / "installed").read_text(encoding="utf-8").splitlines()) == 2, "nothing is installed twice"
    assert all(any((tmp_path / path.name).glob(".bpy-*")) for path in BLENDERS.values())
