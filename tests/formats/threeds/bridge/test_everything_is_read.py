"""No data of the document is lost on the way to the scene.

One document has every declared chunk. Every field of every record in it is changed, one at a time: if the scene stays
the same, the bridge does not read that field. The same is done by removing each chunk.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.document import Document
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import CHUNKS, Chunk, RawChunk
from keyframer.issues import IssueLog
from keyframer.scene import Scene
from keyframer.wire.record import Record
from tests.formats.threeds.bridge.everything import everything

NOT_IN_THE_DOCUMENT = {
    r.Main: "a file has one top chunk, and the project is the one that holds most",
    r.MaterialLibrary: "likewise",
}
INSIDE_OPAQUE_BYTES = 0x8000
"""application data is kept as bytes: what its entries are called is known, but they are never typed"""

NOT_CARRIED: dict[str, str] = {
    # record.field: why the scene does not change
}


def plain(value: Any) -> Any:
    """A scene as nested plain values, without its issues and its origin."""
    if isinstance(value, IssueLog):
        return None
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return (value.shape, value.tolist())
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(child) for child in value]
    return sorted(value) if isinstance(value, set) else value


def shown(document: Document) -> str:
    return repr(plain(document.format.to_scene(document, {})))


def changed_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Other values of the same type, each with a description of the change."""
    if isinstance(value, Keys):
        yield "time", value.replace(time=value.time + np.int32(1))
        yield "flags", value.replace(flags=value.flags | np.uint16(0x400))
        if value.value.size:
            yield "value", value.replace(value=value.value * np.float32(1.25))
        if value.text:
            yield "text", value.replace(text=(b"Shape", b"Box", b"Shape"))
        for name in ("tension", "continuity", "bias", "ease_to", "ease_from"):
            yield name, value.replace(**{name: value.column(name) + np.float32(0.125)})
    elif isinstance(value, np.ndarray) and value.dtype.names:
        for name in value.dtype.names:
            for _, column in changed_values(value[name]):
                other = value.copy()
                other[name] = column
                yield name, other
    elif isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[-1] = 1 if other.flat[-1] != 1 else 0
        yield "", other
    elif isinstance(value, tuple):
        yield "", (*value[:-1], value[-1] + 1)
    elif isinstance(value, bytes):
        yield "", bytes([value[0] + 1]) + value[1:] if value else b"x"
    else:
        yield "", value + 1


def declared() -> set[type[Chunk]]:
    return {cls for cls in CHUNKS.values() if cls not in NOT_IN_THE_DOCUMENT and cls.parents != (INSIDE_OPAQUE_BYTES,)}


def one_of_each(document: Document) -> Iterator[tuple[Record, Record]]:
    """One pair of parent and record for each combination of their classes."""
    seen = set()
    stack = [(top, child) for top in document.records for child in top.children]
    while stack:
        parent, record = stack.pop()
        if (type(parent), type(record)) not in seen:
            seen.add((type(parent), type(record)))
            yield parent, record
        stack += [(record, child) for child in record.children]


def halves() -> list[Document]:
    """The document in two halves, so that hundreds of changes can be tried quickly: without the keyframer, and with
    only the editor chunks that nodes need.
    """
    still, moving = everything(), everything()
    still.records[0].children = [child for child in still.records[0].children if not isinstance(child, r.Keyframer)]
    for section in moving.records[0].children:
        if isinstance(section, r.Editor):
            section.children = [item for item in section.children if isinstance(item, r.NamedObject)]
    moving.records[0].children = [
        child for child in moving.records[0].children if isinstance(child, (r.Editor, r.Keyframer))
    ]
    return [still, moving]


def in_half(document: Document) -> list[tuple[Record, Record]]:
    """Parents and records that are tested with this half."""
    inside = {id(record) for _, record in document.walk()}
    for top in document.records:
        for item in top.children:
            if isinstance(item, r.Editor) and document.first(r.Keyframer) is not None:
                inside -= {id(record) for _, record in Document(document.format, [item]).walk()}
    return [(parent, record) for parent, record in one_of_each(document) if id(record) in inside]


def test_the_document_has_every_chunk() -> None:
    document = everything()
    assert {type(record) for _, record in document.walk()} == declared()
    decoded = keyframer.decode(keyframer.encode(document))
    assert [type(record) for _, record in decoded.walk()] == [type(record) for _, record in document.walk()]
    assert decoded.issues.first_unsafe() is None


HALVES = pytest.mark.parametrize("half", [0, 1], ids=["editor", "keyframer"])


@HALVES
def test_every_field_reaches_the_scene(half: int) -> None:
    document = halves()[half]
    before = shown(document)
    unread = []
    for _, record in in_half(document):
        for plan in record.plan.fields:
            kept = getattr(record, plan.name)
            for what, value in changed_values(kept):
                setattr(record, plan.name, value)
                if shown(document) == before:
                    unread.append(".".join(filter(None, (type(record).__name__, plan.name, what))))
            setattr(record, plan.name, kept)
    assert shown(document) == before
    assert sorted(set(unread) - set(NOT_CARRIED)) == []


@HALVES
def test_every_chunk_and_every_trailing_byte_reaches_the_scene(half: int) -> None:
    """By removing a chunk, adding trailing bytes to it, and adding an unknown chunk inside it."""
    document = halves()[half]
    before = shown(document)
    unread = []
    for parent, record in in_half(document):
        kept = list(parent.children)
        parent.children = [child for child in kept if child is not record]
        if shown(document) == before:
            unread.append(f"{type(record).__name__} in {type(parent).__name__}")
        parent.children = kept
        record.tail = b"loose"
        if shown(document) == before:
            unread.append(f"tail of {type(record).__name__}")
        record.tail = b""
        if isinstance(record, Chunk) and record.valid_children:
            record.children.append(RawChunk(chunk_id=0x0777, data=b"?"))
            if shown(document) == before:
                unread.append(f"unknown chunk in {type(record).__name__}")
            record.children.pop()
    assert sorted(set(unread) - set(NOT_CARRIED)) == []


def test_reading_is_deterministic() -> None:
    document = everything()
    twin = keyframer.decode(keyframer.encode(copy.deepcopy(document)))
    first: Scene = document.format.to_scene(document, {})
    assert repr(plain(first)) == shown(document)
    assert len(first.nodes) == len(twin.format.to_scene(twin, {}).nodes)
