"""Prepare skins for writing: update them for moved vertices, or cut them into rigid parts for formats without skins."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.formats.kit.mesh_writing import mesh_part
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.kit.scene_writing import Tolerance, plain_path
from keyframer.formats.kit.unsupported_features import MOTION
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.vertices import SortedInfluences, skinned
from keyframer.scene import Channel, Clip, Mesh, Morph, Node, NodeKind, Scene, Skin
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted

_MOST_TIMES = 65
_MOST_PLACES = 1 << 20
"""limits on the times at which the error of bent faces is measured, and on matrices or points at all these times"""


def with_moved_vertices(scene: Scene, stored: Scene) -> Scene:
    """Return the scene with influence positions moved along with edited mesh vertices.

    Influences that were edited themselves stay as they are. ``stored`` is the original scene, with the same nodes.
    """
    if len(scene.nodes) != len(stored.nodes) or len(scene.skins) != len(stored.skins):
        return scene
    skins = list(scene.skins)
    for node, original in zip(scene.nodes, stored.nodes, strict=True):
        if node.skin is None or node.mesh is None or original.skin is None or original.mesh is None:
            continue
        skin, known = skins[node.skin], stored.skins[original.skin]
        mesh, old = scene.meshes[node.mesh], stored.meshes[original.mesh]
        if _same_places(skin, known) and np.shape(mesh.positions) == np.shape(old.positions):
            skins[node.skin] = _moved(skin, mesh, old)
    return replace(scene, skins=skins)


def _same_places(skin: Skin, known: Skin) -> bool:
    if skin.positions is None or known.positions is None:
        return False
    names = ("positions", "vertices", "influences", "weights")
    return all(np.array_equal(getattr(skin, name), getattr(known, name)) for name in names)


def _moved(skin: Skin, mesh: Mesh, old: Mesh) -> Skin:
    offsets = np.asarray(mesh.positions, np.float64) - np.asarray(old.positions, np.float64)
    moved = np.asarray(offsets.any(axis=1))
    if not moved.any():
        return skin
    owners = np.asarray(skin.vertices, np.int64)
    chosen = np.flatnonzero(moved[owners])
    inverse = np.asarray(skin.inverse_bind, np.float64)[np.asarray(skin.influences, np.int64)[chosen]]
    places = np.array(skin.positions, np.float64)
    places[chosen] += np.einsum("nij,nj->ni", inverse[:, :3, :3], offsets[owners[chosen]])
    return replace(skin, positions=places)


def without_skins(scene: Scene, tolerance: Tolerance, report: LossReport) -> Scene:
    """Return the scene for a format without skins: meshes are cut into parts, each of which is a child of one joint.

    Faces whose corners follow different joints bend. They are attached to the joint with the largest weight, and the
    loss is reported as dropped if it exceeds the ``tolerance`` of lengths.
    """
    if not any(node.skin is not None and node.mesh is not None for node in scene.nodes):
        return scene
    return _Unskinned(scene, tolerance, report).scene


class _Unskinned:
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
        """nodes that cannot be replaced: other nodes refer to them"""
        self._became: dict[int, list[int]] = {}
        """the nodes that each skinned node was split into"""
        self._users = Counter(node.mesh for node in scene.nodes)
        """number of nodes that still use each mesh"""
        for number, node in enumerate(scene.nodes):
            if node.skin is not None and node.mesh is not None:
                self._part(number, node, _Parts(scene.meshes[node.mesh], scene.skins[node.skin]))
            elif node.skin is not None:
                self.scene.nodes[number] = replace(node, skin=None)
        self.scene.clips = [self._clip(clip) for clip in scene.clips]

    def _part(self, number: int, node: Node, parts: _Parts) -> None:
        """Attach the parts of a node's mesh to their joints."""
        assert node.mesh is not None
        free = number not in self._needed  # the first part can replace the node
        self._users[node.mesh] -= 1
        self.scene.nodes[number] = replace(node, mesh=None, skin=None, morph=None)
        self._became[number] = []
        for joint, faces, vertices in parts.groups():
            mesh = mesh_part(parts.mesh, faces, vertices, parts.places(joint, vertices))
            above = None if joint == parts.none else parts.skin.joints[joint]
            place = node.mesh  # the first part replaces a mesh without other users
            if self._became[number] or self._users[place]:
                place = len(self.scene.meshes)
                self.scene.meshes.append(mesh)
            self.scene.meshes[place] = mesh
            part = Node(node.name, NodeKind.OBJECT, above, mesh=place, hidden=node.hidden)
            part.morph, part.extras = self._morph(node, parts, joint, vertices), node.extras
            if free and not self._became[number]:
                part.raw_name = node.raw_name
                self.scene.nodes[number] = part
                self._became[number].append(number)
            else:
                word = "still" if above is None else self._given.nodes[above].name
                part.name = self._names.claim(f"{node.name}.{word}")
                if mesh.name == node.name:
                    mesh.name = part.name
                self._became[number].append(len(self.scene.nodes))
                self.scene.nodes.append(part)
        path = f"{plain_path('nodes', node.name)}/skin"
        error = self._bending(parts)
        if not error <= self._tolerance.length:
            bent = f"{len(parts.bent)} of {counted(len(parts.corners), 'face')} bent by several joints"
            message = f"{bent}, which cannot be stored: attached to one joint each"
            self._report.add(Outcome.DROPPED, path, message, error=error, unit="scene unit", extras=node.extras)
        else:
            message = f"rigid parts attached to their joints: {len(self._became[number])}"
            self._report.add(Outcome.BAKED, path, message, extras=node.extras)

    def _clip(self, clip: Clip) -> Clip:
        """Return the clip for the parts: they take visibility and morph channels of their node, but not its motion."""
        channels = []
        for channel in clip.channels:
            parts = self._became.get(channel.node, [])
            if channel.node not in parts:
                channels.append(channel)
            if channel.track.kind not in (*MOTION, "scale_axes"):
                channels += [Channel(part, channel.track) for part in parts]
        return replace(clip, channels=channels)

    @staticmethod
    def _morph(node: Node, parts: _Parts, joint: int, vertices: Ints) -> Morph | None:
        if node.morph is None or parts.skin.positions is not None:  # stored influence positions ignore shapes
            return None
        shapes = [np.asarray(shape, np.float64)[vertices] for shape in node.morph.positions]
        return Morph(node.morph.names, [parts.in_joint(joint, shape) for shape in shapes])

    @cached_property
    def _world(self) -> Floats:
        """Return (T, nodes, 4, 4) world matrices at times over the whole clip."""
        clip = self._given.clips[0] if self._given.clips else Clip()
        largest = max(len(self._given.nodes), *(len(mesh.positions) for mesh in self._given.meshes))
        count = max(2, min(_MOST_TIMES, _MOST_PLACES // largest))
        rig = Rig(self._given)
        return rig.world(rig.sample(np.linspace(*clip_span(clip), count)), count)

    def _bending(self, parts: _Parts) -> float:
        """Return the largest distance between the corners of bent faces and their skinned positions."""
        if not len(parts.bent):
            return 0.0
        corners, joints = parts.corners[parts.bent].reshape(-1), np.repeat(parts.face_joints[parts.bent], 3)
        used, places = np.unique(corners, return_inverse=True)
        world = self._world
        truth = skinned(parts.skin_of(used), np.asarray(parts.mesh.positions, np.float64)[None, used], world)
        worst = 0.0
        for joint in np.unique(joints).tolist():
            chosen = joints == joint
            points = parts.places(joint, corners[chosen])
            if joint == parts.none:
                bent = np.broadcast_to(points, (len(world), *points.shape))
            else:
                bent = affine.transform_points(world[:, parts.skin.joints[joint]], points[None])
            worst = max(worst, float(np.sqrt(((truth[:, places[chosen]] - bent) ** 2).sum(axis=-1)).max()))
        return worst


class _Parts:
    """Assigns each face of a skinned mesh to one joint."""

    def __init__(self, mesh: Mesh, skin: Skin) -> None:
        self.mesh, self.skin = mesh, skin
        self.none = len(skin.joints)
        """joint number of vertices without a joint"""
        bound = SortedInfluences(skin, len(mesh.positions))
        free = np.flatnonzero(bound.free)
        kept = np.flatnonzero(bound.shares != 0)
        vertices = np.concatenate([bound.owners[kept], free])
        order = np.argsort(vertices, kind="stable")
        self._joints = np.concatenate([bound.joints[kept], np.full(len(free), self.none)])[order]
        self._shares = np.concatenate([bound.shares[kept], np.ones(len(free))])[order]
        self._rows = np.concatenate([bound.order[kept], np.full(len(free), -1)])[order]
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
        """Return (G,) the joint with the largest weight for each group (G, n) of vertices."""
        counts = self._counts[groups].reshape(-1)
        places = np.repeat(self._starts[groups].reshape(-1) - np.cumsum(counts) + counts, counts)
        places += np.arange(len(places))
        group = np.repeat(np.repeat(np.arange(len(groups)), groups.shape[1]), counts)
        pairs, where = np.unique(group * (self.none + 1) + self._joints[places], return_inverse=True)
        weight = np.bincount(where, self._shares[places], len(pairs))
        order = np.lexsort((weight, pairs // (self.none + 1)))
        last = np.searchsorted(pairs[order] // (self.none + 1), np.arange(len(groups)), side="right") - 1
        return np.asarray(pairs[order][last] % (self.none + 1))

    def groups(self) -> list[tuple[int, Ints, Ints]]:
        """Return joint, faces and vertices of each part; vertices without a face belong to their own joint."""
        loose = np.setdiff1d(np.arange(len(self._counts)), self.corners)
        loose_joints = self._heaviest(loose[:, None])
        order, loose_order = np.argsort(self.face_joints, kind="stable"), np.argsort(loose_joints, kind="stable")
        joints = np.union1d(self.face_joints, loose_joints)
        faces = np.split(order, np.searchsorted(self.face_joints[order], joints[1:]))
        free = np.split(loose[loose_order], np.searchsorted(loose_joints[loose_order], joints[1:]))
        return [
            (joint, part_faces, np.union1d(self.corners[part_faces], free_vertices))
            for joint, part_faces, free_vertices in zip(joints.tolist(), faces, free, strict=True)
        ]

    def places(self, joint: int, vertices: Ints) -> Floats:
        """Return (V, 3) vertices in the space of a joint: as stored in the skin, or from the bind pose."""
        positions = self.in_joint(joint, np.asarray(self.mesh.positions, np.float64)[vertices])
        if self.skin.positions is not None and joint != self.none:
            rows = self._starts[vertices]
            exclusive = (self._counts[vertices] == 1) & (self._joints[rows] == joint)
            positions[exclusive] = np.asarray(self.skin.positions, np.float64)[self._rows[rows[exclusive]]]
        return positions

    def in_joint(self, joint: int, points: Floats) -> Floats:
        """Transform points of the mesh to the space of a joint."""
        if joint == self.none:
            return points.copy()
        return affine.transform_points(np.asarray(self.skin.inverse_bind, np.float64)[joint], points)

    def skin_of(self, vertices: Ints) -> Skin:
        """Return the skin of these vertices only."""
        owners = np.asarray(self.skin.vertices, np.int64)
        kept = np.flatnonzero(np.isin(owners, vertices))
        positions = None if self.skin.positions is None else np.asarray(self.skin.positions)[kept]
        return replace(
            self.skin,
            vertices=np.searchsorted(vertices, owners[kept]),
            influences=np.asarray(self.skin.influences)[kept],
            weights=np.asarray(self.skin.weights)[kept],
            positions=positions,
        )
