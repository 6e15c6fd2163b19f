"""Records of a document as ranges of bytes, and locations of nodes, tracks and keys of a scene in its source file:
offsets recorded by bridges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from keyframer.formats.bridge import KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.key_table import KeyTable
from keyframer.formats.kit.scene_reading import COMPANION
from keyframer.scene import Camera, Channel, Light, Mesh, Node, RawChannel, Scene
from keyframer.wire.encoding_style import Style
from keyframer.wire.record import Record
from keyframer.wire.record_plan import FieldPlan
from keyframer.wire.sink import Sink

PAGE = 50_000
"""records that are sent at once"""

Span = tuple[int, int]
"""first byte and end"""


class Records(ABC):
    """Records, each with its first byte, its end and its parent record; a parent comes before its children."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        self.parents = array("q")

    def __len__(self) -> int:
        return len(self.starts)

    @abstractmethod
    def name(self, number: int) -> str:
        """Return the name of a record."""

    def span(self, number: int) -> Span:
        """Return first byte and end of a record."""
        return self.starts[number], self.ends[number]

    def beginning_at(self, offset: int) -> int | None:
        """Return the innermost record that starts at this byte; None if there is none."""
        number = bisect_right(self.starts, offset) - 1
        return number if number >= 0 and self.starts[number] == offset else None

    def at(self, offset: int) -> Iterator[int]:
        """Yield the records that contain a byte, innermost first."""
        number = bisect_right(self.starts, offset) - 1
        while number >= 0:
            if self.starts[number] <= offset < self.ends[number]:
                yield number
            number = self.parents[number]

    @property
    def page_count(self) -> int:
        return -(-len(self) // PAGE)

    def overview(self) -> dict[str, object]:
        """Return the number of records, and the first byte of each page."""
        return {"total": len(self), "page": PAGE, "firsts": self.starts[::PAGE].tolist()}

    def page(self, number: int) -> dict[str, object] | None:
        """Return the columns of a page: ranges, parents and names."""
        first = number * PAGE
        if not 0 <= first < len(self):
            return None
        rows = slice(first, first + PAGE)
        names = [self.name(index) for index in range(first, min(first + PAGE, len(self)))]
        return {
            "starts": self.starts[rows].tolist(),
            "ends": self.ends[rows].tolist(),
            "parents": self.parents[rows].tolist(),
            "names": names,
        }


class NoRecords(Records):
    """No records: the file cannot be read, or its format has no known records."""

    def name(self, number: int) -> str:
        raise IndexError(number)


class RecordRanges(Records):
    """The records of a document in file order. A record ends where its next sibling starts: records fill their parent
    without gaps.
    """

    def __init__(self, document: Document, size: int) -> None:
        super().__init__()
        self.records: list[Record] = []
        self._before = array("q")
        """number of siblings of the same name before a record"""
        self._collect(document)
        self._set_ends(size - len(document.trailing))

    def _collect(self, document: Document) -> None:
        numbers = array("q")
        """for each record of the document its index in `records`; a record without an offset has that of its parent"""
        for record, parent, before in document.walk_indices():
            outer = numbers[parent] if parent >= 0 else -1
            if record.offset is None:
                numbers.append(outer)
                continue
            numbers.append(len(self.records))
            self.records.append(record)
            self.starts.append(record.offset)
            self.parents.append(outer)
            self._before.append(before)

    def _set_ends(self, end: int) -> None:
        """Set the end of each record: the start of its next sibling; for the last one the end of its parent without the
        tail, or ``end`` if it has no parent.
        """
        self.ends = array("q", bytes(8 * len(self.records)))
        following: dict[int, int] = {}
        """by parent record: the start of the sibling after the current one"""
        for number in range(len(self.records) - 1, -1, -1):
            parent = self.parents[number]
            self.ends[number] = following.get(parent, -1)
            following[parent] = self.starts[number]
        for number, parent in enumerate(self.parents):
            if self.ends[number] < 0:
                self.ends[number] = end if parent < 0 else self.ends[parent] - len(self.records[parent].tail)
            self.ends[number] = max(self.ends[number], self.starts[number])

    def name(self, number: int) -> str:
        """Return the last part of the path of a record, and its type."""
        record, before = self.records[number], self._before[number]
        segment = f"{record.segment}[{before}]" if before or record.numbered else record.segment
        return f"{segment} {type(record).__name__}"


@dataclass(frozen=True, slots=True)
class Strided:
    """Pieces of one size at equal distances, such as one track in rows that contain all tracks."""

    start: int
    size: int
    step: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: int) -> Span:
        return self.start + key * self.step, self.start + key * self.step + self.size

    def columns(self, first: int, size: int) -> Strided:
        """Return ``size`` bytes of each piece, from byte ``first``."""
        return Strided(self.start + first, size, self.step, self.count)

    def record(self) -> dict[str, int]:
        """Return the location of all pieces as a JSON record."""
        return {"start": self.start, "size": self.size, "step": self.step, "count": self.count}


Rows = Strided | list[Span | None]
"""a location for each key; None for a key that the file does not store"""


def place_json(place: Span | Strided | None) -> object:
    """Return the location of a whole track as JSON: one run if there are no gaps."""
    if isinstance(place, Strided):
        contiguous = place.step == place.size or place.count == 1
        return [place.start, place.start + place.count * place.size] if contiguous else place.record()
    return place


def rows_json(rows: Rows | None) -> object:
    """Return the locations of keys as JSON."""
    return rows.record() if isinstance(rows, Strided) else rows


def byte_range(rows: list[Span | None]) -> Span | None:
    """Return the range from the first to the last byte; None if no row has a location."""
    known = [span for span in rows if span is not None]
    return (min(span[0] for span in known), max(span[1] for span in known)) if known else None


def row_spans(document: Document, data: bytes, ranges: RecordRanges, number: int, field: str) -> Rows | None:
    """Return first byte and end of every row of a field; None if its rows cannot be located.

    A record is written back exactly as it was read: the sizes of its fields give the start of a table, and the bytes
    there must be those of the written table.
    """
    record = ranges.records[number]
    value = getattr(record, field)
    if not len(value):
        return None
    start, end = ranges.span(number)
    children = [child.offset for child in record.children if child.offset is not None]
    fields_end = min(children, default=end - len(record.tail))
    style = document.dialect
    plan = record.plan.adapted(style) if isinstance(style, Style) else record.plan
    table, *later = plan.fields[[declared.name for declared in plan.fields].index(field) :]
    heading = len(_written(table, record, table.kind.default()))  # a count before the first row
    size_after = sum(len(_written(field_plan, record, getattr(record, field_plan.name))) for field_plan in later)
    written = _written(table, record, value)[heading:]
    at = fields_end - size_after - len(written)
    if at < start or data[at : at + len(written)] != written:
        return None
    if not isinstance(table.kind, KeyTable):
        size, remainder = divmod(len(written), len(value))
        return None if remainder else Strided(at, size, size, len(value))
    sizes = table.kind.row_sizes(value, record)
    if min(sizes) == max(sizes):
        return Strided(at, sizes[0], sizes[0], len(sizes))
    return list(pairwise(accumulate(sizes, initial=at)))


def _written(plan: FieldPlan, record: Record, value: Any) -> bytes:
    """Return the bytes of one field."""
    if plan.when is not None and not plan.when(record):
        return b""
    sink = Sink()
    plan.kind.write(sink, value, record)
    return sink.getvalue()


class KeyFinder:
    """Finds the bytes of keys in one file."""

    def __init__(self, document: Document, data: bytes, ranges: RecordRanges) -> None:
        self._document = document
        self._data = data
        self._bridge = document.format.scene_bridge()
        self.ranges = ranges
        self._tables: dict[int, Strided | None] = {}
        self._holders: dict[type, int | None] = {}

    def has_record(self, channel: Channel, number: int) -> bool:
        """Return whether the record with this index has only this channel: its keys are whole rows, or not stored."""
        location = self._bridge.key_location(self.ranges.records[number], channel)
        return location is None or location._replace(order=None) == KeyLocation()

    def keys(self, channel: Channel, number: int) -> Rows | None:
        """Return the locations of the keys of a channel in the record with this index; None if unknown."""
        location = self._bridge.key_location(self.ranges.records[number], channel)
        if location is None:
            return None
        holder = number if location.holder is None else self._holder(location.holder)
        if holder is None:
            return None
        rows: Rows | None
        if location.columns is None:
            rows = row_spans(self._document, self._data, self.ranges, holder, location.field)
        else:
            table = self.table(holder, location.field)
            rows = None if table is None else table.columns(*location.columns)
        if rows is not None and location.order is not None:
            rows = [None if row is None else rows[row] for row in location.order]
        return rows if rows is not None and len(rows) == len(channel.track.times) else None

    def table(self, number: int, field: str = "rows") -> Strided | None:
        """Return the rows of a table with rows of equal size, otherwise None; cached, because all tracks share it."""
        if number not in self._tables:
            has_field = hasattr(self.ranges.records[number], field)
            rows = row_spans(self._document, self._data, self.ranges, number, field) if has_field else None
            self._tables[number] = rows if isinstance(rows, Strided) else None
        return self._tables[number]

    def _holder(self, kind: type) -> int | None:
        """Return the index of the first record of a kind."""
        if kind not in self._holders:
            numbers = (number for number, record in enumerate(self.ranges.records) if isinstance(record, kind))
            self._holders[kind] = next(numbers, None)
        return self._holders[kind]


IN_COMPANION = "It is stored in the companion, not in this file."
NO_RECORD = "This file has no record of it."
BEFORE_THE_FIRST = (
    "The file does not store this key: it is the state before the first stored key. Its track is shown instead."
)


class SourceLocations:
    """Locations in a file with a document, from the offsets recorded by its bridge."""

    def __init__(self, document: Document, data: bytes, scene: Scene | None) -> None:
        self.ranges = RecordRanges(document, len(data))
        self._finder = KeyFinder(document, data, self.ranges)
        self._format = document.format.name
        self._size = len(data)
        self._scene = scene
        self._node_of_record: dict[int, int] = {}
        if scene is not None:
            self._assign(scene)

    @property
    def records(self) -> Records:
        return self.ranges

    def node_places(self, node: Node) -> list[tuple[Span, str]]:
        numbers = dict.fromkeys(self._records_of(node))
        return [(self.ranges.span(number), type(self.ranges.records[number]).__name__) for number in numbers]

    def track_place(self, channel: Channel | RawChannel) -> Span | Strided | None:
        """Return the record of a track, or its part of a record with several tracks."""
        if isinstance(channel, RawChannel):
            return self._table(channel)
        number = self._record(channel.track.extras)
        if number is None:
            return None
        if self._finder.has_record(channel, number):
            return self.ranges.span(number)
        rows = self._finder.keys(channel, number)
        if rows is None:
            return self.ranges.span(number)
        return rows if isinstance(rows, Strided) else byte_range(rows)

    def key_places(self, channel: Channel | RawChannel) -> Rows | None:
        if isinstance(channel, RawChannel):
            return self._table(channel)
        number = self._record(channel.track.extras)
        return None if number is None else self._finder.keys(channel, number)

    def _table(self, channel: RawChannel) -> Strided | None:
        """Return a location for each row of a raw channel."""
        number = self._record(channel.extras)
        return None if number is None else self._finder.table(number)

    def reason_without_location(self, part: Node | Channel | RawChannel) -> str:
        extras = part.track.extras if isinstance(part, Channel) else part.extras
        return IN_COMPANION if _is_companion(extras.get(self._format)) else NO_RECORD

    def reason_without_key_location(self, channel: Channel | RawChannel) -> str:
        if isinstance(channel, Channel) and channel.track.kind == "visible":
            return BEFORE_THE_FIRST
        return self.reason_without_location(channel)

    def node_at(self, offset: int) -> int | None:
        nodes = (self._node_of_record.get(number) for number in self.ranges.at(offset))
        return next((node for node in nodes if node is not None), None)

    def _records_of(self, node: Node) -> list[int]:
        scene = self._scene
        assert scene is not None
        parts: list[Mesh | Camera | Light] = [
            *([scene.meshes[node.mesh]] if node.mesh is not None else []),
            *([scene.cameras[node.camera]] if node.camera is not None else []),
            *([scene.lights[node.light]] if node.light is not None else []),
        ]
        records = [self._record(extras) for extras in (node.extras, *(part.extras for part in parts))]
        return [number for number in records if number is not None]

    def _record(self, extras: Mapping[str, object]) -> int | None:
        location = extras.get(self._format)
        if not isinstance(location, dict) or _is_companion(location):
            return None
        offset = location.get("offset")
        return self.ranges.beginning_at(offset) if isinstance(offset, int) else None

    def _assign(self, scene: Scene) -> None:
        """Assign the records of nodes and tracks to nodes; a record used by several nodes belongs to the first."""
        for index, node in enumerate(scene.nodes):
            for number in self._records_of(node):
                self._node_of_record.setdefault(number, index)
        for channel in (channel for clip in scene.clips for channel in clip.channels):
            record = self._record(channel.track.extras)
            if record is not None and self._finder.has_record(channel, record):
                self._node_of_record.setdefault(record, channel.node)


def _is_companion(location: object) -> bool:
    return isinstance(location, dict) and str(location.get("path", "")).startswith(COMPANION)
