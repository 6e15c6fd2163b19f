"""Array types for the scene classes, and the checks of their constructors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.curves.lazy_fields import Lazy
from keyframer.limits import is_budget_open
from keyframer.text import counted

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Extras = dict[str, Any]
"""Data that the model cannot store, under the id of the format: ``{"3ds": {...}}``."""

Shape = tuple[int | None, ...]
"""expected shape of an array; None matches any length"""


def check_arrays(part: Any, shapes: Mapping[str, Shape], *, integers: bool = False) -> None:
    """Convert fields to arrays of floats, or of ``integers``; raises ValueError for a wrong shape, or for values that
    are not numbers, or not whole numbers.

    Arrays of the right kind stay the same objects. Fields that are None, and lazy fields that do not exist yet, are
    skipped.
    """
    kinds = "iu" if integers else "f"
    for name, shape in shapes.items():
        value = getattr(part, name)
        if value is None or type(value) is Lazy:
            continue
        if type(value) is not np.ndarray or value.dtype.kind not in kinds:
            value = _array(part, name, value, integers=integers)
            setattr(part, name, value)
        if value.shape != shape and (
            len(value.shape) != len(shape)
            or any(size not in (None, actual) for size, actual in zip(shape, value.shape, strict=True))
        ):
            raise invalid_field(part, name, describe_shape(shape), describe_shape(value.shape))


def check_links(part: Any, links: Mapping[str, str]) -> None:
    """Raise ValueError unless the links of a part are integers or None; ``links`` says what each field refers to."""
    for name, kind in links.items():
        value = getattr(part, name)
        if value is not None and type(value) is not int and not isinstance(value, np.integer):
            raise invalid_field(part, name, f"the index of {kind} in the scene", repr(value))


def check_numbers(part: Any, lengths: Mapping[str, int]) -> None:
    """Convert fields to tuples of numbers; raises ValueError unless they are None or have the expected length."""
    for name, length in lengths.items():
        value = getattr(part, name)
        if type(value) is tuple and len(value) == length and all(type(number) is float for number in value):
            continue
        if value is not None:
            array = _array(part, name, value, integers=False)
            if array.shape != (length,):
                raise invalid_field(part, name, counted(length, "number"), repr(value))
            setattr(part, name, tuple(array.tolist()))


def check_color(part: Any, name: str) -> None:
    """Convert a colour to a tuple; raises ValueError unless it is None or has three components."""
    try:
        check_numbers(part, {name: 3})
    except ValueError:
        raise invalid_field(part, name, "red, green and blue from 0 to 1", repr(getattr(part, name))) from None


def check_choice(part: Any, name: str, choices: type[Enum]) -> None:
    """Raise ValueError unless a value is a member of an enumeration."""
    value = getattr(part, name)
    if type(value) is not choices:
        near = next((f"; did you mean {member}?" for member in choices if member.value == value), "")
        raise invalid_field(part, name, f"a {choices.__name__}", f"{value!r}{near}")


def invalid_field(part: Any, field: str, expected: str, actual: str) -> ValueError:
    """Return the ValueError for a field with an unexpected value."""
    name = f" {part.name!r}" if hasattr(part, "name") else ""
    return ValueError(f"{type(part).__name__}{name}: {field} must be {expected}, not {actual}")


def _array(part: Any, name: str, value: npt.ArrayLike, *, integers: bool) -> Array:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" and array.size:
            raise TypeError
        with np.errstate(invalid="ignore"):  # NaN is not a whole number: refused below
            converted = array.astype(np.int64 if integers else np.float64)
    except (TypeError, ValueError, OverflowError):
        raise invalid_field(part, name, "numbers", str(value)[:60]) from None
    if integers and array.dtype.kind == "f" and not (converted == array).all():
        raise invalid_field(part, name, "whole numbers", str(value)[:60])
    return converted


def describe_shape(shape: Shape) -> str:
    """Return a shape in words: ``3 numbers`` or ``n x 3``."""
    if len(shape) == 1 and shape[0] is not None:
        return counted(shape[0], "number")
    return " x ".join("n" if size is None else str(size) for size in shape) or "a single number"


def refuse(part: Any, faults: Iterator[str]) -> None:
    """Raise ValueError for the first fault of a part that a program makes. Parts made in the work on a file may contain
    whatever the file contains: its reader reports that.
    """
    if not is_budget_open():
        for fault in faults:
            raise ValueError(f"{type(part).__name__} {part.name!r}: {fault}")


def wrong_shape(name: str, values: npt.ArrayLike, expected: Shape) -> Iterator[str]:
    """Yield a message if an array does not have the expected shape; None as the first length matches any length."""
    shape = np.shape(values)
    if shape[1:] != expected[1:] or len(shape) != len(expected) or expected[0] not in (None, shape[0]):
        yield f"{name} must be {describe_shape(expected)}, not {describe_shape(shape)}"


def out_of_range(name: str, indices: npt.ArrayLike, count: int, kind: str, lowest: int = 0) -> Iterator[str]:
    """Yield a message if an index is out of range."""
    array = np.asarray(indices)
    if array.size and not lowest <= int(array.min()) <= int(array.max()) < count:
        wrong = int(array.max()) if int(array.max()) >= count else int(array.min())
        yield f"{name} refer to index {wrong}, but the number of {kind} is {count} (indices start at 0)"
