"""Interpolation: authored tracks, and curves compiled from them.

A `Track` holds keys as the file gives them. `compile_track` makes one callable; `CurveBank` compiles many
and samples them together. Evaluation never raises or warns, and invalid data never affects another track:

* Keys are sorted by time, stably; increments of relative rotations stay with their key.
* A key whose time or value is not a number of at most 1e150 is left out; a track without usable keys has
  its default.
* Tension, continuity and bias are clamped to -1..1, ease to 0..1; NaN there counts as 0, and so do unusable
  tangents.
* Before the first and after the last key their values hold. NaN as a time counts as before the first key.
* Equal times are a jump: pieces end and begin there, and at that time the later key holds.
* Zero axes and zero quaternions do not turn; others are normalised.
* Repeat and loop need a last key later than 0, else they are single; see `timeline.TimeWrap`.
"""

from .curve import Curve, compile_track
from .curve_bank import CurveBank, Place, family_of
from .track import Interpolation, RotationForm, Track, Wrap
from .vector_curves import Hermite

__all__ = [
    "Curve",
    "CurveBank",
    "Hermite",
    "Interpolation",
    "Place",
    "RotationForm",
    "Track",
    "Wrap",
    "compile_track",
    "family_of",
]
