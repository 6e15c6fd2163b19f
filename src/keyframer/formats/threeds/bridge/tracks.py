"""Keys of the keyframer as authored tracks."""

from __future__ import annotations

import math
from collections.abc import Callable

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
from keyframer.curves.lazy_fields import add_extras
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Morph
from keyframer.wire.key_table import EXTRAS, Keys

Floats = npt.NDArray[np.float64]

_WRAPS = {2: Wrap.REPEAT, 3: Wrap.LOOP}
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


def read_track(context: Context, chunk: r.Track, *, absolute: bool, max_scene: bool) -> Track | None:
    """A track of numbers; None for hide and morph tracks and for tracks without keys."""
    kind = KINDS.get(type(chunk))
    if kind is None:
        return None
    keys: Keys = chunk.keys  # type: ignore[attr-defined]  # every concrete track has keys
    form = RotationForm.NONE
    if kind == "rotation":
        form = RotationForm.AXIS_ANGLE_ABSOLUTE if absolute else RotationForm.AXIS_ANGLE_RELATIVE
    track = _single_key(context, kind, chunk, keys, form)
    if track is not None:
        return track
    if len(keys) == 0:
        return None
    values = np.asarray(keys.value, np.float64)
    check_keys(context, chunk, keys)
    if kind == "rotation":
        return _track(context, kind, chunk, keys, _rotations(context, chunk, keys, values, max_scene), form)
    return _track(context, kind, chunk, keys, values[:, 0] if values.shape[1] == 1 else values)


def _single_key(context: Context, kind: str, chunk: r.Track, keys: Keys, form: RotationForm) -> Track | None:
    """The track of one key that is beyond doubt, as most tracks are, without columns on the way; None for others."""
    key = keys.only_key()
    if key is None:
        return None
    time, value = key
    if abs(time) > _HUGE_TIME or not all(abs(number) <= _HUGE_VALUE for number in value):  # false for NaN, too
        return None
    values = np.array(value if len(value) == 1 else [value])
    if form is not RotationForm.NONE:
        angle, *axis = value
        if not any(axis) and angle != 0:
            return None
        values = np.array([[*axis, -angle]])
    track = Track(
        kind, np.array((float(time),)), values, Interpolation.TCB, _WRAPS.get(chunk.flags & 3, Wrap.SINGLE), form
    )
    context.mark(track, "3ds", chunk, _head(chunk))
    return track


def _track(
    context: Context, kind: str, chunk: r.Track, keys: Keys, values: Floats, form: RotationForm = RotationForm.NONE
) -> Track:
    track = Track(
        kind,
        np.asarray(keys.time, np.float64),
        values,
        Interpolation.TCB,
        _WRAPS.get(chunk.flags & 3, Wrap.SINGLE),
        form,
        flags=np.asarray(keys.flags, np.int64) if keys.flags.any() else None,
    )
    if keys.extras is not None:
        for name in EXTRAS:
            setattr(track, name, np.asarray(keys.column(name), np.float64))
    context.mark(track, "3ds", chunk, _head(chunk))
    return track


def _head(chunk: r.Track) -> dict[str, object]:
    return {"flags": chunk.flags, "time_min": chunk.time_min, "time_max": chunk.time_max}


def _rotations(context: Context, chunk: r.Track, keys: Keys, values: Floats, max_scene: bool) -> Floats:
    """Stored angle (clockwise) and axis as axis and angle (counter-clockwise)."""
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
    """Report keys out of order, absurd ones, and numbers that are none; evaluation copes with all of them."""
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
    """Report numbers that are far outside anything the format means."""
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
        _WRAPS.get(chunk.flags & 3, Wrap.SINGLE),
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
    return _track(context, "morph", chunk, keys, weights), Morph([context.text(name) for name in numbers], shapes)
