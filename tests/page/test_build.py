"""Building the page: only files with the expected hashes are used, and every version has its own cache."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.page.conftest import PAGE


def test_parts_with_another_hash_are_refused(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / f"pyodide-{tool.PYODIDE}.tgz").write_bytes(b"something else")
    with pytest.raises(OSError, match="expected d7f7d24f"):
        tool.parts(tmp_path, ["npm"])


def test_page_has_a_strict_policy(tool: ModuleType) -> None:
    viewer = (PAGE.parents[1] / "web/index.html").read_text()
    page = tool.index_page(viewer)
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert page.count("Content-Security-Policy") == 1
    with pytest.raises(OSError, match="another head"):
        tool.index_page("<html><head></head></html>")


def test_version_changes_with_every_file(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/a.js").write_text("1")
    first = tool.service_worker(tmp_path)
    assert '"./", "assets/a.js"' in first
    assert tool.service_worker(tmp_path) == first
    (tmp_path / "assets/a.js").write_text("2")
    assert tool.service_worker(tmp_path) != first


@pytest.mark.skipif(not PAGE.is_dir(), reason="the page is not built (make page)")
def test_built_page_contains_licences_and_compiled_modules(tmp_path: Path) -> None:
    licences = (PAGE / "LICENCES.txt").read_text()
    for part in ("Pyodide", "MPL-2.0", "CPython", "numpy", "Pillow", "three.js"):
        assert part in licences
    for words in ("Mozilla Public License Version 2.0", "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2"):
        assert words in licences  # the texts, not only names
    sbom = json.loads((PAGE / "keyframer-page.cdx.json").read_text())
    assert [each["purl"].partition("@")[0] for each in sbom["components"]] == [
        "pkg:npm/pyodide", "pkg:generic/cpython", "pkg:pypi/numpy", "pkg:pypi/pillow", "pkg:npm/three",
    ]  # fmt: skip
    assert all(each["version"] and each["licenses"][0]["expression"] for each in sbom["components"])
    with zipfile.ZipFile(PAGE / "python/library.zip") as library:
        names = library.namelist()
    assert "keyframer/viewer/worker.pyc" in names
    assert [name for name in names if re.search(r"\.py$|/tests/|keyframer/(cli|batch)/", name)] == []
    shutil.copytree(PAGE, tmp_path / "page")  # nothing but ordinary files
    assert not any(path.is_symlink() for path in (tmp_path / "page").rglob("*"))
