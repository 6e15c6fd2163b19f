"""Converts reference curves (plain lists) to tracks of keyframer."""

from __future__ import annotations

import numpy as np

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from tests.building.scenes import as_read_from_a_file

from .slow import SlowTrack

_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


def to_track(slow: SlowTrack, scalars_flat: bool = True) -> Track:
    """The same keys as a Track; one component becomes a scalar track unless ``scalars_flat`` is false."""
    width = len(slow.values[0]) if slow.values else 1 if slow.form == "NONE" else 4
    shape = (-1,) if width == 1 and scalars_flat else (-1, width)
    columns = {name: np.array(getattr(slow, name)) for name in _COLUMNS if getattr(slow, name)}
    if slow.interpolation == "CUBIC":
        columns["tangents_in"] = np.array(slow.tangents_in, dtype=float).reshape(shape)
        columns["tangents_out"] = np.array(slow.tangents_out, dtype=float).reshape(shape)
    with as_read_from_a_file():  # keys may be unsorted
        return Track(
            kind="morph" if slow.form == "NONE" else "rotation",  # a morph has as many numbers as it likes
            times=np.array(slow.times, dtype=float),
            values=np.array(slow.values, dtype=float).reshape(shape),
            interpolation=Interpolation[slow.interpolation],
            wrap=Wrap[slow.wrap],
            form=RotationForm[slow.form],
            **columns,
        )
