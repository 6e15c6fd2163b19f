"""A Hale3D animation and its model changed where a scene was: other frames, joints and meshes stay as they are.

`FrameTable` changes the frames, `ModelPatch` the model; `patch_structure` lets joints and meshes come and go.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyframer.formats import bridge
from keyframer.formats._matching import Rebuilt
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.frame_table import FrameTable
from keyframer.formats.hale3d.bridge.options import Options
from keyframer.formats.hale3d.bridge.patch_model import ModelPatch, renamed
from keyframer.formats.hale3d.bridge.patch_structure import out_of_order, rebuild
from keyframer.formats.hale3d.bridge.patch_terms import NO_PLACE, in_its_order, in_its_terms
from keyframer.formats.hale3d.bridge.scene import pair_of, read_other, to_scene
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import decode, encode
from keyframer.formats.hale3d.model import Model
from keyframer.formats.hale3d.records import Animation
from keyframer.formats.kit.frame_times import frames_kept
from keyframer.formats.kit.scene_writing import Unpatchable, Written
from keyframer.maths import quat
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport

_OTHERS = (("model", ".mdl"), ("animation", ".anim"))


def agrees(original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has, and for it or the file beside it."""
    wanted = asked.get("file", _kind(original))
    if not set(asked) <= {"dialect", "file"} or (wanted != _kind(original) and options.get(wanted) is None):
        return False
    return "dialect" not in asked or Dialect(asked["dialect"]) is original.dialect


def _kind(document: Document) -> str:
    return "model" if document.first(Model) is not None else "animation"


def as_asked(written: Written, asked: Mapping[str, Any]) -> Written:
    """The file of the pair that is asked for, with the other one beside it."""
    if asked.get("file", _kind(written.document)) == _kind(written.document) or not written.companions:
        return written
    ((_, data),) = written.companions
    suffix = ".mdl" if _kind(written.document) == "model" else ".anim"
    return Written(decode(data), written.report, ((suffix, encode(written.document)),))


def with_copies(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the other file of the pair as a document that may be changed."""
    made = dict(options)
    for name, _ in _OTHERS:
        if options.get(name) is not None:
            given = read_other(options[name], f"the {name}")
            made[name] = copy.deepcopy(given, {id(given.format): given.format, id(given.limits): given.limits})
    return made


def companions(original: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
    """The other file of the pair."""
    for name, suffix in _OTHERS:
        if options.get(name) is not None:
            return ((suffix, encode(read_other(options[name], f"the {name}"))),)
    return ()


class Patch(bridge.Patch):
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.after = after
        self.report = report
        animation, model = pair_of(document, options)
        self.top = None if animation is None else animation.first(Animation)
        self.table = None if animation is None else FrameTable(animation)
        self.model = None if model is None else ModelPatch(model)
        before = to_scene(document, options)
        self.before = by_kind(before.clips[0]) or {} if before.clips else {}
        self.tracks = by_kind(after.clips[0]) or {} if after.clips else {}

    def apply(self, changed: list[Path]) -> None:
        """Change the document, and the file beside it, where these fields of the scene changed."""
        if self.table is not None and self.tracks:
            count = len(next(iter(self.tracks.values())).times)
            self.kept = frames_kept(self.before, self.tracks, len(self.table.rows), count)
            self.table.take_frames(self.kept)
        surfaces: dict[tuple[str, int], set[str]] = {}
        for path in changed:
            match path:
                case ("meshes" | "skins" as part, int(number), str(name)):
                    surfaces.setdefault((str(part), number), set()).add(name)
                case ("materials", int(number), *rest):
                    self._model().patch_material(number, self.after.materials[number], tuple(map(str, rest)))
                case ("nodes", int(number), str(name)) if number < self._joint_count():
                    self._node(number, name)
                case ("nodes", int(), "name"):
                    pass  # a mesh is called by its number
                case ("clips", 0, str(name), *rest):
                    self._clip(path, name, rest)
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        if any(kind == "skins" and "inverse_bind" in names for (kind, _), names in surfaces.items()):
            self._model().bind(self.after.skins)
        for (kind, number), names in surfaces.items():
            mesh = self.after.meshes[number]
            if kind == "meshes":
                self._model().patch_mesh(number, mesh, names)
            else:
                self._model().patch_skin(number, self.after.skins[number], mesh, names)
        if self.table is not None:
            self.table.store()

    def _joint_count(self) -> int:
        return len(self._model().joints) if self.table is None else len(self.table.joints)

    def _model(self) -> ModelPatch:
        if self.model is None:
            raise Unpatchable("there is no model")
        return self.model

    def _clip(self, path: Path, name: str, rest: Sequence[str | int]) -> None:
        if self.table is None or self.top is None:
            raise Unpatchable("/".join(map(str, path)))
        clip = self.after.clips[0]
        match name, rest:
            case "channels", [int(node), "position" | "rotation" as kind]:
                self._track(self.table, node, str(kind))
            case "bounds", [] if clip.bounds is not None:
                self.table.set_boxes(clip.bounds)
            case "rate", []:
                self.top.frame_rate = int(clip.rate)
            case "end", []:
                pass  # as many frames as there are
            case _:
                raise Unpatchable("/".join(map(str, path)))

    def _node(self, number: int, name: str) -> None:
        """What both files say of a joint changes in both; a base frame and a bind pose are things of their own."""
        node = self.after.nodes[number]
        joint = None if self.table is None else self.table.joints[number]
        bound = None if self.model is None else self.model.joints[number]
        parent = -1 if node.parent is None else node.parent
        if name == "position" and joint is not None:
            joint.position = tuple(float(value) for value in node.position)
            self._keep_track(number, "position")
        elif name == "rotation_xyzw" and joint is not None:
            joint.orientation = tuple(float(value) for value in node.rotation_xyzw)
            self._keep_track(number, "rotation")
        elif name == "parent" and joint is not None:
            joint.parent = parent
            if bound is not None:
                bound.parent = parent
        elif name == "name" and bound is not None:
            bound.name = renamed(bound.name, node.name)
        elif name == "name" and joint is not None:
            joint.name = renamed(joint.name, node.name)
        else:
            raise Unpatchable(f"{name} of joints")

    def _keep_track(self, number: int, kind: str) -> None:
        """Frames say what they said, although components that they left to the base frame are others there."""
        if self.table is not None and (number, kind) in self.tracks:
            self.before.pop((number, kind), None)
            self._track(self.table, number, kind)

    def _track(self, table: FrameTable, number: int, kind: str) -> None:
        before, after, joint = self.before.get((number, kind)), self.tracks.get((number, kind)), table.joints[number]
        if after is None:
            table.still(joint, kind)
            return
        if len(after.times) != len(table.rows):
            raise Unpatchable("tracks of different lengths")
        moved = np.ones(len(after.times), bool)
        if before is not None:
            moved = (before.values[self.kept] != after.values).any(axis=1)
        wanted = np.asarray(after.values, np.float64)
        if kind == "rotation":
            wanted = quat.normalise(wanted)
            wanted = np.where(wanted[:, 3:] > 0, -wanted, wanted)[:, :3]  # w is the negative root
        table.set_track(joint, kind, wanted, moved)


class Merger(bridge.Editor[Options]):
    unsupported_fields = NO_PLACE

    def patch(self, document: Document, options: Options, goal: Scene, report: LossReport) -> Patch:
        return Patch(document, options, goal, report)

    def keeps_layout(self, original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        return agrees(original, asked, options)

    def choose_file(self, written: Written, asked: Mapping[str, Any]) -> Written:
        return as_asked(written, asked)

    def copy_companions(self, options: Mapping[str, Any]) -> dict[str, object]:
        return with_copies(options)

    def companion_files(self, original: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
        return companions(original, options)

    def normalise_for_format(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        return in_its_terms(scene, before, report)

    def align_with_document(self, scene: Scene, stored: Scene, report: LossReport) -> Scene:
        return in_its_order(scene, stored, report)

    def needs_reordering(self, scene: Scene) -> bool:
        return out_of_order(scene)

    def rebuild(self, document: Document, options: Options, change: bridge.Change) -> Rebuilt:
        return rebuild(document, options, *change)

    def is_overridden(self, scene: Scene, path: Path) -> bool:
        """Meshes have the names of their numbers, and materials those of their textures."""
        if path[:1] == ("nodes",) and path[2:] == ("name",):
            return scene.nodes[int(path[1])].mesh is not None
        return path[:1] == ("materials",) and path[2:] == ("name",)
