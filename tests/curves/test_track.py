"""Track: columns as authored; wrong shapes are refused, non-finite numbers kept."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.curves import Interpolation, RotationForm, Track, Wrap, family_of


def test_lists_become_float_columns() -> None:
    track = Track("fov", [0, 10], [45, 50], tension=[0, 1], flags=[0, 1])
    assert track.times.dtype == track.values.dtype == np.float64
    assert track.tension.dtype == np.float64
    assert track.flags.dtype == np.int64
    assert track.bias is None
    assert track.extras == {}


def test_unsorted_times_and_non_finite_numbers_are_kept() -> None:
    track = Track("position", [5, np.nan, 1], [[1, 2, np.inf]] * 3)
    np.testing.assert_array_equal(track.times, [5, np.nan, 1])
    assert np.isinf(track.values[0, 2])


def test_tracks_may_be_empty() -> None:
    assert family_of(Track("fov", [], [])) == "scalar"
    assert family_of(Track("position", [], np.empty((0, 3)))) == "vector3"
    empty = Track("rotation", [], np.empty((0, 4)), form=RotationForm.QUATERNION_ABSOLUTE)
    assert family_of(empty) == "rotation"
    assert empty.is_rotation


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [[0]], "values": [0]}, "track 'morph': times must be (n,), not (1, 1)"),
        ({"times": [0, 1], "values": [0]}, "track 'morph': values must be (2,) or (2, k), not (1,)"),
        ({"times": [0], "values": [[[0]]]}, "track 'morph': values must be (1,) or (1, k), not (1, 1, 1)"),
        ({"times": [0], "values": np.empty((1, 0))}, "track 'morph': values must be (1,) or (1, k), not (1, 0)"),
        (
            {"times": [0], "values": [[0, 0, 1]], "form": RotationForm.QUATERNION_ABSOLUTE},
            "track 'morph': rotation values must be (1, 4), not (1, 3)",
        ),
        ({"times": [0], "values": [0], "bias": [0, 0]}, "track 'morph': bias must be (1,), not (2,)"),
        ({"times": [0], "values": [0], "flags": [0, 0]}, "track 'morph': flags must be (1,), not (2,)"),
        ({"times": [0], "values": [0], "tangents_in": [0]}, "track 'morph': only CUBIC keys have tangents"),
        (
            {"times": [0], "values": [0], "interpolation": Interpolation.CUBIC},
            "track 'morph': CUBIC keys need tangents_in and tangents_out",
        ),
        (
            {
                "times": [0],
                "values": [0],
                "interpolation": Interpolation.CUBIC,
                "tangents_in": [0],
                "tangents_out": [[0]],
            },
            "track 'morph': tangents_out must be (1,), not (1, 1)",
        ),
        (
            {
                "times": [0],
                "values": [[1, 0, 0, 1]],
                "interpolation": Interpolation.CUBIC,
                "form": RotationForm.AXIS_ANGLE_RELATIVE,
                "tangents_in": [[0, 0, 0, 0]],
                "tangents_out": [[0, 0, 0, 0]],
            },
            "track 'morph': CUBIC rotation keys must be absolute quaternions",
        ),
    ],
)
def test_wrong_shapes_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Track("morph", **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_sampled_tracks_have_uniform_times() -> None:
    track = Track.sampled("scale", [[1, 1, 1], [2, 2, 2], [3, 3, 3]], start=10, step=0.5, wrap=Wrap.REPEAT)
    np.testing.assert_array_equal(track.times, [10, 10.5, 11])
    assert track.interpolation is Interpolation.SAMPLED
    assert track.wrap is Wrap.REPEAT
