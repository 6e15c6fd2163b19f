"""Find the dialect of a file: try every known dialect and compare those that fit exactly.

The number of dialects is fixed, each is rejected at the first value that does not fit, and options are tried only if
they have an effect: time is proportional to the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from keyframer.fields import dataclass
from keyframer.formats.nodeanim.dialect import DIALECTS, FRAMINGS, RANK, Dialect, option_count, with_options
from keyframer.formats.nodeanim.dialect_trial import MatchedPart, Trial, trials
from keyframer.formats.nodeanim.trial_steps import ANIMATIONS_ID, HEADER_ID

LONGEST_PREFIX = 64
"""maximum number of other bytes before chunk 1"""

DEFAULT = DIALECTS[0]
_LARGEST_CACHED = 4096
"""size of the largest file whose trials are cached: that of the head that detection reads"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of the search: the dialect of a file."""

    dialect: Dialect
    start: int = 0
    """offset of the first chunk"""
    fits: bool = False
    """whether the whole file matches the dialect exactly"""
    others: tuple[Dialect, ...] = ()
    """dialects that match equally well"""


def search(data: bytes) -> Finding | None:
    """Return the dialect that fits, else the one that matches furthest; None if no dialect matches.

    The default dialect matches any file that begins with its header of chunk 1 or 2.
    """
    seen: list[Trial] = []
    for attempt in (from_start, after_other_chunks, after_prefix):
        if attempt is after_prefix and any(map(_has_plausible_header, seen)):
            break  # chunk 1 was found without a prefix: the file is damaged
        candidates = list(attempt(data, len(data)))
        exact = [trial for trial in candidates if trial.matched is MatchedPart.END]
        if exact:
            return _best_exact(exact)
        seen += candidates
    return _best_partial(seen) or _default_finding(data)


def from_start(data: bytes, size: int) -> list[Trial]:
    """Return the trials with chunk 1 at the beginning; those of a small file are cached for the reader."""
    return _cached_from_start(data, size) if size <= _LARGEST_CACHED else _cached_from_start.__wrapped__(data, size)


@lru_cache(maxsize=1)
def _cached_from_start(data: bytes, size: int) -> list[Trial]:
    return [
        trial for chunk_1, framing in _BY_ID if data.startswith(chunk_1) for trial in trials(data, size, 0, framing)
    ]


def after_other_chunks(data: bytes, size: int) -> Iterator[Trial]:
    """Yield the trials with other chunks before chunk 1, which is possible only if chunks have sizes."""
    for framing in FRAMINGS:
        if framing[0].has_sizes:
            yield from trials(data, size, 0, framing, leading=True)


def after_prefix(data: bytes, size: int, *, headerless: bool = True) -> Iterator[Trial]:
    """Yield the perfect trials (`Trial.perfect`) that have a complete node, with other bytes before chunk 1.

    Only offsets that look like chunk 1 are tried. ``headerless``: also try dialects without chunk headers.
    """
    for start, byte in enumerate(data[1 : LONGEST_PREFIX + 1], 1):
        if byte > HEADER_ID:
            continue  # chunk 1 never begins with this byte
        for first_bytes, framings in _BY_START.items():
            if data.startswith(first_bytes, start) and (headerless or first_bytes != _ZERO_FLAGS):
                for framing in framings:
                    candidates = trials(data, size, start, framing, strict=True)
                    yield from (trial for trial in candidates if trial.perfect and trial.complete_nodes)


def _id_of_chunk_1(dialect: Dialect) -> bytes:
    """Return the first bytes of chunk 1; empty if chunks have no headers."""
    size = dialect.id_size
    return HEADER_ID.to_bytes(size, "big" if dialect.big_endian else "little") if size else b""


_BY_ID = tuple((_id_of_chunk_1(framing[0]), framing) for framing in FRAMINGS)
_ZERO_FLAGS = bytes(4)
"""the first bytes of chunk 1 if chunks have no headers"""


def _framings_by_start() -> dict[bytes, list[tuple[Dialect, ...]]]:
    """Return framings by the first bytes of chunk 1; without a header these are its flags, which are 0."""
    framings: dict[bytes, list[tuple[Dialect, ...]]] = {}
    for chunk_1, framing in _BY_ID:
        framings.setdefault(chunk_1 or _ZERO_FLAGS, []).append(framing)
    return framings


_BY_START = _framings_by_start()


def _rank(dialect: Dialect) -> int:
    return RANK[with_options(dialect, frozenset())]


def _best_exact(candidates: list[Trial]) -> Finding:
    """Return the best exact match: by quality, number of options, length of the prefix, then order of preference.

    Dialects that match equally well are in `Finding.others`.
    """

    def weight(trial: Trial) -> tuple[object, ...]:
        return (*(not met for met in trial.quality), option_count(trial.dialect), trial.start)

    best = min(candidates, key=lambda trial: (*weight(trial), _rank(trial.dialect)))
    equals = [trial.dialect for trial in candidates if trial is not best and weight(trial) == weight(best)]
    return Finding(best.dialect, best.start, True, tuple(sorted(equals, key=_rank)))


def _best_partial(seen: list[Trial]) -> Finding | None:
    """Return the most promising partial match; None if no trial is promising."""
    promising = [trial for trial in seen if _is_promising(trial)]
    if not promising:
        return None
    best = min(
        promising,
        key=lambda trial: (
            -trial.matched,
            trial.flags != 0,
            not trial.printable_title,
            -trial.plausible_nodes,
            -trial.reached,
            option_count(trial.dialect),
            trial.start,
            _rank(trial.dialect),
        ),
    )
    return Finding(best.dialect, best.start)


def _has_plausible_header(trial: Trial) -> bool:
    """Return whether the fields of chunk 1 fill its size exactly, its flags are 0 and its title is printable."""
    return trial.dialect.has_sizes and trial.flags == 0 and trial.has_title and trial.printable_title


def _is_promising(trial: Trial) -> bool:
    if trial.dialect.id_size == 0:
        return trial.perfect and trial.complete_nodes > 0
    if trial.dialect.has_sizes:
        return trial.flags == 0 or trial.matched >= MatchedPart.ANIMATIONS
    return trial.flags == 0 and trial.matched >= MatchedPart.ANIMATIONS


def _default_finding(data: bytes) -> Finding | None:
    """Return the default dialect if the file begins with the header of chunk 1 or 2 in this dialect; else None."""
    if len(data) < DEFAULT.header_size or DEFAULT.header.unpack_from(data)[0] not in (HEADER_ID, ANIMATIONS_ID):
        return None
    return Finding(DEFAULT)
