"""Small values as JSON and back, by their declared types."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest

from keyframer.inspecting.json_values import from_plain, to_plain


class Colour(Enum):
    RED = "r"
    GREEN = "g"


@dataclass(frozen=True)
class Inner:
    size: int
    colours: tuple[Colour, ...] = ()


@dataclass(frozen=True)
class Dialect:
    name: str
    big: bool
    inner: Inner
    ratio: float = 1.0
    magic: bytes = b""
    pair: tuple[int, int] | None = None
    kind: Literal["nul", "u8"] = "nul"


VALUES = [
    Dialect("a", True, Inner(3, (Colour.RED, Colour.GREEN)), 0.5, b"\x01\xff", (1, -2), "u8"),
    Dialect("", False, Inner(0)),
]


@pytest.mark.parametrize("value", VALUES)
def test_values_survive_json(value: Dialect) -> None:
    assert from_plain(to_plain(value), Dialect) == value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": 1}, "name: expected text"),
        ({"big": 1}, "big: expected true or false"),
        ({"inner": {"size": True, "colours": []}}, "inner: size: expected a whole number"),
        ({"inner": {"size": 1, "colours": ["BLUE"]}}, "expected one of RED, GREEN"),
        ({"inner": None}, "expected an object"),
        ({"magic": "xx"}, "hex digits"),
        ({"pair": [1]}, "expected a list of 2 values"),
        ({"pair": 3}, "expected a list"),
        ({"kind": "u16"}, "expected one of nul, u8"),
        ({"more": 1}, "unknown 'more'"),
    ],
)
def test_wrong_values_are_reported(change: dict[str, Any], words: str) -> None:
    plain = {**to_plain(VALUES[0]), **change}  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=words):
        from_plain(plain, Dialect)


def test_missing_values_and_unusual_types() -> None:
    with pytest.raises(ValueError, match="missing 'name'"):
        from_plain({}, Dialect)
    with pytest.raises(TypeError, match="cannot be written as JSON"):
        to_plain(object())
    assert from_plain(2, float) == 2.0
    with pytest.raises(ValueError, match="expected null"):
        from_plain(1, None)
