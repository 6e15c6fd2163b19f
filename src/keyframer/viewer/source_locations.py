"""Locations of nodes, tracks and keys of a scene in its source file: offsets recorded by bridges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import COMPANION
from keyframer.scene import Camera, Channel, Light, Mesh, Node, RawChannel, Scene
from keyframer.viewer.key_locations import KeyFinder
from keyframer.viewer.record_bytes import KeyRows, Place, RecordRanges, Records, Span, Strided, byte_range

IN_COMPANION = "It is stored in the companion, not in this file."
NO_RECORD = "This file holds no record of it."
BEFORE_THE_FIRST = "The file does not store this key: it is the state before the first key. This is its track."


class Finder(Protocol):
    """Finds locations; returns None or nothing if something has no location in the file."""

    @property
    def records(self) -> Records: ...

    def node_places(self, node: Node) -> list[tuple[Span, str]]:
        """Return the records of a node and of its mesh, camera and light, with descriptions."""

    def track_place(self, channel: Channel | RawChannel) -> Place | None:
        """Return the bytes of a track."""

    def key_places(self, channel: Channel | RawChannel) -> KeyRows | None:
        """Return a location for each key."""

    def reason_without_location(self, part: Node | Channel | RawChannel) -> str:
        """Return why something has no location, or only some of the possible ones."""

    def reason_without_key_location(self, channel: Channel | RawChannel) -> str:
        """Return why a single key has no location."""

    def node_at(self, offset: int) -> int | None:
        """Return the node that a byte belongs to."""


class SourceLocations:
    """Locations in a file with a document, from the offsets recorded by its bridge."""

    def __init__(self, document: Document, data: bytes, scene: Scene | None) -> None:
        self.extents = RecordRanges(document, len(data))
        self._finder = KeyFinder(document, data, self.extents)
        self._format = document.format.name
        self._record_per_track = document.format.record_per_track
        self._size = len(data)
        self._scene = scene
        self._node_of_record: dict[int, int] = {}
        if scene is not None:
            self._assign(scene)

    @property
    def records(self) -> Records:
        return self.extents

    def node_places(self, node: Node) -> list[tuple[Span, str]]:
        numbers = dict.fromkeys(self._records_of(node))
        return [(self.extents.span(number), type(self.extents.records[number]).__name__) for number in numbers]

    def track_place(self, channel: Channel | RawChannel) -> Place | None:
        """Return the record of a track, or its part of a record with several tracks."""
        if isinstance(channel, RawChannel):
            return self._table(channel)
        number = self._record(channel.track.extras)
        if number is None:
            return None
        if self._record_per_track:
            return self.extents.span(number)
        rows = self._finder.keys(channel, number)
        if rows is None:
            return self.extents.span(number)
        return rows if isinstance(rows, Strided) else byte_range(rows)

    def key_places(self, channel: Channel | RawChannel) -> KeyRows | None:
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
        nodes = (self._node_of_record.get(number) for number in self.extents.at(offset))
        return next((node for node in nodes if node is not None), None)

    def _records_of(self, node: Node) -> list[int]:
        scene = self._scene
        assert scene is not None
        carried: list[Mesh | Camera | Light] = [
            *([scene.meshes[node.mesh]] if node.mesh is not None else []),
            *([scene.cameras[node.camera]] if node.camera is not None else []),
            *([scene.lights[node.light]] if node.light is not None else []),
        ]
        records = [self._record(extras) for extras in (node.extras, *(part.extras for part in carried))]
        return [number for number in records if number is not None]

    def _record(self, extras: Mapping[str, object]) -> int | None:
        noted = extras.get(self._format)
        if not isinstance(noted, dict) or _is_companion(noted):
            return None
        offset = noted.get("offset")
        return self.extents.beginning_at(offset) if isinstance(offset, int) else None

    def _assign(self, scene: Scene) -> None:
        """Assign each record to a node; a record used by several nodes belongs to the first."""
        for index, node in enumerate(scene.nodes):
            for number in self._records_of(node):
                self._node_of_record.setdefault(number, index)
        if not self._record_per_track:
            return
        for channel in (channel for clip in scene.clips for channel in clip.channels):
            record = self._record(channel.track.extras)
            if record is not None:
                self._node_of_record.setdefault(record, channel.node)


def _is_companion(noted: object) -> bool:
    return isinstance(noted, dict) and str(noted.get("path", "")).startswith(COMPANION)
