"""Where in the file a value of the JSON text stands: from a path such as ``/accessors[3]/count`` to a byte."""

from __future__ import annotations

import json
import re
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]

import numpy as np
import numpy.typing as npt

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBERED = re.compile(r"(.*)\[(\d{1,15})\]\Z", re.DOTALL)
_decode = json.JSONDecoder().raw_decode

Key = str | int
Span = tuple[int, int]
"""first byte and end"""


class Places:
    """Answers for a text that was parsed already. A list or object is gone through once, when something in it is first
    asked for, so that all answers together cost about as much as a few parsings."""

    def __init__(self, text: str, offset: int) -> None:
        """``offset`` is where in the file the text begins."""
        self._text = text
        self._offset = offset
        self._plain = text.isascii()
        self._inside: dict[int, dict[Key, int]] = {}
        self._ends: dict[int, int] = {}
        """of the values in what was gone through, by where they begin"""

    def find(self, path: str) -> int:
        """The byte at which the value of the path begins, or the innermost one around it that there is."""
        at = self._skip(0)
        for part in path.split("/")[1:]:
            for key in _keys(part, self._children(at)):
                found = self._children(at).get(key)
                if found is None:
                    return self._byte(at)
                at = found
        return self._byte(at)

    def span(self, path: str) -> Span | None:
        """First byte and end of the value of a path; None where there is no such value."""
        at = self._exactly(path)
        return None if at is None else self._span(at)

    def entries(self, path: str) -> dict[Key, Span]:
        """The spans of all values in a list or an object; nothing where there is none of this path."""
        at = self._exactly(path)
        return {} if at is None else {key: self._span(place) for key, place in self._children(at).items()}

    def _exactly(self, path: str) -> int | None:
        at = self._skip(0)
        for part in path.split("/")[1:] if path != "/" else ():
            for key in _keys(part, self._children(at)):
                found = self._children(at).get(key)
                if found is None:
                    return None
                at = found
        return at

    def _span(self, at: int) -> Span:
        end = self._ends.get(at)
        return self._byte(at), self._byte(_decode(self._text, at)[1] if end is None else end)

    def _byte(self, at: int) -> int:
        return self._offset + (at if self._plain else int(self._bytes[at]))

    @cached_property
    def _bytes(self) -> npt.NDArray[np.int64]:
        """Where each character begins: made once, because counting up to each would be quadratic."""
        stored = np.frombuffer(self._text.encode(), np.uint8)
        return np.append(np.flatnonzero(stored & 0xC0 != 0x80), len(stored))

    def _skip(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        return at if found is None else found.end()

    def _children(self, at: int) -> dict[Key, int]:
        if at not in self._inside:
            begin = self._text[at : at + 1]
            self._inside[at] = self._scan(at, is_object=begin == "{") if begin in ("{", "[") else {}
        return self._inside[at]

    def _scan(self, at: int, *, is_object: bool) -> dict[Key, int]:
        """Where each entry begins; of two with one name the later, which is the one that counts."""
        found: dict[Key, int] = {}
        text, place = self._text, self._skip(at + 1)
        while text[place] not in "}]":
            key: Key = len(found)
            if is_object:
                key, place = scanstring(text, place + 1, True)
                place = self._skip(self._skip(place) + 1)  # behind the colon
            found[key] = place
            self._ends[place] = end = _decode(text, place)[1]
            place = self._skip(end)
            if text[place] == ",":
                place = self._skip(place + 1)
        return found


def _keys(part: str, there: dict[Key, int]) -> list[Key]:
    """``count`` is one step, ``accessors[3]`` two, unless something is called so."""
    if part in there:
        return [part]
    numbers: list[Key] = []
    while match := _NUMBERED.match(part):
        part = match[1]
        numbers.insert(0, int(match[2]))
    return [part, *numbers]
