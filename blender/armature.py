# SPDX-License-Identifier: GPL-3.0-or-later
"""The armature of a scene: joints of skins, other bones, and their ancestors.

The rest pose of a joint is the bind pose of its skin, and its pose is the world matrix of its node. Blender's rest
matrices only have rotation and translation. If the bind matrix also scales or shears, or another skin binds the joint
differently, the joint gets a second bone below its own, whose pose never changes: with the inverse bind matrix
``U . S . V^-1`` the rest rotation is V and the pose is ``U . S``, which is exact for any matrix.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from keyframer.maths import affine, quat
from keyframer.posing.vertices import SortedInfluences
from keyframer.scene import NodeKind, Scene, Skin
from keyframer.text import safe_text

from .animation import WXYZ, Target

_NEAR = 1e-6
"""a joint gets no second bone if rest matrix times inverse bind matrix differs from the identity by at most this;
translations are relative to the size of the armature"""


def bone_nodes(scene: Scene, parents: list[int | None]) -> list[int]:
    """Return joints, bones, and their ancestors, parents first."""
    wanted = {joint for skin in scene.skins for joint in skin.joints}
    wanted |= {number for number, node in enumerate(scene.nodes) if node.kind is NodeKind.BONE}
    chosen: set[int] = set()
    for start in wanted:
        number: int | None = start
        while number is not None and number not in chosen:
            chosen.add(number)
            number = parents[number]
    depth = {number: _depth(number, parents) for number in chosen}
    return sorted(chosen, key=lambda number: (depth[number], number))


def _depth(number: int, parents: list[int | None]) -> int:
    depth, parent = 0, parents[number]
    while parent is not None:
        depth, parent = depth + 1, parents[parent]
    return depth


class Armature:
    """One armature object at the origin, with a bone for each node in ``numbers``."""

    def __init__(self, context: Any, scene: Scene, numbers: list[int], parents: list[int | None], world: Any) -> None:
        """Nodes without an invertible bind matrix rest at their matrix in ``world`` (nodes, 4, 4)."""
        self.scene = scene
        self.numbers = numbers
        self.bone_of: dict[int, str] = {}
        self.rest: dict[int, np.ndarray] = {}
        self._parents = parents
        self._rest_of_joints = self._rest_by_skins()
        self.deforming: dict[tuple[int, int], str] = {}
        """names of the bones that move vertices, by skin and index of the joint in the skin"""
        self.object = bpy.data.objects.new("Armature", bpy.data.armatures.new("Armature"))
        context.collection.objects.link(self.object)
        self._add_bones(context, world)
        for number in numbers:
            bone = self.object.data.bones[self.bone_of[number]]
            self.rest[number] = np.array(bone.matrix_local, np.float64)
            self.object.pose.bones[self.bone_of[number]].rotation_mode = "QUATERNION"
        self._pose_binding_bones()

    def _rest_by_skins(self) -> dict[int, np.ndarray]:
        """Return the rest matrix of each joint, from the first skin with an invertible bind matrix for it."""
        rest_matrices: dict[int, np.ndarray] = {}
        for skin in self.scene.skins:
            for joint, inverse in zip(skin.joints, np.asarray(skin.inverse_bind, np.float64), strict=True):
                if joint not in rest_matrices and np.isfinite(inverse).all() and abs(np.linalg.det(inverse)) > 0:
                    rest_matrices[joint] = rigid(affine.inverse(inverse))
        return rest_matrices

    def _add_bones(self, context: Any, world: Any) -> None:
        rests = {number: self._rest_of_joints.get(number, rigid(world[number])) for number in self.numbers}
        lengths = self._lengths(rests)
        size = float(np.abs([rest[:3, 3] for rest in rests.values()]).max()) or 1.0
        context.view_layer.objects.active = self.object
        bpy.ops.object.mode_set(mode="EDIT")
        try:
            for number in self.numbers:
                bone = self.object.data.edit_bones.new(safe_text(self.scene.nodes[number].name) or "Bone")
                bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, lengths[number], 0.0)
                bone.matrix = Matrix(rests[number].tolist())
                bone.length = lengths[number]
                self.bone_of[number] = bone.name
                parent = self._parents[number]
                if parent is not None:
                    bone.parent = self.object.data.edit_bones[self.bone_of[parent]]
                bone.inherit_scale = "FULL"
            for number, skin in enumerate(self.scene.skins):
                for index, joint in enumerate(skin.joints):
                    difference = rests[joint] @ np.asarray(skin.inverse_bind[index], np.float64) - np.eye(4)
                    difference[:3, 3] /= size
                    if np.abs(difference).max() > _NEAR:
                        self.deforming[number, index] = self._add_binding_bone(number, index, joint, lengths[joint])
                    else:
                        self.deforming[number, index] = self.bone_of[joint]
        finally:
            bpy.ops.object.mode_set(mode="OBJECT")

    def _add_binding_bone(self, skin: int, index: int, joint: int, length: float) -> str:
        """Add a bone below that of a joint, for a bind matrix that differs from the rest matrix of the joint."""
        inverse = np.asarray(self.scene.skins[skin].inverse_bind[index], np.float64)
        bones = self.object.data.edit_bones
        bone = bones.new(f"{self.bone_of[joint]} (bind)")
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, length, 0.0)
        rest = np.eye(4)
        if np.isfinite(inverse).all():
            rotation = np.linalg.svd(inverse[:3, :3])[2].T
            rest[:3, :3] = rotation if np.linalg.det(rotation) > 0 else -rotation
            rest[:3, 3] = np.linalg.lstsq(inverse[:3, :3], -inverse[:3, 3], rcond=None)[0]
        bone.matrix = Matrix(rest.tolist())
        bone.length = length
        bone.parent, bone.inherit_scale = bones[self.bone_of[joint]], "FULL"
        return str(bone.name)

    def _pose_binding_bones(self) -> None:
        for (skin, index), name in self.deforming.items():
            joint = self.scene.skins[skin].joints[index]
            if name == self.bone_of[joint]:
                continue
            rest = np.array(self.object.data.bones[name].matrix_local, np.float64)
            rest_in_joint = affine.inverse(self.rest[joint]) @ rest
            bound = np.asarray(self.scene.skins[skin].inverse_bind[index], np.float64) @ rest
            position, rotation, scale = affine.decompose(affine.inverse(rest_in_joint) @ bound)
            pose = self.object.pose.bones[name]
            pose.rotation_mode = "QUATERNION"
            pose.location, pose.rotation_quaternion, pose.scale = position, WXYZ @ rotation, scale

    def _lengths(self, rests: dict[int, np.ndarray]) -> dict[int, float]:
        """Return the length of each bone: the distance to its nearest child, or else the length of its parent, or else
        a tenth of the size of the armature. Children at the place of their parent do not count.
        """
        points = np.array([rest[:3, 3] for rest in rests.values()])
        default_length = 0.1 * float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
        lengths: dict[int, float] = {}
        for number in self.numbers:
            distances = [
                float(np.linalg.norm(rests[child][:3, 3] - rests[number][:3, 3]))
                for child in self.numbers
                if self._parents[child] == number
            ]
            distances = [distance for distance in distances if distance > 1e-3 * default_length]
            parent = self._parents[number]
            inherited = default_length if parent is None else lengths[parent]
            lengths[number] = min(distances, default=inherited)
        return lengths

    def _rest_in_parent(self, number: int) -> np.ndarray:
        """Return the rest matrix of a bone relative to its parent."""
        parent = self._parents[number]
        return self.rest[number] if parent is None else affine.inverse(self.rest[parent]) @ self.rest[number]

    def targets(self, number: int) -> dict[str, Target]:
        """Return the targets that turn the transform of a node into the pose of its bone, relative to the rest pose."""
        rest = self._rest_in_parent(number)
        inverse = rest[:3, :3].T
        path = f'pose.bones["{bpy.utils.escape_identifier(self.bone_of[number])}"].'
        rotate = WXYZ @ _left_multiplication(quat.from_matrix3(inverse))
        return {
            "position": Target(self.object, f"{path}location", inverse, -inverse @ rest[:3, 3]),
            "rotation": Target(self.object, f"{path}rotation_quaternion", rotate),
            "scale": Target(self.object, f"{path}scale", np.eye(3)),
        }

    def attach(self, obj: Any, number: int) -> None:
        """Parent an object to the head of a bone; Blender itself would use the tail."""
        obj.parent, obj.parent_type, obj.parent_bone = self.object, "BONE", self.bone_of[number]
        length = self.object.data.bones[self.bone_of[number]].length
        obj.matrix_parent_inverse = Matrix.Translation((0.0, -length, 0.0))

    def bind(self, obj: Any, skin_number: int) -> None:
        """Parent an object to the armature, with the vertex groups of a skin and the modifier."""
        skin = self.scene.skins[skin_number]
        obj.parent = self.object
        bound = SortedInfluences(skin, len(obj.data.vertices))
        for index in range(len(skin.joints)):
            influences = np.flatnonzero(bound.joints == index)
            if not len(influences):
                continue
            vertices, vertex_of = np.unique(bound.vertex_indices[influences], return_inverse=True)
            weights = np.bincount(vertex_of.reshape(-1), bound.weights[influences])
            group = obj.vertex_groups.new(name=self.deforming[skin_number, index])
            for weight in np.unique(weights):
                group.add(vertices[weights == weight].tolist(), float(weight), "REPLACE")
        modifier = obj.modifiers.new("Armature", "ARMATURE")
        modifier.object = self.object


def bound_points(skin: Skin, points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return (V, 3) rest positions of vertices, and their largest weighted distance from positions of influences.

    A skin may have a position for each influence; Blender has one for each vertex.
    """
    if skin.positions is None:
        return points, 0.0
    bound = SortedInfluences(skin, len(points))
    binds = np.asarray(skin.inverse_bind, np.float64)
    in_joints = np.asarray(skin.positions, np.float64)[bound.order]
    weighted = _transformed(affine.inverse(binds)[bound.joints], in_joints) * bound.weights[:, None]
    out = np.column_stack([np.bincount(bound.vertex_indices, weighted[:, axis], len(points)) for axis in range(3)])
    out[bound.unweighted] = points[bound.unweighted]
    errors = _transformed(binds[bound.joints], out[bound.vertex_indices]) - in_joints
    return out, float(np.nan_to_num(np.linalg.norm(errors, axis=1) * bound.weights).max(initial=0.0))


def rigid(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with only rotation and translation; the identity if a number is not finite."""
    out = np.eye(4)
    if np.isfinite(matrix).all():
        left, _, right = np.linalg.svd(matrix[:3, :3])
        rotation = left @ right
        out[:3, :3] = rotation if np.linalg.det(rotation) > 0 else left @ np.diag([1.0, 1.0, -1.0]) @ right
        out[:3, 3] = matrix[:3, 3]
    return out


def _transformed(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.einsum("nij,nj->ni", matrices[:, :3, :3], points) + matrices[:, :3, 3]
    return out


def _left_multiplication(rotation_xyzw: np.ndarray) -> np.ndarray:
    """Return the (4, 4) matrix that multiplies a quaternion from the left by this rotation."""
    return np.column_stack([quat.multiply(rotation_xyzw, unit) for unit in np.eye(4)])
