"""Writes a document as text: JSON that is easy to read and compare, and that `text_build` reads back.

    {"record": "NodeHeader", "segment": "b010", "offset": "0x8a2", "fields": {"name": "Tower", ...}}

A record without children that fits a line is on one line; otherwise there is one line per field and per row of a long
array, and child records follow as ``children``. ``segment`` and ``offset`` are for information only; they are not read
back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from keyframer.formats.document import Document
from keyframer.inspecting.json_values import extra_attributes, to_plain
from keyframer.text import bytes_to_hex
from keyframer.wire.record import Record, dump_fields

WIDTH = 120
"""maximum number of characters of a value on one line, without indentation"""
_NUMBERS_PER_LINE = 16


_ENCODER = json.JSONEncoder(allow_nan=False)


def compact(value: object) -> str:
    """Format a value on one line."""
    return _ENCODER.encode(value)


def lines(value: object, indent: int) -> str:
    """Format a value; all lines after the first are indented."""
    if isinstance(value, list) and value:
        return _list(value, indent)
    if isinstance(value, dict) and value:
        short = compact(value)
        if len(short) <= WIDTH:
            return short
        pad = " " * (indent + 2)
        entries = (f"{pad}{compact(key)}: {lines(item, indent + 2)}" for key, item in value.items())
        return "{\n" + ",\n".join(entries) + "\n" + " " * indent + "}"
    return compact(value)


def _list(items: list[Any], indent: int) -> str:
    if len(items) <= WIDTH // 2 and not isinstance(items[0], (list, dict)):
        short = compact(items)
        if len(short) <= WIDTH:
            return short
    pad = " " * (indent + 2)
    if isinstance(items[0], list):
        quick = str(items)  # Python writes numbers like JSON, and much faster
        if "'" not in quick:
            return "[\n" + pad + quick[1:-1].replace("], [", f"],\n{pad}[") + "\n" + " " * indent + "]"
    return "[\n" + pad + (",\n" + pad).join(_rows(items)) + "\n" + " " * indent + "]"


def _rows(items: list[Any]) -> Iterator[str]:
    if isinstance(items[0], (list, dict, str)):
        yield from map(compact, items)
    else:
        for start in range(0, len(items), _NUMBERS_PER_LINE):
            yield compact(items[start : start + _NUMBERS_PER_LINE])[1:-1]


SCHEMA = "keyframer.text"
SCHEMA_VERSION = 1

INFORMATION = ("segment", "offset")
"""keys of a record that are not read back"""


def dump_parts(document: Document, *, offsets: bool = True) -> Iterator[str]:
    """Yield the text in parts, so that large texts are not in memory twice."""
    head: dict[str, object] = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "format": document.format.name}
    yield "{\n" + "".join(f'  "{key}": {compact(value)},\n' for key, value in head.items())
    if document.dialect is not None:
        yield f'  "dialect": {lines(to_plain(document.dialect), 2)},\n'
    yield '  "records": ['
    yield from _dump_records(document.records, offsets)
    yield "]"
    if document.trailing:
        yield f',\n  "trailing": {lines(bytes_to_hex(document.trailing), 2)}'
    yield "\n}\n"


def _dump_records(records: list[Record], offsets: bool) -> Iterator[str]:
    """Yield the text of all records, using a stack of open lists and their endings instead of recursion."""
    stack: list[tuple[Iterator[Record], bool, str]] = [(iter(records), bool(records), "")]
    indent = 2
    first = True
    while stack:
        todo, any_inside, ending = stack[-1]
        record = next(todo, None)
        if record is None:
            stack.pop()
            if any_inside:
                yield "\n" + " " * indent
            indent -= 4
            yield ending
            first = False
            continue
        yield "" if first else ","
        yield "\n" + " " * (indent + 2)
        first = False
        opening, closing = _dump_one(record, indent + 2, offsets)
        yield opening
        if closing is not None:
            indent += 4
            stack.append((iter(record.children), True, closing))
            first = True


def _dump_one(record: Record, indent: int, offsets: bool) -> tuple[str, str | None]:
    """Return the text of a record and None, or for a record with children the text before and after them."""
    head, body = _parts(record, offsets)
    tail = {"tail": bytes_to_hex(record.tail)} if record.tail else {}
    if not record.children:
        if not any(_is_long(value) for value in body.get("fields", {}).values()) and not _is_long(record.tail):
            short = compact({**head, **body, **tail})
            if len(short) <= WIDTH:
                return short, None
        return _block(head, {**body, **tail}, indent) + "\n" + " " * indent + "}", None
    closing = "]" + "".join(f",\n{' ' * (indent + 2)}{_entry(key, value, indent)}" for key, value in tail.items())
    return f'{_block(head, body, indent)},\n{" " * (indent + 2)}"children": [', closing + "\n" + " " * indent + "}"


def _parts(record: Record, offsets: bool) -> tuple[dict[str, object], dict[str, Any]]:
    """Return the content of the first line of a record, and of the following lines."""
    name = type(record).__name__
    head: dict[str, object] = {"record": name}
    if record.segment != name.lower():
        head["segment"] = record.segment
    if offsets and record.offset is not None:
        head["offset"] = f"{record.offset:#x}"
    for attribute, (_, default) in extra_attributes(type(record)).items():
        value = getattr(record, attribute)
        if value != default:
            head[attribute] = to_plain(value)
    fields = dump_fields(record)
    return head, {"fields": fields} if fields else {}


def _is_long(value: object) -> bool:
    return isinstance(value, (list, bytes)) and len(value) > WIDTH


def _block(head: dict[str, object], body: dict[str, Any], indent: int) -> str:
    pad = " " * (indent + 2)
    first = compact(head)[1:-1]
    return "{\n" + ",\n".join([f"{pad}{first}", *(f"{pad}{_entry(key, value, indent)}" for key, value in body.items())])


def _entry(key: str, value: object, indent: int) -> str:
    if key == "fields" and isinstance(value, dict):
        pad = " " * (indent + 4)
        fields = (f'{pad}"{name}": {lines(item, indent + 4)}' for name, item in value.items())
        return '"fields": {\n' + ",\n".join(fields) + "\n" + " " * (indent + 2) + "}"
    return f'"{key}": {lines(value, indent + 2)}'
