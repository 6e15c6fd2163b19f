"""Samples motions as linear keys: at the authored keys and on whole frames, and on halves, quarters … of frames
where the error between samples is too large. Then keys that their neighbours give within the allowed error are removed.

Motions of one kind are evaluated together: a call costs more than sampling a short track.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves.key_reduction import PROBES
from keyframer.exchange.gltf.conventions import single
from keyframer.exchange.gltf.write.motion import (
    LINEAR,
    ROTATIONS,
    STEP,
    Function,
    Indices,
    Measure,
    Motion,
    Sampler,
    Span,
    TrackFunction,
    cubic_sampler,
    keys_left,
    most_keys,
)
from keyframer.limits import charge
from keyframer.maths import quat
from keyframer.maths.distinct_values import unique_values
from keyframer.scene.loss_report import Outcome

_SINGLE_PRECISION = 5e-7
"""relative error of single precision and some arithmetic: smaller tolerances are useless"""
_KEYS_SAMPLED = 30_000
"""maximum number of keys of motions that are sampled together: some 100 numbers of temporaries each"""


def sample(motions: Sequence[Motion], tolerances: Sequence[float], span: Span, frames: Floats | None = None) -> None:
    """Give motions their samplers. Tolerances are in degrees for rotations. If there are ``frames``, all of them are
    keys, and nothing else but jumps is, whatever the error.
    """
    groups: dict[tuple[bool, Measure, int, object], list[int]] = {}
    for number, motion in enumerate(motions):
        is_straight = motion.mode == LINEAR and frames is None
        if motion.cubic is not None:
            motion.sampler, motion.outcome = cubic_sampler(motion.cubic, span), Outcome.EXACT
        elif motion.mode == STEP or (is_straight and motion.measure is not ROTATIONS and not motion.jumps.any()):
            _set_keys(motion, motion.breaks, motion.truth(motion.breaks), span)
            motion.outcome = Outcome.EXACT
        else:
            source = motion.truth.bank if isinstance(motion.truth, TrackFunction) else number
            width = motion.truth(motion.breaks[:1]).shape[1]
            groups.setdefault((is_straight, motion.measure, width, source), []).append(number)
    for (is_straight, *_), numbers in groups.items():
        for members in _portions(numbers, [_size(motions[number], span) for number in numbers]):
            together = [motions[number] for number in members]
            allowed = np.array([tolerances[number] for number in members])
            with np.errstate(all="ignore"):
                if is_straight:
                    is_exact = _keep_keys(together, allowed, span)
                    together = [motion for motion, exact in zip(together, is_exact, strict=True) if not exact]
                    allowed = allowed[~is_exact]
                if together:
                    _sample_together(together, allowed, span, frames)


def _size(motion: Motion, span: Span) -> int:
    """Return how many keys a motion has on whole frames."""
    return len(motion.breaks) + int(min((motion.breaks[-1] - motion.breaks[0]) / span.frame, most_keys()))


def _portions(numbers: list[int], sizes: list[int]) -> Iterator[list[int]]:
    """Yield lists of consecutive numbers whose sizes sum up to at most `_KEYS_SAMPLED`, or of a single larger size."""
    portion: list[int] = []
    total = 0
    for number, size in zip(numbers, sizes, strict=True):
        if portion and total + size > _KEYS_SAMPLED:
            yield portion
            portion, total = [], 0
        portion.append(number)
        total += size
    yield portion


def _keep_keys(motions: list[Motion], tolerances: Floats, span: Span) -> Flags:
    """Give motions of the mode LINEAR their authored keys, if all players show them right; returns whether they do."""
    keys = [_fixed_times(motion.breaks, motion.jumps, span) for motion in motions]
    points = _points(keys, motions, np.full(len(motions), np.inf), span)
    is_exact = points.errors(motions[0].measure, span) <= tolerances
    for number in np.flatnonzero(is_exact).tolist():
        points.set_keys(number, motions[number], span)
        motions[number].outcome = Outcome.EXACT
    return np.asarray(is_exact)


def _sample_together(motions: list[Motion], tolerances: Floats, span: Span, frames: Floats | None) -> None:
    """Sample motions of one measure and width: tracks of one bank, or a single function of any kind."""
    allowed = tolerances if frames is None else np.full(len(motions), np.inf)
    points = _points([_key_times(motion, span, frames) for motion in motions], motions, allowed, span)
    if frames is None:
        points.reduce(motions[0].measure, allowed)
    errors = points.errors(motions[0].measure, span)
    all_errors = points.errors(motions[0].measure)
    for number, motion in enumerate(motions):
        count = points.set_keys(number, motion, span)
        motion.has_track_keys = False
        values = motion.sampler.values.astype(np.float64)
        extent = 100.0 if motion.measure is ROTATIONS else float((values.max(axis=0) - values.min(axis=0)).max())
        motion.is_too_fast = bool(all_errors[number] > max(allowed[number], 0.01 * extent))
        motion.error = float((all_errors if motion.is_too_fast else errors)[number])
        is_within_budget = charge("keys", max(count - len(motion.breaks), 0))
        motion.is_limited = not is_within_budget or bool(motion.is_limited and motion.error > allowed[number])


def _set_keys(motion: Motion, times: Floats, values: Floats, span: Span) -> None:
    """Set the sampler of a motion. Of keys at the same second in single precision, the last one counts."""
    seconds = single(np.maximum(span.seconds(times), 0.0))
    keep = np.append(seconds[1:] != seconds[:-1], True)
    if motion.measure is ROTATIONS:
        signs = np.where(np.sum(values[1:] * values[:-1], axis=1) < 0, -1.0, 1.0)
        values = quat.normalise(values) * np.cumprod(np.append(1.0, signs))[:, None]
    motion.sampler = Sampler.of(motion.mode or LINEAR, seconds[keep], single(values[keep]))


def _key_times(motion: Motion, span: Span, frames: Floats | None) -> tuple[Floats, Flags]:
    """Return times of keys (n,) and whether each must stay: at breaks, just before jumps, and on whole frames. If there
    are more frames than the budget of keys allows, all intervals between breaks get the same number of keys.
    """
    breaks = motion.breaks
    if frames is not None:
        times = unique_values(np.concatenate([frames, breaks[motion.jumps]]))
        return _fixed_times(times, np.isin(times, breaks[motion.jumps]), span)
    fixed, _ = _fixed_times(breaks, motion.jumps, span)
    first, last, most = np.ceil(breaks[0] / span.frame), np.floor(breaks[-1] / span.frame), most_keys()
    motion.is_limited = bool(last - first >= most)
    if motion.is_limited:
        count = max(most // len(breaks), 1)
        added = (breaks[:-1, None] + np.diff(breaks)[:, None] * np.arange(count) / count).reshape(-1)
    else:
        added = np.arange(first, last + 1) * span.frame
    after = np.clip(np.searchsorted(fixed, added), 1, len(fixed) - 1)
    added = added[np.minimum(np.abs(added - fixed[after - 1]), np.abs(fixed[after] - added)) >= span.closest]
    times = np.concatenate([fixed, added])
    order = np.argsort(times)
    return times[order], order < len(fixed)


def _fixed_times(breaks: Floats, jumps: Flags, span: Span) -> tuple[Floats, Flags]:
    """Return breaks and the times just before jumps, as times of keys that must stay."""
    times = breaks
    if jumps.any():
        room = np.diff(breaks, prepend=-np.inf)[jumps]
        times = unique_values(np.concatenate([breaks, breaks[jumps] - np.minimum(span.closest, 0.25 * room)]))
    return times, np.ones(len(times), np.bool_)


def function_of(functions: list[Function]) -> Callable[[Indices, Floats], Floats]:
    """Return a function of indices (P,) into ``functions`` and times (P,).

    ``functions`` are tracks of one bank, or a single function of any kind.
    """
    tracks = [function for function in functions if isinstance(function, TrackFunction)]
    if len(tracks) < len(functions):
        (only,) = functions
        return lambda _, times: only(times)
    bank = tracks[0].bank
    numbers = np.array([track.number for track in tracks])
    until = np.array([track.until for track in tracks])
    return lambda owner, times: bank.evaluate_pairs(numbers[owner], np.minimum(times, until[owner]))


def _points(keys: list[tuple[Floats, Flags]], motions: list[Motion], tolerances: Floats, span: Span) -> _Points:
    """Return motions sampled at times of keys, of which some must stay, and between them. Where the error exceeds the
    tolerance, the middle becomes a key, too, if limits permit. Tolerances below single precision are raised.
    """
    function, measure = function_of([motion.truth for motion in motions]), motions[0].measure
    counts = np.array([len(times) for times, _ in keys])
    owner = np.repeat(np.arange(len(motions)), counts)
    times, must_stay = (np.concatenate(column) for column in zip(*keys, strict=True))
    values = function(owner, times)
    if measure is not ROTATIONS:
        np.maximum.at(tolerances, owner, _SINGLE_PRECISION * np.nan_to_num(np.abs(values)).max(axis=1))
    found = [_Points(owner, times, values, np.ones(len(times), np.bool_), ~must_stay)]
    gaps = np.flatnonzero((owner[1:] == owner[:-1]) & (np.diff(times) > 1.1 * span.closest))  # others are jumps
    owner, begin, end, first, last = owner[gaps], times[gaps], times[gaps + 1], values[gaps], values[gaps + 1]
    while len(owner):
        probed = np.repeat(owner, len(PROBES))
        probe_times = (begin[:, None] + (end - begin)[:, None] * PROBES).reshape(-1)
        values = function(probed, probe_times)
        lines = np.repeat(first, len(PROBES), axis=0), np.repeat(last, len(PROBES), axis=0)
        errors = measure.error(*lines, np.tile(PROBES, len(owner)), values).reshape(-1, len(PROBES))
        wrong = (errors.max(axis=1) > tolerances[owner]) & (end - begin > 2 * span.closest)
        wanted = np.bincount(owner[wrong], minlength=len(motions))
        refused = (wanted > 0) & ((counts + wanted > most_keys()) | (counts.sum() + wanted.sum() > keys_left()))
        for number in np.flatnonzero(refused).tolist():
            motions[number].is_limited = True
        wrong &= ~refused[owner]
        counts += np.where(refused, 0, wanted)
        is_middle = (wrong[:, None] & (PROBES == 0.5)).reshape(-1)
        found.append(_Points(probed, probe_times, values, is_middle, np.zeros(len(is_middle), np.bool_)))
        owner, middle, value = np.tile(owner[wrong], 2), probe_times[is_middle], values[is_middle]
        begin, end = np.concatenate([begin[wrong], middle]), np.concatenate([middle, end[wrong]])
        first, last = np.concatenate([first[wrong], value]), np.concatenate([value, last[wrong]])
    owner, times, values, is_key, is_removable = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((times, owner))
    return _Points(owner[order], times[order], values[order], is_key[order], is_removable[order])


class _Points(NamedTuple):
    """Values (P, k) of motions (P,) at times (P,): at keys and between them. Those of a motion are contiguous and
    ascending, and begin and end with a key.
    """

    owner: Indices
    times: Floats
    values: Floats
    is_key: Flags
    is_removable: Flags

    def set_keys(self, number: int, motion: Motion, span: Span) -> int:
        """Set the keys of one motion; returns their number."""
        rows = slice(*np.searchsorted(self.owner, (number, number + 1)))
        keys = self.is_key[rows]
        _set_keys(motion, self.times[rows][keys], self.values[rows][keys], span)
        return int(np.count_nonzero(keys))

    def _distances(self, measure: Measure, points: Indices, before: Indices, after: Indices) -> Floats:
        """Return the errors at points (n,) of lines between the keys before and after them."""
        begin = self.times[before]
        u = (self.times[points] - begin) / (self.times[after] - begin)
        return measure.error(self.values[before], self.values[after], u, self.values[points])

    def errors(self, measure: Measure, span: Span | None = None) -> Floats:
        """Return (n,) the largest error of each motion between its keys; with ``span``, not in gaps as short as a
        jump."""
        keys, points = np.flatnonzero(self.is_key), np.flatnonzero(~self.is_key)
        gap = (np.cumsum(self.is_key) - 1)[points]
        if span is not None:
            is_wide = (np.diff(self.times[keys]) > 1.1 * span.closest)[gap]
            points, gap = points[is_wide], gap[is_wide]
        largest = np.zeros(self.owner[-1] + 1)
        np.maximum.at(largest, self.owner[points], self._distances(measure, points, keys[gap], keys[gap + 1]))
        return largest

    def reduce(self, measure: Measure, tolerances: Floats) -> None:
        """Remove keys that their neighbours give within the tolerances of the motions (n,) at all points.

        Each round tries to remove every other one of neighbouring keys. A key that is needed stays for good.
        """
        while True:
            keys = np.flatnonzero(self.is_key)
            removable = self.is_removable[keys]
            number = np.arange(len(keys))
            tried = removable & ((number - np.maximum.accumulate(np.where(removable, 0, number))) % 2 == 1)
            if not tried.any():
                return
            candidates, keys = keys[tried], keys[~tried]
            self.is_key[candidates] = self.is_removable[candidates] = False
            gap = np.cumsum(self.is_key) - 1
            candidate = np.full(len(keys), -1)
            candidate[gap[candidates]] = candidates  # the removed key after each remaining one
            points = np.flatnonzero(~self.is_key & (candidate[gap] >= 0))
            before = gap[points]
            is_wrong = self._distances(measure, points, keys[before], keys[before + 1]) > tolerances[self.owner[points]]
            self.is_key[candidate[before[is_wrong]]] = True
