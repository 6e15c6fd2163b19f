"""Numbers of the wire as JSON values and back, without losing a bit.

A float32 becomes the shortest decimal that reads back to it; what JSON has no number for becomes text: ``"inf"``,
``"-inf"``, ``"nan"`` for the usual quiet NaN and ``"nan:7fa00001"`` (its bits) for every other one.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

_QUIET_NAN = {4: 0x7FC00000, 8: 0x7FF8000000000000}
_BITS: dict[int, np.dtype[Any]] = {4: np.dtype("<u4"), 8: np.dtype("<u8")}


def array_to_json(array: npt.NDArray[Any]) -> list[Any]:
    """Nested lists of numbers (of text, where a float is not finite)."""
    if array.dtype.kind != "f":
        plain: list[Any] = array.tolist()
        return plain
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.itemsize == 4:
        numbers: list[Any] = [float(text) for text in flat.astype("U")]
    else:
        numbers = flat.tolist()
    for index in np.flatnonzero(~np.isfinite(flat)):
        numbers[index] = _odd_to_json(flat[index : index + 1])
    return _nest(numbers, array.shape)


def _nest(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return flat
    if len(shape) != 2:
        raise ValueError("only rows of numbers are dumped")
    width = shape[1]
    return (
        [flat[start : start + width] for start in range(0, shape[0] * width, width)]
        if width
        else [[]] * shape[0]
    )


def _odd_to_json(one: npt.NDArray[Any]) -> str:
    if np.isinf(one[0]):
        return "inf" if one[0] > 0 else "-inf"
    size = one.dtype.itemsize
    bits = int(one.view(_BITS[size])[0])
    return "nan" if bits == _QUIET_NAN[size] else f"nan:{bits:0{2 * size}x}"


def array_from_json(value: object, dtype: np.dtype[Any], width: int | None) -> npt.NDArray[Any]:
    """The array behind `array_to_json`; ValueError where the value does not fit."""
    if not isinstance(value, list):
        raise ValueError(f"a list is wanted, not {_kind_of(value)}")
    rows = value
    if width is not None:
        for index, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != width:
                raise ValueError(f"entry {index}: a list of {width} numbers is wanted")
        flat = [number for row in rows for number in row]
    else:
        flat = rows
    array = _from_numbers(flat, dtype)
    return array if width is None else array.reshape(len(rows), width)


def _from_numbers(flat: list[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype.kind != "f":
        return np.array(
            [integer_from_json(number, dtype, f"entry {at}: ") for at, number in enumerate(flat)], dtype
        )
    odd = {at: number for at, number in enumerate(flat) if type(number) not in (int, float)}
    for at, text in odd.items():
        if not isinstance(text, str):
            raise ValueError(f"entry {at}: a number is wanted, not {_kind_of(text)}")
    with np.errstate(over="ignore"):
        array: npt.NDArray[Any] = np.array(
            [0.0 if at in odd else number for at, number in enumerate(flat)], dtype
        )
    for at in np.flatnonzero(~np.isfinite(array)).tolist():
        raise ValueError(f"entry {at}: {flat[at]} does not fit a float of {dtype.itemsize} bytes")
    bits: npt.NDArray[Any] = array.view(_BITS[dtype.itemsize])
    for at, text in odd.items():
        bits[at] = _odd_from_json(text, dtype.itemsize)
    return array


def _odd_from_json(text: str, size: int) -> int:
    if text in ("inf", "-inf"):
        layout = {4: ("<f", "<I"), 8: ("<d", "<Q")}[size]
        return int(struct.unpack(layout[1], struct.pack(layout[0], float(text)))[0])
    if text == "nan":
        return _QUIET_NAN[size]
    if text.startswith("nan:") and len(text) == 4 + 2 * size:
        try:
            return int(text[4:], 16)
        except ValueError:
            pass
    raise ValueError(
        f'a number, "inf", "-inf", "nan" or "nan:<{2 * size} hex digits>" is wanted, not {text!r}'
    )


def integer_from_json(value: object, dtype: np.dtype[Any], where: str = "") -> int:
    """An integer that fits ``dtype``."""
    if type(value) is not int:
        raise ValueError(f"{where}a whole number is wanted, not {_kind_of(value)}")
    info = np.iinfo(dtype)
    if not info.min <= value <= info.max:
        raise ValueError(f"{where}{value} is outside {info.min}..{info.max}")
    return value


def _kind_of(value: object) -> str:
    names = {
        bool: "true/false",
        dict: "an object",
        list: "a list",
        str: "text",
        type(None): "null",
        float: "a fraction",
    }
    return names.get(type(value), "a number")
