"""Write the model: every mesh on joints in the pose of the first frame, one piece for each material."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.fields import dataclass
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.quaternions import with_negative_w
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import new_model
from keyframer.formats.hale3d.model import VERTEX, WEIGHT, Mesh, ModelJoint
from keyframer.formats.kit.mesh_writing import split_by_material
from keyframer.formats.kit.rigid_joints import Joints
from keyframer.formats.kit.scene_writing import encode_name, plain_path
from keyframer.maths import affine, quat
from keyframer.scene import Node, Scene
from keyframer.scene.loss_report import LossReport, Outcome


@dataclass(eq=False)
class _Influences:
    """Influences sorted by vertex: joint, weight, and position in the joint's space."""

    vertices: Ints
    joints: Ints
    weights: Floats
    offsets: Floats


def write_model(
    scene: Scene, joints: Joints, names: list[bytes], dialect: Dialect, report: LossReport
) -> Document | None:
    """Write the model of all meshes; None without meshes."""
    meshes: list[Mesh] = []
    for number, node in enumerate(scene.nodes):
        if node.mesh is not None and len(scene.meshes[node.mesh].positions):
            meshes += mesh_records(scene, number, joints, report)
    if not meshes:
        return None
    return new_model(meshes, bind_joints(joints, names), dialect=dialect)


def mesh_records(scene: Scene, number: int, joints: Joints, report: LossReport) -> list[Mesh]:
    """Write the mesh of a node as one record for each of its materials."""
    node = scene.nodes[number]
    return _records(scene, node, _influences(scene, number, node, joints, joints.place_of), report)


def has_free_vertices(scene: Scene, numbers: Iterable[int]) -> bool:
    """Return whether the skinned mesh of one of these nodes has vertices without a bone."""
    nodes = (scene.nodes[number] for number in numbers)
    carriers = [node for node in nodes if node.skin is not None and node.mesh is not None]
    return any(len(_free(scene, node)) for node in carriers)


def _free(scene: Scene, node: Node) -> Ints:
    bound = np.unique(np.asarray(scene.skins[node.skin or 0].vertices, np.int64))
    return np.setdiff1d(np.arange(len(scene.meshes[node.mesh or 0].positions)), bound)


def bind_joints(joints: Joints, names: list[bytes]) -> list[ModelJoint]:
    """Return joints in model space at the first frame."""
    first = joints.rigid[0]
    return [bind_joint(matrix, parent, name) for matrix, parent, name in zip(first, joints.parents, names, strict=True)]


def bind_joint(matrix: Floats, parent: int, name: bytes) -> ModelJoint:
    """Return a joint with this matrix in model space."""
    turn = with_negative_w(quat.from_matrix3(matrix[:3, :3]))
    return ModelJoint(parent, tuple(map(float, matrix[:3, 3])), tuple(map(float, turn[:3])), name)


def _influences(scene: Scene, number: int, node: Node, joints: Joints, place_of: dict[int, int]) -> _Influences:
    """Return the influences of a skin, or the node itself for all vertices; the anchor for vertices without a joint."""
    assert node.mesh is not None
    positions = np.asarray(scene.meshes[node.mesh].positions, np.float64)
    if node.skin is None:
        joint = place_of[number]
        change = affine.inverse(joints.rigid[0, joint]) @ joints.world[0, number]
        offsets = affine.transform_points(change, positions - node.pivot)
        every = np.arange(len(positions))
        return _Influences(every, np.full(len(every), joint), np.ones(len(every)), offsets)
    skin = scene.skins[node.skin]
    order = np.argsort(np.asarray(skin.vertices), kind="stable")
    vertices = np.asarray(skin.vertices, np.int64)[order]
    joint_numbers = np.asarray(skin.influences, np.int64)[order]
    chosen = np.array([place_of[bone] for bone in skin.joints], np.int64)
    change = affine.inverse(joints.rigid[0, chosen]) @ joints.world[0, np.asarray(skin.joints, np.int64)]
    if skin.positions is None:
        change = change @ np.asarray(skin.inverse_bind, np.float64)
        placed = positions[vertices]
    else:
        placed = np.asarray(skin.positions, np.float64)[order]
    offsets = np.einsum("nij,nj->ni", change[joint_numbers][:, :3, :3], placed) + change[joint_numbers][:, :3, 3]
    influences = _Influences(vertices, chosen[joint_numbers], np.asarray(skin.weights, np.float64)[order], offsets)
    free = _free(scene, node)
    return influences if not len(free) else _anchored(influences, free, positions, place_of[-1])


def _anchored(influences: _Influences, free: Ints, positions: Floats, anchor: int) -> _Influences:
    vertices = np.concatenate([influences.vertices, free])
    order = np.argsort(vertices, kind="stable")
    return _Influences(
        vertices[order],
        np.concatenate([influences.joints, np.full(len(free), anchor)])[order],
        np.concatenate([influences.weights, np.ones(len(free))])[order],
        np.concatenate([influences.offsets, positions[free]])[order],
    )


def _records(scene: Scene, node: Node, influences: _Influences, report: LossReport) -> list[Mesh]:
    assert node.mesh is not None
    mesh = scene.meshes[node.mesh]
    starts = np.searchsorted(influences.vertices, np.arange(len(mesh.positions) + 1))
    records = []
    for number, piece in split_by_material(mesh):
        counts = np.diff(starts)[piece.vertices]
        firsts = np.cumsum(counts) - counts
        chosen = np.repeat(starts[piece.vertices] - firsts, counts) + np.arange(int(counts.sum()))
        vertices = np.zeros(len(piece.vertices), VERTEX)
        vertices["st"] = 0.0 if piece.uv is None else piece.uv
        vertices["first_weight"], vertices["weight_count"] = firsts, counts
        weights = np.zeros(len(chosen), WEIGHT)
        weights["bias"], weights["joint"] = influences.weights[chosen], influences.joints[chosen]
        weights["position"] = influences.offsets[chosen]
        triangles = piece.corners[:, [0, 2, 1]].astype("<u4")  # clockwise
        name = _material(scene, number, node, report)
        records.append(Mesh(len(vertices), len(weights), len(triangles), name, vertices, weights, triangles))
    if len(records) > 1:
        path = f"{plain_path('nodes', node.name)}/mesh"
        report.add(Outcome.BAKED, path, f"{len(records)} meshes: one for each material")
    return records


def _material(scene: Scene, number: int, node: Node, report: LossReport) -> bytes:
    """Return the texture path, or the name: a mesh stores nothing else."""
    if not 0 <= number < len(scene.materials):
        return b""
    material = scene.materials[number]
    texture = material.maps.get("texture1")
    file_name = "" if texture is None else texture.file_name
    if file_name == material.name:
        return encode_name(file_name)
    path, words = plain_path("materials", material.name), "only a texture path is stored; this material has none"
    if file_name:
        path, words = f"{path}/name", f"only the texture path is stored: {file_name}"
    if not any(loss.path == path for loss in report):
        report.add(Outcome.DROPPED, path, words)
    return encode_name(file_name or material.name)
