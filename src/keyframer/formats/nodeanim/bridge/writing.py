"""A scene as a node animation: the keys of its nodes, each under its own parent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.forms import increments, with_form
from keyframer.formats._axes import in_space
from keyframer.formats._document import Document
from keyframer.formats._dropped import MOTION, tell_dropped
from keyframer.formats._keys import KeyFitter, KeyRules, as_tcb, is_eased, still_key
from keyframer.formats._scale_axes import axes_of_keys, steady_axes
from keyframer.formats._writing import (
    DEFAULT_MAX_ERROR,
    NamesThatFit,
    Tolerance,
    Written,
    check_max_error,
    encode_name,
    first_clip,
    frames_per_second,
    plain_path,
    units_per_second,
)
from keyframer.formats.nodeanim.bridge import guess
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.dialect import BEZIER, LINEAR, TCB, Dialect
from keyframer.formats.nodeanim.document import new_document
from keyframer.formats.nodeanim.keys import NodeKeys
from keyframer.formats.nodeanim.records import Node
from keyframer.scene import Clip, Handedness, NodeKind, Scene, Space
from keyframer.scene import Node as SceneNode
from keyframer.scene.report import LossReport, NothingToWrite, Outcome

Floats = npt.NDArray[np.float64]

_TICKS_PER_SECOND = 4800.0
_STRAIGHT = (0.0, 0.0, 0.0, 1.0)
_UNITS = {"frame": "frames", "tick": "ticks", "second": "seconds"}
FIELDS = {"position": "translation_keys", "rotation": "rotation_keys", "scale": "scale_keys"}
SHAPES = {
    "tension": "tension",
    "continuity": "continuity",
    "bias": "bias",
    "ease_to": "ease_in",
    "ease_from": "ease_out",
}
_FLAGS = {Interpolation.TCB: TCB, Interpolation.BEZIER: BEZIER, Interpolation.LINEAR: LINEAR}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """``auto`` writes what a reader that looks at the numbers takes for what it is."""

    dialect: Dialect | str = "little text:nul chunk:u16+u32 size:all"
    """framing and byte order"""
    time_unit: str = "auto"
    """``seconds``, ``frames`` or ``ticks``; ``auto``: the first of the clip's own, ticks, frames that is exact"""
    rotation_keys: str = "auto"
    """``relative`` or ``absolute``"""
    up: str = "z"
    handedness: str = "right"
    encoding: str | None = None
    max_error: float = DEFAULT_MAX_ERROR
    """how far motion may be off where keys cannot hold it exactly: a fraction of the scene's size"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        Options(time_unit=self.time_unit, rotation_keys=self.rotation_keys, up=self.up, handedness=self.handedness)


def from_scene(scene: Scene, options: WriteOptions | None = None) -> Written:
    """A document of the scene's keys, and what else of the scene is not in it."""
    options = options or WriteOptions()
    report = LossReport("nodeanim")
    placed = in_space(scene, Space(options.up, Handedness(options.handedness), v_up=scene.space.v_up))
    clip = first_clip(placed, report)
    if not any(each.track.kind in MOTION and len(each.track.times) for each in clip.channels):
        raise NothingToWrite("a node animation holds keys and nothing else, and this scene has none")
    dialect = Dialect.parse(options.dialect) if isinstance(options.dialect, str) else options.dialect
    tell_dropped(placed, clip, report, held(dialect))
    writer = NodeWriter(placed, clip, options, dialect, report)
    return Written(writer.document(), report, reading=writer.reading)


def held(dialect: Dialect) -> set[str]:
    """What such files hold beside keys, in the words of `tell_dropped`."""
    words = {"title", "authors"}
    return words | {"scale_axes", "scale axes"} if dialect.scale_axis else words


class NodeWriter:
    """Makes records for the nodes of a scene."""

    def __init__(self, scene: Scene, clip: Clip, options: WriteOptions, dialect: Dialect, report: LossReport) -> None:
        self.scene = scene
        self.clip = clip
        self.options = options
        self.dialect = dialect
        self.report = report
        self.form = options.rotation_keys
        self.reading: dict[str, object] = {}
        """what readers must be told"""
        self.unit, per_second = self._time_unit()
        # Keys far apart look like increments to readers.
        rules = KeyRules(per_second, per_second / frames_per_second(clip), whole=False, widest_degrees=30.0)
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, options.max_error), report)

    def document(self) -> Document:
        names = NamesThatFit(encoding=self.options.encoding)
        tracks = [
            (node, self.tracks(number, node))
            for number, node in enumerate(self.scene.nodes)
            if node.kind is not NodeKind.AMBIENT
        ]
        widest = [
            float(np.abs(increments(each["rotation"])[1]).max(initial=0.0)) for _, each in tracks if "rotation" in each
        ]
        degrees = max(widest, default=0.0) > 8 * math.pi  # what readers take for degrees must be degrees
        claimed = [names.claim(node.name, node.raw_name) for node, _ in tracks]
        records = [self.record(node, each, name, degrees) for (node, each), name in zip(tracks, claimed, strict=True)]
        if "rotation_keys" in self.reading and self.options.rotation_keys == "auto":
            self.form = "relative"  # one word must do for the whole file
            records = [
                self.record(node, each, name, degrees) for (node, each), name in zip(tracks, claimed, strict=True)
            ]
        self._tell_readers(records)
        title = self.scene.title or self.clip.name
        encoding = self.options.encoding
        return new_document(
            *records,
            name=encode_name(title, encoding),
            author=encode_name(self.scene.author, encoding),
            dialect=self.dialect,
        )

    def _time_unit(self) -> tuple[str, float]:
        """The unit of times and how many make a second: one in which they are exact, and which readers recognise."""
        fps = frames_per_second(self.clip)
        rates = {"frames": fps, "ticks": _TICKS_PER_SECOND, "seconds": 1.0}
        if self.options.time_unit != "auto":
            return self.options.time_unit, rates[self.options.time_unit]
        tables = [each.track.times for each in self.clip.channels if each.track.kind in MOTION]
        times = np.concatenate([np.empty(0), *tables])
        times = np.unique(times[np.isfinite(times)])
        own = _UNITS.get(self.clip.unit, "frames")
        for unit in dict.fromkeys((own, "ticks", "frames", "seconds")):
            stored = times * (rates[unit] / units_per_second(self.clip))
            near = np.rint(stored)
            stored = np.where(np.abs(stored - near) < 1e-6, near, stored)
            if (stored == stored.astype(np.float32)).all() and self._is_recognised(stored, unit, rates[unit]):
                return unit, rates[unit]
        return "seconds", 1.0

    @staticmethod
    def _is_recognised(times: Floats, unit: str, rate: float) -> bool:
        keys = NodeKeys.make(times, np.zeros((len(times), 3)))
        base = guess.time_base([Node(translation_keys=keys)], Options())
        return _UNITS[base.unit] == unit and math.isclose(base.rate, rate)

    def tracks(self, number: int, node: SceneNode) -> dict[str, Track]:
        """What places the node, by kind, in the format's time unit; a rest place without keys becomes one key."""
        found: dict[str, Track] = {}
        for channel in self.scene.channels_of(number):
            kind = channel.track.kind
            if (kind in MOTION and kind not in found) or (kind == "scale_axes" and self.dialect.scale_axis):
                made = self.fitter.fit(channel.track, f"{plain_path('nodes', node.name)}/{kind}")
                if made is not None:
                    found[kind] = made
        if "position" not in found and _is_stated(node.position, np.zeros(3)):
            found["position"] = still_key("position", node.position)
        turn = np.asarray(node.rotation_xyzw)
        if "rotation" not in found and np.isfinite(turn).all() and np.any(turn[:3]):
            found["rotation"] = still_key("rotation", node.rotation_xyzw, RotationForm.QUATERNION_ABSOLUTE)
        if "scale" not in found and (_is_stated(node.scale, np.ones(3)) or "scale_axes" in found):
            found["scale"] = still_key("scale", node.scale)
        if self.dialect.scale_axis and node.scale_axes_xyzw is not None and "scale_axes" not in found:
            scale = found.setdefault("scale", still_key("scale", node.scale))
            found["scale_axes"] = steady_axes(node, scale)
        return found

    def record(self, node: SceneNode, tracks: dict[str, Track], name: bytes, degrees: bool) -> Node:
        """The record of one node with these tracks; ``degrees`` is the unit of angles in the whole file."""
        placing = {kind: track for kind, track in tracks.items() if kind in MOTION}
        kinds = {
            Interpolation.TCB if is_eased(track) else track.interpolation
            for track in placing.values()
            if len(track.times) > 1
        }
        common = kinds.pop() if len(kinds) == 1 else Interpolation.TCB if kinds else Interpolation.LINEAR
        record = Node(name, _FLAGS[common])
        for kind, track in placing.items():
            made = as_tcb(track) if common is Interpolation.TCB else replace(track, interpolation=common)
            values = self._rotations(node, made, common, degrees) if kind == "rotation" else made.values
            columns: dict[str, npt.ArrayLike] = {}
            if common is Interpolation.TCB:
                columns = {stored: _or_zeros(getattr(made, attribute), made) for attribute, stored in SHAPES.items()}
            if kind == "scale" and self.dialect.scale_axis:
                axes = axes_of_keys(tracks.get("scale_axes"), made, node, self.report)
                columns["axis"] = np.tile(_STRAIGHT, (len(made.times), 1)) if axes is None else axes
            flags = np.zeros(len(made.times), np.int64)
            if self.scene.source_format == "nodeanim" and made.flags is not None:
                flags = made.flags
            if self.dialect.tcb_by_key:
                flags = flags & ~TCB | (TCB if common is Interpolation.TCB else 0)
            self._check_times(node, kind, made.times)
            setattr(record, FIELDS[kind], NodeKeys.make(made.times, values, flags=flags, **columns))
        record.translation_key_count = len(record.translation_keys)
        record.rotation_key_count = len(record.rotation_keys)
        record.scale_key_count = len(record.scale_keys)
        return record

    def _check_times(self, node: SceneNode, kind: str, times: Floats) -> None:
        late = float(np.abs(times.astype(np.float32) - times).max(initial=0.0))
        if late:
            seconds = late / self.fitter.rules.per_second
            path = f"{plain_path('nodes', node.name)}/{kind}"
            self.report.add(Outcome.APPROXIMATED, path, "times are 32-bit floats", error=seconds, unit="second")

    def _rotations(self, node: SceneNode, track: Track, common: Interpolation, degrees: bool) -> Floats:
        """Angle and axis of each key, in the form that readers take for what it is."""
        tcb = common is Interpolation.TCB
        forms = {"relative": RotationForm.AXIS_ANGLE_RELATIVE, "absolute": RotationForm.AXIS_ANGLE_ABSOLUTE}
        wanted: tuple[str, ...] = ("relative", "absolute") if tcb else ("absolute", "relative")
        unit = 180 / math.pi if degrees else 1.0
        long_way = bool((np.abs(increments(track)[1][1:]) > math.pi).any())
        if self.form != "auto":
            wanted = (self.form,)
        elif long_way:
            wanted = ("relative",)  # absolute keys mean the shortest way
        if wanted[0] == "absolute" and long_way:
            path = f"{plain_path('nodes', node.name)}/rotation"
            self.report.add(Outcome.APPROXIMATED, path, "absolute keys turn the shortest way")
        for word in wanted:
            values = with_form(track, forms[word]).values
            rows = np.column_stack([values[:, 3] * unit, values[:, :3]])
            near = rows.astype(np.float32).astype(np.float64)
            if guess.is_relative(near[:, 1:], near[:, 0] / unit, tcb, Options()) == (word == "relative"):
                return rows
        self.reading["rotation_keys"] = wanted[0]
        values = with_form(track, forms[wanted[0]]).values
        return np.column_stack([values[:, 3] * unit, values[:, :3]])

    def _tell_readers(self, records: list[Node]) -> None:
        base = guess.time_base(records, Options())
        rate = self.fitter.rules.per_second
        if _UNITS[base.unit] != self.unit or not math.isclose(base.rate, rate):
            self.reading["time_unit"] = self.unit
            if self.unit == "frames":
                self.reading["fps"] = rate
        if (self.options.up, self.options.handedness) != ("z", "right"):
            self.reading |= {"up": self.options.up, "handedness": self.options.handedness}
        for name, value in self.reading.items():
            self.report.add(Outcome.EXACT, "/reading", f"readers must be told {name}={value}: the file does not say so")


def _or_zeros(column: Floats | None, track: Track) -> Floats:
    return np.zeros(len(track.times)) if column is None else column


def _is_stated(value: npt.ArrayLike, usual: Floats) -> bool:
    """Whether a node rests elsewhere than nodes do that say nothing; numbers that are none say nothing."""
    given = np.asarray(value, np.float64)
    return bool(np.isfinite(given).all() and (given != usual).any())
