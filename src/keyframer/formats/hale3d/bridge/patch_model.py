"""A Hale3D model changed in place: the tables of meshes that changed, paths of textures, names of joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.write_model import bind_joint
from keyframer.formats.hale3d.model import VERTEX, WEIGHT, Mesh, ModelJoint
from keyframer.formats.hale3d.records import unquoted
from keyframer.formats.kit.scene_writing import Unpatchable, encode_name
from keyframer.maths import affine
from keyframer.scene import Material, Skin
from keyframer.scene import Mesh as SceneMesh

_MESH = {"positions", "uv", "corners", "smoothing", "face_materials", "name"}
"""what a mesh may change; places follow the skin, smoothing and materials have no choice"""
_SKIN = {"vertices", "influences", "weights", "positions", "name", "inverse_bind"}


class ModelPatch:
    """Changes the meshes of a model; they have the numbers that meshes, skins and materials have in the scene."""

    def __init__(self, model: Document) -> None:
        self.meshes = list(model.find(Mesh))
        self.joints = list(model.find(ModelJoint))

    def patch_mesh(self, number: int, mesh: SceneMesh, names: set[str]) -> None:
        if names - _MESH or mesh.uv is None or len(mesh.uv) != len(mesh.positions) or mesh.uv_corners is not None:
            raise Unpatchable(f"{min(names - _MESH, default='texture vertices')} of meshes")
        record = self.meshes[number]
        if "corners" in names:
            record.triangles = np.asarray(mesh.corners)[:, [0, 2, 1]].astype("<u4")  # clockwise
            record.triangle_count = len(record.triangles)
        if "uv" in names and len(mesh.uv) == len(record.vertices):
            vertices = np.array(record.vertices)
            vertices["st"] = mesh.uv
            record.vertices = vertices

    def patch_skin(self, number: int, skin: Skin, mesh: SceneMesh, names: set[str]) -> None:
        """Weights in the order of the vertices; where only their numbers changed, each in its place."""
        if names - _SKIN or skin.positions is None or mesh.uv is None:
            raise Unpatchable(f"{min(names - _SKIN, default='vertices without places in their joints')} of skins")
        record = self.meshes[number]
        order = np.argsort(np.asarray(skin.vertices), kind="stable")
        counts = np.bincount(np.asarray(skin.vertices, np.int64), minlength=len(mesh.positions))
        firsts = np.cumsum(counts) - counts
        if "vertices" in names or len(mesh.positions) != len(record.vertices):
            vertices = np.zeros(len(mesh.positions), VERTEX)
            vertices["st"], vertices["first_weight"], vertices["weight_count"] = mesh.uv, firsts, counts
            record.vertices, record.vertex_count = vertices, len(vertices)
            rows = np.arange(len(order))
            weights = np.zeros(len(order), WEIGHT)
        else:
            rows = np.repeat(record.vertices["first_weight"].astype(np.int64) - firsts, counts) + np.arange(len(order))
            weights = np.array(record.weights)
        weights["bias"][rows] = np.asarray(skin.weights)[order]
        weights["joint"][rows] = np.asarray(skin.joints, np.int64)[np.asarray(skin.influences, np.int64)[order]]
        weights["position"][rows] = np.asarray(skin.positions)[order]
        record.weights, record.weight_count = weights, len(weights)

    def bind(self, skins: Sequence[Skin]) -> None:
        """Joints where all skins say that they were bound; those that stay keep their numbers."""
        inverse = np.asarray(skins[0].inverse_bind, np.float64)
        if len(inverse) != len(self.joints) or any(not np.allclose(each.inverse_bind, inverse) for each in skins):
            raise Unpatchable("skins that are bound otherwise")
        for joint, matrix in zip(self.joints, affine.inverse(inverse), strict=True):
            made = bind_joint(matrix, joint.parent, joint.name)
            if not np.allclose([*made.position, *made.orientation], [*joint.position, *joint.orientation], atol=1e-6):
                joint.position, joint.orientation = made.position, made.orientation

    def patch_material(self, number: int, material: Material, path: tuple[str, ...]) -> None:
        """The path of the texture: a mesh has nothing else."""
        texture = material.maps.get("texture1")
        if path not in (("name",), ("maps", "texture1", "file_name")):
            raise Unpatchable(f"{'/'.join(path)} of materials")
        if path != ("name",) or texture is None or not texture.file_name:
            name = material.name if texture is None else texture.file_name
            self.meshes[number].material = encode_name(name)


def renamed(stored: bytes, name: str) -> bytes:
    """Another name, in quotes where the old one is."""
    raw = encode_name(name)
    return b'"' + raw + b'"' if unquoted(stored) != stored else raw
