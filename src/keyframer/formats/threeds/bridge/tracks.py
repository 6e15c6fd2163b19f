"""Read keys of the keyframer as authored tracks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from keyframer.arrays import Array, Flags, Floats, Ints, Singles
from keyframer.catalogue import (
    DATA_KEYS_NOT_INCREASING,
    DATA_NON_FINITE,
    DATA_TCB_OUT_OF_RANGE,
    DATA_TIME_HUGE,
    DATA_VALUE_HUGE,
    DATA_ZERO_AXIS,
    LIMIT_COPIES,
    LINK_UNRESOLVED_NAME,
    SCENE_SIGN_FLIP,
)
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.lazy_fields import add_extras, defer_fields, set_extras, unchecked_constructor
from keyframer.formats.kit.key_table import EXTRAS, Keys
from keyframer.formats.kit.scene_reading import unsorted_keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context
from keyframer.issues import IssueType
from keyframer.scene import Morph
from keyframer.wire.record import Record

WRAPS = {0: Wrap.SINGLE, 2: Wrap.REPEAT, 3: Wrap.LOOP}
"""by the value of bits 0 and 1; the value 1 is not defined and plays once"""

KINDS: dict[type[Record], str] = {
    r.PositionTrack: "position",
    r.RotationTrack: "rotation",
    r.ScaleTrack: "scale",
    r.FovTrack: "fov",
    r.RollTrack: "roll",
    r.ColorTrack: "color",
    r.HotspotTrack: "hotspot",
    r.FalloffTrack: "falloff",
}


_COLUMNS = ("times", "values", "flags")
_new_track = unchecked_constructor(Track, without=_COLUMNS)
_new_eased_track = unchecked_constructor(Track, without=(*_COLUMNS, *EXTRAS))
_ALL_EXTRAS = frozenset(EXTRAS)
_EXTRAS = ("3ds", "flags", "time_min", "time_max", "offset")
"""id of the format, and names of the header values that a track keeps in extras"""


def _empty_track(kind: str, chunk: r.Track, form: RotationForm, *, eased: bool = True) -> Track:
    """Make a track without columns; if it is not ``eased``, without those of `EXTRAS` for good."""
    make = _new_eased_track if eased else _new_track
    track: Track = make(kind, Interpolation.TCB, WRAPS.get(chunk.flags & 3, Wrap.SINGLE), form)
    set_extras(track, _EXTRAS, chunk.flags, chunk.time_min, chunk.time_max, chunk.offset)
    return track


class ReadTrack(NamedTuple):
    """A track of numbers, and what the rest pose needs of its keys."""

    track: Track
    doubtful: bool
    """whether its keys may have issues: see `check_keys`"""
    first_time: float
    first_value: Floats
    """of the first key in the file, which is the earliest if the track is not doubtful"""


def read_tracks(context: Context, chunks: Iterable[r.Track], *, absolute: bool, from_max: bool) -> dict[int, ReadTrack]:
    """Read tracks of numbers that have keys, by `id` of their chunk.

    Keys of the same layout are read together: a call of numpy takes as long for fifty keys as for one.
    """
    flips = from_max and context.options.sign_flips == "auto"
    tracks: dict[int, ReadTrack] = {}
    batches: dict[np.dtype[Any], _Batch] = {}
    for chunk in chunks:
        if type(chunk) not in KINDS:
            continue
        rows = chunk.keys.rows  # type: ignore[attr-defined]  # every concrete track has keys
        if not len(rows):
            continue
        batch = batches.get(rows.dtype)
        if batch is None or batch.key_count > _KEYS_AT_ONCE:
            if batch is not None:
                batch.read(absolute, tracks)
            batch = batches[rows.dtype] = _Batch(flips)
        batch.chunks.append(chunk)
        batch.tables.append(rows)
        batch.key_count += len(rows)
    for batch in batches.values():
        batch.read(absolute, tracks)
    return tracks


_KEYS_AT_ONCE = 20_000
"""a larger batch is not extended: it would not fit into the processor's cache, and each track keeps its batch alive"""


class _Batch:
    """Tracks with rows of the same layout. Their columns are made on first use."""

    __slots__ = ("_columns", "chunks", "flips", "key_count", "tables")

    def __init__(self, flips: bool) -> None:
        self.chunks: list[r.Track] = []
        self.tables: list[Array] = []
        self.flips = flips
        """whether large increments may be changes of sign (see `_flips`)"""
        self.key_count = 0
        self._columns: tuple[Floats, Floats, Ints | None, Floats | None] | None = None

    def read(self, absolute: bool, tracks: dict[int, ReadTrack]) -> None:
        """Add the tracks of this batch."""
        rows = self._joined_rows()
        ends = list(accumulate(map(len, self.tables)))
        starts = [0, *ends[:-1]]
        doubtful = [False] * len(starts)
        if _is_doubtful(rows, starts, self.flips):
            doubtful = [_is_doubtful(table, [0], self.flips) for table in self.tables]
        first_times = rows["time"][starts].tolist()
        first_values = _values(rows["value"][starts])
        form = RotationForm.NONE
        if first_values.shape[1:] == (4,):
            form = RotationForm.AXIS_ANGLE_ABSOLUTE if absolute else RotationForm.AXIS_ANGLE_RELATIVE
        eased = not _ALL_EXTRAS.isdisjoint(rows.dtype.names or ())
        for number, (chunk, start, end) in enumerate(zip(self.chunks, starts, ends, strict=True)):
            track = _empty_track(KINDS[type(chunk)], chunk, form, eased=eased)
            defer_fields(track, self.columns, start, end)
            tracks[id(chunk)] = ReadTrack(track, doubtful[number], first_times[number], first_values[number])
        self.chunks = []

    def _joined_rows(self) -> Array:
        return np.frombuffer(b"".join([table.tobytes() for table in self.tables]), self.tables[0].dtype)

    def columns(self, start: int, end: int) -> dict[str, Any]:
        """Return the columns of one track, from key ``start`` to ``end`` of the batch."""
        if self._columns is None:
            rows = self._joined_rows()
            flags = rows["flags"].astype(np.int64) if rows["flags"].any() else None
            with np.errstate(invalid="ignore"):  # signalling NaN: this runs when the track is first used
                extras = _extra_columns(rows)
                self._columns = rows["time"].astype(np.float64), _values(rows["value"]), flags, extras
        times, values, flags, extras = self._columns
        track_flags = None if flags is None or not flags[start:end].any() else flags[start:end]
        track_values = values[start:end]
        if self.flips and values.shape[1:] == (4,):
            flips = _flips(times[start:end], track_values[:, 3])
            track_values[flips, 3] -= 2 * math.pi * np.sign(track_values[flips, 3])
        columns = {"times": times[start:end], "values": track_values, "flags": track_flags}
        return columns if extras is None else {**columns, **dict(zip(EXTRAS, extras[:, start:end], strict=True))}


def _values(stored: Singles) -> Floats:
    """Return the values of keys.

    Rotations are stored as angle (clockwise) and axis, and returned as axis and angle (counter-clockwise).
    """
    if stored.shape[1] == 4:
        values = np.empty(stored.shape)
        values[:, :3], values[:, 3] = stored[:, 1:], -stored[:, 0]
        return values
    return (stored[:, 0] if stored.shape[1] == 1 else stored).astype(np.float64)


def _flips(times: Array, angles: Array) -> Flags:
    """Return which increments are changes of sign of a quaternion, not rotations.

    12 of 16 increments above pi in real files of 3ds Max are one frame apart, between neighbours below 0.14 pi.
    """
    one_frame_apart = np.diff(times, prepend=-math.inf) == 1
    return np.asarray(one_frame_apart & (np.abs(angles) > _FLIP) & (np.abs(angles) <= _FLIP + math.pi))


def _extra_columns(rows: Array) -> Floats | None:
    """Return (5, keys) optional floats, 0 if they are not stored; None if none of them is."""
    stored = [name for name in EXTRAS if name in (rows.dtype.names or ())]
    columns = np.zeros((len(EXTRAS), len(rows)))
    for name in stored:
        columns[EXTRAS.index(name)] = rows[name]
    return columns if stored else None


def _is_doubtful(rows: Array, starts: list[int], flips: bool) -> bool:
    """Return whether some keys may need a report of `check_keys`, as in 10 of 652 batches of real files.

    NaN fails every test.
    """
    times, values = rows["time"].copy(), rows["value"].copy()  # numpy is slow with unaligned numbers
    several = len(rows) > len(starts)
    if several:
        ascending = times[1:] > times[:-1]
        ascending[np.array(starts[1:], np.intp) - 1] = True
        if not ascending.all():
            return True
    if not -_HUGE_TIME <= int(times.min()) <= int(times.max()) <= _HUGE_TIME:
        return True
    if not -_HUGE_VALUE <= float(values.min()) <= float(values.max()) <= _HUGE_VALUE:
        return True
    for number, name in enumerate(EXTRAS):
        if name in (rows.dtype.names or ()):
            column, least = rows[name].copy(), -1.0 if number < 3 else 0.0
            if not least <= float(column.min()) <= float(column.max()) <= 1.0:
                return True
    if values.shape[1] != 4:
        return False
    angles = values[:, 0]
    has_zero_axes = not (values[:, 1:].any(axis=1) | (angles == 0)).all()
    return has_zero_axes or (flips and several and not -_FLIP <= float(angles.min()) <= float(angles.max()) <= _FLIP)


_FLIP = 1.5 * math.pi
"""an increment between this angle and half a turn more may be a quaternion that changed its sign"""


_FEW_SHAPES = 8
"""keys with up to this many weights need no budget"""
_HUGE_TIME = 10_000_000
_HUGE_VALUE = 1e12
"""neighbouring float32 values are 65536 apart here: no scene is that large, and an angle has no meaning"""


def check_keys(context: Context, chunk: r.Track, track: Track | None = None) -> None:
    """Report unsorted keys, and non-finite numbers and those outside their ranges; evaluation can handle all of them.

    ``track`` is the result of reading keys with numbers.
    """
    keys: Keys = chunk.keys  # type: ignore[attr-defined]  # every concrete track has keys

    def report(kind: IssueType, wrong: Any, **args: Any) -> None:
        index = int(wrong.argmax())
        context.report(kind, chunk, f"keys[{index}]", index=index, **args)

    times, values = keys.time.astype(np.int64), keys.value.astype(np.float64)
    extras = np.zeros((len(keys), len(EXTRAS))) if keys.extras is None else keys.extras
    unsorted = unsorted_keys(times, keys.value)
    if len(unsorted):
        index = int(unsorted[0])
        context.report(DATA_KEYS_NOT_INCREASING, chunk, f"keys[{index}]", index=index, time=int(times[index]))
    non_finite = np.count_nonzero(~np.isfinite(values), axis=1) + np.count_nonzero(~np.isfinite(extras), axis=1)
    if non_finite.any():
        report(DATA_NON_FINITE, non_finite > 0, count=int(non_finite.sum()))
    huge_times = np.abs(times) > _HUGE_TIME
    if huge_times.any():
        report(DATA_TIME_HUGE, huge_times, time=int(times[huge_times][0]))
    sizes = np.abs(values).max(axis=1, initial=0.0)
    huge_values = (sizes > _HUGE_VALUE) & np.isfinite(sizes)
    if huge_values.any():
        report(DATA_VALUE_HUGE, huge_values, value=float(sizes[huge_values][0]))
    outside = (np.abs(extras[:, :3]) > 1).any(axis=1) | ((extras[:, 3:] < 0) | (extras[:, 3:] > 1)).any(axis=1)
    if outside.any():
        report(DATA_TCB_OUT_OF_RANGE, outside)
    if track is None or not track.is_rotation:
        return
    angles = values[:, 0]
    zero_axes = (values[:, 1:] == 0).all(axis=1) & (angles != 0)
    if zero_axes.any():
        context.report(DATA_ZERO_AXIS, chunk, f"keys[{int(zero_axes.argmax())}]", count=int(zero_axes.sum()))
    changed = np.flatnonzero((track.values[:, 3] != -angles) & np.isfinite(angles))
    if len(changed):
        context.report(SCENE_SIGN_FLIP, chunk, f"keys[{changed[0]}]", count=len(changed))


def first_usable(track: Track) -> Floats | None:
    """Return the value of the earliest key with finite numbers; None without one."""
    usable = np.flatnonzero(np.isfinite(track.values).reshape(len(track.times), -1).all(axis=1))
    if not len(usable):
        return None
    value: Floats = track.values[usable[np.argmin(track.times[usable])]]
    return value


def read_hide_track(context: Context, chunk: r.HideTrack, hidden: bool) -> Track | None:
    """Read a hide track, whose keys toggle visibility; None without keys. A key before them has the initial state."""
    keys = chunk.keys
    if len(keys) == 0:
        return None
    check_keys(context, chunk)
    times = np.sort(np.asarray(keys.time, np.float64), kind="stable")
    states = (np.arange(len(times) + 1) + (0 if hidden else 1)) % 2
    track = Track(
        "visible",
        np.concatenate([[times[0] - 1], times]),
        states.astype(np.float64),
        Interpolation.STEP,
        WRAPS.get(chunk.flags & 3, Wrap.SINGLE),
    )
    head = {"flags": chunk.flags, "time_min": chunk.time_min, "time_max": chunk.time_max}
    context.mark(track, "3ds", chunk, {"toggles": True, **head})
    add_extras(track, "3ds", {"key_flags": keys.flags.tolist()})
    if keys.extras is not None:
        add_extras(track, "3ds", {"key_extras": keys.extras.tolist()})
    return track


def read_morph_track(
    context: Context, chunk: r.MorphTrack, vertex_count: int, shape_of: Callable[[bytes], Floats | None]
) -> tuple[Track, Morph] | None:
    """Return a track of weights for keys that name shapes, and the shapes; None without usable keys or budget.

    A curve through unit vectors blends exactly as one through vertices. A name without a mesh of ``vertex_count``
    vertices repeats the previous shape, or at the start the next one.
    """
    keys = chunk.keys
    if len(keys) == 0:
        return None
    check_keys(context, chunk)
    numbers: dict[bytes, int] = {}
    shapes: list[Floats] = []
    shape_numbers: list[int] = []
    for index, name in enumerate(keys.text):
        if name not in numbers:
            shape = shape_of(name)
            if shape is None or len(shape) != vertex_count:
                expected = f"mesh with the vertex count of the morphed mesh ({vertex_count})"
                context.report(LINK_UNRESOLVED_NAME, chunk, f"keys[{index}]", kind=expected, name=context.shown(name))
                shape_numbers.append(shape_numbers[-1] if shape_numbers else -1)
                continue
            numbers[name] = len(shapes)
            shapes.append(shape)
        shape_numbers.append(numbers[name])
    if not shapes:
        return None
    budgeted = len(shape_numbers) * max(0, len(shapes) - _FEW_SHAPES)
    if not context.budget.charge("copies", budgeted):
        context.report(LIMIT_COPIES, chunk, "keys", what="repeated use of shapes", **context.budget.state("copies"))
        return None
    first = next(number for number in shape_numbers if number >= 0)
    weights = np.eye(len(shapes))[[first if number < 0 else number for number in shape_numbers]]
    track = _empty_track("morph", chunk, RotationForm.NONE)
    track.times, track.values = keys.time.astype(np.float64), weights
    track.flags = keys.flags.astype(np.int64) if keys.flags.any() else None
    for number, column in enumerate(EXTRAS):
        setattr(track, column, None if keys.extras is None else keys.extras[:, number].astype(np.float64))
    return track, Morph([context.text(name) for name in numbers], shapes)
