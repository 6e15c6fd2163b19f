"""The interface for reading scenes from documents; it imports nothing that only writing needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar

from keyframer.formats.document import Document
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

O = TypeVar("O")  # noqa: E741  # a dataclass of options


class KeyLocation(NamedTuple):
    """Where a record stores the keys of a track: rows of a table."""

    field: str = "keys"
    """field of the record: a table with one row for each key"""
    holder: type[Record] | None = None
    """type of the record that has the table, if it is not the record of the track"""
    columns: tuple[int, int] | None = None
    """first byte and number of bytes in each row; None for the whole row"""
    order: Sequence[int | None] | None = None
    """the row of each key, None for a key that is not stored; by default row n is key n"""


class SceneReader(ABC, Generic[O]):
    """Reads scenes from documents."""

    options: type[O]
    """a dataclass; all its fields have defaults"""
    internal_options: ClassVar[tuple[str, ...]] = ()
    """options that `companions` sets, not the user"""

    @abstractmethod
    def to_scene(self, document: Document, options: O) -> Scene:
        """Return the scene of a document."""

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Return options for the companions in the folder of a file."""
        return {}

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return where the record of a channel stores its keys; None if they are not stored."""
        return KeyLocation() if hasattr(record, "keys") else None
