"""Curves of scalars and vectors: each segment is a polynomial in u, sampled with Horner's rule.

Step, linear and sampled tracks have two coefficients per component, the others four. The last key and keys before a
jump get a constant, so times after the end need no special case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keyframer.arrays import Flags, Floats

from .key_columns import Indices, KeyColumns
from .timeline import Segments, find_segments
from .track import Interpolation


class Weights(NamedTuple):
    """Kochanek-Bartels weights: fractions of the chords before (back) and after (ahead) in the two tangents of each
    key.

    Tangents are per segment: the derivative with respect to u, which runs from 0 to 1 from one key to the next.
    """

    in_back: Floats
    in_ahead: Floats
    out_back: Floats
    out_ahead: Floats


def tcb_weights(columns: KeyColumns, segments: Segments) -> Weights:
    """Return the weights of every key; a key with a segment on only one side is treated as evenly spaced."""
    interior = segments.interior
    before = np.where(interior, segments.lengths[segments.before], 1.0)
    after = np.where(interior, segments.lengths[segments.after], 1.0)
    half = 0.5 * (before + after)
    into, out = before / half, after / half
    if not columns.has_tcb:  # as in most files
        into *= 0.5
        out *= 0.5
        return Weights(into, into, out, out)
    size = np.abs(columns.continuity)
    # continuity cancels the correction for uneven spacing
    into = into + size - size * into
    out = out + size - size * out
    scale = 0.5 * (1 - columns.tension)
    up, down = 1 + columns.continuity, 1 - columns.continuity
    near, far = 1 + columns.bias, 1 - columns.bias
    return Weights(
        in_back=scale * down * near * into,
        in_ahead=scale * up * far * into,
        out_back=scale * up * near * out,
        out_ahead=scale * down * far * out,
    )


def tcb_tangents(columns: KeyColumns, segments: Segments, chords: Floats) -> tuple[Floats, Floats]:
    """Return incoming and outgoing tangents (K, k) of every key.

    At an end of a piece the tangent is (1 - T)/2 (3 D - the tangent at the other end of the segment), D being the
    chord; without tension this gives zero curvature at the end. Files of 3ds Max confirm it (blox.3ds: an error of
    5e-8, against 0.14 with the chord as the tangent). A piece of two keys has (1 - T) D on both sides.
    """
    weights = tcb_weights(columns, segments)
    back, ahead = chords[segments.before], chords[segments.after]
    incoming = weights.in_back[:, None] * back + weights.in_ahead[:, None] * ahead
    outgoing = weights.out_back[:, None] * back + weights.out_ahead[:, None] * ahead
    interior = segments.interior

    opening = (~interior & (segments.after >= 0)).nonzero()[0]
    segment = segments.after[opening]
    outgoing[opening] = _end_tangent(columns.tension[opening], chords[segment], incoming, interior, segment + 1)
    closing = (~interior & (segments.before >= 0)).nonzero()[0]
    segment = segments.before[closing]
    incoming[closing] = _end_tangent(columns.tension[closing], chords[segment], outgoing, interior, segment)
    return incoming, outgoing


def _end_tangent(tension: Floats, chord: Floats, tangents: Floats, interior: Flags, partner: Indices) -> Floats:
    """Return the tangent of an end key from the chord and the tangent of the key at the other end of its segment."""
    soft = (1 - tension)[:, None]
    bent = 0.5 * soft * (3 * chord - tangents[partner])
    return np.where(interior[partner][:, None], bent, soft * chord)


_STRAIGHT = (Interpolation.STEP, Interpolation.LINEAR, Interpolation.SAMPLED)


class Hermite(NamedTuple):
    """Keys of a cubic Hermite spline as in glTF CUBICSPLINE; tangents in value units per unit of time.

    Times are sorted; two equal ones are a jump. A tangent on a side without a segment is 0.
    """

    times: Floats
    values: Floats
    tangents_in: Floats
    tangents_out: Floats


class CubicTable:
    """Polynomials of n tracks, one per key: coefficients (degree + 1, k, K) of ascending power."""

    def __init__(self, columns: KeyColumns, segments: Segments) -> None:
        self._coefficients = np.stack(_coefficients(columns, segments)).transpose(0, 2, 1).copy()

    def sample(self, rows: Indices, u: Floats, out: Floats) -> None:
        """Write the values at u (P,) of the segments `rows` (P,) into out (P, k)."""
        *lower, values = self._coefficients.take(rows, axis=2)
        for coefficients in reversed(lower):
            values *= u
            values += coefficients
        out[:] = values.T


def still_tracks(columns: KeyColumns) -> Flags:
    """Return (n,) true if the value never changes: no key, one key, or equal keys without tangents."""
    moving = np.empty(len(columns.times), dtype=np.bool_)
    np.logical_or.reduce(columns.values[1:] != columns.values[:-1], axis=1, out=moving[1:])
    moving[columns.starts[columns.counts > 0]] = False
    if columns.tangents_in.size:
        bends = np.any((columns.tangents_in != 0) | (columns.tangents_out != 0), axis=1)
        moving |= bends & (columns.counts[columns.track] > 1)
    return np.asarray(np.bincount(columns.track[moving], minlength=len(columns.counts)) == 0)


def hermite_columns(columns: KeyColumns) -> Hermite:
    """Return tracks as cubic Hermite splines, in columns like their keys; not for steps, ease and rotations."""
    segments = find_segments(columns)
    start, end = _segment_tangents(columns, segments, _chords(columns, segments))
    lengths = np.where(segments.exists, segments.lengths, np.inf)[:, None]
    with np.errstate(all="ignore"):
        # a segment shorter than 1e-158 of a unit could overflow the division
        outgoing = np.nan_to_num(start / lengths)
        incoming = np.zeros(outgoing.shape)
        incoming[1:] = np.nan_to_num(end / lengths)[:-1]
    return Hermite(columns.times, columns.values, incoming, outgoing)


def _chords(columns: KeyColumns, segments: Segments) -> Floats:
    """Return (K, k) value differences along segments, 0 where no segment starts."""
    chords = np.zeros(columns.values.shape)
    chords[:-1] = columns.values[1:] - columns.values[:-1]
    return np.where(segments.exists[:, None], chords, 0.0)


def _segment_tangents(columns: KeyColumns, segments: Segments, chords: Floats) -> tuple[Floats, Floats]:
    """Return tangents with respect to u at the start and the end of each segment, (K, k) both."""
    end = np.zeros(chords.shape)
    incoming, start = tcb_tangents(columns, segments, chords)
    end[:-1] = incoming[1:]
    straight = _keys_of(columns, _STRAIGHT)
    if straight is not None:
        start[straight] = end[straight] = chords[straight]
    given = _keys_of(columns, (Interpolation.CUBIC,))
    if given is not None:
        start[given] = (columns.tangents_out * segments.lengths[:, None])[given]
        ahead = np.zeros(chords.shape)
        ahead[:-1] = columns.tangents_in[1:] * segments.lengths[:-1, None]
        end[given] = ahead[given]
    exists = segments.exists[:, None]
    return np.where(exists, start, 0.0), np.where(exists, end, 0.0)


def _coefficients(columns: KeyColumns, segments: Segments) -> list[Floats]:
    chords = _chords(columns, segments)
    if all(kind in _STRAIGHT for kind in columns.interpolations):
        steps = _keys_of(columns, (Interpolation.STEP,))
        return [columns.values, chords if steps is None else np.where(steps[:, None], 0.0, chords)]
    start, end = _segment_tangents(columns, segments, chords)
    return [columns.values, start, 3 * chords - 2 * start - end, start + end - 2 * chords]


def _keys_of(columns: KeyColumns, kinds: tuple[Interpolation, ...]) -> Flags | None:
    """Return (K,) whether each key belongs to a track with one of these interpolations; None if no track has one."""
    chosen = [kind in kinds for kind in columns.interpolations]
    return columns.where(chosen) if True in chosen else None
