"""Measure how far one dialect matches a file: sizes and counts only, no values are kept.

A walk uses the whole file or only its head (``data`` shorter than ``size``); it then stops at the end of the head and
sets ``cut``. Every size is checked before it is used, and no byte is read twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import IntEnum

from keyframer.fields import dataclass
from keyframer.formats.nodeanim.dialect import (
    BEZIER,
    LINEAR,
    OPTION_SETS,
    TCB,
    TCB_BYTES,
    Dialect,
    options_on,
    with_options,
)
from keyframer.formats.nodeanim.trial_steps import (
    CONTROLS,
    DialectMismatch,
    HeadEnds,
    bare_animations,
    find_animations,
    first_chunk,
    ints,
    is_printable,
    need,
    short,
    tcb_marks,
    walk_text,
)

_ONE_TYPE = (TCB, BEZIER, LINEAR)
_MOST_NODES = 0x7FFF
_NO_FLAGS = bytes(4)
_NO_TITLE = bytes(8)
"""an empty name and an empty author, whatever the size of their lengths"""
_BLANKS = 256
"""options are no longer tried after this many nodes without keys, if one of them has no known type"""


class MatchedPart(IntEnum):
    """How far a walk matched."""

    NOTHING = 0
    HEADER = 1
    """chunk 1, filled exactly by its fields"""
    ANIMATIONS = 2
    """chunk 2 after it"""
    END = 3
    """the number of nodes in chunk 1, up to the exact end"""


@dataclass(slots=True)
class Walk:
    """Result of trying one dialect from ``start``."""

    dialect: Dialect
    start: int
    matched: MatchedPart = MatchedPart.NOTHING
    reached: int = 0
    """end of the last complete node"""
    tiled: bool = False
    """the sizes of all chunks lead exactly to the end of the file"""
    cut: bool = False
    """``data`` is only the head of the file, and all of it matches"""
    flags: int = 0
    count: int = 0
    printable: bool = True
    """all names are free of control characters"""
    titled_well: bool = True
    """the names of the clip and its author are printable"""
    titled: bool = False
    """the clip has a name or an author"""
    nameless: int = 0
    """nodes without a name"""
    known_types: bool = True
    """the flags of all nodes name exactly one interpolation"""
    heads: int = 0
    """number of nodes read up to their key counts"""
    sound: int = 0
    """number of plausible nodes before the first implausible one"""
    nodes: int = 0
    """number of nodes with all their keys"""
    first_key: tuple[int, int] | None = None
    """offset and size of the first key"""
    matters: set[str] = field(default_factory=set)
    """options that would have changed the result"""

    @property
    def quality(self) -> tuple[bool, bool, bool]:
        """Return quality criteria, the most significant first."""
        return self.flags == 0, self.printable, self.known_types

    @property
    def perfect(self) -> bool:
        return all(self.quality)


def walks(
    data: bytes, size: int, start: int, framing: tuple[Dialect, ...], *, leading: bool = False, strict: bool = False
) -> Iterator[Walk]:
    """Try the dialects of one framing (they differ in the kind of text); yields nothing if chunk 1 does not fit.

    ``leading``: other chunks precede chunk 1. ``strict``: continue only if chunk 1 is plausible and has nodes.
    """
    if strict and not _may_be_titled(data, start + framing[0].header_size):
        return
    try:
        at, end = first_chunk(data, size, start, framing[0], leading)
    except (DialectMismatch, HeadEnds):
        return
    fitting: list[tuple[Walk, int]] = []
    for dialect in framing:
        walk = Walk(dialect, start)
        try:
            stop = _walk_header(walk, data, at, end)
        except (DialectMismatch, HeadEnds):
            continue
        if strict and not (walk.titled and walk.printable and walk.count > 0):
            continue
        if stop == end or not dialect.has_sizes:
            walk.matched, walk.reached = MatchedPart.HEADER, stop
            fitting.append((walk, stop))
    if framing[0].has_sizes and fitting:
        span, tiled = find_animations(data, size, end, framing[0])
        for walk, _ in fitting:
            yield from _with_all_options(walk, data, span, tiled)
    elif fitting:
        for walk, stop in fitting:
            yield from _with_all_options(walk, data, bare_animations(data, size, stop, walk.dialect), True)


def _may_be_titled(data: bytes, at: int) -> bool:
    """Return whether chunk 1 begins with flags of 0, not followed by two empty texts of any kind."""
    return data.startswith(_NO_FLAGS, at) and not data.startswith(_NO_TITLE, at + len(_NO_FLAGS))


def _with_all_options(walk: Walk, data: bytes, span: tuple[int, int] | None, tiled: bool) -> Iterator[Walk]:
    """Walk through the nodes, then again with options as long as an option has an effect."""
    if span is None:
        yield walk
        return
    tried: dict[frozenset[str], Walk] = {}
    for options in OPTION_SETS:
        same = next(
            (tried[options - {option}] for option in options if option not in tried[options - {option}].matters), None
        )
        if same is not None:
            tried[options] = same
            continue
        trial = Walk(with_options(walk.dialect, options), walk.start, MatchedPart.ANIMATIONS, span[0], tiled)
        trial.flags, trial.count = walk.flags, walk.count
        trial.printable, trial.titled, trial.titled_well = walk.printable, walk.titled, walk.titled_well
        tried[options] = trial
        try:
            if _walk_nodes(trial, data, *span) == span[1] and tiled and walk.count >= 0:
                trial.matched = MatchedPart.END
        except HeadEnds:
            trial.cut = True
        except DialectMismatch:
            pass
        yield trial
        if (trial.matched is MatchedPart.END and trial.perfect) or not (options or trial.matters):
            return


def _walk_header(walk: Walk, data: bytes, pos: int, end: int) -> int:
    """Walk through the fields of chunk 1. Return the position after them."""
    order = walk.dialect.order
    need(data, end, pos, 4)
    walk.flags = ints(order, 1).unpack_from(data, pos)[0]
    name, pos = walk_text(data, pos + 4, end, walk.dialect)
    author, pos = walk_text(data, pos, end, walk.dialect)
    need(data, end, pos, 2)
    walk.count = short(order).unpack_from(data, pos)[0]
    walk.printable = walk.titled_well = is_printable(name) and is_printable(author)
    walk.titled = bool(name or author)
    return pos + 2


def _walk_nodes(walk: Walk, data: bytes, pos: int, end: int) -> int:
    """Walk through as many nodes as chunk 1 declares (all if that is negative). Return the position after them."""
    dialect = walk.dialect
    unpack = ints(dialect.order, 4).unpack_from
    last = min(end, len(data)) - 16
    sizes: dict[int, tuple[int, int, int]] = {}
    blanks = _BLANKS if options_on(dialect) else -1
    for index in range(walk.count if walk.count >= 0 else _MOST_NODES):
        name, pos = walk_text(data, pos, end, dialect)
        if pos > last:
            raise DialectMismatch if len(data) >= end else HeadEnds
        flags, translations, rotations, scales = unpack(data, pos)
        pos += 16
        if translations < 0 or rotations < 0 or scales < 0:
            raise DialectMismatch
        walk.heads = index + 1
        if flags not in _ONE_TYPE:
            walk.known_types = False
        if not name:
            walk.nameless += 1
        elif name.translate(None, CONTROLS) != name:
            walk.printable = False
        if walk.printable and walk.known_types:
            walk.sound = index + 1
        if translations or rotations or scales:
            sizes_here = sizes.get(flags)
            if sizes_here is None:
                sizes_here = sizes[flags] = dialect.row_sizes(flags)
            pos = _walk_keys(walk, data, pos, end, flags, sizes_here, (translations, rotations, scales))
        elif not walk.known_types:
            blanks -= 1
            if blanks == 0:
                raise DialectMismatch
        walk.nodes = index + 1
        walk.reached = pos
    return pos


def _walk_keys(
    walk: Walk,
    data: bytes,
    pos: int,
    end: int,
    flags: int,
    sizes: tuple[int, int, int],
    counts: tuple[int, int, int],
) -> int:
    """Walk over the three key tables of a node, after a check of their counts. Return the position after them."""
    least = counts[0] * sizes[0] + counts[1] * sizes[1] + counts[2] * sizes[2]
    walk.matters.add("tcb_by_key")
    if counts[2]:
        walk.matters.add("scale_axis")
    if flags & BEZIER and not flags & TCB and (counts[0] or counts[2]):
        walk.matters.add("bezier_tangents")
    if least > end - pos:
        raise DialectMismatch
    if walk.first_key is None:
        walk.first_key = pos, next(size for size, count in zip(sizes, counts, strict=True) if count)
    if not walk.dialect.tcb_by_key:
        return pos + least
    low = 3 if walk.dialect.big_endian else 0
    available_end = min(end, len(data))
    for size, count in zip(sizes, counts, strict=True):
        marks = tcb_marks(data, pos, available_end, count, size, low)
        if marks is None:
            raise DialectMismatch if available_end == end else HeadEnds
        pos += count * size + marks.count(1) * TCB_BYTES
    return pos
