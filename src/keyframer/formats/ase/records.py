"""The records of an ASE file: lines, blocks, and tables of numbers.

A record is written as it was read if its fields have not changed: `body` has the original rows of a table, and `lead`,
`text` and `close` have other text that 3ds Max would write differently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from keyframer.arrays import Array
from keyframer.formats.ase.keywords import BLOCKS, CONTROLLERS, LINES, REPEATED, BlockEntry
from keyframer.formats.ase.text_values import (
    Values,
    as_integers,
    as_written,
    floats,
    integers,
    keyword_field,
    read_number,
    read_rows,
    values_field,
    write_number,
    write_rows,
)
from keyframer.wire.cursor import frozen
from keyframer.wire.field_types import blob
from keyframer.wire.record import Raw, Record, record


@record(kw_only=True)
class AseRecord(Record):
    """Base of all records, with the text before a record."""

    lead: str | None = None
    """text before the record; None: a line feed and a tab for each level, or nothing before the first record"""


@record
class RawText(Raw, AseRecord):
    """Text that is neither a line nor a block, or a line whose values do not match its keyword."""

    segment = "raw"

    data: bytes = blob("the text, unchanged")
    reason: str = ""
    """code of the issue that gives the cause"""


@record
class Line(AseRecord):
    """A keyword and its values; the values of unknown keywords are kept as text."""

    keyword: bytes = keyword_field("without its star")
    values: Values = values_field("numbers and text, as the keyword requires")
    text: str | None = None
    """text after the keyword; None: the values as 3ds Max writes them"""

    @property
    def segment(self) -> str:
        return self.keyword.decode("latin-1").lower()

    @property
    def signature(self) -> str:
        entry = LINES.get(self.keyword)
        return "" if entry is None else entry.signature


@record
class Block(AseRecord):
    """A keyword with values and content in braces; each known keyword has its own record type."""

    KEYWORD: ClassVar[bytes] = b""
    signature: ClassVar[str] = ""
    values: Values = values_field("between keyword and brace: a number or a name, if the keyword has one")
    text: str | None = None
    """text after the keyword, up to the opening brace; None: the values and a brace"""
    close: str | None = None
    """text from the last record inside to the closing brace; None: the brace on its own line; empty if it is missing"""
    other: str = ""
    """the keyword of a block of unknown kind"""

    @property
    def keyword(self) -> bytes:
        return self.KEYWORD or self.other.encode("latin-1")

    @property
    def segment(self) -> str:
        return self.keyword.decode("latin-1").lower()

    def get(self, keyword: bytes) -> Values | None:
        """Return the values of the first line inside with this keyword and with values; None without one."""
        for child in self.children:
            if isinstance(child, Line) and child.keyword == keyword and child.values:
                return child.values
        return None

    def has(self, keyword: bytes) -> bool:
        """Return whether the block contains a line with this keyword."""
        return any(isinstance(child, Line) and child.keyword == keyword for child in self.children)

    def number(self, keyword: bytes, default: float) -> float:
        """Return the first value of the line with this keyword if it is a finite number, else the default."""
        values = self.get(keyword)
        value = default if values is None or isinstance(values[0], bytes) else float(values[0])
        return value if math.isfinite(value) else default

    def vector(self, keyword: bytes) -> tuple[float, float, float] | None:
        """Return the first three numbers of the line with this keyword; None unless all are finite."""
        values = self.get(keyword)
        if values is None or len(values) < 3:
            return None
        x, y, z = (float(value) for value in values[:3])
        return (x, y, z) if math.isfinite(x + y + z) else None

    def name(self, keyword: bytes) -> bytes | None:
        """Return the first value of the line with this keyword if it is text, else None."""
        values = self.get(keyword)
        return values[0] if values and isinstance(values[0], bytes) else None

    def names(self, keyword: bytes) -> list[bytes]:
        """Return the first value of each line inside with this keyword, if it is text."""
        lines = [child.values for child in self.children if isinstance(child, Line) and child.keyword == keyword]
        return [values[0] for values in lines if values and isinstance(values[0], bytes)]

    def blocks(self, *keywords: bytes) -> list[Block]:
        """Return the blocks inside with these keywords."""
        return [child for child in self.children if isinstance(child, Block) and child.keyword in keywords]

    def block(self, keyword: bytes) -> Block | None:
        """Return the first block inside with this keyword, or None."""
        return next(iter(self.blocks(keyword)), None)


def _block_type(keyword: bytes, entry: BlockEntry) -> type[Block]:
    namespace = {"KEYWORD": keyword, "signature": entry.signature, "repeats": keyword in REPEATED}
    block_class = type(entry.name, (Block,), {"__doc__": entry.description, "__module__": __name__, **namespace})
    return record(block_class)


BLOCK_TYPES: dict[bytes, type[Block]] = {keyword: _block_type(keyword, entry) for keyword, entry in BLOCKS.items()}
"""the record type of each keyword whose block has lines inside"""
globals().update({cls.__name__: cls for cls in BLOCK_TYPES.values()})  # pickle searches for them here


class _FromFile(AseRecord):
    """Facts about a table that was read; they are not part of its content."""

    __slots__ = ("as_read", "depth")
    depth: int
    """number of blocks around it"""
    as_read: tuple[object, ...]
    """its fields after reading: if they are still the same objects, nothing has changed"""


@record(kw_only=True)
class Table(_FromFile):
    """A block of numbers; it is written as it was read if its columns have not changed."""

    KEYWORD: ClassVar[bytes]
    needed: ClassVar[bool] = True
    """whether scenes need its numbers: other text in their place is an error"""
    body: bytes | None = as_written("the rows as they were written")
    text: str | None = None
    """text after the keyword, up to the opening brace; None: only a brace"""

    def fields(self) -> tuple[object, ...]:
        return tuple([getattr(self, plan.name) for plan in self.plan.fields])

    @property
    def keyword(self) -> bytes:
        return self.KEYWORD

    @property
    def segment(self) -> str:
        return self.keyword.decode("latin-1").lower()

    @classmethod
    def empty(cls, keyword: bytes) -> Table:
        """Return a table without rows for a keyword."""
        return cls()

    def read(self, body: bytes) -> bool:
        """Read the columns from the text in braces; return False if it is not a table."""
        raise NotImplementedError

    def rows(self, start: str) -> str:
        """Return the text of all rows, each after ``start`` (a line feed and its tabs)."""
        raise NotImplementedError

    def write(self, depth: int) -> bytes:
        """Return the text in braces, made from the columns."""
        return f"{self.rows(chr(10) + chr(9) * (depth + 1))}\n{chr(9) * depth}".encode("latin-1")

    def rewritten(self) -> bytes:
        return self.write(getattr(self, "depth", 0))


class NumberTable(Table):
    """Rows with a keyword, an index and some values."""

    __slots__ = ()
    ROW_KEYWORD: ClassVar[bytes]
    WIDTH: ClassVar[int] = 3
    OTHER_WIDTHS: ClassVar[tuple[int, ...]] = ()
    """numbers in a row as other exporters write it; missing ones are 0, further ones are ignored"""
    INDEX_FORMAT: ClassVar[str] = " %d"
    INTEGER_VALUES: ClassVar[bool] = False
    index: Array
    values: Array

    def read(self, body: bytes) -> bool:
        rows_read = read_rows(body, b"*" + self.ROW_KEYWORD)
        if rows_read is None:
            return False
        if not len(rows_read):
            return True
        width = rows_read.shape[1] - 1
        index = as_integers(rows_read[:, 0]) if width in (self.WIDTH, *self.OTHER_WIDTHS) else None
        rows_read = np.pad(rows_read[:, 1 : 1 + self.WIDTH], ((0, 0), (0, max(self.WIDTH - width, 0))))
        rows = as_integers(rows_read) if self.INTEGER_VALUES else rows_read
        if index is None or rows is None:
            return False
        self.index, self.values = frozen(index), frozen(np.ascontiguousarray(rows))
        return True

    def rows(self, start: str) -> str:
        columns = [np.asarray(self.index), *np.asarray(self.values).T]
        if len({len(column) for column in columns}) > 1:
            raise ValueError("index and values have different lengths")
        values = ("\t%d" if self.INTEGER_VALUES else "\t%s") * self.WIDTH
        template = f"{start}*{self.ROW_KEYWORD.decode()}{self.INDEX_FORMAT}{values}"
        return write_rows(template, columns)


@record
class VertexList(NumberTable):
    """Vertices of a mesh, in world space."""

    KEYWORD = b"MESH_VERTEX_LIST"
    ROW_KEYWORD = b"MESH_VERTEX"
    INDEX_FORMAT = " %4d"
    index: Array = integers("number of the vertex")
    values: Array = floats("x, y, z", 3)


@record
class TextureVertexList(NumberTable):
    """Texture coordinates."""

    KEYWORD = b"MESH_TVERTLIST"
    ROW_KEYWORD = b"MESH_TVERT"
    OTHER_WIDTHS = (2,)  # some exporters for games write no w
    index: Array = integers("number of the texture vertex")
    values: Array = floats("u, v, w; v runs up", 3)


@record
class TextureFaceList(NumberTable):
    """The texture vertices of the corners of faces."""

    KEYWORD = b"MESH_TFACELIST"
    ROW_KEYWORD = b"MESH_TFACE"
    INTEGER_VALUES = True
    index: Array = integers("number of the face")
    values: Array = integers("texture vertex of each corner", 3)


@record
class ColorVertexList(NumberTable):
    """Vertex colours."""

    KEYWORD = b"MESH_CVERTLIST"
    ROW_KEYWORD = b"MESH_VERTCOL"
    OTHER_WIDTHS = (4,)  # some exporters for games add the opacity
    index: Array = integers("number of the colour")
    values: Array = floats("red, green, blue", 3)


@record
class ColorFaceList(NumberTable):
    """The colours of the corners of faces."""

    KEYWORD = b"MESH_CFACELIST"
    ROW_KEYWORD = b"MESH_CFACE"
    INTEGER_VALUES = True
    index: Array = integers("number of the face")
    values: Array = integers("colour of each corner", 3)


_FACE = re.compile(rb"\*MESH_FACE\s([^*]*)(?:\*MESH_SMOOTHING(?![A-Z_])([^*]*))?(?:\*MESH_MTLID\s([^*]*))?")
_EDGES = b":AB:BC:CA:"
_LABELS = (b":A:B:C" + _EDGES, b":A:B:C:", b"A:B:C" + _EDGES, b"A:B:C:")
"""what follows the numbers of a face; Q3Map2 writes no colon after the first"""
_NOT_LABELS = b"0123456789 \t\r\n-+"
_TO_SPACE = bytes.maketrans(b":ABC", b"    ")


@record
class FaceList(Table):
    """Faces: three vertices, visible edges, smoothing groups and a material id."""

    KEYWORD = b"MESH_FACE_LIST"
    index: Array = integers("number of the face")
    corners: Array = integers("vertices A, B, C", 3)
    edges: Array = integers("edges AB, BC, CA: 1 visible, 0 hidden", 3)
    smoothing: Array = integers("bit mask of the smoothing groups 1 to 32; -1: not stated")
    materials: Array = integers("number of the sub-material; -1: not stated")

    def read(self, body: bytes) -> bool:
        rows = _FACE.findall(body)
        if len(rows) != body.count(b"*MESH_FACE") or (not rows and body.strip()) or _FACE.sub(b"", body).strip():
            return False
        if not rows:
            return True
        faces = b" ".join([row[0] for row in rows])
        labels = faces.translate(None, _NOT_LABELS)
        layout = next((layout for layout in _LABELS if labels == layout * len(rows)), None)
        # a separate row for each face, so that numbers of one face cannot be read as those of the next
        marked = b" *".join([b"", *(row[0].translate(_TO_SPACE) for row in rows)])
        numbers = read_rows(marked, b"*")
        if layout is None or numbers is None or numbers.shape[1] != (7 if layout.endswith(_EDGES) else 4):
            return False
        rows_read = as_integers(numbers)
        has_smoothing = b"*MESH_SMOOTHING" in body
        groups = _convert_all(_smoothing_mask, [row[1] if has_smoothing else None for row in rows])
        ids = _convert_all(_material_id, [row[2] for row in rows])
        if rows_read is None or groups is None or ids is None:
            return False
        edges = rows_read[:, 4:] if layout.endswith(_EDGES) else np.ones_like(rows_read[:, 1:4])
        self.index, self.corners = frozen(rows_read[:, 0].copy()), frozen(rows_read[:, 1:4].copy())
        self.edges, self.smoothing, self.materials = frozen(edges.copy()), frozen(groups), frozen(ids)
        return True

    def rows(self, start: str) -> str:
        masks = np.asarray(self.smoothing).tolist()
        texts = {mask: _smoothing_text(mask) for mask in set(masks)}
        groups = [texts[mask] for mask in masks]
        ids = ["" if number < 0 else f"\t*MESH_MTLID {number}" for number in np.asarray(self.materials).tolist()]
        columns = [np.asarray(self.index), *np.asarray(self.corners).T, *np.asarray(self.edges).T]
        if len({len(column) for column in (*columns, groups, ids)}) > 1:
            raise ValueError("the columns have different lengths")
        template = f"{start}*MESH_FACE %4d:    A: %4d B: %4d C: %4d AB: %4d BC: %4d CA: %4d"
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        return "".join(
            [template % row + group + material for row, group, material in zip(numbers, groups, ids, strict=True)]
        )


def _convert_all(read: Callable[[bytes | None], int | None], texts: list[bytes | None]) -> Array | None:
    """Return the number of each text, None if one is invalid; equal texts are converted once."""
    numbers = {text: read(text) for text in set(texts)}
    return None if None in numbers.values() else np.array([numbers[text] for text in texts], np.int64)


def _smoothing_mask(text: bytes | None) -> int | None:
    if text is None:
        return -1
    mask = 0
    for word in text.replace(b",", b" ").split():
        if not word.isdigit() or len(word) > 9:
            return None
        if int(word):  # 0 means no group; exporters that count more than 32 groups begin again
            mask |= 1 << (int(word) - 1) % 32
    return mask


def _material_id(text: bytes | None) -> int | None:
    word = (text or b"").strip()
    if not word:
        return -1
    number = read_number(word)
    if number is None or not -(1 << 31) <= number < 1 << 32 or number != int(number):
        return None
    return max(int(number), -1) if number < 1 << 31 else -1  # -1 as an unsigned number


def _smoothing_text(mask: int) -> str:
    if mask < 0:
        return ""
    groups = ",".join(str(group + 1) for group in range(32) if mask >> group & 1)
    return f"\t *MESH_SMOOTHING {groups}{' ' if groups else ''}"


_NORMAL = re.compile(rb"\*MESH_(FACE|VERTEX)NORMAL(?![A-Za-z0-9_])")


@record
class Normals(Table):
    """Normals of faces and of corners or vertices. 3ds Max writes the corners of each face after the face; other
    exporters write other orders, or only one of both. Scenes use the former; else smoothing groups are enough."""

    KEYWORD = b"MESH_NORMALS"
    needed = False
    index: Array = integers("number of each face")
    normals: Array = floats("normal of each face", 3)
    corners: Array = integers("vertex of each corner")
    corner_normals: Array = floats("normal of each corner", 3)

    def read(self, body: bytes) -> bool:
        is_face = np.array([kind == b"FACE" for kind in _NORMAL.findall(body)], np.bool_)
        rows_read = read_rows(_NORMAL.sub(b"*", body), b"*")
        if rows_read is None or len(rows_read) != len(is_face):
            return False
        if not len(rows_read):
            return True
        numbers = as_integers(rows_read[:, 0]) if rows_read.shape[1] == 4 else None
        if numbers is None:
            return False
        self.index, self.normals = frozen(numbers[is_face]), frozen(rows_read[is_face, 1:])
        self.corners, self.corner_normals = frozen(numbers[~is_face]), frozen(rows_read[~is_face, 1:])
        return True

    def rows(self, start: str) -> str:
        """Return the rows in the order of 3ds Max if each face has three corners; else those of faces come first."""
        faces = [np.asarray(self.index), *np.asarray(self.normals).T]
        corners = [np.asarray(self.corners), *np.asarray(self.corner_normals).T]
        if any(len({len(column) for column in columns}) > 1 for columns in (faces, corners)):
            raise ValueError("numbers and normals have different lengths")
        face = f"{start}*MESH_FACENORMAL %d\t%s\t%s\t%s"
        corner = f"{start}\t*MESH_VERTEXNORMAL %d\t%s\t%s\t%s"
        if len(corners[0]) != 3 * len(faces[0]):
            return write_rows(face, faces) + write_rows(corner, corners)
        return write_rows(face + 3 * corner, [*faces, *(column[first::3] for first in range(3) for column in corners)])


@record
class Keys(Table):
    """The keys of a controller: one row for each, with its time in ticks."""

    keyword: bytes = keyword_field("keyword of the controller")
    times: Array = integers("in ticks; `SCENE_TICKSPERFRAME` of them make a frame")
    values: Array = floats(
        "value of each key, then the parameters of its controller: tension, continuity, bias, ease in, ease out (TCB) "
        "or both tangents and flags (Bezier)",
        0,
    )

    @classmethod
    def empty(cls, keyword: bytes) -> Keys:
        return cls(keyword)

    def read(self, body: bytes) -> bool:
        for row in CONTROLLERS[self.keyword].rows:
            rows_read = read_rows(body, b"*" + row)
            if rows_read is not None:
                break
        if rows_read is None:
            return False
        if not len(rows_read):
            return True
        times = as_integers(rows_read[:, 0]) if rows_read.shape[1] > CONTROLLERS[self.keyword].width else None
        if times is None:
            return False
        self.times, self.values = frozen(times), frozen(np.ascontiguousarray(rows_read[:, 1:]))
        return True

    def rows(self, start: str) -> str:
        entry = CONTROLLERS.get(self.keyword)
        if entry is None:
            raise ValueError(f"{self.keyword!r} is not the keyword of a controller")
        columns = [np.asarray(self.times), *np.asarray(self.values).T]
        template = f"{start}*{entry.rows[0].decode()} %d" + "\t%s" * (len(columns) - 1)
        if entry.flags and len(columns) > 1 and (flags := as_integers(columns[-1])) is not None:
            template, columns[-1] = template[:-2] + "%d", flags
        if len({len(column) for column in columns}) > 1:
            raise ValueError("times and values have different lengths")
        return write_rows(template, columns)


_NAMED_WEIGHT = re.compile(rb'\s*(?:"([^"\n]*)"|([^\s"]+))\s+([^\s"]+)')


@record
class SoftSkin(Table):
    """Bones and weights for the vertices of an object, as added by exporters for games: free text, no keywords."""

    KEYWORD = b"MESH_SOFTSKINVERTS"
    signature: ClassVar[str] = "t+"
    names: Values = values_field("name of the object, then the bone of each influence")
    counts: Array = integers("influences of each vertex")
    weights: Array = floats("weight of each influence")

    def read(self, body: bytes) -> bool:
        lines = [line for line in body.split(b"\n") if line.strip()]
        if len(lines) < 2 or not lines[1].strip().isdigit() or len(lines[1]) > 16 or int(lines[1]) != len(lines) - 2:
            return False
        names = [lines[0].strip().strip(b'"')]
        weights: list[float] = []
        counts: list[int] = []
        for line in lines[2:]:
            count, _, pairs = line.strip().partition(b"\t") if b"\t" in line.strip() else line.strip().partition(b" ")
            influences = _NAMED_WEIGHT.findall(pairs)
            numbers = [read_number(weight) for _, _, weight in influences]
            if not count.isdigit() or len(count) > 6 or int(count) != len(influences) or None in numbers:
                return False
            names += [quoted or bare for quoted, bare, _ in influences]
            weights += [number for number in numbers if number is not None]
            counts.append(len(influences))
        self.names, self.counts = tuple(names), frozen(np.array(counts, np.int64))
        self.weights = frozen(np.array(weights, np.float64))
        return True

    def rows(self, start: str) -> str:
        name, *bones = [value.decode("latin-1") if isinstance(value, bytes) else "" for value in self.names or (b"",)]
        counts, weights = np.asarray(self.counts).tolist(), np.asarray(self.weights).tolist()
        if sum(counts) != len(weights) or len(bones) != len(weights):
            raise ValueError("the numbers of bone names, influences and weights differ")
        parts = [f"\n{name}\n{len(counts)}"]
        start_of_vertex = 0
        for count in counts:
            influences = slice(start_of_vertex, start_of_vertex + count)
            pairs = zip(bones[influences], weights[influences], strict=True)
            parts.append(f"\n{count}" + "".join(f'\t"{bone}"\t{write_number(weight)}' for bone, weight in pairs))
            start_of_vertex += count
        return "".join(parts)


TABLES: dict[bytes, type[Table]] = {
    **{
        table.KEYWORD: table
        for table in (
            VertexList,
            FaceList,
            TextureVertexList,
            TextureFaceList,
            ColorVertexList,
            ColorFaceList,
            Normals,
            SoftSkin,
        )
    },
    **dict.fromkeys(CONTROLLERS, Keys),
}
"""the record type of each keyword whose block is a table"""
