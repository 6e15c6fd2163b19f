"""Interpolation: authored tracks, and curves compiled from them.

A `Track` has keys as the file gives them. `compile_track` makes a function of one track; `CurveBank` compiles many
tracks and samples them together. Invalid keys and times cause no errors or warnings and do not affect other tracks:

* Keys are sorted by time; keys with equal times stay in order. Increments of relative rotations stay with their key.
* A key is not usable if its time or value is NaN or exceeds 1e150, and is left out. A track without usable keys has its
  default.
* Tension, continuity and bias are clamped to -1..1, ease to 0..1; NaN there counts as 0, and so do tangents that are
  not finite or exceed 1e150.
* Before the first key a track has the value of that key, after the last key that of the last, unless it repeats. NaN
  as a time counts as before the first key.
* Equal times are a jump: pieces end and begin there, and at that time the later key holds.
* Zero axes and zero quaternions do not turn; others are normalised.
* Repeat and loop need a last key later than 0, else they are single; see `timeline.TimeWrap`.
"""

from .curve_bank import Curve, CurveBank, SamplePlace, compile_track, family_of
from .timeline import even_times
from .track import Interpolation, RotationForm, Track, Wrap
from .vector_curves import Hermite

__all__ = [
    "Curve",
    "CurveBank",
    "Hermite",
    "Interpolation",
    "RotationForm",
    "SamplePlace",
    "Track",
    "Wrap",
    "compile_track",
    "even_times",
    "family_of",
]
