"""The dialect of a file: all layout properties that the specification leaves open, as one value."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from keyframer.wire.encoding_style import TEXT_KINDS, Style

_CODES = {1: "B", 2: "H", 4: "I"}


@dataclass(frozen=True, slots=True)
class Dialect(Style):
    """Byte order and text (see `Style`), chunk headers, whose flags announce TCB. The default is the most likely."""

    id_size: Literal[0, 1, 2, 4] = 2
    """bytes of a chunk's id; 0 if chunks have no headers"""
    length_size: Literal[0, 2, 4] = 4
    """bytes of a chunk's size after its id; 0 if chunks have no sizes"""
    length_counts_header: bool = True
    """whether the size of a chunk includes its header (as in 3DS)"""
    tcb_by_key: bool = False
    """whether bit 0 of the flags of each key, not of its node, says that tension to easeOut are stored"""

    def __post_init__(self) -> None:
        if self.id_size == 0 and self.length_size:
            raise ValueError("a size without an id is not among the known chunk headers")
        if self.length_size == 0 and not self.length_counts_header:
            raise ValueError("length_counts_header must be true if chunks have no sizes")

    @property
    def header_size(self) -> int:
        return self.id_size + self.length_size

    @property
    def has_sizes(self) -> bool:
        return self.length_size > 0

    @property
    def header(self) -> struct.Struct:
        """The struct of a chunk header: id and size, id only, or nothing."""
        return _header(self.order, self.id_size, self.length_size)

    def __str__(self) -> str:
        """Return the dialect as text; ``little text:nul chunk:u16+u32 size:all`` is the default."""
        parts = ["big" if self.big_endian else "little", f"text:{self.text}"]
        fields = [f"u{8 * size}" for size in (self.id_size, self.length_size) if size]
        parts.append("chunk:" + ("+".join(fields) or "none"))
        if self.has_sizes:
            parts.append("size:all" if self.length_counts_header else "size:inside")
        return " ".join([*parts, "tcb:key"] if self.tcb_by_key else parts)

    @staticmethod
    def parse(text: str) -> Dialect:
        """Return the dialect for its text form; raises ValueError if it is invalid."""
        dialect = _by_text().get(text)
        if dialect is None:
            raise ValueError(f"{text!r} is not a dialect (the default is {str(Dialect())!r})")
        return dialect


_CHUNK_HEADERS: tuple[tuple[Literal[0, 1, 2, 4], Literal[0, 2, 4], bool], ...] = (
    *((2, 4, True), (2, 4, False), (4, 4, True), (4, 4, False), (1, 4, True), (1, 4, False)),
    *((2, 2, True), (2, 2, False), (4, 2, True), (4, 2, False)),
    *((1, 0, True), (2, 0, True), (4, 0, True), (0, 0, True)),
)
"""chunk headers (bytes of the id, bytes of the size, whether it includes the header) in order of preference"""

DIALECTS: tuple[Dialect, ...] = tuple(
    Dialect(big_endian, text, *header)
    for big_endian in (False, True)
    for text in TEXT_KINDS
    for header in _CHUNK_HEADERS
)
"""every dialect in which the node's flags announce TCB, in order of preference"""

FRAMINGS: tuple[tuple[Dialect, ...], ...] = tuple(
    tuple(Dialect(big_endian, text, *header) for text in TEXT_KINDS)
    for big_endian in (False, True)
    for header in _CHUNK_HEADERS
)
"""the same dialects, grouped by byte order and chunk header"""


@cache
def with_tcb_by_key(dialect: Dialect) -> Dialect:
    """Return the dialect in which the flags of each key announce TCB."""
    return replace(dialect, tcb_by_key=True)


@cache
def _by_text() -> dict[str, Dialect]:
    return {str(dialect): dialect for base in DIALECTS for dialect in (base, with_tcb_by_key(base))}


@cache
def _header(order: str, id_size: int, length_size: int) -> struct.Struct:
    return struct.Struct(order + "".join(_CODES[size] for size in (id_size, length_size) if size))
