"""Write the records of an animation (joints with the columns of their frames) and of its model (joints and meshes)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats, Ints, Singles
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.original_conventions import OriginalConventions
from keyframer.formats.hale3d.bridge.quaternions import with_negative_w, with_w
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import new_model
from keyframer.formats.hale3d.model import VERTEX, WEIGHT, Mesh, ModelJoint
from keyframer.formats.hale3d.records import COMPONENTS, Joint
from keyframer.formats.kit.mesh_writing import split_by_material
from keyframer.formats.kit.rigid_joints import Joints
from keyframer.formats.kit.scene_writing import STILL_USED, CannotMerge, plain_path
from keyframer.maths import affine, quat
from keyframer.scene import Clip, Node, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import decode_name, encode_name

_STILL = 1e-6
"""a component of an original joint that differs less from the base frame needs no column"""
_NO_ORIGINAL = OriginalConventions()


class PairWriter:
    """Writes the joints and meshes of a scene, with the conventions of its original, if any."""

    def __init__(
        self, scene: Scene, joints: Joints, report: LossReport, conventions: OriginalConventions = _NO_ORIGINAL
    ) -> None:
        self.scene, self.joints, self.report, self.conventions = scene, joints, report, conventions
        self.names = conventions.names(scene, joints.nodes)
        self.joint_of_node = joints.joint_of_node
        self.joint_numbers = conventions.joint_numbers or self.joint_of_node
        """the number that parents and weights use for the joint of each node"""
        self.parts: dict[int, tuple[str, int]] = {}
        """the node of each record, by the record's `id`"""

    def _parent(self, node: int) -> int:
        parent = None if node < 0 else self.scene.nodes[node].parent
        return -1 if parent is None else self.joint_numbers[parent]

    def animated_joints(self, clip: Clip) -> Iterator[tuple[Joint, dict[int, Singles]]]:
        """Yield the joints of the animation, each with the columns of the components that move.

        The base frame of a new joint is its first frame. That of an original joint is its rest transform; such a joint
        keeps its columns as long as it has a track, and its name is written only to the model, if there is one.
        """
        tracks = {(channel.node, channel.track.kind) for channel in clip.channels}
        for place, (node, name) in enumerate(zip(self.joints.nodes, self.names, strict=True)):
            turns = with_negative_w(self.joints.rotations_xyzw[:, place])
            rows = np.concatenate([self.joints.positions[:, place], turns[:, :3]], axis=1).astype(np.float32)
            joint = Joint(self._parent(node), 0, 0, name)
            if node in self.conventions.original_numbers:
                rest_node = self.scene.nodes[node]
                position, orientation = np.asarray(rest_node.position), np.asarray(rest_node.rotation_xyzw)
                base = np.array([*position, *orientation[:3]])
                moving = np.abs(rows - base).max(axis=0) > _STILL
                for bit in self.conventions.pair.joints[self.conventions.original_numbers[node]].moving:
                    moving[bit] |= (node, "position" if bit < 3 else "rotation") in tracks
                joint.name = name if self.conventions.pair.model is None else b""
            else:
                position, orientation = self.joints.positions[0, place].astype(np.float32), turns[0]
                moving = (rows != rows[0]).any(axis=0)
            joint.position, joint.orientation = tuple(map(float, position)), tuple(map(float, orientation))
            self.parts[id(joint)] = ("nodes", node)
            yield joint, {bit: rows[:, bit] for bit in range(COMPONENTS) if moving[bit]}

    def model(self, dialect: Dialect) -> Document | None:
        """Return the model of all meshes; None without meshes."""
        meshes = self.meshes()
        return new_model(meshes, self.bound_joints(), dialect=dialect) if meshes else None

    def bound_joints(self) -> list[ModelJoint]:
        """Return the joints of the model in their bind pose.

        In a new file it is the first frame. In a merge it is that of the skins or of the original model; other joints
        are placed relative to their parents as in the first frame.
        """
        pose = self._bind_pose()
        positions, turns = pose[:, :3, 3].tolist(), with_negative_w(quat.from_matrix3(pose[:, :3, :3]))[:, :3].tolist()
        joints = []
        for node, name, position, turn in zip(self.joints.nodes, self.names, positions, turns, strict=True):
            joint = ModelJoint(self._parent(node), tuple(position), tuple(turn), name)
            self.parts[id(joint)] = ("nodes", node)
            joints.append(joint)
        return joints

    def _bind_pose(self) -> Floats:
        """Return (J, 4, 4) matrices of joints in model space."""
        joints, pair = self.joints, self.conventions.pair
        if pair.animation is None and pair.model is None:
            return np.asarray(joints.rigid[0])
        bind_matrices = {
            node: _matrix(pair.model_joints[old])
            for node, old in self.conventions.original_numbers.items()
            if pair.model_joints
        }
        bind_matrices |= {node: affine.inverse(matrix) for node, matrix in self._inverse_bind().items()}
        local = affine.compose(joints.positions[0], joints.rotations_xyzw[0], np.ones(3))
        pose = np.array([bind_matrices.get(node, matrix) for node, matrix in zip(joints.nodes, local, strict=True)])
        origins, turns, _ = affine.decompose(pose)
        pose = affine.compose(origins, turns, np.ones(3))
        for place, (node, parent) in enumerate(zip(joints.nodes, joints.parents, strict=True)):
            if node not in bind_matrices and parent >= 0:
                pose[place] = pose[parent] @ pose[place]
        return pose

    def _inverse_bind(self) -> dict[int, Floats]:
        """Return inverse bind matrices of joints in skins; raises `CannotMerge` if skins of original meshes disagree.

        Skins of new meshes do not change the bind pose of original joints.
        """
        bound: dict[int, Floats] = {}
        for number, node in enumerate(self.scene.nodes):
            if node.skin is None:
                continue
            skin = self.scene.skins[node.skin]
            for joint, matrix in zip(skin.joints, np.asarray(skin.inverse_bind, np.float64), strict=True):
                if number not in self.conventions.meshes:
                    if joint not in self.conventions.original_numbers:
                        bound.setdefault(joint, matrix)
                elif not np.allclose(bound.setdefault(joint, matrix), matrix):
                    raise CannotMerge("two skins have different bind poses")
        return bound

    def meshes(self) -> list[Mesh]:
        """Return the meshes of all nodes, one for each material; those of the original first, in its order.

        New meshes without vertices are left out.
        """
        stored, nodes = self.conventions.meshes, self.scene.nodes
        added = [i for i, node in enumerate(nodes) if node.mesh is not None and i not in stored]
        added = [i for i in added if len(self.scene.meshes[nodes[i].mesh or 0].positions)]
        records = []
        for number in (*stored, *added):
            influences = self._influences(number, nodes[number])
            for record in self._records(nodes[number], influences, stored.get(number)):
                self.parts[id(record)] = ("nodes", number)
                records.append(record)
        return records

    def _influences(self, number: int, node: Node) -> _Influences:
        """Return the influences of a skin; without a skin, all vertices move with the node.

        Vertices of a skin that have no joint are bound to the anchor, an extra joint that never moves
        (`Joints.with_anchor`).
        """
        assert node.mesh is not None
        scene = self.scene
        positions = np.asarray(scene.meshes[node.mesh].positions, np.float64)
        if node.skin is None:
            joint = self.joint_of_node[number]
            offsets = affine.transform_points(self._to_joints([number])[0], positions - node.pivot)
            all_vertices = np.arange(len(positions))
            return _Influences(all_vertices, np.full(len(all_vertices), joint), np.ones(len(all_vertices)), offsets)
        skin = scene.skins[node.skin]
        order = np.argsort(np.asarray(skin.vertex_indices), kind="stable")
        vertices = np.asarray(skin.vertex_indices, np.int64)[order]
        chosen = np.asarray(skin.joint_indices, np.int64)[order]
        to_joints = self._to_joints(skin.joints)
        if skin.positions is None:
            to_joints = to_joints @ np.asarray(skin.inverse_bind, np.float64)
            placed = positions[vertices]
        else:
            placed = np.asarray(skin.positions, np.float64)[order]
        offsets = np.einsum("nij,nj->ni", to_joints[chosen][:, :3, :3], placed) + to_joints[chosen][:, :3, 3]
        places = np.array([self.joint_of_node[joint] for joint in skin.joints], np.int64)
        influences = _Influences(vertices, places[chosen], np.asarray(skin.weights, np.float64)[order], offsets)
        free = _free_vertices(scene, node)
        anchor = self.joint_of_node.get(-1)
        return influences if anchor is None or not len(free) else _anchored(influences, free, positions, anchor)

    def _to_joints(self, nodes: list[int]) -> Floats:
        """Return (J, 4, 4) matrices from nodes to their joints, which have no scale, at the first frame."""
        rigid, world = self.joints.rigid[0, [self.joint_of_node[node] for node in nodes]], self.joints.world[0, nodes]
        unscaled = (rigid == world).all(axis=(1, 2))
        return np.where(unscaled[:, None, None], np.eye(4), affine.inverse(rigid) @ world)

    def _records(self, node: Node, influences: _Influences, stored: Mesh | None) -> list[Mesh]:
        assert node.mesh is not None
        mesh = self.scene.meshes[node.mesh]
        starts = np.searchsorted(influences.vertices, np.arange(len(mesh.positions) + 1))
        numbers = np.array([self.joint_numbers[node] for node in self.joints.nodes], np.int64)
        records = []
        for number, piece in split_by_material(mesh):
            counts = np.diff(starts)[piece.vertices]
            firsts = np.cumsum(counts) - counts
            chosen = np.repeat(starts[piece.vertices] - firsts, counts) + np.arange(int(counts.sum()))
            vertices = np.zeros(len(piece.vertices), VERTEX)
            vertices["st"] = 0.0 if piece.uv is None else piece.uv
            vertices["first_weight"], vertices["weight_count"] = firsts, counts
            weights = np.zeros(len(chosen), WEIGHT)
            weights["bias"], weights["joint"] = influences.weights[chosen], numbers[influences.joints[chosen]]
            weights["position"] = influences.offsets[chosen]
            if stored is not None:
                vertices, weights = _in_stored_order(vertices, weights, stored)
            triangles = piece.corners[:, [0, 2, 1]].astype("<u4")  # clockwise
            name = _material_path(self.scene, number, self.report)
            if stored is not None and number < 0:
                name = stored.material  # a stored mesh always has a material
                self.report.add(Outcome.DROPPED, plain_path("materials", decode_name(name)), STILL_USED)
            records.append(Mesh(len(vertices), len(weights), len(triangles), name, vertices, weights, triangles))
        if len(records) > 1:
            path = f"{plain_path('nodes', node.name)}/mesh"
            self.report.add(Outcome.BAKED, path, f"split into {len(records)} meshes, one for each material")
        return records


def _in_stored_order(
    vertices: npt.NDArray[np.void], weights: npt.NDArray[np.void], stored: Mesh
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Return vertices and weights with the weights in the order of the stored mesh, if they fit that order.

    They fit if each vertex has as many weights as before, and vertices that shared weights still do.
    """
    counts, firsts = vertices["weight_count"], stored.vertices["first_weight"]
    if not np.array_equal(counts, stored.vertices["weight_count"]):
        return vertices, weights
    begin = firsts.astype(np.int64) - vertices["first_weight"].astype(np.int64)
    places = np.repeat(begin, counts) + np.arange(len(weights))
    in_place = np.array(stored.weights)
    in_place[places] = weights
    if not np.array_equal(in_place[places], weights):  # vertices no longer share weights
        return vertices, weights
    ordered = np.array(vertices)
    ordered["first_weight"] = firsts
    return ordered, in_place


def _matrix(joint: ModelJoint) -> Floats:
    turn, _ = with_w(np.array([joint.orientation], np.float64))
    return affine.compose(np.array(joint.position, np.float64), turn[0], np.ones(3))


@dataclass(eq=False)
class _Influences:
    """Influences sorted by vertex: joint, weight, and position in the joint's space."""

    vertices: Ints
    joints: Ints
    weights: Floats
    offsets: Floats


def has_free_vertices(scene: Scene, numbers: Iterable[int]) -> bool:
    """Return whether the skinned mesh of one of these nodes has vertices without a joint."""
    nodes = (scene.nodes[number] for number in numbers)
    skinned = [node for node in nodes if node.skin is not None and node.mesh is not None]
    return any(len(_free_vertices(scene, node)) for node in skinned)


def _free_vertices(scene: Scene, node: Node) -> Ints:
    """Return the vertices of a skinned mesh that have no joint."""
    bound = np.unique(np.asarray(scene.skins[node.skin or 0].vertex_indices, np.int64))
    return np.setdiff1d(np.arange(len(scene.meshes[node.mesh or 0].positions)), bound)


def _anchored(influences: _Influences, free: Ints, positions: Floats, anchor: int) -> _Influences:
    """Return the influences, plus one influence of the joint ``anchor`` for each free vertex."""
    vertices = np.concatenate([influences.vertices, free])
    order = np.argsort(vertices, kind="stable")
    return _Influences(
        vertices[order],
        np.concatenate([influences.joints, np.full(len(free), anchor)])[order],
        np.concatenate([influences.weights, np.ones(len(free))])[order],
        np.concatenate([influences.offsets, positions[free]])[order],
    )


def _material_path(scene: Scene, number: int, report: LossReport) -> bytes:
    """Return the text that a mesh stores for its material: the path of the texture, or else the name of the material.

    Losses are reported.
    """
    if not 0 <= number < len(scene.materials):
        return b""
    material = scene.materials[number]
    texture = material.maps.get("texture1")
    file_name = "" if texture is None else texture.file_name
    if file_name == material.name:
        return encode_name(file_name)
    path, message = plain_path("materials", material.name), "only a texture path is stored; this material has none"
    if file_name:
        path, message = f"{path}/name", f"the texture path {file_name!r} is stored instead of the material name"
    if not any(loss.path == path for loss in report):
        report.add(Outcome.DROPPED, path, message)
    return encode_name(file_name or material.name)
