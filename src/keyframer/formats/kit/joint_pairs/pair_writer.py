"""Write the records of an animation (joints with the columns of their frames) and of its model (joints and meshes).

In a new file, all numbers come from the scene. In an edited one, what did not change is copied from the original.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from keyframer.arrays import Floats, Ints, Singles
from keyframer.formats._matching import Path
from keyframer.formats.document import Document
from keyframer.formats.kit.joint_pairs.reading import with_negative_w, with_w
from keyframer.formats.kit.joint_pairs.records import (
    BOUNDS_FLOATS,
    COMPONENTS,
    VERTEX,
    WEIGHT,
    Frames,
    Joint,
    Mesh,
    ModelJoint,
    unquoted,
)
from keyframer.formats.kit.mesh_writing import split_by_material
from keyframer.formats.kit.rigid_joints import Joints
from keyframer.formats.kit.scene_writing import CannotMerge, UniqueByteNames, plain_path, without_quotes
from keyframer.maths import affine, quat
from keyframer.scene import Clip, Material, Node, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import (
    EDIT_NOT_STORED,
    MATERIALS_UNSUPPORTED,
    MESH_SPLIT,
    NAME_CHANGED,
    NAMES_UNSUPPORTED,
)
from keyframer.text import decode_name, encode_name

_STILL = 1e-6
"""a component of an original joint that differs less from the base frame needs no column"""
_SAME_BIND = 1e-6
"""bind matrices that differ less are the same"""
_MESH_FIELDS = ("positions", "corners", "uv", "face_materials")
_KINDS = {"position": ("position", range(3)), "rotation": ("rotation_xyzw", range(3, COMPONENTS))}
"""kinds of tracks: the field of a node with the rest value, and the components of a joint"""


@dataclass(frozen=True, eq=False)
class OriginalPair:
    """The two files of an original, and what is left of them in the scene that is written; empty for a new file."""

    animation: Document | None = None
    model: Document | None = None
    scene: Scene = field(default_factory=Scene)
    """the scene of the original"""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """the original number of each remaining joint, by its node"""
    mesh_numbers: Mapping[int, int] = field(default_factory=dict)
    """the original number of each remaining mesh, by its node, in the order of the file"""
    changes: Collection[Path] = ()
    """the changed fields of the scene that is written"""

    @cached_property
    def joints(self) -> Sequence[Joint]:
        return [] if self.animation is None else list(self.animation.find(Joint))

    @cached_property
    def model_joints(self) -> Sequence[ModelJoint]:
        return [] if self.model is None else list(self.model.find(ModelJoint))

    @cached_property
    def meshes(self) -> Sequence[Mesh]:
        return [] if self.model is None else list(self.model.find(Mesh))

    @cached_property
    def rows(self) -> Singles:
        """Return the frames of the animation."""
        frames = None if self.animation is None else self.animation.first(Frames)
        return np.zeros((0, 0), "<f4") if frames is None else frames.rows

    @property
    def names(self) -> list[bytes]:
        """Return the names of joints: those of the model if there is one.

        The only known animation names all its joints "origin".
        """
        return [joint.name for joint in (self.joints if self.model is None else self.model_joints)]

    def is_moved(self, node: int, kind: str) -> bool:
        """Return whether the track or the rest value of a node changed; True for a new node."""
        paths = {("clips", 0, "channels", node, kind), ("nodes", node, _KINDS[kind][0])}
        return node not in self.numbers or not paths.isdisjoint(self.changes)

    def is_mesh_changed(self, node: Node) -> bool:
        return any(
            (path[:2] == ("meshes", node.mesh) and path[2] in _MESH_FIELDS)
            or (path[:2] == ("skins", node.skin) and path[2] != "name")
            for path in self.changes
        )

    def new_names(self, scene: Scene, nodes: list[int], report: LossReport) -> list[bytes]:
        """Return the names of the joints of these nodes (-1: the anchor): as stored if they were not renamed.

        A renamed joint keeps its quotes. A new one gets quotes if all stored names have them.
        """
        stored = self.names
        quoted = bool(stored) and all(unquoted(name) != name for name in stored)
        unique_names = UniqueByteNames(reserved=[unquoted(name) for name in stored])
        names = []
        for node in nodes:
            old, quotes = self.numbers.get(node), quoted
            if node < 0:
                raw = unique_names.claim("anchor")
            elif old is None:
                raw = unique_names.claim_for(scene.nodes[node], report, without_quotes(scene.nodes[node].name))
            elif scene.nodes[node].name == self.scene.nodes[old].name:
                names.append(stored[old])
                continue
            else:
                raw, quotes = encode_name(scene.nodes[node].name), unquoted(stored[old]) != stored[old]
            names.append(b'"' + raw + b'"' if quotes else raw)
        return names


class PairWriter:
    """Writes the joints and meshes of a scene."""

    def __init__(self, scene: Scene, joints: Joints, report: LossReport, original: OriginalPair | None = None) -> None:
        self.scene, self.joints, self.report = scene, joints, report
        self.original = original or OriginalPair()
        self.names = self.original.new_names(scene, joints.nodes, report)
        self.joint_of_node = joints.joint_of_node

    def animated_joints(self, clip: Clip) -> Iterator[tuple[Joint, dict[int, Singles]]]:
        """Yield the joints of the animation, each with the columns of the components that move.

        The base frame of a new joint is its first frame. That of an original joint is its rest transform; such a joint
        keeps its columns as long as it has a track, and its name is written only to the model, if there is one.
        """
        original = self.original
        tracks = {(channel.node, channel.track.kind) for channel in clip.channels}
        for place, (node, name) in enumerate(zip(self.joints.nodes, self.names, strict=True)):
            turns = with_negative_w(self.joints.rotations_xyzw[:, place])
            rows = np.concatenate([self.joints.positions[:, place], turns[:, :3]], axis=1).astype(np.float32)
            rest: dict[str, Any] = {"position": rows[0, :3], "rotation": turns[0]}
            joint, stored, base, tolerance = Joint(name=name), dict[int, Singles](), rows[0], 0.0
            if node in original.numbers:
                joint = copy.copy(original.joints[original.numbers[node]])
                stored = stored_columns(original.rows, joint)
                joint.name = name if original.model is None else joint.name
                rest = {kind: getattr(self.scene.nodes[node], field) for kind, (field, _) in _KINDS.items()}
                base, tolerance = np.array([*rest["position"], *rest["rotation"][:3]]), _STILL
            joint.parent = self.joints.parents[place]
            moving = ~(np.abs(rows - base).max(axis=0) <= tolerance)
            columns: dict[int, Singles] = {}
            for kind, (_, bits) in _KINDS.items():
                if not original.is_moved(node, kind):
                    columns |= {bit: stored[bit] for bit in bits if bit in stored}
                    continue
                setattr(joint, "position" if kind == "position" else "orientation", tuple(map(float, rest[kind])))
                has_track = (node, kind) in tracks
                columns |= {bit: rows[:, bit] for bit in bits if moving[bit] or (bit in stored and has_track)}
            yield joint, columns

    def bound_joints(self) -> list[ModelJoint]:
        """Return the joints of the model in their bind pose.

        In a new file it is the first frame. In an edited one it is that of the skins or of the original model; other
        joints are placed relative to their parents as in the first frame.
        """
        original, joints, skins = self.original, self.joints, self._inverse_bind()
        kept = {
            node: original.model_joints[old]
            for node, old in original.numbers.items()
            if original.model_joints and (node not in skins or self._has_same_bind(old, skins[node]))
        }
        pose = np.array(joints.rigid[0])
        if original.animation is not None or original.model is not None:
            bind = {node: _matrix(joint) for node, joint in kept.items()}
            bind |= {node: affine.inverse(matrix) for node, matrix in skins.items() if node not in kept}
            local = affine.compose(joints.positions[0], joints.rotations_xyzw[0], np.ones(3))
            pose = np.array([bind.get(node, matrix) for node, matrix in zip(joints.nodes, local, strict=True)])
            origins, turns, _ = affine.decompose(pose)
            pose = affine.compose(origins, turns, np.ones(3))
            for place, (node, parent) in enumerate(zip(joints.nodes, joints.parents, strict=True)):
                if node not in bind and parent >= 0:
                    pose[place] = affine.multiply(pose[parent], pose[place])
        positions, turns = pose[:, :3, 3].tolist(), with_negative_w(quat.from_matrix3(pose[:, :3, :3]))[:, :3].tolist()
        records = []
        for place, node in enumerate(joints.nodes):
            record = ModelJoint(0, tuple(positions[place]), tuple(turns[place]))
            if node in kept:
                record = copy.copy(kept[node])
            record.parent, record.name = joints.parents[place], self.names[place]
            records.append(record)
        return records

    def _has_same_bind(self, old: int, inverse_bind: Floats) -> bool:
        skins = self.original.scene.skins
        return not skins or np.allclose(inverse_bind, skins[0].inverse_bind[old], _SAME_BIND, _SAME_BIND)

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
                if number not in self.original.mesh_numbers:
                    if joint not in self.original.numbers:
                        bound.setdefault(joint, matrix)
                elif not np.allclose(bound.setdefault(joint, matrix), matrix):
                    raise CannotMerge("two skins have different bind poses")
        return bound

    def meshes(self) -> dict[int, list[Mesh]]:
        """Return the meshes of each node, one for each material; those of the original first, in its order.

        New meshes without vertices are left out.
        """
        original, nodes = self.original, self.scene.nodes
        added = [i for i, node in enumerate(nodes) if node.mesh is not None and i not in original.mesh_numbers]
        records = {}
        for number in (*original.mesh_numbers, *added):
            node, old = nodes[number], original.mesh_numbers.get(number)
            if old is not None and not original.is_mesh_changed(node):
                records[number] = [self._kept_mesh(node, old)]
            elif old is not None or len(self.scene.meshes[node.mesh or 0].positions):
                records[number] = self._records(node, self._influences(number, node), old)
        return records

    def _kept_mesh(self, node: Node, old: int) -> Mesh:
        """Return a mesh of the original with the new numbers of its joints and its material, which may be edited."""
        mesh = copy.copy(self.original.meshes[old])
        numbers = {old: self.joint_of_node[node] for node, old in self.original.numbers.items()}
        if any(new != old for old, new in numbers.items()):
            weights = np.array(mesh.weights)
            weights["joint"] = [numbers.get(joint, 0) for joint in weights["joint"].tolist()]
            mesh.weights = weights
        materials = self.scene.meshes[node.mesh or 0].face_materials
        if materials is not None and len(materials):
            mesh.material = self._material(int(materials[0]), old)
        return mesh

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
            to_joints = affine.multiply(to_joints, skin.inverse_bind)
            placed = positions[vertices]
        else:
            placed = np.asarray(skin.positions, np.float64)[order]
        offsets = affine.transform_each(to_joints[chosen], placed)
        places = np.array([self.joint_of_node[joint] for joint in skin.joints], np.int64)
        influences = _Influences(vertices, places[chosen], np.asarray(skin.weights, np.float64)[order], offsets)
        free = _free_vertices(scene, node)
        anchor = self.joint_of_node.get(-1)
        return influences if anchor is None or not len(free) else _anchored(influences, free, positions, anchor)

    def _to_joints(self, nodes: list[int]) -> Floats:
        """Return (J, 4, 4) matrices from nodes to their joints, which have no scale, at the first frame."""
        rigid, world = self.joints.rigid[0, [self.joint_of_node[node] for node in nodes]], self.joints.world[0, nodes]
        unscaled = (rigid == world).all(axis=(1, 2))
        return np.where(unscaled[:, None, None], np.eye(4), affine.multiply(affine.inverse(rigid), world))

    def _records(self, node: Node, influences: _Influences, old: int | None) -> list[Mesh]:
        assert node.mesh is not None
        mesh = self.scene.meshes[node.mesh]
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
            name = self._material(number, old)
            records.append(Mesh(len(vertices), len(weights), len(triangles), name, vertices, weights, triangles))
        if len(records) > 1:
            path = f"{plain_path('nodes', node.name)}/mesh"
            self.report.add(MESH_SPLIT["pieces"], path, pieces=len(records), reason="one for each material")
        return records

    def _material(self, number: int, old: int | None) -> bytes:
        """Return the text that a mesh stores for its material: the path of the texture, or else its name.

        ``old`` is the number of the mesh in the original, which keeps its text if the material did not change. Losses
        are reported.
        """
        stored = None if old is None else self.original.meshes[old].material
        if not 0 <= number < len(self.scene.materials):
            if stored is not None:  # a stored mesh always has a material
                self.report.add(EDIT_NOT_STORED["still used"], plain_path("materials", decode_name(stored)))
            return stored or b""
        material = self.scene.materials[number]
        file_name = texture_of(material)
        if stored is not None and old is not None:
            before = self.original.scene.materials[old]
            if (material.name, file_name) == (before.name, texture_of(before)):
                return stored
        path, kind = plain_path("materials", material.name), MATERIALS_UNSUPPORTED["without texture"]
        text = without_quotes(file_name or material.name)
        if text != (file_name or material.name):
            self.report.add(NAME_CHANGED["rule"], path, name=text, rule="")
        if file_name == material.name:
            return encode_name(text)
        if file_name:
            path, kind = f"{path}/name", NAMES_UNSUPPORTED["material"]
        if not any(loss.path == path for loss in self.report):
            self.report.add(kind, path, file=file_name)
        return encode_name(text)


def stored_columns(rows: Singles, joint: Joint) -> dict[int, Singles]:
    """Return the columns of frames that a joint reads, by component; none if there are no frames."""
    first = BOUNDS_FLOATS + joint.start_index
    return {bit: rows[:, first + at] for at, bit in enumerate(joint.moving)} if len(rows) else {}


def texture_of(material: Material) -> str:
    texture = material.maps.get("texture1")
    return "" if texture is None else texture.file_name


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
