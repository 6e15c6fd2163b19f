"""A Midtown clip changed where a scene was: other frames, bones and channels stay as they are.

Names, offsets and the tree of bones stand in the skeleton beside the clip: it changes where those do, and stays else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.curves import Track
from keyframer.formats._document import Document
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._writing import Unpatchable, encode_name
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.options import Options
from keyframer.formats.midtown.bridge.rig import default_rig
from keyframer.formats.midtown.bridge.scene import root_path, skeleton_of, to_scene
from keyframer.formats.midtown.skeleton import Bone, Skeleton, patch_skeleton, write_skeleton
from keyframer.maths import euler
from keyframer.scene import Scene
from keyframer.scene.report import LossReport
from keyframer.wire.record import Record

Floats = npt.NDArray[np.float64]


def agrees(original: Document, asked: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has."""
    return set(asked) <= {"dialect"} and asked.get("dialect", str(original.dialect)) == str(original.dialect)


def companions(original: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
    """The skeleton, byte for byte."""
    skeleton = skeleton_of(Options(**options))
    return () if skeleton is None else ((".skel", _text(skeleton)),)


def _text(skeleton: Skeleton) -> bytes:
    return write_skeleton(skeleton) if skeleton.text is None else skeleton.text


class Patch:
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.options = options
        self.after = after
        channels = [each for each in document.find(Record) if isinstance(each, (r.Channel, r.OldChannel))]
        self.channels = channels
        self.posed = next((each for each in channels if each.bones), None)
        self.before = by_kind(to_scene(document, options).clips[0]) or {}
        self.tracks = by_kind(after.clips[0]) or {} if after.clips else {}
        self.reading: dict[str, object] = {}
        """options that readers of the patched clip need: the skeleton as it is now"""
        self.beside: tuple[tuple[str, bytes], ...] | None = None
        self.bones: dict[int, set[str]] = {}

    def apply(self, changed: list[Path]) -> None:
        """Change the document where these fields of the scene changed."""
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), "position" | "rotation" as kind):
                    self._track(node, str(kind))
                case ("clips", 0, "end"):
                    pass  # as many frames as there are
                case ("nodes", int(number), "name" | "position" | "parent" as name):
                    self.bones.setdefault(number, set()).add(str(name))
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        if self.bones:
            self._skeleton()

    def _skeleton(self) -> None:
        """Names, offsets and parents of bones; where there was no skeleton, the default one becomes one."""
        old = skeleton_of(self.options)
        if old is None or len(old.bones) != len(self.after.nodes):
            old = default_rig(len(self.after.nodes))
        bones = []
        for number, (bone, node) in enumerate(zip(old.bones, self.after.nodes, strict=True)):
            names = self.bones.get(number, set())
            parent = bone.parent if "parent" not in names else -1 if node.parent is None else node.parent
            name = bone.name if "name" not in names else encode_name(node.name)
            x, y, z = (float(value) for value in node.position) if "position" in names else bone.offset
            bones.append(Bone(name, parent, (x, y, z), bone.words))
        try:
            made = patch_skeleton(old, tuple(bones))
        except ValueError as why:
            raise Unpatchable(str(why)) from None
        self.reading = {"skeleton": made, "found": False}
        self.beside = ((".skel", _text(made)),)

    def _track(self, number: int, kind: str) -> None:
        before, after = self.before.get((number, kind)), self.tracks.get((number, kind))
        if self.posed is None or before is None or after is None:
            raise Unpatchable("a bone that moves otherwise than it did")
        rows = self._rows(after)
        common = min(len(before.times), len(after.times))
        moved = np.ones(len(rows), bool)
        moved[:common] = (before.values[:common] != after.values[:common]).any(axis=1)
        if kind == "position":
            rows[moved, :3] = self._stored_path(after)[moved]
        else:
            order = self.options.euler_order
            angles = euler.from_quaternion(after.values[moved], order)
            by_axis = angles[:, [order.index(axis) for axis in "XYZ"]]
            rows[moved, 3 + 3 * number : 6 + 3 * number] = by_axis
        self.posed.rows = rows

    def _rows(self, track: Track) -> npt.NDArray[np.float32]:
        """The table of the figure with as many frames as the track: those at the end are new, or gone."""
        assert self.posed is not None
        count = len(track.times)
        if not np.array_equal(track.times, np.arange(count)):
            raise Unpatchable("frames that do not follow one another")
        rows = np.array(self.posed.rows)
        if len(rows) == count:
            return rows
        if len(self.channels) > 1:
            raise Unpatchable("another number of frames than the other channels have")
        made = np.zeros((count, rows.shape[1]), rows.dtype)
        made[: len(rows)] = rows[:count]
        return made

    def _stored_path(self, track: Track) -> Floats:
        """Positions without what ``in_place`` added."""
        assert self.posed is not None
        added = root_path(np.zeros_like(track.values), float(self.posed.distance), self.options.in_place)
        return np.asarray(track.values - added, np.float64)
