"""Numbering distinct rows, compared with a dictionary, also when hashes collide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyframer.maths.distinct_values import distinct_rows, unique_values


def first_positions(rows: np.ndarray) -> tuple[dict[bytes, int], list[bytes]]:
    keys = [row.tobytes() for row in rows]
    first: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    return first, keys


@pytest.mark.parametrize(
    ("count", "width", "values"), [(0, 3, 1), (1, 1, 1), (500, 3, 4), (2000, 7, 2), (300, 2, 1000)]
)
def test_equal_rows_get_the_same_number(count: int, width: int, values: int) -> None:
    rng = np.random.default_rng(count)
    rows = rng.integers(0, values, (count, width)).astype(np.float32)
    rows[: count // 5] = np.nan
    first, keys = first_positions(rows)
    first_rows, number = distinct_rows(rows)
    assert sorted(first_rows.tolist()) == sorted(first.values())
    assert [int(first_rows[kind]) for kind in number] == [first[key] for key in keys]


def test_rows_with_equal_hashes_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all factors equal, rows with the same numbers in another order have the same hash."""

    class Alike:
        def integers(self, low: int, high: int, size: int, kind: type) -> np.ndarray:
            return np.zeros(size, kind)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Alike())
    first_rows, number = distinct_rows(np.array([[1, 2], [2, 1], [1, 2]], np.float32))
    assert len(first_rows) == 2
    assert number[0] == number[2] != number[1]


@given(arrays(np.float64, st.integers(0, 30), elements=st.floats(width=16)))
def test_unique_values_equal_those_of_numpy(values: np.ndarray) -> None:
    np.testing.assert_array_equal(unique_values(values), np.unique(values))
    whole = np.nan_to_num(values, posinf=0, neginf=0).astype(np.int64).reshape(-1, 1)
    np.testing.assert_array_equal(unique_values(whole), np.unique(whole))
