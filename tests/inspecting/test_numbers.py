"""Numbers in the text: the shortest decimal that reads back exactly, compared with numpy's printing."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.wire.lossless_json import array_from_json, array_to_json

FLOAT = np.dtype("<f4")
RANDOM = np.random.default_rng(20261115)
CASES = {
    "any bits": RANDOM.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32).view(FLOAT),
    "coordinates": (RANDOM.normal(size=20_000) * 100).astype(FLOAT),
    "short decimals": np.round(RANDOM.normal(size=20_000) * 100, 3).astype(FLOAT),
    "powers of ten": (10.0 ** np.arange(-44, 39)).astype(FLOAT),
    "below powers of ten": np.nextafter((10.0 ** np.arange(-44, 39)).astype(FLOAT), FLOAT.type(0)),
    "powers of two": (2.0 ** np.arange(-149, 128)).astype(FLOAT),
    "zeros": np.array([0.0, -0.0] * 40, FLOAT),
}


@pytest.mark.parametrize("name", CASES)
def test_decimals_are_shortest_and_exact(name: str) -> None:
    array = CASES[name]
    numbers = array_to_json(array)
    assert array_from_json(numbers, FLOAT, None).tobytes() == array.tobytes()
    for number, value in zip(numbers, array, strict=True):
        if np.isfinite(value):
            assert repr(number) == repr(float(str(value)))
        else:
            assert isinstance(number, str)
