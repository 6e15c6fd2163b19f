"""A node animation changed where a scene was: the keys of other nodes, and other chunks, stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.forms import with_form
from keyframer.formats import bridge
from keyframer.formats._matching import Matching, new_parts
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._unheld import NO_SURROUNDINGS
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import counted_like
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, is_eased, still_key
from keyframer.formats.kit.scene_writing import (
    NamesThatFit,
    Tolerance,
    Unpatchable,
    encode_name,
    frames_per_second,
    plain_path,
    units_per_second,
)
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.nodeanim.bridge import guess
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.bridge.scene import copyright_in, to_scene
from keyframer.formats.nodeanim.bridge.writing import FIELDS, SHAPES, NodeWriter, WriteOptions, held
from keyframer.formats.nodeanim.dialect import BEZIER, LINEAR, TCB, Dialect
from keyframer.formats.nodeanim.keys import NodeKeys
from keyframer.formats.nodeanim.records import Animations, Header, Node
from keyframer.scene import Channel, Scene
from keyframer.scene.report import LossReport, Outcome
from keyframer.wire.record import Record

_REST = {"position": "position", "rotation": "rotation_xyzw", "scale": "scale"}
_AT_REST = {"position": np.zeros(3), "rotation": np.array([0.0, 0.0, 0.0, 1.0]), "scale": np.ones(3)}
"""what a node without keys does"""
_FLAGS = {Interpolation.TCB: TCB, Interpolation.BEZIER: BEZIER, Interpolation.LINEAR: LINEAR}


NO_PLACE = (
    *NO_SURROUNDINGS,
    ("nodes", "*", "hidden"),
    ("nodes", "*", "pivot"),
    ("nodes", "*", "parent"),
    ("clips", "*", "start"),
)


def in_its_terms(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """The scene with times in the file's unit, one name for itself and its clip, and keys for nodes that rest."""
    scene = counted_like(scene, before)
    rights = copyright_in(scene.author)
    if scene.copyright != rights:
        if scene.copyright != before.copyright:
            report.add(Outcome.DROPPED, "/copyright", "the format has no place for it but the author's name")
        scene = replace(scene, copyright=rights)
    if not scene.clips or not before.clips:
        return scene
    clip, was = scene.clips[0], before.clips[0]
    if scene.title != before.title:
        clip = replace(clip, name=scene.title)
    elif clip.name != was.name:
        scene = replace(scene, title=clip.name)
    there = {(each.node, each.track.kind) for each in clip.channels}
    still = []
    for number, node in enumerate(scene.nodes):
        for kind, name in _REST.items():
            value = np.asarray(getattr(node, name), np.float64)
            if (number, kind) not in there and np.isfinite(value).all() and not np.array_equal(value, _AT_REST[kind]):
                form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
                still.append(Channel(number, still_key(kind, value, form)))
    if still:
        clip = replace(clip, channels=[*clip.channels, *still])
    return scene if clip is scene.clips[0] else replace(scene, clips=[clip, *scene.clips[1:]])


def agrees(original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has."""
    return set(asked) <= {"dialect"} and str(asked.get("dialect", original.dialect)) == str(original.dialect)


def anchors(document: Document, options: Options) -> tuple[list[Node], list[Node]]:
    """The records of nodes; there are no materials."""
    return list(document.find(Node)), []


def restructure(
    document: Document, options: Options, before: Scene, after: Scene, matching: Matching, report: LossReport
) -> tuple[dict[int, Node], dict[int, Node]]:
    """Take out the nodes that are gone; put new ones behind the others, in the units that the file has."""
    records, home = list(document.find(Node)), document.first(Animations)
    if home is None or not after.clips or not isinstance(document.dialect, Dialect):
        raise Unpatchable("there is no chunk of nodes")
    gone = {id(records[old]) for old in matching.gone_nodes(before)}
    home.children = [each for each in home.children if id(each) not in gone]
    new = matching.new_nodes(after)
    choice = WriteOptions(rotation_keys=options.rotation_keys, encoding=options.encoding)
    writer = NodeWriter(after, after.clips[0], choice, document.dialect, report)
    writer.fitter = fitter_of(after, report)
    names = NamesThatFit(encoding=options.encoding, reserved=[each.name for each in document.find(Node)])
    degrees = guess.radians_per_unit(records, options) != 1.0
    made: dict[int, Node] = {}
    for number in new:
        node = after.nodes[number]
        made[number] = writer.record(node, writer.tracks(number, node), names.claim(node.name, node.raw_name), degrees)
    if writer.reading:
        raise Unpatchable("readers would have to be told how to read the new keys")
    home.children += made.values()
    tell_dropped(*new_parts(after, new), report, held(document.dialect))
    return made, {}


def fitter_of(after: Scene, report: LossReport) -> KeyFitter:
    clip = after.clips[0]
    per_second = units_per_second(clip)
    rules = KeyRules(per_second, per_second / frames_per_second(clip), whole=False)
    return KeyFitter(clip, rules, Tolerance.of(after, 1e-4), report)


class Patch(bridge.Patch):
    def __init__(self, document: Document, options: Options, after: Scene, report: LossReport) -> None:
        self.document = document
        self.options = options
        self.after = after
        self.records = list(document.find(Node))
        clip = after.clips[0]
        self.before = by_kind(to_scene(document, options).clips[0]) or {}
        self.tracks = by_kind(clip) or {}
        self.radians = guess.radians_per_unit(self.records, options)
        self.report = report
        self.fitted = LossReport("nodeanim")
        """what became of changed tracks"""
        self.fitter = fitter_of(after, self.fitted)

    def apply(self, changed: list[Path]) -> None:
        mixed = {
            node
            for node in range(len(self.records))
            if self._mixes(self.tracks, node) and not self._mixes(self.before, node)
        }
        moved = {path[3] for path in changed if path[:3] == ("clips", 0, "channels") and len(path) > 3}
        for number in mixed & moved:
            self._renew(number)
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), str()) if node in mixed:
                    pass
                case ("clips", 0, "channels", int(node), "position" | "rotation" | "scale" as kind):
                    self._track(node, str(kind))
                case ("clips", 0, "channels", int(node), "scale_axes") if (node, "scale") in self.tracks:
                    self._track(node, "scale")
                case ("nodes", int(number), "name"):
                    self.records[number].name = encode_name(self.after.nodes[number].name, self.options.encoding)
                case ("title",) | ("clips", 0, "name") | ("author",) | ("copyright",):
                    self._header()
                case ("nodes", int(), "position" | "rotation_xyzw" | "scale"):
                    pass  # keys say where nodes are
                case ("clips", 0, "end"):
                    pass  # that is where the last key stands, and nowhere said
                case _:
                    raise Unpatchable("/".join(map(str, path)))
        self.report.losses += [loss for loss in self.fitted if loss.outcome is not Outcome.EXACT]

    def _mixes(self, tracks: Mapping[tuple[int, str], Track], number: int) -> bool:
        """Whether the tracks of a node are curves of different kinds, or eased where none of its keys can be."""
        own = [tracks[number, kind] for kind in FIELDS if (number, kind) in tracks]
        kinds = {each.interpolation for each in own}
        return len(kinds) > 1 or (not self.records[number].flags & TCB and any(is_eased(each) for each in own))

    def _renew(self, number: int) -> None:
        """All keys of a node written anew, in a kind of curve that holds all of them."""
        record, node = self.records[number], self.after.nodes[number]
        if any(getattr(record, field).has("tangents") for field in FIELDS.values()):
            raise Unpatchable("keys with tangents")
        assert isinstance(self.document.dialect, Dialect)
        choice = WriteOptions(rotation_keys=self.options.rotation_keys, encoding=self.options.encoding)
        writer = NodeWriter(self.after, self.after.clips[0], choice, self.document.dialect, self.fitted)
        writer.fitter = self.fitter
        made = writer.record(node, writer.tracks(number, node), record.name, self.radians != 1.0)
        if writer.reading:
            raise Unpatchable("readers would have to be told how to read the new keys")
        curves = TCB | BEZIER | LINEAR
        record.flags = record.flags & ~curves | made.flags & curves
        for kind, field in FIELDS.items():
            self._put(record, kind, getattr(made, field))

    def _header(self) -> None:
        header = self.document.first(Header)
        if header is None:
            raise Unpatchable("there is no header")
        header.name = encode_name(self.after.title, self.options.encoding)
        header.author = encode_name(self.after.author, self.options.encoding)

    def _track(self, number: int, kind: str) -> None:
        record = self.records[number]
        old: NodeKeys = getattr(record, FIELDS[kind])
        given = self.tracks.get((number, kind))
        path = f"{plain_path('nodes', self.after.nodes[number].name)}/{kind}"
        fitted = None if given is None else self.fitter.fit(given, path)
        if fitted is None:
            self._put(record, kind, NodeKeys.make(np.empty(0), np.empty((0, old.value.shape[1]))))
            return
        before = self.before.get((number, kind))
        if before is None or before.interpolation is not fitted.interpolation:
            self._interpolate(number, record, fitted)
        values = fitted.values if kind != "rotation" else self._rotations(fitted, before)
        columns: dict[str, Any] = {"flags": fitted.flags if fitted.flags is not None else 0}
        if record.flags & TCB or old.has("tension"):
            columns |= {stored: _or_zeros(fitted, name) for name, stored in SHAPES.items()}
        for extra in ("axis", "tangents"):
            if old.has(extra):
                given_axes = self.tracks.get((number, "scale_axes")) if extra == "axis" else None
                stored = old.column(extra) if given_axes is None else given_axes.values
                if len(stored) != len(fitted.times):
                    raise Unpatchable(f"keys with {extra}")
                columns[extra] = stored
        if before is not None and len(old) == len(fitted.times) and before.values.shape == fitted.values.shape:
            same = (before.values == fitted.values).all(axis=1)
            values = np.where(same[:, None], np.asarray(old.value, np.float64), values)
        self._put(record, kind, NodeKeys.make(fitted.times, values, **columns))

    @staticmethod
    def _put(record: Node, kind: str, keys: NodeKeys) -> None:
        setattr(record, FIELDS[kind], keys)
        setattr(record, FIELDS[kind].removesuffix("s") + "_count", len(keys))

    def _interpolate(self, number: int, record: Node, track: Track) -> None:
        """All tracks of a node have the node's interpolation."""
        own = {each.interpolation for (node, kind), each in self.tracks.items() if node == number and kind in FIELDS}
        if len(own) > 1 or track.interpolation not in _FLAGS or (not record.flags & TCB and is_eased(track)):
            raise Unpatchable("tracks of one node with different curves")
        wanted = _FLAGS[track.interpolation]
        if not record.flags & wanted or (wanted != TCB and record.flags & TCB):
            record.flags = record.flags & ~(TCB | BEZIER | LINEAR) | wanted

    def _rotations(self, track: Track, before: Track | None) -> Any:
        form = before.form if before is not None else RotationForm.AXIS_ANGLE_RELATIVE
        values = with_form(track, form).values
        return np.column_stack([values[:, 3] / self.radians, values[:, :3]])


def _or_zeros(track: Track, name: str) -> Any:
    column = getattr(track, name)
    return np.zeros(len(track.times)) if column is None else column


class Patcher(bridge.Editor[Options]):
    unsupported_fields = NO_PLACE

    def patch(self, document: Document, options: Options, goal: Scene, report: LossReport) -> Patch:
        return Patch(document, options, goal, report)

    def keeps_layout(self, original: Document, asked: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        return agrees(original, asked, options)

    def normalise_for_format(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        return in_its_terms(scene, before, report)

    def anchors(self, document: Document, options: Options) -> tuple[Sequence[Record], Sequence[Record]]:
        return anchors(document, options)

    def restructure(
        self, document: Document, options: Options, change: bridge.Change
    ) -> tuple[Mapping[int, Record], Mapping[int, Record]]:
        return restructure(document, options, *change)

    def is_overridden(self, scene: Scene, path: Path) -> bool:
        """A clip ends with its last key."""
        return path == ("clips", 0, "end")
