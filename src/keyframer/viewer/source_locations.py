"""Where nodes, tracks and keys of a scene lie in the file it was made from: at the offsets that bridges have noted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import COMPANION
from keyframer.scene import Camera, Channel, Light, Mesh, Node, RawChannel, Scene
from keyframer.viewer.key_locations import KeyFinder
from keyframer.viewer.record_bytes import KeyRows, Place, RecordRanges, Records, Span, Strided, around

IN_COMPANION = "It is stored in the companion, not in this file."
NO_RECORD = "This file holds no record of it."
BEFORE_THE_FIRST = "The file does not store this key: it is the state before the first key. This is its track."


class Finder(Protocol):
    """Answers where something lies; None or nothing where the file has no such place."""

    @property
    def records(self) -> Records: ...

    def node_places(self, node: Node) -> list[tuple[Span, str]]:
        """The record of a node, then those of what it carries; with what they are."""

    def track_place(self, channel: Channel | RawChannel) -> Place | None:
        """The bytes of a track."""

    def key_places(self, channel: Channel | RawChannel) -> KeyRows | None:
        """A place for each key."""

    def why_nowhere(self, part: Node | Channel | RawChannel) -> str:
        """Why something has no place, or not all that it might have."""

    def why_no_key(self, channel: Channel | RawChannel) -> str:
        """Why a single key has no place."""

    def node_at(self, offset: int) -> int | None:
        """The node that a byte belongs to."""


class SourceLocations:
    """Those of a file that has a document, at the offsets that its bridge has noted."""

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
        """The record of a track where it has one, else what it has in a record of several."""
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
        return rows if isinstance(rows, Strided) else around(rows)

    def key_places(self, channel: Channel | RawChannel) -> KeyRows | None:
        if isinstance(channel, RawChannel):
            return self._table(channel)
        number = self._record(channel.track.extras)
        return None if number is None else self._finder.keys(channel, number)

    def _table(self, channel: RawChannel) -> Strided | None:
        """A place for each row of a channel that nobody knows the meaning of."""
        number = self._record(channel.extras)
        return None if number is None else self._finder.table(number)

    def why_nowhere(self, part: Node | Channel | RawChannel) -> str:
        extras = part.track.extras if isinstance(part, Channel) else part.extras
        return IN_COMPANION if _is_companion(extras.get(self._format)) else NO_RECORD

    def why_no_key(self, channel: Channel | RawChannel) -> str:
        if isinstance(channel, Channel) and channel.track.kind == "visible":
            return BEFORE_THE_FIRST
        return self.why_nowhere(channel)

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
        """Which node a record belongs to; a record that several nodes use belongs to the first."""
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
