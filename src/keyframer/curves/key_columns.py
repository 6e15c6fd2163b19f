"""The usable keys of many tracks in common columns: cleaned, sorted, track by track.

Numpy costs a microsecond or so per call, so 6,000 short tracks are compiled as one long one. All later code works on
all keys at once and finds the end of a track by index, never by a loop over tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keyframer.fields import dataclass

from .track import Floats, Interpolation, Track, Wrap

Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

# Larger numbers are ignored like infinities: their squares and the sums of a spline must stay finite.
# float32 ends at 3.4e38, so no number of a 32-bit format is lost.
WILD = 1e150


@dataclass(eq=False, repr=False)
class KeyColumns:
    """Keys of n tracks, K in all; the keys of each track are contiguous and sorted by time."""

    times: Floats  # (K,)
    values: Floats  # (K, k)
    tension: Floats  # (K,) each, clamped to -1..1
    continuity: Floats
    bias: Floats
    ease_to: Floats  # (K,) each, clamped to 0..1
    ease_from: Floats
    tangents_in: Floats  # (K, k) per unit of time; (K, 0) unless the tracks are CUBIC
    tangents_out: Floats
    track: Indices  # (K,) the track of each key
    counts: Indices  # (n,) keys per track
    interpolations: tuple[Interpolation, ...]  # n
    wraps: tuple[Wrap, ...]  # n

    @cached_property
    def starts(self) -> Indices:
        """(n,) the first key of each track."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def is_first(self) -> Flags:
        """(K,) true at the first key of each track."""
        mask = np.zeros(len(self.times), dtype=np.bool_)
        mask[self.starts[self.counts > 0]] = True
        return mask

    @cached_property
    def periodic(self) -> Flags:
        """(n,) true if time repeats: the last key must be later than 0, otherwise there is no period."""
        wanted = np.array([wrap is not Wrap.SINGLE for wrap in self.wraps], dtype=np.bool_)
        lasts = np.full(len(self.counts), -1.0)
        filled = self.counts > 0
        lasts[filled] = self.times[(self.starts + self.counts - 1)[filled]]
        return wanted & (lasts > 0)

    def where(self, per_track: Sequence[bool] | Flags) -> Flags:
        """Return (K,) the keys of the tracks marked true."""
        return np.asarray(np.asarray(per_track, dtype=np.bool_)[self.track])

    def select(self, tracks: Flags) -> KeyColumns:
        """Return the columns of some tracks only."""
        keys = tracks[self.track]
        new_number = np.cumsum(tracks) - 1
        chosen = np.flatnonzero(tracks)
        return KeyColumns(
            times=self.times[keys],
            values=self.values[keys],
            tension=self.tension[keys],
            continuity=self.continuity[keys],
            bias=self.bias[keys],
            ease_to=self.ease_to[keys],
            ease_from=self.ease_from[keys],
            tangents_in=self.tangents_in[keys],
            tangents_out=self.tangents_out[keys],
            track=new_number[self.track[keys]],
            counts=self.counts[tracks],
            interpolations=tuple(self.interpolations[i] for i in chosen),
            wraps=tuple(self.wraps[i] for i in chosen),
        )


def gather(tracks: Sequence[Track], width: int) -> KeyColumns:
    """Return the usable keys of tracks whose values all have `width` components."""
    lengths = np.array([len(track.times) for track in tracks], dtype=np.intp)
    number = np.repeat(np.arange(len(tracks)), lengths)
    times = _joined([track.times for track in tracks])
    values = _joined([track.values.reshape(-1) for track in tracks]).reshape(-1, width)
    keep = np.isfinite(times) & (np.abs(times) <= WILD)
    keep &= np.all(np.isfinite(values) & (np.abs(values) <= WILD), axis=1)
    order = np.flatnonzero(keep)
    later = times[order]
    owner = number[order]
    if np.any((later[1:] < later[:-1]) & (owner[1:] == owner[:-1])):
        order = order[np.lexsort((later, owner))]  # lexsort is stable: equal times keep their order
    whole = len(order) == len(times) and np.array_equal(order, np.arange(len(order)))
    pick = slice(None) if whole else order

    def column(name: str, users: tuple[Interpolation, ...], low: float, high: float) -> Floats:
        full = np.zeros(len(times))
        if all(getattr(track, name) is None for track in tracks):  # most files: nothing else to check
            return full[pick]
        end = 0
        for track in tracks:
            begin, end = end, end + len(track.times)
            given = getattr(track, name)
            if given is not None and track.interpolation in users:
                full[begin:end] = given
        if not full.any():  # stored, but all zero: nearly as common
            return full[pick]
        return np.clip(np.nan_to_num(full[pick], nan=0.0, posinf=high, neginf=low), low, high)

    tcb = (Interpolation.TCB,)
    eased = (Interpolation.TCB, Interpolation.LINEAR)
    track_column = number[pick]
    return KeyColumns(
        times=times[pick],
        values=values[pick],
        tension=column("tension", tcb, -1, 1),
        continuity=column("continuity", tcb, -1, 1),
        bias=column("bias", tcb, -1, 1),
        ease_to=column("ease_to", eased, 0, 1),
        ease_from=column("ease_from", eased, 0, 1),
        tangents_in=_tangents([track.tangents_in for track in tracks], lengths, width)[pick],
        tangents_out=_tangents([track.tangents_out for track in tracks], lengths, width)[pick],
        track=track_column,
        counts=np.bincount(track_column, minlength=len(tracks)).astype(np.intp),
        interpolations=tuple(track.interpolation for track in tracks),
        wraps=tuple(track.wrap for track in tracks),
    )


def _joined(arrays: list[Floats]) -> Floats:
    return np.concatenate(arrays) if arrays else np.empty(0)


def _tangents(given: Sequence[Floats | None], lengths: Indices, width: int) -> Floats:
    """Return one column, 0 if a track has none or a number is unusable; (K, 0) if no track has any."""
    if all(tangents is None for tangents in given):
        return np.empty((int(lengths.sum()), 0))
    parts = [
        np.zeros((length, width)) if tangents is None else tangents.reshape(length, width)
        for tangents, length in zip(given, lengths, strict=True)
    ]
    joined = np.concatenate(parts)
    return np.where(np.isfinite(joined) & (np.abs(joined) <= WILD), joined, 0.0)
