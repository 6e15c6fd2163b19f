"""The encoding style of a file: byte order and kind of text, which may differ between files with the same fields.

A record is declared once. `Plan.adapted` makes its variant for each style, using `Kind.adapted` of each wire type. A
format with more variants derives its dialect from `Style`, and its own wire types use that dialect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TextKind = Literal["nul", "u8", "u16", "u32", "u32_nul"]
"""8-bit text that ends with a NUL; that follows its length in one, two or four bytes; or both"""

TEXT_KINDS: tuple[TextKind, ...] = ("nul", "u8", "u16", "u32")
LENGTH_CODES: dict[str, str] = {"u8": "B", "u16": "H", "u32": "I", "u32_nul": "I"}
"""the `struct` code of the length before a text"""


@dataclass(frozen=True, slots=True)
class Style:
    """The encoding style of a file. Records are declared for the default: little endian, NUL-terminated text."""

    big_endian: bool = False
    text: TextKind = "nul"

    @property
    def order(self) -> Literal["<", ">"]:
        """The byte order as a character of `struct` and numpy."""
        return ">" if self.big_endian else "<"

    def text_size(self, text: bytes) -> int:
        """Return the number of bytes that a text takes in the file, including its NUL or length."""
        return len(text) + {"nul": 1, "u8": 1, "u16": 2, "u32": 4, "u32_nul": 5}[self.text]
