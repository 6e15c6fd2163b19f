"""Builds everything that a release consists of, twice, and compares: ``python tools/build_dist.py`` writes ``dist/``.

The wheel, the source archive, one ``.pyz`` for each version of Python (a file with numpy and Pillow, for this
platform), the extension for Blender, an SBOM of everything that these contain (CycloneDX), and SHA256SUMS. Exit 1 if
two builds differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import build_blender

ROOT = build_blender.ROOT
STAMP = "1767225600"
"""time of all members of archives, in seconds: the same source gives the same bytes"""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""versions that get a .pyz; the compiled parts of numpy and Pillow fit only one"""
PREAMBLE = """import os, sys
if sys.version_info[:2] != ({comma}):
    here = "%d.%d" % sys.version_info[:2]
    name = os.path.basename(archive)
    sys.exit("keyframer: %s needs Python {version}, this is %s: take the file for py%s, or run python{version} %s" % (
        name, here, here.replace(".", ""), name))
"""
"""runs before the program in a .pyz; shiv sets ``archive``"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="folder for the release (dist)")
    parser.add_argument("--once", action="store_true", help="do not build a second time")
    options = parser.parse_args()
    os.environ["SOURCE_DATE_EPOCH"] = STAMP
    with tempfile.TemporaryDirectory() as temporary:
        first = build(Path(temporary, "first"))
        differing = [] if options.once else compare(first, build(Path(temporary, "second")))
        for name in differing:
            print(f"{name} differs between two builds")
        if differing:
            return 1
        shutil.rmtree(options.to, ignore_errors=True)
        shutil.copytree(first, options.to)
    for path in sorted(options.to.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 0


def build(folder: Path) -> Path:
    """Build a release in a new folder; returns the folder."""
    folder.mkdir()
    archive = build_blender.build(folder / "blender")
    shutil.copy(archive, folder)
    shutil.rmtree(folder / "blender")
    run("hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    files = [build_pyz(wheel, python) for python in PYTHONS]
    sbom = json.dumps(bill_of_materials(wheel, files), indent=2, ensure_ascii=False)
    folder.joinpath("keyframer.cdx.json").write_text(f"{sbom}\n", "utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    folder.joinpath("SHA256SUMS").write_text("".join(sums))
    return folder


def run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def build_pyz(wheel: Path, python: str) -> Path:
    """Put the wheel and what it needs into one file that this version of Python runs; returns the file."""
    requirement = "==".join(wheel.name.split("-")[:2])
    tag = f"py{python.replace('.', '')}-{sysconfig.get_platform()}"
    target = wheel.with_name(f"{requirement.replace('==', '-')}-{tag}.pyz")
    settings = ["--reproducible", "--python", f"/usr/bin/env python{python}", "--console-script", "keyframer"]
    pip = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--python-version", python]
    with tempfile.TemporaryDirectory() as folder:
        preamble = Path(folder, "check_version.py")
        preamble.write_text(PREAMBLE.format(version=python, comma=python.replace(".", ", ")))
        settings += ["--preamble", str(preamble), "--output-file", str(target)]
        run("shiv.cli", *settings, *pip, "--find-links", str(wheel.parent), requirement)
    return target


def bill_of_materials(wheel: Path, files: list[Path]) -> dict[str, Any]:
    """Return the SBOM, as CycloneDX: the packages in the .pyz, and the npm packages in the script of the viewer."""
    packages = {each["purl"]: each for pyz in files for each in packages_in(pyz)}
    components = [*packages.values(), *npm_packages()]
    own = next(each for each in components if each["name"] == "keyframer")
    return cyclonedx({**own, "hashes": [sha256(wheel)]}, [each for each in components if each is not own])


def cyclonedx(own: dict[str, Any], components: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an SBOM of a program and what it contains."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, "type": "application"}},
        "components": components,
    }


def sha256(path: Path) -> dict[str, str]:
    return {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}


def packages_in(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the Python packages in a wheel or a .pyz."""
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".dist-info/METADATA"):
                facts = message_from_bytes(archive.read(name))
                licence = str(facts["License-Expression"] or facts["License"] or "").partition("\n")[0]
                yield component("pypi", str(facts["Name"]).lower(), str(facts["Version"]), licence)


def npm_packages() -> Iterator[dict[str, Any]]:
    """Yield what the script of the viewer contains, as its lock file says."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))["packages"]
    for name in sorted(lock[""].get("dependencies", {})):
        facts = lock[f"node_modules/{name}"]
        yield component("npm", name, facts["version"], facts["license"])


def component(registry: str, name: str, version: str, licence: str) -> dict[str, Any]:
    return {
        "type": "library",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": f"pkg:{registry}/{name}@{version}",
    }


def compare(first: Path, second: Path) -> list[str]:
    """Return the names of files that differ."""
    names = sorted({path.name for folder in (first, second) for path in folder.iterdir()})
    return [name for name in names if _bytes_of(first / name) != _bytes_of(second / name)]


def _bytes_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
