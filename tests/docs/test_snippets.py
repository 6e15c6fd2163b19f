"""Pages are followed as a person would: literally, block by block, in the programs that they name."""

from __future__ import annotations

import ast
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.cli import main
from keyframer.notebooks import scene_html
from tests.chromium import open_chromium, why_no_chromium
from tests.viewer.browser import ARGUMENTS
from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "windmill.3ds"
PACKAGES = ROOT / "web" / "node_modules"
"""has the packages that the page installs with npm; the viewer is built with them, too"""


def blocks_of(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def why_no_player() -> str | None:
    if shutil.which("node") is None or not (PACKAGES / "vite").is_dir() or not (PACKAGES / "three").is_dir():
        return "node, or the packages of the viewer, are not here (make peers)"
    return why_no_chromium()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run Vite as ``npx vite`` does, with any free port; yield the address that it prints."""
    command = ["node", str(PACKAGES / "vite" / "bin" / "vite.js"), "--port", "0", "--host", "127.0.0.1"]
    environment = {**os.environ, "NO_COLOR": "1", "CI": "1"}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = None
        for line in server.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            if found:
                break
        assert found is not None
        yield found[0]
    finally:
        server.terminate()
        server.communicate()


def picture_of(page: Any) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), np.int16)


@pytest.mark.skipif(why_no_player() is not None, reason=str(why_no_player()))
def test_threejs_page_shows_a_scene_that_moves(tmp_path: Path) -> None:
    """The folder, the page and the program of docs/howto/threejs.md; npm's packages are linked, not downloaded."""
    (tmp_path / "player" / "public").mkdir(parents=True)
    assert main(["convert", "-q", str(EXAMPLE), str(tmp_path / "player/public/scene.glb")]) == 0
    (page_text,) = blocks_of("howto/threejs.md", "html")
    (program,) = blocks_of("howto/threejs.md", "js")
    (tmp_path / "player/index.html").write_text(page_text)
    (tmp_path / "player/main.js").write_text(program + "\nwindow.shown = { THREE, gltf };\n")
    (tmp_path / "player/node_modules").mkdir()
    for package in ("three", "vite"):
        (tmp_path / "player/node_modules" / package).symlink_to((PACKAGES / package).resolve())
    with served(tmp_path / "player") as address, open_chromium(ARGUMENTS) as chromium:
        page = chromium.new_page(viewport={"width": 640, "height": 480})
        page.set_default_timeout(PATIENCE * 1_000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.wait_for_function("window.shown !== undefined")
        background = np.array([0xDF, 0xE3, 0xE8])

        def shown_part() -> float:
            return float((np.abs(picture_of(page) - background).max(axis=2) > 24).mean())

        wait_for(lambda: shown_part() > 0.05)
        assert len(np.unique(picture_of(page).reshape(-1, 3), axis=0)) > 50
        first = picture_of(page)
        wait_for(lambda: (np.abs(picture_of(page) - first).max(axis=2) > 24).mean() > 0.002)  # the sails turn
        said = page.evaluate(
            """() => ({
                target: shown.gltf.scene.getObjectByName("Cameratarget")?.userData.name,
                clip: shown.THREE.AnimationClip.findByName(shown.gltf.animations, "WINDMILL") !== null,
                names: shown.gltf.animations.map((clip) => clip.name),
                extras: "keyframer" in shown.gltf.scene.getObjectByName("Rotor").userData,
            })"""
        )
        assert said == {"target": "Camera.target", "clip": True, "names": said["names"], "extras": True}
        assert "WINDMILL settings" in said["names"]
        assert errors == []


def test_query_of_the_catalogue_in_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of docs/catalogue.md gives the issues of a file. `pandas.read_sql` hands the query to SQLite."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cut.3ds").write_bytes(EXAMPLE.read_bytes()[:5160])
    monkeypatch.chdir(tmp_path)
    main(["-q", "batch", "catalogue", "in", "-o", "archive.sqlite"])
    (block,) = [block for block in blocks_of("catalogue.md", "python") if "pandas" in block]
    if find_spec("pandas") is None:
        reader = SimpleNamespace(read_sql=lambda query, database: database.execute(query).fetchall())
        monkeypatch.setitem(sys.modules, "pandas", reader)
    names: dict[str, Any] = {}
    exec(compile(block, "catalogue.md", "exec"), names)
    found = getattr(names["issues"], "values", names["issues"])
    assert {(Path(path).name, code) for path, code, _ in found} >= {("cut.3ds", "STRUCT_TRUNCATED")}


@pytest.mark.parametrize("page", ["howto/edit.md", "howto/notebook.md"])
def test_every_block_runs_alone(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(page, "python")
    assert len(blocks) > 1
    for block in blocks:
        exec(compile(block, page, "exec"), {})


def test_first_cell_of_the_notebook_shows_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook shows the value of the last line of a cell, if that is an expression."""
    monkeypatch.chdir(ROOT)
    cell = ast.parse(blocks_of("howto/notebook.md", "python")[0])
    last = cell.body.pop()
    assert isinstance(last, ast.Expr)
    names: dict[str, Any] = {}
    exec(compile(cell, "cell", "exec"), names)
    shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    assert isinstance(shown, keyframer.Scene)
    assert re.search(r'<img[^>]+src="data:image/png;base64,[A-Za-z0-9+/=]{1000,}"', scene_html(shown))


def test_readme_begins_with_what_works_in_a_clone() -> None:
    """The picture, lines that can be copied today, the three commands; the comparison comes later."""
    text = (ROOT / "README.md").read_text("utf-8")
    wanted = ["pictures/windmill.gif", "make demo ", "pip install . ", "keyframer view examples/", "## Why not another"]
    places = [text.index(words) for words in wanted]
    assert places == sorted(places)
    for line in text.splitlines():
        if re.match(r"(pip|uv|pipx) .*\bkeyframer\b", line):
            assert "after the first release" in line, line
    shell = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    for file in re.findall(r"keyframer \w+ (\S+)", shell):
        assert (ROOT / file).is_file(), file


def test_links_to_the_page_lead_somewhere_in_the_repository() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r'<a href="([^"]+)"', page.read_text("utf-8")):
            assert (page.parent / target / "README.md").is_file(), (page.name, target)
    assert "make page" in (ROOT / "docs/try/README.md").read_text("utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_help_is_readable() -> None:
    """Every target with its words, in lines that fit a terminal."""
    lines = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert all(len(line) <= 100 for line in lines)
    listed = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if not line.startswith(" ")}
    targets = re.findall(r"^([a-z-]+):.*## *(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert len(targets) >= 20
    for name, words in targets:
        assert words.startswith(listed[name]), name
