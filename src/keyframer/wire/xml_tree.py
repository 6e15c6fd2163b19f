"""XML texts: parsed with expat, without DOCTYPE and within limits; every element knows its byte offset."""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from keyframer.catalogue import LIMIT_DEPTH, LIMIT_RECORDS, STRUCT_SYNTAX
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
