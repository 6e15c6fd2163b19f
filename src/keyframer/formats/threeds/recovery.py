"""Read what is left of a damaged 3D Studio file: only whole chunks, each with its offset in the file.

In a damaged file the lengths of containers are only hints; ids decide what belongs where, because nearly every id is
valid in one kind of container. A chunk that follows its predecessor without a gap may end a container early or continue
one that has ended. Where no chunk begins, the search goes on at the next header that a valid chunk and another
header follow. Behind such a gap a container from before is continued only if its end is confirmed.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import cast

import numpy as np

from keyframer.arrays import Flags, Indices
from keyframer.catalogue import STRUCT_CHUNK_MISPLACED, STRUCT_NOT_REPRODUCIBLE, STRUCT_UNKNOWN_CHUNK
from keyframer.errors import FormatError
from keyframer.formats.contract import Missing
from keyframer.formats.document import Document
from keyframer.formats.kit.chunk_tree import ANYWHERE, Chunk
from keyframer.formats.kit.key_table import KeyTable
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds.chunk import CHUNKS, HEADER_SIZE, RawChunk
from keyframer.formats.threeds.records import (
    TOP_IDS,
    FaceArray,
    Keyframer,
    Main,
    MaterialGroup,
    NamedObject,
    Node,
    NodeHeader,
    NodeId,
    PointArray,
    SmoothGroups,
)
from keyframer.formats.threeds.sniff import diagnose
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.field_types import ArrayToEnd, Blob, CountedArray
from keyframer.wire.record import NO_CHILDREN, Record, blank

_unpack_header = struct.Struct("<HI").unpack_from
_BLOCK = 1 << 20
"""bytes that are searched for headers at once"""
_FREE_WORK, _WORK, _CHECK_COST = 1 << 20, 16, 64
"""the search may cost ``_WORK`` for each byte, and ``_FREE_WORK`` in addition; a check costs ``_CHECK_COST``, and one
for each byte of a chunk with keys, whose rows are read one by one
"""
_KNOWN = np.zeros(1 << 16, np.bool_)
_EVIDENT = {chunk_id: cls for chunk_id, cls in CHUNKS.items() if cls.parents != ANYWHERE}
"""chunks whose id tells something; those that are valid everywhere do not, and 0000 is in most numbers"""
_KNOWN[list(_EVIDENT)] = True
_ROW = re.compile(r"\[(\d+)\]")


class _Open:
    """A container that may get more sub-chunks, and its end according to its length."""

    __slots__ = ("chunk", "end", "seen")

    def __init__(self, chunk: Chunk, end: int) -> None:
        self.chunk = chunk
        self.end = end
        self.seen = 0
        """bits (`Chunk.once_bit`) of its sub-chunks that may occur only once"""


def recover(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Return the whole chunks of a damaged file. A file whose top chunk is destroyed is taken for a scene."""
    return _Recovery(data, limits).read()


class _Recovery:
    def __init__(self, data: bytes, limits: Limits) -> None:
        self.data = data
        self.size = len(data)
        self.cursor = Cursor(data, limits=limits)
        self.document = Document(FORMAT, limits=limits)
        self.chain: list[_Open] = []
        """the last container of each level, from the top chunk inwards, open or not"""
        self.records_left = limits.records
        self.work = _WORK * self.size + _FREE_WORK
        self.headers: dict[int, Indices] = {}
        """the offsets of possible headers in each block, relative to its beginning"""

    def read(self) -> Document:
        top_id, length = _unpack_header(self.data) if self.size >= HEADER_SIZE else (0, 0)
        known = top_id in TOP_IDS
        top = blank(CHUNKS[top_id if known else Main.ID], 0 if known else None)
        top.children = []
        self.document.records.append(top)
        self.chain.append(_Open(top, length if known and length > self.size else self.size))
        if known and HEADER_SIZE <= length < self.size and self._is_boundary(length, self.chain):
            self.chain[0].end = length
        at: int | None = HEADER_SIZE if known else 0
        while at is not None and at < min(self.size, self.chain[0].end) and self.records_left > 0:
            following = self._read_at(at)
            at = self._next_after_gap(at + 1) if following is None else following
        for keyframer in self.document.find(Keyframer):
            keyframer.children = [part for part in keyframer.children if not _is_nameless_node(part)]
        return self.document

    # Where a chunk belongs

    def _inner(self, at: int, chain: list[_Open]) -> int:
        """Return the level of the innermost container that is open at ``at`` according to its length."""
        return next((level for level in range(len(chain) - 1, 0, -1) if chain[level].end > at), 0)

    def _level(self, chunk_id: int, at: int, chain: list[_Open]) -> int | None:
        """Return the level of the container for a chunk: the innermost open one, else one that has just ended, else
        one further out; None if it is valid in none of them."""
        inner = self._inner(at, chain)
        order = (inner, *range(len(chain) - 1, inner, -1), *range(inner - 1, -1, -1))
        return next((level for level in order if chunk_id in chain[level].chunk.valid_children), None)

    def _is_known_header(self, at: int, chain: list[_Open]) -> bool:
        """Return whether the header of a chunk that is valid in one of the containers may begin at ``at``."""
        if at + HEADER_SIZE > self.size:
            return at == self.size
        chunk_id, length = _unpack_header(self.data, at)
        fits = length >= HEADER_SIZE and at + length <= max(self.size, self.chain[0].end)
        return fits and chunk_id in _EVIDENT and self._level(chunk_id, at, chain) is not None

    def _is_boundary(self, at: int, chain: list[_Open]) -> bool:
        """Return whether a chunk may end at ``at``: a container ends there, or a header follows."""
        return any(at == opened.end for opened in chain) or self._is_followed(at, chain)

    def _is_followed(self, at: int, chain: list[_Open]) -> bool:
        """Return whether a header follows at ``at``, or the end of the file."""
        if at >= self.size or self._is_known_header(at, chain):
            return True
        if at + HEADER_SIZE > self.size:
            return False
        chunk_id, length = _unpack_header(self.data, at)
        end = at + length
        return chunk_id not in _EVIDENT and length >= HEADER_SIZE and self._is_known_header(end, chain)

    def _confirmed(self, level: int, at: int) -> bool:
        """Return whether a container may be continued at ``at``, behind a gap: its end must be that of its parent, or
        a header must follow. The containers in the top chunk are always continued."""
        opened = self.chain[level]
        if level < 2 and not opened.chunk.plan.fields:
            return True
        return opened.end > at and (
            opened.end == self.chain[level - 1].end or self._is_known_header(opened.end, self.chain[:level])
        )

    # Chunks that follow each other

    def _read_at(self, at: int) -> int | None:
        """Add the chunk at ``at`` and return the offset of what follows; None if no whole chunk begins there."""
        if self.size - at < HEADER_SIZE:
            return None
        chunk_id, length = _unpack_header(self.data, at)
        if length < HEADER_SIZE:
            return None
        inner = self._inner(at, self.chain)
        level = self._level(chunk_id, at, self.chain)
        if chunk_id not in _EVIDENT and not self._is_boundary(at + length, self.chain[: inner + 1]):
            return None
        if level is None or (level < inner and self._continues(at + length, inner)):
            return self._keep_unknown(at, chunk_id, length, inner)
        cls = self.chain[level].chunk.valid_children[chunk_id]
        del self.chain[level + 1 :]
        if cls.valid_children:
            return self._open_container(cls, at, at + length)
        return self._read_leaf(cls, chunk_id, at, at + length)

    def _continues(self, at: int, level: int) -> bool:
        """Return whether an open container continues at ``at``: it ends there, or one of its sub-chunks follows."""
        opened = self.chain[level]
        if at >= opened.end or at + HEADER_SIZE > self.size:
            return at == opened.end
        return _unpack_header(self.data, at)[0] in opened.chunk.valid_children

    def _keep_unknown(self, at: int, chunk_id: int, length: int, level: int) -> int | None:
        """Keep an unknown or misplaced chunk as bytes if something known follows."""
        end, opened = at + length, self.chain[level]
        if end > min(opened.end, self.size):
            return None
        if end != opened.end and not self._is_known_header(end, self.chain[: level + 1]):
            return None
        del self.chain[level + 1 :]
        kind = STRUCT_CHUNK_MISPLACED if chunk_id in CHUNKS else STRUCT_UNKNOWN_CHUNK
        raw = RawChunk(chunk_id, self.data[at + HEADER_SIZE : end], kind.code, children=NO_CHILDREN, offset=at)
        self._add(raw, end)
        return end

    def _add(self, chunk: Chunk, end: int) -> None:
        opened = self.chain[-1]
        if chunk.once_bit & opened.seen:  # a block that was written twice
            return
        opened.seen |= chunk.once_bit
        opened.chunk.children.append(chunk)
        self.records_left -= 1
        if chunk.valid_children:
            self.chain.append(_Open(chunk, end))

    def _open_container(self, cls: type[Chunk], at: int, stop: int) -> int | None:
        """Add a container with its fields; its sub-chunks follow."""
        chunk, pos = self._read(cls, at, min(stop, self.size)) or self._read(cls, at, self.size) or (None, 0)
        if chunk is None:
            whole = self._read_rows(cls, at, self._rows_end(cls, at, min(stop, self.size)))
            if whole is None:
                return None
            chunk, pos = whole
        if cls.once_bit & self.chain[-1].seen:
            return stop
        if chunk.valid_children:
            chunk.children = []
        self._add(chunk, stop)
        return pos

    def _rows_end(self, cls: type[Chunk], at: int, stop: int) -> int:
        """Return where the rows of a container end whose count is too large: before its first sub-chunk."""
        chain = [*self.chain, _Open(blank(cls, at), stop)]
        found = (pos for pos in self._headers(at + HEADER_SIZE, stop) if self._is_certain(pos, chain, len(chain) - 1))
        return next(found, stop)

    def _read_leaf(self, cls: type[Chunk], chunk_id: int, at: int, stop: int) -> int | None:
        """Add a chunk without sub-chunks. If its length is wrong, its fields decide where it ends."""
        if stop > self.size:
            if stop <= self.chain[0].end:  # the file ends inside the chunk
                whole = self._read_rows(cls, at, self.size)
                if whole is not None:
                    self._add(whole[0], stop)
                return self.size
            whole = self._read(cls, at, self.size)
            if whole is None or _has_rest(cls) or not self._is_boundary(whole[1], self.chain):
                return None
            self._add(whole[0], whole[1])
            return whole[1]
        whole = self._read(cls, at, stop)
        if whole is None:  # its length is too small, or its count is too large
            ends_container = any(stop == opened.end for opened in self.chain)
            longer = None if ends_container or _has_rest(cls) else self._read(cls, at, self.size)
            if longer is not None and self._is_known_header(longer[1], self.chain):
                self._add(longer[0], longer[1])
                return longer[1]
            whole = self._read_rows(cls, at, stop) if self._is_boundary(stop, self.chain) else None
            if whole is None:
                return None
            self._add(whole[0], stop)
            return stop
        chunk, pos = whole
        if cls.many_ids:
            cast(RawChunk, chunk).chunk_id = chunk_id
        if pos != stop and self._is_known_header(pos, self.chain):  # its length is too large
            stop = pos
        if not self._is_followed(stop, self.chain):
            inside = next((q for q in self._headers(at + HEADER_SIZE, stop) if self._is_certain(q, self.chain)), None)
            if inside is not None:  # bytes are missing, perhaps in this chunk
                if pos <= inside:
                    self._add(chunk, pos)
                    return pos
                return inside
        chunk.tail = self.data[pos:stop]
        self._add(chunk, stop)
        return stop

    def _read(self, cls: type[Chunk], at: int, end: int) -> tuple[Chunk, int] | None:
        """Return a chunk with its fields, and their end; None if they cannot be read."""
        if end < at + HEADER_SIZE:
            return None
        try:
            chunk, pos = cls.plan.read(cls, at, self.cursor, self.data, at + HEADER_SIZE, end)
        except FormatError as error:
            if error.code != STRUCT_NOT_REPRODUCIBLE.code:
                return None
            chunk_id = _unpack_header(self.data, at)[0]
            raw = RawChunk(chunk_id, self.data[at + HEADER_SIZE : end], error.code, children=NO_CHILDREN, offset=at)
            return raw, end
        return cast(Chunk, chunk), pos

    def _read_rows(self, cls: type[Chunk], at: int, end: int) -> tuple[Chunk, int] | None:
        """Return a chunk with as many whole rows of its table as there are before ``end``; None if it has no table.

        The number of rows is stored before them and is too large.
        """
        kind = cls.plan.fields[-1].kind if cls.plan.fields else None
        if end < at + HEADER_SIZE or not isinstance(kind, CountedArray | KeyTable):
            return None
        piece = bytearray(self.data[at:end])
        count_at = HEADER_SIZE + sum(plan.kind.minimum for plan in cls.plan.fields[:-1])
        for _ in range(3):
            try:
                chunk, pos = cls.plan.read(cls, at, Cursor(bytes(piece)), bytes(piece), HEADER_SIZE, len(piece))
                return cast(Chunk, chunk), at + pos
            except FormatError as error:
                row = _ROW.search(error.path)
                if "available" in error.details:
                    count_at, count = error.offset, cast(int, error.details["available"])
                elif row is not None:
                    count = int(row[1])
                else:
                    return None
                kind.prefix.pack_into(piece, count_at, count)
        return None

    # Behind a gap

    def _next_after_gap(self, start: int) -> int | None:
        """Return the next offset at which a chunk certainly begins, after closing the containers that it is not in;
        None if there is none."""
        for at in self._headers(start, self.size):
            trusted = 1
            while trusted < len(self.chain) and self._confirmed(trusted, at):
                trusted += 1
            chain = self.chain[:trusted]
            missing = self._missing_parent(at, chain)
            if missing is not None:
                chain = [chain[0], missing]
            if self._is_certain(at, chain):
                if missing is not None:
                    chain[0].chunk.children.append(missing.chunk)
                self.chain = chain
                return at
            if self.work < 0:
                break
        return None

    def _missing_parent(self, at: int, chain: list[_Open]) -> _Open | None:
        """Return a container for the chunk at ``at`` if the header of its parent, directly in the top chunk, is lost;
        only containers without fields can be made again."""
        chunk_id = _unpack_header(self.data, at)[0]
        if self._level(chunk_id, at, chain) is not None:
            return None
        for parent_id in CHUNKS[chunk_id].parents:
            cls = chain[0].chunk.valid_children.get(parent_id)
            if cls is not None and cls.valid_children and not cls.plan.fields:
                parent = blank(cls, None)
                parent.children = []
                return _Open(parent, chain[0].end)
        return None

    def _headers(self, start: int, stop: int) -> Iterator[int]:
        """Yield the offsets at which a known id is followed by a length that fits into the file."""
        for begin in range(start - start % _BLOCK, stop, _BLOCK):
            found = self._headers_of_block(begin)
            first, last = np.searchsorted(found, (start - begin, stop - begin))
            for index in range(first, last):  # usually only the first is wanted
                yield begin + int(found[index])

    def _headers_of_block(self, begin: int) -> Indices:
        """Return the offsets in one block. They are kept: a file may have a gap every few bytes."""
        known = self.headers.get(begin)
        if known is not None:
            return known
        count = max(0, min(_BLOCK, self.size - HEADER_SIZE + 1 - begin))
        part = np.frombuffer(self.data, np.uint8, count + HEADER_SIZE - 1 if count else 0, begin if count else 0)
        columns = [part[index : index + count].astype(np.uint32) for index in range(HEADER_SIZE)]
        ids = columns[0] | columns[1] << 8
        lengths = columns[2] | columns[3] << 8 | columns[4] << 16 | columns[5] << 24
        left = np.arange(self.size - begin, self.size - begin - count, -1)
        found = np.flatnonzero(_KNOWN[ids] & (lengths >= HEADER_SIZE) & (lengths <= left))
        self.headers[begin] = found
        return found

    def _is_certain(self, at: int, chain: list[_Open], level: int | None = None) -> bool:
        """Return whether a chunk certainly begins at ``at``: its fields are valid, and a known header follows them.

        With ``level`` it must belong to the container of that level.
        """
        chunk_id, length = _unpack_header(self.data, at)
        home = self._level(chunk_id, at, chain)
        if home is None or (level is not None and home != level):
            return False
        cls, stop = chain[home].chunk.valid_children[chunk_id], at + length
        if not cls.valid_children:
            ends = stop == self.size or any(stop == opened.end for opened in chain)
            if not (ends or self._is_known_header(stop, chain[: home + 1])):
                return False
        self.work -= _CHECK_COST + (length if _has_keys(cls) else length // _CHECK_COST)
        whole = self._read(cls, at, stop) if self.work > 0 else None
        if whole is None:
            return False
        chunk, pos = whole
        if cls.valid_children:
            inner = [*chain[: home + 1], _Open(chunk, stop)]
            return pos < stop and self._is_known_header(pos, inner) and self._level_at(pos, inner) == home + 1
        return bool(pos == stop)

    def _level_at(self, at: int, chain: list[_Open]) -> int | None:
        return self._level(_unpack_header(self.data, at)[0], at, chain) if at + HEADER_SIZE <= self.size else None


def _is_nameless_node(chunk: Record) -> bool:
    """Return whether a node has neither the header with its name nor a track."""
    content = (part for part in chunk.children if isinstance(part, NodeHeader) or hasattr(part, "keys"))
    return isinstance(chunk, Node) and next(content, None) is None


def _has_keys(cls: type[Chunk]) -> bool:
    return bool(cls.plan.fields) and isinstance(cls.plan.fields[-1].kind, KeyTable)


def _has_rest(cls: type[Chunk]) -> bool:
    """Return whether only the length of a chunk tells where its fields end."""
    return bool(cls.plan.fields) and isinstance(cls.plan.fields[-1].kind, Blob | ArrayToEnd)


def mend(record: Record, parent: Record | None, field: str) -> bool:
    """Leave out faces, with their materials and smoothing groups, entries of a material group, the link to a parent, or
    the id of a node."""
    around = () if parent is None else parent.children
    if isinstance(record, NodeHeader) and field in ("parent", "") and record.parent != -1:
        record.parent = -1
    elif isinstance(record, Node) and not field and (node_id := _id_of(record)).id_ != -1:
        node_id.id_ = -1  # another node has this id, and nothing refers to -1
        if not any(part is node_id for part in record.children):
            record.children = [node_id, *record.children]
    elif isinstance(record, MaterialGroup) and field == "faces":
        holder = next((part for part in (parent, *around) if isinstance(part, FaceArray)), None)
        record.faces = frozen(record.faces[record.faces < (0 if holder is None else len(holder.faces))])
    elif isinstance(record, FaceArray) and field == "faces":
        points = next((part.points for part in around if isinstance(part, PointArray)), ())
        kept: Flags = np.asarray((record.faces[:, :3] < len(points)).all(axis=1))
        numbers = np.cumsum(kept) - 1
        record.faces = frozen(record.faces[kept])
        for part in (*record.children, *around):
            if isinstance(part, MaterialGroup):
                faces = part.faces[part.faces < len(kept)]
                part.faces = frozen(numbers[faces[kept[faces]]].astype("<u2"))
            elif isinstance(part, SmoothGroups):
                part.groups = frozen(part.groups[: len(kept)][kept[: len(part.groups)]])
    else:
        return False
    return True


def _id_of(node: Node) -> NodeId:
    """Return the chunk with the id of a node; a new one if it has none, which means its place among the nodes."""
    return next((part for part in node.children if isinstance(part, NodeId)), NodeId(0))


_MOST_LOST = 64
"""CR that one chunk may have lost"""


def restore_cr(data: bytes) -> bytes | None:
    """Put back the CR that a transfer in text mode removed from every CR LF; None if it removed none.

    The next header tells how many a chunk has lost. If that is the number of its LF, all of them are put back; else
    nobody knows where they were, and the chunk stays damaged.
    """
    if diagnose(data) is None:
        return None
    parts, at = [data[:HEADER_SIZE]], HEADER_SIZE
    cursor = Cursor(data)
    while at + HEADER_SIZE <= len(data):
        chunk_id, length = _unpack_header(data, at)
        cls = CHUNKS.get(chunk_id)
        end = at + length
        if cls is not None and cls.valid_children:
            try:
                end = cls.plan.read(cls, at, cursor, data, at + HEADER_SIZE, len(data))[1]
            except FormatError:
                end = len(data)
        lost = next((lost for lost in range(_MOST_LOST) if end - lost > at and _may_begin(data, end - lost)), None)
        if lost is None:
            break
        part = data[at : end - lost]
        parts.append(part.replace(b"\n", b"\r\n") if lost and part.count(b"\n") == lost else part)
        at = end - lost
    return b"".join([*parts, data[at:]])


def _may_begin(data: bytes, at: int) -> bool:
    """Return whether a known chunk may begin at ``at``, or the file ends there."""
    if at + HEADER_SIZE > len(data):
        return at == len(data)
    chunk_id, length = _unpack_header(data, at)
    return chunk_id in CHUNKS and HEADER_SIZE <= length <= 2 * len(data)


# What is missing


def missing(data: bytes, document: Document) -> Missing | None:
    """Return what a truncated file lacks: the length of its top chunk is believed if a chunk inside crosses the end."""
    size = len(data)
    top_id, length = _unpack_header(data) if size >= HEADER_SIZE else (0, 0)
    if top_id not in TOP_IDS or length <= size:
        return None
    at = HEADER_SIZE
    while at + HEADER_SIZE <= size:
        _, part = _unpack_header(data, at)
        if part < HEADER_SIZE or at + part > length:
            return None
        at += part
    return Missing(length - size, _missing_parts(document)) if at > size else None


def _missing_parts(document: Document) -> str:
    """Say what is missing and what is left of objects and of their nodes, which have the same names."""
    objects = {record.name for record in document.find(NamedObject)}
    keyframer = document.first(Keyframer)
    if keyframer is None:
        return f"no keyframer, {counted(len(objects), 'object')} left"
    headers = (child for node in document.find(Node) for child in node.children if isinstance(child, NodeHeader))
    nodes = {header.name for header in headers}
    parts = []
    if nodes - objects - _DUMMY_NAMES:
        parts.append(f"{len(objects)} of {counted(len(objects | nodes - _DUMMY_NAMES), 'object')} left")
    if objects - nodes:
        parts.append(f"motion left for {len(objects & nodes)} of {counted(len(objects), 'object')}")
    return ", ".join(parts) or f"{counted(len(objects), 'object')} left"


_DUMMY_NAMES = {b"$$$DUMMY", b"DUMMY", b"$AMBIENT$"}
