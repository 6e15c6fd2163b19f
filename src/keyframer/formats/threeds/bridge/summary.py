"""Tables of a 3D Studio document: overview, objects, maps, nodes, tracks, shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from keyframer.arrays import Array
from keyframer.formats.document import Document
from keyframer.formats.kit.chunk_tree import ANYWHERE
from keyframer.formats.kit.summary_tables import Cell, Table, overview
from keyframer.formats.threeds.chunk import Chunk, chunk_name
from keyframer.formats.threeds.records import (
    Camera,
    CurrentTime,
    Editor,
    FaceArray,
    Frames,
    InstanceName,
    KeyframerHeader,
    Light,
    LoftPath,
    LoftShape,
    Map,
    MapName,
    MasterScale,
    Material,
    MaterialGroup,
    MaterialName,
    Mesh,
    MeshVersion,
    NamedObject,
    Node,
    NodeHeader,
    NodeId,
    ParentName,
    PointArray,
    Polygon2D,
    Spotlight,
    TextureVertices,
    Track,
    Version,
)
from keyframer.wire.record import Record

C = TypeVar("C", bound=Record)

_WRAPS = {0: "single", 2: "repeat", 3: "loop"}
_NODE_KINDS = {
    0xB001: "ambient",
    0xB002: "object",
    0xB003: "camera",
    0xB004: "camera target",
    0xB005: "omni light",
    0xB006: "spot target",
    0xB007: "spotlight",
}


def summarise(document: Document) -> Iterator[Table]:
    """Yield the tables for ``keyframer info``."""
    yield _overview(document)
    yield _objects(document)
    yield _maps(document)
    yield from _nodes(document)
    yield _shapes(document)


def describe(cls: type[Chunk]) -> dict[str, str]:
    """Return id and parents of a class of chunks, for the documentation."""
    parents = ["any chunk"] if cls.parents == ANYWHERE else [chunk_name(parent) for parent in cls.parents]
    if len(parents) > 4:  # map slots and similar families: the ids are enough
        parents = [f"{parent:04x}" for parent in cls.parents]
    return {
        "id": "many" if cls.many_ids else f"{cls.ID:04x}",
        "inside": ", ".join(parents) or ("any chunk" if cls.many_ids else "the file"),
    }


def _overview(document: Document) -> Table:
    header = document.first(KeyframerHeader)
    frames = document.first(Frames)
    unit = _first(document.first(Editor) or next(iter(document.records), None), MasterScale)
    return overview(
        ("version", _value(document.first(Version), "version")),
        ("mesh version", _value(document.first(MeshVersion), "version")),
        ("master scale", _value(unit, "scale")),
        ("written by", None if header is None else header.name or None),
        ("keyframer revision", _value(header, "revision")),
        ("length in frames", _value(header, "length")),
        ("active segment", None if frames is None else f"{frames.start}..{frames.end}"),
        ("current time", _value(document.first(CurrentTime), "time")),
    )


def _value(record: object | None, name: str) -> Cell:
    value: Cell = None if record is None else getattr(record, name)
    return value


def _children(record: Record, kind: type[C]) -> Iterator[C]:
    """Yield the direct children of a kind."""
    return (child for child in record.children if isinstance(child, kind))


def _first(record: Record | None, kind: type[C]) -> C | None:
    return None if record is None else next(_children(record, kind), None)


def _objects(document: Document) -> Table:
    table = Table("objects", "Objects", ("name", "kind", "vertices", "faces", "uv", "materials"))
    for named_object in document.find(NamedObject):
        mesh = _first(named_object, Mesh)
        if mesh is None:
            table.add(named_object.name, _kind_of(named_object), None, None, None, None)
            continue
        points, faces, uv = _first(mesh, PointArray), _first(mesh, FaceArray), _first(mesh, TextureVertices)
        groups = [*_children(mesh, MaterialGroup), *(_children(faces, MaterialGroup) if faces else ())]
        table.add(
            named_object.name,
            "mesh",
            0 if points is None else len(points.points),
            0 if faces is None else len(faces.faces),
            None if uv is None else len(uv.uv),
            b", ".join(dict.fromkeys(group.material for group in groups)) or None,
        )
    return table


def _kind_of(named_object: NamedObject) -> str:
    light = _first(named_object, Light)
    if light is not None:
        return "omni light" if _first(light, Spotlight) is None else "spotlight"
    if _first(named_object, Camera) is not None:
        return "camera"
    return "other" if named_object.children else "empty"


def _maps(document: Document) -> Table:
    maps = Table("maps", "Maps", ("material", "slot", "file"))
    for material in document.find(Material):
        name_chunk = _first(material, MaterialName)
        for slot in _children(material, Map):
            file = _first(slot, MapName)
            name = b"" if name_chunk is None else name_chunk.name
            maps.add(name, type(slot).__name__, None if file is None else file.name)
    return maps


def _nodes(document: Document) -> tuple[Table, Table]:
    """Return the nodes as a tree (by node id and parent), and their tracks in the same order."""
    nodes = Table("nodes", "Nodes", ("name", "kind", "id", "parent", "tracks", "keys", "frames"))
    tracks = Table("tracks", "Tracks", ("node", "track", "keys", "first", "last", "wrap"))
    for node, depth in _as_tree(list(document.find(Node))):
        name = _name_of(node)
        spans: list[tuple[int, int]] = []
        key_count = 0
        node_tracks = list(_children(node, Track))
        for track in node_tracks:
            keys: Any = getattr(track, "keys", ())
            key_count += len(keys)
            span = (int(keys.time.min()), int(keys.time.max())) if len(keys) else None
            spans += [span] if span else []
            wrap = _WRAPS.get(track.flags & 3, "single (1)")
            kind = type(track).__name__.removesuffix("Track").lower()
            tracks.add(name, kind, len(keys), *(span or (None, None)), wrap)
        header, node_id = _first(node, NodeHeader), _first(node, NodeId)
        parent_name = _first(node, ParentName)
        parent: Cell = None if header is None or header.parent == -1 else header.parent
        nodes.add(
            name,
            _NODE_KINDS[node.id],
            None if node_id is None else node_id.id_,
            parent if parent_name is None else parent_name.name,
            len(node_tracks),
            key_count,
            f"{min(first for first, _ in spans)}..{max(last for _, last in spans)}" if spans else None,
            depth=depth,
        )
    return nodes, tracks


def _shapes(document: Document) -> Table:
    """Return the curves of the shaper and the lofter."""
    columns = ("kind", "level", "polygons", "closed", "vertices", "straight")
    table = Table("shapes", "Shapes", columns, in_summary=True)
    for polygon in document.find(Polygon2D):
        table.add("polygon", None, *_curve(polygon.vertices))
    for path in document.find(LoftPath):
        table.add("path", None, *_curve(path.vertices))
    for shape in document.find(LoftShape):
        table.add("shape", shape.level, *_curve(shape.vertices))
    return table


def _curve(vertices: Array) -> tuple[int, int, int, bool]:
    """Return the number of polygons, of closed ones and of vertices, and whether all sides are straight."""
    last = vertices["flags"] & 1 != 0
    closed = last & (vertices["flags"] & 2 != 0)
    straight = not (vertices["into"].any() or vertices["out"].any())
    return int(last.sum()), int(closed.sum()), len(vertices), straight


def _name_of(node: Node) -> bytes:
    """Return the name of a node with its instance name: ``Tower``, ``$$$DUMMY.Rotor``."""
    header, instance = _first(node, NodeHeader), _first(node, InstanceName)
    name = b"" if header is None else header.name
    return name if instance is None else name + b"." + instance.name


def _as_tree(nodes: list[Node]) -> Iterator[tuple[Node, int]]:
    """Yield each node with its depth, parents before children; nodes in or below a cycle of parents come last."""
    ids: dict[int, int] = {}
    for index, node in enumerate(nodes):
        node_id = _first(node, NodeId)
        if node_id is not None:
            ids.setdefault(node_id.id_, index)
    children: dict[int | None, list[int]] = {}
    for index, node in enumerate(nodes):
        header = _first(node, NodeHeader)
        parent = None if header is None or header.parent == -1 else ids.get(header.parent)
        children.setdefault(None if parent == index else parent, []).append(index)
    seen: set[int] = set()
    for start in (*children.get(None, ()), *range(len(nodes))):
        stack = [(start, 0)]
        while stack:
            index, depth = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            yield nodes[index], depth
            stack.extend((child, depth + 1) for child in reversed(children.get(index, ())))
