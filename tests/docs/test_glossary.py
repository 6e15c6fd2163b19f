"""The glossary is linked and defines each word once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_glossary_is_linked_and_defines_each_word_once() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+?) \|", glossary, re.MULTILINE)
    words = [word for row in words if row not in ("word", "---") for word in row.split(", ")]
    assert len(words) == len(set(words)) > 40
    for word in (
        "document",
        "record",
        "chunk",
        "scene",
        "node",
        "clip",
        "track",
        "key",
        "pose",
        "bridge",
        "dialect",
        "companion",
        "loss report",
        "salvage",
        "rest pose",
        "bind pose",
        "keyframer",
    ):
        assert word in words, word
    for page in ("README.md", "CONTRIBUTING.md"):
        assert "docs/glossary.md" in (ROOT / page).read_text(encoding="utf-8"), page
