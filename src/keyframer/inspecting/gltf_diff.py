"""The differences between two glTF files: values of their JSON by path, and bytes of the binary chunk by view."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keyframer.exchange.gltf.read.container import Container, open_container
from keyframer.exchange.gltf.read.json_text import Findings
from keyframer.inspecting.record_diff import Change, Changes, FieldChange
from keyframer.limits import DEFAULT_LIMITS

_LONGEST = 16
"""longest list of numbers that is shown as one value: a matrix"""
_LARGEST_INTEGER = 2**63
_TIMES = 16
"""maximum number of times that the bytes of a file are compared: views may overlap"""


def diff_gltf(a: bytes, b: bytes) -> Changes:
    """Return all differences. Lists are compared by index, because parts of glTF refer to each other by index."""
    changes = Changes()
    file_a, file_b = (open_container(data, DEFAULT_LIMITS, Findings(DEFAULT_LIMITS, salvage=True)) for data in (a, b))
    todo: list[tuple[str, Any, Any]] = [("", file_a.root.value, file_b.root.value)]
    while todo:
        path, before, after = todo.pop()
        if type(before) is dict and type(after) is dict:
            keys = dict.fromkeys([*before, *after])
            pairs = [(f"{path}/{key}", before.get(key, _MISSING), after.get(key, _MISSING)) for key in keys]
        elif type(before) is list and type(after) is list and not (_is_short(before) and _is_short(after)):
            most = max(len(before), len(after))
            pairs = [(f"{path}[{at}]", _entry(before, at), _entry(after, at)) for at in range(most)]
        else:
            _compare(changes, path or "/", before, after)
            continue
        todo += reversed([pair for pair in pairs if pair[1] is not pair[2]])
    _compare_views(changes, file_a, file_b)
    return changes


_MISSING = object()


def _entry(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else _MISSING


def _is_short(values: list[Any]) -> bool:
    return len(values) <= _LONGEST and all(type(value) in (int, float) for value in values)


def _compare(changes: Changes, path: str, before: Any, after: Any) -> None:
    if before is _MISSING or after is _MISSING:
        added = before is _MISSING
        kind, value = ("added", after) if added else ("removed", before)
        changes.add(Change(kind, _kind(value), None if added else path, path if added else None))
    elif before != after or (type(before) is not type(after) and bool in (type(before), type(after))):
        field = FieldChange("value", _shown(before), _shown(after), largest=_largest(before, after))
        changes.add(Change("changed", _kind(before), path, path, (field,)))


def _kind(value: Any) -> str:
    return {dict: "object", list: "list", str: "text", bool: "flag", type(None): "null"}.get(type(value), "number")


def _shown(value: Any) -> object:
    if type(value) is list and _is_short(value):
        return tuple(map(_float, value))
    if type(value) is int and abs(value) > _LARGEST_INTEGER:
        return _float(value)
    return f"({_kind(value)})" if type(value) in (list, dict) else value


def _float(number: float) -> float:
    """Convert to float; integers that are too large become infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _largest(before: Any, after: Any) -> float | None:
    pairs = zip(before, after, strict=False) if type(before) is type(after) is list else ((before, after),)
    differences = [abs(_float(a) - _float(b)) for a, b in pairs if {type(a), type(b)} <= {int, float}]
    return max(filter(math.isfinite, differences), default=None)


def _compare_views(changes: Changes, file_a: Container, file_b: Container) -> None:
    """Compare the bytes of the binary chunk, for each buffer view that is declared the same in both files.

    Other views are already listed as differences of the JSON. Bytes outside the binary chunk are not compared.
    """
    before, after = file_a.root.value.get("bufferViews"), file_b.root.value.get("bufferViews")
    if file_a.binary is None or file_b.binary is None or type(before) is not list or type(after) is not list:
        return
    bytes_left = _TIMES * len(file_a.binary)
    for number, (a, b) in enumerate(zip(before, after, strict=False)):
        span = _byte_range(a)
        if a != b or span is None or bytes_left < 0:
            continue
        bytes_left -= span.stop - span.start
        x, y = (np.frombuffer(binary, np.uint8)[span] for binary in (file_a.binary, file_b.binary))
        common = min(len(x), len(y))
        differ = int(np.count_nonzero(x[:common] != y[:common])) + max(len(x), len(y)) - common
        if differ:
            path = f"/bufferViews[{number}]"
            changes.add(Change("changed", "bytes", path, path, (FieldChange("bytes", None, None, entries=differ),)))


def _byte_range(view: Any) -> slice | None:
    if type(view) is not dict or view.get("buffer") != 0:
        return None
    begin, size = view.get("byteOffset", 0), view.get("byteLength")
    return slice(begin, begin + size) if type(begin) is int and type(size) is int and begin >= 0 and size > 0 else None
