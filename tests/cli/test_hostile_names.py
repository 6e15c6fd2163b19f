"""Names that attack a terminal, a web page or a spreadsheet are escaped in every style."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import keyframer
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import (
    Editor,
    Keyframer,
    KeyframerHeader,
    MapName,
    Material,
    MaterialName,
    NamedObject,
    NodeHeader,
    NodeId,
    ObjectNode,
    TextureMap1,
)
from tests.cli.running import STYLES, Run

HOSTILE = {
    "escape": b"\x1b]0;pwned\x07\x1b[2J\x1b[31mred",
    "c1": b"\x9b31mred\xc2\x9b31m",
    "bidi": "abc\u202egpj.exe\u2066\u200b".encode(),
    "newline": b"one\r\ntwo\n| three | <b>",
    "html": b"<script>alert(1)</script>",
    "markdown": b"![x](http://evil/x.png) [link](javascript:1) `code` **bold** www.evil.com",
    "formula": b'=HYPERLINK("http://evil","x")',
    "plus": b"+1+cmd|' /C calc'!A0",
    "at": b"@SUM(1)",
    "minus": b"-2+3",
    "markup": b"[bold red]x[/bold red]",
    "surrogate": b"\xed\xa0\x80",
    "long": b"A" * (1 << 20),
}
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@pytest.fixture(params=HOSTILE, ids=HOSTILE)
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Write a scene that has the hostile name in every place where a name can be."""
    name = HOSTILE[request.param]
    scene = new_document(
        Editor(
            children=[
                Material(children=[MaterialName(name), TextureMap1(children=[MapName(name)])]),
                NamedObject(name),
            ]
        ),
        Keyframer(
            children=[
                KeyframerHeader(name=name),
                ObjectNode(children=[NodeId(0), NodeHeader(name)]),
            ]
        ),
    )
    path = tmp_path / "hostile.3ds"
    path.write_bytes(keyframer.encode(scene))
    return path


@pytest.mark.parametrize("tables", [[], ["--all"]], ids=["summary", "tables"])
@pytest.mark.parametrize("style", STYLES)
def test_info_escapes_names(run: Run, hostile: Path, style: str, tables: list[str]) -> None:
    out = run("info", "--format", style, hostile, *tables).out
    assert not UNSAFE.search(out)
    assert len(out) < 50_000
    if style == "csv":
        for row in csv.reader(io.StringIO(out)):
            assert len(row) == out.splitlines()[0].count(",") + 1
            for cell in row:
                assert not cell.startswith(("=", "+", "@", "\t", "-2+3"))
    if style == "md":
        assert not re.search(r"(?<!\\)<|(?<!\\)\]\(|(?<!\\)`|[^\\]://|www\.e", out)
        for line in out.splitlines():
            if line.startswith("|"):
                assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", header(out, line)))
    if style in ("json", "jsonl"):
        json.loads(out)


def header(out: str, line: str) -> str:
    """Return the heading of the table that a line belongs to."""
    lines = out.splitlines()
    at = lines.index(line)
    while lines[at - 1].startswith("|"):
        at -= 1
    return lines[at]


def test_markup_in_names_is_shown_as_text(run: Run, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    out = run("info", "--all", hostile).out
    assert not UNSAFE.search(re.sub("\x1b\\[[0-9;]*m", "", out))  # except for bold titles
    if hostile.read_bytes().count(b"[bold red]"):
        assert "[bold red]x" in out


def test_dump_is_ascii_and_can_be_built_again(run: Run, hostile: Path, tmp_path: Path) -> None:
    out = run("dump", hostile).out
    assert out.isascii()
    assert not UNSAFE.search(out)
    (tmp_path / "t.json").write_text(out)
    assert run("build", tmp_path / "t.json", "-o", tmp_path / "t.3ds").code == 0
    assert (tmp_path / "t.3ds").read_bytes() == hostile.read_bytes()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", ["=cmd|x.3ds", "\x1b[31mred.3ds", "a\u202eb.3ds", "<b>.3ds"])
def test_file_names_are_escaped(
    run: Run, tmp_path: Path, style: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(b"rubbish")
    for command in ("identify", "info"):
        ran = run(command, "--format", style, name)
        assert ran.code == 3
        assert not UNSAFE.search(ran.out + ran.err)
        if style == "csv":
            assert not any(cell.startswith("=") for row in csv.reader(io.StringIO(ran.out)) for cell in row)
        if style == "md":
            assert "<b>" not in ran.out.replace("\\<", "")


def test_hostile_text_in_inputs_is_escaped_in_messages(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "t.json"
    text.write_text(
        '{"schema": "keyframer.text", "schema_version": 1, "format": "3ds", "records": [], "\x7f\u202e\\u001b[31m": 1}'
    )
    ran = run("build", text, "-o", tmp_path / "x")
    assert ran.code == 3
    assert not UNSAFE.search(ran.err)
    assert run("info", "--from", "\x1b[31m", text).code == 2
    assert not UNSAFE.search(run("info", "--from", "\x1b[31m", text).err)
