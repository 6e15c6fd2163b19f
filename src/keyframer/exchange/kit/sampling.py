"""Samples motions as linear keys: at the authored keys, and between two of them as many keys as the error requires.

A motion is smooth from one authored key to the next, so a few probes show how many keys it needs there: the error of
linear keys grows with the square of their distance. The keys are placed so that all have about the same error, and
probed again; where the error is still too large, pieces are divided. Keys are on whole frames if they are far apart.

Motions of one kind are evaluated together: a call costs more than sampling a short track.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves.key_reduction import PROBES
from keyframer.exchange.kit.motion import (
    LINEAR,
    ROTATIONS,
    STEP,
    Function,
    Indices,
    Measure,
    Motion,
    Sampler,
    TrackFunction,
    cubic_sampler,
)
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.spans import Span, keys_left, most_keys
from keyframer.limits import charge
from keyframer.maths import quat
from keyframer.maths.distinct_values import starts, unique_values
from keyframer.scene.loss_report import Outcome

_SINGLE_PRECISION = 5e-7
"""relative error of single precision and some arithmetic: smaller tolerances are useless"""
_KEYS_SAMPLED = 30_000
"""maximum number of keys of motions that are sampled together: some 100 numbers of temporaries each"""
_GAPS_SAMPLED = 5_000
"""maximum number of gaps between authored keys that are sampled together: random motion needs dozens of keys in each"""
_AFTER_JUMP = 1e-8
"""fraction of the time to the next key after which a jump has certainly happened"""
_COARSE_FRAMES = 8
"""length of the first pieces in frames …"""
_MOST_COARSE = 64
"""… but at most this many pieces from one authored key to the next"""
_MOST_PIECES = 8
"""maximum number of pieces that one is divided into before the motion is probed again"""
_MARGIN = 1.03
"""more keys than the probes require, because the errors are not quite the same"""
_MOST_WRONG = 0.1
"""fraction of pieces with too large an error above which all keys are placed again"""
_MOST_ROUNDS = 3
"""number of times that keys are placed again; after that pieces are divided until no error is too large"""
_WHOLE_FRAMES = 1.5
"""keys are on whole frames if they are so many frames apart, on average"""


def sample(motions: Sequence[Motion], tolerances: Sequence[float], span: Span, frames: Floats | None = None) -> None:
    """Give motions their samplers. Tolerances are in degrees for rotations. If there are ``frames``, all of them are
    keys, and nothing else but jumps is, whatever the error.
    """
    groups: dict[tuple[bool, Measure, tuple[object, str]], list[int]] = {}
    for number, motion in enumerate(motions):
        is_straight = motion.mode == LINEAR and frames is None
        if motion.cubic is not None:
            motion.sampler, motion.outcome = cubic_sampler(motion.cubic, span), Outcome.EXACT
        elif motion.mode == STEP or (is_straight and motion.measure is not ROTATIONS and not motion.jumps.any()):
            ends = np.array([0, len(motion.breaks)])
            _set_keys([motion], ends, motion.breaks, motion.truth(_moments(motion, motion.breaks)), span)
            motion.outcome = Outcome.EXACT
        else:
            source: tuple[object, str] = (number, "")
            if isinstance(motion.truth, TrackFunction):
                source = motion.truth.bank, motion.truth.bank.places[motion.truth.number].family
            groups.setdefault((is_straight, motion.measure, source), []).append(number)
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
    """Return about how many keys a motion may get."""
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
    keys = _Sampling(motions, np.full(len(motions), np.inf), span).keys(is_coarse=False)
    is_exact = motions[0].measure.in_units(keys.errors(len(motions))) <= tolerances
    keys.set_keys(motions, span)
    for number in np.flatnonzero(is_exact).tolist():
        motions[number].outcome = Outcome.EXACT
    return np.asarray(is_exact)


def _sample_together(motions: list[Motion], tolerances: Floats, span: Span, frames: Floats | None) -> None:
    """Sample motions of one measure: tracks of one family of a bank, or a single function of any kind."""
    sampling = _Sampling(motions, tolerances if frames is None else np.full(len(motions), np.inf), span, frames)
    keys = sampling.keys(is_coarse=frames is None)
    errors, allowed = map(motions[0].measure.in_units, (keys.errors(len(motions)), sampling.tolerances))
    for motion, count, error, most in zip(
        motions, keys.set_keys(motions, span), errors.tolist(), allowed.tolist(), strict=True
    ):
        motion.has_track_keys = False
        motion.is_too_fast = error > most and error > 0.01 * _extent(motion)
        motion.error = error
        is_within_budget = charge("keys", max(count - len(motion.breaks), 0))
        motion.is_limited = not is_within_budget or (motion.is_limited and error > most)


def _extent(motion: Motion) -> float:
    """Return the size of the box around the keys of a motion; 100 degrees for rotations."""
    if motion.measure is ROTATIONS:
        return 100.0
    values = motion.sampler.values.astype(np.float64)
    return float((values.max(axis=0) - values.min(axis=0)).max())


def _set_keys(motions: list[Motion], ends: Indices, times: Floats, values: Floats, span: Span) -> None:
    """Set the samplers of motions of one measure: rows ``ends[i]`` to ``ends[i + 1]`` are the keys of motion i.

    Of keys at the same second in single precision, the last one counts.
    """
    seconds = single(np.maximum(span.seconds(times), 0.0))
    keep = np.ones(len(seconds), np.bool_)
    keep[:-1] = seconds[1:] != seconds[:-1]
    keep[ends[1:] - 1] = True
    if motions[0].measure is ROTATIONS:
        signs = np.ones(len(times))
        signs[1:] = np.where(np.sum(values[1:] * values[:-1], axis=1) < 0, -1.0, 1.0)
        signs = np.multiply.accumulate(signs)
        signs *= np.repeat(signs[ends[:-1]], ends[1:] - ends[:-1])
        values = quat.normalise(values) * signs[:, None]
    ends = np.append(0, np.cumsum(keep))[ends]
    seconds, written = seconds[keep], single(values[keep])
    for motion, begin, end in zip(motions, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        motion.sampler = Sampler.of(motion.mode or LINEAR, seconds[begin:end], written[begin:end])


def _fixed_times(motion: Motion, span: Span, frames: Floats | None) -> Floats:
    """Return times of keys that must be: at breaks and just before jumps. If there are ``frames``, they are the keys,
    and breaks only where the motion jumps.
    """
    jumps = motion.breaks[motion.jumps]
    times = motion.breaks if frames is None else unique_values(np.concatenate([frames, jumps]))
    if not len(jumps):
        return times
    room = np.diff(times, prepend=-np.inf)[np.isin(times, jumps)]
    return unique_values(np.concatenate([times, jumps - np.minimum(span.closest, 0.25 * room)]))


def _moments(motion: Motion, times: Floats) -> Floats:
    """Return the moments at which keys at these times, all breaks among them, have their values: at a jump just after
    it, because the sum of a period and the time of a key may be rounded to a time before it.
    """
    if not motion.jumps.any():
        return times
    room = np.diff(times, append=times[-1:])
    return times + np.where(np.isin(times, motion.breaks[motion.jumps]), _AFTER_JUMP * room, 0.0)


def function_of(functions: list[Function]) -> Callable[[Indices, Floats], Floats]:
    """Return a function of indices (P,) into ``functions`` and times (P,).

    ``functions`` are tracks of one family of a bank, or a single function of any kind.
    """
    tracks = [function for function in functions if isinstance(function, TrackFunction)]
    if len(tracks) < len(functions):
        (only,) = functions
        return lambda _, times: only(times)
    bank = tracks[0].bank
    numbers = np.array([track.number for track in tracks])
    until = np.array([track.until for track in tracks])
    return lambda owner, times: bank.evaluate_pairs(numbers[owner], np.minimum(times, until[owner]))


class _Pieces(NamedTuple):
    """Pieces (C,) of motions from one key to the next."""

    owner: Indices
    begin: Floats
    end: Floats
    first: Floats
    """(C, k) values at the begin"""
    last: Floats
    error: Floats
    """largest error at the probes"""

    def chosen(self, rows: Flags) -> _Pieces:
        owner, *columns = self
        return _Pieces(owner[rows], *(column[rows] for column in columns))


class _Keys(NamedTuple):
    """Keys (n,) of motions, sorted by motion and time."""

    owner: Indices
    times: Floats
    values: Floats
    """(n, k)"""
    error: Floats
    """largest error from there to the next key"""

    def set_keys(self, motions: list[Motion], span: Span) -> list[int]:
        """Set the keys of all motions; returns how many each one has got."""
        ends = np.searchsorted(self.owner, np.arange(len(motions) + 1))
        _set_keys(motions, ends, self.times, self.values, span)
        for motion, begin, end in zip(motions, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            worst = begin + int(self.error[begin:end].argmax())
            motion.worst = (float(self.times[worst]), float(self.times[worst + 1])) if worst < end - 1 else None
        counts: list[int] = (ends[1:] - ends[:-1]).tolist()
        return counts

    def errors(self, count: int) -> Floats:
        """Return (count,) the largest error of each motion."""
        largest = np.zeros(count)
        np.maximum.at(largest, self.owner, self.error)
        return largest


class _Sampling:
    """Divides motions into pieces within the tolerances of the motions; those below single precision are raised."""

    def __init__(self, motions: list[Motion], tolerances: Floats, span: Span, frames: Floats | None = None) -> None:
        self._motions = motions
        self._function, self._measure = function_of([motion.truth for motion in motions]), motions[0].measure
        self.tolerances, self._frame = self._measure.from_units(tolerances), span.frame
        self._closest, self._indivisible = span.closest, span.indivisible
        fixed = [_fixed_times(motion, span, frames) for motion in motions]
        self._counts = np.array([len(times) for times in fixed])
        """number of keys of each motion"""
        self._most = self._counts
        """how many keys each motion may have: the gaps that are not sampled yet need some, too"""
        self._is_limited = np.zeros(len(motions), np.bool_)
        self._owner = np.repeat(np.arange(len(motions)), self._counts)
        self._times = np.concatenate(fixed)
        moments = [_moments(motion, times) for motion, times in zip(motions, fixed, strict=True)]
        self._values = self._function(self._owner, np.concatenate(moments))
        if self._measure is not ROTATIONS:
            floor = _SINGLE_PRECISION * np.nan_to_num(np.abs(self._values)).max(axis=1)
            np.maximum.at(self.tolerances, self._owner, floor)

    def keys(self, *, is_coarse: bool) -> _Keys:
        """Return the keys. At first the motion is divided into coarse pieces, or only at the fixed keys."""
        is_piece = (self._owner[1:] == self._owner[:-1]) & (np.diff(self._times) > 1.1 * self._closest)
        gaps = np.flatnonzero(is_piece)  # others are jumps
        done: list[_Pieces] = []
        count = len(self._motions)
        left = np.bincount(self._owner[gaps], minlength=count)
        for portion in np.split(gaps, range(_GAPS_SAMPLED, len(gaps), _GAPS_SAMPLED)):
            gaps_of = np.bincount(self._owner[portion], minlength=count)
            self._most = self._counts + (most_keys() - self._counts) * (gaps_of / np.maximum(left, 1))
            self._is_limited[:] = False
            left -= gaps_of
            done += self._divided_gaps(portion, is_coarse)
        return self._joined(done, ~np.append(is_piece, False))

    def _divided_gaps(self, gaps: Indices, is_coarse: bool) -> list[_Pieces]:
        """Return the pieces of the gaps after some of the fixed keys."""
        begin, end = self._times[gaps], self._times[gaps + 1]
        columns = self._owner[gaps], begin, end, self._values[gaps], self._values[gaps + 1]
        pieces = _Pieces(*columns, np.zeros(len(gaps)))
        numbers = np.ones(len(gaps), np.intp)
        if is_coarse:
            frames = (end - begin) / self._frame
            numbers = np.ceil(np.minimum(frames / _COARSE_FRAMES, _MOST_COARSE)).astype(np.intp)
        needs, segment = np.ones(len(gaps)), np.arange(len(gaps))
        done: list[_Pieces] = []
        rounds = 0
        while len(segment):
            pieces, segment = self._divided(pieces, needs, segment, numbers)
            rounds += 1
            # the number of pieces that each one should be, to have the allowed error
            needs = np.sqrt(pieces.error / self.tolerances[pieces.owner])
            wrong = (needs > 1) & (pieces.end - pieces.begin > self._indivisible) & ~self._is_limited[pieces.owner]
            needs = np.minimum(np.maximum(needs, 1e-3), _MOST_PIECES)
            counts = np.bincount(segment)
            again = np.full(len(counts), rounds <= _MOST_ROUNDS)
            again &= np.bincount(segment, wrong) > _MOST_WRONG * counts
            if rounds == 1 and is_coarse:
                again |= np.bincount(segment, needs) * _MARGIN <= counts - 1
            remaining = wrong | again[segment]
            done.append(pieces.chosen(~remaining))
            pieces, needs, segment = pieces.chosen(remaining), needs[remaining], segment[remaining]
            # each wrong piece becomes a segment of its own, unless all pieces of its segment are placed again
            begins = ~again[segment]
            begins[1:] |= segment[1:] != segment[:-1]
            begins[:1] = True
            segment = np.cumsum(begins) - 1
            numbers = np.ceil(_MARGIN * np.bincount(segment, needs)).astype(np.intp)
        return done

    def _joined(self, done: list[_Pieces], is_end: Flags) -> _Keys:
        """Return the keys at which pieces begin, and those before jumps and at ends, where none begins."""
        owner = np.concatenate([*(pieces.owner for pieces in done), self._owner[is_end]])
        times = np.concatenate([*(pieces.begin for pieces in done), self._times[is_end]])
        values = np.concatenate([*(pieces.first for pieces in done), self._values[is_end]])
        error = np.concatenate([*(pieces.error for pieces in done), np.zeros(np.count_nonzero(is_end))])
        order = np.lexsort((times, owner))
        return _Keys(owner[order], times[order], values[order], error[order])

    def _divided(self, old: _Pieces, needs: Floats, segment: Indices, numbers: Indices) -> tuple[_Pieces, Indices]:
        """Return segments of consecutive pieces (C,) divided into other numbers of pieces, which have equal shares of
        ``needs`` (C,), and their segments.
        """
        counts = np.bincount(segment)
        first, last = starts(counts), np.cumsum(counts) - 1
        owner, begin, end = old.owner[first], old.begin[first], old.end[last]
        lengths = end - begin
        added = np.maximum(np.minimum(numbers, lengths / self._closest).astype(np.intp), 1) - 1
        self._limit(owner, counts - 1, added)
        # the times between the new pieces
        reached = np.cumsum(needs)
        before = (reached - needs)[first]
        place = np.repeat(np.arange(len(added)), added)
        rank = np.arange(len(place)) - starts(added)[place]
        aim = before[place] + (rank + 1) / (added[place] + 1) * (reached[last] - before)[place]
        row = np.minimum(np.maximum(np.searchsorted(reached, aim), first[place]), last[place])
        passed = np.minimum(np.maximum(1 - (reached[row] - aim) / needs[row], 0), 1)
        times = old.begin[row] + passed * (old.end - old.begin)[row]
        is_whole = (lengths >= _WHOLE_FRAMES * self._frame * (added + 1))[place]
        times = np.where(is_whole, np.round(times / self._frame) * self._frame, times)
        previous = np.where(rank == 0, begin[place], np.concatenate([times[-1:], times[:-1]]))
        is_apart = np.minimum(times - previous, end[place] - times) >= self._closest
        place, times = place[is_apart], times[is_apart]
        # the new pieces
        segment = np.sort(np.concatenate([np.arange(len(added)), place]))
        is_head = np.ones(len(segment), np.bool_)
        is_head[1:] = segment[1:] != segment[:-1]
        is_tail = np.concatenate([is_head[1:], is_head[:1]])
        owner = owner[segment]
        starting, ending = _merged(is_head, begin, times), _merged(is_tail, end, times)
        probes = (starting[:, None] + (ending - starting)[:, None] * PROBES).reshape(-1)
        values = self._function(
            np.concatenate([owner[~is_head], np.repeat(owner, len(PROBES))]), np.concatenate([times, probes])
        )
        inner, wanted = values[: len(times)], values[len(times) :].reshape(len(owner), len(PROBES), -1)
        from_, to = _merged(is_head, old.first[first], inner), _merged(is_tail, old.last[last], inner)
        error = self._measure.largest(from_, to, PROBES, wanted)
        return _Pieces(owner, starting, ending, from_, to, error), segment

    def _limit(self, owner: Indices, removed: Indices, added: Indices) -> None:
        """Reduce, in place, how many keys are added to motions that would get more than the budget allows."""
        count = len(self._motions)
        kept = self._counts - np.bincount(owner, removed, count)
        wanted = np.bincount(owner, added, count)
        allowed = np.minimum(self._most, most_keys()).astype(np.intp) - kept
        if kept.sum() + wanted.sum() > (left := keys_left()):
            allowed = np.minimum(allowed, wanted * max(left - kept.sum(), 0) / wanted.sum())
        if (wanted > allowed).any():
            allowed = np.maximum(allowed, 0)
            for number in np.flatnonzero(wanted > allowed).tolist():
                self._motions[number].is_limited = self._is_limited[number] = True
            share = np.minimum(allowed / np.maximum(wanted, 1), 1.0)[owner]
            added[:] = np.floor(added * share)
            wanted = np.bincount(owner, added, count)
        self._counts = kept + wanted


def _merged(chosen: Flags, rows: Floats, others: Floats) -> Floats:
    """Return an array with ``rows`` where ``chosen`` and ``others`` elsewhere."""
    out = np.empty((len(chosen), *rows.shape[1:]))
    out[chosen], out[~chosen] = rows, others
    return out
