"""TCB (Kochanek-Bartels) weights and the tangents they give vectors.

Tangents are per segment: the derivative with respect to u, which runs from 0 to 1 from one key to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .key_columns import Flags, Indices, KeyColumns
from .timeline import Segments
from .track import Floats


class Weights(NamedTuple):
    """Shares of the chord before (back) and after (ahead) in each key's two tangents."""

    in_back: Floats
    in_ahead: Floats
    out_back: Floats
    out_ahead: Floats


def tcb_weights(columns: KeyColumns, segments: Segments) -> Weights:
    """Weights of every key; a key with a segment on one side only counts as evenly spaced."""
    interior = segments.interior
    before = np.where(interior, segments.lengths[segments.before], 1.0)
    after = np.where(interior, segments.lengths[segments.after], 1.0)
    half = 0.5 * (before + after)
    size = np.abs(columns.continuity)
    # continuity cancels the correction for uneven spacing
    into = before / half
    into = into + size - size * into
    out = after / half
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
    """Incoming and outgoing tangents (K, k) of every key.

    At an end of a piece the tangent is half of what lets the segment bend evenly, (1 - T)/2 (3 D - the
    tangent at the other end), as 3ds Max's own files prove (blox.3ds: 5e-8 against 0.14 with the plain
    chord); a piece of two keys takes (1 - T) D on both sides.
    """
    weights = tcb_weights(columns, segments)
    back, ahead = chords[segments.before], chords[segments.after]
    incoming = weights.in_back[:, None] * back + weights.in_ahead[:, None] * ahead
    outgoing = weights.out_back[:, None] * back + weights.out_ahead[:, None] * ahead
    interior = segments.interior

    opening = np.flatnonzero(~interior & (segments.after >= 0))
    segment = segments.after[opening]
    outgoing[opening] = _end_tangent(columns.tension[opening], chords[segment], incoming, interior, segment + 1)
    closing = np.flatnonzero(~interior & (segments.before >= 0))
    segment = segments.before[closing]
    incoming[closing] = _end_tangent(columns.tension[closing], chords[segment], outgoing, interior, segment)
    return incoming, outgoing


def _end_tangent(tension: Floats, chord: Floats, tangents: Floats, interior: Flags, partner: Indices) -> Floats:
    """Tangent of an end key from the chord and the tangent of the key at the other end of its segment."""
    soft = (1 - tension)[:, None]
    bent = 0.5 * soft * (3 * chord - tangents[partner])
    return np.where(interior[partner][:, None], bent, soft * chord)
