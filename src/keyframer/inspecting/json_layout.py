"""JSON values as text for people: a value that fits a line stands on one line, long lists one row a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

WIDTH = 120
"""characters of one value on one line, indentation not counted (deep records are as readable as shallow ones)"""
_NUMBERS_A_LINE = 16


_ENCODER = json.JSONEncoder(allow_nan=False)


def compact(value: object) -> str:
    """On one line."""
    return _ENCODER.encode(value)


def lines(value: object, indent: int) -> str:
    """A value, the lines behind its first one indented."""
    if isinstance(value, list) and value:
        return _list(value, indent)
    if isinstance(value, dict) and value:
        short = compact(value)
        if len(short) <= WIDTH:
            return short
        pad = " " * (indent + 2)
        inner = (f"{pad}{compact(key)}: {lines(item, indent + 2)}" for key, item in value.items())
        return "{\n" + ",\n".join(inner) + "\n" + " " * indent + "}"
    return compact(value)


def _list(items: list[Any], indent: int) -> str:
    if len(items) <= WIDTH // 2 and not isinstance(items[0], (list, dict)):
        short = compact(items)
        if len(short) <= WIDTH:
            return short
    pad = " " * (indent + 2)
    if isinstance(items[0], list):
        quick = str(items)  # Python prints numbers as JSON does, and much faster
        if "'" not in quick:
            return "[\n" + pad + quick[1:-1].replace("], [", f"],\n{pad}[") + "\n" + " " * indent + "]"
    return "[\n" + pad + (",\n" + pad).join(_rows(items)) + "\n" + " " * indent + "]"


def _rows(items: list[Any]) -> Iterator[str]:
    if isinstance(items[0], (list, dict, str)):
        yield from map(compact, items)
    else:
        for start in range(0, len(items), _NUMBERS_A_LINE):
            yield compact(items[start : start + _NUMBERS_A_LINE])[1:-1]
