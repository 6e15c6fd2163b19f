"""The chunks of Blitz3D files, in the terms of the specification, and their codec."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from keyframer.arrays import Array, Ints
from keyframer.catalogue import IO_UNRECOGNISED
from keyframer.formats.b3d import FORMAT
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document
from keyframer.formats.kit import chunk_tree
from keyframer.formats.kit.chunk_tree import ChunkTree, chunk
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.wire.cursor import frozen
from keyframer.wire.field_types import Expression, array_to_end, f32, i32, linked_array, strz, vector
from keyframer.wire.record import Record, record
from keyframer.wire.rows import Column, Rows, rows
from keyframer.wire.structure import Structure

TREE = ChunkTree("Blitz3D", length_counts_header=False)
_MAIN, _NODE, _MESH = TREE.tag("BB3D"), TREE.tag("NODE"), TREE.tag("MESH")

NORMALS, COLOURS = 1, 2
"""bits of `Vertices.flags`"""
POSITION, SCALE, ROTATION = 1, 2, 4
"""bits of `Keys.flags`"""
COLOUR, ALPHA, MASKED, MIP_MAPS, CLAMP_U, CLAMP_V, SPHERE_MAP, CUBE_MAP = 1, 2, 4, 8, 16, 32, 64, 128
SECOND_COORDINATES = 65536
"""bits of `Texture.flags`"""
FULL_BRIGHT, USE_COLOURS, FLAT, NO_FOG, TWO_SIDED, USE_ALPHA = 1, 2, 4, 8, 16, 32
"""bits of `Brush.fx`"""
ALPHA_BLEND, ADD = 1, 3
"""values of `Brush.blend`"""
WEIGHT = np.dtype([("vertex", "<i4"), ("weight", "<f4")])
BLENDS = "0 none, 1 alpha, 2 multiply, 3 add"


@record(kw_only=True)
class Chunk(chunk_tree.Chunk):
    """A chunk of a known kind."""

    tree: ClassVar[ChunkTree] = TREE


@record
class RawChunk(chunk_tree.RawChunk, Chunk):
    """A chunk kept as bytes: unknown, in the wrong parent, or with unreadable content."""


TREE.raw = RawChunk


@chunk(_MAIN, parents=())
class Main(Chunk):
    """The file: textures, brushes and one root node."""

    version: int = i32("version: 100 x major + minor; 1 in all known files", default=1)


@record
class Texture(Record):
    """A texture."""

    repeats = True

    file: bytes = strz("texture file name")
    flags: int = i32(
        "1 colour, 2 alpha, 4 masked, 8 mip-maps, 16 clamp U, 32 clamp V, 64 spherical environment map, 128 cube map, "
        "256 keep in video memory, 512 high colour, 65536 second texture coordinates",
        default=1,
    )
    blend: int = i32(BLENDS, default=2)
    position: tuple[float, float] = f32("x and y position", 2)
    scale: tuple[float, float] = f32("x and y scale", 2, default=(1.0, 1.0))
    rotation: float = f32("rotation in radians")


@chunk(TREE.tag("TEXS"), parents=[_MAIN], repeats=True)
class Textures(Chunk):
    """Textures; usually one chunk has all."""

    entries = Texture


@record
class Brush(Record):
    """A brush: the properties of a surface."""

    repeats = True

    name: bytes = strz("brush name")
    color: tuple[float, float, float, float] = f32("red, green, blue, alpha", 4, default=(1.0, 1.0, 1.0, 1.0))
    shininess: float = f32("specularity")
    blend: int = i32(BLENDS, default=1)
    fx: int = i32(
        "1 full-bright, 2 use vertex colours, 4 flat shaded, 8 no fog, 16 two-sided, 32 alpha of vertex colours"
    )
    textures: Ints = linked_array("<i4", Expression("texture_count"), "numbers of textures; -1 for none")
    texture_count: int = 0
    """number of textures of each brush of the chunk"""


@chunk(TREE.tag("BRUS"), parents=[_MAIN], repeats=True)
class Brushes(Chunk):
    """Brushes; usually one chunk has all, but some exporters write one for each brush."""

    entries = Brush
    shared = ("texture_count",)

    texture_count: int = i32("number of textures per brush")


@chunk(_NODE, parents=[_MAIN, _NODE], repeats=True)
class Node(Chunk):
    """A node: a mesh, a bone or a pivot, then its keys, nodes below it and its animation."""

    name: bytes = strz("name of node")
    position: tuple[float, float, float] = vector("local position")
    scale: tuple[float, float, float] = vector("local scale", default=(1.0, 1.0, 1.0))
    rotation: tuple[float, float, float, float] = f32(
        "local rotation: quaternion w x y z", 4, default=(1.0, 0.0, 0.0, 0.0)
    )


@chunk(_MESH, parents=[_NODE], once=True)
class Mesh(Chunk):
    """A mesh: its vertices, then groups of triangles."""

    brush: int = i32("number of the master brush; -1 for none", default=-1)


@chunk(TREE.tag("VRTS"), parents=[_MESH], once=True)
class Vertices(Chunk):
    """The vertices of a mesh."""

    flags: int = i32("1 with normals, 2 with colours")
    sets: int = i32("texture coordinates per vertex: number of sets")
    components: int = i32("numbers in each set of texture coordinates", default=2)
    vertices: Array = rows(
        (
            Column("position", "<f4", "3"),
            Column("normal", "<f4", "3", when="(flags & 1) != 0"),
            Column("color", "<f4", "4", when="(flags & 2) != 0"),
            Column("coordinates", "<f4", "sets * components"),
        ),
        "vertices",
    )


@chunk(TREE.tag("TRIS"), parents=[_MESH], repeats=True)
class Triangles(Chunk):
    """Triangles with one brush."""

    brush: int = i32("number of the brush; -1: the master brush of the mesh", default=-1)
    corners: Ints = array_to_end(("<i4", (3,)), "vertices of each triangle")


@chunk(TREE.tag("BONE"), parents=[_NODE], once=True)
class Bone(Chunk):
    """Makes its node a bone: the vertices that it moves."""

    weights: Array = array_to_end(WEIGHT, "vertex of the mesh above the bone, and its weight")


@chunk(TREE.tag("KEYS"), parents=[_NODE], repeats=True)
class Keys(Chunk):
    """Animation keys; a node may have several such chunks."""

    flags: int = i32("1 with positions, 2 with scales, 4 with rotations")
    keys: Array = rows(
        (
            Column("frame", "<i4"),
            Column("position", "<f4", "3", when="(flags & 1) != 0"),
            Column("scale", "<f4", "3", when="(flags & 2) != 0"),
            Column("rotation", "<f4", "4", when="(flags & 4) != 0"),
        ),
        "keys",
    )


@chunk(TREE.tag("ANIM"), parents=[_NODE], once=True)
class Animation(Chunk):
    """The animation of a node and all below it."""

    flags: int = i32("unused: 0")
    frames: int = i32("number of frames")
    rate: float = f32("frames per second; 0: 60")


@chunk(TREE.tag("SEQS"), parents=[_NODE], repeats=True, optional=True)
class Sequence(Chunk):
    """A named range of frames, which some exporters write; not part of the specification."""

    name: bytes = strz("name of the sequence")
    first: int = i32("first frame")
    last: int = i32("last frame")
    flags: int = i32("unknown: 0")


TREE.compute_valid_children()
VERTICES, KEYS = (
    next(field.kind for field in cls.plan.fields if isinstance(field.kind, Rows)) for cls in (Vertices, Keys)
)
"""the tables of vertices and keys, whose columns depend on the flags of their record"""


def _new_document(data: bytes, limits: Limits) -> Document:
    if not data.startswith(b"BB3D") or len(data) < TREE.least_size(Main):
        raise IO_UNRECOGNISED.failure(0, "/", reason="a Blitz3D file begins with BB3D, its length and a version")
    return Document(FORMAT, limits=limits)


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a Blitz3D file; raises `FormatError` if it is not one or exceeds a limit."""
    document = _new_document(data, limits)
    TREE.decode(data, document)
    return document


def recover(data: bytes, limits: Limits) -> Document:
    """Return the whole records of a damaged file."""
    return TREE.recover(data, _new_document(data, limits))


def mend(record: Record, parent: Record | None, field: str) -> bool:
    """Leave out triangles without vertices, links to brushes and textures that do not exist, and the rest of a list
    that ends inside an entry."""
    if field == "brush" and isinstance(record, Mesh | Triangles):
        holder = parent if record.brush == -1 and isinstance(parent, Mesh) else record  # triangles may inherit
        holder.brush = -1
    elif field == "corners" and isinstance(record, Triangles) and parent is not None:
        count = sum(len(child.vertices) for child in parent.children if isinstance(child, Vertices))
        record.corners = frozen(record.corners[((record.corners >= 0) & (record.corners < count)).all(axis=1)])
    elif field == "textures" and isinstance(record, Brush):
        record.textures = frozen(np.full(len(record.textures), -1, "<i4"))
    elif isinstance(record, Brushes | Textures) and record.children and record.tail:
        record.tail = b""
    else:
        return False
    return True


def structure(dialect: None = None) -> Structure:
    """Return the structure of a file: one chunk, with all others inside."""
    return TREE.structure("b3d", FORMAT.title)


CODEC = Codec(
    decode,
    TREE.encode,
    (*TREE.kinds.values(), Texture, Brush, RawChunk),
    recover=recover,
    mend=mend,
    structure=structure,
)
