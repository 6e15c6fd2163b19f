"""Pages show what really happens: the blocks of README, tutorial and other pages are run, and the site is built."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count, groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.cli.parser import COMMANDS, build_parser
from keyframer.formats.threeds.records import MasterScale
from tests.page.conftest import PAGE

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, ROOT / "docs/tutorial.md", ROOT / "docs/scenes.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
COMMAND = f"{shlex.quote(sys.executable)} -m keyframer "


def run_console(block: str, folder: Path) -> None:
    """Run each command of a block and compare its output; "…" stands for anything.

    The exit code is 0, that of a comment ("exit code 1"), or any if the block shows why: a message of the program, or
    an error in a list of issues.
    """
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        real = re.sub(r"\bkeyframer (?=\w)", lambda _: COMMAND, command.split("  #")[0])
        done = subprocess.run(["sh", "-c", real], cwd=folder, capture_output=True, text=True, check=False)
        output = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).strip().splitlines())
        pattern = re.escape(expected.strip()).replace("…", ".*")
        assert re.fullmatch(pattern, output), f"{command}\n{output}"
        if not re.search("^keyframer: |^ *error: ", expected, re.MULTILINE):
            stated = re.search(r"#.* exit code (\d+)", command)
            assert done.returncode == int(stated[1] if stated else 0), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(ROOT / "examples/windmill.3ds", tmp_path / "scene.3ds")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"^```(console|python)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    for language, block in blocks:
        if language == "console":
            run_console(block, tmp_path)
        else:
            exec(compile(block, page.name, "exec"), names)


def run_python(page: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, Any]:
    """Run the Python blocks of a page in a folder; returns their names."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(block, page, "exec"), names)
    return names


FRAMES = [0.0, 10.0, 25.0, 50.0]


def world(file: str | keyframer.Scene, node: str, frames: list[float] = FRAMES) -> Any:
    scene = keyframer.load(file) if isinstance(file, str) else file
    return keyframer.pose(scene, frames=frames).world[:, scene.find(node)]


def test_example_of_the_tutorial_makes_the_mill_taller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = run_python("docs/tutorial.md", monkeypatch, tmp_path)
    assert names["report"].summary() == "nothing lost"  # as the page says
    for node, height in {"Rotor": 10, "Sail1": 10, "Sail4": 10, "Tower": 0, "Camera": 0}.items():
        moved = world("examples/windmill.3ds", node)
        moved[:, 2, 3] += height
        assert np.allclose(world("taller.3ds", node), moved, atol=1e-4), node


def test_examples_of_editing_have_their_effect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_python("docs/howto/edit.md", monkeypatch, tmp_path)
    mill, taller = "examples/windmill.3ds", "taller.3ds"
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    tower, rotor = world(mill, "Tower"), world(mill, "Rotor")
    assert np.allclose(world(taller, "Tower")[:, :3, :3], quarter @ tower[:, :3, :3], atol=1e-6)
    assert np.allclose(world(taller, "Tower")[:, :3, 3], tower[:, :3, 3], atol=1e-6)
    wanted = tower[:, :3, 3] + (rotor[:, :3, 3] + (0, 0, 10) - tower[:, :3, 3]) @ quarter.T
    assert np.allclose(world(taller, "Rotor")[:, :3, 3], wanted, atol=1e-4)
    assert np.allclose(world(taller, "Rotor")[:, :3, :3], 1.5 * quarter @ rotor[:, :3, :3], atol=1e-4)
    half_speed = world("slow.3ds", "Rotor", [2 * frame for frame in FRAMES])
    assert np.allclose(half_speed[:, :3, :3], rotor[:, :3, :3], atol=1e-4)
    scale = keyframer.read("metres.3ds").first(MasterScale)
    assert scale is not None
    assert scale.scale == pytest.approx(39.37)


def test_example_of_scenes_moves_the_tower(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (ROOT / "docs/scenes.md").read_text("utf-8")
    names = run_python("docs/scenes.md", monkeypatch, tmp_path)
    (line,) = re.findall(r"^scene\.move\(.*\)$", page, re.MULTILINE)
    scene = keyframer.load("examples/windmill.3ds")
    before = world(scene, "Rotor")
    exec(line, {"scene": scene})
    before[:, 2, 3] += 5
    assert np.allclose(world(scene, "Rotor"), before)
    assert names["picture"].size == (320, 200)


def commands_in(block: str) -> Iterator[list[str]]:
    """Yield the words of each ``keyframer …`` of a shell script; variables become numbers."""
    numbers = count()
    block = re.sub(r"\$\{?\w+\}?", lambda _: str(next(numbers)), block.replace("\\\n", " "))
    for line in block.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&")
        lexer.whitespace_split = True
        for is_operator, words in groupby(lexer, lambda word: set(word) <= set("|;&")):
            program, *rest = words
            if not is_operator and program == "keyframer":
                yield rest


def test_every_command_line_is_accepted_by_the_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all pages, also where nothing can be run because the files are only names."""
    monkeypatch.chdir(tmp_path)
    parser, seen = build_parser(), 0
    for page in [README, *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            for words in commands_in(block):
                seen += 1
                for option, value in pairwise(words):
                    if option == "--texture-path":  # must exist
                        Path(value).mkdir(parents=True, exist_ok=True)
                try:
                    parser.parse_args(words)
                except SystemExit:
                    pytest.fail(f"{page.relative_to(ROOT)}: keyframer {shlex.join(words)}")
    assert seen > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_have_targets(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_pages_of_formats_are_found_by_their_folder() -> None:
    """A new format needs no entry: its page is generated, and the index takes all pages of the folder."""
    tree = re.search(r"```\{toctree\}\n:caption: Formats\n(.*?)```", (ROOT / "docs/index.md").read_text("utf-8"), re.S)
    assert tree is not None
    assert tree[1].split() == [":hidden:", ":glob:", "formats/*"]


def test_every_command_is_in_the_readme() -> None:
    for name, words in COMMANDS.items():
        assert f"| `keyframer {name}` | {words} |" in README.read_text("utf-8"), name


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as ``make docs`` does: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", str(ROOT / "docs"), str(folder)]
    environment = {**os.environ, "PYTHONWARNINGS": ""}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_site_has_every_public_name(site: Path) -> None:
    page = (site / "api.html").read_text("utf-8")
    for name in keyframer.__all__:
        assert name == "__version__" or f'id="keyframer.{name}"' in page, name


def test_site_sends_no_request_to_others(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"', text)
        loaded += re.findall(r'<link[^>]* rel="(?!canonical|index|search|next|prev)[^"]*"[^>]* href="([^"]+)"', text)
        loaded += [
            url
            for sheet in re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
            for url in re.findall("url\\(([^)]+)", sheet)
        ]
        assert [url for url in loaded if re.match("(https?:)?//", url)] == [], page.name
    for sheet in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text("utf-8")) == [], sheet.name


def test_site_contains_the_page_that_it_offers(site: Path) -> None:
    assert '<a href="try/">Try it</a>' in (site / "index.html").read_text("utf-8")
    if not PAGE.is_dir():
        pytest.skip("the page is not built (make page)")
    assert (site / "try/index.html").read_bytes() == (PAGE / "index.html").read_bytes()


def test_site_has_the_file_of_the_tutorial(site: Path) -> None:
    link = re.search(r'href="(_downloads/[^"]*/windmill\.3ds)"', (site / "tutorial.html").read_text("utf-8"))
    assert link is not None
    assert (site / link[1]).read_bytes() == (ROOT / "examples/windmill.3ds").read_bytes()


def test_plain_summary_links_to_the_pages_of_the_site(site: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text("utf-8"))
    assert [link for link in links if not (site / link).is_file() and not link.startswith("try/")] == []
    for folder in ("howto", "formats"):
        assert {str(page.relative_to(site)) for page in (site / folder).glob("*.html")} <= set(links)


def test_replaced_decisions_say_so_first_and_are_one_paragraph() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text("utf-8")
    replaced = set(re.findall(r"\((0\d{3}[\w-]+\.md)\) \|.*\(replaced by 0\d{3}", index))
    assert replaced
    for page in sorted((ROOT / "docs/decisions").glob("0*.md")):
        text = page.read_text("utf-8").strip()
        assert text.startswith("---\norphan: true\n---\n") == (page.name in replaced), page.name  # not in the menu
        paragraphs = text.removeprefix("---\norphan: true\n---\n\n").split("\n\n")
        assert paragraphs[1].startswith("*Replaced by [") == (page.name in replaced), page.name
        assert page.name not in replaced or len(paragraphs) == 3, page.name
