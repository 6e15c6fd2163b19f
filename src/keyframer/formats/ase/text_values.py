"""Text of ASE records: numbers, the values of a line and the rows of a table from and to text, and the field types of
records with them.

3ds Max writes four decimals. A number that needs more gets as many as necessary. The numbers of a table are read and
written together, because a mesh may have a million.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from keyframer.arrays import Array
from keyframer.text import ascii_to_bytes, bytes_to_ascii, counted, plural
from keyframer.wire.cursor import frozen, no_entries
from keyframer.wire.field_types import Kind, Text, checked_cast, declare
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.sink import Sink

Value = int | float | bytes
Values = tuple[Value, ...]

_NUMBER = re.compile(rb"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?")
_NON_FINITE = re.compile(rb"([-+]?)(?:1[.,]#(?:QNAN|SNAN|IND|(INF))[0-9A-Z]*|nan(?:\([a-z]*\))?|(inf)(?:inity)?)")
"""non-finite numbers as printed by Windows and by others"""
_WORDS = re.compile(rb'"([^"]*)"|([^\s"]+)')
_NUMBER_CHARACTERS = b"0123456789+-.eE \t\r\n\v\f"
_EXACT_LIMIT = 1 << 53
"""all integers below this are exact as floats"""


def read_number(word: bytes) -> float | None:
    """Return a word as a number; None if it is not one. Decimal commas and non-finite numbers are accepted."""
    if _NUMBER.fullmatch(word):
        return float(word.replace(b",", b"."))
    non_finite = _NON_FINITE.fullmatch(word)
    if non_finite is None:
        return None
    value = math.inf if non_finite[2] or non_finite[3] else math.nan
    return -value if non_finite[1] == b"-" else value


def write_number(value: float) -> str:
    """Write a number with four decimals if these are exact, else with as many as necessary.

    Non-finite numbers are written as Windows prints them.
    """
    if math.isfinite(value):
        four_decimals = f"{value:.4f}"
        return four_decimals if float(four_decimals) == value else repr(float(value))
    if math.isnan(value):
        return "1.#QNAN"
    return "1.#INF" if value > 0 else "-1.#INF"


def read_values(signature: str, text: bytes) -> Values | None:
    """Return the values of a line according to its signature; None if they do not match.

    The signature has a letter for each value: i integer, f number, t quoted text, w word; a final + means any number of
    the letter before it. Further words are ignored.
    """
    if not signature:
        return ()
    if signature in ("t", "w") and b'"' not in text:  # some exporters leave out the quotes
        word = text.strip()
        return (word,) if word or signature == "t" else None
    words = [quoted or bare for quoted, bare in _WORDS.findall(text)]
    if signature.endswith("+"):
        signature = signature[:-2] + signature[-2] * max(len(words) - len(signature) + 2, 0)
    if len(words) < len(signature):
        return None
    values: list[Value] = []
    for letter, word in zip(signature, words, strict=False):
        if letter in "tw":
            values.append(word)
            continue
        number = read_number(word)  # some exporters put quotes around numbers
        if number is None or (letter == "i" and not (abs(number) < _EXACT_LIMIT and number == int(number))):
            return None
        values.append(int(number) if letter == "i" else number)
    return tuple(values)


def write_values(signature: str, values: Values) -> str:
    """Return the text of values as 3ds Max writes it; raises ValueError if they do not fit the signature."""
    if signature.endswith("+"):
        signature = signature[:-2] + signature[-2] * max(len(values) - len(signature) + 2, 0)
    if len(values) != len(signature):
        raise ValueError(f"expected {counted(len(signature), 'value')}, not {len(values)}")
    parts: list[str] = []
    for letter, value in zip(signature, values, strict=True):
        if letter in "tw":
            if not isinstance(value, bytes) or any(mark in value for mark in (b'"', b"\n", b"\r")):
                raise ValueError(f"expected one line of text without quotes, not {value!r}")
            plain = value.decode("latin-1")
            parts.append(f'"{plain}"' if letter == "t" else plain)
        elif isinstance(value, bytes) or (letter == "i" and not isinstance(value, int)):
            raise ValueError(f"{value!r} is not a {'whole ' if letter == 'i' else ''}number")
        else:
            parts.append(str(value) if letter == "i" else write_number(value))
    return " " + ("\t" if "f" in signature else " ").join(parts) if parts else ""


def read_rows(text: bytes, keyword: bytes) -> Array | None:
    """Return the numbers of lines ``*KEYWORD number number …``, all with the same keyword and count, as (n, k) floats.

    ``keyword`` includes the star. The result is None if the text contains anything else.
    """
    count = text.count(keyword)
    if count == 0:
        return None if text.strip() else np.empty((0, 0))
    if text.translate(None, _NUMBER_CHARACTERS) != keyword.translate(None, _NUMBER_CHARACTERS) * count:
        return _read_odd_rows(text, keyword, count)
    numbers = _parse(text.replace(keyword, b" nan "))
    if numbers is None or len(numbers) % count:
        return None
    rows = numbers.reshape(count, -1)
    is_keyword = np.isnan(rows)
    return rows[:, 1:] if is_keyword[:, 0].all() and not is_keyword[:, 1:].any() else None


def _read_odd_rows(text: bytes, keyword: bytes, count: int) -> Array | None:
    """Read rows one number at a time, for decimal commas and non-finite numbers; None if there is anything else."""
    before, *parts = text.split(keyword)
    rows = [[read_number(word) for word in part.split()] for part in parts]
    width = len(rows[0])
    if before.strip() or any(len(row) != width or None in row for row in rows):
        return None
    return np.array(rows, np.float64).reshape(count, width)


def _parse(text: bytes) -> Array | None:
    """Return all numbers of a text; None if one of its words is not a number."""
    try:
        numbers: Array = np.fromstring(text + b" inf", np.float64, sep=" ")
    except (ValueError, DeprecationWarning):  # warnings may be errors; otherwise numpy stops before "inf"
        return None
    return numbers[:-1] if len(numbers) and numbers[-1] == np.inf else None


def as_integers(numbers: Array) -> Array | None:
    """Return floats as integers; None if one of them is not a whole number below 2**53."""
    with np.errstate(invalid="ignore"):
        fits = bool((np.abs(numbers) < _EXACT_LIMIT).all()) and bool((numbers == np.trunc(numbers)).all())
    return numbers.astype(np.int64) if fits else None


def write_rows(template: str, columns: list[Array]) -> str:
    """Return a line for each row: ``template`` has a ``%d`` for each integer column, a ``%s`` for each float column."""
    if not len(columns[0]):
        return ""
    parts: list[Any] = []
    for column in columns:
        if column.dtype.kind != "f":
            parts.append(column.tolist())
            continue
        with np.errstate(invalid="ignore"):
            within_limit = np.abs(column) < 1e11
            four_decimals = within_limit & (np.rint(column * 1e4) / 1e4 == column)
        if four_decimals.all():
            template = template.replace("%s", "%.4f", 1)
            parts.append(column.tolist())
        else:
            template = template.replace("%s", "%S", 1)
            texts = [*map(repr, column.tolist())]
            for row in np.flatnonzero(four_decimals | ~within_limit).tolist():
                texts[row] = write_number(float(column[row]))
            parts.append(texts)
    template = template.replace("%S", "%s")
    return "".join([template % row for row in zip(*parts, strict=True)])


KEYWORD = re.compile(rb"[A-Za-z0-9_]+")
LETTERS = {"i": "whole number", "f": "number", "t": "text", "w": "word"}
"""letters of signatures: see `read_values`"""


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


class _Keyword(Text):
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
        return None if value is None else Text().from_json(value)


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
