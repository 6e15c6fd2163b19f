"""JSON values with their locations: fields are checked when they are read, and issues have a byte offset.

`Places` finds the byte of a path such as ``/accessors[3]/count``; `Findings` collects issues and decides whether a
broken part is left out; `Sources` has what a scene does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, ParamSpec, TypeVar

import numpy as np

from keyframer.arrays import Ints
from keyframer.catalogue import (
    CATALOGUE,
    LINK_INDEX_OUT_OF_RANGE,
    SEM_UNKNOWN_ENUM,
    STRUCT_CHUNK_MISSING,
    STRUCT_SYNTAX,
)
from keyframer.errors import FormatError
from keyframer.issues import Issue, IssueLog, IssueType, Severity
from keyframer.limits import Limits

LARGEST_INTEGER = 2**53
_LARGEST_FLOAT = 1.7e308


class Item:
    """An object of the JSON text and its path, such as ``/accessors[3]``. With salvage, a value that is not the
    expected list or object is reported to ``findings`` and left out.
    """

    __slots__ = ("findings", "path", "value")

    def __init__(self, value: dict[str, Any], path: str, findings: Findings | None = None) -> None:
        self.value = value
        self.path = path
        self.findings = findings

    def at(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path != "/" else f"/{name}"

    def fail(self, kind: IssueType, name: str, /, **args: object) -> FormatError:
        return kind.failure(0, self.at(name), **args)

    def wrong(self, name: str, wanted: str, found: object) -> FormatError:
        return self.fail(STRUCT_SYNTAX, name, wanted=wanted, found=described(found))

    def missing(self, name: str) -> FormatError:
        return STRUCT_CHUNK_MISSING.failure(0, self.path, name=name)

    def has(self, name: str) -> bool:
        return name in self.value

    def child(self, name: str) -> Item | None:
        value = self.value.get(name)
        if value is None and name not in self.value:
            return None
        if type(value) is not dict:
            self._leave_out(self.wrong(name, "an object", value))
            return None
        return Item(value, self.at(name), self.findings)

    def entries(self, name: str) -> list[Any]:
        value = self.value.get(name)
        if value is None and name not in self.value:
            return []
        if type(value) is not list:
            self._leave_out(self.wrong(name, "a list", value))
            return []
        return value

    def children(self, name: str) -> list[Item]:
        items = []
        for number, value in enumerate(self.entries(name)):
            place = f"{self.at(name)}[{number}]"
            if type(value) is not dict:
                self._leave_out(STRUCT_SYNTAX.failure(0, place, wanted="an object", found=described(value)))
                value = {}
            items.append(Item(value, place, self.findings))
        return items

    def _leave_out(self, error: FormatError) -> None:
        if self.findings is None:
            raise error
        self.findings.leave_out(error)

    def integer(self, name: str, default: int | None = None, *, least: int = 0, most: int = LARGEST_INTEGER) -> int:
        """Return an integer; required if there is no default."""
        if name not in self.value:
            if default is None:
                raise self.missing(name)
            return default
        value = self.value[name]
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}", value)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        if name not in self.value:
            if default is None:
                raise self.missing(name)
            return default
        return self._number(name, self.value[name])

    def _number(self, name: str, value: object) -> float:
        if type(value) not in (int, float) or not -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT:  # type: ignore[operator]
            raise self.wrong(name, "a finite number", value)
        return float(value)  # type: ignore[arg-type]

    def numbers(self, name: str, count: int | None, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """Return ``count`` numbers, or any number of them if it is None; required if there is no default."""
        if name not in self.value and default is not None:
            return default
        if name not in self.value:
            raise self.missing(name)
        values = self.entries(name)
        if count is not None and len(values) != count:
            raise self.fail(STRUCT_SYNTAX, name, wanted=f"{count} numbers", found=f"{len(values)}")
        return tuple(self._number(f"{name}[{place}]", item) for place, item in enumerate(values))

    def text(self, name: str, default: str | None = None) -> str:
        if name not in self.value:
            if default is None:
                raise self.missing(name)
            return default
        value = self.value[name]
        if type(value) is not str:
            raise self.wrong(name, "text", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.value.get(name, default)
        if type(value) is not bool:
            raise self.wrong(name, "true or false", value)
        return value

    def choice(self, name: str, known: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in known:
            raise self.fail(SEM_UNKNOWN_ENUM, name, value=_short(value), known=", ".join(known))
        return value

    def index(self, name: str, count: int, kind: str) -> int | None:
        """Return an index into a list of ``count`` parts, which messages call ``kind``; None if it is missing."""
        if name not in self.value:
            return None
        return self._index(name, self.value[name], count, kind)

    def needed_index(self, name: str, count: int, kind: str) -> int:
        if name not in self.value:
            raise self.missing(name)
        return self._index(name, self.value[name], count, kind)

    def indices(self, name: str, count: int, kind: str, only: int | None = None) -> list[int]:
        """Return the indices in a list, or only the one at the position ``only``."""
        entries = enumerate(self.entries(name)) if only is None else ((only, self.entries(name)[only]),)
        return [self._index(f"{name}[{place}]", value, count, kind) for place, value in entries]

    def _index(self, name: str, value: object, count: int, kind: str) -> int:
        if type(value) is not int or value < 0:
            raise self.wrong(name, f"a valid {kind} index", value)
        if value >= count:
            index = value if value <= LARGEST_INTEGER else f"above {LARGEST_INTEGER}"
            raise self.fail(
                LINK_INDEX_OUT_OF_RANGE, name, what=name, item=f"of {self.path}", kind=kind, index=index, count=count
            )
        return value

    def extension(self, name: str) -> Item | None:
        extensions = self.child("extensions")
        return None if extensions is None else extensions.child(name)

    @property
    def keyframer_extras(self) -> Item | None:
        """Our data under ``extras.keyframer``; None if there is none. Extras of other programs may have any type."""
        extras = self.value.get("extras")
        content = extras.get("keyframer") if type(extras) is dict else None
        return Item(content, self.at("extras/keyframer"), self.findings) if type(content) is dict else None


def described(value: object) -> str:
    """Describe a JSON value in a few words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"text {_short(value)!r}"
    if isinstance(value, int) and not -(10**30) < value < 10**30:
        return "a huge number"
    if isinstance(value, (int, float)):
        return f"{value!r}"
    return "a list" if isinstance(value, list) else "an object"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBERED = re.compile(r"(.*)\[(\d{1,15})\]\Z", re.DOTALL)
_decode = json.JSONDecoder().raw_decode

JsonKey = str | int


class Places:
    """Locations in a JSON text that is already parsed.

    A list or object is scanned once, when one of its values is first located, so that finding all locations takes about
    as long as parsing the text a few times.
    """

    def __init__(self, text: str, offset: int) -> None:
        """``offset`` is the start of the text in the file."""
        self._text = text
        self._offset = offset
        self._is_ascii = text.isascii()
        self._entry_starts: dict[int, dict[JsonKey, int]] = {}

    def find(self, path: str) -> int:
        """Return the start of the value with a path, or of its innermost existing parent."""
        at = self._locate(path)
        return self._offset + (at if self._is_ascii else int(self._byte_offsets[at]))

    def _locate(self, path: str) -> int:
        at = self._skip(0)
        for part in path.split("/")[1:] if path != "/" else ():
            for key in _keys(part, self._children(at)):
                child = self._children(at).get(key)
                if child is None:
                    return at
                at = child
        return at

    @cached_property
    def _byte_offsets(self) -> Ints:
        """Byte offsets of all characters, computed once: counting for each would be quadratic."""
        stored = np.frombuffer(self._text.encode(), np.uint8)
        return np.append(np.flatnonzero(stored & 0xC0 != 0x80), len(stored))

    def _skip(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        return at if blank is None else blank.end()

    def _children(self, at: int) -> dict[JsonKey, int]:
        if at not in self._entry_starts:
            begin = self._text[at : at + 1]
            self._entry_starts[at] = self._scan(at, is_object=begin == "{") if begin in ("{", "[") else {}
        return self._entry_starts[at]

    def _scan(self, at: int, *, is_object: bool) -> dict[JsonKey, int]:
        """Return the start of each entry; if several have the same name, of the last one, which the parser uses."""
        starts: dict[JsonKey, int] = {}
        text, place = self._text, self._skip(at + 1)
        while text[place] not in "}]":
            key: JsonKey = len(starts)
            if is_object:
                key, place = scanstring(text, place + 1, True)
                place = self._skip(self._skip(place) + 1)  # after the colon
            starts[key] = place
            place = self._skip(_decode(text, place)[1])
            if text[place] == ",":
                place = self._skip(place + 1)
        return starts


def _keys(part: str, known: dict[JsonKey, int]) -> list[JsonKey]:
    """Split a part of a path: ``count`` is one key; ``accessors[3]`` is two, unless this text itself is a known key."""
    if part in known:
        return [part]
    numbers: list[JsonKey] = []
    while match := _NUMBERED.match(part):
        part = match[1]
        numbers.insert(0, int(match[2]))
    return [part, *numbers]


P = ParamSpec("P")
T = TypeVar("T")


class Findings(IssueLog):
    """The issues of one file. With ``salvage`` a part that cannot be read is an issue and is left out."""

    def __init__(self, limits: Limits, *, salvage: bool = False) -> None:
        super().__init__(limits.issues_per_code, limits.issues)
        self.salvage = salvage
        self.places: Places | None = None
        """None until the JSON text is parsed"""

    def add_issue(self, issue: Issue) -> None:
        if not issue.offset and self.places is not None:
            issue = replace(issue, offset=self.places.find(issue.path))
        super().add_issue(issue)

    def located(self, error: FormatError) -> FormatError:
        """Return the same failure with its location in the file."""
        if error.offset or self.places is None:
            return error
        return FormatError(error.code, self.places.find(error.path), error.path, error.message, error.details)

    def attempt(self, make: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
        """Return the result of ``make``; with salvage a failure becomes an issue and None is returned.

        Exceeded limits are always raised.
        """
        try:
            return make(*args, **named)
        except FormatError as error:
            self.leave_out(error)
            return None

    def leave_out(self, error: FormatError) -> None:
        """Report a part that is left out; without salvage, or if a limit was exceeded, the failure is raised."""
        if not self.salvage or error.code.startswith("LIMIT_"):
            raise error
        self.add(CATALOGUE[error.code], error.path, error.offset, severity=Severity.ERROR, **error.details)


@dataclass(eq=False)
class Sources:
    """What a file says besides its scene."""

    metres_per_unit: float
    """metres per unit of the scene: the scale of the root node that our exporter adds, or 1"""
