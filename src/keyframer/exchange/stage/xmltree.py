"""Goes through the elements of XML texts; reads numbers and matrices from them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import LINK_PARENT_CYCLE, STRUCT_SYNTAX
from keyframer.wire.xml_tree import Element


class Walk:
    """Goes through elements and those that they refer to, each with the number of its parent, without recursion."""

    def __init__(self, elements: Iterator[Element], parent: int | None) -> None:
        self._waiting: list[tuple[Iterator[Element], int | None, Element | None]] = [(elements, parent, None)]
        self._open: set[Element | None] = set()

    def __iter__(self) -> Iterator[tuple[Element, int | None]]:
        while self._waiting:
            elements, parent, owner = self._waiting[-1]
            element = next(elements, None)
            if element is None:
                self._open.discard(owner)
                self._waiting.pop()
            else:
                yield element, parent

    def refuse_cycle(self, element: Element, referenced: Element, name: str) -> None:
        """Raise `FormatError` if an element refers to one that contains it."""
        if referenced in self._open:
            raise LINK_PARENT_CYCLE.failure(element.offset, element.path, name=name)

    def descend(self, owner: Element, elements: Iterator[Element], number: int) -> None:
        """Go through the elements in ``owner``, whose node is ``number``, next."""
        self._open.add(owner)
        self._waiting.append((elements, number, owner))


def number(element: Element, name: str, default: float = 0.0) -> float:
    """Return a number from an attribute, the default if it is missing; raises `FormatError` if it is not finite."""
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


def show_matrix(element: Element) -> Floats | None:
    """Return the ``Matrix`` of an element of a show: four rows of three, the axes and the origin; None if missing."""
    child = element.child("Matrix")
    if child is None or not child.text.strip():
        return None
    rows = _rows(child, child.text, 4, 3)
    matrix = np.eye(4)
    matrix[:3] = rows.T
    return matrix


def fixture_matrix(element: Element, translation_factor: float) -> Floats:
    """Return the ``Position`` of a geometry of a fixture: four rows of four, the translation in the last column; the
    identity if it is missing.

    The translation is multiplied by ``translation_factor``.
    """
    text = element.get("Position").strip()
    if not text:
        return np.eye(4)
    matrix = _rows(element, text, 4, 4)
    matrix[:3, 3] *= translation_factor
    matrix[3] = (0.0, 0.0, 0.0, 1.0)
    return matrix


def _rows(element: Element, text: str, height: int, width: int) -> Floats:
    """Return rows of numbers in braces; raises `FormatError` if the text has another form."""
    rows = text.strip().strip("{}").replace(" ", "").split("}{")
    try:
        values = np.array([[float(word) for word in row.split(",")] for row in rows])
    except ValueError:
        values = np.empty(0)
    if values.shape != (height, width) or not np.all(np.isfinite(values)) or np.abs(values).max() > 1e100:
        expected = f"{height} rows of {width} numbers up to 1e100 in braces"
        raise STRUCT_SYNTAX.failure(element.offset, element.path, wanted=expected, found=repr(text.strip()[:60]))
    return values
