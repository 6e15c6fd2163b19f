"""Finds the position of a value in a JSON text, for error messages with a line number.

One pass over the tokens with an explicit stack, so that neither size nor nesting is a problem.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator

Path = tuple[str | int, ...]

DEEPEST = 200
"""deepest allowed nesting; documents of real files reach 20"""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


Live = list[str | int | None]
"""the path of the current value, changed in place"""


def values(text: str) -> Iterator[tuple[Live, int, str]]:
    """Yield every value in order, up to the first error: path (copy it to keep it), start and first token."""
    path: Live = []
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
    """Return the start of the value with this path, or of its closest parent if it is missing."""
    best, known = 0, -1
    for live, start, _ in values(text):
        depth = len(live)
        if known < depth <= len(path) and (not depth or live[-1] == path[depth - 1]) and tuple(live) == path[:depth]:
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
    return next((_complete_path(live) for live, start, _ in values(text) if start == last), ())


def too_deep(text: str) -> int:
    """Return the start of the first value that is nested deeper than `DEEPEST`."""
    return next((start for live, start, _ in values(text) if len(live) > DEEPEST), 0)


def invalid_literal(text: str) -> int:
    """Return the start of the first invalid literal (NaN, Infinity) or of a number with thousands of digits."""
    for _, start, token in values(text):
        if token[0] in "NI" or token.startswith("-I") or (token[0] in "-0123456789" and len(token) > 4000):
            return start
    return 0


def repeated_key(text: str) -> int:
    """Return the start of the first value with a repeated key."""
    seen_keys: list[set[str]] = []
    for live, start, token in values(text):
        depth = len(live)
        key = live[-1] if live else None
        if isinstance(key, str):
            key = json.loads(f'"{key}"') if "\\" in key else key
            if key in seen_keys[depth - 1]:
                return start
            seen_keys[depth - 1].add(key)
        if token in "{[":
            del seen_keys[depth:]
            seen_keys.append(set())
    return 0


def _complete_path(live: Live) -> Path:
    return tuple(part for part in live if part is not None)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return line and column, both counted from 1."""
    starts = [0, *(match.end() for match in re.finditer("\n", text[:position]))]
    line = bisect_right(starts, position)
    return line, position - starts[line - 1] + 1


def show_path(path: Path) -> str:
    """Format a path as ``/records[0]/children[2]/fields/name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f"/{part}" for part in path)
    return text or "/"
