"""The picture of the house in CONTRIBUTING.md is the contract that the linter checks."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

from keyframer.formats import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_is_the_contract() -> None:
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    layers = contract["importlinter:contract:house"]["layers"].split("\n")
    rooms = [sorted(re.findall(r"\w+", layer)) for layer in layers if layer]
    drawn: list[list[str]] = []
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text[text.index("Rooms in `src/keyframer/`") : text.index("Two more walls")]
    for mark, room in re.findall(r"^    ([ ┌│└]) (\w+)  ", picture, re.M):
        if mark in " ┌":
            drawn.append([])
        drawn[-1].append(room)
    assert [sorted(level) for level in drawn] == rooms
    folders = {path.stem for path in (ROOT / "src" / "keyframer").iterdir() if not path.name.startswith("_")}
    assert folders - {"py"} == {room for level in rooms for room in level}


HOUSE = ROOT / "src" / "keyframer"
FOLDERS = {type(known).__module__.rpartition(".")[2] for known in BUILT_IN}


INSIDE = re.compile(rf"keyframer\.formats\.({'|'.join(sorted(FOLDERS))})\b")


def words_of_formats() -> re.Pattern[str]:
    """Ids, folders and extensions of formats and their companions; "3ds Max" is a program."""
    ids = FOLDERS | {known.name for known in BUILT_IN}
    endings = {ending for known in BUILT_IN for ending in known.extensions}
    endings |= {companion.extension for known in BUILT_IN for companion in known.companions}
    options = {companion.option for known in BUILT_IN for companion in known.companions}
    whole, parts, names = ("|".join(map(re.escape, sorted(words))) for words in (ids, endings, options))
    return re.compile(rf"(?<![\w.])({whole})(?!\w| Max)|({parts})\b|--({names})\b")


def strings_of(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that the program uses: no docstrings, no examples for users."""
    passed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            passed.add(id(node.value))
        elif isinstance(node, ast.Assign) and any(ast.unparse(name) in ("ABOUT", "EXAMPLES") for name in node.targets):
            passed |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node


def test_no_room_knows_a_format_by_name() -> None:
    """Everything about a format is in its folder. The registry and examples in help may name them."""
    pattern = words_of_formats()
    mentions = []
    for path in sorted(HOUSE.rglob("*.py")):
        inside = path.relative_to(HOUSE).parts
        if inside[0] == "formats" and inside[1] in FOLDERS:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in strings_of(tree):
            if pattern.search(node.value) and "keyframer identify" not in node.value and "!/" not in node.value:
                mentions.append(f"{'/'.join(inside)}:{node.lineno}: {node.value[:60]!r}")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and INSIDE.match(node.module or ""):
                mentions.append(f"{'/'.join(inside)}:{node.lineno}: imports {node.module}")
    assert not mentions, "\n".join(mentions)
