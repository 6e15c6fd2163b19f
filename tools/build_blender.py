"""Builds the Blender extension in ``build/``: a wheel of the library, and the zip that Blender installs.

    python tools/build_blender.py [--validate]

The manifest in ``blender/`` gets the version of the library and the name of the wheel. With ``--validate`` Blender's
own command line checks the zip; it is part of bpy, which tools/install_blender.sh installs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "blender"
BLENDER = ROOT / ".venv-blender"
STAMP = (2026, 1, 1, 0, 0, 0)
"""time of all members: the same source gives the same zip"""
BUILD = "0noviewer"
"""build tag of the wheel, which has the version of the wheel of the release but other content"""


def build_wheel(folder: Path) -> Path:
    """Build the wheel of the library, without the page of the viewer, which Blender does not need."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("keyframer-*.whl"):
        old.unlink()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    settings = {**os.environ, "KEYFRAMER_NO_VIEWER": "1"}
    subprocess.run(command, cwd=ROOT, check=True, env=settings, capture_output=True)
    (wheel,) = folder.glob("keyframer-*.whl")
    return wheel.rename(wheel.with_name(wheel.name.replace("-py3-", f"-{BUILD}-py3-")))


def manifest(wheel: Path) -> str:
    """Return the manifest with version and wheel, which must come before the first table."""
    version = wheel.name.split("-")[1]
    text = (SOURCE / "blender_manifest.toml").read_text(encoding="utf-8")
    header, permissions = text.split("\n[permissions]\n")
    build_values = f'version = "{version}"\nwheels = ["./wheels/{wheel.name}"]\n'
    return f"{header}{build_values}\n[permissions]\n{permissions}"


def build(folder: Path) -> Path:
    """Build the zip in a folder; returns its path."""
    wheel = build_wheel(folder)
    target = folder / f"keyframer-blender-{wheel.name.split('-')[1]}.zip"
    members = {"blender_manifest.toml": manifest(wheel).encode(), f"wheels/{wheel.name}": wheel.read_bytes()}
    members |= {path.name: path.read_bytes() for path in sorted(SOURCE.glob("*.py"))}
    members["LICENSE.md"] = (SOURCE / "LICENSE.md").read_bytes()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name, STAMP), data, zipfile.ZIP_DEFLATED)
    return target


def validate(archive: Path) -> subprocess.CompletedProcess[str] | None:
    """Validate the zip with Blender's command line; None if Blender is not installed."""
    tools = sorted(BLENDER.glob("lib/python*/site-packages/bpy/*/scripts/addons_core/bl_pkg/cli/blender_ext.py"))
    if not tools:
        return None
    command = [str(BLENDER / "bin" / "python"), str(tools[-1]), "validate", str(archive)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--validate", action="store_true", help="let Blender's own command line check the zip")
    parser.add_argument("--to", type=Path, default=ROOT / "build", help="folder for the wheel and the zip (build)")
    options = parser.parse_args()
    archive = build(options.to)
    print(archive)
    if options.validate:
        result = validate(archive)
        if result is None:
            print("not validated: bpy is not installed (tools/install_blender.sh)")
        else:
            print((result.stdout + result.stderr).strip())
            return result.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
