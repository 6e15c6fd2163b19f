"""Chunks: id, length, fields, sub-chunks, and the parents in which each kind is valid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import ClassVar, TypeVar, dataclass_transform

from keyframer.text import counted
from keyframer.wire.field_types import blob
from keyframer.wire.record import Raw, Record, record

HEADER_SIZE = 6
"""u16 id, u32 length; the length includes these six bytes."""

ANYWHERE = (-1,)
"""Parents of a chunk that is valid in every container."""


@record(kw_only=True)
class Chunk(Record):
    """A chunk of a known kind. Sub-chunks follow the fields, in file order."""

    ID: ClassVar[int]
    parents: ClassVar[tuple[int, ...]]
    once_bit: ClassVar[int] = 0
    """a bit that identifies the class if a parent may contain only one such chunk; else 0"""
    opaque: ClassVar[bool] = False
    """whether only the name of the chunk is known: its layout is not documented"""
    optional: ClassVar[bool] = False
    """whether a scene is complete without the chunk: unreadable content is only a warning"""
    many_ids: ClassVar[bool] = False
    """whether the class is used for several ids: each chunk stores its own id"""
    valid_children: ClassVar[dict[int, type[Chunk]]]
    """valid sub-chunks by id; empty for a leaf"""

    claimed: tuple[int, int] | None = None
    """The stored length and the actual length, if they differ.

    The stored length is written again if the chunk has the same size and nothing follows it in its parent; otherwise
    the actual length is written.
    """

    @property
    def id(self) -> int:
        return self.ID

    @property
    def segment(self) -> str:
        return f"{self.id:04x}"


@record
class RawChunk(Raw, Chunk):
    """A chunk kept as bytes: unknown, in the wrong parent, or with unreadable content."""

    many_ids = True
    parents: ClassVar[tuple[int, ...]] = ()
    valid_children: ClassVar[dict[int, type[Chunk]]] = {}

    chunk_id: int = 0
    data: bytes = blob("everything after the header")
    reason: str = ""
    """code of the issue that gives the cause; empty without an issue"""

    @property
    def id(self) -> int:
        return self.chunk_id

    @property
    def numbered(self) -> bool:
        return self.chunk_id in REPEATING

    def __repr__(self) -> str:
        size = counted(len(self.data), "byte")
        return f"{type(self).__name__}({', '.join(filter(None, (self.segment, size, self.reason)))})"


@record
class Opaque(Chunk):
    """Base of chunks without a documented layout: their content is kept as bytes."""

    opaque = True

    data: bytes = blob("layout unknown")


CHUNKS: dict[int, type[Chunk]] = {}
"""Every declared chunk by its id."""

REPEATING: set[int] = set()
"""Ids of chunks that usually occur several times: the path of such a chunk, typed or raw, always has an index."""

_ONCE_BITS = count()

C = TypeVar("C", bound=Chunk)


@dataclass_transform(eq_default=False)
def chunk(
    chunk_id: int, *, parents: Iterable[int], repeats: bool = False, once: bool = False, optional: bool = False
) -> Callable[[type[C]], type[C]]:
    """Class decorator: declare the chunk with this id. ``once``: a parent may contain only one such chunk."""

    def decorate(cls: type[C]) -> type[C]:
        if chunk_id in CHUNKS:
            raise ValueError(f"chunk {chunk_id:04x} is declared twice")
        record_class = record(cls)
        record_class.ID = chunk_id
        record_class.parents = tuple(parents)
        record_class.repeats, record_class.optional = repeats, optional
        CHUNKS[chunk_id] = record_class
        if repeats:
            REPEATING.add(chunk_id)
        if once:
            record_class.once_bit = 1 << next(_ONCE_BITS)
        return record_class

    return decorate


def declare(
    chunk_id: int, name: str, base: type[C], parents: Iterable[int], description: str, *, repeats: bool = False
) -> type[C]:
    """Declare a chunk that has the fields of its base, and none of its own."""
    cls = type(name, (base,), {"__doc__": description, "__module__": __name__})
    globals()[name] = cls = chunk(chunk_id, parents=parents, repeats=repeats)(cls)  # pickling searches in the module
    return cls


def compute_valid_children() -> None:
    """Compute the valid sub-chunks of each chunk from the declared parents; called once, after all declarations."""
    inside: dict[int, dict[int, type[Chunk]]] = {}
    for chunk_id, cls in CHUNKS.items():
        for parent in cls.parents:
            inside.setdefault(parent, {})[chunk_id] = cls
    everywhere = inside.pop(*ANYWHERE)
    for chunk_id, cls in CHUNKS.items():
        if not cls.many_ids:
            cls.valid_children = {**everywhere, **inside[chunk_id]} if chunk_id in inside else {}


def chunk_name(chunk_id: int) -> str:
    """Return id and name of a chunk, ``4110 PointArray``, or only the id if the chunk is unknown."""
    cls = CHUNKS.get(chunk_id)
    return f"{chunk_id:04x} {cls.__name__}" if cls else f"{chunk_id:04x}"
