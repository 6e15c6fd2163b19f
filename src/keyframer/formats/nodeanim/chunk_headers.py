"""Where chunk 1 and chunk 2 lie in a dialect: headers only, each checked against what is left of the file."""

from __future__ import annotations

from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.trial_steps import Cut, Misfit, need

HEADER_ID, ANIMATIONS_ID = 1, 2

LEADING_CHUNKS = 64
"""how many chunks of other ids may stand before chunk 1"""


def first_chunk(data: bytes, size: int, start: int, dialect: Dialect, leading: bool) -> tuple[int, int]:
    """Where the content of chunk 1 begins and must end."""
    if not dialect.has_sizes:
        return _expect_id(data, size, start, dialect, HEADER_ID), size
    pos = start
    for _ in range(LEADING_CHUNKS if leading else 1):
        chunk_id, at, end = _chunk(data, size, pos, dialect)
        if chunk_id == HEADER_ID:
            if leading and pos == start:
                break
            return at, end
        if chunk_id == ANIMATIONS_ID:
            break
        pos = end
    raise Misfit


def _expect_id(data: bytes, size: int, pos: int, dialect: Dialect, wanted: int) -> int:
    """The place behind an id that stands alone (or behind nothing)."""
    need(data, size, pos, dialect.header_size)
    if dialect.id_size and dialect.header.unpack_from(data, pos)[0] != wanted:
        raise Misfit
    return pos + dialect.header_size


def _chunk(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[int, int, int]:
    """Id, begin and end of the content of the chunk at ``pos``, which must fit."""
    header_size = dialect.id_size + dialect.length_size
    need(data, size, pos, header_size)
    chunk_id, length = dialect.header.unpack_from(data, pos)
    at = pos + header_size
    end = pos + length if dialect.length_counts_header else at + length
    if chunk_id == 0 or end < at or end > size:
        raise Misfit
    return chunk_id, at, end


def find_animations(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[tuple[int, int] | None, bool]:
    """The content of chunk 2 behind chunk 1, and whether all chunks, each of the two once, lead to the end of the file.

    A chunk 2 that claims more than there is counts as found, cut at the end of the file.
    """
    header_size, unpack = dialect.header_size, dialect.header.unpack_from
    inside = 0 if dialect.length_counts_header else header_size
    last = min(size, len(data)) - header_size
    span: tuple[int, int] | None = None
    single = True
    while pos <= last:
        chunk_id, length = unpack(data, pos)
        end = pos + length + inside
        if chunk_id == ANIMATIONS_ID and span is None and end > size:
            return (pos + header_size, size), False
        if chunk_id == 0 or end < pos + header_size or end > size:
            return span, False
        if chunk_id == HEADER_ID or (chunk_id == ANIMATIONS_ID and span is not None):
            single = False
        elif chunk_id == ANIMATIONS_ID:
            span = pos + header_size, end
        pos = end
    return span, single and span is not None and pos == size


def bare_animations(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[int, int] | None:
    try:
        return _expect_id(data, size, pos, dialect, ANIMATIONS_ID), size
    except (Misfit, Cut):
        return None
