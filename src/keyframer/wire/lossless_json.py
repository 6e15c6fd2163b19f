"""Converts wire numbers to JSON values and back without losing a bit.

A float32 becomes the shortest decimal that reads back to it; numbers that JSON does not support become text: ``"inf"``,
``"-inf"``, ``"nan"`` for the usual quiet NaN and ``"nan:7fa00001"`` (its bits) for every other NaN.
"""

from __future__ import annotations

import struct
from itertools import chain
from typing import Any

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.text import counted

_QUIET_NAN = {4: 0x7FC00000, 8: 0x7FF8000000000000}
_POWERS = np.array([float(f"1e{power}") for power in range(23)])
_SINGLE = struct.Struct("<f")
_BITS: dict[int, np.dtype[Any]] = {4: np.dtype("<u4"), 8: np.dtype("<u8")}


def array_to_json(array: Array) -> list[Any]:
    """Return the array as a list, or as a list of rows, with text for non-finite floats; rows with named columns are
    objects."""
    names = array.dtype.names
    if names:
        columns = [array_to_json(array[name]) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    if array.dtype.kind != "f":
        plain: list[Any] = array.tolist()
        return plain
    # Little endian, because `_non_finite_to_json` inspects the bits.
    flat = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
    numbers: list[Any] = (_shortest(flat) if flat.dtype.itemsize == 4 else flat).tolist()
    for index in np.flatnonzero(~np.isfinite(flat)):
        numbers[index] = _non_finite_to_json(flat[index : index + 1])
    return _nest(numbers, array.shape)


def _shortest(singles: Array) -> Floats:
    """Return the doubles whose ``repr`` is the shortest decimal that reads back to each float32.

    Every decimal of six digits survives float32, so six digits are tried first, then seven and eight; the remaining
    numbers need nine. The digits and the power of ten are exact, and their quotient or product is rounded once, so the
    double is the one nearest to the decimal. Numbers outside 1e-13..1e22 would need powers of ten that are not exact
    doubles: numpy prints these, which is slower.
    """
    if len(singles) < 64:  # for few numbers the vectors below cost more than they save
        return np.array([_shortest_of(number) for number in singles.tolist()], np.float64)
    with np.errstate(invalid="ignore"):  # signalling NaN
        doubles: Floats = singles.astype(np.float64)
    size = np.abs(doubles)
    todo = np.flatnonzero((size >= 1e-13) & (size <= 1e22))
    slow = np.flatnonzero((size != 0) & ((size < 1e-13) | (size > 1e22)) & np.isfinite(size))
    exponent = np.floor(np.log10(size[todo])).astype(np.int64)
    for digits in (6, 7, 8, 9):
        numbers = doubles[todo]
        places = digits - 1 - exponent
        factor = _POWERS[np.abs(places)]
        with np.errstate(over="ignore"):
            decimals = np.where(places >= 0, np.rint(numbers * factor) / factor, np.rint(numbers / factor) * factor)
            exact = decimals.astype(np.float32) == singles[todo]
        doubles[todo[exact]] = decimals[exact]
        todo, exponent = todo[~exact], exponent[~exact]
    for index in (*todo.tolist(), *slow.tolist()):
        doubles[index] = float(str(singles[index]))
    return doubles


def _shortest_of(single: float) -> float:
    """Return the shortest decimal of one number. Printing it with numpy takes ten times as long as with six digits."""
    six = float(f"{single:.6g}")
    if six == single or (abs(single) > 1e-30 and _SINGLE.unpack(_SINGLE.pack(six))[0] == single):
        return six
    return float(str(np.float32(single)))


def _nest(flat: list[Any], shape: tuple[int, ...]) -> list[Any]:
    if len(shape) == 1:
        return flat
    if len(shape) != 2:
        raise ValueError(f"expected an array of 1 or 2 dimensions, not {len(shape)}")
    width = shape[1]
    return [flat[start : start + width] for start in range(0, shape[0] * width, width)] if width else [[]] * shape[0]


def _non_finite_to_json(number: Array) -> str:
    """Return the text for an array of one number."""
    if np.isinf(number[0]):
        return "inf" if number[0] > 0 else "-inf"
    size = number.dtype.itemsize
    bits = int(number.view(_BITS[size])[0])
    return "nan" if bits == _QUIET_NAN[size] else f"nan:{bits:0{2 * size}x}"


def array_from_json(value: object, dtype: np.dtype[Any], width: int | None) -> Array:
    """Return the array that `array_to_json` wrote; raises ValueError if a value does not fit."""
    if not isinstance(value, list):
        raise ValueError(f"expected a list, not {_kind_of(value)}")
    if dtype.names:
        return _table_from_json(value, dtype, dtype.names)
    rows = value
    if width is not None:
        if set(map(type, rows)) - {list} or set(map(len, rows)) - {width}:
            wrong = (at for at, row in enumerate(rows) if not isinstance(row, list) or len(row) != width)
            raise ValueError(f"entry {next(wrong)}: expected a list of {counted(width, 'number')}")
        flat = list(chain.from_iterable(rows))
    else:
        flat = rows
    array = _from_numbers(flat, dtype)
    return array if width is None else array.reshape(len(rows), width)


def _table_from_json(value: list[Any], dtype: np.dtype[Any], names: tuple[str, ...]) -> Array:
    for index, row in enumerate(value):
        if not isinstance(row, dict) or set(row) != set(names):
            raise ValueError(f"row {index}: expected an object with {', '.join(names)}")
    rows = np.zeros(len(value), dtype)
    for name in names:
        column = dtype[name]
        try:
            width = column.shape[0] if column.shape else None
            rows[name] = array_from_json([row[name] for row in value], column.base, width)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return rows


def _from_numbers(flat: list[Any], dtype: np.dtype[Any]) -> Array:
    kinds = set(map(type, flat))
    if dtype.kind != "f":
        if kinds <= {int} and (not flat or _fits(min(flat), max(flat), dtype)):
            return np.array(flat, dtype)
        return np.array([integer_from_json(number, dtype, f"entry {at}: ") for at, number in enumerate(flat)], dtype)
    plain = kinds <= {int, float}
    texts = {} if plain else {at: number for at, number in enumerate(flat) if type(number) not in (int, float)}
    for at, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"entry {at}: expected a number, not {_kind_of(text)}")
    numbers = [0.0 if at in texts else number for at, number in enumerate(flat)] if texts else flat
    try:
        with np.errstate(over="ignore"):
            array: Array = np.array(numbers, dtype)
    except OverflowError:  # an integer beyond the range of any float
        at = next(at for at, number in enumerate(numbers) if type(number) is int and abs(number) > 1 << 1023)
        raise ValueError(f"entry {at}: the number does not fit a float of {dtype.itemsize} bytes") from None
    for at in np.flatnonzero(~np.isfinite(array)).tolist():
        raise ValueError(f"entry {at}: {flat[at]} does not fit a float of {dtype.itemsize} bytes")
    bits: Array = array.view(_BITS[dtype.itemsize])
    for at, text in texts.items():
        try:
            bits[at] = _non_finite_from_json(text, dtype.itemsize)
        except ValueError as error:
            raise ValueError(f"entry {at}: {error}") from None
    return array


def _non_finite_from_json(text: str, size: int) -> int:
    """Return the bits of a float of ``size`` bytes."""
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
    raise ValueError(f'expected a number, "inf", "-inf", "nan" or "nan:<{2 * size} hex digits>", not {text!r}')


def integer_from_json(value: object, dtype: np.dtype[Any], where: str = "") -> int:
    """Return the value if it is an integer that fits ``dtype``; raises ValueError, beginning with ``where``, if not."""
    if type(value) is not int:
        raise ValueError(f"{where}expected a whole number, not {_kind_of(value)}")
    if not _fits(value, value, dtype):
        info = np.iinfo(dtype)
        raise ValueError(f"{where}{value} is outside {info.min}..{info.max}")
    return value


def _fits(low: int, high: int, dtype: np.dtype[Any]) -> bool:
    info = np.iinfo(dtype)
    return bool(info.min <= low and high <= info.max)


def _kind_of(value: object) -> str:
    names = {
        bool: "true/false",
        dict: "an object",
        list: "a list",
        str: "text",
        type(None): "null",
        float: "a decimal number",
    }
    return names.get(type(value), "a number")
