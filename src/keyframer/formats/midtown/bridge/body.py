"""Read the body of a figure from a model: a mesh, its rigid skin and its materials."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Flags, Floats, Ints
from keyframer.catalogue import LINK_COUNT_MISMATCH, LINK_INDEX_OUT_OF_RANGE
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames, finite_rows
from keyframer.formats.midtown.model import COLOURS, COUNTS, Model, ModelMaterial, read_model
from keyframer.formats.midtown.records import ModelText
from keyframer.formats.midtown.skeleton import Skeleton
from keyframer.scene import Material, Mesh, Node, Scene, Skin, Space, TextureMap
from keyframer.text import decode_name

_SPACE = Space("y", metres_per_unit=1.0, v_up=False, unit_rule="the game uses metres")
_KINDS = ("vertex", "normal", "colour", "texture coordinate")
"""what the first numbers of a corner refer to"""


class Body:
    """The body of a model, whose record is in the document of the reporter."""

    def __init__(self, record: ModelText, reporter: Reporter) -> None:
        self.record, self.reporter = record, reporter
        self.model: Model = read_model(record.text)

    def add_to(self, scene: Scene, skeleton: Skeleton | None) -> None:
        """Add the mesh, in the rest pose of the skeleton, whose bones are the first nodes of the scene."""
        model, record = self.model, self.record
        self._check_counts()
        origins = _origins(skeleton)
        valid = self._valid_faces(len(origins))
        faces, numbers = model.triangles[valid], model.corners.T
        bones = np.maximum(model.bones[faces], 0)  # corners without a bone follow the root
        stride = int(bones.max(initial=0)) + 1
        pairs, used = np.unique(numbers[0][faces] * stride + bones, return_inverse=True)
        vertices, bones = pairs // stride, pairs % stride
        positions = self._table(b"v")[vertices]
        if len(origins):
            positions = positions + origins[bones]
        mesh = Mesh("body", positions, used.reshape(-1, 3))
        self.reporter.mark(mesh, "midtown", record)
        if len(model.tables[b"n"]):
            mesh.normals, mesh.normal_corners = _unit(self._table(b"n")), numbers[1][faces]
        if self._has_colours():
            colours = self._table(b"c")
            mesh.colors, mesh.color_alpha, mesh.color_corners = colours[:, :3], colours[:, 3], numbers[2][faces]
        if len(model.tables[b"t1"]):
            mesh.uv, mesh.uv_corners = self._table(b"t1"), numbers[3][faces]
            scene.space = _SPACE
        mesh.face_materials = _numbered(model.face_materials[valid], len(scene.materials))
        scene.materials += [self._material(material) for material in model.materials]
        names = UniqueNames()
        for node in scene.nodes:
            names.claim(node.name)
        body = Node(names.claim("body"), mesh=len(scene.meshes))
        self.reporter.mark(body, "midtown", record)
        if len(origins):
            body.skin = len(scene.skins)
            inverse = np.tile(np.eye(4), (len(origins), 1, 1))
            inverse[:, :3, 3] = -origins
            every = np.arange(len(positions))
            joints = list(range(len(origins)))
            skin = Skin("body", joints, inverse, every, bones, np.ones(len(positions)), rigid=True)
            skin.extras["midtown"] = self.reporter.location_of(record)
            scene.skins.append(skin)
        scene.meshes.append(mesh)
        scene.nodes.append(body)

    def _has_colours(self) -> bool:
        return len(self.model.tables[b"c"]) > 1  # the game ignores a single colour, which all its models have

    def _table(self, name: bytes) -> Floats:
        return finite_rows(self.reporter, self.record, name.decode("ascii"), self.model.tables[name])

    def _check_counts(self) -> None:
        for keyword in COUNTS:
            claimed, found = self.model.counts.get(keyword), self.model.found[keyword]
            if claimed is not None and claimed != found:
                what = keyword[:-1].decode("ascii")
                self.reporter.report(LINK_COUNT_MISMATCH, self.record, what, claimed=claimed, what=what, found=found)

    def _valid_faces(self, bones: int) -> Flags:
        """Return which triangles have corners, and these all that they need, after reporting the others."""
        model = self.model
        count = len(model.corners)
        inside = np.asarray(((model.triangles >= 0) & (model.triangles < count)).all(axis=1))
        self._report(~inside, "corner", model.triangles, count)
        needed = [(model.corners[:, 0], len(model.tables[b"v"]), True)]
        for column, name in enumerate((b"n", b"c", b"t1"), 1):
            size = len(model.tables[name])
            needed.append((model.corners[:, column], size, self._has_colours() if name == b"c" else size > 0))
        needed.append((model.bones, bones, bones > 0))
        valid = inside
        for (numbers, size, is_used), kind in zip(needed, (*_KINDS, "bone"), strict=True):
            least = -1 if kind == "bone" else 0
            wrong = (numbers < least) | (numbers >= size)
            if not is_used or not wrong.any():
                continue
            rows = np.where(inside[:, None], model.triangles, 0)
            faulty = inside & wrong[rows].any(axis=1)
            self._report(faulty, kind, np.where(wrong, numbers, 0)[rows], size)
            valid = valid & ~faulty
        return valid

    def _report(self, faulty: Flags, kind: str, numbers: Ints, count: int) -> None:
        def args_of(face: int) -> dict[str, object]:
            row = numbers[face]
            index = int(next(number for number in row.tolist() if not 0 <= number < count))
            return {"what": "face", "item": face, "kind": kind, "index": index, "count": count}

        self.reporter.report_each(LINK_INDEX_OUT_OF_RANGE, self.record, "tri", np.flatnonzero(faulty), args_of)

    def _material(self, stored: ModelMaterial) -> Material:
        material = Material(decode_name(stored.name), raw_name=stored.name)
        material.ambient, material.diffuse, material.specular = (stored.colours.get(key) for key in COLOURS)
        if stored.settings.get(b"illum:") == b"emit":
            material.self_illumination = 1.0
        if stored.textures:
            name = stored.textures[0]
            material.maps["texture1"] = TextureMap(decode_name(name), name)
        settings = {key[:-1].decode("latin-1"): decode_name(value) for key, value in stored.settings.items()}
        self.reporter.mark(material, "midtown", self.record, settings)
        return material


def _origins(skeleton: Skeleton | None) -> Floats:
    """Return (B, 3) the places of the bones at rest: nothing is turned."""
    origins: list[Floats] = []
    for bone in () if skeleton is None else skeleton.bones:
        origins.append(np.array(bone.offset) + (origins[bone.parent] if bone.parent >= 0 else 0.0))
    return np.array(origins).reshape(-1, 3)


def _numbered(materials: Ints, first: int) -> Ints:
    return np.where(materials >= 0, materials + first, -1).astype(np.int32)


def _unit(normals: Floats) -> Floats:
    length = np.sqrt((normals * normals).sum(axis=1, keepdims=True))
    return np.where(length > 0, normals / np.where(length > 0, length, 1.0), (0.0, 1.0, 0.0))
