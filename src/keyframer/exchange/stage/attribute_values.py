"""Numbers in the attributes and texts of stage archives."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import STRUCT_SYNTAX
from keyframer.exchange.stage.xmltree import Element

Floats = npt.NDArray[np.float64]


def number(element: Element, name: str, default: float = 0.0) -> float:
    """A finite number in an attribute; the default where there is none."""
    text = element.get(name).strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        path = f"{element.path}/@{name}"
        raise STRUCT_SYNTAX.failure(element.offset, path, wanted="a finite number", found=repr(text[:40]))
    return value


def show_matrix(element: Element, units: float) -> Floats | None:
    """The ``Matrix`` of an element of a show: three axes and the origin, each a row; None where there is none."""
    child = element.child("Matrix")
    if child is None or not child.text.strip():
        return None
    rows = _rows(child, child.text, 4, 3)
    matrix = np.eye(4)
    matrix[:3] = rows.T
    matrix[:3, 3] *= units
    return matrix


def fixture_matrix(element: Element, units: float) -> Floats:
    """The ``Position`` of a geometry of a fixture: four rows of four, the translation in the last column."""
    text = element.get("Position").strip()
    if not text:
        return np.eye(4)
    matrix = _rows(element, text, 4, 4)
    matrix[:3, 3] *= units
    matrix[3] = (0.0, 0.0, 0.0, 1.0)
    return matrix


def _rows(element: Element, text: str, height: int, width: int) -> Floats:
    """Rows of numbers in braces."""
    rows = text.strip().strip("{}").replace(" ", "").split("}{")
    try:
        values = np.array([[float(word) for word in row.split(",")] for row in rows])
    except ValueError:
        values = np.empty(0)
    if values.shape != (height, width) or not np.all(np.isfinite(values)) or np.abs(values).max() > 1e100:
        wanted = f"{height} rows of {width} finite numbers in braces"
        raise STRUCT_SYNTAX.failure(element.offset, element.path, wanted=wanted, found=repr(text.strip()[:60]))
    return values
