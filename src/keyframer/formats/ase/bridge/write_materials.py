"""Write materials and their maps as blocks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Ints
from keyframer.formats.ase import SLOTS
from keyframer.formats.ase.bridge.declared_fields import MAP, MAP_AMOUNT, MATERIAL, SHADINGS
from keyframer.formats.ase.bridge.write_lines import block, line, quotable
from keyframer.formats.ase.records import AseRecord, Block
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.scene_writing import CannotMerge, plain_path
from keyframer.scene import Material, Scene, TextureMap
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted


class MaterialWriter:
    """Writes the materials of a scene: separately, or as sub-materials of one if a mesh has several."""

    def __init__(
        self, scene: Scene, report: LossReport, original_places: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        self.scene = scene
        self.report = report
        self.original_places = original_places
        """for each material the MATERIAL_REF of an object and the MESH_MTLID of a face that select it in the original;
        None for a new document
        """
        numbers_of_meshes = [np.unique(mesh.face_materials) for mesh in scene.meshes if mesh.face_materials is not None]
        self.multi = original_places is None and any((numbers >= 0).sum() > 1 for numbers in numbers_of_meshes)
        """whether all materials are sub-materials of one"""
        self.parts: dict[int, Hashable] = {}

    def material_list(self) -> Block:
        materials = [self._material(number, material) for number, material in enumerate(self.scene.materials)]
        if self.multi:
            head = (line("MATERIAL_NAME", b"materials"), line("MATERIAL_CLASS", b"Multi/Sub-Object"))
            materials = [block("MATERIAL", *head, line("NUMSUBMTLS", len(materials)), *materials, values=(0,))]
        return block("MATERIAL_LIST", line("MATERIAL_COUNT", len(materials)), *materials)

    def object_material(
        self, path: str, face_materials: npt.NDArray[np.integer] | None, count: int
    ) -> tuple[int | None, Ints]:
        """Return the MATERIAL_REF of an object (None without a material), and the MESH_MTLID of its ``count`` faces.

        Raises `CannotMerge` if the materials are not sub-materials of one material of the original.
        """
        materials = np.full(count, -1) if face_materials is None else np.asarray(face_materials, np.int64)
        materials = np.where((materials >= 0) & (materials < len(self.scene.materials)), materials, -1)
        valid = materials[materials >= 0]
        if not len(valid):
            return None, np.zeros(count, np.int64)
        if len(valid) < count:
            self.report.add(
                Outcome.APPROXIMATED,
                path,
                f"{counted(count - len(valid), 'face')} without a material: the first material of the object is used",
            )
            materials = np.where(materials < 0, valid[0], materials)
        if self.original_places is None:
            return (0, materials) if self.multi else (int(valid[0]), np.zeros(count, np.int64))
        numbers, unique_of_face = np.unique(materials, return_inverse=True)
        places = np.array([self.original_places[number] for number in numbers.tolist()], np.int64)
        if len(np.unique(places[:, 0])) > 1:
            raise CannotMerge(f"{path} has faces with materials that are not sub-materials of one material")
        return int(places[0, 0]), places[unique_of_face.reshape(-1), 1]

    def _material(self, number: int, material: Material) -> Block:
        keyword = "SUBMATERIAL" if self.multi else "MATERIAL"
        reference = number if self.original_places is None else self.original_places[number][0]
        material_block = block(keyword, *self._lines(material), *self._maps(material), values=(reference,))
        self.parts[id(material_block)] = ("materials", number)
        return material_block

    def _lines(self, material: Material) -> Iterator[AseRecord]:
        path = plain_path("materials", material.name)
        yield line("MATERIAL_NAME", quotable(material.name))
        yield line("MATERIAL_CLASS", b"Standard")
        yield from write_declared_fields(material, MATERIAL)
        if material.shading not in (None, *SHADINGS.values()):
            self.report.add(Outcome.DROPPED, f"{path}/shading", f"ASE cannot store {material.shading} shading")
        if material.falloff_inwards and not material.transparency_falloff:
            self.report.add(
                Outcome.DROPPED,
                f"{path}/falloff_inwards",
                "ASE stores the direction of a falloff only for materials with a falloff",
            )

    def _maps(self, material: Material) -> Iterator[Block]:
        path = plain_path("materials", material.name)
        slots = {slot: keyword for keyword, slot in SLOTS.items()}
        for number, (slot, texture) in enumerate(material.maps.items()):
            if slot in slots:
                yield _map(slots[slot].decode(), number, texture)
            else:
                self.report.add(Outcome.DROPPED, f"{path}/maps/{slot}", f"ASE has no slot for {slot} maps")


def _map(keyword: str, number: int, texture: TextureMap) -> Block:
    return block(
        keyword,
        line("MAP_NAME", f"Map #{number + 1}".encode()),
        line("MAP_CLASS", b"Bitmap"),
        line("MAP_SUBNO", 1),
        *write_declared_fields(texture, MAP_AMOUNT),
        line("BITMAP", quotable(texture.file_name)),
        line("MAP_TYPE", b"Screen"),
        *write_declared_fields(texture, MAP),
    )
