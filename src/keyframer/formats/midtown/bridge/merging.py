"""A Midtown clip changed where a scene was: other frames, bones and channels stay as they are.

Names, offsets and the tree of bones stand in the skeleton beside the clip: it changes where those do, and stays else.
`patch_bones` lets bones come and go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.curves import RotationForm, Track
from keyframer.formats import bridge
from keyframer.formats._matching import Rebuilt
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._unheld import NO_SURROUNDINGS, NO_TEXT
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import framed, frames_kept
from keyframer.formats.kit.scene_writing import Unpatchable, encode_name, plain_path
from keyframer.formats.midtown.bridge.options import Options
from keyframer.formats.midtown.bridge.patch_bones import (
    channels_of,
    out_of_order,
    rebuild,
    skeleton_for,
    stored_angles,
)
from keyframer.formats.midtown.bridge.patch_names import in_its_order
from keyframer.formats.midtown.bridge.scene import posed_channel, root_path, skeleton_of, to_scene
from keyframer.formats.midtown.skeleton import Bone, write_skeleton
from keyframer.formats.midtown.skeleton_text import patch_skeleton
from keyframer.scene import Channel, NodeKind, RawChannel, Scene
from keyframer.scene.loss_report import LossReport, Outcome

NO_PLACE = (
    *NO_TEXT,
    *NO_SURROUNDINGS,
    ("nodes", "*", "hidden"),
    ("nodes", "*", "pivot"),
    ("nodes", "*", "rotation_xyzw"),
    ("clips", "*", "start"),
)
"""bones rest as nothing says: all turn in every frame"""

Floats = npt.NDArray[np.float64]


def agrees(original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has."""
    return set(asked) <= {"dialect"} and asked.get("dialect", str(original.dialect)) == str(original.dialect)


def companions(original: Document, options: Mapping[str, Any]) -> tuple[tuple[str, bytes], ...]:
    """The skeleton, byte for byte."""
    skeleton = skeleton_of(Options(**options))
    if skeleton is None:
        return ()
    return ((".skel", write_skeleton(skeleton) if skeleton.text is None else skeleton.text),)


def in_its_terms(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """The scene with a value for every frame, of the path of its first bone and of the turns of all."""
    if not scene.clips or not scene.nodes:
        return scene
    scene = framed(scene, before.clips[0].rate, report)
    clip = scene.clips[0]
    if any(len(each.values) != int(clip.end) + 1 for each in clip.raw_channels):
        raw = [_as_long(each, int(clip.end) + 1, report) for each in clip.raw_channels]
        clip = replace(clip, raw_channels=raw)
        scene = replace(scene, clips=[clip, *scene.clips[1:]])
    there = {(each.node, each.track.kind) for each in clip.channels}
    count = int(clip.end) + 1
    still = [] if (0, "position") in there else [Channel(0, _still("position", scene.nodes[0].position, count))]
    still += [
        Channel(number, _still("rotation", node.rotation_xyzw, count))
        for number, node in enumerate(scene.nodes)
        if (number, "rotation") not in there and node.kind is NodeKind.BONE
    ]
    if not still:
        return scene
    return replace(scene, clips=[replace(clip, channels=[*clip.channels, *still]), *scene.clips[1:]])


def _as_long(channel: RawChannel, count: int, report: LossReport) -> RawChannel:
    """A channel with as many frames as the clip: the last one stays, or some at the end go."""
    if len(channel.values) in (0, count):
        return channel
    words = f"{len(channel.values)} frames became {count}, as many as the clip has"
    report.add(Outcome.APPROXIMATED, plain_path("raw_channels", channel.name), words)
    chosen = np.minimum(np.arange(count), len(channel.values) - 1)
    return replace(channel, values=np.asarray(channel.values)[chosen])


def _still(kind: str, value: npt.ArrayLike, count: int) -> Track:
    form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
    return Track.sampled(kind, np.tile(np.asarray(value, np.float64), (count, 1)), form=form)


class Patch(bridge.Patch):
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.options = options
        self.after = after
        self.document = document
        self.channels = channels_of(document)
        self.posed = posed_channel(self.channels)
        self.scene = to_scene(document, options)
        self.before = by_kind(self.scene.clips[0]) or {}
        self.tracks = by_kind(after.clips[0]) or {} if after.clips else {}
        self.reading: dict[str, object] = {}
        """options that readers of the patched clip need: the skeleton as it is now"""
        self.bones: dict[int, set[str]] = {}

    def apply(self, changed: list[Path]) -> None:
        """Change the document where these fields of the scene changed."""
        self._take_frames()
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), "position" | "rotation" as kind):
                    self._track(node, str(kind))
                case ("clips", 0, "end") | ("clips", 0, "raw_channels"):
                    pass  # as many frames as there are, in all channels
                case ("nodes", int(number), "name" | "position" | "parent" as name):
                    self.bones.setdefault(number, set()).add(str(name))
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        if self.bones:
            self._skeleton()

    def _take_frames(self) -> None:
        """As many frames as the scene has, in all channels: each is one of those that there are."""
        raw = self.after.clips[0].raw_channels if self.after.clips else []
        counts = {len(each.times) for each in self.tracks.values()}
        if not counts or self.posed is None:
            return
        self.kept = frames_kept(self.before, self.tracks, len(self.posed.rows), counts.pop())
        same = np.array_equal(self.kept, np.arange(len(self.posed.rows)))
        was = iter(self.scene.clips[0].raw_channels)
        others = [(each, next(was)) for each in self.channels if each is not self.posed]
        now = {_offset(each): each for each in raw}
        gone = set()
        for channel, known in others:
            given = now.pop(_offset(known), None)
            if given is None:
                gone.add(id(channel))
                continue
            rows = channel.rows if same else np.array(channel.rows[self.kept])
            if not np.array_equal(np.asarray(rows, np.float64), given.values, equal_nan=True):
                rows = np.asarray(given.values, "<f4")
            channel.rows = rows
        if now:
            raise Unpatchable("raw channels that are new")
        if not same:
            self.posed.rows = np.array(self.posed.rows[self.kept])
        for top in self.document.records:
            top.children = [each for each in top.children if id(each) not in gone]

    def _skeleton(self) -> None:
        """Names, offsets and parents of bones; where there was no skeleton, the default one becomes one."""
        old = skeleton_for(self.options, len(self.after.nodes))
        bones = []
        for number, (bone, node) in enumerate(zip(old.bones, self.after.nodes, strict=True)):
            names = self.bones.get(number, set())
            parent = bone.parent if "parent" not in names else -1 if node.parent is None else node.parent
            name = bone.name if "name" not in names else encode_name(node.name)
            x, y, z = (float(value) for value in node.position) if "position" in names else bone.offset
            if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
                raise Unpatchable("offsets that are no numbers")
            bones.append(Bone(name, parent, (x, y, z), bone.words))
        try:
            made = patch_skeleton(old, tuple(bones), range(len(bones)))
        except ValueError as why:
            raise Unpatchable(str(why)) from None
        self.reading = {"skeleton": made, "found": ""}

    def _track(self, number: int, kind: str) -> None:
        before, after = self.before.get((number, kind)), self.tracks.get((number, kind))
        if self.posed is None or before is None or after is None:
            raise Unpatchable("a bone that moves otherwise than it did")
        rows = np.array(self.posed.rows)
        moved = (before.values[self.kept] != after.values).any(axis=1)
        if kind == "position":
            rows[moved, :3] = self._stored_path(after)[moved]
        else:
            rows[moved, 3 + 3 * number : 6 + 3 * number] = stored_angles(after.values[moved], self.options.euler_order)
        self.posed.rows = rows

    def _stored_path(self, track: Track) -> Floats:
        """Positions without what ``in_place`` added."""
        assert self.posed is not None
        added = root_path(np.zeros_like(track.values), float(self.posed.distance), self.options.in_place)
        return np.asarray(track.values - added, np.float64)


def _offset(channel: RawChannel) -> object:
    """Where the file has it."""
    said: Any = channel.extras.get("midtown", {})
    return said.get("offset")


class Merger(bridge.Editor[Options]):
    unsupported_fields = NO_PLACE

    def patch(self, document: Document, options: Options, goal: Scene, report: LossReport) -> Patch:
        return Patch(document, options, goal, report)

    def keeps_layout(self, original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        return agrees(original, asked, options)

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
