"""Keys of the keyframer as authored tracks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

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
from keyframer.curves.lazy_fields import add_extras, set_extras, unchecked
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Morph
from keyframer.wire.key_table import EXTRAS, Keys, StoredRows, joined_rows

Floats = npt.NDArray[np.float64]
UsualTracks = dict[int, Track]
"""tracks by `id` of the chunk that they were read from"""

WRAPS = {0: Wrap.SINGLE, 2: Wrap.REPEAT, 3: Wrap.LOOP}
"""bits 0 and 1; 1 alone is not defined and plays once"""

KINDS: dict[type[Chunk], str] = {
    r.PositionTrack: "position",
    r.RotationTrack: "rotation",
    r.ScaleTrack: "scale",
    r.FovTrack: "fov",
    r.RollTrack: "roll",
    r.ColorTrack: "color",
    r.HotspotTrack: "hotspot",
    r.FalloffTrack: "falloff",
}


_new_track = unchecked(Track)
_EXTRAS = ("3ds", "flags", "time_min", "time_max", "offset")
"""names of what a track keeps of its head"""


def read_usual_tracks(context: Context, chunks: Iterable[r.Track], *, absolute: bool, max_scene: bool) -> UsualTracks:
    """The tracks of numbers about which nothing has to be reported, all at once: a call of numpy takes as long for one
    key as for fifty. `read_track` reads the others one by one, and says what is odd about them."""
    shapes: dict[tuple[int, int], tuple[list[r.Track], list[StoredRows]]] = {}
    for chunk in chunks:
        rows = chunk.keys.stored_rows() if type(chunk) in KINDS else None  # type: ignore[attr-defined]
        if rows is not None:
            same, tables = shapes.setdefault((rows[3].width or 0, rows[4]), ([], []))
            same.append(chunk)
            tables.append(rows)
    tracks: UsualTracks = {}
    flips = max_scene and context.options.sign_flips == "auto"
    for same, tables in shapes.values():
        _read_alike(same, tables, absolute, flips, tracks)
    return tracks


def _read_alike(
    chunks: list[r.Track], tables: list[StoredRows], absolute: bool, flips: bool, tracks: UsualTracks
) -> None:
    """Add the usual ones of tracks whose rows have the same shape; ``flips``: turns may be changes of sign."""
    rows = joined_rows(tables)
    bits = tables[0][4]
    counts = [rows_of[2] for rows_of in tables]
    ends = list(accumulate(counts))
    starts = [end - count for end, count in zip(ends, counts, strict=True)]
    times, values = rows["time"].astype(np.float64), rows["value"].astype(np.float64)
    extras = np.zeros((len(EXTRAS), len(rows) if bits else 0))
    for number, name in enumerate(EXTRAS):
        if bits >> number & 1:
            extras[number] = rows[name]
    form, turning = RotationForm.NONE, values.shape[1] == 4
    if turning:  # stored: angle (clockwise) and axis; kept: axis and angle (counter-clockwise)
        form = RotationForm.AXIS_ANGLE_ABSOLUTE if absolute else RotationForm.AXIS_ANGLE_RELATIVE
        values = np.concatenate([values[:, 1:], -values[:, :1]], axis=1)
    elif values.shape[1] == 1:
        values = values[:, 0]
    odd = _odd_tables(times, values, extras, starts, ends, flips)
    flags = rows["flags"].astype(np.int64) if rows["flags"].any() else None
    for number, (chunk, start, end) in enumerate(zip(chunks, starts, ends, strict=True)):
        if number in odd:
            continue
        track: Track = _new_track(
            KINDS[type(chunk)],
            times[start:end],
            values[start:end],
            Interpolation.TCB,
            WRAPS.get(chunk.flags & 3, Wrap.SINGLE),
            form,
        )
        if bits:
            track.tension, track.continuity, track.bias, track.ease_to, track.ease_from = extras[:, start:end]
        if flags is not None and flags[start:end].any():
            track.flags = flags[start:end]
        set_extras(track, _EXTRAS, chunk.flags, chunk.time_min, chunk.time_max, chunk.offset)
        tracks[id(chunk)] = track


def _odd_tables(
    times: Floats, values: Floats, extras: Floats, starts: list[int], ends: list[int], flips: bool
) -> set[int]:
    """The numbers of tables of keys that may need a report (see `check_keys` and `_rotations`). Columns are asked as a
    whole first, which nearly always is enough; NaN is larger than anything."""
    late = np.zeros(len(times), bool)
    if len(times) > len(starts):  # else no table has two keys
        late[1:] = times[1:] <= times[:-1]
        late[starts] = False
    doubts: list[npt.NDArray[Any]] = [late] if late.any() else []
    if not np.abs(times).max() <= _HUGE_TIME:
        doubts.append(np.abs(times) > _HUGE_TIME)
    if not np.abs(values).max() <= _HUGE_VALUE:
        doubts.append(np.asarray(~(np.abs(values.reshape(len(times), -1)) <= _HUGE_VALUE).all(axis=1)))
    if extras.size and not (np.abs(extras).max() <= 1 and extras[3:].min() >= 0):
        doubts.append(np.asarray(~((np.abs(extras) <= 1).all(axis=0) & (extras[3:] >= 0).all(axis=0))))
    if values.ndim == 2 and values.shape[1] == 4:
        angles = values[:, 3]
        still = (angles != 0) & ~values[:, :3].any(axis=1)
        if still.any():
            doubts.append(still)
        if flips and len(times) > len(starts) and not np.abs(angles).max() <= 1.5 * math.pi:
            doubts.append(np.abs(angles) > 1.5 * math.pi)
    if not doubts:
        return set()
    rows = np.flatnonzero(np.any(doubts, axis=0))
    return set(np.searchsorted(ends, rows, side="right").tolist())


def read_track(context: Context, chunk: r.Track, *, absolute: bool, max_scene: bool) -> Track | None:
    """A track of numbers, with reports of what is odd about its keys; None for one without keys."""
    kind = KINDS[type(chunk)]
    keys: Keys = chunk.keys  # type: ignore[attr-defined]  # every concrete track has keys
    if len(keys) == 0:
        return None
    check_keys(context, chunk, keys)
    values = np.asarray(keys.value, np.float64)
    if kind == "rotation":
        form = RotationForm.AXIS_ANGLE_ABSOLUTE if absolute else RotationForm.AXIS_ANGLE_RELATIVE
        return _track(kind, chunk, keys, _rotations(context, chunk, keys, values, max_scene), form)
    return _track(kind, chunk, keys, values[:, 0] if values.shape[1] == 1 else values)


def _track(kind: str, chunk: r.Track, keys: Keys, values: Floats, form: RotationForm = RotationForm.NONE) -> Track:
    wrap = WRAPS.get(chunk.flags & 3, Wrap.SINGLE)
    track: Track = _new_track(kind, keys.time.astype(np.float64), values, Interpolation.TCB, wrap, form)
    if keys.flags.any():
        track.flags = keys.flags.astype(np.int64)
    if keys.extras is not None:
        for name, column in zip(EXTRAS, keys.extras.T, strict=True):
            setattr(track, name, column.astype(np.float64))
    set_extras(track, _EXTRAS, chunk.flags, chunk.time_min, chunk.time_max, chunk.offset)
    return track


def _head(chunk: r.Track) -> dict[str, object]:
    return {"flags": chunk.flags, "time_min": chunk.time_min, "time_max": chunk.time_max}


def _rotations(context: Context, chunk: r.Track, keys: Keys, values: Floats, max_scene: bool) -> Floats:
    """Convert stored angle (clockwise) and axis to axis and angle (counter-clockwise)."""
    angles = values[:, 0].copy()
    still = (values[:, 1:4] == 0).all(axis=1) & (angles != 0)
    if still.any():
        context.report(DATA_ZERO_AXIS, chunk, f"keys[{int(still.argmax())}]", count=int(still.sum()))
    if max_scene and context.options.sign_flips == "auto" and len(keys) > 1:
        # 12 of 16 increments above pi in real files of 3ds Max stand one frame apart, between neighbours below
        # 0.14 pi: quaternions that changed their sign, not turns.
        close = np.diff(keys.time.astype(np.int64), prepend=np.int64(-(1 << 40))) == 1
        flips = close & (np.abs(angles) > 1.5 * math.pi) & (np.abs(angles) <= 2.5 * math.pi)
        if flips.any():
            angles[flips] -= 2 * math.pi * np.sign(angles[flips])
            context.report(SCENE_SIGN_FLIP, chunk, f"keys[{np.flatnonzero(flips)[0]}]", count=int(flips.sum()))
    return np.column_stack([values[:, 1:4], -angles])


_FEW_SHAPES = 8
"""so many weights a key may hold without being counted"""
_HUGE_TIME = 10_000_000
_HUGE_VALUE = 1e12
"""float32 steps are 65536 wide here: no scene is that large, and no angle that exact"""


def check_keys(context: Context, chunk: r.Track, keys: Keys) -> None:
    """Report unsorted keys, keys outside their range and non-finite numbers, which evaluation can handle."""
    late = np.flatnonzero(np.diff(keys.time.astype(np.int64)) <= 0)
    if len(late):
        index = int(late[0]) + 1
        context.report(DATA_KEYS_NOT_INCREASING, chunk, f"keys[{index}]", index=index, time=int(keys.time[index]))
    odd = ~np.isfinite(keys.value).all(axis=1)
    if keys.extras is not None:
        odd |= ~np.isfinite(keys.extras).all(axis=1)
    if odd.any():
        index = int(np.flatnonzero(odd)[0])
        context.report(DATA_NON_FINITE, chunk, f"keys[{index}]", count=int(odd.sum()), index=index)
    _check_size(context, chunk, keys)


def _check_size(context: Context, chunk: r.Track, keys: Keys) -> None:
    """Report numbers far outside the plausible range of the format."""
    late = np.abs(keys.time.astype(np.int64)) > _HUGE_TIME
    if late.any():
        index = int(late.argmax())
        context.report(DATA_TIME_HUGE, chunk, f"keys[{index}]", index=index, time=int(keys.time[index]))
    sizes = np.abs(keys.value.astype(np.float64)).max(axis=1, initial=0.0)
    wild = (sizes > _HUGE_VALUE) & np.isfinite(sizes)
    if wild.any():
        index = int(wild.argmax())
        context.report(DATA_VALUE_HUGE, chunk, f"keys[{index}]", index=index, value=float(sizes[index]))
    if keys.extras is None:
        return
    shapes, eases = keys.extras[:, :3], keys.extras[:, 3:]
    outside = np.asarray((np.abs(shapes) > 1).any(axis=1) | ((eases < 0) | (eases > 1)).any(axis=1))
    if outside.any():
        index = int(outside.argmax())
        context.report(DATA_TCB_OUT_OF_RANGE, chunk, f"keys[{index}]", index=index)


def read_hide_track(context: Context, chunk: r.HideTrack, hidden: bool) -> Track | None:
    """Each key toggles. The first key of the result is ours: it holds the state before the first toggle."""
    keys = chunk.keys
    if len(keys) == 0:
        return None
    check_keys(context, chunk, keys)
    times = np.sort(np.asarray(keys.time, np.float64), kind="stable")
    states = (np.arange(len(times) + 1) + (0 if hidden else 1)) % 2
    track = Track(
        "visible",
        np.concatenate([[times[0] - 1], times]),
        states.astype(np.float64),
        Interpolation.STEP,
        WRAPS.get(chunk.flags & 3, Wrap.SINGLE),
    )
    context.mark(track, "3ds", chunk, {"toggles": True, **_head(chunk)})
    add_extras(track, "3ds", {"key_flags": keys.flags.tolist()})
    if keys.extras is not None:
        add_extras(track, "3ds", {"key_extras": keys.extras.tolist()})
    return track


def read_morph_track(
    context: Context, chunk: r.MorphTrack, vertices: int, shape_of: Callable[[bytes], Floats | None]
) -> tuple[Track, Morph] | None:
    """Keys that name shapes, as weights of shapes: a curve through unit vectors mixes exactly as one through vertices.

    A name that is no mesh of ``vertices`` vertices holds the shape before it.
    """
    keys = chunk.keys
    if len(keys) == 0:
        return None
    check_keys(context, chunk, keys)
    numbers: dict[bytes, int] = {}
    shapes: list[Floats] = []
    chosen: list[int] = []
    for index, name in enumerate(keys.text):
        if name not in numbers:
            shape = shape_of(name)
            if shape is None or len(shape) != vertices:
                what = f"mesh of {vertices} vertices"
                context.report(LINK_UNRESOLVED_NAME, chunk, f"keys[{index}]", kind=what, name=context.shown(name))
                chosen.append(chosen[-1] if chosen else -1)
                continue
            numbers[name] = len(shapes)
            shapes.append(shape)
        chosen.append(numbers[name])
    if not shapes:
        return None
    beyond = len(chosen) * max(0, len(shapes) - _FEW_SHAPES)
    if not context.budget.allows("copies", beyond):
        context.report(LIMIT_COPIES, chunk, "keys", what="shapes", **context.budget.state("copies"))
        return None
    first = next(number for number in chosen if number >= 0)
    weights = np.eye(len(shapes))[[first if number < 0 else number for number in chosen]]
    return _track("morph", chunk, keys, weights), Morph([context.text(name) for name in numbers], shapes)
