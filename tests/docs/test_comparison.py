"""README and docs/comparison.md have the same figures, and they are those that the tool measures."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.blender.outside import NEWEST, needs_version
from tests.corpus import needs_corpus

ROOT = Path(__file__).resolve().parents[2]


def table(page: str, head: str = "file | against") -> list[list[str]]:
    """Return the cells of the table of five files, or of another one."""
    text = (ROOT / page).read_text("utf-8")
    lines = re.search(rf"^\| {re.escape(head)} .*?(?=^$)", text, re.DOTALL | re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]


def test_readme_has_the_figures_of_the_comparison() -> None:
    assert table("README.md") == table("docs/comparison.md")
    assert len(table("README.md")) == 2 + 5


def test_versions_are_those_that_are_installed() -> None:
    """What the tool installs or loads; lib3ds comes from Debian."""
    page = (ROOT / "docs/comparison.md").read_text("utf-8")
    (addon,) = re.findall(r'"io_scene_3ds==([\d.]+)"', (ROOT / "tools/league_readers.py").read_text("utf-8"))
    three = json.loads((ROOT / "tests/oracles/package.json").read_text("utf-8"))["dependencies"]["three"]
    (assimp,) = re.findall(r'"cmeel-assimp>=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    *_, blender = re.findall(r"^install (\S+)", (ROOT / "tools/install_blender.sh").read_text("utf-8"), re.MULTILINE)
    assert f"Blender {blender} (" in page
    assert f"assimp {assimp} (" in page
    assert f"io_scene_3ds {addon}\n(" in page
    assert f"three.js {three} (" in page


@needs_version(NEWEST)
@needs_corpus
@pytest.mark.slow
def test_figures_are_those_that_the_tool_measures() -> None:
    """Errors below 0.01 % depend on rounding, so they may differ by half."""
    for program in ("assimp", "gcc", "node"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    from tools.compare_importers import rows
    from tools.league_readers import NEW_ASSIMP

    if not Path(NEW_ASSIMP).exists():
        pytest.skip("assimp 6 is not installed (the extra league)")
    head, _, *stated = table("docs/comparison.md")
    measured = rows()
    assert list(next(measured)) == head
    for row, expected in zip(measured, stated, strict=True):
        assert list(row[:2]) == expected[:2]
        for cell, figure in zip(row[2:], expected[2:], strict=True):
            off = 0.5 if number(figure) < 0.01 else 0.02
            assert number(cell) == pytest.approx(number(figure), rel=off), (row[0], cell, figure)


@pytest.mark.slow
def test_counts_are_those_of_the_league() -> None:
    """Without the last column, which says why."""
    from tools.league_readers import READERS
    from tools.make_league import all_scores, digest

    missing = [f"{name} ({reader.needs})" for name, reader in READERS.items() if reader.version() is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    programs, scores, _ = all_scores()
    head, _, *stated = table("docs/comparison.md", "program | version")
    measured = digest(programs, scores)
    assert head[:-1] == measured[0]
    assert [row[:-1] for row in stated] == measured[1:]


def number(cell: str) -> float:
    return float(cell.strip("< %"))
