"""The page's own unit tests and type checks, run by npm; and the files shipped with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from keyframer.viewer.standalone_page import FOLDER, Assets, PageMissing
from tests.viewer_page import needs_page

WEB = Path(__file__).parents[2] / "web"

needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None or not (WEB / "node_modules/vitest").is_dir(),
    reason="the page's npm packages are not installed (make viewer)",
)


@needs_npm
@pytest.mark.parametrize("script", ["check", "test"])
def test_npm_scripts_pass(script: str) -> None:
    ran = subprocess.run(
        ["npm", "run", "--silent", script], cwd=WEB, capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_text_is_never_inserted_as_markup() -> None:
    """None of the ways to make markup from text is used."""
    for path in (WEB / "src").rglob("*.ts"):
        text = path.read_text(encoding="utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(",
                          "new Function", "createContextualFragment", "setHTMLUnsafe", ".src =", "srcdoc"):  # fmt: skip
            assert forbidden not in text, f"{forbidden} in {path.name}"


@needs_page
def test_licences_ship_with_the_page() -> None:
    text = (FOLDER / "THIRD-PARTY-LICENCES.txt").read_text(encoding="utf-8")
    assert "three 0." in text
    assert "MIT" in text
    assert "Permission is hereby granted" in text


def test_missing_page_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(PageMissing, match="make viewer"):
        Assets(tmp_path)
