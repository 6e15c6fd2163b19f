"""Convert numbers, the values of lines and whole tables from and to text.

3ds Max writes four decimals. A number that needs more gets as many as necessary. The numbers of a table are read and
written together, because a mesh may have a million.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from keyframer.arrays import Array
from keyframer.text import counted

Value = int | float | bytes
Values = tuple[Value, ...]

_NUMBER = re.compile(rb"[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?")
_WINDOWS_NON_FINITE = re.compile(rb"([-+]?)1[.,]#(QNAN|SNAN|IND|INF)[0-9A-Z]*")
"""non-finite numbers as printed by Windows"""
_WORDS = re.compile(rb'"([^"]*)"|([^\s"]+)')
_NUMBER_CHARACTERS = b"0123456789+-.eE \t\r\n\v\f"
_EXACT_LIMIT = 1 << 53
"""all integers below this are exact as floats"""


def read_number(word: bytes) -> float | None:
    """Return a word as a number; None if it is not one. Decimal commas and Windows' non-finite numbers are accepted."""
    if _NUMBER.fullmatch(word):
        return float(word.replace(b",", b"."))
    non_finite = _WINDOWS_NON_FINITE.fullmatch(word)
    if non_finite is None:
        return None
    value = math.inf if non_finite[2] == b"INF" else math.nan
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
    words = [(quoted or bare, bool(bare)) for quoted, bare in _WORDS.findall(text)]
    if signature.endswith("+"):
        signature = signature[:-2] + signature[-2] * max(len(words) - len(signature) + 2, 0)
    if len(words) < len(signature):
        return None
    values: list[Value] = []
    for letter, (word, bare) in zip(signature, words, strict=False):
        if letter in "tw":
            values.append(word)
            continue
        number = read_number(word) if bare else None
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
