"""How an edited scene gets back into its Hale3D pair: the animation and the model are merged as one tree.

Joints and meshes are matched by the nodes that they are. Rows of frames are columns with names while they are merged
(`frame_table`). What refers to joints (parents, weights) does so by the number that a joint had in the original; new
joints have numbers behind all of those. `_Files` gives all joints the numbers of the merged files.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.formats import bridge
from keyframer.formats._matching import new_parts
from keyframer.formats._scene_differences import by_kind
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.frame_table import lay_out, named_columns
from keyframer.formats.hale3d.bridge.options import Options
from keyframer.formats.hale3d.bridge.scene import pair_of, read_other, to_scene
from keyframer.formats.hale3d.bridge.skeleton import with_w
from keyframer.formats.hale3d.bridge.write_model import bind_joint, has_free_vertices, mesh_records
from keyframer.formats.hale3d.bridge.writing import HOLDINGS, boxes_at, components, joint_record
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import decode, encode
from keyframer.formats.hale3d.model import VERTEX, Mesh, Model, ModelJoint
from keyframer.formats.hale3d.records import Animation, Frames, Joint, unquoted
from keyframer.formats.kit.frame_times import frame_count, framed, frames_kept
from keyframer.formats.kit.rigid_joints import Joints, joints_at, parents_first, places_above, wanted_joints
from keyframer.formats.kit.scene_writing import CannotMerge, NamesThatFit, Written, encode_name, frames_per_second
from keyframer.formats.kit.skin_writing import with_moved_vertices
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.merging import FrameTable, Tree
from keyframer.maths import affine, quat
from keyframer.scene import Mesh as SceneMesh
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import decode_name
from keyframer.wire.record import Record

Floats = npt.NDArray[np.float64]

_STILL = 1e-6
"""so far from the base frame a component may be that the flags call still"""
_OTHERS = (("model", ".mdl"), ("animation", ".anim"))


class Pair(NamedTuple):
    """The two files of an original, None for the one that there is not, and their records."""

    animation: Document | None
    model: Document | None
    joints: list[Joint]
    rows: npt.NDArray[np.float32]
    bound: list[ModelJoint]
    meshes: list[Mesh]

    @staticmethod
    def of(animation: Document | None, model: Document | None) -> Pair:
        frames = None if animation is None else animation.first(Frames)
        return Pair(
            animation,
            model,
            [] if animation is None else list(animation.find(Joint)),
            np.zeros((0, 0), "<f4") if frames is None else frames.rows,
            [] if model is None else list(model.find(ModelJoint)),
            [] if model is None else list(model.find(Mesh)),
        )

    @property
    def names(self) -> list[bytes]:
        """Those of joints; the real animation calls all of them "origin"."""
        return [joint.name for joint in (self.joints if self.model is None else self.bound)]


class Merger(bridge.Merger[Options]):
    def read(self, document: Document, options: Options) -> tuple[Scene, Pair]:
        return to_scene(document, options), Pair.of(*pair_of(document, options))

    def tree(self, document: Document, scene: Scene, links: Pair) -> Tree:
        """Both files with the columns of the frames by name."""
        parts = {id(record): ("nodes", number) for number, record in enumerate(links.joints)}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.bound)}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.meshes, len(links.names))}
        tops: list[Record] = []
        if links.animation is not None:
            tops.append(_with_children(links.animation, Animation, links.joints))
            if len(links.rows):
                tops[0].children.append(_frames(named_columns(links.rows, links.joints)))
        if links.model is not None:
            tops.append(_with_children(links.model, Model, [*links.meshes, *links.bound]))
        return Tree(replace(document, records=tops), parts)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        return _Writing(scene, original).written()

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """The scene with a value and a box for every frame; an animation without frames stays so."""
        boxes = before.clips[0].bounds if before.clips else None
        if not scene.clips or boxes is None or not len(boxes):
            return scene
        scene = framed(scene, max(round(frames_per_second(scene.clips[0])), 1), report)
        clip, frames = scene.clips[0], int(scene.clips[0].end) + 1
        if clip.bounds is not None and len(clip.bounds) == frames:
            return scene
        report.add(Outcome.BAKED, "/clips/bounds", "boxes were computed anew")
        made = boxes_at(scene, np.arange(frames, dtype=np.float64))
        return replace(scene, clips=[replace(clip, bounds=made), *scene.clips[1:]])

    def align(self, scene: Scene, before: Scene) -> Scene:
        """The scene with a material for every mesh, and vertices that take the places of their influences along."""
        meshes, materials = [], list(scene.materials)
        for mesh, was in zip(scene.meshes, before.meshes, strict=True):
            owner = _material_of(mesh)
            if was is mesh or was.face_materials is None or not len(was.face_materials):
                meshes.append(mesh)
                continue
            place = int(was.face_materials[0])
            if owner is not None and place >= 0:
                materials[place] = scene.materials[owner]
            meshes.append(replace(mesh, face_materials=np.full(len(mesh.corners), place, np.int32)))
        return with_moved_vertices(replace(scene, meshes=meshes, materials=materials), before)

    def finish(self, merged: Tree, theirs: Written, original: bridge.Original) -> bridge.Merged:
        return _Files(merged, original).merged()

    def keeps_layout(self, original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        """Whether the layout stays, and the file of the pair that is asked for is there."""
        wanted = asked.get("file", _kind(original))
        if not set(asked) <= {"dialect", "file"} or (wanted != _kind(original) and options.get(wanted) is None):
            return False
        return "dialect" not in asked or Dialect(asked["dialect"]) is original.dialect

    def choose_file(self, written: Written, asked: Mapping[str, Any]) -> Written:
        if asked.get("file", _kind(written.document)) == _kind(written.document) or not written.companions:
            return written
        ((_, data),) = written.companions
        suffix = ".mdl" if _kind(written.document) == "model" else ".anim"
        return Written(decode(data), written.report, ((suffix, encode(written.document)),))

    def companion_files(self, original: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        for name, suffix in _OTHERS:
            if options.get(name) is not None:
                return ((suffix, encode(read_other(options[name], f"the {name}"))),)
        return ()

    def companion_options(self, written: Written) -> dict[str, object]:
        names = {suffix: name for name, suffix in _OTHERS}
        return {names[suffix]: decode(data) for suffix, data in written.companions}


def _kind(document: Document) -> str:
    return "model" if document.first(Model) is not None else "animation"


def _with_children(document: Document, kind: type[Record], children: list[Any]) -> Record:
    """The top record of a file with other records inside."""
    top = copy.copy(document.first(kind))
    assert top is not None
    top.children = list(children)
    return top


def _frames(table: FrameTable) -> Frames:
    frames = Frames()
    frames.rows = table  # type: ignore[assignment]  # while it is merged
    return frames


def _material_of(mesh: SceneMesh) -> int | None:
    if mesh.face_materials is None or not len(mesh.face_materials):
        return None
    owners = np.unique(np.asarray(mesh.face_materials))
    if len(owners) > 1:
        raise CannotMerge("a mesh of several materials")
    return int(owners[0]) if owners[0] >= 0 else None


class _Writing:
    """A scene on its way to a tree that follows the original."""

    def __init__(self, scene: Scene, original: bridge.Original) -> None:
        self.scene, self.before, self.pair = scene, original.scene, original.links
        self.report = LossReport("hale3d")
        had = len(self.pair.names)
        matching = original.matching
        self.joints = {new: old for new, old in matching.nodes.items() if old < had}
        """joints that stay: number in the scene, to that in the original"""
        self.meshes = {new: old - had for new, old in matching.nodes.items() if old >= had}
        if bool(scene.clips) != bool(self.before.clips):
            raise CannotMerge("a model alone does not move" if scene.clips else "an animation without a clip")
        wanted, above = wanted_joints(scene)
        if wanted & set(self.meshes):
            raise CannotMerge("joints that hang on a mesh")
        self.new = sorted(wanted - set(self.joints))
        self.order = parents_first(above, [*sorted(self.joints, key=lambda new: self.joints[new]), *self.new])
        self.parents = places_above(self.order, above)
        numbers = {**matching.nodes, **matching.instead}
        self.numbers = np.array([numbers.get(i, len(self.before.nodes) + i) for i in range(len(scene.nodes))], np.int64)
        """of nodes, by which parents and weights refer to joints"""
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

    def _origins(self) -> npt.NDArray[np.int64]:
        """For each frame the one of the original that it was."""
        if not len(self.pair.rows):
            if any(kind in ("position", "rotation") for _, kind in self.tracks):
                raise CannotMerge("there are no frames")
            return np.zeros(0, np.int64)
        stays = {old: new for new, old in self.joints.items()}
        known = {(stays[node], kind): track for (node, kind), track in self.known.items() if node in stays}
        return frames_kept(known, self.tracks, len(self.pair.rows), frame_count(self.scene.clips[0]))

    def written(self) -> Written:
        tops: list[Record] = []
        names = self._new_names()
        if self.pair.animation is not None:
            tops.append(self._animation(self.pair.animation, names))
        meshes = self._meshes()
        if self.pair.model is not None or meshes:
            top = Model() if self.pair.model is None else _with_children(self.pair.model, Model, [])
            top.children = [*meshes, *self._bound(names)]
            tops.append(top)
        if self.new:
            tell_dropped(*new_parts(self.scene, self.new), self.report, HOLDINGS.silent)
        document = replace(self.pair.animation or self.pair.model, records=tops)
        return Written(document, self.report, parts=self.parts)

    def _new_names(self) -> dict[int, bytes]:
        """Names of new joints, in quotes where all others are."""
        stored = self.pair.names
        quoted = bool(stored) and all(unquoted(name) != name for name in stored)
        names = NamesThatFit(reserved=[unquoted(name) for name in stored])
        made = {node: names.claim(self.scene.nodes[node].name) for node in self.new}
        return {node: b'"' + name + b'"' if quoted else name for node, name in made.items()}

    def _name(self, node: int, stored: bytes) -> bytes:
        """The name of a joint that stays, in quotes where it was."""
        if self.scene.nodes[node].name == self.before.nodes[self.joints[node]].name:
            return stored
        name = encode_name(self.scene.nodes[node].name)
        return b'"' + name + b'"' if unquoted(stored) != stored else name

    def _parent(self, place: int) -> int:
        parent = self.parents[place]
        return -1 if parent < 0 else int(self.numbers[self.order[parent]])

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
            named |= {(int(self.numbers[node]), bit): column for bit, column in columns.items()}
            self.parts[id(record)] = ("nodes", node)
            records.append(record)
        top = _with_children(animation, Animation, records)
        assert isinstance(top, Animation)
        clip = self.scene.clips[0]
        top.frame_rate = int(clip.rate)
        if len(self.origins):
            named["box"] = np.asarray(clip.bounds).reshape(len(self.origins), -1)
            top.children.append(_frames(FrameTable(named, self.origins)))
        return top

    def _joint(self, node: int, stored: Joint) -> Joint:
        """A joint that stays. Its name is that of the model where there is one."""
        made, given, was = copy.copy(stored), self.scene.nodes[node], self.before.nodes[self.joints[node]]
        if not np.array_equal(given.scale, was.scale) or (node, "scale") in self.tracks:
            raise CannotMerge("scale of joints")
        if not np.array_equal(given.position, was.position):
            made.position = tuple(float(value) for value in given.position)
        if not np.array_equal(given.rotation_xyzw, was.rotation_xyzw):
            made.orientation = tuple(float(value) for value in given.rotation_xyzw)
        if self.pair.model is None:
            made.name = self._name(node, stored.name)
        return made

    def _columns(self, node: int, stored: Joint) -> dict[int, Floats]:
        """The components of a joint that stays: those that have columns, and those that left the base frame."""
        given, was = self.scene.nodes[node], self.before.nodes[self.joints[node]]
        made: dict[int, Floats] = {}
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
                values = quat.normalise(values)
                values = np.where(values[:, 3:] > 0, -values, values)  # w is the negative root
            away = np.abs(values[moved, :3] - np.asarray(rest)[:3]).max(axis=0, initial=0.0) > _STILL
            bits = [bit for bit in range(3) if stored.flags >> first + bit & 1 or away[bit]]
            made |= {first + bit: values[:, bit] for bit in bits}
        return made

    # The model

    def _bound(self, names: Mapping[int, bytes]) -> list[ModelJoint]:
        """Joints of the model; a new one is bound as a skin says, else as it hangs on its parent at the first frame."""
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
                    now, then = ((*each.position, *each.orientation) for each in (moved, record))
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
        """A model says where joints are bound, not where they are."""
        given, was = self.scene.nodes[node], self.before.nodes[old]
        for name in ("position", "rotation_xyzw", "scale"):
            if not np.array_equal(getattr(given, name), getattr(was, name)):
                raise CannotMerge(f"{name} of joints")

    def _inverse_bind(self) -> dict[int, Floats]:
        """Where joints are bound that skins list; `CannotMerge` where skins that stay disagree."""
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
                    raise CannotMerge("skins that are bound otherwise")
        return bound

    def _new_bind(self, place: int, inverse: Floats | None, above: Floats | None) -> Floats:
        """Where a joint stands in model space that no model had."""
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
                weights["joint"] = self.numbers[np.array(self.order)[weights["joint"]]]
                record.weights = weights
                self.parts[id(record)] = ("nodes", number)
                records.append(record)
        return records

    def _mesh(self, number: int, stored: Mesh) -> Mesh:
        """A mesh that stays: weights in the places where the file has them, if these still fit."""
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
        wanted["joint"] = self.numbers[np.asarray(skin.joints, np.int64)[np.asarray(skin.influences, np.int64)[order]]]
        wanted["position"] = np.asarray(skin.positions)[order]
        vertices, weights = np.zeros(len(mesh.positions), VERTEX), wanted
        vertices["first_weight"], vertices["weight_count"] = firsts, counts
        if np.array_equal(counts, stored.vertices["weight_count"]):
            places = np.repeat(stored.vertices["first_weight"].astype(np.int64) - firsts, counts) + np.arange(
                len(order)
            )
            in_place = np.array(stored.weights)
            in_place[places] = wanted
            if np.array_equal(in_place[places], wanted):  # else vertices no longer share what they shared
                vertices, weights = np.array(stored.vertices), in_place
        vertices["st"] = mesh.uv
        triangles = np.asarray(mesh.corners)[:, [0, 2, 1]].astype("<u4")  # clockwise
        name = self._material(mesh, stored.material)
        return Mesh(len(vertices), len(weights), len(triangles), name, vertices, weights, triangles)

    def _material(self, mesh: SceneMesh, stored: bytes) -> bytes:
        """The path of the texture, or the name: a mesh has nothing else."""
        owner = _material_of(mesh)
        if owner is None:
            return stored
        material = self.scene.materials[owner]
        texture = material.maps.get("texture1")
        name = material.name if texture is None else texture.file_name
        return stored if decode_name(unquoted(stored)) == name else encode_name(name)


def _matrix(joint: ModelJoint) -> Floats:
    turn, _ = with_w(np.array([joint.orientation], np.float64))
    return affine.compose(np.array(joint.position, np.float64), turn[0], np.ones(3))


class _Files:
    """A merged tree on its way to the two files: joints in their order, with the numbers that they have there."""

    def __init__(self, merged: Tree, original: bridge.Original) -> None:
        self.original, self.pair = original, original.links
        self.before = len(original.scene.nodes)
        tops = merged.document.records
        self.animation = next((top for top in tops if isinstance(top, Animation)), None)
        self.model = next((top for top in tops if isinstance(top, Model)), None)
        numbers = {record: part[1] for record, part in merged.parts.items()}  # type: ignore[index]
        inside = [record for top in tops for record in top.children]
        self.number = {id(each): self._number(numbers[id(each)]) for each in inside if id(each) in numbers}
        """of joints and meshes, as parents and weights refer to them"""
        holder = self.animation or self.model
        assert holder is not None
        joints: list[Any] = [each for each in holder.children if isinstance(each, (Joint, ModelJoint))]
        self.order = self._ordered({self.number[id(each)]: each.parent for each in joints})
        self.place = {number: place for place, number in enumerate(self.order)}

    def _number(self, part: int) -> int:
        return part if part >= 0 else self.before - 1 - part

    def _ordered(self, parents: dict[int, int]) -> list[int]:
        """Joints in the order of the original, new ones behind, and none before its parent; readers place joints one
        after the other. An original that has them otherwise keeps its order if nothing comes or goes."""
        numbers = list(parents)
        place = {number: i for i, number in enumerate(numbers)}
        above = [place.get(parent, -1) for parent in parents.values()]
        same = numbers == list(range(len(self.pair.names)))
        if same and any(joint.parent > number for number, joint in enumerate(self.pair.joints or self.pair.bound)):
            return numbers
        return [numbers[i] for i in parents_first(above, list(range(len(numbers))))]

    def merged(self) -> bridge.Merged:
        documents: dict[str, Document] = {}
        if self.animation is not None and self.pair.animation is not None:
            documents["animation"] = replace(self.pair.animation, records=[self._animation(self.animation)])
        meshes: list[Mesh] = []
        if self.model is not None:
            meshes = [each for each in self.model.children if isinstance(each, Mesh)]
            like = self.pair.model or Document(self.original.document.format, dialect=self.original.document.dialect)
            documents["model"] = replace(like, records=[self._model(self.model, meshes)])
        made = documents.pop(_kind(self.original.document))
        reading: dict[str, object] = {**documents, "found": ""} if documents else {}
        return bridge.Merged(made, reading, self._places(meshes))

    def _places(self, meshes: list[Mesh]) -> tuple[dict[int, int], dict[int, int]]:
        """Where nodes and materials stand now: joints, then meshes, each with a material of its own."""
        matching = self.original.matching
        back = {old: new for new, old in (*matching.instead.items(), *matching.nodes.items())}
        place = dict(self.place)
        for at, mesh in enumerate(meshes, len(self.order)):
            place.setdefault(self.number[id(mesh)], at)
        nodes = {back[n] if n < self.before else n - self.before: at for n, at in place.items()}
        shown = {self.number[id(mesh)] - len(self.pair.names): at for at, mesh in enumerate(meshes)}
        return nodes, {new: shown[old] for new, old in matching.materials.items() if old in shown}

    def _renumbered(self, record: Any) -> Any:
        """A joint with the number that its parent has now."""
        if self.order != list(range(len(self.pair.names))):
            record = copy.copy(record)
            record.parent = self.place.get(record.parent, -1)
        return record

    def _animation(self, top: Animation) -> Animation:
        by_number = {self.number[id(each)]: each for each in top.children if isinstance(each, Joint)}
        joints = {number: self._renumbered(by_number[number]) for number in self.order}
        made = copy.copy(top)
        frames = next((each for each in top.children if isinstance(each, Frames)), None)
        stored = None if self.pair.animation is None else self.pair.animation.first(Frames)
        if frames is not None:
            table: Any = frames.rows
            stored = copy.copy(stored or frames)
            stored.rows, joints = lay_out(self.pair.rows, dict(enumerate(self.pair.joints)), joints, table)
        made.children = [*joints.values(), *([] if stored is None else [stored])]
        return made

    def _model(self, top: Model, meshes: list[Mesh]) -> Model:
        bound = {self.number[id(each)]: each for each in top.children if isinstance(each, ModelJoint)}
        made = copy.copy(top)
        made.children = [*map(self._weighted, meshes), *(self._renumbered(bound[number]) for number in self.order)]
        return made

    def _weighted(self, mesh: Mesh) -> Mesh:
        """A mesh whose weights have the numbers of joints now. Those of joints that are gone go to their parents."""
        if self.order == list(range(len(self.pair.names))):
            return mesh
        numbers = np.zeros(self.before + max(len(self.order), *(n + 1 for n in self.order)), np.int64)
        known = dict(self.place)
        for old in range(len(self.pair.names)):
            way = []
            at = old
            while at >= 0 and at not in known:
                known[at] = 0  # no circle is followed twice
                way.append(at)
                at = self.pair.bound[at].parent if at < len(self.pair.bound) else -1
            known.update(dict.fromkeys(way, known.get(at, 0)))
        for number, place in known.items():
            numbers[number] = place
        made, weights = copy.copy(mesh), np.array(mesh.weights)
        weights["joint"] = numbers[weights["joint"]]
        made.weights = weights
        return made
