"""Invalid texts are refused with line, column and path; no other exception is raised."""

from __future__ import annotations

import json
import pickle
import random

import pytest

import keyframer
from keyframer.inspecting import text_build
from keyframer.inspecting.text_build import (
    TextError,
    build_bytes,
    line_and_column,
    path_at,
    position_of,
    repeated_key,
    show_path,
    values,
)
from tests.building.editing import dump_text
from tests.samples import sample_files

WINDMILL = next(path for path in sample_files("3ds") if path.name == "windmill.3ds")
TEXT = dump_text(keyframer.read(WINDMILL))

HEAD = '{"schema": "keyframer.text", "schema_version": 1, "format": "3ds",\n'


def refused(text: str | bytes) -> TextError:
    with pytest.raises(TextError) as caught:
        build_bytes(text)
    error = caught.value
    assert "\n" not in str(error)
    assert str(error).startswith(f"{error.code} at line {error.line}, column {error.column} in {error.path}: ")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.line) == (str(error), error.line)
    return error


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        ('"flags1": 16384', '"flags1": 70000', "/fields/flags1", "70000 is outside 0..65535"),
        ('"flags1": 16384', '"flags1": 1.5', "/fields/flags1", "expected a whole number, not a decimal number"),
        ('"flags1": 16384', '"flags1": true', "/fields/flags1", "not true/false"),
        ('"flags1": 16384', '"flagsI": 16384', "/fields/flagsI", "unknown field"),
        ('"flags1": 16384,', "", "/fields/flags1", "missing"),
        ('"record": "NodeHeader"', '"record": "NodeHead"', "/record", "unknown record 'NodeHead'"),
        ('"record": "NodeHeader"', '"recor": "NodeHeader"', "/record", "expected the name of a record"),
        ('"record": "NodeHeader"', '"record": "NodeHeader", "colour": 1', "/colour", "unknown key"),
        ('"record": "NodeHeader"', '"record": "NodeHeader", "claimed": [1]', "/claimed", "expected a list of 2 values"),
        ('"record": "NodeHeader"', '"record": "NodeHeader", "tail": "0g"', "/tail", "hex digits"),
        ('"name": "Tower"', '"name": "T\\\\q"', "/fields/name", "unknown escape"),
        ('"name": "Tower"', '"name": "\u0416"', "/fields/name", "not an 8-bit character"),
        ('"name": "Tower"', '"name": "T\\\\x00"', "/fields", "NUL"),
        ("[0.0, 0.0, 58.0]", "[0.0, 0.0]", "/fields/points[16]", "expected a list of 3 numbers"),
        ("[0.0, 0.0, 58.0]", "[0.0, null, 58.0]", "/fields/points[16][1]", "expected a number, not null"),
        ("[0.0, 0.0, 58.0]", '[0.0, "nan:1", 58.0]', "/fields/points[16]", "hex digits"),
        ("[0.0, 0.0, 58.0]", "[0.0, 1e39, 58.0]", "/fields/points[16][1]", "does not fit a float of 4 bytes"),
        ("[0.0, 0.0, 58.0]", "[0.0, 1" + "0" * 400 + ", 58.0]", "/fields/points[16][1]", "does not fit"),
        ('"tension": 0.5, ', "", "/fields/keys[1]", "missing 'tension'"),
        ('"frame": 25, ', "", "/fields/keys[1]", "missing 'frame'"),
        (
            '"frame": 25, ',
            '"frame": 25, "bias": 0, ',
            "/fields/keys[1]",
            "'bias' is unknown, or its flag bit is not set",
        ),
    ],
)
def test_wrong_values_are_located(old: str, new: str, path: str, words: str) -> None:
    assert old in TEXT
    error = refused(TEXT.replace(old, new, 1))
    assert error.code == "TEXT_WRONG"
    assert error.path.startswith("/records[0]/children[")
    assert error.path.endswith(path) or path in error.path
    assert words in error.message
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    whole_record = "NUL" in words or "missing" in words or "recor" in new  # then it is the line where that begins
    assert 0 <= line - error.line <= (2 if whole_record else 0)


@pytest.mark.parametrize(
    ("text", "line", "path", "words"),
    [
        ("", 1, "/", "Expecting value"),
        ("{", 1, "/", "Expecting property name"),
        ('{\n"a": [1,\n2,,3]}', 3, "/a[1]", "Expecting value"),
        (HEAD + '"records": [NaN]}', 2, "/records[0]", "NaN is not JSON"),
        (HEAD + '"records": [{"x": -Infinity}]}', 2, "/records[0]/x", "-Infinity is not JSON"),
        (HEAD + '"records": [],\n"records": []}', 3, "/records", "'records' occurs twice"),
        (HEAD + '"records": ' + "[" * 100_000, 2, "/records", "nested more than 200"),
        (HEAD + '"records": ' + '{"a":' * 100_000, 2, "/records", "nested more than 200"),
        (HEAD + '"records": [' + "1" * 5000 + "]}", 2, "/records[0]", "too many digits"),
        ("[]", 1, "/", "expected an object"),
        ("{}", 1, "/schema", "expected 'keyframer.text'"),
        ('{"schema": "keyframer.text",\n"schema_version": 2}', 2, "/schema_version", "expected version 1"),
        ('{"schema": "keyframer.text", "schema_version": 1,\n"format": "4ds"}', 2, "/format", "unknown format '4ds'"),
        (HEAD + '"records": 1}', 2, "/records", "expected a list"),
        (HEAD + '"records": [1]}', 2, "/records[0]", "expected an object"),
        (HEAD + '"records": [],\n"dialect": "x"}', 3, "/dialect", "have no dialects"),
        (HEAD + '"records": [],\n"trailing": 5}', 3, "/trailing", "hex digits"),
        (HEAD + '"extra": 1}', 2, "/extra", "unknown key"),
        (HEAD + '"records": [{"record": "Main", "fields": []}]}', 2, "/records[0]/fields", "expected an object"),
        (HEAD + '"records": [{"record": "Main", "children": {}}]}', 2, "/records[0]/children", "expected a list"),
    ],
)
def test_invalid_texts_are_located(text: str, line: int, path: str, words: str) -> None:
    error = refused(text)
    assert error.line == line
    assert error.path == path or error.path.startswith(path + "[") or error.path.startswith(path + "/a")
    assert words in error.message


def test_text_that_is_not_utf8() -> None:
    error = refused(b'{\n"schema": "\xff"}')
    assert (error.line, error.column, error.offset) == (2, 12, 13)
    assert build_bytes(b"\xef\xbb\xbf" + TEXT.encode())[0].format.name == "3ds"


def test_offsets_and_segments_are_optional() -> None:
    value = json.loads(TEXT)
    todo = list(value["records"])
    while todo:
        record = todo.pop()
        record["offset"], record["segment"] = "nonsense", 7
        todo += record.get("children", [])
    assert build_bytes(json.dumps(value))[1] == WINDMILL.read_bytes()


def test_dialects_of_every_format_are_checked() -> None:
    for name in ("midtown", "hale3d", "uto3d", "nodeanim", "ase"):
        samples = sample_files(name)
        text = dump_text(keyframer.read(samples[0]))
        value = json.loads(text)
        assert "dialect" in value
        for wrong in ("NOTHING", 5, {"x": 1}, []):
            value["dialect"] = wrong
            assert refused(json.dumps(value)).path == "/dialect"


def test_any_damage_to_a_text_is_refused_or_builds() -> None:
    """Characters changed at random give an error with a location, or a document; never another exception."""
    chance = random.Random(20261115)
    short = dump_text(keyframer.read(min(sample_files("3ds"), key=lambda path: path.stat().st_size)))
    refusals = []
    for _ in range(400):
        at = chance.randrange(len(short))
        new = chance.choice(['"', "{", "}", "[", "]", ",", "9", "-", "x", "", "null", "\\", "1e400"])
        try:
            build_bytes(short[:at] + new + short[at + chance.randrange(3) :])
        except TextError as error:
            refusals.append(error.line)
    assert len(refusals) > 200
    assert min(refusals) >= 1


def test_positions_of_values() -> None:
    text = '{"a": [1, {"b": "x,]}"}],\n "c\\"d": null}'
    shown = ["/" + "/".join(map(str, path)) for path, _, _ in values(text)]
    assert shown == ["/", "/a", "/a/0", "/a/1", "/a/1/b", '/c\\"d']
    assert show_path(("a", 1, "b")) == "/a[1]/b"
    assert text[position_of(text, ("a", 1, "b")) :].startswith('"x,]}"')
    assert text[position_of(text, ("a", 1, "missing")) :].startswith('{"b"')
    assert path_at(text, len(text)) == ('c\\"d',)
    assert line_and_column(text, text.index("null")) == (2, 10)
    assert line_and_column("", 0) == (1, 1)


class CountedKey(str):
    """A key that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedKey.compared += 1
        return str.__eq__(self, other)


def test_repeated_key_is_found_in_linear_time() -> None:
    """Earlier, 8,000 keys took 32 million comparisons."""
    names = [f"k{number}" for number in range(4_000)]
    CountedKey.compared = 0
    with pytest.raises(text_build._RepeatedKey):
        text_build._object([(CountedKey(name), 1) for name in (*names, names[-1])])
    assert CountedKey.compared < 10 * len(names)


@pytest.mark.parametrize(
    ("text", "at", "path"),
    [
        ('{"a": 1, "b": {"a": 2, "c": 3}, "b": 4}', '"b": 4', "/b"),
        ('{"a": [{"x": 1}, {"x": 1, "y": [], "x": 2}]}', '"x": 2', "/a[1]/x"),
        ('{"a": 1, "\\u0061": 2}', '"\\u0061": 2', "/\\u0061"),
        ('[[{"a": {}, "b": {}}], {"a": {"a": [1, 2]}, "a": 0}]', '"a": 0', "[1]/a"),
    ],
)
def test_repeated_key_is_located_in_its_own_object(text: str, at: str, path: str) -> None:
    position = repeated_key(text)
    assert text[:position].endswith(at[: at.index(":") + 2])
    assert show_path(path_at(text, position)) == path
