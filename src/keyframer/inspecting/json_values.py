"""Small Python values as JSON values and back, by their declared types: dialects, and the odd attribute of a record.

A dialect is a frozen dataclass of a format; its fields may be text, numbers, yes/no, bytes, enums, tuples of these, or
None. Enums are written by name, bytes as hex.
"""

from __future__ import annotations

import dataclasses
import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from keyframer.text import bytes_to_hex, hex_to_bytes
from keyframer.wire.record import Record, unstored_fields

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", bytes: "hex digits"}


def to_plain(value: object) -> object:
    """A value as JSON; TypeError for what has no plain form."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes):
        return bytes_to_hex(value)
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} has no plain form: use text, numbers, enums, tuples or dataclasses")


def from_plain(value: object, wanted: Any) -> Any:
    """The value behind `to_plain`, of the declared type ``wanted``; ValueError says what is wrong with it."""
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        return _from_union(value, get_args(wanted))
    if origin is Literal:
        if value not in get_args(wanted):
            raise ValueError(f"one of {', '.join(map(str, get_args(wanted)))} is wanted")
        return value
    if origin in (tuple, list):
        return _from_sequence(value, origin, get_args(wanted))
    if wanted is None or wanted is type(None):
        if value is not None:
            raise ValueError("null is wanted")
        return None
    if wanted is bytes:
        return hex_to_bytes(value)
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        if not isinstance(value, str) or value not in wanted.__members__:
            raise ValueError(f"one of {', '.join(wanted.__members__)} is wanted")
        return wanted[value]
    if isinstance(wanted, type) and dataclasses.is_dataclass(wanted):
        return _from_object(value, wanted)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"{_WORDS.get(wanted, getattr(wanted, '__name__', str(wanted)))} is wanted")
    return value


def _from_union(value: object, choices: tuple[Any, ...]) -> Any:
    if value is None and type(None) in choices:
        return None
    failures: list[str] = []
    for choice in choices:
        if choice is type(None):
            continue
        try:
            return from_plain(value, choice)
        except ValueError as error:
            failures.append(str(error))
    raise ValueError(" or ".join(failures))


def _from_sequence(value: object, origin: Any, items: tuple[Any, ...]) -> Any:
    if not isinstance(value, list):
        raise ValueError("a list is wanted")
    if len(items) == 2 and items[1] is Ellipsis:
        items = (items[0],) * len(value)
    elif origin is list:
        items = items * len(value)
    if len(items) != len(value):
        raise ValueError(f"a list of {len(items)} is wanted")
    return origin(from_plain(item, wanted) for item, wanted in zip(value, items, strict=True))


def _from_object(value: object, cls: type[Any]) -> Any:
    if not isinstance(value, dict):
        raise ValueError("an object is wanted")
    hints = hints_of(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    odd = sorted(set(value) - set(names))
    if odd:
        raise ValueError(f"unknown {odd[0]!r} (known: {', '.join(names)})")
    made: dict[str, Any] = {}
    for name in names:
        if name not in value:
            raise ValueError(f"missing {name!r}")
        try:
            made[name] = from_plain(value[name], hints[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return cls(**made)


_HINTS: dict[type[Any], dict[str, Any]] = {}
_EXTRAS: dict[type[Any], dict[str, tuple[Any, Any]]] = {}


def hints_of(cls: type[Any]) -> dict[str, Any]:
    """The declared types of a class, resolved once."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def extra_attributes(cls: type[Record]) -> dict[str, tuple[Any, Any]]:
    """What a record carries besides its declared fields: attribute name -> (type, default).

    These are attributes without a wire type, such as the id of a raw chunk or a length that was wrong.
    """
    if cls not in _EXTRAS:
        _EXTRAS[cls] = {name: (hints_of(cls).get(name), default) for name, default in unstored_fields(cls).items()}
    return _EXTRAS[cls]
