"""Merge an edited scene into its Hale3D pair: animation and model are merged as one tree.

Joints and meshes are matched by their nodes. During the merge, frames are tables of named columns. `PairWriter` makes
the records of the scene before and after the edit, and `merged_files` makes the files of the merged tree.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.merged_files import MergedFiles, named_columns
from keyframer.formats.hale3d.bridge.original_conventions import OriginalConventions, Pair
from keyframer.formats.hale3d.bridge.pair_writer import PairWriter, has_free_vertices
from keyframer.formats.hale3d.bridge.scene import Options, pair_of, read_companion_document, to_scene
from keyframer.formats.hale3d.bridge.writing import boxes_at
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import decode, encode
from keyframer.formats.hale3d.model import Model
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Animation, Frames
from keyframer.formats.kit.frame_times import at_whole_frames, frame_count
from keyframer.formats.kit.mesh_writing import with_moved_vertices
from keyframer.formats.kit.rigid_joints import joints_in_original_order, unscaled_joints_at
from keyframer.formats.kit.scene_writing import CannotMerge, Written, first_clip, frames_per_second, plain_path
from keyframer.formats.merging import Column, Edited, Tree
from keyframer.scene import Mesh as SceneMesh
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.wire.record import Record

_COMPANIONS = (("model", ".mdl"), ("animation", ".anim"))
"""option and suffix of each file that can be the companion"""


class Merger(bridge.Merger[Options]):
    stores_local = True

    def read(self, document: Document, options: Options) -> tuple[Scene, Pair]:
        return to_scene(document, options), Pair.of(*pair_of(document, options))

    def tree(self, document: Document, scene: Scene, links: Pair) -> Tree:
        """Return the tree of both files, with named columns of the frames."""
        parts: dict[int, tuple[str, *tuple[int, ...]]] = {}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.joints)}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.model_joints)}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.meshes, len(links.names))}
        columns = {("nodes", *name): values for name, values in named_columns(links.rows, links.joints).items()}
        records = {name: Column(values) for name, values in columns.items()}
        parts |= {id(record): name for name, record in records.items()}
        children = [*links.joints, *records.values(), *_boxes(links.rows[:, :BOUNDS_FLOATS])]
        return Tree(_combined(document, links, children, [*links.meshes, *links.model_joints]), parts)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        """Write both files as one tree. Parents and weights refer to joints by `Matching.key`."""
        pair, before, matching = original.links, original.scene, original.matching
        if bool(scene.clips) != bool(before.clips):
            raise CannotMerge(
                "a clip was added to a model without an animation" if scene.clips else "the clip was removed"
            )
        joint_count = len(pair.names)
        remaining_joints = {new: old for new, old in matching.nodes.items() if old < joint_count}
        mesh_nodes = sorted(
            (new for new, old in matching.nodes.items() if old >= joint_count), key=lambda new: matching.nodes[new]
        )
        joint_numbers = {node: matching.key(node) for node in range(len(scene.nodes))}
        if pair.animation is None and not all(
            np.array_equal(getattr(scene.nodes[new], name), getattr(before.nodes[old], name))
            for new, old in remaining_joints.items()
            for name in ("position", "rotation_xyzw")
        ):
            raise CannotMerge("a joint moved in a model, which has only the bind pose of its skins")
        report = LossReport("hale3d")
        clip = first_clip(scene, report)
        if not len(pair.rows) and any(channel.track.kind in ("position", "rotation") for channel in clip.channels):
            raise CannotMerge("tracks were added to an animation without frames")
        count = frame_count(clip) if len(pair.rows) else 0
        times = np.arange(max(count, 1), dtype=np.float64)
        untouched = original.untouched if pair.model is None else ()  # skins need all joints
        order, _ = joints_in_original_order(scene, remaining_joints, depth_first=False)
        written_nodes = [node for node in order if node not in untouched]
        joints = unscaled_joints_at(scene, written_nodes, times, remaining_joints)
        if set(joints.nodes) & set(mesh_nodes):
            raise CannotMerge("a mesh has joints as children")
        if has_free_vertices(scene, set(range(len(scene.nodes))) - set(mesh_nodes)):
            raise CannotMerge("a mesh has vertices without a joint")
        meshes = {number: pair.meshes[matching.nodes[number] - joint_count] for number in mesh_nodes}
        conventions = OriginalConventions(pair, before, remaining_joints, joint_numbers, meshes)
        writer = PairWriter(scene, joints, report, conventions)
        children: list[Record] = []
        columns: dict[tuple[str, int, int], Record] = {}
        for node, (joint, moving) in zip(
            joints.nodes, writer.animated_joints(clip) if scene.clips else (), strict=False
        ):
            children.append(joint)
            columns |= {("nodes", node, bit): Column(values) for bit, values in moving.items() if count}
        children += [*columns.values(), *_boxes(np.asarray(clip.bounds, "<f4").reshape(count, -1) if count else [])]
        model: list[Record] = [*writer.meshes()]
        if pair.model is not None or model:
            model += writer.bound_joints()
        tree = _combined(original.document, pair, children, model)
        for top in tree.records:
            if isinstance(top, Animation):
                top.frame_rate = int(clip.rate)
        return Written(tree, report, parts=writer.parts | {id(record): name for name, record in columns.items()})

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with a value and a box for every frame; unchanged if the original has no frames."""
        boxes = before.clips[0].bounds if before.clips else None
        if not scene.clips or boxes is None or not len(boxes):
            return scene
        scene = at_whole_frames(scene, max(round(frames_per_second(scene.clips[0])), 1), report)
        clip, frames = scene.clips[0], int(scene.clips[0].end) + 1
        if clip.bounds is not None and len(clip.bounds) == frames:
            return scene
        report.add(Outcome.BAKED, "/clips/bounds", "bounding boxes were recomputed")
        bounds = boxes_at(scene, np.arange(frames, dtype=np.float64))
        return replace(scene, clips=[replace(clip, bounds=bounds), *scene.clips[1:]])

    def align(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with the material of each mesh at its original number, as a file has one for each mesh.

        Positions of influences follow edited vertices.
        """
        meshes, materials = [], list(scene.materials)
        for mesh, original in zip(scene.meshes, before.meshes, strict=True):
            material_number = _material_of(mesh)
            if original is mesh or original.face_materials is None or not len(original.face_materials):
                meshes.append(mesh)
                continue
            original_material = int(original.face_materials[0])
            if material_number is not None and original_material >= 0:
                materials[original_material] = scene.materials[material_number]
            meshes.append(replace(mesh, face_materials=np.full(len(mesh.corners), original_material, np.int32)))
        used = {id(materials[number]) for mesh in meshes if (number := _material_of(mesh)) is not None}
        for material in scene.materials:
            if id(material) not in used:
                report.add(Outcome.DROPPED, plain_path("materials", material.name), "no mesh uses it")
        return with_moved_vertices(replace(scene, meshes=meshes, materials=materials), before)

    def finish(
        self, edited: Edited, theirs: Written, original: bridge.Original
    ) -> tuple[Document, Mapping[str, object]]:
        return MergedFiles(edited, original).merged()

    def keeps_layout(self, original: Document, requested: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        """Return whether the layout stays and the requested file of the pair exists."""
        file = requested.get("file", _kind(original))
        if not set(requested) <= {"dialect", "file"} or (file != _kind(original) and options.get(file) is None):
            return False
        return "dialect" not in requested or Dialect(requested["dialect"]) is original.dialect

    def choose_file(self, written: Written, requested: Mapping[str, Any]) -> Written:
        if requested.get("file", _kind(written.document)) == _kind(written.document) or not written.companions:
            return written
        ((_, data),) = written.companions
        suffix = ".mdl" if _kind(written.document) == "model" else ".anim"
        return Written(decode(data), written.report, ((suffix, encode(written.document)),))

    def companion_files(self, document: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        for name, suffix in _COMPANIONS:
            if options.get(name) is not None:
                return ((suffix, encode(read_companion_document(options[name], f"the {name}"))),)
        return ()

    def companion_options(self, written: Written) -> dict[str, object]:
        names = {suffix: name for name, suffix in _COMPANIONS}
        return {names[suffix]: decode(data) for suffix, data in written.companions}


def _combined(document: Document, pair: Pair, animated: Sequence[Record], model: Sequence[Record]) -> Document:
    """Return both files as one tree: the header of each file with these records inside."""
    tops: list[Record] = []
    if pair.animation is not None:
        tops.append(_with_children(pair.animation.first(Animation), animated))
    if pair.model is not None or model:
        tops.append(_with_children(Model() if pair.model is None else pair.model.first(Model), model))
    return replace(document, records=tops)


def _boxes(rows: Any) -> list[Record]:
    """Return the boxes of all frames as a record, if there are frames."""
    return [Frames(rows)] if len(rows) else []


def _with_children(top: Record | None, children: Sequence[Record]) -> Record:
    top = copy.copy(top)
    assert top is not None
    top.children = list(children)
    return top


def _material_of(mesh: SceneMesh) -> int | None:
    if mesh.face_materials is None or not len(mesh.face_materials):
        return None
    materials = np.unique(np.asarray(mesh.face_materials))
    if len(materials) > 1:
        raise CannotMerge("a mesh has several materials")
    return int(materials[0]) if materials[0] >= 0 else None


def _kind(document: Document) -> str:
    return "model" if document.first(Model) is not None else "animation"
