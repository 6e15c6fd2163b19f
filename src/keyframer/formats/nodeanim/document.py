"""Decode, encode and make documents of node animations.

To find the dialect, the file is read in each dialect in which it may begin, and the best reading is the document. Most
files begin in only one; if there are more, the first records show which readings are worth finishing. So time is
proportional to the size of the file.

Decoding loses no bytes. Unreadable parts are kept as bytes in their place: a chunk as a `RawChunk`, nodes from the
first damaged one on as the tail of `Animations`, bytes after the last chunk as the trailing bytes of the document. Each
is reported as an issue.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

from keyframer.catalogue import (
    IO_UNRECOGNISED,
    LIMIT_RECORDS,
    SEM_AMBIGUOUS_DIALECT,
    SEM_CONTRADICTORY_FLAGS,
    SEM_EMPTY_DOCUMENT,
    SEM_UNKNOWN_ENUM,
    SEM_UNKNOWN_FLAG_BITS,
    STRUCT_CHUNK_MISSING,
    STRUCT_CHUNK_ORDER,
    STRUCT_CHUNK_OVERRUN,
    STRUCT_CHUNK_SLACK,
    STRUCT_CHUNK_TOO_SMALL,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_COUNT_NEGATIVE,
    STRUCT_DUPLICATE_CHUNK,
    STRUCT_TRAILING_DATA,
    STRUCT_UNKNOWN_CHUNK,
)
from keyframer.errors import FormatError
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, drop_damage
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import Dialect, with_tcb_by_key
from keyframer.formats.nodeanim.records import Animations, Chunk, Header, Node, RawChunk, segment_of
from keyframer.formats.nodeanim.sniff import TYPES, beginnings, is_printable
from keyframer.issues import Severity
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import NO_CHILDREN, Record, blank, read_fields, take_record, write_fields
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Cases, Part, Structure, ToEnd, structure_of

__all__ = ["Dialect", "decode", "encode", "new_document"]

_NAMES = {Header.ID: "chunk 1 (header)", Animations.ID: "chunk 2 (animations)"}
_COMPARED_RECORDS = 64
"""number of records that are read in every dialect"""
_FINISHED_READINGS = 3
"""number of dialects in which a file with more records is read to the end"""
_OTHERS_NAMED = 3


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a node animation file. Raises `FormatError` if no dialect matches even in part, or a limit is exceeded."""
    best: _Reading | None = None
    for after_others in (False, True):
        dialects = [beginning.dialect for beginning in beginnings(data, len(data), after_others=after_others)]
        readings = [_Reading(data, dialect, limits, _COMPARED_RECORDS) for dialect in dialects]
        if not any(reading.fits and reading.plausible for reading in readings):
            by_key = [with_tcb_by_key(reading.dialect) for reading in readings if reading.has_keys or not reading.fits]
            readings += [_Reading(data, dialect, limits, _COMPARED_RECORDS) for dialect in by_key]
        readings.sort(key=_Reading.rank, reverse=True)
        finished = [reading.finished() for reading in readings[:_FINISHED_READINGS]]
        finished += [reading for reading in readings[_FINISHED_READINGS:] if reading.most is None]
        best = max((reading for reading in (best, *finished) if reading is not None), key=_Reading.rank, default=None)
        if best is not None and best.fits:
            _report_ambiguity(best, finished)
            break
    if best is None or not best.promising:
        best = _Reading(data, _default_dialect(data), limits)
    if best.limit is not None:
        raise best.limit
    return best.document


def _default_dialect(data: bytes) -> Dialect:
    """Return the default dialect if the file begins with the header of chunk 1 or 2 in this dialect."""
    default = Dialect()
    if len(data) < default.header_size or default.header.unpack_from(data)[0] not in _NAMES:
        reason = "no known layout of node animation files fits: no complete chunk 1 was found"
        raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
    return default


def _report_ambiguity(best: _Reading, readings: list[_Reading]) -> None:
    others = [f"({reading.dialect})" for reading in readings if reading is not best and reading.rank() == best.rank()]
    if others:
        more = f" and {len(others) - _OTHERS_NAMED} more" if len(others) > _OTHERS_NAMED else ""
        named = ", ".join(others[:_OTHERS_NAMED]) + more
        count, taken = 1 + len(others), f"({best.dialect})"
        best.document.issues.add(SEM_AMBIGUOUS_DIALECT, "/", 0, count=count, taken=taken, others=named)


class _EnoughRecords(Exception):
    """Raised after the requested number of records."""


class _Reading:
    """A file as read in one dialect. With ``most``, reading ends after this number of records."""

    def __init__(self, data: bytes, dialect: Dialect, limits: Limits, most: int | None = None) -> None:
        self.data = data
        self.dialect = dialect
        self.limits = limits
        self.most = most
        """None as soon as the whole file is read"""
        self.document = Document(FORMAT, dialect=dialect, limits=limits)
        self.issues = self.document.issues
        self.root = Place()
        self.counts: dict[int, int] = {}
        """number of chunks read so far, by id"""
        self.record_count = 0
        self.header: Header | None = None
        """the first chunk 1"""
        self.node_count_at = 0
        self.early_animations: int | None = None
        """offset of a chunk 2 that comes before chunk 1"""
        self.nodes: list[Node] = []
        """the nodes of the first chunk 2"""
        self.reached = 0
        """offset after the last of these nodes, or after chunk 1"""
        self.limit: FormatError | None = None
        """the failure if the file exceeds a limit"""
        try:
            self._read()
            self.most = None
        except FormatError as error:
            self.limit, self.most = error, None
        except _EnoughRecords:
            pass
        self._judge()

    def finished(self) -> _Reading:
        """Return the reading of the whole file in this dialect."""
        return self if self.most is None else _Reading(self.data, self.dialect, self.limits)

    def _judge(self) -> None:
        """Set what is known about the quality of the reading."""
        header = self.header
        self.fits = self.limit is None and all(
            code.startswith("SEM_") or code == STRUCT_UNKNOWN_CHUNK.code for code in self.issues.counts
        )
        """whether all bytes that were read are explained"""
        self.flags_are_zero = header is not None and header.flags == 0
        self.printable_title = header is not None and is_printable(header.name) and is_printable(header.author)
        self.printable = self.printable_title and all(is_printable(node.name) for node in self.nodes)
        self.known_types = all(node.flags in TYPES for node in self.nodes)
        self.plausible = self.flags_are_zero and self.printable and self.known_types
        good = [node.flags in TYPES and is_printable(node.name) for node in self.nodes]
        self.good_nodes = [*good, False].index(False)
        """number of nodes before the first with an unknown type or a name that is not text"""

    @property
    def has_keys(self) -> bool:
        return any(node.translation_key_count or node.rotation_key_count or node.scale_key_count for node in self.nodes)

    @property
    def promising(self) -> bool:
        """Whether the dialect may be right even if it does not fit: not only by chance."""
        if self.fits or self.limit is not None:
            return True
        if self.dialect.id_size == 0:
            return self.flags_are_zero and self.printable_title and self.good_nodes > 0
        return self.flags_are_zero or Animations.ID in self.counts

    def rank(self) -> tuple[object, ...]:
        """Return how good the reading is: the largest is the best, equal ones are ambiguous.

        A file without nodes whose title is not text fits by chance.
        """
        by_node = not self.dialect.tcb_by_key
        if self.fits and (self.nodes or self.printable_title):
            return True, self.flags_are_zero, self.printable, self.known_types, by_node
        evidence = Animations.ID in self.counts, self.flags_are_zero, self.printable_title, self.good_nodes
        return False, self.promising, *evidence, self.reached, by_node

    def _read(self) -> None:
        """Read the whole file and report what is missing or left over."""
        end = self._read_sized() if self.dialect.has_sizes else self._read_bare()
        if self.early_animations is not None and Header.ID in self.counts:
            name, other = _NAMES[Animations.ID], _NAMES[Header.ID]
            self.issues.add(STRUCT_CHUNK_ORDER, "/animations", self.early_animations, name=name, other=other)
        for chunk_id, name in _NAMES.items():
            if chunk_id not in self.counts:
                self.issues.add(STRUCT_CHUNK_MISSING, "/", len(self.data), name=name)
        if end < len(self.data):
            self.document.trailing = self.data[end:]
            self.issues.add(STRUCT_TRAILING_DATA, "/", end, size=len(self.data) - end)

    def _read_bare(self) -> int:
        """Read chunk 1 and chunk 2 without sizes; their ids are known. Return the end of the readable part."""
        pos, header_size = 0, self.dialect.header_size
        for chunk_id, read in ((Header.ID, self._read_header), (Animations.ID, self._read_nodes)):
            window = Cursor(self.data, pos + header_size, len(self.data), self._next_place(chunk_id), self.limits)
            self.document.records.append(read(window, pos))
            pos = window.pos
        return pos

    def _read_sized(self) -> int:
        """Read one chunk after the other. Return the end of the last readable one."""
        pos, size, header_size, id_size = 0, len(self.data), self.dialect.header_size, self.dialect.id_size
        unpack, uncounted = self.dialect.header.unpack_from, 0 if self.dialect.length_counts_header else header_size
        while size - pos >= header_size:
            chunk_id, stored_size = unpack(self.data, pos)
            length, left = stored_size + uncounted, size - pos
            if chunk_id == 0 or (not header_size <= length <= left and self.counts.keys() >= _NAMES.keys()):
                break  # trailing bytes: id 0, or an invalid size after chunks 1 and 2
            place = self._next_place(chunk_id)
            if length < header_size:
                self.issues.add(STRUCT_CHUNK_TOO_SMALL, str(place), pos + id_size, size=length, least=header_size)
                break
            if length > left:
                self.issues.add(STRUCT_CHUNK_OVERRUN, str(place), pos + id_size, size=length, left=left)
            chunk = self._read_chunk(chunk_id, pos, pos + min(length, left), place)
            chunk.claimed = (stored_size, left) if length > left else None
            self.document.records.append(chunk)
            pos += min(length, left)
        return pos

    def _next_place(self, chunk_id: int) -> Place:
        """Return the place of the next chunk with this id, and count the chunk."""
        index = self.counts.get(chunk_id, 0)
        self.counts[chunk_id] = index + 1
        return Place(segment_of(chunk_id), self.root, index or None)

    def _read_chunk(self, chunk_id: int, at: int, end: int, place: Place) -> Chunk:
        """Read a chunk; it is kept as bytes if its id is unknown or its fields cannot be read."""
        self._count_record(at, place)
        start = at + self.dialect.header_size
        if chunk_id not in _NAMES:
            self.issues.add(STRUCT_UNKNOWN_CHUNK, place.__str__, at, size=end - start)
            return _raw(chunk_id, at, self.data[start:end], STRUCT_UNKNOWN_CHUNK.code)
        if self.counts[chunk_id] > 1:
            self.issues.add(STRUCT_DUPLICATE_CHUNK, place.__str__, at, name=_NAMES[chunk_id], parent="the file")
        window = Cursor(self.data, start, end, place, self.limits)
        try:
            chunk = self._read_header(window, at) if chunk_id == Header.ID else self._read_nodes(window, at)
        except FormatError as error:
            self.document.add_failure(error)
            return _raw(chunk_id, at, self.data[start:end], error.code)
        if window.left:
            self.issues.add(STRUCT_CHUNK_SLACK, place.__str__, window.pos, size=window.left)
            chunk.tail = window.take_rest()
        return chunk

    def _read_header(self, window: Cursor, at: int) -> Chunk:
        header = Header(children=NO_CHILDREN, offset=at)
        read_fields(header, window, Header.plan.adapted(self.dialect))
        if header.flags:
            bits = header.flags & 0xFFFFFFFF
            self.issues.add(SEM_UNKNOWN_FLAG_BITS, f"{window.place}/flags", at + self.dialect.header_size, bits=bits)
        if self.header is None:
            self.header, self.node_count_at, self.reached = header, window.pos - 2, window.pos
            if header.node_count < 0:
                path = f"{window.place}/node_count"
                self.issues.add(STRUCT_COUNT_NEGATIVE, path, self.node_count_at, count=header.node_count)
        return header

    def _read_nodes(self, window: Cursor, at: int) -> Chunk:
        """Read nodes until their declared number is reached (if it is known), or one cannot be read.

        Unreadable bytes become the tail; bytes after the last node remain in the window. If the declared number is
        negative, nodes are read only to judge the dialect, and all bytes become the tail.
        """
        if Header.ID not in self.counts and self.early_animations is None:
            self.early_animations = at
        declared = None if self.header is None else self.header.node_count
        negative = declared is not None and declared < 0
        most = window.left if declared is None or negative else declared
        animations, nodes, failure = Animations(offset=at), list[Node](), None
        if self.counts[Animations.ID] == 1:
            self.nodes = nodes
        place, start, plan = window.place, window.pos, Node.plan.adapted(self.dialect)
        while window.left and len(nodes) < most:
            node_start = window.pos
            window.place = Place("nodes", place, len(nodes))
            self._count_record(node_start, window.place)
            try:
                nodes.append(take_record(Node, window, plan))
            except FormatError as error:
                failure, window.pos = error, node_start
                break
            self.reached = window.pos
            if nodes[-1].flags not in TYPES and not negative:
                self._report_type(nodes[-1], window.place)
        window.place = place
        if negative:
            window.pos = start
            animations.tail = window.take_rest()
        else:
            animations.children = list[Record](nodes)
        animations.nodes_read = len(animations.children)
        if failure is not None and not negative:
            self.document.add_failure(failure)
            animations.tail = window.take_rest()
        elif declared is not None and len(nodes) < declared:
            left, size, path = window.pos - start, plan.minimum, "/header/node_count"
            self.issues.add(
                *(STRUCT_COUNT_EXCEEDS_DATA, path, self.node_count_at),
                count=declared,
                size=size,
                left=left,
                available=len(nodes),
            )
        elif declared == 0 and not window.left:
            self.issues.add(SEM_EMPTY_DOCUMENT, str(place), at)
        return animations

    def _report_type(self, node: Node, place: Place) -> None:
        """Report flags that are not exactly one type of interpolation; the type decides the layout of the keys."""
        at = (node.offset or 0) + self.dialect.text_size(node.name)
        flags, types = node.flags, [name for bit, name in TYPES.items() if node.flags & bit]

        def path() -> str:
            return f"{place}/flags"

        if not types:
            known = "1 TCB, 2 BEZIER, 4 LINEAR"
            self.issues.add(SEM_UNKNOWN_ENUM, path, at, severity=Severity.WARNING, value=flags, known=known)
        if len(types) > 1:
            self.issues.add(SEM_CONTRADICTORY_FLAGS, path, at, names=" and ".join(types), taken=types[0])
        if types and flags & ~7:
            self.issues.add(SEM_UNKNOWN_FLAG_BITS, path, at, bits=flags & 0xFFFFFFF8)

    def _count_record(self, at: int, place: Place) -> None:
        if self.record_count == self.most:
            raise _EnoughRecords
        self.record_count += 1
        if self.record_count > self.limits.records:
            raise LIMIT_RECORDS.failure(at, str(place), limit=self.limits.records)


def recover(data: bytes, limits: Limits) -> Document:
    """Return the whole chunks of a damaged file, and the whole nodes before the first damaged one."""
    document = decode(data, limits)
    drop_damage(document)
    if document.first(Header) is not None and document.first(Animations) is None:
        document.records.append(Animations())
    for chunk in document.find(Chunk):
        chunk.claimed = None
        if isinstance(chunk, Animations):
            chunk.tail, chunk.nodes_read = b"", None
    document.trailing = b""
    return document


def _raw(chunk_id: int, at: int, data: bytes, reason: str) -> RawChunk:
    raw = blank(RawChunk, at)
    raw.chunk_id, raw.data, raw.reason = chunk_id, data, reason
    return raw


def new_document(*nodes: Node, name: bytes = b"", author: bytes = b"", dialect: Dialect | None = None) -> Document:
    """Make a document of one clip.

    new_document(Node(b"hip", TCB, translation_keys=NodeKeys.make([0, 1], [[0, 0, 0], [0, 0, 9]])), name=b"jump")
    """
    header = Header(name=name, author=author, node_count=len(nodes))
    return Document(FORMAT, [header, Animations(children=list(nodes))], dialect=dialect or Dialect())


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its records in the layout of its dialect, then its trailing bytes.

    The first header gets the actual number of nodes if their number has changed since reading.
    """
    dialect = document.dialect if document.dialect is not None else Dialect()
    if not isinstance(dialect, Dialect):
        raise ValueError(f"{dialect!r} is not a dialect of this format")
    sink, node_plan = Sink(), Node.plan.adapted(dialect)
    header, animations = document.first(Header), document.first(Animations)
    for chunk in document.records:
        if not isinstance(chunk, Chunk):
            raise ValueError(f"{chunk!r} must be inside a chunk")
        if isinstance(chunk, RawChunk) and not dialect.has_sizes:
            raise ValueError(
                f"{chunk!r}: raw chunks can be stored only in a dialect with chunk sizes, not in {dialect}"
            )
        if chunk is header and animations is not None and animations.nodes_read != len(animations.children):
            header = chunk = copy.copy(header)
            header.node_count = len(animations.children)
        mark = sink.open_block(dialect.header_size)
        write_fields(chunk, sink, chunk.plan.adapted(dialect))
        for node in chunk.children:
            if not isinstance(node, Node):
                raise ValueError(f"{node!r} is not a node: chunks can contain only nodes")
            write_fields(node, sink, node_plan)
        sink.write(chunk.tail)
        sink.close_block(mark, partial(_chunk_header, chunk, dialect))
    sink.write(document.trailing)
    return sink.getvalue()


def _chunk_header(chunk: Chunk, dialect: Dialect, size: int) -> bytes:
    stored_size = size if dialect.length_counts_header else size - dialect.header_size
    if chunk.claimed is not None and chunk.claimed[1] == size:
        stored_size = chunk.claimed[0]
    fields = (("id", chunk.id, dialect.id_size), ("size", stored_size, dialect.length_size))
    for field, number, width in fields:
        if width and not 0 <= number < 1 << 8 * width:
            raise ValueError(f"{chunk!r}: its {field} {number} does not fit {counted(width, 'byte')} ({dialect})")
    return dialect.header.pack(*(number for _, number, width in fields if width))


def structure(dialect: Dialect) -> Structure:
    """Return the structure of a file."""
    chunk_id = [Part("id", f"u{dialect.id_size}", "1: header, 2: animations")] if dialect.id_size else []
    header, node = structure_of(Header, dialect), structure_of(Node, dialect)
    if not dialect.has_sizes:
        ids = [replace(part, name=f"{name}_id") for name in ("header", "animations") for part in chunk_id]
        nodes = Part("nodes", node, count="header.node_count")
        parts = (*ids[:1], Part("header", header), *ids[1:], nodes, TRAILING)
        return Structure("nodeanim", parts, FORMAT.title)
    animations = structure_of(Animations, dialect).extended(Part("nodes", node, count=ToEnd()))
    body = Part(
        "body",
        Cases("id", {Header.ID: header, Animations.ID: animations}),
        size=f"size - {dialect.header_size}" if dialect.length_counts_header else "size",
    )
    size = Part("size", f"u{dialect.length_size}", "number of bytes of the chunk")
    chunk = Structure("chunk", (*chunk_id, size, body), "A chunk.")
    return Structure("nodeanim", (Part("chunks", chunk, count=ToEnd(dialect.header_size)), TRAILING), FORMAT.title)


CODEC = Codec(
    decode, encode, (Header, Animations, Node, RawChunk), Dialect, recover, structure=structure, described=(Dialect(),)
)
