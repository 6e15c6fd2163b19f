"""Formats JSON for reading: a value that fits a line is on one line, long lists have one row per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

WIDTH = 120
"""most characters of a value on one line, without indentation"""
_NUMBERS_A_LINE = 16


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
        quick = str(items)  # Python writes numbers like JSON, and much faster
        if "'" not in quick:
            return "[\n" + pad + quick[1:-1].replace("], [", f"],\n{pad}[") + "\n" + " " * indent + "]"
    return "[\n" + pad + (",\n" + pad).join(_rows(items)) + "\n" + " " * indent + "]"


def _rows(items: list[Any]) -> Iterator[str]:
    if isinstance(items[0], (list, dict, str)):
        yield from map(compact, items)
    else:
        for start in range(0, len(items), _NUMBERS_A_LINE):
            yield compact(items[start : start + _NUMBERS_A_LINE])[1:-1]
