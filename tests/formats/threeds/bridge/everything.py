"""A document with every declared chunk in a valid place, in which no two values are equal."""

from __future__ import annotations

from itertools import count
from typing import Any, TypeVar

import numpy as np

from keyframer.formats.document import Document
from keyframer.formats.kit.chunk_tree import ANYWHERE
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import CHUNKS, Chunk, RawChunk
from keyframer.formats.threeds.document import new_document

C = TypeVar("C", bound=Chunk)

TOP = 0xC23D  # a project: the top chunk that holds most

_fresh = count(3)


def unique(value: Any) -> Any:
    """A value of the same type that no other field has."""
    if isinstance(value, bool):
        raise TypeError(value)
    if isinstance(value, int):
        return next(_fresh) % 250
    if isinstance(value, float):
        return next(_fresh) / 8
    if isinstance(value, tuple):
        return tuple(unique(item) for item in value)
    if isinstance(value, bytes):
        text = f"n{next(_fresh)}".encode()
        return text.ljust(len(value), b"\0") if value else text
    if isinstance(value, np.ndarray):
        rows = np.zeros((2, *value.shape[1:]), value.dtype)
        for column in [rows[name] for name in value.dtype.names] if value.dtype.names else [rows]:
            column.flat = [next(_fresh) % 250 for _ in range(column.size)]
        return rows
    raise TypeError(f"{value!r} needs a value by hand")


def make(cls: type[C], *children: Chunk, **fields: Any) -> C:
    """A chunk whose fields have unique values, except those given."""
    record = cls(**fields)
    for plan in cls.plan.fields:
        if plan.name not in fields:
            setattr(record, plan.name, unique(getattr(record, plan.name)))
    record.children = list(children)
    return record


def track(cls: type[r.Track], values: Any = (), times: tuple[int, ...] = (0, 4, 9), **fields: Any) -> r.Track:
    shape = {name: [(next(_fresh) % 50) / 100 for _ in times] for name in ("tension", "continuity", "bias")}
    ease = {name: [(1 + next(_fresh) % 40) / 100 for _ in times] for name in ("ease_to", "ease_from")}
    return make(cls, keys=Keys.make(times, values, **shape, **ease, **fields), flags=3)


def numbers(rows: int, width: int) -> np.ndarray:
    return np.array([[next(_fresh) / 8 for _ in range(width)] for _ in range(rows)], np.float32)


def simple_chunks() -> dict[int, list[type[Chunk]]]:
    """Chunk classes by the id of the parent they are put into, without those made in `_by_hand`."""
    by_hand = {type(record) for _, record in Document(new_document().format, _linked_chunks()).walk()}
    placed: dict[int, list[type[Chunk]]] = {}
    for chunk_id, cls in CHUNKS.items():
        if cls in by_hand or cls.many_ids:
            continue
        homes = (
            [TOP]
            if cls.parents == ANYWHERE or TOP in cls.parents
            else [home for home in cls.parents if _can_contain_chunks(home)]
        )
        if homes:
            placed.setdefault(homes[0], []).append(CHUNKS[chunk_id])
    return placed


def _can_contain_chunks(chunk_id: int) -> bool:
    """Whether a chunk is read as a container; chunks known only by name are not."""
    return chunk_id in CHUNKS and not CHUNKS[chunk_id].opaque


def _linked_chunks() -> list[Chunk]:
    """The chunks that must match each other."""
    square = make(
        r.Mesh,
        r.PointArray(points=numbers(4, 3)),
        r.PointFlags(flags=np.array([8192, 1, 2, 3], np.uint16)),
        r.FaceArray(
            faces=np.array([[0, 1, 2, 3], [2, 3, 0, 0x4005]], np.uint16),
            children=[
                r.MaterialGroup(material=b"paint", faces=np.array([1], np.uint16)),
                r.SmoothGroups(groups=np.array([5, 9], np.uint32)),
            ],
        ),
        r.TextureVertices(uv=numbers(4, 2)),
        r.MeshMatrix(x_axis=(2.0, 0.0, 0.0), y_axis=(0.0, 3.0, 0.0), z_axis=(0.0, 0.0, 1.5), origin=(7.0, 8.0, 9.0)),
    )
    other = make(r.Mesh, r.PointArray(points=numbers(4, 3)))
    editor = make(
        r.Editor,
        make(r.Material, make(r.MaterialName, name=b"paint"), make(r.MaterialShading, shading=2)),
        make(r.NamedObject, square, name=b"Box"),
        make(r.NamedObject, other, name=b"Shape"),
        make(r.NamedObject, make(r.Light, make(r.Spotlight)), name=b"Spot"),
        make(r.NamedObject, make(r.Camera), name=b"Cam"),
        make(r.NamedObject, name=b"Nothing"),
    )
    header = {"flags1": 0x4000, "flags2": 5}
    keyframer = make(
        r.Keyframer,
        make(r.KeyframerHeader, revision=5),
        make(
            r.AmbientNode,
            make(r.NodeHeader, name=b"$AMBIENT$", parent=-1, **header),
            track(r.ColorTrack, numbers(3, 3)),
        ),
        make(
            r.ObjectNode,
            make(r.NodeId, id_=11),
            make(r.NodeHeader, name=b"Box", parent=12, **header),
            track(r.PositionTrack, numbers(3, 3)),
            track(r.RotationTrack, np.abs(numbers(3, 4)) % 3 + 0.1),
            track(r.ScaleTrack, numbers(3, 3)),
            track(r.MorphTrack, text=(b"Box", b"Shape", b"Box")),
            track(r.HideTrack),
        ),
        make(
            r.CameraNode,
            make(r.NodeId, id_=12),
            make(r.NodeHeader, name=b"Cam", parent=-1, **header),
            track(r.FovTrack, numbers(3, 1)),
            track(r.RollTrack, numbers(3, 1)),
        ),
        make(r.CameraTargetNode, make(r.NodeId, id_=13), make(r.NodeHeader, name=b"Cam", parent=-1, **header)),
        make(
            r.SpotNode,
            make(r.NodeId, id_=14),
            make(r.NodeHeader, name=b"Spot", parent=-1, **header),
            track(r.HotspotTrack, numbers(3, 1)),
            track(r.FalloffTrack, numbers(3, 1)),
        ),
        make(r.SpotTargetNode, make(r.NodeId, id_=15), make(r.NodeHeader, name=b"Spot", parent=-1, **header)),
        make(r.OmniNode, make(r.NodeId, id_=16), make(r.NodeHeader, name=b"Omni", parent=-1, **header)),
    )
    return [make(r.Project, editor, keyframer, r.ProjectSetting(chunk_id=0xC123, data=b"folder"))]


def everything() -> Document:
    """The document; always the same one."""
    global _fresh
    _fresh = count(3)
    top = _linked_chunks()
    waiting = simple_chunks()
    for _, parent in Document(new_document().format, top).walk():
        _add_children(parent, waiting)
    assert not waiting, waiting
    return new_document(*top)


def _add_children(parent: Any, waiting: dict[int, list[type[Chunk]]]) -> None:
    """Put the waiting chunks into their parents, recursively."""
    todo = [parent]
    while todo:
        chunk = todo.pop()
        if isinstance(chunk, RawChunk):
            continue
        for cls in waiting.pop(chunk.id, ()):
            child = make(cls)
            chunk.children.append(child)
            todo.append(child)
        if chunk.id in (0xA010, 0xA020, 0xA030, 0x2100, 0x1200, 0x2200, 0x2302):
            chunk.children += [make(cls) for cls in (r.ColorFloat, r.ColorFloatGamma) if _absent(chunk, cls)]
        if chunk.id in (0xA040, 0xA041, 0xA050, 0xA052, 0xA053, 0xA084, 0xA042) and not chunk.children:
            chunk.children.append(make(r.PercentInt))


def _absent(chunk: Chunk, cls: type[Chunk]) -> bool:
    return not any(isinstance(child, cls) for child in chunk.children)
