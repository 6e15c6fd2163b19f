"""Write a scene as a node animation, its keys relative to the parents of nodes; merge edits into the original."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.rotation_forms import increments, with_form
from keyframer.formats import bridge
from keyframer.formats._matching import tracks_by_node_and_kind
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities, StoredAs
from keyframer.formats.kit.frame_times import in_time_unit_of
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, as_tcb, is_eased, single_key
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    CannotMerge,
    Tolerance,
    UniqueByteNames,
    Written,
    check_max_error,
    first_clip,
    frames_per_second,
    plain_path,
    units_per_second,
)
from keyframer.formats.kit.unsupported_features import MOTION, report_dropped
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.nodeanim.bridge.reading import (
    FORMS,
    KEY_FIELDS,
    MOST_RADIANS,
    STORED_COLUMNS,
    TICKS_PER_SECOND,
    Options,
    copyright_in,
    interpolation_of,
    interpret_rotations,
    key_times,
    radians_per_unit,
    time_base,
)
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.document import new_document
from keyframer.formats.nodeanim.records import BEZIER, LINEAR, TCB, Node, NodeKeys
from keyframer.scene import Clip, Handedness, NodeKind, Scene, Space
from keyframer.scene import Node as SceneNode
from keyframer.scene.loss_report import CannotWrite, LossReport
from keyframer.scene.losses import METADATA_UNSUPPORTED, READER_OPTION_NEEDED, TIMES_ROUNDED
from keyframer.text import encode_name

UNITS = {"frame": "frames", "tick": "ticks", "second": "seconds"}
"""values of the option ``time_unit`` by the unit of a clip"""
_FLAGS = {Interpolation.TCB: TCB, Interpolation.BEZIER: BEZIER, Interpolation.LINEAR: LINEAR}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing; ``auto`` chooses values that readers recognise from the numbers."""

    dialect: Dialect | str = "little text:nul chunk:u16+u32 size:all"
    """the layout of the file, as text or as an object (see the notes on the format)"""
    time_unit: str = "auto"
    """``seconds``, ``frames`` or ``ticks``; ``auto``: the clip's unit, ticks or frames, whichever is first exact and
    recognised by readers, else seconds"""
    rotation_keys: str = "auto"
    """``relative`` or ``absolute``"""
    up: str = "z"
    handedness: str = "right"
    encoding: str | None = None
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the scene's size"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        Options(time_unit=self.time_unit, rotation_keys=self.rotation_keys, up=self.up, handedness=self.handedness)


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = Capabilities(("title", "author"), {"clips": (StoredAs(("name",), "the title of the scene"),)})

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Return a document with the keys of the scene, and the loss report."""
        report = LossReport("nodeanim")
        converted = in_space(scene, Space(options.up, Handedness(options.handedness), v_up=scene.space.v_up))
        clip = first_clip(converted, report)
        if not any(channel.track.kind in MOTION and len(channel.track.times) for channel in clip.channels):
            raise CannotWrite("nothing to write: the scene has no keys")
        report_dropped(converted, clip, report, self.capabilities.handled)
        dialect = Dialect.parse(options.dialect) if isinstance(options.dialect, str) else options.dialect
        writer = NodeWriter(converted, clip, options, dialect, report)
        document = writer.document()
        return Written(document, report, reader_options=writer.reader_options, parts=writer.parts)


@dataclass(frozen=True, slots=True)
class OriginalConventions:
    """Conventions of the original document that the writer follows."""

    interpolations: Mapping[int, Interpolation] = field(default_factory=dict)
    """interpolation of each node, by its number in the scene that is written"""
    forms: Mapping[int, RotationForm] = field(default_factory=dict)
    """form of the rotation keys of each node"""
    degrees: bool | None = None
    """whether angles are in degrees; None to choose the unit"""
    untouched: Collection[int] = ()
    """unchanged nodes, for which no record is written"""


class NodeWriter:
    """Writes the document of a scene; in a merge, only the nodes that the edit affects."""

    def __init__(
        self,
        scene: Scene,
        clip: Clip,
        options: WriteOptions,
        dialect: Dialect,
        report: LossReport,
        conventions: OriginalConventions | None = None,
    ) -> None:
        self.scene = scene
        self.conventions = conventions or OriginalConventions()
        self.clip = clip
        self.options = options
        self.dialect = dialect
        self.report = report
        self.reader_options: dict[str, object] = {}
        """options that readers need"""
        self.rates = {"frames": frames_per_second(clip), "ticks": TICKS_PER_SECOND, "seconds": 1.0}
        """units per second for each unit of time"""

    def document(self) -> Document:
        nodes = {
            number: node
            for number, node in enumerate(self.scene.nodes)
            if node.kind is not NodeKind.AMBIENT and number not in self.conventions.untouched
        }
        tracks = self._fitted_tracks(nodes)
        self.unit = self._time_unit(tracks)
        factor = self.rates[self.unit] / units_per_second(self.clip)
        for by_kind in tracks.values():
            for kind, track in by_kind.items():
                by_kind[kind] = replace(track, times=_jumps_in_time(_on_whole_units(track.times * factor)))
        degrees = self.conventions.degrees
        if degrees is None:
            degrees = self._needs_degrees([by_kind["rotation"] for by_kind in tracks.values() if "rotation" in by_kind])
        names = UniqueByteNames(encoding=self.options.encoding)
        stored_names = {
            number: names.claim_for(node, self.report, _printable(node.name)) for number, node in nodes.items()
        }
        records = {
            number: self._record(number, node, tracks[number], stored_names[number], degrees)
            for number, node in nodes.items()
        }
        self.parts = {id(record): ("nodes", number) for number, record in records.items()}
        self._set_reader_options(list(records.values()))
        title = self.scene.title or self.clip.name
        if self.clip.name not in ("", title):
            self.report.add(METADATA_UNSUPPORTED["clip name"], "/clips/name")
        name, author = (encode_name(_printable(text), self.options.encoding) for text in (title, self.scene.author))
        return new_document(*records.values(), name=name, author=author, dialect=self.dialect)

    def _fitted_tracks(self, nodes: Mapping[int, SceneNode]) -> dict[int, dict[str, Track]]:
        """Return the tracks to write for each node, by kind, in the time unit of the clip.

        A rest value without keys becomes one key, unless it is the default.
        """
        per_second = units_per_second(self.clip)
        absolute = FORMS["absolute"] if self.options.rotation_keys == "absolute" else None
        step = per_second / frames_per_second(self.clip)
        rules = KeyRules(per_second, step, whole_times=False, rotations=absolute)
        fitter = KeyFitter(self.clip, rules, Tolerance.of(self.scene, self.options.max_error), self.report)
        channels = [channel for clip in self.scene.clips[:1] for channel in clip.channels]
        channels = [channel for channel in channels if channel.node in nodes and channel.track.kind in MOTION]
        fitter.fit_ahead(channel.track for channel in channels)
        tracks: dict[int, dict[str, Track]] = {number: {} for number in nodes}
        for channel in channels:
            number, kind = channel.node, channel.track.kind
            if kind not in tracks[number]:
                fitted = fitter.fit(channel.track, f"{plain_path('nodes', nodes[number].name)}/{kind}")
                if fitted is not None:
                    tracks[number][kind] = fitted
        for number, node in nodes.items():
            by_kind = tracks[number]
            if "position" not in by_kind and _differs(node.position, np.zeros(3)):
                by_kind["position"] = single_key("position", node.position)
            rotation = np.asarray(node.rotation_xyzw)
            if "rotation" not in by_kind and np.isfinite(rotation).all() and np.any(rotation[:3]):
                by_kind["rotation"] = single_key("rotation", node.rotation_xyzw, RotationForm.QUATERNION_ABSOLUTE)
            if "scale" not in by_kind and _differs(node.scale, np.ones(3)):
                by_kind["scale"] = single_key("scale", node.scale)
        return tracks

    def _time_unit(self, tracks: Mapping[int, Mapping[str, Track]]) -> str:
        """Return the unit of times: one that readers recognise and in which these times are exact, if any."""
        if self.options.time_unit != "auto":
            return self.options.time_unit
        times = np.concatenate(
            [np.empty(0), *(track.times for by_kind in tracks.values() for track in by_kind.values())]
        )
        recognised: list[str] = []
        for unit in dict.fromkeys((UNITS.get(self.clip.unit, "frames"), "ticks", "frames", "seconds")):
            stored_times = _on_whole_units(times * (self.rates[unit] / units_per_second(self.clip)))
            if self._is_recognised(stored_times, unit):
                if (stored_times == stored_times.astype(np.float32)).all():
                    return unit
                recognised.append(unit)
        return "ticks" if recognised == ["ticks"] else "seconds"

    def _is_recognised(self, times: Floats, unit: str) -> bool:
        """Return whether readers recognise the unit of these times."""
        base = time_base(times.astype(np.float32).astype(np.float64))
        return UNITS[base.unit] == unit and math.isclose(base.rate, self.rates[unit])

    def _needs_degrees(self, rotations: list[Track]) -> bool:
        """Return whether an angle is so large that readers assume degrees; absolute keys have at most 180 degrees."""
        if self.options.rotation_keys == "absolute":
            return False
        return any((np.abs(increments(rotation)[1]) > MOST_RADIANS).any() for rotation in rotations)

    def _record(self, number: int, node: SceneNode, tracks: dict[str, Track], name: bytes, degrees: bool) -> Node:
        """Return the record of one node with these tracks; ``degrees``: all angles in the file are in degrees."""
        moving = [track for track in tracks.values() if len(track.times) > 1]
        interpolations = {Interpolation.TCB if is_eased(track) else track.interpolation for track in moving}
        still = self.conventions.interpolations.get(number, Interpolation.LINEAR)
        interpolation = Interpolation.TCB if interpolations else still
        if len(interpolations) == 1:
            interpolation = interpolations.pop()
        tcb = interpolation is Interpolation.TCB
        record = Node(name, _FLAGS[interpolation])
        for kind, fitted in tracks.items():
            track = as_tcb(fitted) if tcb else replace(fitted, interpolation=interpolation)
            path = f"{plain_path('nodes', node.name)}/{kind}"
            columns: dict[str, Any] = {}
            for attribute, column in STORED_COLUMNS.items() if tcb else ():
                values = getattr(track, attribute)
                columns[column] = 0.0 if values is None else values
            flags = np.zeros(len(track.times), np.int64)
            if self.scene.source_format == "nodeanim" and track.flags is not None:
                flags = track.flags
            if self.dialect.tcb_by_key:
                flags = flags & ~TCB | (TCB if tcb else 0)
            self._report_rounded_times(path, track.times)
            rows = self._rotations(number, track, tcb, degrees) if kind == "rotation" else track.values
            setattr(record, KEY_FIELDS[kind], NodeKeys.make(track.times, rows, flags=flags, **columns))
        record.translation_key_count = len(record.translation_keys)
        record.rotation_key_count = len(record.rotation_keys)
        record.scale_key_count = len(record.scale_keys)
        return record

    def _report_rounded_times(self, path: str, times: Floats) -> None:
        error = float(np.abs(times.astype(np.float32) - times).max(initial=0.0))
        if error:
            seconds = error / self.rates[self.unit]
            self.report.add(TIMES_ROUNDED["keys"], path, error=seconds, seconds=seconds)

    def _rotations(self, number: int, track: Track, tcb: bool, degrees: bool) -> Floats:
        """Return angle and axis of each key, in a form that readers recognise.

        Increments that could be mistaken for absolute keys begin with a full turn.
        """
        unit = 180 / math.pi if degrees else 1.0

        def rows_of(form: RotationForm) -> Floats:
            values = with_form(track, form).values
            return np.column_stack([values[:, 3] * unit, values[:, :3]])

        if number in self.conventions.forms:
            return rows_of(self.conventions.forms[number])
        # Absolute keys mean the shortest rotation, which is ambiguous for half a turn.
        long_way = bool((np.abs(increments(track)[1][1:]) >= math.pi * (1 - 1e-6)).any())
        requested = self.options.rotation_keys
        forms = ["relative", "absolute"] if tcb else ["absolute", "relative"]
        if requested != "auto" or long_way:
            forms = ["relative" if requested == "auto" else requested]
        for form in forms:
            rows = rows_of(FORMS[form])
            stored_rows = rows.astype(np.float32).astype(np.float64)
            read_as = interpret_rotations(stored_rows[:, 1:], stored_rows[:, 0] / unit, tcb)
            if read_as == (form == "relative", True):
                return rows
        if requested == "absolute":
            self.reader_options["rotation_keys"] = requested
            return rows
        rows = rows_of(FORMS["relative"])
        rows[0, 0] = (rows[0, 0] / unit % math.tau + math.tau) * unit
        if not rows[0, 1:].any():
            rows[0] = math.tau * unit, 0.0, 0.0, 1.0
        return rows

    def _set_reader_options(self, records: list[Node]) -> None:
        """Set the options that readers need because they cannot detect the values, and report them."""
        if not self._is_recognised(key_times(records), self.unit):
            self.reader_options["time_unit"] = self.unit
            if self.unit == "frames":
                self.reader_options["fps"] = self.rates[self.unit]
        if (self.options.up, self.options.handedness) != ("z", "right"):
            self.reader_options |= {"up": self.options.up, "handedness": self.options.handedness}
        for name, value in self.reader_options.items():
            self.report.add(READER_OPTION_NEEDED, "/reading", name=name, value=value)


def _on_whole_units(times: Floats) -> Floats:
    """Return times with those near a whole number rounded to it."""
    rounded = np.rint(times)
    return np.where(np.abs(times - rounded) < 1e-6, rounded, times)


def _jumps_in_time(times: Floats) -> Floats:
    """Return times whose jumps, two keys at one time, do not become later when they are stored in single precision."""
    stored = times.astype(np.float32)
    early = np.where(stored > times, np.nextafter(stored, np.float32(-np.inf)), stored)
    jumps = np.diff(times) == 0
    return np.where(np.append(jumps, False) | np.append(False, jumps), early, times)


def _printable(text: str) -> str:
    """Return the text with ``_`` for each control character, because files with such names are not recognised."""
    return "".join("_" if ord(character) < 32 or ord(character) == 127 else character for character in text)


def _differs(value: npt.ArrayLike, default_value: Floats) -> bool:
    """Return whether a rest value differs from the default; values with non-finite numbers count as the default."""
    values = np.asarray(value, np.float64)
    return bool(np.isfinite(values).all() and (values != default_value).any())


class NodeRules(RecordRules):
    """Rules for the records of node animations."""

    flags: ClassVar = {(Node, "flags"): 0}


class Merger(bridge.Merger[Options]):
    rules = NodeRules()

    def tree(self, document: Document, scene: Scene, links: None) -> Tree:
        return Tree(document, {id(record): ("nodes", number) for number, record in enumerate(document.find(Node))})

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        document, before, options, matching = original[:4]
        report = LossReport("nodeanim")
        dialect = document.dialect if isinstance(document.dialect, Dialect) else Dialect()
        write_options = WriteOptions(
            dialect,
            UNITS[before.clips[0].unit],
            options.rotation_keys,
            options.up,
            options.handedness,
            options.encoding,
        )
        records = list(document.find(Node))
        interpolations: dict[int, Interpolation] = {
            new: interpolation_of(records[old]) for new, old in matching.nodes.items()
        }
        tracks = tracks_by_node_and_kind(before.clips[0]) or {}
        rotations = {new: tracks.get((old, "rotation")) for new, old in matching.nodes.items()}
        forms = {new: track.form for new, track in rotations.items() if track is not None}
        conventions = OriginalConventions(
            interpolations, forms, radians_per_unit(records, options) != 1.0, original.untouched
        )
        writer = NodeWriter(scene, first_clip(scene, report), write_options, dialect, report, conventions)
        written_document = writer.document()
        if "rotation_keys" in writer.reader_options:
            raise CannotMerge("the new rotation keys could be read only with the option rotation_keys")
        return Written(written_document, report, parts=writer.parts)

    def capabilities(self, original: Document) -> bridge.Capabilities:
        return Writer.capabilities

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with times in the file's unit, and with one name for scene and clip.

        The copyright becomes the notice in the author text (`copyright_in`).
        """
        scene = in_time_unit_of(scene, before)
        notice = copyright_in(scene.author)
        if scene.copyright != notice:
            if scene.copyright != before.copyright:
                report.add(METADATA_UNSUPPORTED["copyright elsewhere"], "/copyright")
            scene = replace(scene, copyright=notice)
        if not scene.clips or not before.clips:
            return scene
        clip = scene.clips[0]
        if scene.title != before.title:
            return replace(scene, clips=[replace(clip, name=scene.title), *scene.clips[1:]])
        return replace(scene, title=clip.name) if clip.name != before.clips[0].name else scene
