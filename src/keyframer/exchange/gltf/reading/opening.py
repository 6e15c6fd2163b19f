"""From bytes to JSON: the chunks of a ``.glb``, or the text of a ``.gltf``; its depth is checked first."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from keyframer.catalogue import (
    LIMIT_DEPTH,
    LIMIT_RECORDS,
    SEM_UNKNOWN_ENUM,
    STRUCT_CHUNK_MISSING,
    STRUCT_CHUNK_OVERRUN,
    STRUCT_SYNTAX,
    STRUCT_TAG_MISMATCH,
    STRUCT_TRAILING_DATA,
    STRUCT_TRUNCATED,
    STRUCT_UNKNOWN_CHUNK,
)
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.places import Places
from keyframer.exchange.gltf.reading.values import Item, described
from keyframer.limits import Limits

_JSON, _BIN = 0x4E4F534A, 0x004E4942
DEEPEST = 64
"""nesting of the JSON text: glTF itself needs 8, extras of real exporters a few more"""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?+', re.DOTALL)
_CONSTANT = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?+|(NaN|-?Infinity)', re.DOTALL)
_STEPS = np.zeros(256, np.int8)
_STEPS[[*b"[{"]] = 1
_STEPS[[*b"]}"]] = -1


@dataclass(eq=False)
class Opened:
    root: Item
    binary: memoryview | None
    """the second chunk of a ``.glb``"""
    binary_at: int = 0
    """where its content begins in the file"""


def open_container(data: bytes, limits: Limits, issues: Findings) -> Opened:
    if data[:4] != b"glTF":
        return Opened(_root(data, 0, limits, issues), None)
    if len(data) < 12:
        raise STRUCT_TRUNCATED.failure(0, "/", wanted=12, left=len(data))
    version, total = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise SEM_UNKNOWN_ENUM.failure(4, "/", value=f"binary glTF version {version}", known="2")
    if total > len(data):
        issues.left_out(STRUCT_TRUNCATED.failure(8, "/", wanted=total, left=len(data)))
        total = len(data)
    if total < len(data):
        issues.add(STRUCT_TRAILING_DATA, "/", total, size=len(data) - total)
    text: tuple[int, int] | None = None
    binary: memoryview | None = None
    binary_at = 0
    place, number = 12, 0
    while place + 8 <= total:
        size, kind = struct.unpack_from("<II", data, place)
        if size > total - place - 8:
            left = total - place - 8
            issues.left_out(STRUCT_CHUNK_OVERRUN.failure(place, f"/chunk[{number}]", size=size, left=left))
            size = left
        begin = place + 8
        if number == 0:
            if kind != _JSON:
                raise STRUCT_TAG_MISMATCH.failure(place + 4, "/chunk[0]", expected="JSON", found=f"{kind:#010x}")
            text = (begin, begin + size)
        elif number == 1 and kind == _BIN:
            binary, binary_at = memoryview(data)[begin : begin + size], begin
        else:
            issues.add(STRUCT_UNKNOWN_CHUNK, f"/chunk[{number}]", place, size=size)
        place, number = begin + size, number + 1
    if place < total:
        issues.add(STRUCT_TRAILING_DATA, f"/chunk[{number}]", place, size=total - place)
    if text is None:
        raise STRUCT_CHUNK_MISSING.failure(12, "/", name="JSON chunk")
    return Opened(_root(data[text[0] : text[1]], text[0], limits, issues), binary, binary_at)


def _root(text: bytes, offset: int, limits: Limits, issues: Findings) -> Item:
    bare = _STRING.sub(b"", text)
    values = bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if values > limits.records:
        raise LIMIT_RECORDS.failure(offset, "/", limit=limits.records)
    depths = np.cumsum(_STEPS[np.frombuffer(bare, np.uint8)], dtype=np.int32)
    if int(depths.max(initial=0)) > DEEPEST:
        raise LIMIT_DEPTH.failure(offset, "/", limit=DEEPEST)
    try:
        shown = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise STRUCT_SYNTAX.failure(offset + error.start, "/", wanted="UTF-8", found="other bytes") from None

    begin = offset + len(text) - len(text.removeprefix(b"\xef\xbb\xbf"))

    def refuse(constant: str) -> NoReturn:
        place = next(found.start(1) for found in _CONSTANT.finditer(text) if found[1] is not None)
        raise STRUCT_SYNTAX.failure(offset + place, "/", wanted="JSON", found=constant)

    try:
        found: Any = json.loads(shown, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = begin + len(shown[: error.pos].encode())
        raise STRUCT_SYNTAX.failure(place, "/", wanted="JSON", found=error.msg) from None
    except ValueError:  # more digits than any number has
        raise STRUCT_SYNTAX.failure(offset, "/", wanted="a number", found="thousands of digits") from None
    if type(found) is not dict:
        raise STRUCT_SYNTAX.failure(offset, "/", wanted="an object", found=described(found))
    issues.places = Places(shown, begin)
    return Item(found, "/", issues)
