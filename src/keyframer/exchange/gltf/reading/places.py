"""Where in the file a value of the JSON text stands: from a path such as ``/accessors[3]/count`` to a byte."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBERED = re.compile(r"(.*)\[(\d{1,15})\]\Z", re.DOTALL)
_decode = json.JSONDecoder().raw_decode

Key = str | int


class Places:
    """Answers for a text that was parsed already. A list or object is gone through once, when something in it is first
    asked for, so that all answers together cost about as much as a few parsings."""

    def __init__(self, text: str, offset: int) -> None:
        """``offset`` is where in the file the text begins."""
        self._text = text
        self._offset = offset
        self._plain = text.isascii()
        self._inside: dict[int, dict[Key, int]] = {}

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

    def _byte(self, at: int) -> int:
        return self._offset + (at if self._plain else len(self._text[:at].encode()))

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
            place = self._skip(_decode(text, place)[1])
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
