"""Documents: the content of a file in file order, not interpreted, in the same form for every format.

`decode`, `encode` and `write` are for documents of any format.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Self, TypeVar

from keyframer.catalogue import CATALOGUE, IO_EMPTY, IO_UNRECOGNISED, LIMIT_RECORDS, STRUCT_TRAILING_DATA
from keyframer.errors import FormatError, wrong_type
from keyframer.files import PathLike, check_size, check_writable, write_bytes
from keyframer.formats import detect, format_by_name
from keyframer.formats.contract import Format
from keyframer.issues import Issue, IssueLog, Severity
from keyframer.limits import DEFAULT_LIMITS, Budget, Limits, open_or_new_budget
from keyframer.text import counted
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import blob
from keyframer.wire.record import Raw, Record, blank, read_fields, record

R = TypeVar("R", bound=Record)


@record
class RawRun(Raw, Record):
    """Everything from the first record that could not be read to the end of the file."""

    segment = "raw"

    data: bytes = blob("bytes as they are")
    reason: str = ""
    """code of the issue that gives the cause"""


@dataclass(eq=False, repr=False, slots=True)
class Document:
    """Records in file order, the bytes after the last one, and the issues found.

    ``dialect`` is the layout of the file; None for formats with a single layout.
    """

    format: Format
    records: list[Record] = field(default_factory=list)
    trailing: bytes = b""
    dialect: object | None = None
    issues: IssueLog = None  # type: ignore[assignment]  # a new one, with the limits
    limits: Limits = DEFAULT_LIMITS
    """limits for decoding and for building a scene"""
    size: int = 0
    """size of the source file in bytes; 0 for a new document"""

    def __post_init__(self) -> None:
        if self.issues is None:
            self.issues = IssueLog(self.limits.issues_per_code, self.limits.issues)

    @property
    def budget(self) -> Budget:
        """The budget for building a scene from the document."""
        return open_or_new_budget(self.limits, self.size)

    def reader(self, data: bytes) -> RecordReader:
        """Return a reader of records that follow each other without sizes."""
        return RecordReader(self, Cursor(data, limits=self.limits))

    def add_failure(self, error: FormatError) -> None:
        """Add the issue of a record that could not be read; raises the error if it is a limit."""
        if error.code.startswith("LIMIT_"):
            raise error
        self.issues.add_issue(Issue(CATALOGUE[error.code], error.path, error.offset, error.details))

    def keep_rest(self, siblings: list[Record], cursor: Cursor, start: int, error: FormatError) -> None:
        """Keep everything from a record that could not be read to the end of the file: a `RawRun` after its siblings.

        Raises the error if it is a limit.
        """
        self.add_failure(error)
        cursor.pos = start
        siblings.append(RawRun(cursor.take_rest(), error.code, offset=start))

    def keep_trailing(self, cursor: Cursor) -> None:
        """Keep the bytes after the last record, if any, and report them."""
        if cursor.left:
            self.issues.add(STRUCT_TRAILING_DATA, "/", cursor.pos, size=cursor.left)
            self.trailing = cursor.take_rest()

    def walk(self) -> Iterator[tuple[Place, Record]]:
        """Yield every record with its place (``str(place)`` is its path), parents before children, in file order."""
        root = Place()
        stack = [_with_places(self.records, root)]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
                continue
            yield entry
            if entry[1].children:
                stack.append(_with_places(entry[1].children, entry[0]))

    def walk_indices(self) -> Iterator[tuple[Record, int, int]]:
        """Yield every record in the order of `walk`, with the number of its parent in this order (-1 for none) and its
        index among the siblings with the same name. Unlike `walk`, it makes no objects for paths.
        """
        stack: list[tuple[Iterator[Record], int, dict[str, int]]] = [(iter(self.records), -1, {})]
        number = -1
        while stack:
            records, parent, counts = stack[-1]
            record = next(records, None)
            if record is None:
                stack.pop()
                continue
            number += 1
            index = counts.get(record.segment, 0)
            counts[record.segment] = index + 1
            yield record, parent, index
            if record.children:
                stack.append((iter(record.children), number, {}))

    def find(self, kind: type[R] | tuple[type[R], ...]) -> Iterator[R]:
        """Yield all records of one or several types (or their subtypes), at any depth, in file order."""
        stack = self.records[::-1]
        while stack:
            record = stack.pop()
            if isinstance(record, kind):
                yield record
            if record.children:
                stack += record.children[::-1]

    def first(self, kind: type[R]) -> R | None:
        """Return the first record of a type, or None."""
        return next(self.find(kind), None)

    def path_of(self, record: Record) -> str:
        """Return the path of a record; raises LookupError if the record is not part of this document."""
        for place, other in self.walk():
            if other is record:
                return str(place)
        raise LookupError(f"{record!r} is not part of this document")

    def __repr__(self) -> str:
        kinds = Counter(type(record).__name__ for record in self.find(Record))
        frequent = ", ".join(f"{count} {name}" for name, count in kinds.most_common(4))
        records, issues = counted(sum(kinds.values()), "record"), counted(self.issues.total, "issue")
        return f"<{self.format.name} document: {records} ({frequent}), {issues}>"


class RecordReader:
    """Reads records without sizes, one after the other; from the first that cannot be read, the rest is a `RawRun`.

    It is a context manager. At its end, bytes after the last record become trailing bytes. A limit is raised.
    """

    def __init__(self, document: Document, cursor: Cursor, style: Style | None = None) -> None:
        """``style`` is how the file stores numbers and text, if it is not as declared."""
        self.document = document
        self.cursor = cursor
        self.style = style
        self.siblings = document.records
        """list that the next record is added to"""
        self.start = cursor.pos
        """offset of the next record"""

    def read(self, kind: type[R], index: int | None = None, **known: object) -> R:
        """Read the next record, and add it to its siblings. ``known`` are attributes that other records have."""
        cursor, parent = self.cursor, self.cursor.place
        cursor.place = parent.child(kind().segment, index)
        record = blank(kind, cursor.pos)
        for name, value in known.items():
            setattr(record, name, value)
        read_fields(record, cursor, kind.plan.adapted(self.style) if self.style else None)
        cursor.place, self.start = parent, cursor.pos
        self.siblings.append(record)
        return record

    def open(self, parent: Record) -> None:
        """Make a record the parent of all that follow."""
        self.cursor.place = self.cursor.place.child(parent.segment)
        self.siblings = parent.children = []

    def read_counted(self, kind: type[Record], count: int, field: str, offset: int) -> None:
        """Read ``count`` records of a kind; ``field`` at ``offset`` is the count, which is checked before the first."""
        cursor, limit = self.cursor, self.cursor.limits.records
        cursor.need_entries(count, kind.plan.minimum, field, offset)
        if count + len(self.siblings) + 1 > limit:
            cursor.fail(LIMIT_RECORDS, field, offset, limit=limit)
        for index in range(count):
            self.read(kind, index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is None:
            self.document.keep_trailing(self.cursor)
        elif isinstance(error, FormatError):
            self.document.keep_rest(self.siblings, self.cursor, self.start, error)
        return isinstance(error, FormatError)


def is_whole(document: Document) -> bool:
    """Return whether no part of the structure is unsafe, and no bytes follow the last record that was read."""
    rest = document.trailing or (document.records and isinstance(document.records[-1], Raw))
    return not rest and document.issues.first_unsafe() is None


def drop_damage(document: Document) -> None:
    """Remove the records that are kept as bytes because they could not be read; unknown ones stay."""
    stack: list[list[Record]] = [document.records]
    while stack:
        siblings = stack.pop()
        if any(map(_is_damaged, siblings)):
            siblings[:] = [record for record in siblings if not _is_damaged(record)]
        stack += [record.children for record in siblings if record.children]


def _is_damaged(record: Record) -> bool:
    return isinstance(record, Raw) and bool(record.reason) and CATALOGUE[record.reason].severity is Severity.ERROR


def _with_places(records: list[Record], parent: Place) -> Iterator[tuple[Place, Record]]:
    counts: Counter[str] = Counter()
    for child in records:
        segment = child.segment
        index = counts[segment]
        counts[segment] += 1
        yield place_of(child, index, parent), child


def place_of(record: Record, index: int, parent: Place) -> Place:
    """Return the place of a record; ``index`` is its index among the siblings with the same name.

    Index 0 is not shown, unless the record is always numbered.
    """
    return parent.child(record.segment, index if index or record.numbered else None)


def decode(data: bytes, *, format: str | None = None, limits: Limits | None = None) -> Document:
    """Decode bytes to a document; raises `FormatError` if they cannot be decoded.

    ``format`` is the id of a format (see `supported_formats`), if it should not be detected; raises ValueError for an
    unknown id.
    """
    limits = limits or DEFAULT_LIMITS
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise wrong_type(data, "bytes (keyframer.read takes paths and streams)")
    check_size(len(data), limits)
    if not isinstance(data, bytes):
        data = bytes(data)
    if not data:
        raise IO_EMPTY.failure(0, "/")
    if format is not None:
        return format_by_name(format).decode(data, limits)
    detection = detect(data)
    if detection.format is None:
        raise IO_UNRECOGNISED.failure(0, "/", reason=detection.reason)
    return detection.format.decode(data, limits)


def encode(document: Document) -> bytes:
    """Return the bytes of a document; ``encode(decode(data)) == data`` for all data that can be decoded."""
    if not isinstance(document, Document):
        raise wrong_type(document, "a document (keyframer.read returns one; keyframer.save writes scenes)")
    return document.format.encode(document)


def write(document: Document, path: PathLike | IO[bytes], *, overwrite: bool = False) -> None:
    """Write a document to a file, completely or not at all, or to a stream that is open for binary writing.

    Raises FileExistsError if the file exists, unless ``overwrite`` is True.
    """
    data = encode(document)
    if isinstance(path, (str, os.PathLike)):
        write_bytes(path, data, overwrite=overwrite)
    else:
        check_writable(path)
        path.write(data)
