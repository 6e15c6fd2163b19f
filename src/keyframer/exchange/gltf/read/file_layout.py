"""Where things lie in a glTF file: objects in its JSON text; numbers in its chunk, in data URIs, in files beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from keyframer.errors import FormatError
from keyframer.exchange.gltf.read.accessors import Accessors, Elements
from keyframer.exchange.gltf.read.container import Buffers, open_container
from keyframer.exchange.gltf.read.json_text import Findings, Span
from keyframer.limits import DEFAULT_LIMITS, open_budget

Whole = npt.NDArray[np.int64]


@dataclass(eq=False, slots=True)
class Stored:
    """Numbers of one accessor that lie in one place: where each element begins and ends."""

    starts: Whole
    """-1 where an element does not lie here"""
    ends: Whole
    file: str | None = None
    """the file beside this one that they are in"""
    encoded: bool = False
    """whether the bytes are characters of base64, which may hold a part of a neighbour, too"""


class Layout:
    """The places of one file, which may be damaged: what cannot be found has none."""

    def __init__(self, data: bytes, folder: Path | None) -> None:
        issues = Findings(DEFAULT_LIMITS, salvage=True)
        opened = open_container(data, DEFAULT_LIMITS, issues)
        assert issues.places is not None
        self.text = issues.places
        self.root = opened.root
        self.binary = None if opened.binary is None else (opened.binary_at, opened.binary_at + len(opened.binary))
        """the content of the second chunk of a ``.glb``"""
        self.is_binary = data[:4] == b"glTF"
        self.text_end = 20 + int.from_bytes(data[12:16], "little") if self.is_binary else len(data)
        self._data = data
        budget = open_budget(DEFAULT_LIMITS, len(data))
        buffers = Buffers(self.root, opened.binary, folder, DEFAULT_LIMITS, budget, issues)
        self._accessors = Accessors(self.root, buffers, budget, issues)
        self._buffers, self._views = self.root.children("buffers"), self.root.children("bufferViews")

    def elements(self, accessor: object) -> list[Stored]:
        """Where the elements of an accessor lie: in one place, or in several where it is sparse."""
        if type(accessor) is not int or not 0 <= accessor < len(self._accessors):
            return []
        try:
            found = self._accessors.where(accessor)
            return [self._stored(int(number), found) for number in np.unique(found.buffers)]
        except FormatError:
            return []

    def view(self, number: int) -> Span | None:
        """The bytes of a buffer view, where they are bytes of this file."""
        try:
            item = self._views[number]
            buffer, begin = item.needed_index("buffer", len(self._buffers), "buffer"), item.integer("byteOffset", 0)
            size = item.integer("byteLength")
            uri = self._buffers[buffer].has("uri")
        except FormatError:
            return None
        if uri or self.binary is None or buffer or self.binary[0] + begin + size > self.binary[1]:
            return None
        return self.binary[0] + begin, self.binary[0] + begin + size

    def run(self, accessor: int) -> Span | None:
        """The bytes of an accessor in the chunk, where they are one run without gaps."""
        try:
            found = self._accessors.run(accessor)
        except FormatError:
            return None
        view = None if found is None else self.view(found[0])
        if found is None or view is None or view[0] + found[1] + found[2] > view[1]:
            return None
        return view[0] + found[1], view[0] + found[1] + found[2]

    def _stored(self, buffer: int, found: Elements) -> Stored:
        here = found.buffers == buffer
        if buffer < 0:
            return Stored(np.full(len(here), -1), np.full(len(here), -1))
        starts, ends = np.where(here, found.starts, -1), np.where(here, found.starts + found.size, -1)
        item = self._buffers[buffer]
        if not item.has("uri"):
            assert self.binary is not None
            return Stored(np.where(here, starts + self.binary[0], -1), np.where(here, ends + self.binary[0], -1))
        uri = item.text("uri")
        if uri[:5].lower() != "data:":
            return Stored(starts, ends, unquote(uri))
        begin, end, is_plain = self._inlined(item.at("uri"), uri)
        if not is_plain:
            return Stored(np.where(here, begin, -1), np.where(here, end, -1), encoded=True)
        first, last = begin + starts // 3 * 4, np.minimum(begin + -(-ends // 3) * 4, end)
        return Stored(np.where(here, first, -1), np.where(here, last, -1), encoded=True)

    def _inlined(self, path: str, uri: str) -> tuple[int, int, bool]:
        """The characters of the content of a data URI, and whether four of them are three bytes each."""
        span = self.text.span(path)
        assert span is not None
        begin, end = span[0] + 1, span[1] - 1
        head = uri.partition(",")[0]
        is_plain = head.lower().endswith(";base64") and self._data[begin:end] == uri.encode("utf-8", "surrogatepass")
        return (begin + len(head.encode()) + 1 if is_plain else begin), end, is_plain
