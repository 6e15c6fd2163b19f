"""Write a scene as a node animation: the keys of its nodes, relative to their parents."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.rotation_forms import increments, with_form
from keyframer.fields import dataclass
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities, StoredAs
from keyframer.formats.kit.key_tracks import (
    KeyFitter,
    KeyRules,
    as_tcb,
    axes_of_keys,
    constant_axes,
    is_eased,
    single_key,
)
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
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
from keyframer.formats.nodeanim.bridge import unit_detection
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.bridge.scene import KEY_FIELDS, STORED_COLUMNS
from keyframer.formats.nodeanim.dialect import BEZIER, LINEAR, TCB, Dialect
from keyframer.formats.nodeanim.document import new_document
from keyframer.formats.nodeanim.keys import NodeKeys
from keyframer.formats.nodeanim.records import Node
from keyframer.scene import Clip, Handedness, NodeKind, Scene, Space
from keyframer.scene import Node as SceneNode
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
from keyframer.text import encode_name

_TICKS_PER_SECOND = 4800.0
_NO_ROTATION_XYZW = (0.0, 0.0, 0.0, 1.0)
UNITS = {"frame": "frames", "tick": "ticks", "second": "seconds"}
"""values of the option ``time_unit`` by the unit of a clip"""
CAPABILITIES = Capabilities(("title", "author"), {"clips": (StoredAs(("name",), "the title of the scene"),)})
"""features in addition to keys"""
_FORMS = {"relative": RotationForm.AXIS_ANGLE_RELATIVE, "absolute": RotationForm.AXIS_ANGLE_ABSOLUTE}
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
    capabilities = CAPABILITIES

    def from_scene(self, scene: Scene, options: WriteOptions) -> Written:
        """Return a document with the keys of the scene, and the loss report."""
        report = LossReport("nodeanim")
        converted = in_space(scene, Space(options.up, Handedness(options.handedness), v_up=scene.space.v_up))
        clip = first_clip(converted, report)
        if not any(channel.track.kind in MOTION and len(channel.track.times) for channel in clip.channels):
            raise CannotWrite("nothing to write: the scene has no keys")
        dialect = Dialect.parse(options.dialect) if isinstance(options.dialect, str) else options.dialect
        report_dropped(converted, clip, report, capabilities(dialect).handled)
        writer = NodeWriter(converted, clip, options, dialect, report)
        document = writer.document()
        return Written(document, report, reader_options=writer.reader_options, parts=writer.parts)


def capabilities(dialect: Dialect) -> Capabilities:
    """Return the features and fields that files of a dialect can store."""
    return CAPABILITIES.with_features("scale_axes", "scale axes") if dialect.scale_axis else CAPABILITIES


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
        self.rates = {"frames": frames_per_second(clip), "ticks": _TICKS_PER_SECOND, "seconds": 1.0}
        """units per second for each unit of time"""
        self.unit = self._time_unit()
        per_second = self.rates[self.unit]
        rules = KeyRules(per_second, per_second / frames_per_second(clip), whole_times=False)
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, options.max_error), report)

    def document(self) -> Document:
        names = UniqueByteNames(encoding=self.options.encoding)
        nodes = [
            (number, node)
            for number, node in enumerate(self.scene.nodes)
            if node.kind is not NodeKind.AMBIENT and number not in self.conventions.untouched
        ]
        written = {number for number, _ in nodes}
        clips = self.scene.clips[:1]
        channels = [channel for clip in clips for channel in clip.channels if channel.node in written]
        self.fitter.fit_ahead(channel.track for channel in channels if self._is_supported(channel.track.kind))
        tracks = [self.tracks(number, node) for number, node in nodes]
        if self.options.time_unit == "auto":
            tracks = self._in_recognised_unit(tracks)
        degrees = self.conventions.degrees
        if degrees is None:
            rotations = [tracks_of_node["rotation"] for tracks_of_node in tracks if "rotation" in tracks_of_node]
            degrees = self._needs_degrees(rotations)
        stored_names = [names.claim(_printable(node.name), node.raw_name) for _, node in nodes]
        records = [
            self.record(number, node, tracks_of_node, name, degrees)
            for (number, node), tracks_of_node, name in zip(nodes, tracks, stored_names, strict=True)
        ]
        self.parts = {id(record): ("nodes", number) for record, (number, _) in zip(records, nodes, strict=True)}
        self._set_reader_options(records)
        title = self.scene.title or self.clip.name
        if self.clip.name not in ("", title):
            self.report.add(
                Outcome.DROPPED, "/clips/name", "the format stores one name for the scene and its clip: the title"
            )
        encoding = self.options.encoding
        return new_document(
            *records,
            name=encode_name(_printable(title), encoding),
            author=encode_name(_printable(self.scene.author), encoding),
            dialect=self.dialect,
        )

    def _needs_degrees(self, rotations: list[Track]) -> bool:
        """Return whether an angle is so large that readers assume degrees; absolute keys have at most 180 degrees."""
        if self.options.rotation_keys == "absolute":
            return False
        return any((np.abs(increments(rotation)[1]) > unit_detection.MOST_RADIANS).any() for rotation in rotations)

    def _time_unit(self) -> str:
        """Return the unit of times: one that readers recognise and in which the times of the clip are exact, if any."""
        if self.options.time_unit != "auto":
            return self.options.time_unit
        tables = [channel.track.times for channel in self.clip.channels if channel.track.kind in MOTION]
        times = np.concatenate([np.empty(0), *tables])
        times = np.unique(times[np.isfinite(times)])
        clip_unit = UNITS.get(self.clip.unit, "frames")
        for unit in dict.fromkeys((clip_unit, "ticks", "frames", "seconds")):
            stored_times = times * (self.rates[unit] / units_per_second(self.clip))
            rounded = np.rint(stored_times)
            stored_times = np.where(np.abs(stored_times - rounded) < 1e-6, rounded, stored_times)
            if (stored_times == stored_times.astype(np.float32)).all() and self._is_recognised(stored_times, unit):
                return unit
        return "seconds"

    def _is_recognised(self, times: Floats, unit: str) -> bool:
        """Return whether readers recognise the unit of these times."""
        keys = NodeKeys.make(times, np.zeros((len(times), 3)))
        base = unit_detection.time_base([Node(translation_keys=keys)], Options())
        return UNITS[base.unit] == unit and math.isclose(base.rate, self.rates[unit])

    def _in_recognised_unit(self, tracks: list[dict[str, Track]]) -> list[dict[str, Track]]:
        """Return the tracks, in another time unit if readers would not recognise this one after keys were added."""
        times = np.concatenate(
            [np.empty(0), *(track.times for tracks_of_node in tracks for track in tracks_of_node.values())]
        )
        for unit in (self.unit, "seconds", "ticks"):
            factor = self.rates[unit] / self.rates[self.unit]
            if self._is_recognised(times * factor, unit):
                self.unit = unit
                return [
                    {kind: replace(track, times=track.times * factor) for kind, track in tracks_of_node.items()}
                    for tracks_of_node in tracks
                ]
        return tracks

    def _is_supported(self, kind: str) -> bool:
        """Return whether the dialect can store keys for tracks of a kind."""
        return kind in MOTION or (kind == "scale_axes" and self.dialect.scale_axis)

    def tracks(self, number: int, node: SceneNode) -> dict[str, Track]:
        """Return the tracks to write for a node, by kind, in the time unit of the file.

        A rest value without keys becomes one key, unless it is the default.
        """
        tracks_by_kind: dict[str, Track] = {}
        for channel in self.scene.channels_of(number):
            kind = channel.track.kind
            if self._is_supported(kind) and (kind not in tracks_by_kind or kind == "scale_axes"):
                fitted = self.fitter.fit(channel.track, f"{plain_path('nodes', node.name)}/{kind}")
                if fitted is not None:
                    tracks_by_kind[kind] = fitted
        if "position" not in tracks_by_kind and _differs(node.position, np.zeros(3)):
            tracks_by_kind["position"] = single_key("position", node.position)
        rotation = np.asarray(node.rotation_xyzw)
        if "rotation" not in tracks_by_kind and np.isfinite(rotation).all() and np.any(rotation[:3]):
            tracks_by_kind["rotation"] = single_key("rotation", node.rotation_xyzw, RotationForm.QUATERNION_ABSOLUTE)
        if "scale" not in tracks_by_kind and (_differs(node.scale, np.ones(3)) or "scale_axes" in tracks_by_kind):
            tracks_by_kind["scale"] = single_key("scale", node.scale)
        if self.dialect.scale_axis and node.scale_axes_xyzw is not None and "scale_axes" not in tracks_by_kind:
            scale = tracks_by_kind.setdefault("scale", single_key("scale", node.scale))
            tracks_by_kind["scale_axes"] = constant_axes(node, scale)
        return tracks_by_kind

    def record(self, number: int, node: SceneNode, tracks: dict[str, Track], name: bytes, degrees: bool) -> Node:
        """Return the record of one node with these tracks; ``degrees``: all angles in the file are in degrees."""
        motion = {kind: track for kind, track in tracks.items() if kind in MOTION}
        interpolations = {
            Interpolation.TCB if is_eased(track) else track.interpolation
            for track in motion.values()
            if len(track.times) > 1
        }
        single_key_default = self.conventions.interpolations.get(number, Interpolation.LINEAR)
        interpolation = Interpolation.TCB if interpolations else single_key_default
        if len(interpolations) == 1:
            interpolation = interpolations.pop()
        record = Node(name, _FLAGS[interpolation])
        for kind, track in motion.items():
            written_track = (
                as_tcb(track) if interpolation is Interpolation.TCB else replace(track, interpolation=interpolation)
            )
            values = (
                self._rotations(number, node, written_track, interpolation, degrees)
                if kind == "rotation"
                else written_track.values
            )
            columns: dict[str, npt.ArrayLike] = {}
            if interpolation is Interpolation.TCB:
                columns = {
                    column: _or_zeros(getattr(written_track, attribute), written_track)
                    for attribute, column in STORED_COLUMNS.items()
                }
            if kind == "scale" and self.dialect.scale_axis:
                axes = axes_of_keys(tracks.get("scale_axes"), written_track, node, self.report)
                columns["axis"] = np.tile(_NO_ROTATION_XYZW, (len(written_track.times), 1)) if axes is None else axes
            flags = np.zeros(len(written_track.times), np.int64)
            if self.scene.source_format == "nodeanim" and written_track.flags is not None:
                flags = written_track.flags
            if self.dialect.tcb_by_key:
                flags = flags & ~TCB | (TCB if interpolation is Interpolation.TCB else 0)
            self._report_rounded_times(node, kind, written_track.times)
            setattr(record, KEY_FIELDS[kind], NodeKeys.make(written_track.times, values, flags=flags, **columns))
        record.translation_key_count = len(record.translation_keys)
        record.rotation_key_count = len(record.rotation_keys)
        record.scale_key_count = len(record.scale_keys)
        return record

    def _report_rounded_times(self, node: SceneNode, kind: str, times: Floats) -> None:
        error = float(np.abs(times.astype(np.float32) - times).max(initial=0.0))
        if error:
            seconds = error / self.rates[self.unit]
            path = f"{plain_path('nodes', node.name)}/{kind}"
            self.report.add(
                Outcome.APPROXIMATED, path, "times were rounded to 32-bit floats", error=seconds, unit="second"
            )

    def _rotations(
        self, number: int, node: SceneNode, track: Track, interpolation: Interpolation, degrees: bool
    ) -> Floats:
        """Return angle and axis of each key, in a form that readers recognise."""
        tcb = interpolation is Interpolation.TCB
        unit = 180 / math.pi if degrees else 1.0
        if number in self.conventions.forms:
            values = with_form(track, self.conventions.forms[number]).values
            return np.column_stack([values[:, 3] * unit, values[:, :3]])
        # Absolute keys mean the shortest rotation, which is ambiguous for half a turn.
        long_way = bool((np.abs(increments(track)[1][1:]) >= math.pi * (1 - 1e-6)).any())
        requested = self.options.rotation_keys
        if requested == "absolute" and long_way:
            path = f"{plain_path('nodes', node.name)}/rotation"
            self.report.add(Outcome.APPROXIMATED, path, "absolute keys rotate the shortest way")
        forms = ["relative", "absolute"] if tcb else ["absolute", "relative"]
        if requested != "auto" or long_way:
            forms = ["relative" if requested == "auto" else requested]
        for form in forms:
            values = with_form(track, _FORMS[form]).values
            rows = np.column_stack([values[:, 3] * unit, values[:, :3]])
            stored_rows = rows.astype(np.float32).astype(np.float64)
            if unit_detection.interpret_rotations(stored_rows[:, 1:], stored_rows[:, 0] / unit, tcb, Options()) == (
                form == "relative",
                True,
            ):
                return rows
        if requested == "absolute":
            self.reader_options["rotation_keys"] = requested
            return rows
        return self._with_full_turn_first(with_form(track, _FORMS["relative"]).values, unit)

    @staticmethod
    def _with_full_turn_first(values: Floats, unit: float) -> Floats:
        """Return the increments with a full turn added to the first key, so that readers recognise increments."""
        rows = np.column_stack([values[:, 3] * unit, values[:, :3]])
        rows[0, 0] = (values[0, 3] % math.tau + math.tau) * unit
        if not rows[0, 1:].any():
            rows[0] = math.tau * unit, 0.0, 0.0, 1.0
        return rows

    def _set_reader_options(self, records: list[Node]) -> None:
        """Set the options that readers need because they cannot detect the values, and report them."""
        base = unit_detection.time_base(records, Options())
        rate = self.rates[self.unit]
        if UNITS[base.unit] != self.unit or not math.isclose(base.rate, rate):
            self.reader_options["time_unit"] = self.unit
            if self.unit == "frames":
                self.reader_options["fps"] = rate
        if (self.options.up, self.options.handedness) != ("z", "right"):
            self.reader_options |= {"up": self.options.up, "handedness": self.options.handedness}
        for name, value in self.reader_options.items():
            self.report.add(
                Outcome.DROPPED, "/reading", f"readers need the option {name}={value}, which the file does not store"
            )


def _printable(text: str) -> str:
    """Return the text with ``_`` for each control character, because files with such names are not recognised."""
    return "".join("_" if ord(character) < 32 or ord(character) == 127 else character for character in text)


def _or_zeros(column: Floats | None, track: Track) -> Floats:
    return np.zeros(len(track.times)) if column is None else column


def _differs(value: npt.ArrayLike, default_value: Floats) -> bool:
    """Return whether a rest value differs from the default; values with non-finite numbers count as the default."""
    values = np.asarray(value, np.float64)
    return bool(np.isfinite(values).all() and (values != default_value).any())
