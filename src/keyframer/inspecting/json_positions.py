"""Where a value stands in a JSON text: used only when something is wrong with it, so that messages can name a line.

One pass over the tokens with a stack of its own, so that neither size nor nesting can hurt.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator

Path = tuple[str | int, ...]

DEEPEST = 200
"""how deep a text may be nested; documents of real files reach 20"""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)


Live = list[str | int | None]
"""The path of the value at hand, changed in place as the text goes on."""


def values(text: str) -> Iterator[tuple[Live, int, str]]:
    """Every value in order, as far as the text can be followed: path (copy it to keep it), start and first token."""
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
    """Where the value with this path starts; where its closest parent starts if it is not there."""
    best, known = 0, -1
    for live, start, _ in values(text):
        depth = len(live)
        if known < depth <= len(path) and (not depth or live[-1] == path[depth - 1]) and tuple(live) == path[:depth]:
            best, known = start, depth
            if depth == len(path):
                break
    return best


def path_at(text: str, position: int) -> Path:
    """The path of the last value that starts at or before a position."""
    last = -1
    for _, start, _ in values(text):
        if start > position:
            break
        last = start
    return next((_settled(live) for live, start, _ in values(text) if start == last), ())


def too_deep(text: str) -> int:
    """Where the first value starts that is nested deeper than `DEEPEST`."""
    return next((start for live, start, _ in values(text) if len(live) > DEEPEST), 0)


def odd_literal(text: str) -> int:
    """Where the first bare word starts that JSON does not have (NaN, Infinity), or a number of an absurd length."""
    for _, start, token in values(text):
        if token[0] in "NI" or token.startswith("-I") or (token[0] in "-0123456789" and len(token) > 4000):
            return start
    return 0


def repeated_key(text: str) -> int:
    """Where the first value starts whose key its object has named before."""
    named: list[set[str]] = []
    for live, start, token in values(text):
        depth = len(live)
        key = live[-1] if live else None
        if isinstance(key, str):
            key = json.loads(f'"{key}"') if "\\" in key else key
            if key in named[depth - 1]:
                return start
            named[depth - 1].add(key)
        if token in "{[":
            del named[depth:]
            named.append(set())
    return 0


def _settled(live: Live) -> Path:
    return tuple(part for part in live if part is not None)


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Both counted from 1."""
    starts = [0, *(match.end() for match in re.finditer("\n", text[:position]))]
    line = bisect_right(starts, position)
    return line, position - starts[line - 1] + 1


def show_path(path: Path) -> str:
    """``/records[0]/children[2]/fields/name``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f"/{part}" for part in path)
    return text or "/"
