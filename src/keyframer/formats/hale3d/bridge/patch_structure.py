"""Joints and meshes that come into a Hale3D animation and its model or go from them; all others keep their numbers.

Joints stand in the order of the file, new ones behind them, none before its parent. What refers to joints by number
(parents, weights) follows them. Columns of the frames go with their joint unless another one reads them, too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.formats._matching import Matching, Rebuilt, new_parts
from keyframer.formats._scenediff import by_kind
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.frame_table import FrameTable
from keyframer.formats.hale3d.bridge.options import Options
from keyframer.formats.hale3d.bridge.scene import pair_of
from keyframer.formats.hale3d.bridge.skeleton import with_w
from keyframer.formats.hale3d.bridge.write_model import bind_joint, bind_joints, mesh_records
from keyframer.formats.hale3d.bridge.writing import HOLDS, components, joint_record
from keyframer.formats.hale3d.document import new_model
from keyframer.formats.hale3d.model import Mesh, Model, ModelJoint
from keyframer.formats.hale3d.records import Animation, Joint, unquoted
from keyframer.formats.kit.frame_times import frame_count, frames_kept
from keyframer.formats.kit.rigid_joints import Joints, joints_at, parents_first, places_above, wanted_joints
from keyframer.formats.kit.scene_writing import NamesThatFit, Unpatchable, plain_path
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.maths import affine
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome

Floats = npt.NDArray[np.float64]


def out_of_order(scene: Scene) -> bool:
    """Whether a joint stands before the one that it hangs on: readers place joints one after the other."""
    return any(node.parent is not None and node.parent > number for number, node in enumerate(scene.nodes))


def rebuild(
    document: Document, options: Options, before: Scene, after: Scene, matching: Matching, report: LossReport
) -> Rebuilt:
    """Take out what is gone and put in what is new, in both files of the pair."""
    animation, model = pair_of(document, options)
    if matching.new_clip:
        raise Unpatchable("a model alone does not move")
    return _Rebuilding(animation, model, before, after, matching, report).done()


class _Rebuilding:
    def __init__(
        self,
        animation: Document | None,
        model: Document | None,
        before: Scene,
        after: Scene,
        matching: Matching,
        report: LossReport,
    ) -> None:
        self.model, self.after, self.report = model, after, report
        self.animation = animation
        self.table = None if animation is None else FrameTable(animation)
        self.bound: list[ModelJoint] = [] if model is None else list(model.find(ModelJoint))
        self.meshes: list[Mesh] = [] if model is None else list(model.find(Mesh))
        had = len(self.bound) if self.table is None else len(self.table.joints)
        self.old = {new: old for new, old in matching.nodes.items() if old < had}
        """joints that stay: number in the scene, to that in the file"""
        self.shown = {new: old - had for new, old in matching.nodes.items() if old >= had}
        """meshes that stay"""
        self.had, self.matching = had, matching
        wanted, above = wanted_joints(after)
        if wanted & set(self.shown):
            raise Unpatchable("joints that hang on a mesh")
        there = sorted(self.old, key=lambda new: self.old[new])
        new = sorted(wanted - set(self.old))
        self.order = parents_first(above, [*there, *new])
        self.parents = places_above(self.order, above)
        self.joints = self._sampled(before)
        self.inverse_bind: dict[int, Floats] = {}
        """of joints that skins list; the first skin counts"""
        for skin in reversed(after.skins):
            self.inverse_bind |= dict(zip(skin.joints, np.asarray(skin.inverse_bind, np.float64), strict=True))

    def _sampled(self, before: Scene) -> Joints:
        """All joints at all frames; the frames of the file are made those of the scene before."""
        times = np.zeros(1)
        if self.table is not None and self.after.clips:
            count = frame_count(self.after.clips[0])
            tracks = by_kind(self.after.clips[0]) or {}
            kept = {old: new for new, old in self.old.items()}
            was = by_kind(before.clips[0]) or {}
            known = {(kept[node], kind): track for (node, kind), track in was.items() if node in kept}
            self.table.take_frames(frames_kept(known, tracks, len(self.table.rows), count))
            times = np.arange(count, dtype=np.float64)
        return joints_at(self.after, self.order, self.parents, times)[0]

    def done(self) -> Rebuilt:
        numbers = {self.old[node]: place for place, node in enumerate(self.order) if node in self.old}
        self._renumber_weights(numbers)
        names = self._new_names()
        if self.table is not None:
            self._joints(self.table, names)
        reading: dict[str, object] = {}
        new_meshes = self._new_meshes()
        meshes = [self.meshes[old] for _, old in sorted(self.shown.items(), key=lambda pair: pair[1])]
        meshes += [mesh for _, made in new_meshes for mesh in made]
        if self.model is not None:
            self._write_model(self.model, [*meshes, *self._bound_joints(names)])
        elif meshes and self.animation is not None and self.table is not None:
            own = [joint.name for joint in self.table.joints]
            made = new_model(meshes, bind_joints(self.joints, own), dialect=self.animation.dialect)  # type: ignore[arg-type]
            reading = {"model": made, "found": ""}
        return Rebuilt(*self._places(meshes, new_meshes), len(self.order) + len(meshes), reading)

    def _places(self, meshes: list[Mesh], new: list[tuple[int, list[Mesh]]]) -> tuple[dict[int, int], dict[int, int]]:
        """Where nodes and materials stand now: joints, then meshes, each with a material of its own."""
        place = {id(mesh): number for number, mesh in enumerate(meshes)}
        nodes = {node: number for number, node in enumerate(self.order)}
        nodes |= {node: len(self.order) + place[id(self.meshes[old])] for node, old in self.shown.items()}
        materials = {}
        for number, old in self.matching.materials.items():
            if id(self.meshes[old]) in place:
                materials[number] = place[id(self.meshes[old])]
            else:
                path = plain_path("materials", self.after.materials[number].name)
                self.report.add(Outcome.DROPPED, path, "went with its mesh: the format has no other place for it")
        for node, made in new:
            nodes.setdefault(node, len(self.order) + place[id(made[0])])
        return nodes, materials

    def _new_names(self) -> dict[int, bytes]:
        """Names of new joints, in quotes where all others are."""
        stored = [each.name for each in (self.bound or (self.table.joints if self.table is not None else []))]
        quoted = bool(stored) and all(unquoted(name) != name for name in stored)
        names = NamesThatFit(reserved=[unquoted(name) for name in stored])
        made = {}
        for node in self.order:
            if node not in self.old:
                name = names.claim(self.after.nodes[node].name)
                made[node] = b'"' + name + b'"' if quoted else name
        return made

    def _joints(self, table: FrameTable, names: dict[int, bytes]) -> None:
        """Joints of the animation: those that go, those that come, and the numbers of all their parents."""
        assert self.animation is not None
        there = list(table.joints)
        kept = {id(there[old]) for old in self.old.values()}
        table.remove([joint for joint in there if id(joint) not in kept])
        records: list[Joint] = []
        new: list[tuple[Joint, Floats]] = []
        for place, node in enumerate(self.order):
            if node in self.old:
                record = there[self.old[node]]
                record.parent = self.parents[place]
            else:
                record = joint_record(self.joints, place, self.parents[place], names[node])
                new.append((record, components(self.joints, place)))
            records.append(record)
        table.add(new)
        table.joints = records
        table.store()
        top = self.animation.first(Animation)
        assert top is not None
        top.children = [*records, *(each for each in top.children if not isinstance(each, Joint))]
        if names:
            tell_dropped(*new_parts(self.after, list(names)), self.report, HOLDS)

    def _renumber_weights(self, numbers: dict[int, int]) -> None:
        """Weights follow their joints; those of joints that are gone go to what these hung on."""
        if not self.bound or numbers == {old: old for old in range(self.had)}:
            return
        known = dict(numbers)
        for old in range(self.had):
            way = []
            at = old
            while at >= 0 and at not in known:
                known[at] = 0  # no circle is followed twice
                way.append(at)
                at = self.bound[at].parent
            known.update(dict.fromkeys(way, known.get(at, 0)))
        table = np.array([known[old] for old in range(self.had)], np.int64)
        for mesh in self.meshes:
            weights = np.array(mesh.weights)
            sound = (weights["joint"] >= 0) & (weights["joint"] < self.had)
            weights["joint"][sound] = table[weights["joint"][sound]]
            mesh.weights = weights

    def _bound_joints(self, names: dict[int, bytes]) -> list[ModelJoint]:
        """Joints of the model; a new one is bound as a skin says, else as it hangs on its parent at the first frame."""
        made: list[ModelJoint] = []
        binds: list[Floats] = []
        for place, node in enumerate(self.order):
            parent = self.parents[place]
            if node in self.old:
                record = self.bound[self.old[node]]
                record.parent = parent
                turn, _ = with_w(np.array([record.orientation], np.float64))
                matrix = affine.compose(np.array(record.position, np.float64), turn[0], np.ones(3))
            else:
                matrix = self._bind(node, place, None if parent < 0 else binds[parent])
                record = bind_joint(matrix, parent, names[node])
            made.append(record)
            binds.append(matrix)
        return made

    def _bind(self, node: int, place: int, above: Floats | None) -> Floats:
        """Where a new joint stands in model space."""
        inverse = self.inverse_bind.get(node)
        if inverse is not None:
            origin, turn, _ = affine.decompose(affine.inverse(inverse))
            return affine.compose(origin, turn, np.ones(3))
        local = affine.compose(self.joints.positions[0, place], self.joints.rotations_xyzw[0, place], np.ones(3))
        return local if above is None else above @ local

    def _new_meshes(self) -> list[tuple[int, list[Mesh]]]:
        known = set(self.matching.nodes)
        made = []
        for number, node in enumerate(self.after.nodes):
            if number not in known and node.mesh is not None and len(self.after.meshes[node.mesh].positions):
                made.append((number, mesh_records(self.after, number, self.joints, self.report)))
        return made

    @staticmethod
    def _write_model(model: Document, records: list[Mesh | ModelJoint]) -> None:
        top = model.first(Model)
        assert top is not None
        rest = [each for each in top.children if not isinstance(each, (Mesh, ModelJoint))]
        top.children = [*records, *rest]
