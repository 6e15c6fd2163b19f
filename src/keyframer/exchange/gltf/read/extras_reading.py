"""Unpacks extras: arrays, fields of dataclasses, raw names. Their content is not trusted."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np

from keyframer.arrays import Array
from keyframer.catalogue import STRUCT_COUNT_EXCEEDS_DATA, STRUCT_SYNTAX
from keyframer.exchange.gltf.read.json_text import Item, described
from keyframer.limits import Budget

_TYPES = ("<f4", "<f8", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "|b1")
_MOST_EXPANSION = 1100
"""maximum number of bytes that zlib can make from one byte"""


def array(item: Item, name: str, budget: Budget, *, kind: type = float) -> Array | None:
    """Return the numbers under a name, packed or listed; null becomes NaN, or 0 if ``kind`` is int.

    Returns None if the name is missing.
    """
    if not item.has(name):
        return None
    value = item.value[name]
    if type(value) is dict:
        return _unpacked(Item(value, item.at(name)), budget).astype(kind)
    if type(value) is not list:
        raise item.wrong(name, "numbers", value)
    rows = value if value and type(value[0]) is list else [value]
    width = len(rows[0])
    for row in rows:
        if type(row) is not list or len(row) != width:
            raise item.wrong(name, f"rows of {width} numbers", row)
        for number in row:
            is_nested = type(number) is list and kind is float and len(number) <= 16
            if type(number) not in (int, float, type(None), bool) and not is_nested:
                raise item.wrong(name, "numbers", number)
    budget.spend("copies", len(rows) * max(width, 1), item.at(name))
    try:
        with np.errstate(all="ignore"):
            numbers = np.array(value, np.float64)  # None becomes NaN
            return numbers if kind is float else np.nan_to_num(numbers).astype(kind)
    except (ValueError, TypeError, OverflowError):
        raise item.fail(STRUCT_SYNTAX, name, wanted="numbers", found="something else") from None


def _unpacked(item: Item, budget: Budget) -> Array:
    dtype = np.dtype(item.choice("dtype", _TYPES))
    shape = [int(length) for length in item.numbers("shape", None)]
    if len(shape) > 4 or any(length < 0 or length > 1 << 40 for length in shape):
        raise item.fail(STRUCT_SYNTAX, "shape", wanted="up to 4 valid lengths", found=f"{shape[:5]}")
    count = int(np.prod(shape, dtype=object)) if shape else 1
    try:
        content = base64.b64decode(item.text("zlib"), validate=True)
    except (binascii.Error, ValueError):
        raise item.fail(STRUCT_SYNTAX, "zlib", wanted="base64", found="other characters") from None
    size = count * dtype.itemsize
    if size > _MOST_EXPANSION * len(content):
        available = _MOST_EXPANSION * len(content) // dtype.itemsize
        args = {"count": count, "size": dtype.itemsize, "left": len(content), "available": available}
        raise item.fail(STRUCT_COUNT_EXCEEDS_DATA, "shape", **args)
    budget.spend("copies", count, item.at("shape"))
    try:
        unpacked = zlib.decompressobj().decompress(content, size + 1)
    except zlib.error:
        raise item.fail(STRUCT_SYNTAX, "zlib", wanted="a zlib stream", found="other bytes") from None
    if len(unpacked) != size:
        raise item.fail(STRUCT_SYNTAX, "zlib", wanted=f"{size} bytes", found=f"{len(unpacked)}")
    return np.frombuffer(unpacked, dtype).reshape(shape)


def number(item: Item, name: str, default: float) -> float:
    """Return a number; the default if it is missing or null."""
    return default if item.value.get(name) is None else item.number(name)


def restore(target: Any, item: Item, numbers: str = "", flags: str = "", texts: str = "") -> None:
    """Set the named attributes of a dataclass from extras; names are separated by spaces."""
    for name in numbers.split():
        if item.value.get(name) is not None:
            setattr(target, name, item.number(name))
    for name in flags.split():
        if item.has(name):
            setattr(target, name, item.flag(name))
    for name in texts.split():
        if item.value.get(name) is not None:
            setattr(target, name, item.text(name))


def triple(item: Item, name: str) -> tuple[float, float, float] | None:
    """Return a point or a colour; None if it is missing or contains a null."""
    if item.value.get(name) is None or None in item.entries(name):
        return None
    x, y, z = item.numbers(name, 3)
    return x, y, z


def raw_name(extras: Item | None, name: object) -> bytes | None:
    """Return the original bytes of a name; None if there are none, or if the part is no longer called ``name``."""
    if extras is None or not extras.has("raw_name") or extras.value.get("name") != name:
        return None
    try:
        return bytes.fromhex(extras.text("raw_name"))
    except ValueError:
        value = described(extras.value["raw_name"])
        raise extras.fail(STRUCT_SYNTAX, "raw_name", wanted="hex digits", found=value) from None


def format_extras(item: Item | None) -> dict[str, Any]:
    """Return the extras of the original format as plain values."""
    extras = None if item is None else item.value.get("extras")
    return dict(extras) if type(extras) is dict else {}
