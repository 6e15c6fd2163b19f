"""The usable keys of many tracks in common columns: cleaned, sorted, track by track.

Numpy costs a microsecond or so per call, so 6,000 short tracks are compiled as one long one. Later code computes with
the keys of all tracks at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keyframer.arrays import Flags, Floats

from .track import Interpolation, Track, Wrap

Indices = NDArray[np.intp]

# Keys with larger numbers are left out, so that squares and the sums of a spline stay finite.
# float32 ends at 3.4e38, so no finite number of a 32-bit format is lost.
LARGEST_USABLE = 1e150


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
    starts: Indices  # (n,) the first key of each track
    interpolations: tuple[Interpolation, ...]  # n
    wraps: tuple[Wrap, ...]  # n
    has_tcb: bool  # if false, tension, continuity and bias of all keys are 0
    has_ease: bool  # if false, both kinds of ease are 0 for all keys

    @cached_property
    def lasts(self) -> Indices:
        """(n,) the last key of each track; meaningless for a track without keys."""
        return self.starts + self.counts - 1

    @cached_property
    def is_first(self) -> Flags:
        """(K,) true at the first key of each track."""
        mask = np.zeros(len(self.times), dtype=np.bool_)
        mask[self.starts[self.counts > 0]] = True
        return mask

    @property
    def periodic(self) -> Flags:
        """(n,) true if time repeats: the last key must be later than 0, otherwise there is no period."""
        periodic = np.array([wrap is not Wrap.SINGLE for wrap in self.wraps], dtype=np.bool_)
        if periodic.any():
            filled = self.counts > 0
            periodic &= filled
            periodic[filled] &= self.times[self.lasts[filled]] > 0
        return periodic

    def where(self, per_track: Sequence[bool] | Flags) -> Flags:
        """Return (K,) whether each key belongs to a track marked true."""
        return np.asarray(np.asarray(per_track, dtype=np.bool_)[self.track])

    def select(self, tracks: Flags) -> KeyColumns:
        """Return the columns of some tracks only."""
        keys = tracks[self.track]
        new_number = np.cumsum(tracks) - 1
        chosen = np.flatnonzero(tracks)
        counts = self.counts[tracks]
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
            counts=counts,
            starts=counts.cumsum() - counts,
            interpolations=tuple(self.interpolations[i] for i in chosen),
            wraps=tuple(self.wraps[i] for i in chosen),
            has_tcb=self.has_tcb,
            has_ease=self.has_ease,
        )


def gather(tracks: Sequence[Track], width: int) -> KeyColumns:
    """Return the usable keys of tracks whose values all have `width` components."""
    lengths = np.array([len(track.times) for track in tracks], dtype=np.intp)
    number = np.arange(len(tracks)).repeat(lengths)
    times = _joined([track.times for track in tracks])
    values = _joined([track.values.reshape(-1) for track in tracks]).reshape(-1, width)
    usable = largest(times) <= LARGEST_USABLE and largest(values) <= LARGEST_USABLE  # false for NaN, too
    if usable and not ((times[1:] < times[:-1]) & (number[1:] == number[:-1])).any():
        pick: slice | Indices = slice(None)
        counts = lengths
    else:
        keep = (np.abs(times) <= LARGEST_USABLE) & (np.abs(values) <= LARGEST_USABLE).all(axis=1)
        order = keep.nonzero()[0]
        pick = order[np.lexsort((times[order], number[order]))]  # lexsort is stable: equal times keep their order
        counts = np.bincount(number[pick], minlength=len(tracks)).astype(np.intp)

    def column(name: str, users: tuple[Interpolation, ...], low: float, high: float) -> Floats:
        given = [getattr(track, name) for track in tracks]
        if all(stored is None for stored in given):  # most files: nothing else to check
            return zeros
        full = np.zeros(len(number))
        end = 0
        for track, stored in zip(tracks, given, strict=True):
            begin, end = end, end + len(track.times)
            if stored is not None and track.interpolation in users:
                full[begin:end] = stored
        if not full.any():  # stored, but all zero: nearly as common
            return zeros
        full = full[pick]
        return np.minimum(np.maximum(np.where(np.isnan(full), 0.0, full), low), high)

    tcb = (Interpolation.TCB,)
    eased = (Interpolation.TCB, Interpolation.LINEAR)
    times = times[pick]
    zeros = np.zeros(len(times))
    tension, continuity, bias = (column(name, tcb, -1, 1) for name in ("tension", "continuity", "bias"))
    ease_to, ease_from = (column(name, eased, 0, 1) for name in ("ease_to", "ease_from"))
    return KeyColumns(
        times=times,
        values=values[pick],
        tension=tension,
        continuity=continuity,
        bias=bias,
        ease_to=ease_to,
        ease_from=ease_from,
        tangents_in=_tangents([track.tangents_in for track in tracks], lengths, values)[pick],
        tangents_out=_tangents([track.tangents_out for track in tracks], lengths, values)[pick],
        track=number[pick],
        counts=counts,
        starts=counts.cumsum() - counts,
        interpolations=tuple([track.interpolation for track in tracks]),
        wraps=tuple([track.wrap for track in tracks]),
        has_tcb=not (tension is continuity is bias is zeros),
        has_ease=not (ease_to is ease_from is zeros),
    )


def largest(numbers: Floats) -> float:
    """Return the largest absolute number, 0 if there is none, NaN if one is NaN."""
    return float(np.maximum.reduce(np.abs(numbers), axis=None, initial=0.0))


def _joined(arrays: list[Floats]) -> Floats:
    return np.concatenate(arrays) if arrays else np.empty(0)


def _tangents(given: Sequence[Floats | None], lengths: Indices, values: Floats) -> Floats:
    """Return (K, k) tangents, 0 if a track has none or a number is unusable; (K, 0) if no track has any."""
    if all(tangents is None for tangents in given):
        return values[:, :0]
    width = values.shape[1]
    parts = [
        np.zeros((length, width)) if tangents is None else tangents.reshape(length, width)
        for tangents, length in zip(given, lengths, strict=True)
    ]
    joined = np.concatenate(parts)
    return np.where(np.isfinite(joined) & (np.abs(joined) <= LARGEST_USABLE), joined, 0.0)
