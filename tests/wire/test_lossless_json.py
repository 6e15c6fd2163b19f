"""Numbers as JSON and back without losing a bit; values that do not fit are refused with their location."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.wire.lossless_json import array_from_json, array_to_json, integer_from_json

F4, F8, U2 = np.dtype("<f4"), np.dtype("<f8"), np.dtype("<u2")
words32 = st.integers(0, 2**32 - 1)


def through_text(array: np.ndarray, width: int | None) -> np.ndarray:
    text = json.dumps(array_to_json(array), allow_nan=False)
    return array_from_json(json.loads(text), array.dtype, width)


@given(st.lists(words32, max_size=12) | st.lists(words32, min_size=64, max_size=90))
def test_every_float32_survives(bits: list[int]) -> None:
    array = np.array(bits, "<u4").view(F4)
    assert through_text(array, None).tobytes() == array.tobytes()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=12))
def test_every_float64_survives(bits: list[int]) -> None:
    array = np.array(bits, "<u8").view(F8)
    assert through_text(array, None).tobytes() == array.tobytes()


@given(st.lists(st.tuples(words32, words32, words32), max_size=40))
def test_rows_survive(rows: list[tuple[int, int, int]]) -> None:
    array = np.array(rows, "<u4").reshape(-1, 3).view(F4)
    restored = through_text(array, 3)
    assert restored.shape == array.shape
    assert restored.tobytes() == array.tobytes()


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=100))
def test_floats_are_shown_with_the_fewest_digits(values: list[float]) -> None:
    array = np.array(values, F4)
    for shown, single in zip(array_to_json(array), array, strict=True):
        assert float(np.format_float_scientific(single, unique=True)) == shown


def test_non_finite_numbers_become_strings() -> None:
    bits = np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0x7FA00001, 0xFFC00000, 0x80000000], "<u4")
    assert array_to_json(bits.view(F4)) == ["inf", "-inf", "nan", "nan:7fa00001", "nan:ffc00000", -0.0]


def test_short_decimals_stay_short() -> None:
    for repeat in (1, 40):  # few numbers and many go different ways
        shown = array_to_json(np.array([0.1, 39.37, 1e-7, 16777216, 3.4e38] * repeat, F4))
        assert shown[:5] == [0.1, 39.37, 1e-7, 16777216.0, 3.4e38]


@pytest.mark.parametrize(
    ("value", "dtype", "width", "words"),
    [
        ("1", F4, None, "expected a list, not text"),
        ([1, "two"], F4, None, "not 'two'"),
        ([1, None], F4, None, "entry 1: expected a number, not null"),
        ([True], F4, None, "entry 0: expected a number, not true/false"),
        ([1e39], F4, None, "entry 0"),
        ([10**400], F4, None, ""),
        (["nan:7fa0"], F4, None, "nan"),
        (["nan:7fa0000z"], F4, None, "nan"),
        ([[1, 2]], F4, 3, "entry 0: expected a list of 3 numbers"),
        ([1], F4, 3, "entry 0: expected a list of 3 numbers"),
        ([1.5], U2, None, "entry 0: expected a whole number, not a decimal number"),
        ([0, 65536], U2, None, "entry 1: 65536 is outside 0..65535"),
        ([True], U2, None, "entry 0: expected a whole number, not true/false"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: object, dtype: np.dtype, width: int | None, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        array_from_json(value, dtype, width)
    assert words in str(caught.value)


def test_integers() -> None:
    assert integer_from_json(65535, U2) == 65535
    with pytest.raises(ValueError, match="flags: 65536 is outside"):
        integer_from_json(65536, U2, "flags: ")


def test_only_rows_of_numbers_are_dumped() -> None:
    with pytest.raises(ValueError, match="1 or 2 dimensions, not 3"):
        array_to_json(np.zeros((2, 2, 2), F4))
