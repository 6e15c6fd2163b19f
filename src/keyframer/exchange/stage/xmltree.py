"""Parses XML with expat, without DOCTYPE and within limits; reads numbers and matrices from elements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.parsers import expat

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import LIMIT_DEPTH, LIMIT_RECORDS, LINK_PARENT_CYCLE, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.limits import Limits

MOST_DEPTH = 256
"""maximum depth of elements: groups in shows may be nested to any depth, and the deepest real ones reach 12"""

_LONGEST_STEP = 60
"""maximum number of characters of a tag in a path"""


class Element:
    """An element: tag, attributes, children and text."""

    __slots__ = ("_parent", "_step", "attributes", "children", "offset", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None, step: str, offset: int) -> None:
        """``step`` is the last part of the path of the element."""
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""
        """its text, without that of its children"""
        self._parent = parent
        self._step = step
        self.offset = offset
        """byte offset of its start in the text"""

    @property
    def path(self) -> str:
        """Its path: ``description.xml/GDTF/FixtureType[0]/Models[0]/Model[2]``.

        It is computed on demand: the paths of all elements of a deep tree would be far longer than the text.
        """
        steps: list[str] = []
        element: Element | None = self
        while element is not None:
            steps.append(element._step)
            element = element._parent
        return "/".join(reversed(steps))

    def get(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default)

    def child(self, tag: str) -> Element | None:
        """Return the first child with this tag; None if there is none."""
        return next(self.all(tag), None)

    def all(self, *tags: str) -> Iterator[Element]:
        """Return the children with one of these tags, in order."""
        return (child for child in self.children if child.tag in tags)

    def child_text(self, tag: str) -> str:
        """Return the text of the first child with this tag, stripped; empty if there is none."""
        child = self.child(tag)
        return "" if child is None else child.text.strip()

    def walk(self) -> Iterator[Element]:
        """Yield the element and its descendants in document order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))

    def __repr__(self) -> str:
        return f"<{self.tag} of {self.path}>"


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


def parse(data: bytes, name: str, limits: Limits) -> Element:
    """Return the root element of an XML text; ``name`` is the start of all paths.

    Raises `FormatError` if it is not well formed, declares a DOCTYPE, or exceeds a limit.
    """
    return _Parser(name, limits).parse(data)


class _Parser:
    """Builds the tree of one XML text from the events of expat."""

    def __init__(self, name: str, limits: Limits) -> None:
        self._name = name
        self._limits = limits
        self._open: list[Element] = []
        self._counts: list[dict[str, int]] = [{}]
        self._texts: list[list[str]] = []
        self._root: Element | None = None
        self._elements = 0
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._characters
        self._expat.StartDoctypeDeclHandler = self._doctype

    def parse(self, data: bytes) -> Element:
        try:
            self._expat.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code).removeprefix("not well-formed ")
            raise self._failure(f"{reason} (line {error.lineno})", self._expat.ErrorByteIndex) from None
        except (ValueError, LookupError) as error:  # encodings that Python does not know
            raise self._failure(str(error), 0) from None
        assert self._root is not None  # expat refuses a text without any element
        return self._root

    def _failure(self, problem: str, offset: int) -> FormatError:
        path = self._open[-1].path if self._open else self._name
        return STRUCT_SYNTAX.failure(max(offset, 0), path, wanted="well-formed XML", found=problem)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        offset = self._expat.CurrentByteIndex
        self._elements += 1
        if self._elements > self._limits.records:
            raise LIMIT_RECORDS.failure(offset, self._name, limit=self._limits.records)
        if len(self._open) >= MOST_DEPTH:
            raise LIMIT_DEPTH.failure(offset, self._name, limit=MOST_DEPTH)
        siblings = self._counts[-1]
        number = siblings[tag] = siblings.get(tag, -1) + 1
        parent = self._open[-1] if self._open else None
        short = tag if len(tag) <= _LONGEST_STEP else f"{tag[:_LONGEST_STEP]}…"
        step = f"{self._name}/{short}" if parent is None else f"{short}[{number}]"
        element = Element(tag, attributes, parent, step, offset)
        if parent is None:
            self._root = element
        else:
            parent.children.append(element)
        self._open.append(element)
        self._counts.append({})
        self._texts.append([])

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        self._counts.pop()
        element.text = "".join(self._texts.pop())

    def _characters(self, text: str) -> None:
        self._texts[-1].append(text)

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        raise self._failure("a DOCTYPE, which is not allowed", self._expat.CurrentByteIndex)


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
