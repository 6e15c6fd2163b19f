"""checked_cast keeps every number unchanged or raises an error."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.wire.field_types import checked_cast

U2, I4, F4 = np.dtype("<u2"), np.dtype("<i4"), np.dtype("<f4")


@pytest.mark.parametrize(
    ("given", "dtype", "words"),
    [
        ([65536], U2, "values outside 0..65535"),
        ([-1], U2, "values outside 0..65535"),
        ([2**31], I4, "values outside -2147483648..2147483647"),
        ([2**70], I4, "expected numbers, not object"),
        ([1.5], U2, "expected whole numbers"),
        ([float("nan")], I4, "expected whole numbers"),
        ([float("inf")], I4, "values outside"),
        ([1e39], F4, "too large for a float of 4 bytes"),
        (["1"], F4, "expected numbers"),
        ([1j], F4, "expected numbers"),
        ([None], F4, "expected numbers"),
    ],
)
def test_values_that_would_change_are_refused(given: list[object], dtype: np.dtype[np.generic], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        checked_cast(np.array(given), dtype)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ([0, 65535], U2),
        ([True, False], U2),
        ([-(2**31), 2**31 - 1], I4),
        ([3.0, -0.0], I4),
        ([0.1, 3e38, float("inf"), float("-inf")], F4),
        ([2**24], F4),
        ([], U2),
        ([], F4),
    ],
)
def test_values_that_fit_are_converted(given: list[float], dtype: np.dtype[np.generic]) -> None:
    converted = checked_cast(np.array(given), dtype)
    assert converted.dtype == dtype
    assert converted.tolist() == np.array(given, np.float64).astype(dtype).tolist()


def test_an_array_of_the_right_type_is_not_copied() -> None:
    array = np.array([1, 2], U2)
    assert checked_cast(array, U2) is array


def test_big_endian_arrays_are_byte_swapped() -> None:
    assert checked_cast(np.array([1, 2], ">u2"), U2).tobytes() == bytes.fromhex("01000200")
