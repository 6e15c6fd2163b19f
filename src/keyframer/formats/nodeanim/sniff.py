"""How a file begins: the dialects in which chunk 1 is complete, and detection by chunk 1 and the first node.

`beginnings` is the first step of both detection and decoding. It reads the fields of chunk 1 only, so nearly every
dialect ends here. Decoding then reads the file in the remaining ones (see `document`). Detection has only the first
bytes. The format has no signature, so the evidence must be strong: sizes of chunks that lead to the end of the file, or
a first node that is plausible in every respect.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from keyframer.formats.contract import Match
from keyframer.formats.nodeanim.dialect import DIALECTS, FRAMINGS, Dialect
from keyframer.text import counted
from keyframer.wire.encoding_style import LENGTH_CODES

HEADER_ID, ANIMATIONS_ID = 1, 2
TYPES = {1: "TCB", 2: "BEZIER", 4: "LINEAR"}
"""types of interpolation: flags of a node"""
_SEARCHED_CHUNKS = 64
"""number of chunks at the beginning of the file among which chunk 1 is searched for"""
_CONTROL_CHARACTERS = bytes(range(0x20)) + b"\x7f"
_CHECKED_BYTES = 256
"""number of bytes of a text that are checked for control characters"""
_LEAST_KEY_SIZES = (20, 24, 20)
"""bytes of a translation, rotation and scale key without TCB fields"""
_HUGE = 1e12


class Beginning(NamedTuple):
    """Chunk 1 of a file in one dialect."""

    dialect: Dialect
    flags: int
    title: bytes
    """name and author"""
    node_count: int
    end: int
    """offset after chunk 1"""


def is_printable(text: bytes) -> bool:
    """Return whether a text begins without control characters."""
    start = text[:_CHECKED_BYTES]
    return start.translate(None, _CONTROL_CHARACTERS) == start


def beginnings(data: bytes, size: int, *, after_others: bool = False) -> list[Beginning]:
    """Return chunk 1 in each dialect in which its fields are complete and in place, in order of preference.

    ``data`` may be only the first bytes of a file of ``size`` bytes. Chunk 1 is the first chunk or, with
    ``after_others``, comes after chunks with other ids, which is possible only if chunks have sizes. Without chunk
    headers, its flags must be 0: nothing else marks it.
    """
    complete: list[Beginning] = []
    for first_bytes, framing in _FRAMINGS_BY_START:
        if after_others:
            chunk_1 = _find_after_others(data, size, framing[0]) if framing[0].has_sizes else None
        elif data.startswith(first_bytes):
            header_size = framing[0].header_size
            chunk_1 = _chunk(data, size, 0, framing[0]) if framing[0].has_sizes else (HEADER_ID, header_size, size)
        else:
            continue
        if chunk_1 is not None:
            complete += filter(None, (_begin(data, chunk_1[1], chunk_1[2], dialect) for dialect in framing))
    return sorted(complete, key=lambda beginning: _RANK[beginning.dialect]) if len(complete) > 1 else complete


_FRAMINGS_BY_START = tuple(
    (
        HEADER_ID.to_bytes(size, "big" if framing[0].big_endian else "little")
        if (size := framing[0].id_size)
        else bytes(4),
        framing,
    )
    for framing in FRAMINGS
)
"""dialects of one byte order and chunk header, with the first bytes of chunk 1: its id, or its flags"""
_RANK = {dialect: rank for rank, dialect in enumerate(DIALECTS)}


def _find_after_others(data: bytes, size: int, dialect: Dialect) -> tuple[int, int, int] | None:
    pos = 0
    for index in range(_SEARCHED_CHUNKS):
        chunk = _chunk(data, size, pos, dialect)
        if chunk is None or chunk[0] == ANIMATIONS_ID:
            return None
        if chunk[0] == HEADER_ID:
            return chunk if index else None
        pos = chunk[2]
    return None


def _chunk(data: bytes, size: int, pos: int, dialect: Dialect) -> tuple[int, int, int] | None:
    """Return the id of the chunk at ``pos`` and start and end of its content; None if it is not inside the file."""
    at = pos + dialect.header_size
    if at > len(data):
        return None
    chunk_id, length = dialect.header.unpack_from(data, pos)
    end = pos + length if dialect.length_counts_header else at + length
    return (chunk_id, at, end) if chunk_id and at <= end <= size else None


def _begin(data: bytes, at: int, end: int, dialect: Dialect) -> Beginning | None:
    """Read the fields of chunk 1; None if they are not complete, or are in the wrong place.

    They must fill the size of the chunk or, without sizes, be followed by the id of chunk 2.
    """
    try:
        (flags,) = struct.unpack_from(dialect.order + "i", data, at)
        name, pos = _text(data, at + 4, end, dialect)
        author, pos = _text(data, pos, end, dialect)
        (node_count,) = struct.unpack_from(dialect.order + "h", data, pos)
    except struct.error:
        return None
    pos += 2
    if dialect.has_sizes:
        in_place = pos == end
    else:
        in_place = not dialect.id_size or data.startswith(dialect.header.pack(ANIMATIONS_ID), pos)
    return Beginning(dialect, flags, name + author, node_count, pos) if in_place else None


def _text(data: bytes, pos: int, end: int, dialect: Dialect) -> tuple[bytes, int]:
    """Return the beginning of a text and the position after it; raises `struct.error` if it is not complete."""
    if dialect.text == "nul":
        stop = data.find(b"\0", pos, end)
        if stop < 0:
            raise struct.error
        return data[pos : min(stop, pos + _CHECKED_BYTES)], stop + 1
    length = dialect.order + LENGTH_CODES[dialect.text]
    (size,) = struct.unpack_from(length, data, pos)
    pos += struct.calcsize(length)
    if size > end - pos:
        raise struct.error
    return data[pos : pos + min(size, _CHECKED_BYTES)], pos + size


def sniff(head: bytes, size: int) -> Match | None:
    """Return a match for the dialect with the best score; None if no dialect matches.

    The dialect is that of chunks and texts: only decoding finds out whose flags announce TCB.
    """
    for after_others, weight in ((False, 1.0), (True, 0.8)):
        matches = [
            (_sniff_sized if beginning.dialect.has_sizes else _sniff_bare)(head, size, beginning)
            for beginning in beginnings(head, size, after_others=after_others)
            if beginning.flags == 0 and beginning.node_count >= 0
        ]
        best = max((match for match in matches if match), key=lambda match: match.score, default=None)
        if best is not None:
            return best._replace(score=round(best.score * weight, 2))
    return None


def _match(score: float, beginning: Beginning, evidence: str) -> Match:
    reason = f"chunk 1 for {counted(beginning.node_count, 'node')}, then chunk 2{evidence}"
    return Match(score, reason, dialect=str(beginning.dialect))


def _sniff_sized(head: bytes, size: int, beginning: Beginning) -> Match | None:
    """Match a file whose chunks have sizes that lead to its end, or that has a plausible first node in chunk 2."""
    dialect, pos = beginning.dialect, beginning.end
    content: tuple[int, int] | None = None
    while (chunk := _chunk(head, size, pos, dialect)) is not None:
        if chunk[0] == ANIMATIONS_ID and content is None:
            content = chunk[1:]
        pos = chunk[2]
    if content is None:  # chunk 2 may be larger than the rest of the file
        at = pos + dialect.header_size
        if at > len(head) or dialect.header.unpack_from(head, pos)[0] != ANIMATIONS_ID:
            return None
        content = at, size
    printable = is_printable(beginning.title)
    plausible = beginning.node_count > 0 and _node(head, *content, dialect) is not None
    if pos == size:
        if plausible and printable:
            return _match(0.95, beginning, ", whose first node is plausible; its sizes lead to the end of the file")
        empty = beginning.node_count == 0 and content[0] == content[1]
        if plausible or empty or (printable and beginning.title):
            score = 0.8 if empty and printable and beginning.title else 0.5
            return _match(score, beginning, "; their sizes lead to the end of the file")
    return _match(0.4, beginning, ", whose first node is plausible") if plausible and printable else None


def _sniff_bare(head: bytes, size: int, beginning: Beginning) -> Match | None:
    """Match a file without sizes: all nodes up to the first key must be plausible, and that key."""
    dialect, pos = beginning.dialect, beginning.end + beginning.dialect.id_size
    if not is_printable(beginning.title):
        return None
    for _ in range(beginning.node_count):
        node = _node(head, pos, size, dialect)
        if node is None:
            return None
        pos, keys_size = node
        if keys_size:
            break
    else:
        return None
    if keys_size > size - pos or pos + 20 > len(head):
        return None
    numbers = struct.unpack_from(dialect.order + "4f", head, pos + 4)  # after the flags of the key
    if not all(-_HUGE < number < _HUGE for number in numbers):
        return None
    return _match(0.6 if dialect.id_size else 0.5, beginning, ", whose first node and first key are plausible")


def _node(head: bytes, pos: int, end: int, dialect: Dialect) -> tuple[int, int] | None:
    """Return the position of the keys of the node at ``pos``, and the least size of all its keys.

    None unless it has a printable name, a known type and no negative number of keys.
    """
    try:
        name, pos = _text(head, pos, end, dialect)
        flags, *counts = struct.unpack_from(dialect.order + "4i", head, pos)
    except struct.error:
        return None
    if not name or not is_printable(name) or flags not in TYPES or min(counts) < 0 or pos + 16 > end:
        return None
    return pos + 16, sum(count * key_size for count, key_size in zip(counts, _LEAST_KEY_SIZES, strict=True))
