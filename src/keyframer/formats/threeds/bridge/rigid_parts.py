"""Cut skinned meshes into rigid parts: 3D Studio has no skins."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.kit.scene_writing import Tolerance, plain_path
from keyframer.formats.kit.unsupported_features import MOTION
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.vertices import SortedInfluences, skinned
from keyframer.scene import Channel, Clip, Mesh, Morph, Node, NodeKind, Scene, Skin
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import MESH_SPLIT, SKINS_UNSUPPORTED

_MOST_TIMES = 65
_MOST_SAMPLES = 1 << 20
"""limits on the times at which the error of bent faces is measured, and on matrices or points at all these times"""


def without_skins(scene: Scene, tolerance: Tolerance, report: LossReport) -> Scene:
    """Return the scene without skins: meshes are cut into parts, and each part is a child of one joint.

    Vertices without weights form a part without a parent. Faces whose corners follow different joints bend: they are
    attached to the joint with the largest weight, and reported as dropped if the error exceeds ``tolerance.length``.
    """
    if not any(node.skin is not None and node.mesh is not None for node in scene.nodes):
        return scene
    return _SkinRemoval(scene, tolerance, report).scene


class _SkinRemoval:
    """Converts a scene to one without skins."""

    def __init__(self, scene: Scene, tolerance: Tolerance, report: LossReport) -> None:
        self._given = scene
        self._tolerance = tolerance
        self._report = report
        self._names = UniqueNames()
        for node in scene.nodes:
            self._names.claim(node.name)
        self.scene = replace(scene, nodes=list(scene.nodes), meshes=list(scene.meshes), skins=[])
        needed = {node.parent for node in scene.nodes} | {node.target for node in scene.nodes}
        self._needed = needed | {joint for skin in scene.skins for joint in skin.joints}
        """nodes that cannot be replaced: other nodes or skins refer to them"""
        self._became: dict[int, list[int]] = {}
        """the nodes that each skinned node was split into"""
        self._users = Counter(node.mesh for node in scene.nodes)
        """number of nodes that still use each mesh"""
        for number, node in enumerate(scene.nodes):
            if node.skin is not None and node.mesh is not None:
                self._attach_parts(number, node, _RigidParts(scene.meshes[node.mesh], scene.skins[node.skin]))
            elif node.skin is not None:
                self.scene.nodes[number] = replace(node, skin=None)
        self.scene.clips = [self._clip(clip) for clip in scene.clips]

    def _attach_parts(self, number: int, node: Node, parts: _RigidParts) -> None:
        """Attach the parts of a node's mesh to their joints."""
        assert node.mesh is not None
        replaceable = number not in self._needed  # the first part can replace the node
        self._users[node.mesh] -= 1
        self.scene.nodes[number] = replace(node, mesh=None, skin=None, morph=None)
        self._became[number] = []
        for joint, faces, vertices in parts.groups():
            mesh = _mesh_part(parts.mesh, faces, vertices, parts.positions_in_joint(joint, vertices))
            parent = None if joint == parts.no_joint else parts.skin.joints[joint]
            mesh_number = node.mesh  # the first part replaces a mesh without other users
            if self._became[number] or self._users[mesh_number]:
                mesh_number = len(self.scene.meshes)
                self.scene.meshes.append(mesh)
            self.scene.meshes[mesh_number] = mesh
            part = Node(node.name, NodeKind.OBJECT, parent, mesh=mesh_number, hidden=node.hidden)
            part.morph, part.extras = self._morph(node, parts, joint, vertices), node.extras
            if replaceable and not self._became[number]:
                part.raw_name = node.raw_name
                self.scene.nodes[number] = part
                self._became[number].append(number)
            else:
                joint_name = "still" if parent is None else self._given.nodes[parent].name
                part.name = self._names.claim(f"{node.name}.{joint_name}")
                if mesh.name == node.name:
                    mesh.name = part.name
                self._became[number].append(len(self.scene.nodes))
                self.scene.nodes.append(part)
        path = f"{plain_path('nodes', node.name)}/skin"
        error = self._bending_error(parts)
        if not error <= self._tolerance.length:
            bent, count = len(parts.bent), len(parts.corners)
            self._report.add(
                SKINS_UNSUPPORTED["bending"], path, error=error, extras=node.extras, bent=bent, count=count
            )
        else:
            count = len(self._became[number])
            self._report.add(
                MESH_SPLIT["rigid parts"] if count > 1 else MESH_SPLIT["one joint"],
                path,
                extras=node.extras,
                count=count,
            )

    def _clip(self, clip: Clip) -> Clip:
        """Return the clip for the parts, which have the visibility and morph channels of their node, not its motion."""
        channels = []
        for channel in clip.channels:
            parts = self._became.get(channel.node, [])
            if channel.node not in parts:
                channels.append(channel)
            if channel.track.kind not in (*MOTION, "scale_axes"):
                channels += [Channel(part, channel.track) for part in parts]
        return replace(clip, channels=channels)

    @staticmethod
    def _morph(node: Node, parts: _RigidParts, joint: int, vertices: Ints) -> Morph | None:
        if node.morph is None or parts.skin.positions is not None:  # stored influence positions ignore shapes
            return None
        shapes = [np.asarray(shape, np.float64)[vertices] for shape in node.morph.positions]
        return Morph(node.morph.names, [parts.to_joint(joint, shape) for shape in shapes])

    @cached_property
    def _world(self) -> Floats:
        """Return (T, nodes, 4, 4) world matrices at times over the whole clip."""
        clip = self._given.clips[0] if self._given.clips else Clip()
        largest = max(len(self._given.nodes), *(len(mesh.positions) for mesh in self._given.meshes))
        count = max(2, min(_MOST_TIMES, _MOST_SAMPLES // largest))
        rig = Rig(self._given)
        return rig.world(rig.sample(np.linspace(*clip_span(clip), count)), count)

    def _bending_error(self, parts: _RigidParts) -> float:
        """Return the largest distance between the corners of bent faces and their skinned positions."""
        if not len(parts.bent):
            return 0.0
        corners, joints = parts.corners[parts.bent].reshape(-1), np.repeat(parts.face_joints[parts.bent], 3)
        used, used_numbers = np.unique(corners, return_inverse=True)
        world = self._world
        expected = skinned(parts.skin_of(used), np.asarray(parts.mesh.positions, np.float64)[None, used], world)
        error = 0.0
        for joint in np.unique(joints).tolist():
            of_joint = joints == joint
            points = parts.positions_in_joint(joint, corners[of_joint])
            if joint == parts.no_joint:
                rigid = np.broadcast_to(points, (len(world), *points.shape))
            else:
                rigid = affine.transform_points(world[:, parts.skin.joints[joint]], points[None])
            distances = np.sqrt(((expected[:, used_numbers[of_joint]] - rigid) ** 2).sum(axis=-1))
            error = max(error, float(distances.max()))
        return error


class _RigidParts:
    """Assigns each face of a skinned mesh to one joint."""

    def __init__(self, mesh: Mesh, skin: Skin) -> None:
        self.mesh, self.skin = mesh, skin
        self.no_joint = len(skin.joints)
        """joint number of vertices without a joint"""
        influences = SortedInfluences(skin, len(mesh.positions))
        free = np.flatnonzero(influences.unweighted)
        used = np.flatnonzero(influences.weights != 0)
        vertices = np.concatenate([influences.vertex_indices[used], free])
        order = np.argsort(vertices, kind="stable")
        self._joints = np.concatenate([influences.joints[used], np.full(len(free), self.no_joint)])[order]
        self._shares = np.concatenate([influences.weights[used], np.ones(len(free))])[order]
        self._rows = np.concatenate([influences.order[used], np.full(len(free), -1)])[order]
        """number of each influence in the skin"""
        self._starts = np.searchsorted(vertices[order], np.arange(len(mesh.positions) + 1))
        self._counts = np.diff(self._starts)
        self.corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
        single = (self._counts == 1)[self.corners].all(axis=1)
        first = self._joints[self._starts[self.corners]] if len(self.corners) else self.corners
        rigid = single & (first == first[:, :1]).all(axis=1)
        self.bent = np.flatnonzero(~rigid)
        """faces whose corners follow different joints, or several joints"""
        self.face_joints = first[:, 0].copy()
        self.face_joints[self.bent] = self._heaviest(self.corners[self.bent])

    def _heaviest(self, groups: Ints) -> Ints:
        """Return for each group (G, n) of vertices the joint (G,) with the largest weight."""
        counts = self._counts[groups].reshape(-1)
        influences = np.repeat(self._starts[groups].reshape(-1) - np.cumsum(counts) + counts, counts)
        influences += np.arange(len(influences))
        group = np.repeat(np.repeat(np.arange(len(groups)), groups.shape[1]), counts)
        joint_count = self.no_joint + 1
        pairs, pair_numbers = np.unique(group * joint_count + self._joints[influences], return_inverse=True)
        weights = np.bincount(pair_numbers, self._shares[influences], len(pairs))
        order = np.lexsort((weights, pairs // joint_count))
        last = np.searchsorted(pairs[order] // joint_count, np.arange(len(groups)), side="right") - 1
        return np.asarray(pairs[order][last] % joint_count)

    def groups(self) -> list[tuple[int, Ints, Ints]]:
        """Return joint, faces and vertices of each part; a vertex without a face belongs to its heaviest joint."""
        loose = np.setdiff1d(np.arange(len(self._counts)), self.corners)
        loose_joints = self._heaviest(loose[:, None])
        order, loose_order = np.argsort(self.face_joints, kind="stable"), np.argsort(loose_joints, kind="stable")
        joints = np.union1d(self.face_joints, loose_joints)
        faces = np.split(order, np.searchsorted(self.face_joints[order], joints[1:]))
        loose_parts = np.split(loose[loose_order], np.searchsorted(loose_joints[loose_order], joints[1:]))
        return [
            (joint, part_faces, np.union1d(self.corners[part_faces], loose_vertices))
            for joint, part_faces, loose_vertices in zip(joints.tolist(), faces, loose_parts, strict=True)
        ]

    def positions_in_joint(self, joint: int, vertices: Ints) -> Floats:
        """Return (V, 3) positions of vertices in the space of a joint: as stored in the skin, or from the bind pose."""
        positions = self.to_joint(joint, np.asarray(self.mesh.positions, np.float64)[vertices])
        if self.skin.positions is not None and joint != self.no_joint:
            rows = self._starts[vertices]
            exclusive = (self._counts[vertices] == 1) & (self._joints[rows] == joint)
            positions[exclusive] = np.asarray(self.skin.positions, np.float64)[self._rows[rows[exclusive]]]
        return positions

    def to_joint(self, joint: int, points: Floats) -> Floats:
        """Transform points of the mesh to the space of a joint."""
        if joint == self.no_joint:
            return points.copy()
        return affine.transform_points(np.asarray(self.skin.inverse_bind, np.float64)[joint], points)

    def skin_of(self, vertices: Ints) -> Skin:
        """Return the skin of these vertices only."""
        owners = np.asarray(self.skin.vertex_indices, np.int64)
        rows = np.flatnonzero(np.isin(owners, vertices))
        positions = None if self.skin.positions is None else np.asarray(self.skin.positions)[rows]
        return replace(
            self.skin,
            vertex_indices=np.searchsorted(vertices, owners[rows]),
            joint_indices=np.asarray(self.skin.joint_indices)[rows],
            weights=np.asarray(self.skin.weights)[rows],
            positions=positions,
        )


def _mesh_part(mesh: Mesh, faces: Ints, vertices: Ints, positions: Floats) -> Mesh:
    """Return a mesh with some of the faces.

    ``vertices`` (V,) are the vertices that it keeps, in ascending order; ``positions`` (V, 3) are their positions.
    """
    corners = np.asarray(mesh.corners, np.int64)[faces]
    part = replace(mesh, positions=positions, corners=np.searchsorted(vertices, corners))
    for values_name, corners_name in (("uv", "uv_corners"), ("colors", "color_corners")):
        values, value_corners = getattr(mesh, values_name), getattr(mesh, corners_name)
        if values is not None:
            value_corners = corners if value_corners is None else np.asarray(value_corners, np.int64)[faces]
            used, new_corners = np.unique(value_corners, return_inverse=True)
            setattr(part, values_name, np.asarray(values)[used])
            setattr(part, corners_name, new_corners.reshape(-1, 3))
    for name in ("smoothing", "edges", "face_materials"):
        column = getattr(mesh, name)
        if column is not None:
            setattr(part, name, np.asarray(column)[faces])
    part.bounding_sphere = None
    return part
