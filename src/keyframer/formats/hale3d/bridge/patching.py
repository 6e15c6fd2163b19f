"""A Hale3D animation and its model changed where a scene was: other frames, joints and meshes stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from keyframer.formats._document import Document
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._writing import Unpatchable
from keyframer.formats.hale3d.bridge.options import Options
from keyframer.formats.hale3d.bridge.patch_model import ModelPatch, renamed
from keyframer.formats.hale3d.bridge.scene import read_other, to_scene
from keyframer.formats.hale3d.dialect import Dialect
from keyframer.formats.hale3d.document import encode
from keyframer.formats.hale3d.model import Model
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Animation, Frames, Joint
from keyframer.scene import Scene
from keyframer.scene.report import LossReport


def agrees(original: Document, asked: Mapping[str, Any]) -> bool:
    """Whether the options ask for the file and the layout that the original is."""
    kind = "model" if original.first(Model) is not None else "animation"
    if not set(asked) <= {"dialect", "file"} or asked.get("file", kind) != kind:
        return False
    return "dialect" not in asked or Dialect(asked["dialect"]) is original.dialect


def companions(original: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
    """The other file of the pair, byte for byte."""
    for name, suffix in (("model", ".mdl"), ("animation", ".anim")):
        if options.get(name) is not None:
            return ((suffix, encode(read_other(options[name], f"the {name}"))),)
    return ()


class Patch:
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.options = options
        self.after = after
        self.document = document
        self.top, self.frames = document.first(Animation), document.first(Frames)
        self.joints = list(document.find(Joint))
        self.rows = np.empty((0, BOUNDS_FLOATS), np.float32) if self.frames is None else np.array(self.frames.rows)
        before = to_scene(document, options)
        self.before = by_kind(before.clips[0]) or {} if before.clips else {}
        self.tracks = by_kind(after.clips[0]) or {} if after.clips else {}
        self.reading: dict[str, object] = {}
        """options that readers of the patched animation need: the model as it is now"""
        self.beside: tuple[tuple[str, bytes], ...] | None = None
        self.model: ModelPatch | None = None

    def apply(self, changed: list[Path]) -> None:
        """Change the document, and the model beside an animation, where these fields of the scene changed."""
        surfaces: dict[tuple[str, int], set[str]] = {}
        for path in changed:
            match path:
                case ("meshes" | "skins" as part, int(number), str(name)):
                    surfaces.setdefault((str(part), number), set()).add(name)
                case ("materials", int(number), *rest):
                    self._model().patch_material(number, self.after.materials[number], tuple(map(str, rest)))
                case ("nodes", int(number), "name") if self._has_model() and number < self._joint_count():
                    self._model().rename_joint(number, self.after)
                case _:
                    self._apply_to_animation(path)
        for (kind, number), names in surfaces.items():
            if kind == "meshes":
                self._model().patch_mesh(number, self.after.meshes[number], names)
            else:
                mesh = self.after.meshes[number]
                self._model().patch_skin(number, self.after.skins[number], mesh, names)
        if self.frames is not None:
            self.frames.rows = self.rows
        model = self.reading.get("model")
        if isinstance(model, Document):
            self.beside = ((".mdl", encode(model)),)

    def _has_model(self) -> bool:
        return self.options.model is not None or self.document.first(Model) is not None

    def _joint_count(self) -> int:
        return len(self._model().joints)

    def _model(self) -> ModelPatch:
        """The model: the document itself, or a copy of the file beside it."""
        if self.model is None:
            document = self.document
            if document.first(Model) is None:
                if self.options.model is None:
                    raise Unpatchable("there is no model")
                given = read_other(self.options.model, "the model")
                document = copy.deepcopy(given, {id(given.format): given.format, id(given.limits): given.limits})
                self.reading = {"model": document, "found": False}
            self.model = ModelPatch(document)
        return self.model

    def _apply_to_animation(self, path: Path) -> None:
        if self.top is None or self.frames is None:
            raise Unpatchable("/".join(map(str, path)))
        match path:
            case ("clips", 0, "channels", int(node), "position" | "rotation" as kind):
                self._track(node, str(kind))
            case ("clips", 0, "bounds") if self.after.clips[0].bounds is not None:
                boxes = np.asarray(self.after.clips[0].bounds)
                if boxes.shape != (len(self.rows), 2, 3):
                    raise Unpatchable("another number of frames")
                self.rows[:, :BOUNDS_FLOATS] = boxes.reshape(len(self.rows), BOUNDS_FLOATS)
            case ("clips", 0, "rate") if float(self.after.clips[0].rate).is_integer():
                self.top.frame_rate = int(self.after.clips[0].rate)
            case ("nodes", int(number), str(name)) if number < len(self.joints):
                self._node(number, name)
            case _:
                raise Unpatchable("/".join(map(str, path)))

    def _node(self, number: int, name: str) -> None:
        node, joint = self.after.nodes[number], self.joints[number]
        if name == "position":
            joint.position = tuple(float(value) for value in node.position)
        elif name == "rotation_xyzw":
            joint.orientation = tuple(float(value) for value in node.rotation_xyzw)
        elif name == "parent" and self.options.model is None:
            joint.parent = -1 if node.parent is None else node.parent
        elif name == "name" and self.options.model is None:
            joint.name = renamed(joint.name, node.name)
        else:
            raise Unpatchable(f"{name} of joints")

    def _track(self, number: int, kind: str) -> None:
        """The components that the joint's flags have a place for, in the frames that changed."""
        before, after, joint = self.before.get((number, kind)), self.tracks.get((number, kind)), self.joints[number]
        if before is None or after is None or not np.array_equal(before.times, after.times):
            raise Unpatchable("other frames")
        values = np.asarray(after.values, np.float64)
        if kind == "rotation":
            values = np.where(values[:, 3:] > 0, -values, values)[:, :3]  # w is the negative root
        moved = (before.values != after.values).any(axis=1)
        base = (*joint.position, *joint.orientation)
        column = BOUNDS_FLOATS + joint.start_index
        for bit in range(6):
            in_file = bool(joint.flags >> bit & 1)
            if bit // 3 == (kind == "rotation"):
                wanted = values[:, bit % 3]
                if in_file:
                    self.rows[moved, column] = wanted[moved]
                elif (np.abs(wanted[moved] - base[bit]) > 1e-6).any():
                    raise Unpatchable("a component that the flags call still")
            column += in_file
