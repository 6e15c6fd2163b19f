"""What may differ between files of one format without its fields differing: the byte order and the kind of text.

A declaration stays one; `Plan.adapted` makes its variant for a style once, from what each wire type says of itself
(`Kind.adapted`). A format with more to vary derives its dialect from `Style`, and its own wire types look at that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TextKind = Literal["nul", "u8", "u16", "u32"]
"""8-bit text ended by a NUL, or behind a length of one, two or four bytes."""

TEXT_KINDS: tuple[TextKind, ...] = ("nul", "u8", "u16", "u32")
LENGTH_CODES: dict[str, str] = {"u8": "B", "u16": "H", "u32": "I"}
"""the `struct` code of the length before a text"""


@dataclass(frozen=True, slots=True)
class Style:
    """Little endian and NUL-ended text are what declarations say; this says what a file does instead."""

    big_endian: bool = False
    text: TextKind = "nul"

    @property
    def order(self) -> Literal["<", ">"]:
        """The byte order as `struct` and numpy write it."""
        return ">" if self.big_endian else "<"

    def text_size(self, text: bytes) -> int:
        """The bytes that a text takes in the file."""
        return len(text) + {"nul": 1, "u8": 1, "u16": 2, "u32": 4}[self.text]
