"""The dialect of a file: all layout properties that the specification leaves open, as one value."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import cache
from typing import Literal

from keyframer.fields import dataclass
from keyframer.wire.encoding_style import TEXT_KINDS, Style

TCB, BEZIER, LINEAR = 1, 2, 4
"""types of interpolation in the flags of a node; TCB overrides BEZIER, which overrides LINEAR"""

TCB_BYTES = 20
"""tension, continuity, bias, easeIn, easeOut"""
_PLAIN_SIZES = (20, 24, 20)
"""bytes of a translation, rotation and scale key with only flags, time and value"""
_TANGENT_BYTES = 24
_SCALE_AXIS_BYTES = 16

_CODES = {1: "B", 2: "H", 4: "I"}


@dataclass(frozen=True, slots=True)
class Dialect(Style):
    """Byte order and text (see `Style`), chunk headers, and the fields of a key. The default is the most likely."""

    id_size: Literal[0, 1, 2, 4] = 2
    """bytes of a chunk's id; 0 if chunks have no headers"""
    length_size: Literal[0, 2, 4] = 4
    """bytes of a chunk's size after its id; 0 if chunks have no sizes"""
    length_counts_header: bool = True
    """whether the size of a chunk includes its header (as in 3DS)"""
    tcb_by_key: bool = False
    """whether bit 0 of the flags of each key, not of its node, says that tension to easeOut are stored"""
    bezier_tangents: bool = False
    """six more floats (in, out) on translation and scale keys of Bezier nodes"""
    scale_axis: bool = False
    """four more floats (a quaternion) on scale keys"""

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

    def row_sizes(self, flags: int) -> tuple[int, int, int]:
        """Return the smallest sizes of a translation, rotation and scale key in a node with these flags."""
        translation, rotation, scale = _PLAIN_SIZES
        if self.scale_axis:
            scale += _SCALE_AXIS_BYTES
        if flags & TCB:
            if not self.tcb_by_key:
                return translation + TCB_BYTES, rotation + TCB_BYTES, scale + TCB_BYTES
        elif flags & BEZIER and self.bezier_tangents:
            return translation + _TANGENT_BYTES, rotation, scale + _TANGENT_BYTES
        return translation, rotation, scale

    def __str__(self) -> str:
        """Return the dialect as text; ``little text:nul chunk:u16+u32 size:all`` is the default."""
        parts = ["big" if self.big_endian else "little", f"text:{self.text}"]
        fields = [f"u{8 * size}" for size in (self.id_size, self.length_size) if size]
        parts.append("chunk:" + ("+".join(fields) or "none"))
        if self.has_sizes:
            parts.append("size:all" if self.length_counts_header else "size:inside")
        parts += [word for name, word in _OPTION_WORDS.items() if getattr(self, name)]
        return " ".join(parts)

    @staticmethod
    def parse(text: str) -> Dialect:
        """Return the dialect for its text form; raises ValueError if it is invalid."""
        dialect = _by_text().get(text)
        if dialect is None:
            raise ValueError(f"{text!r} is not a dialect (the default is {str(Dialect())!r})")
        return dialect


_OPTION_WORDS = {"tcb_by_key": "tcb:key", "bezier_tangents": "bezier:tangents", "scale_axis": "scale:axis"}

OPTIONS = tuple(_OPTION_WORDS)
"""options that are tried only if the file does not match perfectly without them"""

OPTION_SETS: tuple[frozenset[str], ...] = tuple(
    sorted(
        (frozenset(name for bit, name in enumerate(OPTIONS) if bits >> bit & 1) for bits in range(8)),
        key=lambda names: (len(names), [name not in names for name in OPTIONS]),
    )
)
"""all combinations of options, fewest first"""

_CHUNK_HEADERS: tuple[tuple[Literal[0, 1, 2, 4], Literal[0, 2, 4], bool], ...] = (
    *((2, 4, True), (2, 4, False), (4, 4, True), (4, 4, False), (1, 4, True), (1, 4, False)),
    *((2, 2, True), (2, 2, False), (4, 2, True), (4, 2, False)),
    *((1, 0, True), (2, 0, True), (4, 0, True), (0, 0, True)),
)
"""chunk headers (bytes of the id, bytes of the size, whether it includes the header) in the order they are tried"""


FRAMINGS: tuple[tuple[Dialect, ...], ...] = tuple(
    tuple(Dialect(big_endian, text, id_size, length_size, counts) for text in TEXT_KINDS)
    for big_endian in (False, True)
    for id_size, length_size, counts in _CHUNK_HEADERS
)
"""every dialect without options, grouped by byte order and chunk header"""

DIALECTS: tuple[Dialect, ...] = tuple(
    sorted(
        (dialect for framing in FRAMINGS for dialect in framing),
        key=lambda dialect: (dialect.big_endian, TEXT_KINDS.index(dialect.text)),
    )
)
"""the same dialects in order of preference"""

RANK = {dialect: rank for rank, dialect in enumerate(DIALECTS)}
"""the position of each dialect in `DIALECTS`"""


@cache
def with_options(dialect: Dialect, options: frozenset[str]) -> Dialect:
    """Return the dialect with only these options switched on."""
    return replace(
        dialect,
        tcb_by_key="tcb_by_key" in options,
        bezier_tangents="bezier_tangents" in options,
        scale_axis="scale_axis" in options,
    )


def option_count(dialect: Dialect) -> int:
    """Return how many options of a dialect are switched on."""
    return dialect.tcb_by_key + dialect.bezier_tangents + dialect.scale_axis


@cache
def _by_text() -> dict[str, Dialect]:
    return {
        str(dialect): dialect
        for base in DIALECTS
        for dialect in (with_options(base, options) for options in OPTION_SETS)
    }


@cache
def _header(order: str, id_size: int, length_size: int) -> struct.Struct:
    return struct.Struct(order + "".join(_CODES[size] for size in (id_size, length_size) if size))
