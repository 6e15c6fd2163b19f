"""The rows of a ledger: their columns and checks of their values. A ledger is not trusted, so every row is checked.

The ledger may be damaged, or come from somebody else together with its folder.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from keyframer.batch.job import STATUSES
from keyframer.batch.output_names import is_below

TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS files (
    operation TEXT NOT NULL, source TEXT NOT NULL, output TEXT NOT NULL, output_key TEXT NOT NULL,
    status TEXT NOT NULL, code TEXT, message TEXT, offset INTEGER, path TEXT,
    sha256 TEXT, size INTEGER, stamp TEXT NOT NULL, options TEXT NOT NULL, version TEXT NOT NULL,
    format TEXT, worst TEXT, issues TEXT NOT NULL, outputs TEXT NOT NULL, also TEXT NOT NULL, details TEXT NOT NULL,
    seconds REAL NOT NULL, finished REAL NOT NULL,
    PRIMARY KEY (operation, source)
);
CREATE INDEX IF NOT EXISTS by_output ON files (operation, output_key);
CREATE TABLE IF NOT EXISTS renamed (
    operation TEXT NOT NULL, source TEXT NOT NULL, wanted TEXT NOT NULL, given TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (operation, source)
);
"""
_DEEPEST = 20
"""deepest nesting of the details of an operation"""


class BadRow(Exception):
    """Raised for a row that this program cannot have written; the message says why."""


class Row(NamedTuple):
    """The values of a row that a later run needs: to decide whether the source is done, and to count it."""

    source: str
    status: str
    code: str | None
    options: str
    version: str
    output: str
    outputs: list[dict[str, Any]]
    also: list[list[Any]]
    """other files that the job searched for (see `keyframer.batch.dependencies`)"""
    sha256: str | None
    stamp: str
    """size and time of the source (see `Job.stamp`)"""
    issues: dict[str, int]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    """Return whether a value can be a path or URL: text that is not empty, has no NUL and can be encoded."""
    if not isinstance(value, str) or value == "" or "\0" in value:
        return False
    try:
        return value.isascii() or value.encode("utf-8", "surrogateescape") != b""
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_]{1,64}", value) is not None


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _are_outputs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(output, dict)
        and _is_path(output.get("path"))
        and _is_count(output.get("size"))
        and _is_hash(output.get("sha256"))
        and _or_none(_is_count)(output.get("mtime_ns", ""))
        for output in value
    )


def _is_entry(entry: Any) -> bool:
    """Return whether a value is an entry as made by `keyframer.batch.dependencies`."""
    if not (isinstance(entry, list) and len(entry) == 3 and _is_path(entry[0])):
        return False
    _, purpose, known = entry
    if isinstance(purpose, str):
        return isinstance(known, str) or (isinstance(known, list) and all(map(_is_found, known)))
    return all(value is None or type(value) is int for value in (purpose, known))


def _is_found(item: Any) -> bool:
    """Return whether a value is the name of a companion, or the name of an image with the path that was found."""
    if isinstance(item, list):
        return len(item) == 2 and isinstance(item[0], str) and (item[1] is None or _is_path(item[1]))
    return _is_path(item)


def _are_entries(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_entry, value))


def _are_details(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        if any(isinstance(value, float) and not math.isfinite(value) for value in level):
            return False
        level = [child for value in level for child in _values_inside(value)]
    return isinstance(value, dict) and not level


def _values_inside(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []


COLUMNS: Mapping[str, Callable[[Any], bool]] = {
    "operation": _is_word,
    "source": _is_path,
    "output": _is_path,
    "status": lambda value: value in STATUSES,
    "code": _or_none(_is_word),
    "message": _or_none(_is_text),
    "offset": _or_none(_is_count),
    "path": _or_none(_is_text),
    "sha256": _or_none(_is_hash),
    "size": _or_none(_is_count),
    "stamp": _is_text,
    "options": _is_text,
    "version": _is_text,
    "format": _or_none(_is_text),
    "worst": _or_none(_is_text),
    "issues": _are_counts,
    "outputs": _are_outputs,
    "also": _are_entries,
    "details": _are_details,
    "seconds": _is_number,
    "finished": _is_number,
}
"""the columns that are read, each with the check of its values"""
JSON = ("issues", "outputs", "also", "details")
"""columns with JSON"""


def checked(names: tuple[str, ...], values: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the values of these columns with JSON decoded; raises `BadRow` for an invalid value."""
    for name, stored in zip(names, values, strict=True):
        value = _from_json(name, stored) if name in JSON else stored
        if name in COLUMNS and not COLUMNS[name](value):
            raise BadRow(f"its {name} is damaged")
        if name == "output" and not is_below(value):
            raise BadRow(f"its output {value} leads outside the output folder")
        yield value


def _from_json(name: str, text: Any) -> Any:
    if text == "[]":
        return []
    try:
        if isinstance(text, str):
            return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        pass
    raise BadRow(f"its {name} is damaged")


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)
