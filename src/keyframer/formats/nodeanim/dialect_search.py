"""Find the dialect of a file: try every known dialect and compare those that fit exactly.

The number of dialects is fixed, each is rejected at the first value that does not fit, and options are tried only if
they have an effect: time is proportional to the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from keyframer.fields import dataclass
from keyframer.formats.nodeanim.dialect import DIALECTS, FRAMINGS, RANK, Dialect, options_on, with_options
from keyframer.formats.nodeanim.dialect_trial import MatchedPart, Walk, walks
from keyframer.formats.nodeanim.trial_steps import ANIMATIONS_ID, HEADER_ID

PREFIX = 64
"""range of offsets in which chunk 1 is searched"""

DEFAULT = DIALECTS[0]
_REMEMBERED = 4096
"""largest file whose walks are cached: the size of the head that detection reads"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of the search: the dialect of a file."""

    dialect: Dialect
    start: int = 0
    """offset of the first chunk"""
    fits: bool = False
    """whether the whole file matches the dialect"""
    others: tuple[Dialect, ...] = ()
    """dialects that match equally well"""


def search(data: bytes) -> Finding | None:
    """Return the dialect that fits, else the one that matches furthest; None if the bytes cannot be this format."""
    seen: list[Walk] = []
    for attempt in (from_start, after_other_chunks, after_prefix):
        if attempt is after_prefix and any(map(_begins_well, seen)):
            break  # chunk 1 is at the beginning: the rest is damaged, not a file after a prefix
        candidates = list(attempt(data, len(data)))
        exact = [walk for walk in candidates if walk.matched is MatchedPart.END]
        if exact:
            return _best_exact(exact)
        seen += candidates
    return _best_partial(seen) or _by_default(data)


def from_start(data: bytes, size: int) -> list[Walk]:
    """Return a walk for each dialect with chunk 1 at the beginning; those of a small file are cached for the reader."""
    return _last_from_start(data, size) if size <= _REMEMBERED else _last_from_start.__wrapped__(data, size)


@lru_cache(maxsize=1)
def _last_from_start(data: bytes, size: int) -> list[Walk]:
    return [walk for chunk_1, framing in _BY_ID if data.startswith(chunk_1) for walk in walks(data, size, 0, framing)]


def after_other_chunks(data: bytes, size: int) -> Iterator[Walk]:
    """Yield a walk for each dialect with other chunks before chunk 1, which is possible only if chunks have sizes."""
    for framing in FRAMINGS:
        if framing[0].has_sizes:
            yield from walks(data, size, 0, framing, leading=True)


def after_prefix(data: bytes, size: int, *, bare: bool = True) -> Iterator[Walk]:
    """Yield the perfect matches with other bytes before chunk 1; only offsets that look like chunk 1 are tried.

    ``bare``: also try dialects without chunk headers.
    """
    for start, byte in enumerate(data[1 : PREFIX + 1], 1):
        if byte > HEADER_ID:
            continue  # no mark begins with this byte
        for mark, framings in _MARKS.items():
            if data.startswith(mark, start) and (bare or mark != _BARE_MARK):
                for framing in framings:
                    candidates = walks(data, size, start, framing, strict=True)
                    yield from (walk for walk in candidates if walk.perfect and walk.nodes)


def _id_of_chunk_1(dialect: Dialect) -> bytes:
    """Return the first bytes of chunk 1; empty if chunks have no headers."""
    size = dialect.id_size
    return HEADER_ID.to_bytes(size, "big" if dialect.big_endian else "little") if size else b""


_BY_ID = tuple((_id_of_chunk_1(framing[0]), framing) for framing in FRAMINGS)
_BARE_MARK = bytes(4)


def _marks() -> dict[bytes, list[tuple[Dialect, ...]]]:
    """Return framings by the first bytes of chunk 1; without a header these are its flags, which are 0."""
    marks: dict[bytes, list[tuple[Dialect, ...]]] = {}
    for chunk_1, framing in _BY_ID:
        marks.setdefault(chunk_1 or _BARE_MARK, []).append(framing)
    return marks


_MARKS = _marks()


def _rank(dialect: Dialect) -> int:
    return RANK[with_options(dialect, frozenset())]


def _best_exact(candidates: list[Walk]) -> Finding:
    """Return the best exact match: by quality, then fewer options, then the order of preference.

    Dialects that match equally well are in `Finding.others`.
    """

    def weight(walk: Walk) -> tuple[object, ...]:
        return (*(not good for good in walk.quality), options_on(walk.dialect), walk.start)

    best = min(candidates, key=lambda walk: (*weight(walk), _rank(walk.dialect)))
    equals = [walk.dialect for walk in candidates if walk is not best and weight(walk) == weight(best)]
    return Finding(best.dialect, best.start, True, tuple(sorted(equals, key=_rank)))


def _best_partial(seen: list[Walk]) -> Finding | None:
    """Return the most promising partial match."""
    good = [walk for walk in seen if _is_promising(walk)]
    if not good:
        return None
    best = min(
        good,
        key=lambda walk: (
            -walk.matched,
            walk.flags != 0,
            not walk.titled_well,
            -walk.sound,
            -walk.reached,
            options_on(walk.dialect),
            walk.start,
            _rank(walk.dialect),
        ),
    )
    return Finding(best.dialect, best.start)


def _begins_well(walk: Walk) -> bool:
    """Return whether chunk 1 has the size of its fields and a readable title."""
    return walk.dialect.has_sizes and walk.flags == 0 and walk.titled and walk.titled_well


def _is_promising(walk: Walk) -> bool:
    if walk.dialect.id_size == 0:
        return walk.perfect and walk.nodes > 0
    if walk.dialect.has_sizes:
        return walk.flags == 0 or walk.matched >= MatchedPart.ANIMATIONS
    return walk.flags == 0 and walk.matched >= MatchedPart.ANIMATIONS


def _by_default(data: bytes) -> Finding | None:
    """Return the default dialect for a damaged file whose first header is chunk 1 or 2 in that dialect."""
    if len(data) < DEFAULT.header_size or DEFAULT.header.unpack_from(data)[0] not in (HEADER_ID, ANIMATIONS_ID):
        return None
    return Finding(DEFAULT)
