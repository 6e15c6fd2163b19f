"""What a release consists of: built twice with the same bytes, and installed into empty environments."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.building.containers import rar
from tests.building.gltf import glb
from tests.exchange.reading.test_compressed import compressed

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples/windmill.3ds"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST = ("numpy==1.26.*", "pillow==10.1.*")


def find_python(version: str) -> str | None:
    """Return a Python of this version, also one that pyenv installed."""
    installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(installed[-1]) if installed else shutil.which(f"python{version}")


def test_page_on_pypi_has_only_whole_addresses() -> None:
    """Pictures and links of the README are relative; on PyPI they would lead nowhere."""
    command = [sys.executable, "-m", "hatchling", "metadata"]
    environment = {**os.environ, "GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "some/where"}
    ran = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    facts = json.loads(ran.stdout)
    assert facts["urls"]["Source"] == "https://example.org/some/where"
    links = re.findall(r"\]\(([^)]+)\)", facts["readme"]["text"])
    assert [link for link in links if not link.startswith("https://")] == []
    picture = f"https://example.org/some/where/raw/v{facts['version']}/docs/pictures/windmill.gif"
    assert f"![A windmill, turning]({picture})" in facts["readme"]["text"]


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
        *(f"keyframer-V-py{tag}-{sysconfig.get_platform()}.pyz" for tag in ("311", "312", "313", "314")),
        "keyframer-V.tar.gz",
        "keyframer-blender-V.zip",
        "keyframer.cdx.json",
    ]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=release, check=True)
    packages = [str(path) for pattern in ("*.whl", "*.tar.gz") for path in release.glob(pattern)]
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *packages], check=True, capture_output=True)
    bundled = {each["name"] for each in json.loads((release / "keyframer.cdx.json").read_text())["components"]}
    assert bundled == {"numpy", "pillow", "three"}


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_single_file_runs(release: Path, tmp_path: Path, python: str) -> None:
    """Each file runs with its Python; any other gets one line that names both versions."""
    program = find_python(python)
    if program is None:
        pytest.skip(f"Python {python} is not installed")
    settings = {**os.environ, "SHIV_ROOT": str(tmp_path), "PYTHONPATH": ""}
    for pyz in sorted(release.glob("*.pyz")):
        target = tmp_path / f"{pyz.stem}.glb"
        command = [program, str(pyz), "convert", str(EXAMPLE), str(target)]
        ran = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
        if f"-py{python.replace('.', '')}-" in pyz.name:
            assert ran.returncode == 0, ran.stderr
            assert target.read_bytes()[:4] == b"glTF"
        else:
            assert ran.returncode == 1
            assert re.fullmatch(
                rf"keyframer: {re.escape(pyz.name)} needs Python .*, this is {python}: .*\n", ran.stderr
            )


def installed(release: Path, folder: Path, python: str, extras: str = "", *others: str) -> Path:
    """Install the wheel into an empty environment; returns its folder of programs."""
    program = find_python(python)
    if program is None:
        pytest.skip(f"Python {python} is not installed")
    (wheel,) = release.glob("*.whl")
    subprocess.run([program, "-m", "venv", folder / "venv"], check=True)
    programs = folder / "venv/bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=:all:"]
    subprocess.run([*pip, f"{wheel}{extras}", *others], check=True, capture_output=True)
    return programs


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_wheel_works_in_an_empty_environment(release: Path, tmp_path: Path, python: str, age: str) -> None:
    """Oldest and newest numpy and Pillow; numpy 1.26 has wheels for Python 3.11 and 3.12."""
    if age == "oldest" and python > "3.12":
        pytest.skip(f"the oldest numpy has no wheel for Python {python}")
    programs = installed(release, tmp_path, python, "", *(OLDEST if age == "oldest" else ()))
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    for words in (
        ["check", str(EXAMPLE)],
        ["convert", str(EXAMPLE), str(tmp_path / "mill.glb")],
        ["thumbnail", str(EXAMPLE), "-o", str(tmp_path / "mill.png")],
        ["view", str(EXAMPLE), "--export", str(tmp_path / "mill.html")],
        ["setup", "--quiet"],
    ):
        run(programs / "keyframer", *words, cwd=tmp_path, **home)
    assert (tmp_path / "home/.local/share/man/man1/keyframer.1").is_file()


CLUSTER = """
import subprocess, sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        command = [sys.executable, "-m", "keyframer", "batch", "convert", *sys.argv[1:]]
        sys.exit(subprocess.call([*command, "--cluster", cluster.scheduler_address]))
"""
CLOUD = """
import sys, fsspec, s3fs
from keyframer.batch import Job, perform

fsspec.filesystem("memory").pipe("/in/mill.3ds", open(sys.argv[1], "rb").read())
sys.exit(perform(Job("convert", "memory://in/mill.3ds", "memory://out/mill.glb"))["status"] != "done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_extras_work_in_an_empty_environment(release: Path, tmp_path: Path, python: str) -> None:
    """Each extra does what docs/install.md says: Draco, a cluster, URLs, and archives."""
    programs = installed(release, tmp_path, python, "[gltf,cluster,cloud,archives]")
    (tmp_path / "draco.glb").write_bytes(glb(*compressed()))
    run(programs / "keyframer", "convert", tmp_path / "draco.glb", tmp_path / "draco.3ds")
    (tmp_path / "cluster.py").write_text(CLUSTER)
    run(programs / "python", tmp_path / "cluster.py", EXAMPLE, "-o", tmp_path / "converted", cwd=tmp_path)
    assert (tmp_path / "converted/windmill.glb").is_file()
    run(programs / "python", "-c", CLOUD, EXAMPLE, cwd=tmp_path)
    rar(tmp_path / "converted", tmp_path / "a.rar")
    run(programs / "keyframer", "identify", tmp_path / "a.rar")


def run(program: Path, *words: object, cwd: Path | None = None, **variables: str) -> None:
    """Run a program of an environment, which sees only its own packages."""
    command, environment = [str(program), *map(str, words)], {**os.environ, "PYTHONPATH": "", **variables}
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
