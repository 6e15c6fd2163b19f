"""Chunks of 3D Studio files: u16 id, u32 length that includes these six bytes, fields, sub-chunks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import ClassVar, TypeVar, cast

from keyframer.formats.kit import chunk_tree
from keyframer.formats.kit.chunk_tree import ChunkTree, chunk
from keyframer.wire.field_types import blob
from keyframer.wire.record import record


@cache
def _segment(chunk_id: int) -> str:
    return f"{chunk_id:04x}"


TREE = ChunkTree("3D Studio", "H", length_counts_header=True, segment=_segment)
HEADER_SIZE = TREE.header_size
chunk_name = TREE.name_of


@record(kw_only=True)
class Chunk(chunk_tree.Chunk):
    """A chunk of a known kind. Sub-chunks follow the fields, in file order."""

    tree: ClassVar[ChunkTree] = TREE


@record
class RawChunk(chunk_tree.RawChunk, Chunk):
    """A chunk kept as bytes: unknown, in the wrong parent, or with unreadable content."""


TREE.raw = RawChunk
CHUNKS = cast("dict[int, type[Chunk]]", TREE.kinds)
"""Every declared chunk by its id."""


@record
class Opaque(Chunk):
    """Base of chunks without a documented layout: their content is kept as bytes."""

    opaque = True

    data: bytes = blob("layout unknown")


C = TypeVar("C", bound=Chunk)


def declare(
    chunk_id: int, name: str, base: type[C], parents: Iterable[int], description: str, *, repeats: bool = False
) -> type[C]:
    """Declare a chunk that has the fields of its base, and none of its own."""
    cls = type(name, (base,), {"__doc__": description, "__module__": __name__})
    globals()[name] = cls = chunk(chunk_id, parents=parents, repeats=repeats)(cls)  # pickling searches in the module
    return cls
