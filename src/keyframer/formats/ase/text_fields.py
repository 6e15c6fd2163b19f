"""Field types of ASE records: keywords, values of a line, columns of a table, and original text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from keyframer.arrays import Array
from keyframer.formats.ase.text_numbers import Value, Values, write_values
from keyframer.text import ascii_to_bytes, bytes_to_ascii, counted, plural
from keyframer.wire.cursor import frozen, no_entries
from keyframer.wire.field_types import Kind, checked_cast, declare
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.sink import Sink

KEYWORD = re.compile(rb"[A-Za-z0-9_]+")
LETTERS = {"i": "whole number", "f": "number", "t": "text", "w": "word"}
"""letters of signatures: see `text_numbers.read_values`"""


def describe_signature(signature: str) -> str:
    """Return a signature in words: ``3 x number``."""
    parts: list[str] = []
    for letter, repeats in re.findall(r"(.)((?:\1)*\+?)", signature):
        if repeats.endswith("+"):
            required = len(repeats) - 1
            parts.append(f"{f'{required} or more' if required else 'any number of'} {plural(LETTERS[letter])}")
        else:
            parts.append(f"{len(repeats) + 1} x {LETTERS[letter]}" if repeats else LETTERS[letter])
    return ", ".join(parts)


class _Text(Kind):
    """8-bit text in JSON: ASCII with ``\\xNN`` for other bytes."""

    def default(self) -> bytes:
        return b""

    def to_json(self, value: bytes) -> object:
        return bytes_to_ascii(value)

    def from_json(self, value: object) -> bytes:
        if not isinstance(value, str):
            raise ValueError("expected text")
        return ascii_to_bytes(value)


class _Keyword(_Text):
    """The word after a star."""

    type_name = "keyword"

    def write(self, sink: Sink, value: bytes, record: Any) -> None:
        if not isinstance(value, bytes) or not KEYWORD.fullmatch(value):
            raise ValueError(f"{value!r} is not a keyword (only letters, digits and _)")
        sink.write(b"*" + value)


class _Values(Kind):
    """The values after a keyword, according to the signature of the record."""

    type_name = "values"

    def default(self) -> Values:
        return ()

    def write(self, sink: Sink, value: Values, record: Any) -> None:
        sink.write(write_values(record.signature, value).encode("latin-1"))

    def to_json(self, value: Values) -> object:
        return [_value_to_json(element) for element in value]

    def restore(self, value: object, record: Any) -> Values:
        if not isinstance(value, list):
            raise ValueError("expected a list")
        signature = record.signature
        if signature.endswith("+"):
            signature = signature[:-2] + signature[-2] * max(len(value) - len(signature) + 2, 0)
        if value and len(value) != len(signature):
            raise ValueError(f"expected a list of {counted(len(signature), 'value')}")
        return tuple(_value_from_json(element, letter) for element, letter in zip(value, signature, strict=False))


def _value_to_json(value: Value) -> object:
    if isinstance(value, bytes):
        return bytes_to_ascii(value)
    return value if isinstance(value, int) else array_to_json(np.array([value]))[0]


def _value_from_json(value: object, letter: str) -> Value:
    if letter in "tw":
        if not isinstance(value, str):
            raise ValueError("expected text")
        return ascii_to_bytes(value)
    if letter == "i":
        if type(value) is not int:
            raise ValueError("expected a whole number")
        return value
    number: float = array_from_json([value], np.dtype("<f8"), None).tolist()[0]
    return number


class _Column(Kind):
    """One or several columns of a table: integers or floats."""

    def __init__(self, base: str, width: int | None) -> None:
        self.dtype = np.dtype(base)
        self.width = width
        kind = "number" if self.dtype.kind == "f" else "whole number"
        self.type_name = f"({kind}) for each row" if width is None else f"({width or 'k'} x {kind}) for each row"

    def default(self) -> Array:
        return no_entries(self.dtype if self.width is None else np.dtype((self.dtype, (self.width,))))

    def write(self, sink: Sink, value: Any, record: Any) -> None:
        self.checked(value)

    def checked(self, value: Any) -> Array:
        """Return the value as an array of this type; raises ValueError if that is not possible without loss."""
        array = np.asarray(value)
        dimensions = 1 if self.width is None else 2
        if array.ndim != dimensions or (self.width and array.shape[1] != self.width):
            raise ValueError(f"expected an array of shape {('n', self.width or 'k')[:dimensions]}, not {array.shape}")
        return checked_cast(array, self.dtype)

    def to_json(self, value: Any) -> object:
        return array_to_json(np.asarray(value))

    def from_json(self, value: object) -> Any:
        width = self.width
        if width == 0:
            first = value[0] if isinstance(value, list) and value else []
            width = len(first) if isinstance(first, list) else 1
        return frozen(array_from_json(value, self.dtype, width))


class _AsWritten(Kind):
    """The original rows of a table, None for a new one; null in dumps if the columns would be written as this text."""

    type_name = "text"

    def default(self) -> None:
        return None

    def write(self, sink: Sink, value: bytes | None, record: Any) -> None:
        if not isinstance(value, bytes | None):
            raise ValueError("expected text as bytes")

    def dump(self, value: bytes | None, record: Any) -> object:
        return None if value is None or value == record.rewritten() else bytes_to_ascii(value)

    def from_json(self, value: object) -> bytes | None:
        return None if value is None else _Text().from_json(value)


def keyword_field(description: str) -> Any:
    return declare(_Keyword(), description)


def values_field(description: str) -> Any:
    return declare(_Values(), description)


def integers(description: str, width: int | None = None) -> Any:
    """Declare one column of integers, or ``width`` columns."""
    return declare(_Column("<i8", width), description)


def floats(description: str, width: int | None = None) -> Any:
    """Declare one column of floats, or ``width`` columns (0: any number of columns)."""
    return declare(_Column("<f8", width), description)


def as_written(description: str) -> Any:
    return declare(_AsWritten(), description)
