"""Read a file in a given dialect without losing bytes, and report problems with their location."""

from __future__ import annotations

from keyframer.catalogue import (
    CATALOGUE,
    LIMIT_RECORDS,
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
    STRUCT_LEADING_DATA,
    STRUCT_TRAILING_DATA,
    STRUCT_UNKNOWN_CHUNK,
)
from keyframer.errors import FormatError
from keyframer.formats.document import Document
from keyframer.formats.nodeanim.dialect import BEZIER, LINEAR, TCB, Dialect
from keyframer.formats.nodeanim.records import Animations, Chunk, Header, Node, Prefix, RawChunk, segment_of
from keyframer.issues import Issue, Severity
from keyframer.limits import Limits
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import NO_CHILDREN, blank, read_fields, take_record

_TYPES = {TCB: "TCB", BEZIER: "BEZIER", LINEAR: "LINEAR"}
_NAMES = {Header.ID: "chunk 1 (header)", Animations.ID: "chunk 2 (animations)"}


class Reader:
    """Reads one file into a document."""

    def __init__(self, data: bytes, limits: Limits, document: Document, dialect: Dialect) -> None:
        self.data = data
        self.limits = limits
        self.document = document
        self.issues = document.issues
        self.dialect = dialect
        self.root = Place()
        self.counts: dict[int, int] = {}
        """number of chunks read so far, by id"""
        self.record_count = 0
        self.node_count: int | None = None
        """number of nodes that chunk 1 declares; None until it is read"""
        self.node_count_at = 0
        self.early_animations: int | None = None
        """offset of a chunk 2 that comes before chunk 1"""

    def read(self, start: int) -> None:
        """Read the whole file, whose first chunk begins at ``start``."""
        if start:
            self.document.records.append(Prefix(self.data[:start], children=NO_CHILDREN, offset=0))
            self.issues.add(STRUCT_LEADING_DATA, "/prefix", 0, size=start)
        end = self._read_sized(start) if self.dialect.has_sizes else self._read_bare(start)
        if self.early_animations is not None and Header.ID in self.counts:
            name, other = _NAMES[Animations.ID], _NAMES[Header.ID]
            self.issues.add(STRUCT_CHUNK_ORDER, "/animations", self.early_animations, name=name, other=other)
        for chunk_id, name in _NAMES.items():
            if chunk_id not in self.counts:
                self.issues.add(STRUCT_CHUNK_MISSING, "/", len(self.data), name=name)
        if end < len(self.data):
            self.document.trailing = self.data[end:]
            self.issues.add(STRUCT_TRAILING_DATA, "/", end, size=len(self.data) - end)

    def _read_bare(self, pos: int) -> int:
        """Read chunk 1 and chunk 2 without sizes.

        Return the end of the readable part. The dialect search has checked that chunk 1 exists.
        """
        size, header_size = len(self.data), self.dialect.header_size
        window = Cursor(self.data, pos + header_size, size, self._place(Header.ID), self.limits)
        self.document.records.append(self._read_header(window, pos))
        at = window.pos
        next_header = self.data[at : at + header_size]
        if self.dialect.id_size and next_header != self.dialect.header.pack(Animations.ID):
            return at
        window = Cursor(self.data, at + header_size, size, self._place(Animations.ID), self.limits)
        self.document.records.append(self._read_nodes(window, at))
        return window.pos

    def _read_sized(self, pos: int) -> int:
        """Read one chunk after the other. Return the end of the last readable one."""
        size, header_size = len(self.data), self.dialect.header_size
        while size - pos >= header_size:
            chunk_id, stored_size = self.dialect.header.unpack_from(self.data, pos)
            length = stored_size if self.dialect.length_counts_header else stored_size + header_size
            complete = Header.ID in self.counts and Animations.ID in self.counts
            if chunk_id == 0 or (complete and not header_size <= length <= size - pos):
                return pos  # trailing bytes: id 0, or an invalid size after chunks 1 and 2
            if chunk_id not in _NAMES and header_size <= length <= size - pos:
                self._keep_unknown(chunk_id, pos, pos + length)
                pos += length
                continue
            place = self._place(chunk_id)
            if length < header_size:
                self.issues.add(
                    STRUCT_CHUNK_TOO_SMALL, str(place), pos + self.dialect.id_size, size=length, least=header_size
                )
                return pos
            actual = min(length, size - pos)
            if actual != length:
                self.issues.add(
                    STRUCT_CHUNK_OVERRUN, str(place), pos + self.dialect.id_size, size=length, left=size - pos
                )
            chunk = self._read_chunk(chunk_id, pos, pos + actual, place)
            if actual != length:
                chunk.claimed = (stored_size, actual)
            self.document.records.append(chunk)
            pos += actual
        return pos

    def _keep_unknown(self, chunk_id: int, at: int, end: int) -> None:
        """Keep a chunk with an unknown id as bytes. A file may have very many, so only listed issues get a path."""
        index = self.counts.get(chunk_id, 0)
        self.counts[chunk_id] = index + 1
        self.record_count += 1
        if self.record_count > self.limits.records:
            raise LIMIT_RECORDS.failure(at, "/", limit=self.limits.records)
        data = self.data[at + self.dialect.header_size : end]

        def path() -> str:
            return str(self.root.child(segment_of(chunk_id), index or None))

        self.issues.add(STRUCT_UNKNOWN_CHUNK, path, at, size=len(data))
        self.document.records.append(_raw(chunk_id, at, data, STRUCT_UNKNOWN_CHUNK.code))

    def _place(self, chunk_id: int) -> Place:
        """Return the place of the next chunk with this id, and count the chunk."""
        index = self.counts.get(chunk_id, 0)
        self.counts[chunk_id] = index + 1
        return self.root.child(segment_of(chunk_id), index or None)

    def _read_chunk(self, chunk_id: int, at: int, end: int, place: Place) -> Chunk:
        self._count_record(at, place)
        window = Cursor(self.data, at + self.dialect.header_size, end, place, self.limits)
        if chunk_id not in _NAMES:
            self.issues.add(STRUCT_UNKNOWN_CHUNK, place.__str__, at, size=window.left)
            return _raw(chunk_id, at, window.take_rest(), STRUCT_UNKNOWN_CHUNK.code)
        if self.counts[chunk_id] > 1:
            self.issues.add(STRUCT_DUPLICATE_CHUNK, place.__str__, at, name=_NAMES[chunk_id], parent="the file")
        start = window.pos
        try:
            chunk = self._read_header(window, at) if chunk_id == Header.ID else self._read_nodes(window, at)
        except FormatError as error:
            self._add_failure(error)
            return _raw(chunk_id, at, self.data[start:end], error.code)
        if window.left:
            self.issues.add(STRUCT_CHUNK_SLACK, place.__str__, window.pos, size=window.left)
            chunk.tail = window.take_rest()
        return chunk

    def _read_header(self, window: Cursor, at: int) -> Header:
        header = Header(children=NO_CHILDREN, offset=at)
        read_fields(header, window, Header.plan.adapted(self.dialect))
        if header.flags:
            bits = header.flags & 0xFFFFFFFF
            self.issues.add(SEM_UNKNOWN_FLAG_BITS, f"{window.place}/flags", at + self.dialect.header_size, bits=bits)
        if self.node_count is None:
            self.node_count, self.node_count_at = header.node_count, window.pos - 2
            if header.node_count < 0:
                path = f"{window.place}/node_count"
                self.issues.add(STRUCT_COUNT_NEGATIVE, path, self.node_count_at, count=header.node_count)
        return header

    def _read_nodes(self, window: Cursor, at: int) -> Animations:
        """Read nodes until their declared number is reached (if it is known), or one cannot be read.

        Unreadable bytes become the tail (all bytes if the number is negative); bytes after the last node remain in the
        window.
        """
        animations = Animations(offset=at)
        place, plan = window.place, Node.plan.adapted(self.dialect)
        expected = self.node_count
        if Header.ID not in self.counts and self.early_animations is None:
            self.early_animations = at
        start, nodes = window.pos, animations.children
        while window.left and (expected is None or len(nodes) < expected):
            node_start = window.pos
            window.place = Place("nodes", place, len(nodes))
            self._count_record(node_start, window.place)
            try:
                node = take_record(Node, window, plan)
            except FormatError as error:
                self._add_failure(error)
                window.pos = node_start
                animations.tail = window.take_rest()
                break
            self._check_type(node, window.place)
            nodes.append(node)
        else:
            if expected is not None and len(nodes) < expected:
                self._report_missing_nodes(expected, len(nodes), window.end - start, plan.minimum)
        window.place = place
        if expected is not None and expected < 0:
            animations.tail = window.take_rest()
        if not nodes and expected == 0 and not window.left:
            self.issues.add(SEM_EMPTY_DOCUMENT, str(place), at)
        animations.nodes_read = len(nodes)
        return animations

    def _report_missing_nodes(self, count: int, available: int, left: int, size: int) -> None:
        self.issues.add(
            STRUCT_COUNT_EXCEEDS_DATA,
            "/header/node_count",
            self.node_count_at,
            count=count,
            size=size,
            left=left,
            available=available,
        )

    def _check_type(self, node: Node, place: Place) -> None:
        """Report flags that are not exactly one type of interpolation; the type decides the layout of the keys."""
        flags = node.flags
        if flags in _TYPES:
            return
        at = (node.offset or 0) + self.dialect.text_size(node.name)

        def path() -> str:
            return f"{place}/flags"

        types = [name for bit, name in _TYPES.items() if flags & bit]
        if not types:
            known = "1 TCB, 2 BEZIER, 4 LINEAR"
            self.issues.add(SEM_UNKNOWN_ENUM, path, at, severity=Severity.WARNING, value=flags, known=known)
        if len(types) > 1:
            self.issues.add(SEM_CONTRADICTORY_FLAGS, path, at, names=" and ".join(types), taken=types[0])
        if types and flags & ~7:
            self.issues.add(SEM_UNKNOWN_FLAG_BITS, path, at, bits=flags & 0xFFFFFFF8)

    def _count_record(self, at: int, place: Place) -> None:
        self.record_count += 1
        if self.record_count > self.limits.records:
            raise LIMIT_RECORDS.failure(at, str(place), limit=self.limits.records)

    def _add_failure(self, error: FormatError) -> None:
        if error.code.startswith("LIMIT_"):
            raise error
        self.issues.add_issue(Issue(CATALOGUE[error.code], error.path, error.offset, error.details))


def _raw(chunk_id: int, at: int, data: bytes, reason: str) -> RawChunk:
    raw = blank(RawChunk, at)
    raw.chunk_id, raw.data, raw.reason = chunk_id, data, reason
    return raw
