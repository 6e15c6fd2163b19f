"""Merge an edited scene into its Hale3D pair: animation and model are merged as one tree.

Joints and meshes are matched by their nodes. Rows of frames are named columns during the merge (`frame_table`).
`following_writer` makes the trees of the scene before and after the edit, `merged_files` the merged files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.following_writer import FollowingWriter, material_of
from keyframer.formats.hale3d.bridge.merged_files import MergedFiles
from keyframer.formats.hale3d.bridge.options import Options
from keyframer.formats.hale3d.bridge.original_pair import Pair
from keyframer.formats.hale3d.bridge.scene import pair_of, read_other, to_scene
from keyframer.formats.hale3d.bridge.writing import boxes_at
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import decode, encode
from keyframer.formats.hale3d.model import Model
from keyframer.formats.kit.frame_times import at_whole_frames
from keyframer.formats.kit.scene_writing import Written, frames_per_second, plain_path
from keyframer.formats.kit.skin_writing import with_moved_vertices
from keyframer.formats.merging import Tree
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome

_OTHERS = (("model", ".mdl"), ("animation", ".anim"))


class Merger(bridge.Merger[Options]):
    def read(self, document: Document, options: Options) -> tuple[Scene, Pair]:
        return to_scene(document, options), Pair.of(*pair_of(document, options))

    def tree(self, document: Document, scene: Scene, links: Pair) -> Tree:
        """Return the tree of both files, with named columns of the frames."""
        parts = {id(record): ("nodes", number) for number, record in enumerate(links.joints)}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.bound)}
        parts |= {id(record): ("nodes", number) for number, record in enumerate(links.meshes, len(links.names))}
        return Tree(replace(document, records=links.tops()), parts)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        return FollowingWriter(scene, original).written()

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with a value and a box for every frame; an animation without frames stays without."""
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
        """Return the scene with a material for every mesh, and with influence positions that follow edited vertices."""
        meshes, materials = [], list(scene.materials)
        for mesh, was in zip(scene.meshes, before.meshes, strict=True):
            owner = material_of(mesh)
            if was is mesh or was.face_materials is None or not len(was.face_materials):
                meshes.append(mesh)
                continue
            place = int(was.face_materials[0])
            if owner is not None and place >= 0:
                materials[place] = scene.materials[owner]
            meshes.append(replace(mesh, face_materials=np.full(len(mesh.corners), place, np.int32)))
        for material in scene.materials:
            if not any(shown is material for shown in materials):
                report.add(Outcome.DROPPED, plain_path("materials", material.name), "no mesh shows it")
        return with_moved_vertices(replace(scene, meshes=meshes, materials=materials), before)

    def finish(self, merged: Tree, theirs: Written, original: bridge.Original) -> bridge.Merged:
        return MergedFiles(merged, original).merged()

    def keeps_layout(self, original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        """Return whether the layout stays and the requested file of the pair exists."""
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
