"""Buffers and their views: in the file, in data URIs, or in files of its folder; nothing else is ever opened."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from keyframer.catalogue import IO_READ_FAILED, SEC_PATH_TRAVERSAL, STRUCT_SYNTAX, STRUCT_TRUNCATED
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item
from keyframer.files import check_size, read_bytes
from keyframer.limits import Budget, Limits
from keyframer.text import safe_text
from keyframer.textures.naming import take_apart

OWN = 4
"""numbers that a byte of a file may become: stored, joined to others, as corners of faces"""


class Buffers:
    def __init__(
        self,
        root: Item,
        binary: memoryview | None,
        folder: Path | None,
        limits: Limits,
        budget: Budget,
        issues: Findings,
    ) -> None:
        self._items = root.children("buffers")
        self._views = root.children("bufferViews")
        self._binary = binary
        self._folder = folder
        self._limits = limits
        self._budget = budget
        self._issues = issues
        self._read: dict[int, memoryview] = {}
        self._files: dict[tuple[str, ...], bytes] = {}
        self._total = 0

    @property
    def view_count(self) -> int:
        return len(self._views)

    def view(self, number: int) -> tuple[memoryview, int]:
        """The bytes of a view, and its stride (0 where the elements stand close)."""
        item = self._views[number]
        content = self._buffer(item.needed_index("buffer", len(self._items), "buffer"))
        begin, size = item.integer("byteOffset", 0), item.integer("byteLength", least=1)
        if begin + size > len(content):
            self._issues.left_out(item.fail(STRUCT_TRUNCATED, "byteLength", wanted=begin + size, left=len(content)))
        stride = item.integer("byteStride", 0, least=4, most=252) if item.has("byteStride") else 0
        return content[begin : begin + size], stride

    def place(self, number: int) -> tuple[int, int]:
        """Which buffer a view is of, and where in it it begins."""
        item = self._views[number]
        return item.needed_index("buffer", len(self._items), "buffer"), item.integer("byteOffset", 0)

    def _buffer(self, number: int) -> memoryview:
        if number not in self._read:
            item = self._items[number]
            size = item.integer("byteLength", least=1)
            content = self._content(number, item)
            if size > len(content):
                self._issues.left_out(item.fail(STRUCT_TRUNCATED, "byteLength", wanted=size, left=len(content)))
            self._read[number] = content[:size]
        return self._read[number]

    def _content(self, number: int, item: Item) -> memoryview:
        if not item.has("uri"):
            if number or self._binary is None:
                raise item.missing("uri")
            return self._binary
        uri = item.text("uri")
        if uri[:5].lower() == "data:":
            return memoryview(inline(item, uri))
        return memoryview(self._file(item, uri))

    def _file(self, item: Item, uri: str) -> bytes:
        name = take_apart(unquote(uri))
        if name.refusal is not None or not name.parts:
            raise item.fail(name.refusal or SEC_PATH_TRAVERSAL, "uri", name=safe_text(uri[:200]))
        if self._folder is None:
            raise item.fail(IO_READ_FAILED, "uri", reason="a buffer in a file of its own needs the folder it is in")
        if name.parts not in self._files:
            path = self._folder.joinpath(*name.parts)
            try:
                inside = os.path.realpath(path).startswith(os.path.join(os.path.realpath(self._folder), ""))
                if not inside:
                    raise item.fail(SEC_PATH_TRAVERSAL, "uri", name=safe_text(uri[:200]))
                if not stat.S_ISREG(os.stat(path).st_mode):
                    raise item.fail(IO_READ_FAILED, "uri", reason=f"{safe_text(path.name)} is no plain file")
                content = read_bytes(path, self._limits)
            except OSError as error:
                reason = f"{safe_text(path.name)}: {error.strerror or error}"
                raise item.fail(IO_READ_FAILED, "uri", reason=reason) from None
            self._total += len(content)
            check_size(self._total, self._limits)
            self._budget.grant("copies", OWN * len(content))
            self._files[name.parts] = content
        return self._files[name.parts]


def inline(item: Item, uri: str) -> bytes:
    """The bytes of a data URI."""
    head, comma, body = uri.partition(",")
    if not comma:
        raise item.fail(STRUCT_SYNTAX, "uri", wanted="a data URI", found="text without a comma")
    if not head.lower().endswith(";base64"):
        return _unquoted(body)
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise item.fail(STRUCT_SYNTAX, "uri", wanted="base64", found="other characters") from None


_DIGITS = np.full(256, -1, np.int16)
_DIGITS[[*b"0123456789abcdef"]] = np.arange(16)
_DIGITS[[*b"ABCDEF"]] = np.arange(10, 16)


def _unquoted(text: str) -> bytes:
    """``%41`` is ``A``. (The standard library makes a list of pieces, which takes eighty times the memory.)"""
    given = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    marks = np.flatnonzero(given[:-2] == ord("%"))
    high, low = _DIGITS[given[marks + 1]], _DIGITS[given[marks + 2]]
    sound = (high >= 0) & (low >= 0)
    marks = marks[sound]
    made, stays = given.copy(), np.ones(len(given), np.bool_)
    made[marks] = high[sound] * 16 + low[sound]
    stays[marks + 1] = stays[marks + 2] = False
    return made[stays].tobytes()
