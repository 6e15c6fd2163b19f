"""Pages show what really happens: the blocks of README, tutorial and how-to pages are run, and the site is built."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import keyframer
from keyframer.cli.parser import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, ROOT / "docs/tutorial.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
COMMAND = f"{shlex.quote(sys.executable)} -m keyframer "


def run_console(block: str, folder: Path) -> None:
    """Run each command of a block and compare its output; "…" stands for anything."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        real = re.sub(r"\bkeyframer (?=\w)", lambda _: COMMAND, command.split("  #")[0])
        done = subprocess.run(["sh", "-c", real], cwd=folder, capture_output=True, text=True, check=False)
        output = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).strip().splitlines())
        pattern = re.escape(expected.strip()).replace("…", ".*")
        assert re.fullmatch(pattern, output), f"{command}\n{output}"


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_have_targets(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


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


def test_plain_summary_links_to_pages_of_the_site(site: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text("utf-8"))
    assert len(links) > 8
    assert [link for link in links if not (site / link).is_file()] == []
