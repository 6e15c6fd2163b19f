"""Read materials and their maps."""

from __future__ import annotations

from collections.abc import Iterator

from keyframer.formats.ase import SLOTS
from keyframer.formats.ase.bridge.declared_fields import MAP, MAP_AMOUNT, MATERIAL
from keyframer.formats.ase.records import Block
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.scene import Material, TextureMap
from keyframer.text import decode_name

_MAX_DEPTH = 8
"""levels of sub-materials that are read; deeper ones are ignored"""


class Palette:
    """The materials of a document: the material of a face depends on the object's material and the face's id."""

    def __init__(self, reporter: Reporter, encoding: str | None) -> None:
        self.materials: list[Material] = []
        self._reporter = reporter
        self._encoding = encoding
        self._by_number: dict[int, Block] = {}
        self.numbers: dict[int, int] = {}
        """number in the scene of each block that became a material, by the `id` of the block"""
        self._submaterials: dict[int, list[Block]] = {}
        """sub-materials of each block, by the `id` of the block"""

    def read(self, materials: list[Block]) -> None:
        for index, block in enumerate(materials):
            number = block.values[0] if block.values else index
            self._by_number.setdefault(number if isinstance(number, int) else index, block)
            for leaf in _leaves(block):
                self.numbers[id(leaf)] = len(self.materials)
                self.materials.append(self._material(leaf, block if leaf is not block else None))

    def has_material(self, reference: int) -> bool:
        return reference in self._by_number

    def number(self, reference: int, face_id: int) -> int:
        """Return the number of the material of a face with this id in an object with this material; -1 for none."""
        block = self._by_number.get(reference)
        for _ in range(_MAX_DEPTH):
            if block is None:
                return -1
            submaterials = self._submaterials.get(id(block))
            if submaterials is None:
                submaterials = self._submaterials[id(block)] = block.blocks(b"SUBMATERIAL")
            if not submaterials:
                break
            block = submaterials[max(face_id, 0) % len(submaterials)]
        return -1 if block is None else self.numbers.get(id(block), -1)

    def places(self) -> dict[int, tuple[int, int]]:
        """Return for each material the number in MATERIAL_REF and the id of a face that select it."""
        places: dict[int, tuple[int, int]] = {}
        for reference, block in self._by_number.items():
            for face_id in range(max(len(block.blocks(b"SUBMATERIAL")), 1)):
                places.setdefault(self.number(reference, face_id), (reference, face_id))
        return places

    def _material(self, block: Block, parent: Block | None) -> Material:
        raw = block.name(b"MATERIAL_NAME") or b""
        material = Material(decode_name(raw, self._encoding), raw_name=raw)
        read_declared_fields(material, block, MATERIAL)
        shading = block.name(b"MATERIAL_SHADING")
        for keyword, slot in SLOTS.items():
            map_block = block.block(keyword)
            if map_block is not None and map_block.name(b"BITMAP") is not None:
                material.maps[slot] = self._map(map_block)
        extras: dict[str, object] = {"shading": shading.decode("latin-1")} if shading else {}
        if parent is not None:
            extras["part_of"] = decode_name(parent.name(b"MATERIAL_NAME") or b"", self._encoding)
        self._reporter.mark(material, "ase", block, extras)
        return material

    def _map(self, block: Block) -> TextureMap:
        raw = block.name(b"BITMAP") or b""
        texture = TextureMap(decode_name(raw, self._encoding), raw)
        read_declared_fields(texture, block, (*MAP_AMOUNT, *MAP))
        self._reporter.mark(texture, "ase", block)
        return texture


def _leaves(block: Block) -> Iterator[Block]:
    """Yield the materials inside a block that have no sub-materials; the block itself if it has none."""
    stack = [(block, 0)]
    while stack:
        material_block, depth = stack.pop()
        submaterials = material_block.blocks(b"SUBMATERIAL") if depth < _MAX_DEPTH else []
        if not submaterials:
            yield material_block
        stack += [(material, depth + 1) for material in reversed(submaterials)]
