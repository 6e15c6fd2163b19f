"""Read and write 3D Studio files as trees of chunks.

Reading loses no bytes. A chunk that cannot be typed is kept as a raw chunk, with the reason. A chunk whose length is
too large ends at the end of its parent, and the stored length is kept. Bytes outside all sub-chunks become the tail of
the chunk that contains them. The reader uses a stack of open containers, no recursion.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any, cast

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
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds.chunk import (
    CHUNKS,
    HEADER_SIZE,
    REPEATING,
    Chunk,
    RawChunk,
    chunk_name,
)
from keyframer.formats.threeds.records import TOP_IDS, Main
from keyframer.issues import Issue, IssueType, Severity
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import NO_CHILDREN, Record, blank, write_fields
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Cases, Part, Structure, ToEnd, structure_of

_HEADER = struct.Struct("<HI")
_unpack_header = _HEADER.unpack_from


class _Container:
    """A container whose sub-chunks are being read."""

    __slots__ = ("at", "chunk", "claimed_end", "counted", "counts", "end", "place", "seen")

    def __init__(self, chunk: Chunk, at: int, end: int, claimed_end: int) -> None:
        self.chunk = chunk
        self.at = at
        """offset of the next sub-chunk"""
        self.end = end
        self.claimed_end = claimed_end
        """end according to its stored length; after ``end`` if that length is too large"""
        self.seen = 0
        """bits (`Chunk.once_bit`) of the sub-chunks so far that may occur only once"""
        self.place: Place | None = None
        """computed when an issue is reported"""
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
    document = Document(FORMAT, limits=limits)
    _Reader(data, limits, document).read(chunk_id, size)
    return document


class _Reader:
    """Reads one file, with a stack of open containers."""

    def __init__(self, data: bytes, limits: Limits, document: Document) -> None:
        self.data = data
        self.limits = limits
        self.document = document
        self.issues = document.issues
        self.stack: list[_Container] = []
        self.cursor = Cursor(data, limits=limits)
        """for readers of records; its place is the root, see `_read_known`"""

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
        self.stack.append(_Container(top, HEADER_SIZE, end, max(size, end)))
        self.stack[0].place = place
        if end == HEADER_SIZE:
            self.issues.add(SEM_EMPTY_DOCUMENT, str(place), 0)
        self._read_chunks()

    def _read_chunks(self) -> None:
        """Read the sub-chunks of all open containers, in file order.

        Most of the reading time is spent in this loop. Paths are computed only for issues.
        """
        data, stack, limits, cursor = self.data, self.stack, self.limits, self.cursor
        records_left = limits.records - 1
        opened = stack[-1]
        at, end, children, inside = opened.at, opened.end, opened.chunk.children, opened.chunk.valid_children
        while True:
            if end - at < HEADER_SIZE:
                if at != end:
                    opened.chunk.tail = data[at:end]
                    self.issues.add(STRUCT_CHUNK_SLACK, str(self._place()), at, size=end - at)
                stack.pop()
                if not stack:
                    return
                opened = stack[-1]
                at, end, children, inside = opened.at, opened.end, opened.chunk.children, opened.chunk.valid_children
                continue
            chunk_id, size = _unpack_header(data, at)
            if size < HEADER_SIZE:
                opened.chunk.tail = data[at:end]
                place = self._place_of_next(chunk_id)
                self.issues.add(STRUCT_CHUNK_TOO_SMALL, str(place), at + 2, size=size, least=HEADER_SIZE)
                at = end
                continue
            records_left -= 1
            if records_left < 0:
                raise LIMIT_RECORDS.failure(at, str(self._place_of_next(chunk_id)), limit=limits.records)
            claimed_end = stop = at + size
            if stop > end:
                stop = end
                if claimed_end > opened.claimed_end:  # otherwise only an outer container was truncated
                    place = self._place_of_next(chunk_id)
                    self.issues.add(STRUCT_CHUNK_OVERRUN, str(place), at + 2, size=size, left=end - at)
            cls = inside.get(chunk_id)
            chunk: Chunk
            if cls is None:
                chunk, pos = self._read_unknown(opened, chunk_id, at, stop), stop
            else:
                if len(stack) >= limits.depth:
                    raise LIMIT_DEPTH.failure(at, str(self._place_of_next(chunk_id)), limit=limits.depth)
                if cls.once_bit:
                    if cls.once_bit & opened.seen:
                        self._report_chunk(STRUCT_DUPLICATE_CHUNK, opened, chunk_id, at)
                    opened.seen |= cls.once_bit
                try:
                    chunk, pos = cls.plan.read(cls, at, cursor, data, at + HEADER_SIZE, stop)
                except FormatError as error:
                    chunk, pos = self._keep_unreadable(error, cls, chunk_id, at, stop, claimed_end), stop
                else:
                    if cls.valid_children:
                        chunk.children = []
                    elif cls.many_ids:
                        cast(RawChunk, chunk).chunk_id = chunk_id
                    elif pos != stop:
                        self.issues.add(STRUCT_CHUNK_SLACK, self._place_of_next(chunk_id).__str__, pos, size=stop - pos)
                        chunk.tail = data[pos:stop]
                        pos = stop
            if stop != claimed_end:
                chunk.claimed = (size, stop - at)
            children.append(chunk)
            at = stop
            if pos != stop:
                opened.at = stop
                opened = _Container(chunk, pos, stop, claimed_end)
                stack.append(opened)
                at, end, children, inside = pos, stop, chunk.children, chunk.valid_children

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

    def _place_of_next(self, chunk_id: int) -> Place:
        """Return the path of the chunk that is being read, which is not yet in its parent."""
        return _sub_place(self._place(), chunk_id, self.stack[-1].count(chunk_id))

    def _keep_unreadable(
        self, error: FormatError, cls: type[Chunk], chunk_id: int, at: int, stop: int, claimed_end: int
    ) -> RawChunk:
        """Return a chunk with unreadable fields as bytes, and report why; raise the error again if it is a limit."""
        place = str(self._place_of_next(chunk_id))
        path = place + error.path.rstrip("/")  # of the field, which is all that the reader of a record knows
        kind = CATALOGUE[error.code]
        if error.code.startswith("LIMIT_"):
            raise kind.failure(error.offset, path, **error.details)
        size, least = stop - at, HEADER_SIZE + cls.plan.minimum
        issue = Issue(kind, path, error.offset, error.details, Severity.WARNING if cls.optional else None)
        if kind is STRUCT_TRUNCATED and size < least and stop == claimed_end:
            issue = replace(
                issue, type=STRUCT_CHUNK_TOO_SMALL, path=place, offset=at + 2, args={"size": size, "least": least}
            )
        self.issues.add_issue(issue)
        return _raw(chunk_id, at, self.data[at + HEADER_SIZE : stop], issue.code)

    def _read_unknown(self, parent: _Container, chunk_id: int, at: int, stop: int) -> RawChunk:
        """Read a chunk that is unknown, or not valid here, as bytes without sub-chunks."""
        data = self.data[at + HEADER_SIZE : stop]
        if chunk_id in CHUNKS:
            kind = STRUCT_CHUNK_MISPLACED
            self._report_chunk(kind, parent, chunk_id, at)
        else:
            kind = STRUCT_UNKNOWN_CHUNK
            self.issues.add(kind, self._place_of_next(chunk_id).__str__, at, size=len(data))
        return _raw(chunk_id, at, data, kind.code)

    def _report_chunk(self, kind: IssueType, parent: _Container, chunk_id: int, at: int) -> None:
        path = self._place_of_next(chunk_id).__str__
        self.issues.add(kind, path, at, name=chunk_name(chunk_id), parent=chunk_name(parent.chunk.id))


def new_document(*chunks: Chunk) -> Document:
    """Make a document: ``new_document(Version(3), Editor(children=[...]), Keyframer(children=[...]))``.

    Arguments are one top chunk (`Main`, `Project`, `MaterialLibrary`, `Editor`), or the children of a `Main`.
    """
    if len(chunks) == 1 and chunks[0].id in TOP_IDS:
        return Document(FORMAT, [chunks[0]])
    return Document(FORMAT, [Main(children=list(chunks))])


def _raw(chunk_id: int, at: int, data: bytes, reason: str) -> RawChunk:
    return RawChunk(chunk_id, data, reason, children=NO_CHILDREN, offset=at)


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


def structure(dialect: None = None) -> Structure:
    """Return the structure of a file: one chunk, with all others inside."""
    cases: dict[int | str, Structure] = {}
    chunk = Structure(
        "chunk",
        (
            Part("id", "u2", "kind of the chunk"),
            Part("length", "u4", f"number of bytes, including these {HEADER_SIZE}"),
            Part("body", Cases("id", cases), "fields, then sub-chunks", size=f"length - {HEADER_SIZE}"),
        ),
        "A chunk.",
    )
    chunks = Part("chunks", chunk, "sub-chunks", count=ToEnd(HEADER_SIZE))
    tail = Part("tail", "bytes", "bytes after the known fields and sub-chunks")
    for chunk_id, cls in CHUNKS.items():
        if not cls.many_ids:
            inside = [part for part, present in ((chunks, cls.valid_children), (tail, not cls.opaque)) if present]
            cases[chunk_id] = structure_of(cls).extended(*inside)
    return Structure("threeds", (Part("top", chunk), TRAILING), FORMAT.title)


def _recovery(name: str) -> Any:
    """Return a function of `recovery`, which is imported when it is first called: most files are not damaged."""

    def call(*arguments: Any) -> Any:
        from keyframer.formats.threeds import recovery

        return getattr(recovery, name)(*arguments)

    return call


CODEC = Codec(
    decode,
    encode,
    (*CHUNKS.values(), RawChunk),
    recover=_recovery("recover"),
    restore_cr=_recovery("restore_cr"),
    mend=_recovery("mend"),
    structure=structure,
)
