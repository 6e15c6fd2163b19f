"""What the bridge of a format offers to those who only read: a reader of scenes, without what writing needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from keyframer.formats.document import Document
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

O = TypeVar("O")  # noqa: E741  # a dataclass of options


class KeyLayout(NamedTuple):
    """Where the keys of a track lie: rows of a table."""

    field: str = "keys"
    """of the record: a table with a row for each key"""
    holder: type[Record] | None = None
    """the kind of record that has the table, where it is not the track's own"""
    columns: tuple[int, int] | None = None
    """first byte and number of bytes in each row; None for the whole row"""
    order: Sequence[int | None] | None = None
    """the row of each key, None for a key that is not stored; without it rows are keys"""


class SceneReader(ABC, Generic[O]):
    """Makes scenes of documents."""

    options: type[O]
    """a dataclass; all its fields have defaults"""

    @abstractmethod
    def to_scene(self, document: Document, options: O) -> Scene:
        """What a document means."""

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Options for the companions that stand beside a file."""
        return {}

    def key_layout(self, record: Record, channel: Channel) -> KeyLayout | None:
        """How the keys of a channel lie, by the record that it was read from; None where they have no place."""
        return KeyLayout() if hasattr(record, "keys") else None
