"""Locations of nodes, tracks and keys of a scene in its source file: offsets recorded by bridges."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import COMPANION
from keyframer.scene import Camera, Channel, Light, Mesh, Node, RawChannel, Scene
from keyframer.viewer.record_bytes import RecordRanges, Records, Rows, Span, Strided, byte_range
from keyframer.wire.encoding_style import Style
from keyframer.wire.key_table import KeyTable
from keyframer.wire.record import Record
from keyframer.wire.record_plan import FieldPlan
from keyframer.wire.sink import Sink


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
        self._record_per_track = document.format.record_per_track
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
        if self._record_per_track:
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
        if not self._record_per_track:
            return
        for channel in (channel for clip in scene.clips for channel in clip.channels):
            record = self._record(channel.track.extras)
            if record is not None:
                self._node_of_record.setdefault(record, channel.node)


def _is_companion(location: object) -> bool:
    return isinstance(location, dict) and str(location.get("path", "")).startswith(COMPANION)
