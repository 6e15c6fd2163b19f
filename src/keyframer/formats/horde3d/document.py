"""The records of Horde3D animations, geometry and scene files, in the terms of the engine, and their codec.

Reading loses no bytes: records are typed up to the first unreadable one; the rest of the file is one `RawRun`, because
records have no sizes.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from keyframer.arrays import Array, Singles
from keyframer.catalogue import IO_UNRECOGNISED, LIMIT_NAME, LIMIT_RECORDS
from keyframer.formats.contract import HEAD_SIZE, Codec
from keyframer.formats.document import Document, RawRun, RecordReader
from keyframer.formats.horde3d import (
    ANIMATION_ID,
    ANIMATION_VERSIONS,
    FORMAT,
    GEOMETRY_ID,
    GEOMETRY_VERSION,
    is_scene,
)
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.field_types import Chars, chars, declare, lines, linked_array, u8, u32
from keyframer.wire.record import Record, record, write_fields
from keyframer.wire.rows import Column, rows
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Cases, Next, Part, Structure, structure_of
from keyframer.wire.xml_tree import parse

NAME_SIZE = 256
SCENE_NAME = "/scenegraph"
"""the first part of the paths of elements"""
_FRAME = (Column("rotation", "<f4", "4"), Column("position", "<f4", "3"), Column("scale", "<f4", "3"))
_FRAMES = "quaternion x y z w, position, scale; relative to the parent, which the scene file has"

_STORED_FRAMES = "frame_count * (compressed == 0) + (compressed != 0)"


@record
class Animation(Record):
    """The header of an animation, with its entities as children. Counts are recomputed on writing, unless a `RawRun`
    is among the children."""

    id: bytes = declare(Chars(4), "the letters H3DA", ANIMATION_ID)
    version: int = u32("2 or 3", default=ANIMATION_VERSIONS[-1])
    entity_count: int = u32("entities")
    frame_count: int = u32("frames")


@record
class Entity(Record):
    """The motion of the nodes with one name, in version 3."""

    repeats = True

    name: bytes = chars(NAME_SIZE, "name of a joint or mesh, NUL-ended; what follows the NUL has no meaning")
    compressed: int = u8("not 0: only one frame is stored, which is shown in all frames")
    frames: Array = rows(_FRAME, _FRAMES, count=_STORED_FRAMES)
    frame_count: int = 0
    """frames according to the header; used only for reading"""


@record
class OldEntity(Record):
    """The motion of the nodes with one name, in version 2."""

    repeats = True
    segment = "entity"

    name: bytes = chars(NAME_SIZE, "name of a joint or mesh, NUL-ended; what follows the NUL has no meaning")
    frames: Array = rows(_FRAME, _FRAMES, count="frame_count")
    frame_count: int = 0
    """frames according to the header; used only for reading"""


@record
class Geometry(Record):
    """The header of geometry, with streams, triangles and morph targets as children. Counts are recomputed as in
    `Animation`."""

    id: bytes = declare(Chars(4), "the letters H3DG", GEOMETRY_ID)
    version: int = u32("5", default=GEOMETRY_VERSION)
    joint_count: int = u32("joints")
    inverse_bind: Singles = linked_array(
        ("<f4", (16,)), "joint_count", "inverse bind matrix of each joint, column by column; joint 0 is the model"
    )
    stream_count: int = u32("streams")
    vertex_count: int = u32("vertices")


KINDS = ("position", "normal", "tangent", "bitangent", "joints", "weights", "coordinates", "second_coordinates")
"""the kinds of streams by their numbers; also the column of such a stream"""
_LAYOUTS = (("<f4", "3"), *[("<i2", "3")] * 3, *[("|u1", "4")] * 2, *[("<f4", "2")] * 2)
SIZES = (12, 6, 6, 6, 4, 4, 8, 8)
_IS_KNOWN = [f"(kind == {kind} and element_size == {size})" for kind, size in enumerate(SIZES)]
_STREAM = tuple(Column(name, *layout, known) for name, layout, known in zip(KINDS, _LAYOUTS, _IS_KNOWN, strict=True))


@record
class Stream(Record):
    """One property of all vertices."""

    repeats = True

    kind: int = u32(
        "0 position, 1 normal (of 32767), 2 tangent, 3 bitangent, 4 joints, 5 their weights (of 255), "
        "6 texture coordinates, 7 second texture coordinates"
    )
    element_size: int = u32("bytes per vertex", default=12)
    values: Array = rows(
        (*_STREAM, Column("unknown", "|u1", "element_size", when=f"not ({' or '.join(_IS_KNOWN)})")),
        "a row for each vertex",
        count="vertex_count",
    )
    vertex_count: int = 0
    """vertices according to the header; used only for reading"""


@record
class Triangles(Record):
    """The triangles of all meshes; the number of morph targets follows."""

    corner_count: int = u32("corners: three for each triangle")
    corners: Array = linked_array("<u4", "corner_count", "vertices, counter-clockwise seen from outside")
    target_count: int = u32("morph targets")


@record
class MorphTarget(Record):
    """A morph target: vertices, with their differences as children."""

    repeats = True

    name: bytes = chars(NAME_SIZE, "name, NUL-ended")
    vertex_count: int = u32("vertices that the target moves")
    vertices: Array = linked_array("<u4", "vertex_count", "vertices")
    stream_count: int = u32("streams")


@record
class MorphStream(Record):
    """The differences of one property at the vertices of a morph target."""

    repeats = True

    kind: int = u32("0 position, 1 normal, 2 tangent, 3 bitangent")
    element_size: int = u32("bytes per vertex", default=12)
    values: Array = rows(
        (
            Column("difference", "<f4", "3", when="element_size == 12"),
            Column("unknown", "|u1", "element_size", when="not (element_size == 12)"),
        ),
        "a row for each vertex of the target",
        count="vertex_count",
    )
    vertex_count: int = 0
    """vertices of the target; used only for reading"""


@record
class SceneGraph(Record):
    """A scene file: XML with nested ``Model``, ``Joint``, ``Mesh`` and other elements."""

    text: bytes = lines("the text")


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode an animation, geometry or a scene file. Raises `FormatError` if the data is neither or exceeds a limit."""
    return _Reader(data, limits).document


class _Reader(RecordReader):
    """Reads one file."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        super().__init__(Document(FORMAT, limits=limits), Cursor(data, limits=limits))
        version = int.from_bytes(data[4:8], "little")
        if data[:4] == ANIMATION_ID and version in ANIMATION_VERSIONS:
            read = self._animation
        elif data[:4] == GEOMETRY_ID and version == GEOMETRY_VERSION:
            read = self._geometry
        elif is_scene(data[:HEAD_SIZE]):
            read = self._scene
        else:
            raise IO_UNRECOGNISED.failure(0, "/", reason="a Horde3D file begins with H3DA, H3DG or <Model")
        with self:
            read()

    def _scene(self) -> None:
        parse(self.cursor.data, SCENE_NAME, self.cursor.limits)
        self.read(SceneGraph)

    def _animation(self) -> None:
        header = self.read(Animation)
        self.open(header)
        kind: type[Entity] | type[OldEntity] = Entity if header.version > 2 else OldEntity
        for index in self._counted(header.entity_count, NAME_SIZE, "entity_count", 8):
            self._check_name(self.read(kind, index, frame_count=header.frame_count).name)

    def _geometry(self) -> None:
        header = self.read(Geometry)
        self.open(header)
        for index in self._counted(header.stream_count, 8, "stream_count", self.cursor.pos - 8):
            self.read(Stream, index, vertex_count=header.vertex_count)
        triangles = self.read(Triangles)
        for index in self._counted(triangles.target_count, NAME_SIZE + 8, "target_count", self.cursor.pos - 4):
            target = self.read(MorphTarget, index)
            self._check_name(target.name)
            place, siblings = self.cursor.place, self.siblings
            self.cursor.place = place.child(target.segment, index)
            self.siblings = target.children = []
            for number in self._counted(target.stream_count, 8, "stream_count", self.cursor.pos - 4):
                self.read(MorphStream, number, vertex_count=target.vertex_count)
            self.cursor.place, self.siblings = place, siblings

    def _counted(self, count: int, size: int, field: str, offset: int) -> range:
        """Return the numbers of records of at least ``size`` bytes; the first that is cut ends the reading."""
        cursor, limit = self.cursor, self.cursor.limits.records
        if min(count, cursor.left // size) + len(self.siblings) + 1 > limit:
            cursor.fail(LIMIT_RECORDS, field, offset, limit=limit)
        return range(count)

    def _check_name(self, text: bytes) -> None:
        size, limit = len(name_of(text)), self.cursor.limits.name
        if size > limit:
            self.cursor.fail(LIMIT_NAME, "name", size=size, limit=limit)


def encode(document: Document) -> bytes:
    """Return the bytes of a document, made from its records alone."""
    sink = Sink()
    for top in document.records:
        if not isinstance(top, Animation | Geometry | SceneGraph | RawRun):
            raise ValueError(f"{top!r} cannot be at the top level of a Horde3D file")
        _write(top, sink)
    sink.write(document.trailing)
    return sink.getvalue()


_ORDER: dict[type[Record], tuple[type[Record], ...]] = {
    Animation: (Entity, OldEntity, RawRun),
    Geometry: (Stream, Triangles, MorphTarget, RawRun),
    MorphTarget: (MorphStream, RawRun),
}
"""the children that a record can have, in this order"""


def _write(source: Record, sink: Sink) -> None:
    order = _ORDER.get(type(source), ())
    ranks = [order.index(type(child)) if type(child) in order else -1 for child in source.children]
    if -1 in ranks or ranks != sorted(ranks) or source.tail:
        names = ", ".join(cls.__name__ for cls in order) or "none"
        raise ValueError(f"{source!r} has children that are not allowed here (expected: {names}, in this order)")
    write_fields(_with_counts(source), sink)
    for child in source.children:
        if isinstance(child, Triangles) and isinstance(source, Geometry):
            child = _with_target_count(child, source)
        _write(child, sink)


def _is_whole(source: Record) -> bool:
    return not any(isinstance(child, RawRun) for child in source.children)


def _with_target_count(triangles: Triangles, geometry: Geometry) -> Triangles:
    counted = copy(triangles)
    if _is_whole(geometry):
        counted.target_count = sum(isinstance(child, MorphTarget) for child in geometry.children)
    return counted


def _with_counts(source: Record) -> Record:
    """Return a record with the counts of its children; unchanged if a raw run is among them."""
    if not _is_whole(source):
        return source
    counted = copy(source)
    if isinstance(counted, Animation):
        counted.entity_count = len(counted.children)
        if any((type(child) is Entity) != (counted.version > 2) for child in counted.children):
            raise ValueError(f"version {counted.version} has other records of entities")
        entities = [child for child in counted.children if isinstance(child, Entity | OldEntity)]
        counts = {len(entity.frames) for entity in entities if not getattr(entity, "compressed", 0)}
        _set_common(counted, "frame_count", counts, "entities have different numbers of frames")
    elif isinstance(counted, Geometry):
        streams = [child for child in counted.children if isinstance(child, Stream)]
        counted.stream_count = len(streams)
        counts = {len(child.values) for child in streams}
        _set_common(counted, "vertex_count", counts, "streams have different numbers of vertices")
    elif isinstance(counted, MorphTarget):
        counted.stream_count = len(counted.children)
        if any(len(rows) != len(counted.vertices) for rows in _values_of(counted)):
            raise ValueError("a stream of a morph target has another number of vertices")
    return counted


def _values_of(target: MorphTarget) -> list[Array]:
    return [child.values for child in target.children if isinstance(child, MorphStream)]


def _set_common(header: Record, field: str, counts: set[int], problem: str) -> None:
    if len(counts) > 1:
        raise ValueError(problem)
    for count in counts:
        setattr(header, field, count)


def mend(source: Record, parent: Record | None, field: str) -> bool:
    """Leave out triangles and morphed vertices that do not exist, and weights of joints that do not exist."""
    if isinstance(source, Triangles) and isinstance(parent, Geometry):
        corners = source.corners[: len(source.corners) // 3 * 3].reshape(-1, 3)
        source.corners = frozen(corners[(corners < parent.vertex_count).all(axis=1)].reshape(-1))
    elif isinstance(source, MorphTarget) and isinstance(parent, Geometry):
        kept = source.vertices < parent.vertex_count
        source.vertices = frozen(source.vertices[kept])
        for stream in source.children:
            if isinstance(stream, MorphStream):
                stream.values = frozen(stream.values[kept])
    elif isinstance(source, Stream) and isinstance(parent, Geometry) and "joints" in (source.values.dtype.names or ()):
        values = source.values.copy()
        values["joints"][values["joints"] >= parent.joint_count] = 0
        source.values = frozen(values)
    else:
        return False
    return True


def structure(dialect: None = None) -> Structure:
    """Return the structure of an animation or of geometry; a scene file is text."""
    frames = "parent.header.frame_count"
    counts = {_STORED_FRAMES: f"compressed != 0 ? 1 : {frames}", "frame_count": frames}
    entities: dict[int | str, Structure] = {
        3: structure_of(Entity, elsewhere=counts),
        2: structure_of(OldEntity, elsewhere=counts),
    }
    animation = (
        Part("header", structure_of(Animation)),
        Part("entities", Cases("header.version", entities), count="header.entity_count"),
    )
    vertices = {"vertex_count": "parent.header.vertex_count"}
    morph_stream = structure_of(MorphStream, elsewhere={"vertex_count": "parent.vertex_count"})
    target = structure_of(MorphTarget).extended(Part("streams", morph_stream, count="stream_count"))
    geometry = (
        Part("header", structure_of(Geometry).restricted("version", GEOMETRY_VERSION)),
        Part("streams", structure_of(Stream, elsewhere=vertices), count="header.stream_count"),
        Part("triangles", structure_of(Triangles)),
        Part("morph_targets", target, count="triangles.target_count"),
    )
    contents: dict[int | str, Structure] = {
        ANIMATION_ID.decode(): Structure("animation_file", animation),
        GEOMETRY_ID.decode(): Structure("geometry_file", geometry),
    }
    text = Structure("scene_file", (Part("scene_graph", structure_of(SceneGraph)),))
    return Structure("horde3d", (Part("content", Cases(Next(4), contents, text)), TRAILING), FORMAT.title)


CODEC = Codec(
    decode,
    encode,
    (Animation, Entity, OldEntity, Geometry, Stream, Triangles, MorphTarget, MorphStream, SceneGraph, RawRun),
    mend=mend,
    structure=structure,
)


def name_of(text: bytes) -> bytes:
    """Return a name without its NUL and what follows: programs leave random bytes there."""
    return text.partition(b"\0")[0]


def entities_of(document: Document) -> list[Entity | OldEntity]:
    return [found for found in document.find(Record) if isinstance(found, Entity | OldEntity)]


def rows_of(stream: Stream | MorphStream, column: str) -> Array | None:
    """Return a column of a stream; None if it has no such column."""
    return stream.values[column] if column in (stream.values.dtype.names or ()) else None


def streams_of(geometry: Geometry) -> dict[str, Array]:
    """Return the known streams of geometry by kind; of several, the last counts, as in the engine."""
    found: dict[str, Array] = {}
    for child in geometry.children:
        if isinstance(child, Stream) and child.kind < len(KINDS):
            values = rows_of(child, KINDS[child.kind])
            if values is not None:
                found[KINDS[child.kind]] = np.asarray(values)
    return found
