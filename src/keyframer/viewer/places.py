"""Where nodes, tracks and keys of a scene lie in the file it was made from.

Scenes hold no offsets, so what belongs together is found by what it has in common, the same for every format: a track
has the times of its table of keys, a node has the name of its record and the tracks inside it.
"""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

from keyframer.curves import Interpolation, Track
from keyframer.formats._document import Document
from keyframer.scene import Channel, Node, Scene
from keyframer.viewer.extents import Extents
from keyframer.viewer.keyrows import KeyTable, key_tables
from keyframer.wire.record import Record

Span = tuple[int, int]
_LOOK_AHEAD = 16
"""tables with the same times that are compared number by number"""


class Places:
    """Answers where something lies; None where the file has no such place (a default skeleton, a companion)."""

    def __init__(self, document: Document, data: bytes, scene: Scene | None) -> None:
        self.extents = Extents(document, len(data))
        self._data = data
        self._node_of_record: dict[int, int] = {}
        self.tables: list[KeyTable | None] = []
        self.nodes: list[list[Record]] = []
        if scene is not None:
            channels = scene.clips[0].channels if scene.clips else []
            self.tables = _match_tracks(channels, key_tables(self.extents.records))
            self._match_nodes(scene.nodes, channels)

    def node_spans(self, node: int) -> list[Span]:
        """The record of a node, then others with its name (what the editor says about the same object)."""
        return [span for record in self.nodes[node] if (span := self.extents.span(record))]

    def track_span(self, track: int) -> Span | None:
        table = self.tables[track]
        return None if table is None else self.extents.span(table.record)

    def key_spans(self, track: int, count: int) -> list[Span] | None:
        """One for each of ``count`` keys; a track may have one more than its table, before the first."""
        table, span = self.tables[track], self.track_span(track)
        if table is None or span is None:
            return None
        rows = table.rows(self._data, *span)
        if rows is None or not 0 <= count - len(rows) <= 1:
            return None
        return [rows[0]] * (count - len(rows)) + rows

    def node_at(self, offset: int) -> int | None:
        """The node that a byte belongs to."""
        for number in self.extents.at(offset):
            node = self._node_of_record.get(number)
            if node is not None:
                return node
        return None

    def _match_nodes(self, nodes: list[Node], channels: list[Channel]) -> None:
        named: dict[bytes, deque[Record]] = defaultdict(deque)
        for record in self.extents.records:
            name = getattr(record, "name", None)
            if isinstance(name, bytes):
                named[name].append(record)
        homes = self._homes_of_tracks(channels, named)
        others: dict[bytes, list[Record]] = {}
        for number, node in enumerate(nodes):
            found: list[Record] = []
            if number in homes:
                found.append(homes[number])
            elif node.raw_name is not None and named[node.raw_name]:
                found.append(self._whole(named[node.raw_name].popleft()))
            self.nodes.append(found)
            for record in found:
                self._own(record, number)
        for number, node in enumerate(nodes):
            if node.raw_name is None:
                continue
            if node.raw_name not in others:
                others[node.raw_name] = [self._whole(record) for record in named[node.raw_name]][:_LOOK_AHEAD]
            for record in others[node.raw_name]:
                if record not in self.nodes[number]:
                    self.nodes[number].append(record)
                self._own(record, number)

    def _own(self, record: Record, node: int) -> None:
        number = self.extents.number(record)
        if number is not None:
            self._node_of_record.setdefault(number, node)

    def _homes_of_tracks(self, channels: list[Channel], named: dict[bytes, deque[Record]]) -> dict[int, Record]:
        """The record of each node whose tracks lie inside a record with a name; these names are then taken."""
        homes: dict[int, Record] = {}
        names_in: dict[int, Record] = {}
        for records in named.values():
            for record in records:
                parent = self.extents.parent(record)
                if parent is not None:
                    names_in.setdefault(id(parent), record)
        taken: set[int] = set()
        for channel, table in zip(channels, self.tables, strict=True):
            if table is None or table.is_samples or channel.node in homes:
                continue
            if isinstance(getattr(table.record, "name", None), bytes):
                homes[channel.node] = table.record
                taken.add(id(table.record))
                continue
            parent = self.extents.parent(table.record)
            if parent is not None and id(parent) in names_in:
                homes[channel.node] = parent
                taken.add(id(names_in[id(parent)]))
        for name, records in named.items():
            named[name] = deque(record for record in records if id(record) not in taken)
        return homes

    def _whole(self, named: Record) -> Record:
        """A record that is only the heading of the one around it stands for that one."""
        parent = self.extents.parent(named)
        is_heading = parent is not None and not named.children and parent.children and parent.children[0] is not named
        heading = type(named).__name__.endswith("Header") or type(named).__name__.endswith("Name")
        return parent if parent is not None and (heading or (is_heading and "name" in _fields(parent))) else named


def _fields(record: Record) -> list[str]:
    return [plan.name for plan in record.plan.fields]


def _match_tracks(channels: list[Channel], tables: list[KeyTable]) -> list[KeyTable | None]:
    """The table of each track, in order; tables that a scene does not use stay over."""
    by_times: dict[bytes, deque[KeyTable]] = defaultdict(deque)
    samples: dict[int, deque[KeyTable]] = defaultdict(deque)
    for table in tables:
        if table.is_samples:
            samples[len(table)].append(table)
        else:
            by_times[table.times().tobytes()].append(table)
    found: list[KeyTable | None] = []
    for channel in channels:
        track = channel.track
        if track.interpolation is Interpolation.SAMPLED:
            found.append(_sampled_table(track, samples[len(track.times)]))
        elif track.kind == "scale_axes" and found and found[-1] is not None:
            found.append(found[-1])  # the same keys hold the scale
        else:
            found.append(_keyed_table(track, by_times))
    return found


def _keyed_table(track: Track, by_times: dict[bytes, deque[KeyTable]]) -> KeyTable | None:
    waiting = by_times.get(track.times.tobytes()) or by_times.get(track.times[1:].tobytes())  # or toggles
    if not waiting:
        return None
    for position, table in enumerate(waiting):
        if position == _LOOK_AHEAD:
            break
        if _same_numbers(track, table):
            del waiting[position]
            return table
    return waiting.popleft()


def _same_numbers(track: Track, table: KeyTable) -> bool:
    """Whether both hold the same numbers, whatever their order and sign (axes and angles change places)."""
    ours = np.sort(np.abs(track.values.reshape(len(track.values), -1)), axis=1)
    theirs = table.numbers()
    if ours.shape != theirs.shape:
        return False
    return bool(np.allclose(ours, np.sort(np.abs(theirs), axis=1), equal_nan=True))


def _sampled_table(track: Track, waiting: deque[KeyTable]) -> KeyTable | None:
    """The first table of as many rows that holds the numbers; turns are made of angles, so the first will do."""
    for table in waiting:
        if track.kind == "position" and track.values[0, 0] in table.numbers()[0]:
            return table
    return waiting[0] if waiting else None
