"""Array types for the scene classes, and the checks of their constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.curves.lazy_fields import Lazy

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Extras = dict[str, Any]
"""Data that the model cannot store, under the id of the format: ``{"3ds": {...}}``."""

Shape = tuple[int | None, ...]
"""expected shape of an array; None matches any length"""


def check_arrays(part: Any, shapes: Mapping[str, Shape], *, whole: bool = False) -> None:
    """Convert lists to arrays; raises ValueError if one has the wrong shape. ``whole``: arrays of integers.

    Fields that are not set, and lazy fields that do not exist yet, are skipped.
    """
    for name, shape in shapes.items():
        value = getattr(part, name)
        kind = type(value)
        if value is None or kind is Lazy or (kind is np.ndarray and value.shape == shape):
            continue
        if isinstance(value, (list, tuple)):
            value = _array(part, name, value, whole=whole)
            setattr(part, name, value)
        shape_found = getattr(value, "shape", None)
        if shape_found is None or shape_found == shape:
            continue
        if len(shape_found) != len(shape) or any(
            size not in (None, actual) for size, actual in zip(shape, shape_found, strict=True)
        ):
            raise wrong(part, name, describe_shape(shape), describe_shape(shape_found))


def check_links(part: Any, links: Mapping[str, str]) -> None:
    """Raise ValueError unless the links of a part are indices; ``links`` says what each of its fields refers to."""
    for name, of in links.items():
        value = getattr(part, name)
        if value is not None and type(value) is not int and not isinstance(value, np.integer):
            raise wrong(part, name, f"the index of {of} in the scene", repr(value))


def check_color(part: Any, name: str) -> None:
    """Raise ValueError unless a colour is None or has three numbers."""
    value = getattr(part, name)
    if value is not None and (isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 3):
        raise wrong(part, name, "red, green and blue from 0 to 1", repr(value))


def check_choice(part: Any, name: str, choices: type[Enum]) -> None:
    """Raise ValueError unless a value is a member of an enumeration."""
    value = getattr(part, name)
    if type(value) is not choices:
        near = next((f"; did you mean {member}?" for member in choices if member.value == value), "")
        raise wrong(part, name, f"a {choices.__name__}", f"{value!r}{near}")


def wrong(part: Any, field: str, wanted: str, found: str) -> ValueError:
    """Return the ValueError for a field with an unexpected value."""
    shown = f" {part.name!r}" if hasattr(part, "name") else ""
    return ValueError(f"{type(part).__name__}{shown}: {field} must be {wanted}, not {found}")


def _array(part: Any, name: str, value: Sequence[Any], *, whole: bool) -> Array:
    try:
        return np.array(value, np.int64 if whole else np.float64)
    except (TypeError, ValueError):
        raise wrong(part, name, "numbers", str(value)[:60]) from None


def describe_shape(shape: Shape) -> str:
    """Return a shape in words: ``3 numbers`` or ``n x 3``."""
    if len(shape) == 1 and shape[0] is not None:
        return f"{shape[0]} number{'' if shape[0] == 1 else 's'}"
    return " x ".join("n" if size is None else str(size) for size in shape) or "a single number"
