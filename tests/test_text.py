"""Names from files: decoded, made safe to show, and converted to ASCII and back."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.text import ascii_to_bytes, bytes_to_ascii, counted, decode_name, safe_text, show_name


@pytest.mark.parametrize(
    ("raw", "encoding", "text"),
    [
        (b"Box01", None, "Box01"),
        ("Würfel".encode(), None, "Würfel"),
        (b"W\xfcrfel", None, "Würfel"),  # Windows
        (b"W\x81rfel", "cp437", "Würfel"),  # DOS
        (b"\x81\xff", None, "\\x81ÿ"),  # 81 is undefined in code page 1252
        (b"", None, ""),
        (b"\xc5\x82", None, "ł"),
        (b"\xb3", "cp1250", "ł"),
    ],
)
def test_decoding(raw: bytes, encoding: str | None, text: str) -> None:
    assert decode_name(raw, encoding) == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\x1b[31mred", "\\x1b[31mred"),
        (b"two\nlines\r\0", "two\\x0alines\\x0d\\x00"),
        (b"\x7f", "\\x7f"),
        ("\x85\x9b".encode(), "\\x85\\x9b"),
        ("abc\u202etxt.exe".encode(), "abc\\u202etxt.exe"),
        ("\u2066\u2069\u200b\ufeff\u2028\u2029\u061c".encode(), "\\u2066\\u2069\\u200b\\ufeff\\u2028\\u2029\\u061c"),
        ("<b>Grün</b> 日本".encode(), "<b>Grün</b> 日本"),
    ],
)
def test_escaping_for_display(raw: bytes, shown: str) -> None:
    assert show_name(raw) == shown


@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_escaped_text_cannot_control_a_terminal(text: str) -> None:
    shown = safe_text(text)
    for character in shown:
        assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert character not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    shown.encode("utf-8")


@given(st.binary())
def test_every_name_can_be_shown(raw: bytes) -> None:
    assert isinstance(show_name(raw), str)
    assert isinstance(show_name(raw, "cp437"), str)


@given(st.binary())
def test_bytes_survive_conversion_to_ascii_and_back(raw: bytes) -> None:
    text = bytes_to_ascii(raw)
    assert text.isascii()
    assert text.isprintable() or not text
    assert ascii_to_bytes(text) == raw


def test_ascii_examples() -> None:
    assert bytes_to_ascii(b"a\\b\x00\xff") == "a\\\\b\\x00\\xff"
    assert ascii_to_bytes("a\\\\b\\x00\\xFF") == b"a\\b\x00\xff"
    assert ascii_to_bytes("ü") == b"\xfc"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\\", "unknown escape"),
        ("\\n", "unknown escape"),
        ("\\x4", "unknown escape"),
        ("\\xzz", "unknown escape"),
        ("\\x41€", "'€' is not"),
    ],
)
def test_invalid_escapes_are_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ascii_to_bytes(text)


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (1, "camera", "1 camera"),
        (2, "camera", "2 cameras"),
        (0, "mesh", "0 meshes"),
        (3, "vertex", "3 vertices"),
        (3, "matrix", "3 matrices"),
        (4, "bounding box", "4 bounding boxes"),
        (5, "entry", "5 entries"),
        (6, "rotation key", "6 rotation keys"),
    ],
)
def test_counts_with_nouns(count: int, noun: str, text: str) -> None:
    assert counted(count, noun) == text
