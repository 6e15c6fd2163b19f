"""Trees of chunks: an id or a tag, a length, fields, then sub-chunks.

A format of chunks declares its kinds on a `ChunkTree`, which reads and writes them. Reading loses no bytes. A chunk
that cannot be typed is kept as a raw chunk, with the reason. A chunk whose length is too large ends at the end of its
parent, and the stored length is kept. Bytes outside all sub-chunks become the tail of the chunk that contains them. The
reader uses a stack of open containers, no recursion.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import ClassVar, TypeVar, cast, dataclass_transform

from keyframer.catalogue import (
    CATALOGUE,
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
from keyframer.formats.document import Document, drop_damage
from keyframer.issues import Issue, IssueType, Severity
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import blob
from keyframer.wire.record import NO_CHILDREN, Raw, Record, blank, read_fields, record, write_fields
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Cases, Part, Structure, ToEnd, structure_of

ANYWHERE = (-1,)
"""Parents of a chunk that is valid in every container."""


@record(kw_only=True)
class Chunk(Record):
    """A chunk of a known kind. Sub-chunks, or entries, follow the fields, in file order. Each format has a subclass,
    which sets ``tree``."""

    tree: ClassVar[ChunkTree]
    ID: ClassVar[int]
    parents: ClassVar[tuple[int, ...]]
    once_bit: ClassVar[int] = 0
    """a bit that identifies the class if a parent may contain only one such chunk; else 0"""
    opaque: ClassVar[bool] = False
    """whether only the name of the chunk is known: its layout is not documented"""
    optional: ClassVar[bool] = False
    """whether a scene is complete without the chunk: unreadable content is only a warning"""
    many_ids: ClassVar[bool] = False
    """whether the class is used for several ids: each chunk stores its own id"""
    entries: ClassVar[type[Record] | None] = None
    """records without a header that fill the rest of the chunk, instead of sub-chunks"""
    shared: ClassVar[tuple[str, ...]] = ()
    """fields of the chunk that the layout of its entries depends on: each entry has attributes of the same names"""
    valid_children: ClassVar[dict[int, type[Chunk]]]
    """valid sub-chunks by id; empty for a leaf"""

    claimed: tuple[int, int] | None = None
    """The stored length and the actual length, if they differ.

    The stored length is written again if the chunk has the same size and nothing follows it in its parent; otherwise
    the actual length is written.
    """

    @property
    def id(self) -> int:
        return self.ID

    @property
    def segment(self) -> str:
        return self.tree.segment(self.id)

    def share_with(self, entry: Record) -> None:
        """Set what an entry must know of its chunk before its fields are read or written."""
        for name in self.shared:
            setattr(entry, name, getattr(self, name))


@record
class RawChunk(Raw, Chunk):
    """A chunk kept as bytes: unknown, in the wrong parent, or with unreadable content."""

    many_ids = True
    parents: ClassVar[tuple[int, ...]] = ()
    valid_children: ClassVar[dict[int, type[Chunk]]] = {}

    chunk_id: int = 0
    data: bytes = blob("everything after the header")
    reason: str = ""
    """code of the issue that gives the cause; empty without an issue"""

    @property
    def id(self) -> int:
        return self.chunk_id

    @property
    def numbered(self) -> bool:
        return self.chunk_id in self.tree.repeating

    def __repr__(self) -> str:
        size = counted(len(self.data), "byte")
        return f"{type(self).__name__}({', '.join(filter(None, (self.segment, size, self.reason)))})"


C = TypeVar("C", bound=Chunk)


class ChunkTree:
    """The chunks of a format: how their headers are stored, the declared kinds, and what may contain what."""

    def __init__(
        self,
        title: str,
        id_code: str = "I",
        *,
        length_counts_header: bool,
        segment: Callable[[int], str] | None = None,
        big_endian: bool = False,
    ) -> None:
        """``id_code`` is the `struct` code of the id; the length is a u32. ``segment`` returns the name of an id in
        paths. Without it ids are tags of four letters, which name themselves (see `tag`)."""
        self.title = title
        self.style = Style(big_endian)
        self.header = struct.Struct(f"{self.style.order}{id_code}I")
        self.header_size = self.header.size
        self.has_tags = segment is None
        self.length_at = self.header_size - 4
        """offset of the length in the header"""
        self.uncounted = 0 if length_counts_header else self.header_size
        """bytes of a chunk that its stored length does not count"""
        self.segment = segment or self._tag_of
        self.kinds: dict[int, type[Chunk]] = {}
        """every declared chunk by its id"""
        self.repeating: set[int] = set()
        """ids of chunks that usually occur several times: the path of such a chunk always has an index"""
        self.raw: type[RawChunk]
        """the format's class of chunks kept as bytes"""
        self._once_bits = count()

    def tag(self, letters: str) -> int:
        """Return the id of a tag of four letters."""
        return int.from_bytes(letters.encode("latin-1"), "big" if self.style.big_endian else "little")

    def _tag_of(self, chunk_id: int) -> str:
        letters = chunk_id.to_bytes(4, "big" if self.style.big_endian else "little")
        return letters.decode() if letters.isalnum() else letters.hex()

    def declare(self, cls: type[C], chunk_id: int, parents: Iterable[int], repeats: bool, once: bool) -> None:
        """Add a record class to the kinds; see `chunk`."""
        if chunk_id in self.kinds:
            raise ValueError(f"chunk {self.segment(chunk_id)} is declared twice")
        cls.ID, cls.parents, cls.repeats = chunk_id, tuple(parents), repeats
        for kind in (cls, cls.entries) if self.style.big_endian else ():
            if kind is not None:
                kind.plan = kind.plan.adapted(self.style)
        self.kinds[chunk_id] = cls
        if repeats:
            self.repeating.add(chunk_id)
        if once:
            cls.once_bit = 1 << next(self._once_bits)

    def compute_valid_children(self) -> None:
        """Compute the valid sub-chunks of each chunk from the declared parents; called once, after all declarations."""
        inside: dict[int, dict[int, type[Chunk]]] = {}
        for chunk_id, cls in self.kinds.items():
            for parent in cls.parents:
                inside.setdefault(parent, {})[chunk_id] = cls
        everywhere = inside.pop(*ANYWHERE, {})
        for chunk_id, cls in self.kinds.items():
            if not cls.many_ids:
                cls.valid_children = {**everywhere, **inside[chunk_id]} if chunk_id in inside else {}

    def name_of(self, chunk_id: int) -> str:
        """Return id and name of a chunk, ``4110 PointArray``, or only the id if the chunk is unknown."""
        cls, segment = self.kinds.get(chunk_id), self.segment(chunk_id)
        return f"{segment} {cls.__name__}" if cls and cls.__name__ != segment else segment

    def least_size(self, cls: type[Chunk]) -> int:
        """Return the smallest size of a chunk of a kind, header included."""
        return self.header_size + cls.plan.minimum

    def decode(self, data: bytes, document: Document) -> None:
        """Read the top chunk, whose id the caller has checked, with all sub-chunks, and the bytes after it."""
        _Reader(self, data, document).read()

    def recover(self, data: bytes, document: Document) -> Document:
        """Read a damaged file like `decode`, and keep its whole records: without chunks that could not be read, and
        without what is left of records at the end of others; lengths are those of what remains."""
        self.decode(data, document)
        drop_damage(document)
        for item in document.find(Chunk):
            if item.claimed is not None or item.valid_children:
                item.claimed, item.tail = None, b""
        return document

    def encode(self, document: Document) -> bytes:
        """Return the bytes of a document: its records, then its trailing bytes."""
        sink = Sink()
        opened: list[tuple[Chunk, int, Iterator[Record]]] = []
        remaining = iter(document.records)
        while True:
            item = next(remaining, None)
            if item is None:
                if not opened:
                    break
                chunk, mark, remaining = opened.pop()
                sink.write(chunk.tail)
                siblings = opened[-1][0].children if opened else document.records
                bytes_after = opened[-1][0].tail if opened else document.trailing
                sink.close_block(mark, partial(self._header, chunk, chunk is siblings[-1] and not bytes_after))
            elif isinstance(item, Chunk):
                opened.append((item, sink.open_block(self.header_size), remaining))
                write_fields(item, sink)
                remaining = iter(item.children)
            elif opened and opened[-1][0].entries is type(item):
                opened[-1][0].share_with(item)
                write_fields(item, sink)
            else:
                raise ValueError(f"{item!r} is not a chunk: a {self.title} file contains only chunks")
        sink.write(document.trailing)
        return sink.getvalue()

    def _header(self, chunk: Chunk, is_last: bool, size: int) -> bytes:
        """Return the header of a chunk of ``size`` bytes.

        A wrong length from the original file is written again only if the chunk has the same size and nothing follows
        it in its parent (``is_last``); otherwise readers would take what follows for a part of the chunk.
        """
        if chunk.claimed is not None and chunk.claimed[1] == size and is_last:
            size = chunk.claimed[0]
        try:
            return self.header.pack(chunk.id, size - self.uncounted)
        except struct.error:
            bits = 8 * (self.header_size - 4)
            raise ValueError(
                f"{chunk!r}: id {chunk.id:#x} must fit in {bits} bits and length {size} in 32 bits"
            ) from None

    def structure(self, name: str, title: str) -> Structure:
        """Return the structure of a file: one chunk, with all others inside."""
        cases: dict[int | str, Structure] = {}
        counts = f"including these {self.header_size}" if not self.uncounted else "without these two fields"
        chunk = Structure(
            "chunk",
            (
                Part("id", "text", "kind of the chunk", size="4")
                if self.has_tags
                else Part("id", f"u{self.header_size - 4}", "kind of the chunk"),
                Part("length", "u4", f"number of bytes, {counts}"),
                Part(
                    "body",
                    Cases("id", cases),
                    "fields, then sub-chunks",
                    size="length" if self.uncounted else f"length - {self.header_size}",
                ),
            ),
            "A chunk.",
            big_endian=self.style.big_endian,
        )
        chunks = Part("chunks", chunk, "sub-chunks", count=ToEnd(self.header_size))
        tail = Part("tail", "bytes", "bytes after the known fields and sub-chunks")
        for chunk_id, cls in self.kinds.items():
            if not cls.many_ids:
                inside = [chunks] if cls.valid_children else []
                if cls.entries is not None:
                    least = cls.entries.plan.minimum
                    entry = structure_of(cls.entries, self.style, {name: f"parent.{name}" for name in cls.shared})
                    inside.append(Part("entries", entry, "entries", count=ToEnd(least)))
                if not cls.opaque:
                    inside.append(tail)
                name_of_case = self.segment(chunk_id) if self.has_tags else chunk_id
                cases[name_of_case] = structure_of(cls, self.style).extended(*inside)
        return Structure(name, (Part("top", chunk), TRAILING), title)


@dataclass_transform(eq_default=False)
def chunk(
    chunk_id: int, *, parents: Iterable[int], repeats: bool = False, once: bool = False, optional: bool = False
) -> Callable[[type[C]], type[C]]:
    """Class decorator: declare the chunk with this id in the tree of its base class.

    ``once``: a parent may contain only one such chunk. ``optional``: a scene is complete without it.
    """

    def decorate(cls: type[C]) -> type[C]:
        record_class = record(cls)
        record_class.optional = optional
        record_class.tree.declare(record_class, chunk_id, parents, repeats, once)
        return record_class

    return decorate


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


class _Reader:
    """Reads one file, with a stack of open containers."""

    def __init__(self, tree: ChunkTree, data: bytes, document: Document) -> None:
        self.tree = tree
        self.data = data
        self.limits = document.limits
        self.document = document
        self.issues = document.issues
        self.stack: list[_Container] = []
        self.cursor = Cursor(data, limits=document.limits)
        """for readers of records; its place is the root, see `_keep_unreadable`"""
        self.records_left = document.limits.records - 1

    def read(self) -> None:
        """Read the top chunk with all sub-chunks, and the bytes after it."""
        tree, end = self.tree, len(self.data)
        top_id, size = tree.header.unpack_from(self.data)
        size += tree.uncounted
        cls = tree.kinds[top_id]
        place, length_at, least = Place(tree.segment(top_id), Place()), tree.length_at, tree.least_size(cls)
        if self.limits.depth < 1:
            raise LIMIT_DEPTH.failure(0, str(place), limit=self.limits.depth)
        if size < least:
            self.issues.add(STRUCT_CHUNK_TOO_SMALL, str(place), length_at, size=size, least=least)
        elif size > end:
            self.issues.add(STRUCT_TRUNCATED, str(place), length_at, wanted=size, left=end)
        elif size < end:
            self.document.trailing = self.data[size:]
            self.issues.add(STRUCT_TRAILING_DATA, "/", size, size=end - size)
            end = size
        top, pos = cls.plan.read(cls, 0, self.cursor, self.data, tree.header_size, end)
        top.children = []
        top.claimed = None if end == size else (size, end)
        self.document.records.append(top)
        self.stack.append(_Container(top, pos, end, max(size, end)))
        self.stack[0].place = place
        if end == pos:
            self.issues.add(SEM_EMPTY_DOCUMENT, str(place), 0)
        self._read_chunks()

    def _read_chunks(self) -> None:
        """Read the sub-chunks of all open containers, in file order.

        Most of the reading time is spent in this loop. Paths are computed only for issues.
        """
        data, stack, limits, cursor = self.data, self.stack, self.limits, self.cursor
        unpack, header_size, length_at = self.tree.header.unpack_from, self.tree.header_size, self.tree.length_at
        uncounted = self.tree.uncounted
        opened = stack[-1]
        at, end, children, inside = opened.at, opened.end, opened.chunk.children, opened.chunk.valid_children
        while True:
            if end - at < header_size:
                if at != end:
                    opened.chunk.tail = data[at:end]
                    self.issues.add(STRUCT_CHUNK_SLACK, str(self._place()), at, size=end - at)
                stack.pop()
                if not stack:
                    return
                opened = stack[-1]
                at, end, children, inside = opened.at, opened.end, opened.chunk.children, opened.chunk.valid_children
                continue
            chunk_id, size = unpack(data, at)
            size += uncounted
            if size < header_size:
                opened.chunk.tail = data[at:end]
                place = self._place_of_next(chunk_id)
                self.issues.add(STRUCT_CHUNK_TOO_SMALL, str(place), at + length_at, size=size, least=header_size)
                at = end
                continue
            self._count_record(chunk_id, at)
            claimed_end = stop = at + size
            if stop > end:
                stop = end
                if claimed_end > opened.claimed_end:  # otherwise only an outer container was truncated
                    place = self._place_of_next(chunk_id)
                    self.issues.add(STRUCT_CHUNK_OVERRUN, str(place), at + length_at, size=size, left=end - at)
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
                    chunk, pos = cls.plan.read(cls, at, cursor, data, at + header_size, stop)
                except FormatError as error:
                    chunk, pos = self._keep_unreadable(error, cls, chunk_id, at, stop, claimed_end), stop
                else:
                    if cls.valid_children:
                        chunk.children = []
                    elif cls.many_ids:
                        cast(RawChunk, chunk).chunk_id = chunk_id
                    elif pos != stop:
                        if cls.entries is not None:
                            pos = self._read_entries(chunk, cls.entries, pos, stop)
                        else:
                            path = self._place_of_next(chunk_id).__str__
                            self.issues.add(STRUCT_CHUNK_SLACK, path, pos, size=stop - pos)
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

    def _count_record(self, chunk_id: int, at: int) -> None:
        self.records_left -= 1
        if self.records_left < 0:
            raise LIMIT_RECORDS.failure(at, str(self._place_of_next(chunk_id)), limit=self.limits.records)

    def _read_entries(self, chunk: Chunk, kind: type[Record], pos: int, stop: int) -> int:
        """Read the entries that fill a chunk; from the first that cannot be read the rest is its tail. Returns the
        offset of the tail."""
        cursor = Cursor(self.data, limits=self.limits, pos=pos, end=stop)
        place = self._place_of_next(chunk.id)
        chunk.children = []
        while cursor.left:
            self._count_record(chunk.id, cursor.pos)
            at, entry = cursor.pos, blank(kind, cursor.pos)
            cursor.place = place.child(entry.segment, len(chunk.children))
            chunk.share_with(entry)
            try:
                read_fields(entry, cursor)
            except FormatError as error:
                self.document.add_failure(error)
                return at
            chunk.children.append(entry)
        return cursor.pos

    def _place(self) -> Place:
        """Return the path of the innermost open container; each open container is the last in its parent so far."""
        level = len(self.stack)
        while self.stack[level - 1].place is None:
            level -= 1
        place = cast(Place, self.stack[level - 1].place)
        for parent, opened in zip(self.stack[level - 1 :], self.stack[level:], strict=False):
            chunk_id = opened.chunk.id
            place = opened.place = self._sub_place(place, chunk_id, parent.count(chunk_id) - 1)
        return place

    def _place_of_next(self, chunk_id: int) -> Place:
        """Return the path of the chunk that is being read, which is not yet in its parent."""
        return self._sub_place(self._place(), chunk_id, self.stack[-1].count(chunk_id))

    def _sub_place(self, parent: Place, chunk_id: int, index: int) -> Place:
        """Return the path of a sub-chunk; ``index`` counts the sub-chunks with the same id."""
        return Place(self.tree.segment(chunk_id), parent, index if index or chunk_id in self.tree.repeating else None)

    def _keep_unreadable(
        self, error: FormatError, cls: type[Chunk], chunk_id: int, at: int, stop: int, claimed_end: int
    ) -> RawChunk:
        """Return a chunk with unreadable fields as bytes, and report why; raise the error again if it is a limit."""
        place = str(self._place_of_next(chunk_id))
        path = place + error.path.rstrip("/")  # of the field, which is all that the reader of a record knows
        kind = CATALOGUE[error.code]
        if error.code.startswith("LIMIT_"):
            raise kind.failure(error.offset, path, **error.details)
        size, least = stop - at, self.tree.least_size(cls)
        issue = Issue(kind, path, error.offset, error.details, Severity.WARNING if cls.optional else None)
        if kind is STRUCT_TRUNCATED and size < least and stop == claimed_end:
            offset = at + self.tree.length_at
            issue = replace(
                issue, type=STRUCT_CHUNK_TOO_SMALL, path=place, offset=offset, args={"size": size, "least": least}
            )
        self.issues.add_issue(issue)
        return self._raw(chunk_id, at, stop, issue.code)

    def _read_unknown(self, parent: _Container, chunk_id: int, at: int, stop: int) -> RawChunk:
        """Read a chunk that is unknown, or not valid here, as bytes without sub-chunks."""
        if chunk_id in self.tree.kinds:
            kind = STRUCT_CHUNK_MISPLACED
            self._report_chunk(kind, parent, chunk_id, at)
        else:
            kind = STRUCT_UNKNOWN_CHUNK
            path, size = self._place_of_next(chunk_id).__str__, stop - at - self.tree.header_size
            self.issues.add(kind, path, at, size=size)
        return self._raw(chunk_id, at, stop, kind.code)

    def _raw(self, chunk_id: int, at: int, stop: int, reason: str) -> RawChunk:
        data = self.data[at + self.tree.header_size : stop]
        return self.tree.raw(chunk_id, data, reason, children=NO_CHILDREN, offset=at)

    def _report_chunk(self, kind: IssueType, parent: _Container, chunk_id: int, at: int) -> None:
        path, name_of = self._place_of_next(chunk_id).__str__, self.tree.name_of
        self.issues.add(kind, path, at, name=name_of(chunk_id), parent=name_of(parent.chunk.id))
