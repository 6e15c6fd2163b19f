"""Materials and their maps."""

from __future__ import annotations

import math
from collections.abc import Iterator

from keyframer.formats.ase.records import Block
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.scene import Material, TextureMap
from keyframer.text import decode_name

SLOTS = {
    b"MAP_DIFFUSE": "texture1",
    b"MAP_OPACITY": "opacity",
    b"MAP_BUMP": "bump",
    b"MAP_SPECULAR": "specular",
    b"MAP_SHINE": "shininess",
    b"MAP_SELFILLUM": "self_illumination",
    b"MAP_REFLECT": "reflection",
}
SHADINGS = {b"Constant": "flat", b"Phong": "phong", b"Blinn": "phong", b"Metal": "metal"}
FLAGS = {
    b"MATERIAL_TWOSIDED": "two_sided",
    b"MATERIAL_WIRE": "wire",
    b"MATERIAL_WIREUNITS": "wire_in_units",
    b"MATERIAL_FACEMAP": "face_map",
    b"MATERIAL_SOFTEN": "soften",
}
_DEEPEST = 8
"""sub-materials inside each other"""


class Palette:
    """The materials of a document: which one a face has follows from the object's material and the face's id."""

    def __init__(self, reporter: Reporter, encoding: str | None) -> None:
        self.materials: list[Material] = []
        self._reporter = reporter
        self._encoding = encoding
        self._top: dict[int, Block] = {}
        self.numbers: dict[int, int] = {}
        """number of each block's material, by the block's id"""
        self._inner: dict[int, list[Block]] = {}
        """the sub-materials of each block, likewise"""

    def read(self, materials: list[Block]) -> None:
        for at, block in enumerate(materials):
            number = block.values[0] if block.values else at
            self._top.setdefault(number if isinstance(number, int) else at, block)
            for leaf in _leaves(block):
                self.numbers[id(leaf)] = len(self.materials)
                self.materials.append(self._material(leaf, block if leaf is not block else None))

    def knows(self, reference: int) -> bool:
        return reference in self._top

    def number(self, reference: int, face_id: int) -> int:
        """The material of a face with an id, in an object with a material; -1 for none."""
        block = self._top.get(reference)
        for _ in range(_DEEPEST):
            if block is None:
                return -1
            inner = self._inner.get(id(block))
            if inner is None:
                inner = self._inner[id(block)] = block.blocks(b"SUBMATERIAL")
            if not inner:
                break
            block = inner[max(face_id, 0) % len(inner)]
        return -1 if block is None else self.numbers.get(id(block), -1)

    def _material(self, block: Block, owner: Block | None) -> Material:
        raw = block.name(b"MATERIAL_NAME") or b""
        material = Material(decode_name(raw, self._encoding), raw_name=raw)
        material.ambient = block.vector(b"MATERIAL_AMBIENT")
        material.diffuse = block.vector(b"MATERIAL_DIFFUSE")
        material.specular = block.vector(b"MATERIAL_SPECULAR")
        material.shininess = _stated(block, b"MATERIAL_SHINE")
        material.shininess_strength = _stated(block, b"MATERIAL_SHINESTRENGTH")
        material.transparency = block.number(b"MATERIAL_TRANSPARENCY", 0.0)
        material.transparency_falloff = _stated(block, b"MATERIAL_XP_FALLOFF")
        material.falloff_inwards = bool(material.transparency_falloff) and block.name(b"MATERIAL_FALLOFF") == b"In"
        material.self_illumination = block.number(b"MATERIAL_SELFILLUM", 0.0)
        material.wire_size = _stated(block, b"MATERIAL_WIRESIZE")
        material.additive = block.name(b"MATERIAL_XP_TYPE") == b"Additive"
        for keyword, attribute in FLAGS.items():
            setattr(material, attribute, block.has(keyword))
        shading = block.name(b"MATERIAL_SHADING")
        material.shading = SHADINGS.get(shading or b"")
        for keyword, slot in SLOTS.items():
            found = block.block(keyword)
            if found is not None and found.name(b"BITMAP") is not None:
                material.maps[slot] = self._map(found)
        said: dict[str, object] = {"shading": shading.decode("latin-1")} if shading else {}
        if owner is not None:
            said["part_of"] = decode_name(owner.name(b"MATERIAL_NAME") or b"", self._encoding)
        self._reporter.mark(material, "ase", block, said)
        return material

    def _map(self, block: Block) -> TextureMap:
        raw = block.name(b"BITMAP") or b""
        found = TextureMap(decode_name(raw, self._encoding), raw, block.number(b"MAP_AMOUNT", 1.0))
        found.scale = (block.number(b"UVW_U_TILING", 1.0), block.number(b"UVW_V_TILING", 1.0))
        # 3ds Max counts V and angles the other way round than 3D Studio, whose way the scene has
        found.offset = (block.number(b"UVW_U_OFFSET", 0.0), 0.0 - block.number(b"UVW_V_OFFSET", 0.0))
        found.rotation_degrees = 0.0 - math.degrees(block.number(b"UVW_ANGLE", 0.0))
        found.negative = block.has(b"BITMAP_INVERT")
        found.summed_area = block.name(b"BITMAP_FILTER") == b"SAT"
        self._reporter.mark(found, "ase", block)
        return found


def _leaves(block: Block) -> Iterator[Block]:
    """The materials that surfaces have: those without materials inside."""
    stack = [(block, 0)]
    while stack:
        found, depth = stack.pop()
        inner = found.blocks(b"SUBMATERIAL") if depth < _DEEPEST else []
        if not inner:
            yield found
        stack += [(one, depth + 1) for one in reversed(inner)]


def _stated(block: Block, keyword: bytes) -> float | None:
    return None if block.get(keyword) is None else block.number(keyword, 0.0)
