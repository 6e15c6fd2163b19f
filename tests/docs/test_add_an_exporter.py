"""The code of docs/add-an-exporter.md works as a separate package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-an-exporter.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "windmill.3ds"


def test_the_exporter_of_the_page_gets_its_commands(tmp_path: Path) -> None:
    declaration, writing = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (entry_points,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    (tmp_path / "stl_exporter.py").write_text(declaration)
    (tmp_path / "stl_writing.py").write_text(writing)
    group, line = re.search(r'"(.*?)"\]\n(.*)', entry_points).groups()  # type: ignore[union-attr]
    information = tmp_path / "stl-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: stl\nVersion: 1\n")
    (information / "entry_points.txt").write_text(f"[{group}]\n{line.replace(chr(34), '')}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")])}

    def keyframer(*arguments: object) -> str:
        command = [sys.executable, "-m", "keyframer", *map(str, arguments)]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return ran.stdout + ran.stderr

    said = keyframer("convert", EXAMPLE, tmp_path / "a.stl", "--digits", "3")
    assert "lost: " in said
    text = (tmp_path / "a.stl").read_text()
    assert text.count("facet normal") == text.count("endfacet") > 50
    assert "vertex -0.8 -13.8 44\n" in text
    assert "--digits" in keyframer("convert", "--help")
    keyframer("batch", "convert", EXAMPLE, "-o", tmp_path / "out", "--to", "stl", "-j", "1")
    assert [path.name for path in (tmp_path / "out").rglob("*.stl")] == ["windmill.stl"]
