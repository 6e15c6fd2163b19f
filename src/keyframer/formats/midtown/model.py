"""The companion model (``.mod``): text with the body of a figure, whose vertices are in the spaces of its bones.

    version: 1.09
    verts: 3                                          counts of what follows
    v 0 0.1 0                                         position, in the space of a bone
    mtl Man1:SKIN { packets: 1 primitives: 1 diffuse: 0.7 0.6 0.5 }
    packet 3 1 1 {                                    corners, primitives and bones
        adj 0 0 0 0 0 0                               vertex, normal, colour, coordinates 1 and 2, place in mtx
        tri 0 1 2
        mtx 4
    }
    mtxv 0 0 0 0 3                                    vertices of each bone, one bone after the other

Without packets, materials count ``adjuncts:``, ``adj`` has no place, and only ``mtxv`` says which bone a vertex has. A
line has one statement. Versions 1.06 to 1.10 are read; strips (``str``, ``stp``) occur only in other games.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from keyframer.arrays import Array, Floats, Ints
from keyframer.catalogue import IO_UNRECOGNISED, LIMIT_NAME, LIMIT_RECORDS, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.files import check_size
from keyframer.formats.midtown.sniff import BEGINNING, MODEL
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import show_name

_LINE = re.compile(rb"[^\n]*\n?")
_SIZES = {b"v": 3, b"n": 3, b"c": 4, b"t1": 2, b"t2": 2, b"ts": 3, b"tt": 3}
"""tables and how many numbers a row has; ``ts`` and ``tt`` are tangents"""
COLOURS = (b"ambient:", b"diffuse:", b"specular:")
COUNTS = {
    b"verts:": b"v",
    b"normals:": b"n",
    b"colors:": b"c",
    b"tex1s:": b"t1",
    b"tex2s:": b"t2",
    b"tangents:": b"ts",
    **dict.fromkeys((b"materials:", b"adjuncts:", b"primitives:", b"matrices:"), b""),
}
"""the counts at the beginning, and the tables that they count"""
_SHOWN = 40
NO_BONE = -1


@dataclass(slots=True)
class ModelMaterial:
    """A material: how many packets (or else primitives) have it, and its settings as stored."""

    name: bytes
    packets: int | None = None
    primitives: int = 0
    textures: list[bytes] = field(default_factory=list)
    colours: dict[bytes, tuple[float, float, float]] = field(default_factory=dict)
    """those of `COLOURS` that it states"""
    settings: dict[bytes, bytes] = field(default_factory=dict)
    """all others, such as ``illum:``"""


@dataclass(slots=True)
class Model:
    """A body: tables of numbers, and triangles between corners."""

    version: str
    counts: dict[bytes, int]
    """as the text states them"""
    tables: dict[bytes, Floats]
    """``v`` positions, ``n`` normals, ``c`` colours, ``t1`` and ``t2`` texture coordinates"""
    materials: list[ModelMaterial]
    corners: Ints
    """(A, 5) vertex, normal, colour and the two coordinates of each corner"""
    bones: Ints
    """(A,) bone of each corner; `NO_BONE` if nothing says so"""
    triangles: Ints
    """(T, 3) corners"""
    face_materials: Ints
    """(T,) material of each triangle, -1 for none"""
    found: dict[bytes, int]
    """how many of everything in `COUNTS` there are"""
    text: bytes = field(repr=False, compare=False)
    """the source text"""

    @property
    def bone_count(self) -> int:
        return self.counts.get(b"matrices:", 0)


def read_model(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Model:
    """Read a model from text. Raises `FormatError` if the text is invalid."""
    check_size(len(data), limits)
    return _Reader(data, limits).model()


def readable_part(data: bytes, limits: Limits) -> bytes:
    """Return a model up to the first statement that cannot be read."""
    return data[: _Reader(data, limits, partial=True).end]


class _Reader:
    """Reads the statements of a text, one line after the other; if it is ``partial``, up to an error."""

    def __init__(self, data: bytes, limits: Limits, *, partial: bool = False) -> None:
        version = MODEL.match(data)
        if version is None:
            raise IO_UNRECOGNISED.failure(0, "/", reason=f"a model begins with {BEGINNING}")
        self.data, self.limits, self.at = data, limits, 0
        self.version = version[1].decode("ascii")
        self.counts: dict[bytes, int] = {}
        self.rows: dict[bytes, list[list[float]]] = {name: [] for name in _SIZES}
        self.materials: list[ModelMaterial] = []
        self.corners: list[list[int]] = []
        self.slots: list[int] = []
        """bone of each corner in a packet"""
        self.triangles: array[int] = array("q")
        self.primitives: list[int] = []
        """triangles of each primitive"""
        self.packets: list[int] = []
        """primitives of each packet"""
        self.bones_of_vertices: list[int] = []
        """vertices of each bone (``mtxv``)"""
        self._statements = self._words()
        self.end = 0
        """end of the last whole statement"""
        for words in self._statements:
            self.end = self.at
            try:
                self._statement(words)
            except FormatError as error:
                if not partial or error.code.startswith("LIMIT_"):
                    raise
                return
        self.end = len(data)

    def _words(self) -> Iterator[list[bytes]]:
        for number, match in enumerate(_LINE.finditer(self.data), 1):
            if number > self.limits.records:
                raise LIMIT_RECORDS.failure(match.start(), "/model", limit=self.limits.records)
            self.at = match.start()
            words = match.group().split()
            if words:
                yield words

    def _statement(self, words: list[bytes]) -> None:
        keyword = words[0]
        if keyword in _SIZES:
            self.rows[keyword].append(self._floats(words, _SIZES[keyword]))
        elif keyword == b"adj":
            self.corners.append(self._integers(words, 5))
            self.slots.append(NO_BONE)
        elif keyword in (b"tri", b"str", b"stp"):
            self._primitive(words, 0)
        elif keyword == b"packet":
            self._packet(words)
        elif keyword == b"mtl":
            self._material(words)
        elif keyword == b"mtxv":
            self.bones_of_vertices = self._integers(words, len(words) - 1)
        elif keyword in COUNTS:
            self.counts[keyword] = self._integers(words, 1)[0]
        elif keyword not in (b"version:", b"mtxn", b"reskins:"):  # normals have the bones of their vertices
            self._fail("a statement of a model", keyword)

    def _material(self, words: list[bytes]) -> None:
        if len(words) != 3 or words[2] != b"{":
            self._fail("mtl, a name and {", b" ".join(words))
        if len(words[1]) > self.limits.name:
            raise LIMIT_NAME.failure(self.at, "/model/name", size=len(words[1]), limit=self.limits.name)
        material = ModelMaterial(words[1])
        for inner in self._block():
            keyword = inner[0]
            if keyword == b"packets:":
                material.packets = self._integers(inner, 1)[0]
            elif keyword == b"primitives:":
                material.primitives = self._integers(inner, 1)[0]
            elif keyword == b"texture:" and len(inner) > 2:
                material.textures.append(b" ".join(inner[2:]))
            elif keyword in COLOURS:
                red, green, blue = self._floats(inner, 3)
                material.colours[keyword] = (red, green, blue)
            elif keyword.endswith(b":"):
                material.settings[keyword] = b" ".join(inner[1:])
            else:
                self._fail("a setting of a material", keyword)
        self.materials.append(material)

    def _packet(self, words: list[bytes]) -> None:
        first, primitives = len(self.corners), len(self.primitives)
        places: list[int] = []
        bones: list[int] = []
        for inner in self._block():
            keyword = inner[0]
            if keyword == b"adj":
                numbers = self._integers(inner, 6 if len(inner) > 6 else 5)
                self.corners.append(numbers[:5])
                places.append(numbers[5] if len(numbers) > 5 else NO_BONE)
            elif keyword in (b"tri", b"str", b"stp"):
                self._primitive(inner, first)
            elif keyword == b"mtx":
                bones += self._integers(inner, len(inner) - 1)
            elif keyword != b"reskin":  # blended vertices: in no file of the game, and not understood
                self._fail("adj, tri, mtx or }", keyword)
        self.slots += [bones[place] if 0 <= place < len(bones) else NO_BONE for place in places]
        self.packets.append(len(self.primitives) - primitives)

    def _block(self) -> Iterator[list[bytes]]:
        for words in self._statements:
            if words == [b"}"]:
                return
            yield words
        self.at = len(self.data)
        self._fail("}", b"")

    def _primitive(self, words: list[bytes], first: int) -> None:
        """Add a triangle, or those of a strip: every second one is turned round, in ``stp`` the first, too."""
        if words[0] == b"tri":
            corners = self._integers(words, 3)
            self.triangles.extend([corner + first if corner >= 0 else corner for corner in corners])
            self.primitives.append(1)
            return
        strip = np.array(self._integers(words, len(words) - 1)[1:], np.int64)
        strip[strip >= 0] += first
        rows = np.stack([strip[:-2], strip[1:-1], strip[2:]], axis=1)
        turned = slice(0 if words[0] == b"stp" else 1, None, 2)
        rows[turned, :2] = rows[turned, 1::-1]
        self.triangles.frombytes(rows.tobytes())
        self.primitives.append(len(rows))

    def model(self) -> Model:
        found = {keyword: len(self.rows[name]) for keyword, name in COUNTS.items() if name in self.rows}
        corners = np.array(self.corners, np.int64).reshape(-1, 5)
        # Packets repeat the corners that they share: the count is that of vertices with a normal.
        distinct = {tuple(row[:2]) for row in self.corners} if self.packets else self.corners
        found |= {b"materials:": len(self.materials), b"primitives:": len(self.primitives), b"adjuncts:": len(distinct)}
        found[b"matrices:"] = len(self.bones_of_vertices) or self.counts.get(b"matrices:", 0)
        tables = {name: np.array(rows, np.float64).reshape(-1, _SIZES[name]) for name, rows in self.rows.items()}
        return Model(
            self.version,
            self.counts,
            tables,
            self.materials,
            corners,
            self._bones(corners[:, 0], len(tables[b"v"])),
            np.frombuffer(self.triangles, np.int64).reshape(-1, 3),
            self._face_materials(),
            found,
            self.data,
        )

    def _bones(self, vertices: Array, count: int) -> Ints:
        """Return the bone of each corner: that of its packet, or else that of its vertex."""
        ends = np.cumsum(np.array(self.bones_of_vertices, np.int64).reshape(-1))
        stated = np.searchsorted(ends, vertices, side="right")
        known = (vertices >= 0) & (vertices < count) & (stated < len(ends))
        slots = np.array(self.slots, np.int64).reshape(-1)
        return np.where(slots >= 0, slots, np.where(known, stated, NO_BONE))

    def _face_materials(self) -> Ints:
        """Return the material of each triangle: packets, or else primitives, are in the order of the materials."""
        owners = [-1] * len(self.primitives)
        packet = primitive = 0
        for number, material in enumerate(self.materials):
            count = material.primitives
            if material.packets is not None:
                chosen = self.packets[packet : packet + material.packets]
                packet, count = packet + len(chosen), sum(chosen)
            last = min(primitive + count, len(owners))
            owners[primitive:last] = [number] * (last - primitive)
            primitive = last
        return np.repeat(np.array(owners, np.int64), np.array(self.primitives, np.intp))

    def _floats(self, words: list[bytes], count: int) -> list[float]:
        try:
            numbers = [float(word) for word in words[1:]]
        except ValueError:
            numbers = []
        if len(numbers) != count:
            self._fail(f"{count} numbers after {words[0].decode('ascii')}", b" ".join(words[1:]))
        return numbers

    def _integers(self, words: list[bytes], count: int) -> list[int]:
        """Return whole numbers of 32 bits; none is negative, except for the index of what a corner does not have."""
        texts = words[1:]
        if len(texts) != count or not all(re.fullmatch(rb"-1|\d{1,9}", text) for text in texts):
            self._fail(f"{count} whole numbers after {words[0].decode('ascii')}", b" ".join(texts))
        return [int(text) for text in texts]

    def _fail(self, wanted: str, found: bytes) -> NoReturn:
        shown = f"'{show_name(found[:_SHOWN])}'" if found else "nothing"
        raise STRUCT_SYNTAX.failure(self.at, "/model", wanted=wanted, found=shown)
