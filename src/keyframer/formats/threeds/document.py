"""Read and write 3D Studio files as trees of chunks.

Reading loses no bytes. A chunk that cannot be typed is kept as a raw chunk, with the reason. A chunk whose length is
too large ends at the end of its parent, and the stored length is kept. Bytes outside all sub-chunks become the tail of
the chunk that contains them. The reader uses a stack of open containers, no recursion.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache, partial
from typing import TypeVar, cast

from keyframer.catalogue import (
    CATALOGUE,
    IO_UNRECOGNISED,
    LIMIT_DEPTH,
    LIMIT_RECORDS,
    SEM_EMPTY_DOCUMENT,
    STRUCT_CHUNK_MISPLACED,
    STRUCT_CHUNK_OVERRUN,
    STRUCT_CHUNK_SLACK,
    STRUCT_CHUNK_TOO_SMALL,
    STRUCT_DUPLICATE_CHUNK,
    STRUCT_TRAILING_DATA,
    STRUCT_TRUNCATED,
    STRUCT_UNKNOWN_CHUNK,
)
from keyframer.errors import FormatError
from keyframer.formats.document import Document
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds.chunk import (
    CHUNKS,
    HEADER_SIZE,
    REPEATING,
    Chunk,
    QuickChunk,
    RawChunk,
    chunk_name,
    quick_children,
)
from keyframer.formats.threeds.records import TOP_IDS, Main
from keyframer.issues import Issue, IssueLog, IssueType, Severity
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire import quick_readers
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import Record, blank, read_fields, write_fields
from keyframer.wire.sink import Sink

_HEADER = struct.Struct("<HI")
_unpack_header = _HEADER.unpack_from
C = TypeVar("C", bound=Chunk)


class _OpenContainer:
    """A container whose sub-chunks are being read."""

    __slots__ = ("at", "chunk", "claimed_end", "counted", "counts", "end", "inside", "place", "seen")

    def __init__(
        self,
        chunk: Chunk,
        inside: dict[int, QuickChunk],
        at: int,
        end: int,
        claimed_end: int,
        place: Place | None = None,
    ) -> None:
        self.chunk = chunk
        self.inside = inside
        self.at = at
        """offset of the next sub-chunk"""
        self.end = end
        self.claimed_end = claimed_end
        """end according to its stored length; after ``end`` if that length is too large"""
        self.place = place
        """computed on first use"""
        self.seen = 0
        """bits (`Chunk.once_bit`) of the sub-chunks so far that may occur only once"""
        self.counts: dict[int, int] | None = None
        self.counted = 0
        """number of sub-chunks that ``counts`` includes"""

    def count(self, chunk_id: int) -> int:
        """Return the number of sub-chunks with this id so far."""
        if self.counts is None:
            self.counts = {}
        children = self.chunk.children
        for position in range(self.counted, len(children)):
            child_id = cast(Chunk, children[position]).id
            self.counts[child_id] = self.counts.get(child_id, 0) + 1
        self.counted = len(children)
        return self.counts.get(chunk_id, 0)


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a 3D Studio file. Raises `FormatError` if it is not one or exceeds a limit."""
    if len(data) < HEADER_SIZE:
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"too short for a 3D Studio file ({counted(len(data), 'byte')})")
    chunk_id, size = _unpack_header(data)
    if chunk_id not in TOP_IDS:
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"a 3D Studio file does not begin with {chunk_id:04x}")
    document = Document(FORMAT, issues=IssueLog(limits.issues_per_code, limits.issues))
    _Reader(data, limits, document).read(chunk_id, size)
    return document


class _Reader:
    """Reads one file, with a stack of open containers."""

    def __init__(self, data: bytes, limits: Limits, document: Document) -> None:
        self.data = data
        self.limits = limits
        self.document = document
        self.issues = document.issues
        self.stack: list[_OpenContainer] = []
        self.record_count = 1

    def read(self, top_id: int, size: int) -> None:
        """Read the top chunk with all sub-chunks, and the bytes after it."""
        place = Place(_segment(top_id), Place())
        end = len(self.data)
        if self.limits.depth < 1:
            raise LIMIT_DEPTH.failure(0, str(place), limit=self.limits.depth)
        if size < HEADER_SIZE:
            self.issues.add(STRUCT_CHUNK_TOO_SMALL, str(place), 2, size=size, least=HEADER_SIZE)
        elif size > end:
            self.issues.add(STRUCT_TRUNCATED, str(place), 2, wanted=size, left=end)
        elif size < end:
            self.document.trailing = self.data[size:]
            self.issues.add(STRUCT_TRAILING_DATA, "/", size, size=end - size)
            end = size
        top = blank(CHUNKS[top_id], 0)
        top.children = []
        top.claimed = None if end == size else (size, end)
        self.document.records.append(top)
        self.stack.append(_OpenContainer(top, quick_children(type(top)), HEADER_SIZE, end, max(size, end), place))
        if end == HEADER_SIZE:
            self.issues.add(SEM_EMPTY_DOCUMENT, str(place), 0)
        while self.stack:
            if quick_readers.ON:
                self._read_valid_chunks()
            if self.stack:
                self._step(self.stack[-1])

    def _read_valid_chunks(self) -> None:
        """Read valid chunks without cursors and paths, up to the end of the file or a chunk that `_step` must read."""
        data, stack, longest_name = self.data, self.stack, self.limits.name
        records_left = self.limits.records - self.record_count
        depth_left = self.limits.depth - len(stack)
        opened = stack[-1]
        container, inside, at, end, seen = opened.chunk, opened.inside, opened.at, opened.end, opened.seen
        outer: list[tuple[Chunk, dict[int, QuickChunk], int, int, int]] = []  # the containers around this one
        while records_left > 0:
            if end - at < HEADER_SIZE:
                if at != end:
                    break
                if outer:
                    container, inside, at, end, seen = outer.pop()
                    continue
                stack.pop()
                if not stack:
                    break
                depth_left += 1
                opened = stack[-1]
                container, inside, at, end, seen = opened.chunk, opened.inside, opened.at, opened.end, opened.seen
                continue
            chunk_id, size = _unpack_header(data, at)
            quick_chunk = inside.get(chunk_id)
            stop = at + size
            if (
                quick_chunk is None
                or stop > end
                or size < HEADER_SIZE
                or quick_chunk.once_bit & seen
                or len(outer) >= depth_left
            ):
                break
            result = quick_chunk.cls.plan.quick(data, at, at + HEADER_SIZE, stop, longest_name)
            if result is None:
                break
            chunk, pos = result
            if quick_chunk.is_container:
                chunk.children = []
            elif pos != stop:
                break
            container.children.append(chunk)
            records_left -= 1
            seen |= quick_chunk.once_bit
            at = stop
            if pos != stop:
                outer.append((container, inside, at, end, seen))
                container, inside, at, end, seen = chunk, quick_chunk.inside, pos, stop, 0
        (_, _, opened.at, _, opened.seen), *deeper = *outer, (container, inside, at, end, seen)
        for container, inside, at, end, seen in deeper:
            opened = _OpenContainer(container, inside, at, end, end)
            opened.seen = seen
            stack.append(opened)
        self.record_count = self.limits.records - records_left

    def _place(self) -> Place:
        """Return the path of the innermost open container; each open container is the last in its parent so far."""
        level = len(self.stack)
        while self.stack[level - 1].place is None:
            level -= 1
        place = cast(Place, self.stack[level - 1].place)
        for parent, opened in zip(self.stack[level - 1 :], self.stack[level:], strict=False):
            chunk_id = opened.chunk.id
            place = opened.place = _sub_place(place, chunk_id, parent.count(chunk_id) - 1)
        return place

    def _step(self, parent: _OpenContainer) -> None:
        """Read the next sub-chunk of the innermost open container with all checks, or close the container."""
        at, left = parent.at, parent.end - parent.at
        cursor = Cursor(self.data, at, parent.end, self._place(), self.limits, len(self.stack))
        if left < HEADER_SIZE:
            if left:
                parent.chunk.tail = cursor.take_rest()
                self.issues.add(STRUCT_CHUNK_SLACK, str(cursor.place), at, size=left)
            self.stack.pop()
            return
        chunk_id, size = _unpack_header(self.data, at)
        cls = parent.chunk.valid_children.get(chunk_id)
        index = parent.count(chunk_id)
        place = _sub_place(cursor.place, chunk_id, index)
        if size < HEADER_SIZE:
            parent.chunk.tail = cursor.take_rest()
            self.issues.add(STRUCT_CHUNK_TOO_SMALL, str(place), at + 2, size=size, least=HEADER_SIZE)
            self.stack.pop()
            return
        self.record_count += 1
        if self.record_count > self.limits.records:
            raise LIMIT_RECORDS.failure(at, str(place), limit=self.limits.records)
        actual = min(size, left)
        if actual != size and at + size > parent.claimed_end:  # otherwise only an outer container was truncated
            self.issues.add(STRUCT_CHUNK_OVERRUN, str(place), at + 2, size=size, left=left)
        chunk: Chunk
        if cls is None:
            chunk = self._read_unknown(parent, chunk_id, cursor.take(actual), place)
        else:
            if cls.once and index:
                self._report_chunk(STRUCT_DUPLICATE_CHUNK, parent, chunk_id, place, at)
            parent.seen |= cls.once_bit
            chunk = self._read_known(cls, chunk_id, cursor.window(actual, place), at + size)
        if actual != size:
            chunk.claimed = (size, actual)
        parent.chunk.children.append(chunk)
        parent.at = cursor.pos

    def _read_known(self, cls: type[Chunk], chunk_id: int, window: Cursor, claimed_end: int) -> Chunk:
        """Read a chunk that is valid here: typed if possible, else raw. A container is left open."""
        at = window.pos
        window.pos += HEADER_SIZE
        chunk = _blank(cls, at, chunk_id)
        try:
            read_fields(chunk, window)
        except FormatError as error:
            if error.code.startswith("LIMIT_"):
                raise
            payload = window.end - at - HEADER_SIZE
            if error.code == STRUCT_TRUNCATED.code and payload < cls.plan.minimum and window.end == claimed_end:
                error = STRUCT_CHUNK_TOO_SMALL.failure(
                    at + 2, str(window.place), size=HEADER_SIZE + payload, least=HEADER_SIZE + cls.plan.minimum
                )
            severity = Severity.WARNING if cls.optional else None
            self.issues.add_issue(Issue(CATALOGUE[error.code], error.path, error.offset, error.details, severity))
            return _raw(chunk_id, at, self.data[at + HEADER_SIZE : window.end], error.code)
        if cls.valid_children:
            chunk.children = []
            inside = quick_children(cls)
            self.stack.append(_OpenContainer(chunk, inside, window.pos, window.end, claimed_end, window.place))
        elif window.pos < window.end:
            self.issues.add(STRUCT_CHUNK_SLACK, window.place.__str__, window.pos, size=window.left)
            chunk.tail = window.take_rest()
        return chunk

    def _read_unknown(self, parent: _OpenContainer, chunk_id: int, chunk_bytes: bytes, place: Place) -> RawChunk:
        """Read a chunk that is unknown, or not valid here, as bytes without sub-chunks."""
        at, data = parent.at, chunk_bytes[HEADER_SIZE:]
        if chunk_id in CHUNKS:
            kind = STRUCT_CHUNK_MISPLACED
            self._report_chunk(kind, parent, chunk_id, place, at)
        else:
            kind = STRUCT_UNKNOWN_CHUNK
            self.issues.add(kind, place.__str__, at, size=len(data))
        return _raw(chunk_id, at, data, kind.code)

    def _report_chunk(self, kind: IssueType, parent: _OpenContainer, chunk_id: int, place: Place, at: int) -> None:
        self.issues.add(kind, place.__str__, at, name=chunk_name(chunk_id), parent=chunk_name(parent.chunk.id))


def new_document(*chunks: Chunk) -> Document:
    """Make a document: ``new_document(Version(3), Editor(children=[...]), Keyframer(children=[...]))``.

    Arguments are one top chunk (`Main`, `Project`, `MaterialLibrary`, `Editor`), or the children of a `Main`.
    """
    if len(chunks) == 1 and chunks[0].id in TOP_IDS:
        return Document(FORMAT, [chunks[0]])
    return Document(FORMAT, [Main(children=list(chunks))])


def _blank(cls: type[C], at: int, chunk_id: int) -> C:
    """Make a chunk for reading, with fields that are not set yet."""
    chunk = blank(cls, at)
    if isinstance(chunk, RawChunk):
        chunk.chunk_id = chunk_id
    return chunk


def _raw(chunk_id: int, at: int, data: bytes, reason: str) -> RawChunk:
    raw = _blank(RawChunk, at, chunk_id)
    raw.data = data
    raw.reason = reason
    return raw


def _sub_place(parent: Place, chunk_id: int, index: int) -> Place:
    """Return the path of a sub-chunk; ``index`` counts the sub-chunks with the same id."""
    return Place(_segment(chunk_id), parent, index if index or chunk_id in REPEATING else None)


@cache
def _segment(chunk_id: int) -> str:
    return f"{chunk_id:04x}"


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its records, then its trailing bytes."""
    sink = Sink()
    opened: list[tuple[Chunk, int, Iterator[Record]]] = []
    remaining = iter(document.records)
    while True:
        record = next(remaining, None)
        if record is None:
            if not opened:
                break
            chunk, mark, remaining = opened.pop()
            sink.write(chunk.tail)
            siblings = opened[-1][0].children if opened else document.records
            bytes_after = opened[-1][0].tail if opened else document.trailing
            sink.close_block(mark, partial(_header, chunk, chunk is siblings[-1] and not bytes_after))
            continue
        if not isinstance(record, Chunk):
            raise ValueError(f"{record!r} is not a chunk: a 3D Studio file contains only chunks")
        opened.append((record, sink.open_block(HEADER_SIZE), remaining))
        write_fields(record, sink)
        remaining = iter(record.children)
    sink.write(document.trailing)
    return sink.getvalue()


def _header(chunk: Chunk, is_last: bool, size: int) -> bytes:
    """Return the header of a chunk of ``size`` bytes.

    A wrong length from the original file is written again only if the chunk has the same size and nothing follows it in
    its parent (``is_last``); otherwise readers would take what follows for a part of the chunk.
    """
    if chunk.claimed is not None and chunk.claimed[1] == size and is_last:
        size = chunk.claimed[0]
    try:
        return _HEADER.pack(chunk.id, size)
    except struct.error:
        raise ValueError(f"{chunk!r}: id {chunk.id:#x} must fit in 16 bits and length {size} in 32 bits") from None


def record_types() -> dict[str, type[Chunk]]:
    """Return every declared class of chunks, and `RawChunk`, by name."""
    return {cls.__name__: cls for cls in (*CHUNKS.values(), RawChunk)}
