"""Code, messages and pages use plain words: no banned phrases or names, one name for U3D (UTO!), a linked glossary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "blender").rglob("*.py"))
TOOLS = sorted((ROOT / "tools").glob("*.py")) + sorted((ROOT / "benchmarks").glob("*.py"))
PAGES = sorted((ROOT / "docs").rglob("*.md")) + sorted(ROOT.glob("*.md")) + sorted((ROOT / "benchmarks").glob("*.md"))
VIEWER = sorted((ROOT / "web" / "src").rglob("*.ts"))
SCHEMAS = sorted((ROOT / "docs" / "schemas").glob("*.json"))

PHRASES = {
    r"numbers? that (is|are) none": "non-finite number",
    r"\bno say\b": "overridden",
    r"told once": "reported once",
    r"\bno (node|camera|encoding|clip) is called\b": "no node is named",
    r"bearable": "truncated",
    r"counts as none": "treated as equal",
    r"as what looks at": "named as its camera or light",
    r"files that ended so": "files with this status",
    r"(bytes|numbers?|rows?|text|list|array) (is|are) wanted": "expected …",
    r"bytes wanted, \d+ left": "expected 2 bytes, 1 remaining",
    r"no place for (it|them|a|the)\b": "cannot be stored",
    r"only where it is none": "raises … if the data is not …",
    r"ha(s|ve) the say\b": "overrides",
    r"wins over": "overrides",
    r"everything that is odd": "report issues",
    r"what is checked of": "checks of …",
    r"in the manner of": "as …",
    r"the whole way from": "read …, write …",
    r"to the letter\b": "exactly, literally",
    r"looked into": "kept as bytes",
    r"that is no (number|file|node|image|track|clip|name|scene)\b": "not a …",
    r"\b(no|of) somebody\b|\bnobody'?s?\b": "name who, or use the passive",
    r"none of ours|could not be done|\btext twin": "unknown, could not be processed, text form",
    r"\bnursery\b": "fork server",
    r"looking nodes?\b|what looks at": "aimed node",
    r"there is no place for|has no place in": "cannot be stored, would be lost",
    r"hardly any (room|bytes|thought)": "almost no content",
    r"whom you trust|lose their way|went with it|hang on\b": "name the thing that happens",
    r"contradicts itself|among its own parents": "is inconsistent, is its own ancestor",
    r"(frames|files|rows|pictures|[0-9]) a second\b": "per second",
    r"does not say (what|which)|is said to have|what .* said, else": "name the value or the choice",
    r"in a folder inside|\bbeside (it|the file|this one|the clip)\b": "in a subfolder, next to",
    r"written anew|writes? (it|the file|the scene) anew": "a new file is written",
    r"what (decode|encode|`decode`|`encode`) owes|things? wrong in|in (one|the same) sitting": "requirements, errors",
    r"dummies as such|maps besides the texture|axes of their own": "dummies, other maps, scale axes",
    r'"""most (?!of\b)': "maximum number of …",
    r"\b1 (cameras|lights|meshes|nodes|keys|turns|tracks|files|bytes|frames|faces)\b": "singular",
}
"""phrases that have to be read twice, as regular expressions, and what to write instead"""

NAMES = {
    *("strangers", "unheld", "lean", "nursery", "relief", "laying", "standing", "uncollected", "dangling", "looking"),
    *("in_its_terms", "in_its_order", "beside", "habits", "holdings", "tell_dropped", "framed", "roused", "arranged"),
    *("look", "looks", "find_looks", "gaze", "movers", "told", "blame"),
    *("take_steps", "ensure_sound", "placing_order", "said_in_gltf", "take_apart"),
    *("leftover", "leftovers", "unread", "pieces", "usual", "usual_inside", "namesthatfit", "like", "arrange_like"),
    *("settle", "settle_homes", "upright", "later", "carry_out", "carry", "says_kind", "stands_for_members", "misfit"),
    *("shortcoming", "roughplaces", "with_these_tracks", "facts_of", "facts_table", "tell", "tell_layers", "modern"),
    *("tell_other_clips", "named_later", "name_all", "as_met", "circles", "first_places", "refusing", "drafted"),
    *("take_back", "let_go", "lay_out", "lay_on", "showing_of", "note_beside", "why_nowhere", "home_of", "inert"),
    *("joints_like", "take_in", "stands_for"),
}
"""names that a newcomer would not search for"""


LOCALS = {
    "each",
    "found",
    "made",
    "own",
    "there",
    "said",
    "told",
    "usual",
    "beside",
    "had",
    "like",
    "subject",
    "thing",
    "things",
    "was",
    "again",
    "some",
    "here",
}
"""variables that do not name the thing they hold"""


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def lines_with(pattern: re.Pattern[str], paths: Iterable[Path]) -> list[str]:
    """Return location and text of each line that matches."""
    lines = []
    for path in paths:
        text = text_of(path)
        for match in pattern.finditer(text):
            start = text.rfind("\n", 0, match.start()) + 1
            line = text[start : text.find("\n", match.start())]
            lines.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, start) + 1}: {line.strip()}")
    return lines


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_banned_phrase(phrase: str) -> None:
    lines = lines_with(re.compile(phrase, re.IGNORECASE), (*SOURCES, *TOOLS, *PAGES, *VIEWER, *SCHEMAS))
    assert not lines, f"write {PHRASES[phrase]!r} instead:\n" + "\n".join(lines)


def test_modules_classes_and_functions_have_plain_names() -> None:
    unclear = []
    for path in SOURCES:
        names = {path.stem}
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                names.add(node.name)
        unclear += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(names) if name.strip("_").lower() in NAMES]
    assert not unclear, "\n".join(unclear)


def test_variables_have_plain_names() -> None:
    """Fields of options, and arguments of ``expected …, found …`` messages, are not variables."""
    unclear = []
    for path in (*SOURCES, *TOOLS):
        for function in ast.walk(tree_of(path)):
            if isinstance(function, ast.FunctionDef) and function.name != "wrong":
                for node in ast.walk(function):
                    name = node.arg if isinstance(node, ast.arg) else getattr(node, "id", None)
                    if name in LOCALS and (
                        isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
                    ):
                        unclear.append(f"{path.relative_to(ROOT)}:{function.name}: {name}")
    assert not unclear, "\n".join(unclear)


def test_u3d_has_one_name() -> None:
    """In every text it is called ``U3D (UTO!)``; the other U3D is the one of ECMA-363."""
    lines = lines_with(re.compile(r"\bU3D\b(?! \(UTO!\)| of ECMA)"), (*SOURCES, *PAGES))
    assert not lines, "\n".join(lines)


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
