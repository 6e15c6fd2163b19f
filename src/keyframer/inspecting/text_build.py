"""Builds a document from its text form. Errors are reported with the line and the path of the value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from keyframer.errors import FormatError
from keyframer.formats import Format, format_by_name
from keyframer.formats.document import Document
from keyframer.inspecting.json_values import extra_attributes, from_plain
from keyframer.inspecting.text_dump import INFORMATION, SCHEMA, SCHEMA_VERSION
from keyframer.text import hex_to_bytes, safe_text
from keyframer.wire.record import FieldError, Record, restore_fields, write_fields
from keyframer.wire.sink import Sink

Path = tuple[str | int, ...]

DEEPEST = 200
"""if a text is nested too deeply for Python, the error points to the first value that is nested deeper than this;
documents of real files reach 20
"""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


CurrentPath = list[str | int | None]
"""the path of the current value, changed in place"""


def values(text: str) -> Iterator[tuple[CurrentPath, int, str]]:
    """Yield every value in order, up to the first error: path (copy it to keep it), start and first token."""
    path: CurrentPath = []
    key_next = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "}]":
            if not path:
                return
            path.pop()
            key_next = False
        elif token == ",":
            if not path:
                return
            last = path[-1]
            if isinstance(last, int):
                path[-1] = last + 1
            else:
                key_next = True
        elif token == ":":
            key_next = False
        elif key_next:
            path[-1] = token[1:-1]
        else:
            yield path, match.start(), token
            if token in "{[":
                path.append(None if token == "{" else 0)
                key_next = token == "{"


def position_of(text: str, path: Path) -> int:
    """Return the start of the value with this path, or of its closest existing ancestor."""
    best, known = 0, -1
    for current, start, _ in values(text):
        depth = len(current)
        if not known < depth <= len(path):
            continue
        if (not depth or current[-1] == path[depth - 1]) and tuple(current) == path[:depth]:
            best, known = start, depth
            if depth == len(path):
                break
    return best


def path_at(text: str, position: int) -> Path:
    """Return the path of the last value that starts at or before a position."""
    last = -1
    for _, start, _ in values(text):
        if start > position:
            break
        last = start
    return next((_complete_path(current) for current, start, _ in values(text) if start == last), ())


def too_deep(text: str) -> int:
    """Return the start of the first value that is nested deeper than `DEEPEST`; 0 without one."""
    return next((start for current, start, _ in values(text) if len(current) > DEEPEST), 0)


def invalid_literal(text: str) -> int:
    """Return the start of the first NaN, Infinity or number with thousands of digits; 0 without one."""
    for _, start, token in values(text):
        if token[0] in "NI" or token.startswith("-I") or (token[0] in "-0123456789" and len(token) > 4000):
            return start
    return 0


def repeated_key(text: str) -> int:
    """Return the start of the first value with a repeated key; 0 without one."""
    seen_keys: list[set[str]] = []
    for current, start, token in values(text):
        depth = len(current)
        key = current[-1] if current else None
        if isinstance(key, str):
            key = json.loads(f'"{key}"') if "\\" in key else key
            if key in seen_keys[depth - 1]:
                return start
            seen_keys[depth - 1].add(key)
        if token in "{[":
            del seen_keys[depth:]
            seen_keys.append(set())
    return 0


def _complete_path(current: CurrentPath) -> Path:
    return tuple(part for part in current if part is not None)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return line and column, both counted from 1."""
    starts = [0, *(match.end() for match in re.finditer("\n", text[:position]))]
    line = bisect_right(starts, position)
    return line, position - starts[line - 1] + 1


def show_path(path: Path) -> str:
    """Format a path as ``/records[0]/children[2]/fields/name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f"/{part}" for part in path)
    return text or "/"


_DOCUMENT_KEYS = ("schema", "schema_version", "format", "dialect", "records", "trailing")
_RECORD_KEYS = ("record", "fields", "children", "tail")


class TextError(FormatError):
    """An error in the text form of a document: ``line``, ``column`` and the ``path`` of the value."""

    def __init__(self, code: str, offset: int, line: int, column: int, path: str, message: str) -> None:
        super().__init__(code, offset, path, message)
        self.args = (code, offset, line, column, path, message)  # so that it can be pickled
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return f"{self.code} at line {self.line}, column {self.column} in {self.path}: {self.message}"


class _InvalidValue(Exception):
    """The value at this path is invalid."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


class _RepeatedKey(ValueError):
    pass


class _InvalidLiteral(ValueError):
    pass


def build_bytes(text: str | bytes) -> tuple[Document, bytes]:
    """Return the document that a text describes and the bytes of its file; raises only `TextError`."""
    source = _decoded(text)
    value = _parsed(source)
    try:
        document, places = _document(value)
    except _InvalidValue as invalid:
        raise _with_position(source, invalid) from None
    try:
        return document, document.format.encode(document)
    except FormatError as error:
        raise _with_position(source, _find_unwritable(places, error.message)) from None
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        raise _with_position(source, _find_unwritable(places, str(error))) from None


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - (text.rfind(b"\n", 0, error.start) + 1) + 1
        raise TextError("TEXT_SYNTAX", error.start, line, column, "/", "the text is not UTF-8") from None


def _parsed(source: str) -> object:
    """Parse JSON; syntax errors, NaN and Infinity, repeated keys and deep nesting are refused with their place."""
    try:
        return json.loads(source, parse_constant=_refuse, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        at, message = error.pos, error.msg
    except RecursionError:
        at, message = too_deep(source), f"nested more than {DEEPEST} levels deep"
    except _RepeatedKey as error:
        at, message = repeated_key(source), f"the key {error} occurs twice in one object"
    except _InvalidLiteral as error:
        at, message = invalid_literal(source), str(error)
    except ValueError:  # Python's own limit for integers
        at, message = invalid_literal(source), "a number with too many digits"
    line, column = line_and_column(source, at)
    raise TextError("TEXT_SYNTAX", at, line, column, show_path(path_at(source, at)), safe_text(message)) from None


def _refuse(word: str) -> object:
    raise _InvalidLiteral(f'{word} is not JSON (write "nan", "inf" or "-inf" in quotes)')


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, value in pairs:
        if name in result:
            raise _RepeatedKey(repr(name))
        result[name] = value
    return result


def _with_position(source: str, invalid: _InvalidValue) -> TextError:
    at = position_of(source, invalid.path)
    line, column = line_and_column(source, at)
    return TextError("TEXT_WRONG", at, line, column, safe_text(show_path(invalid.path)), safe_text(invalid.message))


def _document(value: object) -> tuple[Document, list[tuple[Path, Record]]]:
    top = _known_keys(value, (), _DOCUMENT_KEYS)
    if top.get("schema") != SCHEMA:
        raise _InvalidValue(("schema",), f"expected {SCHEMA!r}: this is not the text of a document")
    if top.get("schema_version") != SCHEMA_VERSION:
        raise _InvalidValue(("schema_version",), f"expected version {SCHEMA_VERSION}")
    try:
        known = format_by_name(str(top.get("format")))
    except ValueError as error:
        raise _InvalidValue(("format",), str(error)) from None
    document = Document(known, dialect=_dialect(known, top.get("dialect")))
    document.records, places = _records(known, top.get("records"))
    document.trailing = _bytes(top.get("trailing", ""), ("trailing",))
    return document, places


def _dialect(known: Format, value: object) -> object | None:
    if value is None:
        return None
    expected = known.codec().dialect
    if expected is None:
        raise _InvalidValue(("dialect",), f"{known.title} files have no dialects")
    try:
        return from_plain(value, expected)  # type: ignore[no-any-return]
    except ValueError as error:
        raise _InvalidValue(("dialect",), str(error)) from None


def _records(known: Format, value: object) -> tuple[list[Record], list[tuple[Path, Record]]]:
    """Return the top-level records, and all records with their paths; uses a stack instead of recursion."""
    types = known.record_types()
    records: list[Record] = []
    places: list[tuple[Path, Record]] = []
    todo: list[tuple[Path, list[object], list[Record]]] = [(("records",), _list(value, ("records",)), records)]
    while todo:
        base, items, target = todo.pop()
        for index, item in enumerate(items):
            path = (*base, index)
            record, children = _record(types, item, path)
            target.append(record)
            places.append((path, record))
            if children:
                record.children = []
                todo.append(((*path, "children"), children, record.children))
    return records, places


def _record(types: Mapping[str, type[Any]], value: object, path: Path) -> tuple[Record, list[object]]:
    if not isinstance(value, dict):
        raise _InvalidValue(path, "expected an object")
    name = value.get("record")
    if not isinstance(name, str) or name not in types:
        raise _InvalidValue((*path, "record"), f"unknown record {name!r}" if name else "expected the name of a record")
    cls = types[name]
    extras = extra_attributes(cls)
    _known_keys(value, path, (*_RECORD_KEYS, *INFORMATION, *extras))
    record: Record = cls()
    for attribute, (expected, _) in extras.items():
        if attribute in value:
            try:
                setattr(record, attribute, from_plain(value[attribute], expected))
            except ValueError as error:
                raise _InvalidValue((*path, attribute), str(error)) from None
    fields = value.get("fields", {})
    if not isinstance(fields, dict):
        raise _InvalidValue((*path, "fields"), "expected an object")
    try:
        restore_fields(record, fields)
    except FieldError as error:
        raise _InvalidValue(
            (*path, "fields", error.name, *_entry(fields.get(error.name), error)), error.reason
        ) from None
    record.tail = _bytes(value.get("tail", ""), (*path, "tail"))
    return record, _list(value.get("children", []), (*path, "children"))


def _entry(value: object, error: FieldError) -> tuple[int, ...]:
    """Return the array index that the reason names (``entry 3: ...``), so that the error has the line of the row."""
    word, _, number_and_text = error.reason.partition(" ")
    number = number_and_text.partition(":")[0]
    if word not in ("entry", "key") or not number.isdigit() or not isinstance(value, list) or not value:
        return ()
    index = int(number)
    if word == "entry" and isinstance(value[0], list) and "a list of" not in error.reason:
        width = len(value[0]) or 1  # counted over all rows
        return (index // width, index % width) if index // width < len(value) else ()
    return (index,) if index < len(value) else ()


def _find_unwritable(places: list[tuple[Path, Record]], message: str) -> _InvalidValue:
    """Find the record that cannot be written, by writing each alone; if all can be, the list of records is at fault."""
    for path, record in places:
        try:
            write_fields(record, Sink())
        except (ValueError, TypeError, OverflowError) as error:
            return _InvalidValue((*path, "fields"), str(error))
    return _InvalidValue(("records",), message)


def _known_keys(value: object, path: Path, known: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _InvalidValue(path, "expected an object")
    for key in value:
        if key not in known:
            raise _InvalidValue((*path, key), f"unknown key (known: {', '.join(known)})")
    return value


def _list(value: object, path: Path) -> list[object]:
    if not isinstance(value, list):
        raise _InvalidValue(path, "expected a list")
    return value


def _bytes(value: object, path: Path) -> bytes:
    try:
        return hex_to_bytes(value)
    except ValueError as error:
        raise _InvalidValue(path, str(error)) from None
