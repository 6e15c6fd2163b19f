"""The companion skeleton text: names, offsets, hierarchy, and located errors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyframer
from keyframer.formats.midtown.skeleton import Bone, read_skeleton

RIG = b"""NumBones 4\r
bone root {\r
\toffset 0.000570 1.147210 -0.000000\r
\tbone spine {\r
\t\toffset 0 0.05 1e-2\r
\t\tbone neck { offset .5 -2. +3 }\r
\t}\r
\tbone hip_l {\r
\t\toffset -0.1 0 0\r
\t\tlimit -1 1\r
\t}\r
}\r
"""


def test_names_offsets_and_tree() -> None:
    skeleton = read_skeleton(RIG)
    assert skeleton.declared_count == 4
    assert skeleton.bones == (
        Bone(b"root", -1, (0.00057, 1.14721, -0.0)),
        Bone(b"spine", 0, (0, 0.05, 0.01)),
        Bone(b"neck", 1, (0.5, -2, 3)),
        Bone(b"hip_l", 0, (-0.1, 0, 0), (b"limit", b"-1", b"1")),
    )


def test_one_line_without_a_count() -> None:
    skeleton = read_skeleton(b"bone{offset 1 2 3}bone b{offset 1 2 3}".replace(b"bone{", b"bone a {"))
    assert [(bone.name, bone.parent) for bone in skeleton.bones] == [(b"a", -1), (b"b", -1)]
    assert skeleton.declared_count is None


@pytest.mark.parametrize(
    ("text", "at", "path"),
    [
        (b" ", 1, "/"),
        (b"hello", 0, "/"),
        (b"NumBones many", 9, "/numbones"),
        (b"NumBones 1 NumBones 1", 11, "/"),
        (b"bone", 4, "/bone[0]/name"),
        (b"bone {", 5, "/bone[0]/name"),
        (b"bone a offset", 7, "/bone[0]"),
        (b"bone a { offset 1 2 }", 20, "/bone[0]/offset"),
        (b"bone a { offset 1 2 nan }", 20, "/bone[0]/offset"),
        (b"bone a { offset 1 2 1e999 }", 20, "/bone[0]/offset"),
        (b"bone a { offset 1 2 1_0 }", 20, "/bone[0]/offset"),
        (b"bone a { offset 1 2 3 offset 1 2 3 }", 22, "/bone[0]/offset"),
        (b"bone a { }", 0, "/bone[0]/offset"),
        (b"bone a { offset 1 2 3", 21, "/bone[0]"),
        (b"bone a { offset 1 2 3 { } }", 22, "/bone[0]"),
        (b"bone a { offset 1 2 3 } }", 24, "/"),
        (b"bone a { offset 1 2 3 bone b { } }", 22, "/bone[1]/offset"),
        (b"bone a { offset 1 2 3 \0 }", 22, "/bone[0]"),
    ],
)
def test_bad_text_is_located(text: bytes, at: int, path: str) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        read_skeleton(text)
    assert (caught.value.code, caught.value.offset, caught.value.path) == ("STRUCT_SYNTAX", at, path)


def test_hostile_words_are_escaped_and_shortened() -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        read_skeleton(b"\x1b[2J" + b"A" * 10_000)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_empty_text() -> None:
    with pytest.raises(keyframer.FormatError, match=r"^IO_EMPTY\b"):
        read_skeleton(b"")


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"records": 3}, "LIMIT_RECORDS"), ({"name": 4}, "LIMIT_NAME"), ({"file_size": 10}, "LIMIT_FILE_SIZE")],
)
def test_limits(limits: dict[str, int], code: str) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        read_skeleton(RIG, replace(keyframer.Limits(), **limits))
    assert caught.value.code == code


def test_deep_hierarchies_need_no_recursion() -> None:
    depth = 20_000
    skeleton = read_skeleton(b"bone a{offset 0 1 0 " * depth + b"}" * depth)
    assert [bone.parent for bone in skeleton.bones] == list(range(-1, depth - 1))


@given(st.binary(max_size=80) | st.text("bone {}offset123.\n", max_size=80).map(str.encode))
def test_any_text_is_read_or_refused(text: bytes) -> None:
    problem: keyframer.FormatError | None = None
    try:
        assert read_skeleton(text).bones
    except keyframer.FormatError as error:
        problem = error
    assert problem is None or 0 <= problem.offset <= len(text)
