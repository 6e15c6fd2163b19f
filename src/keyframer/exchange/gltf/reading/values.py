"""JSON values with their place: every field is checked when it is read, and a failure says where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyframer.catalogue import LINK_INDEX_OUT_OF_RANGE, SEM_UNKNOWN_ENUM, STRUCT_CHUNK_MISSING, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.issues import IssueType

if TYPE_CHECKING:
    from keyframer.exchange.gltf.reading.findings import Findings

LARGEST_INTEGER = 2**53
_LARGEST = 1.7e308


class Item:
    """An object of the JSON text and its path, such as ``/accessors[3]``. With ``findings`` that save what they can,
    something that should be a list or an object and is neither is reported and left out."""

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
        found = self.value.get(name)
        if found is None and name not in self.value:
            return None
        if type(found) is not dict:
            self._left_out(self.wrong(name, "an object", found))
            return None
        return Item(found, self.at(name), self.findings)

    def entries(self, name: str) -> list[Any]:
        found = self.value.get(name)
        if found is None and name not in self.value:
            return []
        if type(found) is not list:
            self._left_out(self.wrong(name, "a list", found))
            return []
        return found

    def children(self, name: str) -> list[Item]:
        items = []
        for number, found in enumerate(self.entries(name)):
            place = f"{self.at(name)}[{number}]"
            if type(found) is not dict:
                self._left_out(STRUCT_SYNTAX.failure(0, place, wanted="an object", found=described(found)))
                found = {}
            items.append(Item(found, place, self.findings))
        return items

    def _left_out(self, error: FormatError) -> None:
        if self.findings is None:
            raise error
        self.findings.left_out(error)

    def integer(self, name: str, default: int | None = None, *, least: int = 0, most: int = LARGEST_INTEGER) -> int:
        """A whole number; required where there is no default."""
        if name not in self.value:
            if default is None:
                raise self.missing(name)
            return default
        found = self.value[name]
        if type(found) is float and found.is_integer():
            found = int(found)
        if type(found) is not int or not least <= found <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}", found)
        return found

    def number(self, name: str, default: float | None = None) -> float:
        if name not in self.value:
            if default is None:
                raise self.missing(name)
            return default
        return self._number(name, self.value[name])

    def _number(self, name: str, found: object) -> float:
        if type(found) not in (int, float) or not -_LARGEST <= found <= _LARGEST:  # type: ignore[operator]
            raise self.wrong(name, "a finite number", found)
        return float(found)  # type: ignore[arg-type]

    def numbers(self, name: str, count: int | None, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """A list of ``count`` numbers, or of any length."""
        if name not in self.value and default is not None:
            return default
        if name not in self.value:
            raise self.missing(name)
        found = self.entries(name)
        if count is not None and len(found) != count:
            raise self.fail(STRUCT_SYNTAX, name, wanted=f"{count} numbers", found=f"{len(found)}")
        return tuple(self._number(f"{name}[{place}]", each) for place, each in enumerate(found))

    def text(self, name: str, default: str | None = None) -> str:
        if name not in self.value:
            if default is None:
                raise self.missing(name)
            return default
        found = self.value[name]
        if type(found) is not str:
            raise self.wrong(name, "text", found)
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        found = self.value.get(name, default)
        if type(found) is not bool:
            raise self.wrong(name, "true or false", found)
        return found

    def choice(self, name: str, known: tuple[str, ...], default: str | None = None) -> str:
        found = self.text(name, default)
        if found not in known:
            raise self.fail(SEM_UNKNOWN_ENUM, name, value=_short(found), known=", ".join(known))
        return found

    def index(self, name: str, count: int, kind: str) -> int | None:
        """The number of something in a list of ``count``; None where it is not stated."""
        if name not in self.value:
            return None
        return self._index(name, self.value[name], count, kind)

    def needed_index(self, name: str, count: int, kind: str) -> int:
        if name not in self.value:
            raise self.missing(name)
        return self._index(name, self.value[name], count, kind)

    def indices(self, name: str, count: int, kind: str, only: int | None = None) -> list[int]:
        """The numbers in a list, or just the one at a place of it."""
        found = enumerate(self.entries(name)) if only is None else ((only, self.entries(name)[only]),)
        return [self._index(f"{name}[{place}]", each, count, kind) for place, each in found]

    def _index(self, name: str, found: object, count: int, kind: str) -> int:
        if type(found) is not int or found < 0:
            raise self.wrong(name, f"the number of a {kind}", found)
        if found >= count:
            index = found if found <= LARGEST_INTEGER else "a huge one"
            raise self.fail(
                LINK_INDEX_OUT_OF_RANGE, name, what=name, item=self.path, kind=kind, index=index, count=count
            )
        return found

    def extension(self, name: str) -> Item | None:
        extensions = self.child("extensions")
        return None if extensions is None else extensions.child(name)

    @property
    def kept(self) -> Item | None:
        """What we wrote under ``extras.keyframer``; extras of others may be anything."""
        extras = self.value.get("extras")
        found = extras.get("keyframer") if type(extras) is dict else None
        return Item(found, self.at("extras/keyframer"), self.findings) if type(found) is dict else None


def described(value: object) -> str:
    """A value in a few words."""
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
