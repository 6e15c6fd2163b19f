"""A Hale3D animation changed where a scene was; its model is written as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from keyframer.formats._document import Document
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._writing import Unpatchable, encode_name
from keyframer.formats.hale3d.bridge.options import Options
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


def apply(
    document: Document, options: Mapping[str, Any], after: Scene, changed: list[Path], report: LossReport
) -> str | None:
    """Change the document so that it means ``after``; says what has no place in it, if something has none."""
    try:
        _Patch(document, Options(**options), after).apply(changed)
    except Unpatchable as why:
        return str(why)
    return None


class _Patch:
    def __init__(self, document: Document, options: Options, after: Scene) -> None:
        self.options = options
        self.after = after
        top, frames = document.first(Animation), document.first(Frames)
        if top is None or frames is None:
            raise Unpatchable("a model")
        self.top, self.frames = top, frames
        self.joints = list(document.find(Joint))
        self.rows = np.array(frames.rows)
        before = to_scene(document, options)
        self.before = by_kind(before.clips[0]) or {}
        self.tracks = by_kind(after.clips[0]) or {}

    def apply(self, changed: list[Path]) -> None:
        for path in changed:
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
        self.frames.rows = self.rows

    def _node(self, number: int, name: str) -> None:
        node, joint = self.after.nodes[number], self.joints[number]
        if name == "position":
            joint.position = tuple(float(value) for value in node.position)
        elif name == "rotation_xyzw":
            joint.orientation = tuple(float(value) for value in node.rotation_xyzw)
        elif name == "parent" and self.options.model is None:
            joint.parent = -1 if node.parent is None else node.parent
        elif name == "name" and self.options.model is None:
            joint.name = encode_name(node.name)
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
