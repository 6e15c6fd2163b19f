"""Converts small Python values to JSON and back, by their declared types: dialects and attributes of records.

A dialect is an enum or a frozen dataclass of a format. Fields of the dataclass may be text, numbers, booleans, bytes,
enums, tuples of these, or None. Enums are written by name, bytes as hex.
"""

from __future__ import annotations

import dataclasses
import types
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from keyframer.text import bytes_to_hex, counted, hex_to_bytes
from keyframer.wire.record import Record, unstored_fields

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", bytes: "hex digits"}


def to_plain(value: object) -> object:
    """Convert a value to JSON; raises TypeError for unsupported types."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, bytes):
        return bytes_to_hex(value)
    if isinstance(value, (tuple, list)):
        return [to_plain(element) for element in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    raise TypeError(
        f"{type(value).__name__} cannot be written as JSON: use text, numbers, enums, tuples or dataclasses"
    )


def from_plain(value: object, expected: Any) -> Any:
    """Convert the result of `to_plain` back to the declared type; raises ValueError if it does not match."""
    origin = get_origin(expected)
    if origin in (Union, types.UnionType):
        return _from_union(value, get_args(expected))
    if origin is Literal:
        if value not in get_args(expected):
            raise ValueError(f"expected one of {', '.join(map(str, get_args(expected)))}")
        return value
    if origin in (tuple, list):
        return _from_sequence(value, origin, get_args(expected))
    if expected is None or expected is type(None):
        if value is not None:
            raise ValueError("expected null")
        return None
    if expected is bytes:
        return hex_to_bytes(value)
    if isinstance(expected, type) and issubclass(expected, Enum):
        if not isinstance(value, str) or value not in expected.__members__:
            raise ValueError(f"expected one of {', '.join(expected.__members__)}")
        return expected[value]
    if isinstance(expected, type) and dataclasses.is_dataclass(expected):
        return _from_object(value, expected)
    if expected is float and type(value) is int:
        return float(value)
    if type(value) is not expected:
        raise ValueError(f"expected {_WORDS.get(expected, getattr(expected, '__name__', str(expected)))}")
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
        raise ValueError("expected a list")
    if len(items) == 2 and items[1] is Ellipsis:
        items = (items[0],) * len(value)
    elif origin is list:
        items = items * len(value)
    if len(items) != len(value):
        raise ValueError(f"expected a list of {counted(len(items), 'value')}")
    return origin(from_plain(element, expected) for element, expected in zip(value, items, strict=True))


def _from_object(value: object, cls: type[Any]) -> Any:
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    hints = hints_of(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    unknown = sorted(set(value) - set(names))
    if unknown:
        raise ValueError(f"unknown {unknown[0]!r} (known: {', '.join(names)})")
    arguments: dict[str, Any] = {}
    for name in names:
        if name not in value:
            raise ValueError(f"missing {name!r}")
        try:
            arguments[name] = from_plain(value[name], hints[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return cls(**arguments)


_HINTS: dict[type[Any], dict[str, Any]] = {}
_EXTRAS: dict[type[Any], dict[str, tuple[Any, Any]]] = {}


def hints_of(cls: type[Any]) -> dict[str, Any]:
    """Return the declared types of a class; they are resolved once."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def extra_attributes(cls: type[Record]) -> dict[str, tuple[Any, Any]]:
    """Return the attributes of a record that are not declared fields: name -> (type, default).

    These have no wire type, such as the id of a raw chunk or a wrong length.
    """
    if cls not in _EXTRAS:
        _EXTRAS[cls] = {name: (hints_of(cls).get(name), default) for name, default in unstored_fields(cls).items()}
    return _EXTRAS[cls]
