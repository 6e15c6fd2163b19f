"""Measure how far one dialect matches a file: sizes, counts, names and flags are read, but no values of keys.

A trial uses the whole file, or only its head if ``data`` is shorter than ``size``. With only the head, it stops at the
end of the head and sets ``head_matches``. Every size is checked before it is used.
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
    Dialect,
    option_count,
    with_options,
)
from keyframer.formats.nodeanim.trial_steps import (
    CONTROL_CHARACTERS,
    DialectMismatch,
    HeadEnds,
    bare_animations,
    find_animations,
    find_header,
    int_struct,
    is_printable,
    need,
    short_struct,
    tcb_marks,
    walk_text,
)

_SINGLE_TYPES = (TCB, BEZIER, LINEAR)
_MOST_NODES = 0x7FFF
_NO_FLAGS = bytes(4)
_NO_TITLE = bytes(8)
"""after the flags, these bytes mean an empty name and an empty author in every kind of text"""
_MOST_KEYLESS_NODES = 256
"""after a node of unknown type, a dialect with options is rejected at this number of nodes without keys: options change
only keys, so they cannot make these nodes match better"""


class MatchedPart(IntEnum):
    """How far a dialect matches."""

    NOTHING = 0
    HEADER = 1
    """chunk 1; if it has a size, its fields fill it exactly"""
    ANIMATIONS = 2
    """chunk 2 after chunk 1"""
    END = 3
    """the nodes that chunk 1 declares fill chunk 2 exactly, and the last chunk ends with the file"""


@dataclass(slots=True)
class Trial:
    """Result of trying one dialect, with the first chunk at ``start``."""

    dialect: Dialect
    start: int
    matched: MatchedPart = MatchedPart.NOTHING
    reached: int = 0
    """end of the last complete node, or of the last part before the nodes"""
    sizes_match: bool = False
    """the sizes of all chunks, if they have any, lead exactly to the end of the file"""
    head_matches: bool = False
    """``data`` is only the head of the file, and all of it matches"""
    flags: int = 0
    """flags of chunk 1"""
    node_count: int = 0
    """number of nodes that chunk 1 declares"""
    printable: bool = True
    """all names are free of control characters"""
    printable_title: bool = True
    """the name of the clip and its author are printable"""
    has_title: bool = False
    """the clip has a name or an author"""
    nameless_nodes: int = 0
    """number of nodes without a name"""
    known_types: bool = True
    """the flags of all nodes name exactly one interpolation"""
    nodes_begun: int = 0
    """number of nodes read up to their key counts"""
    plausible_nodes: int = 0
    """number of plausible nodes before the first implausible one"""
    complete_nodes: int = 0
    """number of nodes with all their keys"""
    first_key: tuple[int, int] | None = None
    """offset and size of the first key"""
    relevant_options: set[str] = field(default_factory=set)
    """options that may change the size of a key in this file"""

    @property
    def quality(self) -> tuple[bool, bool, bool]:
        """Whether each criterion of a plausible file is met, the most significant first."""
        return self.flags == 0, self.printable, self.known_types

    @property
    def perfect(self) -> bool:
        """Whether all criteria are met."""
        return all(self.quality)


def trials(
    data: bytes, size: int, start: int, framing: tuple[Dialect, ...], *, leading: bool = False, strict: bool = False
) -> Iterator[Trial]:
    """Yield the trials of each dialect of one framing (they differ in the kind of text) in which chunk 1 fits.

    ``leading``: other chunks must precede chunk 1. ``strict``: chunk 1 must have a printable title and declare nodes.
    """
    if strict and not _may_have_title(data, start + framing[0].header_size):
        return
    try:
        at, end = find_header(data, size, start, framing[0], leading)
    except (DialectMismatch, HeadEnds):
        return
    fitting: list[tuple[Trial, int]] = []
    for dialect in framing:
        trial = Trial(dialect, start)
        try:
            stop = _walk_header(trial, data, at, end)
        except (DialectMismatch, HeadEnds):
            continue
        if strict and not (trial.has_title and trial.printable and trial.node_count > 0):
            continue
        if stop == end or not dialect.has_sizes:
            trial.matched, trial.reached = MatchedPart.HEADER, stop
            fitting.append((trial, stop))
    if framing[0].has_sizes and fitting:
        span, sizes_match = find_animations(data, size, end, framing[0])
        for trial, _ in fitting:
            yield from _with_all_options(trial, data, span, sizes_match)
    elif fitting:
        for trial, stop in fitting:
            yield from _with_all_options(trial, data, bare_animations(data, size, stop, trial.dialect), True)


def _may_have_title(data: bytes, at: int) -> bool:
    """Return whether the flags of chunk 1 are 0 and a name or author may follow them."""
    return data.startswith(_NO_FLAGS, at) and not data.startswith(_NO_TITLE, at + len(_NO_FLAGS))


def _with_all_options(base: Trial, data: bytes, span: tuple[int, int] | None, sizes_match: bool) -> Iterator[Trial]:
    """Yield a trial without options, then one for each set of options that may have an effect, up to a perfect match.

    ``base`` has matched chunk 1. ``span`` is the content of chunk 2; if it is None (missing), only ``base`` is yielded.
    """
    if span is None:
        yield base
        return
    tried: dict[frozenset[str], Trial] = {}
    for options in OPTION_SETS:
        smaller_sets = ((option, tried[options - {option}]) for option in options)
        equal_trial = next((trial for option, trial in smaller_sets if option not in trial.relevant_options), None)
        if equal_trial is not None:
            tried[options] = equal_trial
            continue
        trial = Trial(with_options(base.dialect, options), base.start, MatchedPart.ANIMATIONS, span[0], sizes_match)
        trial.flags, trial.node_count = base.flags, base.node_count
        trial.printable, trial.has_title, trial.printable_title = base.printable, base.has_title, base.printable_title
        tried[options] = trial
        try:
            if _walk_nodes(trial, data, *span) == span[1] and sizes_match and base.node_count >= 0:
                trial.matched = MatchedPart.END
        except HeadEnds:
            trial.head_matches = True
        except DialectMismatch:
            pass
        yield trial
        if (trial.matched is MatchedPart.END and trial.perfect) or not (options or trial.relevant_options):
            return


def _walk_header(trial: Trial, data: bytes, pos: int, end: int) -> int:
    """Walk through the fields of chunk 1. Return the position after them."""
    order = trial.dialect.order
    need(data, end, pos, 4)
    trial.flags = int_struct(order, 1).unpack_from(data, pos)[0]
    name, pos = walk_text(data, pos + 4, end, trial.dialect)
    author, pos = walk_text(data, pos, end, trial.dialect)
    need(data, end, pos, 2)
    trial.node_count = short_struct(order).unpack_from(data, pos)[0]
    trial.printable = trial.printable_title = is_printable(name) and is_printable(author)
    trial.has_title = bool(name or author)
    return pos + 2


def _walk_nodes(trial: Trial, data: bytes, pos: int, end: int) -> int:
    """Walk through the nodes that chunk 1 declares (all if the number is negative). Return the position after them."""
    dialect = trial.dialect
    unpack = int_struct(dialect.order, 4).unpack_from
    last = min(end, len(data)) - 16
    sizes: dict[int, tuple[int, int, int]] = {}
    keyless_nodes_left = _MOST_KEYLESS_NODES if option_count(dialect) else -1
    for index in range(trial.node_count if trial.node_count >= 0 else _MOST_NODES):
        name, pos = walk_text(data, pos, end, dialect)
        if pos > last:
            raise DialectMismatch if len(data) >= end else HeadEnds
        flags, translations, rotations, scales = unpack(data, pos)
        pos += 16
        if translations < 0 or rotations < 0 or scales < 0:
            raise DialectMismatch
        trial.nodes_begun = index + 1
        if flags not in _SINGLE_TYPES:
            trial.known_types = False
        if not name:
            trial.nameless_nodes += 1
        elif name.translate(None, CONTROL_CHARACTERS) != name:
            trial.printable = False
        if trial.printable and trial.known_types:
            trial.plausible_nodes = index + 1
        if translations or rotations or scales:
            key_sizes = sizes.get(flags)
            if key_sizes is None:
                key_sizes = sizes[flags] = dialect.row_sizes(flags)
            pos = _walk_keys(trial, data, pos, end, flags, key_sizes, (translations, rotations, scales))
        elif not trial.known_types:
            keyless_nodes_left -= 1
            if keyless_nodes_left == 0:
                raise DialectMismatch
        trial.complete_nodes = index + 1
        trial.reached = pos
    return pos


def _walk_keys(
    trial: Trial,
    data: bytes,
    pos: int,
    end: int,
    flags: int,
    sizes: tuple[int, int, int],
    counts: tuple[int, int, int],
) -> int:
    """Check the sizes of the key tables of a node and note relevant options. Return the position after them."""
    smallest_size = counts[0] * sizes[0] + counts[1] * sizes[1] + counts[2] * sizes[2]
    trial.relevant_options.add("tcb_by_key")
    if counts[2]:
        trial.relevant_options.add("scale_axis")
    if flags & BEZIER and not flags & TCB and (counts[0] or counts[2]):
        trial.relevant_options.add("bezier_tangents")
    if smallest_size > end - pos:
        raise DialectMismatch
    if trial.first_key is None:
        trial.first_key = pos, next(size for size, count in zip(sizes, counts, strict=True) if count)
    if not trial.dialect.tcb_by_key:
        return pos + smallest_size
    low = 3 if trial.dialect.big_endian else 0
    available_end = min(end, len(data))
    for size, count in zip(sizes, counts, strict=True):
        _, table_size = tcb_marks(data, pos, available_end, count, size, low)
        if table_size > available_end - pos:
            raise DialectMismatch if available_end == end else HeadEnds
        pos += table_size
    return pos
