"""What a release consists of: built twice with the same bytes, and installed into empty environments."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples/windmill.3ds"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST = ("numpy==1.26.*", "pillow==10.1.*")


def find_python(version: str) -> str | None:
    """Return a Python of this version, also one that pyenv installed."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(installed[-1]) if installed else shutil.which(f"python{version}")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build everything twice; the tool compares."""
    folder = tmp_path_factory.mktemp("dist") / "dist"
    command = [sys.executable, str(ROOT / "tools/build_dist.py"), "--to", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder


@pytest.mark.slow
def test_release_is_complete(release: Path) -> None:
    names = sorted(re.sub(r"\d+\.\d+\.\d+", "V", path.name) for path in release.iterdir())
    assert names == [
        "SHA256SUMS",
        "keyframer-V-py3-none-any.whl",
        "keyframer-V.tar.gz",
        "keyframer-blender-V.zip",
        "keyframer.cdx.json",
        "keyframer.pyz",
    ]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=release, check=True)
    packages = [str(path) for pattern in ("*.whl", "*.tar.gz") for path in release.glob(pattern)]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *packages], check=True, capture_output=True)
    bundled = {each["name"] for each in json.loads((release / "keyframer.cdx.json").read_text())["components"]}
    assert bundled == {"numpy", "pillow", "three"}


@pytest.mark.slow
def test_single_file_runs(release: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(release / "keyframer.pyz"), "convert", str(EXAMPLE), str(tmp_path / "mill.glb")]
    subprocess.run(command, env={**os.environ, "SHIV_ROOT": str(tmp_path)}, check=True, capture_output=True)
    assert (tmp_path / "mill.glb").read_bytes()[:4] == b"glTF"


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_wheel_works_in_an_empty_environment(release: Path, tmp_path: Path, python: str, age: str) -> None:
    """Oldest and newest numpy and Pillow; numpy 1.26 has wheels for Python 3.11 and 3.12."""
    program = find_python(python)
    if program is None:
        pytest.skip(f"Python {python} is not installed")
    if age == "oldest" and python > "3.12":
        pytest.skip(f"the oldest numpy has no wheel for Python {python}")
    (wheel,) = release.glob("*.whl")
    subprocess.run([program, "-m", "venv", tmp_path / "venv"], check=True)
    own = str(tmp_path / "venv/bin/python")
    pip = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=:all:"]
    subprocess.run([*pip, str(wheel), *(OLDEST if age == "oldest" else ())], check=True, capture_output=True)
    command = str(tmp_path / "venv/bin/keyframer")
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    for words in (
        ["check", str(EXAMPLE)],
        ["convert", str(EXAMPLE), str(tmp_path / "mill.glb")],
        ["thumbnail", str(EXAMPLE), "-o", str(tmp_path / "mill.png")],
        ["view", str(EXAMPLE), "--export", str(tmp_path / "mill.html")],
        ["setup", "--quiet"],
    ):
        ran = subprocess.run(
            [command, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (words, ran.stderr)
    assert (tmp_path / "home/.local/share/man/man1/keyframer.1").is_file()
