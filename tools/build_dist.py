"""Builds everything that a release consists of, twice, and compares: ``python tools/build_dist.py`` writes ``dist/``.

The wheel, the source archive, ``keyframer.pyz`` (one file with numpy and Pillow, for this platform and version of
Python), the extension for Blender, an SBOM of everything that these contain (CycloneDX), and SHA256SUMS. Exit 1 if two
builds differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
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
    build_pyz(wheel, folder / "keyframer.pyz")
    sbom = json.dumps(bill_of_materials(wheel, folder / "keyframer.pyz"), indent=2, ensure_ascii=False)
    folder.joinpath("keyframer.cdx.json").write_text(f"{sbom}\n", "utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    folder.joinpath("SHA256SUMS").write_text("".join(sums))
    return folder


def run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def build_pyz(wheel: Path, target: Path) -> None:
    """Put the wheel and what it needs into one file that Python runs."""
    requirement = "==".join(wheel.name.split("-")[:2])
    settings = ["--reproducible", "--python", "/usr/bin/env python3", "--console-script", "keyframer"]
    pip = ["--quiet", "--disable-pip-version-check", "--find-links", str(wheel.parent), requirement]
    run("shiv.cli", *settings, "--output-file", str(target), *pip)


def bill_of_materials(wheel: Path, pyz: Path) -> dict[str, Any]:
    """Return the SBOM, as CycloneDX: the packages in the pyz, and the npm packages in the script of the viewer."""
    components = [*packages_in(pyz), *npm_packages()]
    own = next(each for each in components if each["name"] == "keyframer")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, "type": "application", "hashes": [sha256(wheel)]}},
        "components": [each for each in components if each is not own],
    }


def sha256(path: Path) -> dict[str, str]:
    return {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}


def packages_in(pyz: Path) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(pyz) as archive:
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
