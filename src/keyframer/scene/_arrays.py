"""Array types for the scene classes, and the checks of their constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.curves.lazy_fields import Lazy
from keyframer.text import counted

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Extras = dict[str, Any]
"""Data that the model cannot store, under the id of the format: ``{"3ds": {...}}``."""

Shape = tuple[int | None, ...]
"""expected shape of an array; None matches any length"""


def check_arrays(part: Any, shapes: Mapping[str, Shape], *, integers: bool = False) -> None:
    """Convert lists to arrays of floats, or of ``integers``; raises ValueError for a wrong shape, or for
    values that are not numbers.

    Fields that are None, and lazy fields that do not exist yet, are skipped.
    """
    for name, shape in shapes.items():
        value = getattr(part, name)
        kind = type(value)
        if value is None or kind is Lazy or (kind is np.ndarray and value.shape == shape):
            continue
        if isinstance(value, (list, tuple)):
            value = _array(part, name, value, integers=integers)
            setattr(part, name, value)
        actual_shape = getattr(value, "shape", None)
        if actual_shape is None or actual_shape == shape:
            continue
        if len(actual_shape) != len(shape) or any(
            size not in (None, actual_size) for size, actual_size in zip(shape, actual_shape, strict=True)
        ):
            raise invalid_field(part, name, describe_shape(shape), describe_shape(actual_shape))


def check_links(part: Any, links: Mapping[str, str]) -> None:
    """Raise ValueError unless the links of a part are integers or None; ``links`` says what each field refers to."""
    for name, kind in links.items():
        value = getattr(part, name)
        if value is not None and type(value) is not int and not isinstance(value, np.integer):
            raise invalid_field(part, name, f"the index of {kind} in the scene", repr(value))


def check_color(part: Any, name: str) -> None:
    """Raise ValueError unless a colour is None or has three components."""
    value = getattr(part, name)
    if value is not None and (isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 3):
        raise invalid_field(part, name, "red, green and blue from 0 to 1", repr(value))


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


def _array(part: Any, name: str, value: Sequence[Any], *, integers: bool) -> Array:
    try:
        return np.array(value, np.int64 if integers else np.float64)
    except (TypeError, ValueError):
        raise invalid_field(part, name, "numbers", str(value)[:60]) from None


def describe_shape(shape: Shape) -> str:
    """Return a shape in words: ``3 numbers`` or ``n x 3``."""
    if len(shape) == 1 and shape[0] is not None:
        return counted(shape[0], "number")
    return " x ".join("n" if size is None else str(size) for size in shape) or "a single number"
