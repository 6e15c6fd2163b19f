"""Write a scene with the joints, columns and meshes of its original files.

Parents and weights refer to joints by `Matching.key`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats, Ints
from keyframer.formats import bridge
from keyframer.formats._scene_differences import by_kind
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.original_pair import Pair, frames_record, with_children
from keyframer.formats.hale3d.bridge.quaternions import with_negative_w, with_w
from keyframer.formats.hale3d.bridge.write_model import bind_joint, has_free_vertices, mesh_records
from keyframer.formats.hale3d.bridge.writing import components, joint_record
from keyframer.formats.hale3d.model import VERTEX, Mesh, Model, ModelJoint
from keyframer.formats.hale3d.records import Animation, Joint, unquoted
from keyframer.formats.kit.frame_times import original_frames
from keyframer.formats.kit.rigid_joints import Joints, joints_at, parent_places, parents_first, wanted_joints
from keyframer.formats.kit.scene_writing import CannotMerge, UniqueByteNames, Written, encode_name
from keyframer.formats.merging import FrameTable
from keyframer.maths import affine, quat
from keyframer.scene import Mesh as SceneMesh
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.text import decode_name
from keyframer.wire.record import Record

_STILL = 1e-6
"""largest difference from the base frame of a component without a flag"""


def material_of(mesh: SceneMesh) -> int | None:
    if mesh.face_materials is None or not len(mesh.face_materials):
        return None
    owners = np.unique(np.asarray(mesh.face_materials))
    if len(owners) > 1:
        raise CannotMerge("a mesh of several materials")
    return int(owners[0]) if owners[0] >= 0 else None


class FollowingWriter:
    """Writes a scene as a tree with the layout of the original."""

    def __init__(self, scene: Scene, original: bridge.Original) -> None:
        self.scene, self.before, self.document = scene, original.scene, original.document
        self.pair: Pair = original.links
        self.report = LossReport("hale3d")
        joint_count = len(self.pair.names)
        matching = original.matching
        self.joints = {new: old for new, old in matching.nodes.items() if old < joint_count}
        """remaining joints: number in the scene to number in the original"""
        self.meshes = {new: old - joint_count for new, old in matching.nodes.items() if old >= joint_count}
        if bool(scene.clips) != bool(self.before.clips):
            raise CannotMerge("a model alone does not move" if scene.clips else "an animation without a clip")
        wanted, above = wanted_joints(scene)
        if wanted & set(self.meshes):
            raise CannotMerge("joints below a mesh")
        self.new = sorted(wanted - set(self.joints))
        self.order = parents_first(above, [*sorted(self.joints, key=lambda new: self.joints[new]), *self.new])
        self.parents = parent_places(self.order, above)
        self.keys = np.array([matching.key(i, self.before) for i in range(len(scene.nodes))], np.int64)
        """keys of nodes, by which parents and weights refer to joints"""
        self.tracks = by_kind(scene.clips[0]) or {} if scene.clips else {}
        self.known = by_kind(self.before.clips[0]) or {} if self.before.clips else {}
        self.parts: dict[int, tuple[str, int]] = {}
        self.origins = self._origins()
        shown = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
        self.new_meshes = [
            i for i in shown if i not in self.meshes and len(scene.meshes[scene.nodes[i].mesh or 0].positions)
        ]
        if has_free_vertices(scene, self.new_meshes):
            raise CannotMerge("vertices that no joint carries")
        self.sampled: Joints | None = None
        if self.new or self.new_meshes:
            times = np.arange(max(len(self.origins), 1), dtype=np.float64)
            self.sampled = joints_at(scene, self.order, self.parents, times)[0]

    def _origins(self) -> Ints:
        """Return the original frame of each frame."""
        if len(self.pair.rows):
            return original_frames(self.before, self.scene, self.joints, len(self.pair.rows))
        if any(kind in ("position", "rotation") for _, kind in self.tracks):
            raise CannotMerge("there are no frames")
        return np.zeros(0, np.int64)

    def written(self) -> Written:
        tops: list[Record] = []
        names = self._new_names()
        if self.pair.animation is not None:
            tops.append(self._animation(self.pair.animation, names))
        meshes = self._meshes()
        if self.pair.model is not None or meshes:
            top = Model() if self.pair.model is None else with_children(self.pair.model, Model, [])
            top.children = [*meshes, *self._bound(names)]
            tops.append(top)
        return Written(replace(self.document, records=tops), self.report, parts=self.parts)

    def _new_names(self) -> dict[int, bytes]:
        """Return names of new joints, in quotes if all others are."""
        stored = self.pair.names
        quoted = bool(stored) and all(unquoted(name) != name for name in stored)
        names = UniqueByteNames(reserved=[unquoted(name) for name in stored])
        names_claimed = {node: names.claim(self.scene.nodes[node].name) for node in self.new}
        return {node: b'"' + name + b'"' if quoted else name for node, name in names_claimed.items()}

    def _name(self, node: int, stored: bytes) -> bytes:
        """Return the name of a remaining joint, in quotes if it was before."""
        if self.scene.nodes[node].name == self.before.nodes[self.joints[node]].name:
            return stored
        name = encode_name(self.scene.nodes[node].name)
        return b'"' + name + b'"' if unquoted(stored) != stored else name

    def _parent(self, place: int) -> int:
        parent = self.parents[place]
        return -1 if parent < 0 else int(self.keys[self.order[parent]])

    # The animation

    def _animation(self, animation: Document, names: Mapping[int, bytes]) -> Record:
        records: list[Record] = []
        named: dict[object, npt.ArrayLike] = {}
        for place, node in enumerate(self.order):
            if node in self.joints:
                record = self._joint(node, self.pair.joints[self.joints[node]])
                record.parent = self._parent(place)
                columns = self._columns(node, self.pair.joints[self.joints[node]])
            else:
                assert self.sampled is not None
                record = joint_record(self.sampled, place, self._parent(place), names[node])
                values = components(self.sampled, place).astype(np.float32).astype(np.float64)
                columns = {bit: values[:, bit] for bit in np.flatnonzero((values != values[0]).any(axis=0)).tolist()}
            named |= {(int(self.keys[node]), bit): column for bit, column in columns.items()}
            self.parts[id(record)] = ("nodes", node)
            records.append(record)
        top = with_children(animation, Animation, records)
        assert isinstance(top, Animation)
        clip = self.scene.clips[0]
        top.frame_rate = int(clip.rate)
        if len(self.origins):
            named["box"] = np.asarray(clip.bounds).reshape(len(self.origins), -1)
            top.children.append(frames_record(FrameTable(named, self.origins)))
        return top

    def _joint(self, node: int, stored: Joint) -> Joint:
        """Return a remaining joint. Its name is that of the model, if any."""
        joint, given, was = copy.copy(stored), self.scene.nodes[node], self.before.nodes[self.joints[node]]
        if not np.array_equal(given.scale, was.scale) or (node, "scale") in self.tracks:
            raise CannotMerge("scale of joints")
        if not np.array_equal(given.position, was.position):
            joint.position = tuple(float(value) for value in given.position)
        if not np.array_equal(given.rotation_xyzw, was.rotation_xyzw):
            joint.orientation = tuple(float(value) for value in given.rotation_xyzw)
        if self.pair.model is None:
            joint.name = self._name(node, stored.name)
        return joint

    def _columns(self, node: int, stored: Joint) -> dict[int, Floats]:
        """Return the components of a remaining joint: those with columns, and those that differ from the base frame."""
        given, was = self.scene.nodes[node], self.before.nodes[self.joints[node]]
        columns: dict[int, Floats] = {}
        for kind, first, rest, rested in (
            ("position", 0, given.position, was.position),
            ("rotation", 3, given.rotation_xyzw, was.rotation_xyzw),
        ):
            track, known = self.tracks.get((node, kind)), self.known.get((self.joints[node], kind))
            if track is None:
                continue
            if len(track.times) != len(self.origins):
                raise CannotMerge("tracks of different lengths")
            values = np.asarray(track.values, np.float64)
            moved = np.ones(len(values), bool)
            if known is not None and np.array_equal(rest, rested):
                moved = (np.asarray(known.values)[self.origins] != values).any(axis=1)
            if kind == "rotation":
                values = with_negative_w(quat.normalise(values))
            away = np.abs(values[moved, :3] - np.asarray(rest)[:3]).max(axis=0, initial=0.0) > _STILL
            bits = [bit for bit in range(3) if stored.flags >> first + bit & 1 or away[bit]]
            columns |= {first + bit: values[:, bit] for bit in bits}
        return columns

    # The model

    def _bound(self, names: Mapping[int, bytes]) -> list[ModelJoint]:
        """Return the joints of the model. A new one has the bind pose of a skin, else that of the first frame."""
        inverse = self._inverse_bind()
        records: list[ModelJoint] = []
        binds: list[Floats] = []
        for place, node in enumerate(self.order):
            parent, old = self.parents[place], self.joints.get(node)
            if old is not None and self.pair.model is not None:
                record = copy.copy(self.pair.bound[old])
                record.parent, record.name = self._parent(place), self._name(node, record.name)
                if self.pair.animation is None:
                    self._refuse_moves(node, old)
                matrix = _matrix(record)
                if node in inverse:
                    moved = bind_joint(affine.inverse(inverse[node]), record.parent, record.name)
                    now, then = ((*joint.position, *joint.orientation) for joint in (moved, record))
                    if not np.allclose(now, then, atol=1e-6):
                        record.position, record.orientation, matrix = moved.position, moved.orientation, _matrix(moved)
            else:
                assert self.sampled is not None
                matrix = self._new_bind(place, inverse.get(node), None if parent < 0 else binds[parent])
                name = names[node] if old is None else self.pair.joints[old].name
                record = bind_joint(matrix, self._parent(place), name)
            self.parts[id(record)] = ("nodes", node)
            records.append(record)
            binds.append(matrix)
        return records

    def _refuse_moves(self, node: int, old: int) -> None:
        """Raise `CannotMerge` for moved joints: a model stores their bind pose, not their rest pose."""
        given, was = self.scene.nodes[node], self.before.nodes[old]
        for name in ("position", "rotation_xyzw", "scale"):
            if not np.array_equal(getattr(given, name), getattr(was, name)):
                raise CannotMerge(f"{name} of joints")

    def _inverse_bind(self) -> dict[int, Floats]:
        """Return inverse bind matrices of joints in skins; `CannotMerge` if remaining skins disagree."""
        bound: dict[int, Floats] = {}
        for number, node in enumerate(self.scene.nodes):
            if node.skin is None:
                continue
            skin = self.scene.skins[node.skin]
            for joint, matrix in zip(skin.joints, np.asarray(skin.inverse_bind, np.float64), strict=True):
                if number not in self.meshes:
                    if joint not in self.joints:
                        bound.setdefault(joint, matrix)
                elif not np.allclose(bound.setdefault(joint, matrix), matrix):
                    raise CannotMerge("a skin with another bind pose")
        return bound

    def _new_bind(self, place: int, inverse: Floats | None, above: Floats | None) -> Floats:
        """Return the bind matrix of a new joint in model space."""
        assert self.sampled is not None
        if inverse is not None:
            origin, turn, _ = affine.decompose(affine.inverse(inverse))
            return affine.compose(origin, turn, np.ones(3))
        position, turn = self.sampled.positions[0, place], self.sampled.rotations_xyzw[0, place]
        local = affine.compose(position, turn, np.ones(3))
        return local if above is None else above @ local

    def _meshes(self) -> list[Mesh]:
        records: list[Mesh] = []
        for number in sorted(self.meshes, key=lambda new: self.meshes[new]):
            record = self._mesh(number, self.pair.meshes[self.meshes[number]])
            self.parts[id(record)] = ("nodes", number)
            records.append(record)
        for number in self.new_meshes:
            assert self.sampled is not None
            for record in mesh_records(self.scene, number, self.sampled, self.report):
                weights = np.array(record.weights)
                weights["joint"] = self.keys[np.array(self.order)[weights["joint"]]]
                record.weights = weights
                self.parts[id(record)] = ("nodes", number)
                records.append(record)
        return records

    def _mesh(self, number: int, stored: Mesh) -> Mesh:
        """Return a remaining mesh: with its weights in the order of the file, if they still match."""
        node = self.scene.nodes[number]
        mesh, skin = self.scene.meshes[node.mesh or 0], self.scene.skins[node.skin or 0]
        if mesh.uv is None or len(mesh.uv) != len(mesh.positions) or mesh.uv_corners is not None:
            raise CannotMerge("texture vertices of meshes")
        if skin.positions is None:
            raise CannotMerge("vertices without places in their joints of skins")
        order = np.argsort(np.asarray(skin.vertices), kind="stable")
        counts = np.bincount(np.asarray(skin.vertices, np.int64), minlength=len(mesh.positions))
        firsts = np.cumsum(counts) - counts
        wanted = np.zeros(len(order), stored.weights.dtype)
        wanted["bias"] = np.asarray(skin.weights)[order]
        wanted["joint"] = self.keys[np.asarray(skin.joints, np.int64)[np.asarray(skin.influences, np.int64)[order]]]
        wanted["position"] = np.asarray(skin.positions)[order]
        vertices, weights = np.zeros(len(mesh.positions), VERTEX), wanted
        vertices["first_weight"], vertices["weight_count"] = firsts, counts
        if np.array_equal(counts, stored.vertices["weight_count"]):
            places = np.repeat(stored.vertices["first_weight"].astype(np.int64) - firsts, counts) + np.arange(
                len(order)
            )
            in_place = np.array(stored.weights)
            in_place[places] = wanted
            if np.array_equal(in_place[places], wanted):  # otherwise vertices no longer share weights
                vertices, weights = np.array(stored.vertices), in_place
        vertices["st"] = mesh.uv
        triangles = np.asarray(mesh.corners)[:, [0, 2, 1]].astype("<u4")  # clockwise
        name = self._material(mesh, stored.material)
        return Mesh(len(vertices), len(weights), len(triangles), name, vertices, weights, triangles)

    def _material(self, mesh: SceneMesh, stored: bytes) -> bytes:
        """Return the texture path, or the name: a mesh stores nothing else."""
        owner = material_of(mesh)
        if owner is None:
            return stored
        material = self.scene.materials[owner]
        texture = material.maps.get("texture1")
        name = material.name if texture is None else texture.file_name
        return stored if decode_name(unquoted(stored)) == name else encode_name(name)


def _matrix(joint: ModelJoint) -> Floats:
    turn, _ = with_w(np.array([joint.orientation], np.float64))
    return affine.compose(np.array(joint.position, np.float64), turn[0], np.ones(3))
