"""CurveBank: many tracks compiled and sampled together; Curve: one track.

Tracks fall into families with the same kind of output (rotation, scalar, vectors of k components) and, inside a family,
into groups that share a formula. A group is compiled from common key columns and sampled block by block, with the same
number of numpy calls for any number of tracks. Values of tracks that never change are only copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Flags, Floats

from ..limits import spend
from ..maths import quat
from .key_columns import LARGEST_USABLE, Indices, KeyColumns, gather
from .rotation_curves import ConstantSpeedTable, SquadTable, has_constant_speed, still_rotations
from .rotation_forms import absolute_rotations, single_rotations
from .timeline import Timeline, clean_times, find_segments
from .track import Interpolation, RotationForm, Track, Wrap
from .vector_curves import CubicTable, still_tracks

# Keys compiled at once and points sampled at once. Each key or point needs about 30 temporary numbers. So a
# group needs a few megabytes, and the data of a block of points fits into the processor's cache. (3 million
# keys: 200,000 at once take 1.6 times as long to compile as 50,000.)
KEYS_PER_GROUP = 50_000
POINTS_PER_BLOCK = 8_192
_CALL_COST = 2_000  # fixed cost of compiling or sampling a family, as a number of sampled values

# Formulas: straight = linear or step, spline = through neighbouring keys, hermite = with given tangents.
_SHAPES = {
    Interpolation.STEP: "straight",
    Interpolation.LINEAR: "straight",
    Interpolation.SAMPLED: "straight",
    Interpolation.TCB: "spline",
    Interpolation.BEZIER: "spline",
    Interpolation.CUBIC: "hermite",
}


class SamplePlace(NamedTuple):
    """The place of the samples of a track: `result[family][:, slot]`."""

    family: str
    slot: int


class Table(Protocol):
    """The formula of a compiled group."""

    def sample(self, rows: Indices, u: Floats, out: Floats) -> None:
        """Write values at u (P,) of the segments `rows` (P,) into out (P, k)."""


class _MovingKeys(NamedTuple):
    """The keys of tracks that change and share a formula."""

    columns: KeyColumns
    shape: str
    values: Floats  # (K, k), rotations absolute
    turns: Floats | None  # (K, 3) half-angle vectors from the previous key; None for vectors and Hermite keys

    def formula(self) -> tuple[Timeline, Table]:
        segments = find_segments(self.columns)
        table: Table
        if self.turns is None:
            table = CubicTable(self.columns, segments)
        elif self.shape == "straight" or has_constant_speed(self.columns):
            table = ConstantSpeedTable(self.columns, segments, self.values, self.turns)
        else:
            table = SquadTable(self.columns, segments, self.values, self.turns)
        return Timeline(self.columns, segments), table


class _Group:
    """Tracks that share a formula. The formula is made when they are first sampled: making it takes longer than
    finding out which tracks change."""

    __slots__ = ("_formula", "_is_quaternion_spline", "_keys", "_width", "slots")

    def __init__(self, keys: _MovingKeys, slots: slice, is_quaternion_spline: bool) -> None:
        self.slots = slots
        self._width = keys.values.shape[1]
        self._is_quaternion_spline = is_quaternion_spline  # Hermite on components: normalise afterwards
        self._keys: _MovingKeys | None = keys
        self._formula: tuple[Timeline, Table] | None = None

    @property
    def timeline(self) -> Timeline:
        return self._compiled_formula()[0]

    def sample(self, rows: Indices, u: Floats) -> Floats:
        """Return (P, width) values at u (P,) of the segments `rows` (P,)."""
        values = np.empty((len(rows), self._width))
        self._compiled_formula()[1].sample(rows, u, values)
        return quat.normalise(values) if self._is_quaternion_spline else values

    def _compiled_formula(self) -> tuple[Timeline, Table]:
        keys = self._keys
        if keys is not None:  # two threads may both make it, with the same result
            self._formula = keys.formula()
            self._keys = None
        assert self._formula is not None
        return self._formula


@dataclass(eq=False, repr=False)
class _Family:
    """Compiled tracks with values of one kind; those that change come first."""

    width: int
    count: int
    groups: list[_Group]
    still_values: Floats  # (m, width) of the last m slots

    @property
    def moving(self) -> int:
        """Number of tracks that change; they have the first slots."""
        return self.count - len(self.still_values)


class CurveBank:
    """Compiled tracks.

    `places[i]` is the place of track i in the result of `evaluate`. `empty` has the indices of tracks without a usable
    key. Such a track i has the value `defaults[i]` (rotations: x, y, z, w); None means zeros, for rotations the
    identity. With a `moment` the bank is valid for that time only, and most tracks need not be compiled.
    """

    def __init__(
        self,
        tracks: Sequence[Track],
        defaults: Sequence[ArrayLike | None] | None = None,
        *,
        moment: float | None = None,
    ) -> None:
        values: Sequence[ArrayLike | None] = [None] * len(tracks) if defaults is None else defaults
        if len(values) != len(tracks):
            raise ValueError(f"defaults must have one entry for each track ({len(tracks)}), not {len(values)}")
        members: dict[str, list[int]] = {}
        for number, track in enumerate(tracks):
            members.setdefault(family_of(track), []).append(number)
        self._families: dict[str, _Family] = {}
        places: list[SamplePlace] = [SamplePlace("", 0)] * len(tracks)
        empty: list[int] = []
        with np.errstate(all="ignore"):
            for name, numbers in members.items():
                family, order, unusable = _compile_family(
                    [tracks[i] for i in numbers], [values[i] for i in numbers], name == "rotation", moment
                )
                self._families[name] = family
                empty += [numbers[position] for position in unusable]
                for slot, position in enumerate(order):
                    places[numbers[position]] = SamplePlace(name, slot)
        self.tracks = tracks
        self.places: tuple[SamplePlace, ...] = tuple(places)
        self.empty: frozenset[int] = frozenset(empty)

    def evaluate_pairs(self, tracks: Indices, times: Floats, block: int = POINTS_PER_BLOCK) -> Floats:
        """Return the values (P, components) of tracks (P,) at one time (P,) each; all tracks are of one family."""
        family = self._families[self.places[tracks[0]].family]
        spend("samples", _CALL_COST + len(times) * family.width)
        clean, slots = clean_times(times), self._slots[tracks]
        out = np.empty((len(times), family.width))
        with np.errstate(all="ignore"):
            still = np.flatnonzero(slots >= family.moving)
            if len(still):
                out[still] = family.still_values[slots[still] - family.moving]
            for group in family.groups:
                points = np.flatnonzero((slots >= group.slots.start) & (slots < group.slots.stop))
                is_all = len(points) == len(slots)
                for begin in range(0, len(points), block):
                    portion = slice(begin, begin + block) if is_all else points[begin : begin + block]
                    out[portion] = group.sample(
                        *group.timeline.locate_pairs(slots[portion] - group.slots.start, clean[portion])
                    )
        return out

    @cached_property
    def _slots(self) -> Indices:
        return np.array([place.slot for place in self.places], np.intp)

    @property
    def families(self) -> dict[str, tuple[int, int]]:
        """Number of tracks and number of components of each family."""
        return {name: (family.count, family.width) for name, family in self._families.items()}

    def still_value(self, place: SamplePlace) -> Floats | None:
        """Return the value of a constant track; None for others."""
        family = self._families[place.family]
        return None if place.slot < family.moving else family.still_values[place.slot - family.moving]

    def evaluate(self, times: ArrayLike, block: int = POINTS_PER_BLOCK) -> dict[str, Floats]:
        """Return for each family an array (T, tracks, components) of its values at times (T,).

        Up to `block` points (times x tracks of a group) are sampled at once; one time if a group has more tracks.
        """
        clean = clean_times(times)
        with np.errstate(all="ignore"):
            return {name: _evaluate(family, clean, block, family.count) for name, family in self._families.items()}

    def evaluate_moving(self, times: ArrayLike, block: int = POINTS_PER_BLOCK) -> dict[str, Floats]:
        """Return the same as `evaluate` for the tracks that change, which have the first slots of their family.

        Families in which no track changes are left out.
        """
        moving = [(name, family) for name, family in self._families.items() if family.moving]
        if not moving:
            return {}
        clean = clean_times(times)
        with np.errstate(all="ignore"):
            return {name: _evaluate(family, clean, block, family.moving) for name, family in moving}


def family_of(track: Track) -> str:
    """Return "rotation", "scalar", or "vector" and the number of components."""
    if track.is_rotation:
        return "rotation"
    return "scalar" if track.values.ndim == 1 else f"vector{track.values.shape[1]}"


def _evaluate(family: _Family, times: Floats, block: int, count: int) -> Floats:
    """Evaluate the first `count` slots of a family: all, or those that change."""
    spend("samples", _CALL_COST + len(times) * count * family.width)
    out = np.empty((len(times), count, family.width))
    if count > family.moving:
        out[:, family.moving :] = family.still_values
    for group in family.groups:
        tracks = group.slots.stop - group.slots.start
        step = max(1, block // tracks)
        for begin in range(0, len(times), step):
            part = times[begin : begin + step]
            rows, u = group.timeline.locate(part)
            values = group.sample(rows.ravel(), u.ravel())
            out[begin : begin + step, group.slots] = values.reshape(len(part), tracks, family.width)
    return out


def _compile_family(
    tracks: list[Track], defaults: list[ArrayLike | None], is_rotation: bool, moment: float | None
) -> tuple[_Family, list[int], list[int]]:
    """Return the family, the track of each slot, and the tracks without a usable key."""
    width = 1 if tracks[0].values.ndim == 1 else tracks[0].values.shape[1]
    spend("samples", _CALL_COST + width * sum(len(track.times) for track in tracks))
    groups: list[_Group] = []
    order: list[int] = []
    still, first_values = _first_keys(tracks, width, moment)
    still_values: list[Floats] = list(first_values)
    unusable: list[int] = []
    known = set(still)
    for shape, form, numbers in _portions(tracks, (number for number in range(len(tracks)) if number not in known)):
        columns = gather([tracks[i] for i in numbers], width)
        compiled = _compile_group(columns, shape, form, moment)
        begin = len(order)
        for position, (number, rests) in enumerate(zip(numbers, compiled.resting.tolist(), strict=True)):
            if not rests:
                order.append(number)
                continue
            still.append(number)
            if columns.counts[position]:
                still_values.append(compiled.resting_values[position])
            else:
                still_values.append(_default(defaults[number], width, is_rotation))
                unusable.append(number)
        if compiled.moving is not None:
            groups.append(_Group(compiled.moving, slice(begin, len(order)), is_rotation and shape == "hermite"))
    if len(still) > len(first_values):
        first_values = np.array(still_values, dtype=np.float64).reshape(len(still), width)
    return _Family(width, len(tracks), groups, first_values), order + still, unusable


def _first_keys(tracks: list[Track], width: int, moment: float | None) -> tuple[list[int], Floats]:
    """Return the tracks of which only the first key matters, if it is usable, and its value (n, width).

    Most tracks of most files have a single key and need no curve.
    """
    forms: dict[RotationForm, list[int]] = {}
    for number, track in enumerate(tracks):
        if only_first_key_counts(track, moment):
            forms.setdefault(track.form, []).append(number)
    single: list[int] = []
    parts: list[Floats] = []
    for form, numbers in forms.items():
        times = np.array([tracks[number].times[0] for number in numbers])
        values = np.concatenate([tracks[number].values[:1] for number in numbers]).reshape(-1, width)
        # false for NaN, too
        usable = (np.abs(times) <= LARGEST_USABLE) & (np.abs(values) <= LARGEST_USABLE).all(axis=1)
        if not usable.all():
            numbers, values = [numbers[place] for place in np.flatnonzero(usable)], values[usable]
        single += numbers
        parts.append(values if form is RotationForm.NONE else single_rotations(values, form))
    return single, np.concatenate(parts) if parts else np.empty((0, width))


def only_first_key_counts(track: Track, moment: float | None) -> bool:
    """Return whether the value depends only on the first key: it is the only key, or it is the earliest and its value
    holds at `moment`."""
    if len(track.times) < 2:
        return len(track.times) == 1
    first = track.times[0]
    return moment is not None and has_first_value(track.wrap, first, moment) and bool(first < track.times[1:].min())


def has_first_value(wrap: Wrap, first: float, moment: float) -> bool:
    """Return whether a track has the value of its first key at ``moment``; ``first`` is the time of that key."""
    return moment <= first and (wrap is Wrap.SINGLE or (moment == first and moment >= 0))


def _portions(tracks: list[Track], chosen: Iterable[int]) -> Iterator[tuple[str, RotationForm, list[int]]]:
    """Yield tracks of one shape and form, at most KEYS_PER_GROUP keys at a time (or a single longer track)."""
    pending: dict[tuple[str, RotationForm], tuple[list[int], int]] = {}
    for number in chosen:
        track = tracks[number]
        shape_and_form = _SHAPES[track.interpolation], track.form
        numbers, keys = pending.get(shape_and_form, ([], 0))
        if numbers and keys + len(track.times) > KEYS_PER_GROUP:
            yield *shape_and_form, numbers
            numbers, keys = [], 0
        numbers.append(number)
        pending[shape_and_form] = numbers, keys + len(track.times)
    for shape_and_form, (numbers, _) in pending.items():
        yield *shape_and_form, numbers


@dataclass(eq=False, repr=False)
class _Compiled:
    """The result of compiling one group of tracks."""

    resting: Flags  # (n,) tracks that are constant, or whose value at the moment is that of a key
    resting_values: Floats  # (n, k) values of resting tracks that have keys; empty if all tracks change
    moving: _MovingKeys | None = None  # of the tracks that change


def _compile_group(columns: KeyColumns, shape: str, form: RotationForm, moment: float | None) -> _Compiled:
    is_rotation = form is not RotationForm.NONE
    values, turns = columns.values, None
    if is_rotation and shape != "hermite":
        values, turns = absolute_rotations(columns, form)
        resting = still_rotations(columns, turns)
    else:
        resting = still_tracks(columns)
        if is_rotation:
            values = quat.normalise(values)
    key_rows = columns.starts
    if moment is not None and len(columns.times):
        rows, at_key = _keys_at(columns, moment)
        resting |= at_key
        key_rows = np.where(at_key, rows, key_rows)
    if not resting.any():  # no copy in scenes where everything moves
        return _Compiled(resting, values[:0], _MovingKeys(columns, shape, values, turns))
    resting_values = np.zeros((len(columns.counts), values.shape[1]))
    filled = columns.counts > 0
    resting_values[filled] = values[key_rows[filled]]
    if resting.all():
        return _Compiled(resting, resting_values)
    keep = ~resting[columns.track]
    kept_turns = None if turns is None else turns[keep]
    moving = _MovingKeys(columns.select(~resting), shape, values[keep], kept_turns)
    return _Compiled(resting, resting_values, moving)


def _keys_at(columns: KeyColumns, moment: float) -> tuple[Indices, Flags]:
    """Return two arrays of shape (n,): the last key of each track at or before a moment, and whether the value
    of that key can be used as it is. That is the case for tracks that play once, at the time of a key and after the
    last key.
    """
    passed = np.bincount(columns.track[columns.times <= moment], minlength=len(columns.counts))
    rows = columns.starts + np.maximum(passed - 1, 0)
    once = np.array([wrap is Wrap.SINGLE for wrap in columns.wraps], dtype=np.bool_)
    # the row of a track without keys is that of another track, or after the last: such tracks have passed no key
    at_key = columns.times[np.minimum(rows, len(columns.times) - 1)] == moment
    return rows, once & (passed > 0) & (at_key | (passed == columns.counts))


def _default(given: ArrayLike | None, width: int, is_rotation: bool) -> Floats:
    if given is None:
        return np.array(quat.IDENTITY_XYZW) if is_rotation else np.zeros(width)
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (width,))


class Curve:
    """A track compiled for sampling: a CurveBank of one."""

    def __init__(self, track: Track, default: ArrayLike | None = None) -> None:
        self.track = track
        self._bank = CurveBank([track], [default])
        self._is_scalar = track.values.ndim == 1

    def __call__(self, times: ArrayLike) -> Floats:
        """Return values at times (T,): (T,) for scalars, (T, k) for vectors, rotation_xyzw (T, 4) for rotations.

        Quaternions of relative rotations are continuous: their sign changes with every full turn.
        """
        values = self._bank.evaluate(times)[self._bank.places[0].family][:, 0]
        return values[:, 0] if self._is_scalar else values

    def at(self, time: float) -> Floats:
        """Return the value at one time: () for scalars, else (k,)."""
        return np.asarray(self(time)[0])


def compile_track(track: Track, default: ArrayLike | None = None) -> Curve:
    """Return the track as a function of time; `default` is its value without usable keys (None: zeros, or no
    rotation).
    """
    return Curve(track, default)
