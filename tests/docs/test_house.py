"""The picture of the house in CONTRIBUTING.md is the contract that the linter checks."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

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
