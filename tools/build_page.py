"""Builds the page that runs the library in a browser: ``python tools/build_page.py`` writes ``build/page``.

The page is the viewer with Python in a web worker: Pyodide from npm, and the wheels of numpy and Pillow whose sha256
are in Pyodide's own lock file. They are taken from the folder given with ``--parts``, from the cache
(``keyframer/page`` below ``$XDG_CACHE_HOME``), or else downloaded: Pyodide from npm, the wheels out of a package on
PyPI that contains the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import build_dist
import build_viewer

ROOT = build_viewer.ROOT
PAGE = ROOT / "build/page"
SOURCES = ROOT / "web/page"
EXAMPLE = ROOT / "examples/windmill.3ds"

PYODIDE = "314.0.3"
PYODIDE_SHA256 = "d7f7d24f8db486c7eda7280f3b0f7517524c8e43e8b086c6ee6ae8016658b484"
WHEEL_PACKAGE, WHEEL_VERSION = "open-webui", "0.12.4"
"""a package on PyPI that contains the wheels for this Pyodide"""
PACKAGES = ("numpy", "pillow")

RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
UNUSED = re.compile(
    r"(.*/)?(tests?|[^/]*\.dist-info)/.*|.*\.(pyi|pxd|h|a|c|md|txt)"
    r"|keyframer/(batch|cli)/.*|numpy/(f2py|_pyinstaller|fft|polynomial|testing)/.*|PIL/_imagingft\..*"
    r"|(idlelib|ensurepip|tkinter|turtledemo|lib2to3|unittest|pydoc_data|multiprocessing|xmlrpc|wsgiref|curses|dbm"
    r"|sqlite3|_pyrepl|tomllib|xml/dom)/.*"
    r"|(pdb|bdb|pydoc|doctest|turtle|cProfile|profile|pstats|trace|mailbox|imaplib|smtplib|ftplib|poplib|pickletools"
    r"|optparse|difflib|plistlib|modulefinder|compileall|wave|_pyio|statistics|uuid)\.py"
)
"""members of archives that the page never needs"""

CSP = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self' blob:; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types keyframer"
)
TITLE = "Keyframer: old 3D animations in the browser"
ABOUT = "Plays, checks and converts keyframe animation in old 3D files such as .3ds. Files stay on your machine."

LICENCES = f"""This page contains code of these projects.

Keyframer (MIT), see LICENSE.txt
three.js (MIT), see THIRD-PARTY-LICENCES.txt
Pyodide {PYODIDE} (MPL-2.0), unchanged; source: https://github.com/pyodide/pyodide
CPython 3.14 and its standard library (PSF-2.0), as part of Pyodide; source: https://www.python.org
numpy (BSD-3-Clause) and Pillow (MIT-CMU), built by Pyodide, without tests and headers

The texts of these licences follow. keyframer-page.cdx.json lists the same parts for programs (CycloneDX).
"""
TEXTS = {"Pyodide": "MPL-2.0.txt", "CPython": "PSF-2.0.txt"}
"""licences whose texts are not in the packages, in web/page"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Build the page that runs the library in a browser.")
    parser.add_argument("--parts", type=Path, help="a folder with the npm archive of Pyodide and the two wheels")
    parser.add_argument("--if-possible", action="store_true", help="a failure is not an error: tests are then skipped")
    options = parser.parse_args(arguments)
    try:
        if is_fresh():
            return 0
        build(options.parts)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the page could not be built: {error}")
        return 0 if options.if_possible else 1
    sizes = [path.stat().st_size for path in PAGE.rglob("*") if path.is_file()]
    print(f"built {PAGE.relative_to(ROOT)}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB")
    return 0


def is_fresh() -> bool:
    """Return whether the page is newer than everything that it is made from."""
    built = PAGE / "service-worker.js"
    sources = [Path(__file__), EXAMPLE, ROOT / "tools/compile_page.mjs", *SOURCES.iterdir()]
    sources += [path for path in (ROOT / "src/keyframer").rglob("*") if path.suffix != ".pyc" and path.is_file()]
    return (
        build_viewer.is_fresh()
        and built.is_file()
        and all(path.stat().st_mtime <= built.stat().st_mtime for path in sources)
    )


def build(given: Path | None) -> None:
    npm = build_viewer.find_npm()
    if npm is None:
        raise OSError("Node 20.19 or newer is required")
    build_viewer.build()
    pyodide, wheels = parts(given, npm)
    PAGE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=PAGE.parent) as temporary:
        page = Path(temporary, "page")
        shutil.copytree(build_viewer.STATIC, page)
        python = page / "python"
        python.mkdir()
        with tarfile.open(pyodide) as archive:
            for name in (*RUNTIME, "python_stdlib.zip"):
                python.joinpath(name).write_bytes(member(archive, name))
            lock = json.loads(member(archive, "pyodide-lock.json"))
        python.joinpath("pyodide-lock.json").write_text(json.dumps({**lock, "packages": {}}))
        compile_modules(npm, python, wheels, Path(temporary))
        python.joinpath(EXAMPLE.name).write_bytes(EXAMPLE.read_bytes())
        page.joinpath("windmill.bin").write_bytes(baked_example())
        python.joinpath("worker.js").write_bytes((SOURCES / "worker.js").read_bytes())
        page.joinpath("index.html").write_text(index_page(page.joinpath("index.html").read_text("utf-8")), "utf-8")
        page.joinpath("LICENSE.txt").write_bytes((ROOT / "LICENSE").read_bytes())
        page.joinpath("LICENCES.txt").write_text(LICENCES + "".join(licence_texts(wheels)), "utf-8")
        sbom = bill_of_materials(lock["info"]["python"], wheels)
        page.joinpath("keyframer-page.cdx.json").write_text(json.dumps(sbom, indent=2) + "\n", "utf-8")
        page.joinpath("service-worker.js").write_text(service_worker(page), "utf-8")
        shutil.rmtree(PAGE, ignore_errors=True)
        page.rename(PAGE)


def parts(given: Path | None, npm: list[str]) -> tuple[Path, list[Path]]:
    """Return the archive of Pyodide and the wheels, after comparing their hashes."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "keyframer/page")
    folder = given or cache
    folder.mkdir(parents=True, exist_ok=True)
    pyodide = folder / f"pyodide-{PYODIDE}.tgz"
    if not pyodide.is_file():
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            run = [*npm, "pack", "--silent", f"pyodide@{PYODIDE}", "--pack-destination", temporary]
            subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
            verified(Path(temporary, pyodide.name), PYODIDE_SHA256).rename(pyodide)
    with tarfile.open(verified(pyodide, PYODIDE_SHA256)) as archive:
        locked = json.loads(member(archive, "pyodide-lock.json"))["packages"]
    wanted = {folder / locked[name]["file_name"]: locked[name]["sha256"] for name in PACKAGES}
    missing = {path: sha256 for path, sha256 in wanted.items() if not path.is_file()}
    if missing:
        download_wheels(missing)
    return pyodide, [verified(path, sha256) for path, sha256 in wanted.items()]


def download_wheels(wanted: dict[Path, str]) -> None:
    """Take the wheels out of the package on PyPI; the rest of it is thrown away."""
    with tempfile.TemporaryDirectory(dir=next(iter(wanted)).parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", folder]
        pip += ["--only-binary=:all:", "--python-version", "3.11", f"{WHEEL_PACKAGE}=={WHEEL_VERSION}"]
        subprocess.run(pip, check=True)
        (package,) = Path(folder).iterdir()
        with zipfile.ZipFile(package) as archive:
            names = {name.rpartition("/")[2]: name for name in archive.namelist()}
            for path, sha256 in wanted.items():
                if path.name not in names:
                    raise OSError(f"{WHEEL_PACKAGE} {WHEEL_VERSION} does not contain {path.name}")
                taken = Path(folder, path.name)
                taken.write_bytes(archive.read(names[path.name]))
                verified(taken, sha256).rename(path)


def verified(path: Path, sha256: str) -> Path:
    """Return a file whose content has this hash; raises OSError for any other."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise OSError(f"{path} has the sha256 {found}, expected {sha256}: remove it")
    return path


def member(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(f"package/{name}")
    if stream is None:
        raise OSError(f"the package of Pyodide does not contain {name}")
    return stream.read()


def compile_modules(npm: list[str], python: Path, wheels: list[Path], temporary: Path) -> None:
    """Put numpy, Pillow and the library into one archive of compiled modules, and the standard library into another."""
    library, standard = temporary / "library.zip", temporary / "stdlib.zip"
    package = {str(path.relative_to(ROOT / "src")): path for path in sorted((ROOT / "src/keyframer").rglob("*"))}
    with zipfile.ZipFile(library, "w") as archive:
        for wheel in wheels:
            copy_members(wheel, archive)
        for name, path in package.items():
            if path.is_file() and path.suffix != ".pyc" and not UNUSED.fullmatch(name):
                archive.writestr(name, path.read_bytes())
    with zipfile.ZipFile(standard, "w") as archive:
        copy_members(python / "python_stdlib.zip", archive)
    node = "node" if len(npm) == 1 else npm[0]
    run = [node, str(ROOT / "tools/compile_page.mjs"), str(python)]
    run += [str(library), str(python / "library.zip"), str(standard), str(temporary / "compiled.zip")]
    result = subprocess.run(run, check=False, capture_output=True, text=True)
    if result.returncode:
        raise OSError(f"the modules could not be compiled: {result.stderr.strip()[-300:]}")
    shutil.move(temporary / "compiled.zip", python / "python_stdlib.zip")


def copy_members(source: Path, target: zipfile.ZipFile) -> None:
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and not UNUSED.fullmatch(name):
                target.writestr(name, archive.read(name))


def baked_example() -> bytes:
    """Return all that the viewer asks for about the example, so that it plays before Python has started."""
    sys.path.insert(0, str(ROOT / "src"))
    from keyframer.viewer.standalone_page import packed_resources
    from keyframer.viewer.worker import example_resources

    return packed_resources(example_resources(EXAMPLE.name, EXAMPLE.read_bytes()))


def index_page(viewer: str) -> str:
    """Return the page of the viewer, told to run Python itself, with a policy that allows no other origin."""
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(CSP, quote=False)}">\n'
        f'<meta name="description" content="{html.escape(ABOUT)}">\n'
    )
    page = viewer.replace("<html ", '<html data-engine="python" ', 1)
    page = page.replace('<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{head}', 1)
    page = re.sub("<title>.*?</title>", f"<title>{html.escape(TITLE)}</title>", page, count=1)
    if 'data-engine="python"' not in page or CSP not in page or TITLE not in page:
        raise OSError("the page of the viewer has another head than expected")
    return page


def bill_of_materials(python: str, wheels: list[Path]) -> dict[str, Any]:
    """Return the SBOM of the page, as CycloneDX."""
    version = re.search(r'__version__ = "(.*)"', (ROOT / "src/keyframer/__init__.py").read_text("utf-8"))
    assert version is not None
    packages = [metadata for wheel in wheels for metadata in build_dist.packages_in(wheel)]
    runtime = [
        build_dist.component("npm", "pyodide", PYODIDE, "MPL-2.0"),
        build_dist.component("generic", "cpython", python, "PSF-2.0"),
    ]
    own = build_dist.component("pypi", "keyframer", version[1], "MIT")
    return build_dist.cyclonedx(own, [*runtime, *packages, *build_dist.npm_packages()])


def licence_texts(wheels: list[Path]) -> Iterator[str]:
    for part, name in TEXTS.items():
        yield f"\n\n{part}: {name.removesuffix('.txt')}\n\n{(SOURCES / name).read_text('utf-8').strip()}\n"
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                if "/licenses/" in name and not name.endswith("/"):
                    text = archive.read(name).decode().strip()
                    yield f"\n\n{wheel.name}: {name.partition('/licenses/')[2]}\n\n{text}\n"


def service_worker(page: Path) -> str:
    """Return the service worker with the version of the page, which is a hash of all files, their hashes, and the first
    files."""
    names = sorted(path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file())
    hashes = {name: hashlib.sha256(page.joinpath(name).read_bytes()).hexdigest() for name in names}
    digest = hashlib.sha256(json.dumps(hashes).encode())
    first = ["./", *(name for name in names if name.startswith("assets/") or name == "windmill.bin")]
    script = (SOURCES / "service-worker.js").read_text("utf-8")
    digest.update(script.encode())
    script = script.replace('"VERSION"', json.dumps(digest.hexdigest()[:16])).replace('["FIRST"]', json.dumps(first))
    return script.replace('{ "name": "SHA256" }', json.dumps(hashes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
