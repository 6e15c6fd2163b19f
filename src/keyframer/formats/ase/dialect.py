"""How the text of an ASE file is stored: encoding, byte order mark and line ends.

Records have text in one form for all files: 8-bit (UTF-8 if the file is UTF-16); if all lines end with CRLF, they end
with a line feed in records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keyframer.formats.ase.sniff import BYTE_ORDER_MARKS, find_encoding
from keyframer.text import is_utf8

Encoding = Literal["utf-8", "cp1252", "utf-16-le", "utf-16-be"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the text of one file is stored."""

    encoding: Encoding = "utf-8"
    """encoding of the text; 8-bit text that is not UTF-8 counts as Windows code page 1252, and its bytes are kept"""
    mark: bool = False
    """whether the file begins with a byte order mark"""
    newline: Literal["\n", "\r\n"] = "\n"
    """end of every line; files with mixed line ends have "\\n" here, and carriage returns as part of their text"""

    ending: str = "\n"
    """white space after the last record"""

    def __str__(self) -> str:
        mark = ["byte order mark"] if self.mark else []
        return ", ".join([self.encoding, *mark, *(["CRLF"] if self.newline != "\n" else [])])


def read_text(data: bytes) -> tuple[bytes, Dialect, bytes]:
    """Return the text of a file as records have it, its dialect, and the last byte if UTF-16 text has an odd size."""
    detected, start = find_encoding(data)
    text, last_byte = data[start:], b""
    encoding: Encoding = "utf-8"
    if detected in ("utf-16-le", "utf-16-be"):
        encoding = "utf-16-le" if detected == "utf-16-le" else "utf-16-be"
        even_size = len(text) // 2 * 2
        text, last_byte = text[:even_size], text[even_size:]
        text = text.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    elif not text.isascii() and not is_utf8(text):
        encoding = "cp1252"
    crlf_count = text.count(b"\r\n")
    uniform = crlf_count > 0 and crlf_count == text.count(b"\n") == text.count(b"\r")
    if uniform:
        text = text.replace(b"\r\n", b"\n")
    return text, Dialect(encoding, start > 0, "\r\n" if uniform else "\n"), last_byte


def encode_text(text: bytes, dialect: Dialect) -> bytes:
    """Return text of records as a file stores it, without the byte order mark."""
    if dialect.newline != "\n":
        text = text.replace(b"\n", b"\r\n")
    if dialect.encoding.startswith("utf-16"):
        return text.decode("utf-8", "surrogatepass").encode(dialect.encoding, "surrogatepass")
    return text


def byte_order_mark(dialect: Dialect) -> bytes:
    """Return the byte order mark of a file; empty if it has none."""
    encoding = dialect.encoding if dialect.encoding.startswith("utf-16") else "utf-8"
    return next(mark for mark, name in BYTE_ORDER_MARKS if name == encoding) if dialect.mark else b""


class Offsets:
    """Converts positions in the text to byte offsets in the file; positions must not decrease from call to call."""

    def __init__(self, text: bytes, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._plain = dialect.newline == "\n" and not dialect.encoding.startswith("utf-16")
        self._offset = len(byte_order_mark(dialect))
        self._position = 0

    def at(self, position: int) -> int:
        if self._plain:
            return self._offset + position
        self._offset += len(encode_text(self._text[self._position : position], self._dialect))
        self._position = position
        return self._offset
