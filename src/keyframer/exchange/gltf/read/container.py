"""The parts of a glTF file: its JSON text, its buffers and the extensions that it names.

The number of values and the depth of the JSON text are checked before it is parsed. Buffers are in the file, in data
URIs, or in files below its folder; no other file is opened here.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import struct
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np

from keyframer.catalogue import (
    IO_READ_FAILED,
    LIMIT_DEPTH,
    LIMIT_RECORDS,
    SEC_PATH_TRAVERSAL,
    SEM_EXTENSION_UNKNOWN,
    SEM_UNKNOWN_ENUM,
    STRUCT_CHUNK_MISSING,
    STRUCT_CHUNK_OVERRUN,
    STRUCT_SYNTAX,
    STRUCT_TAG_MISMATCH,
    STRUCT_TRAILING_DATA,
    STRUCT_TRUNCATED,
    STRUCT_UNKNOWN_CHUNK,
)
from keyframer.exchange.gltf.read.json_text import Findings, Item, Places, described
from keyframer.files import check_size, read_named
from keyframer.issues import Severity
from keyframer.limits import Budget, Limits
from keyframer.text import safe_text
from keyframer.textures.file_names import split_name

_JSON, _BIN = 0x4E4F534A, 0x004E4942
MOST_DEPTH = 64
"""maximum depth of the JSON text: glTF itself needs 8 levels, extras of real exporters a few more"""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?+', re.DOTALL)
_CONSTANT = re.compile(rb'"(?:[^"\\]++|\\.?)*+"?+|(NaN|-?Infinity)', re.DOTALL)
_DEPTH_CHANGES = np.zeros(256, np.int8)
_DEPTH_CHANGES[[*b"[{"]] = 1
_DEPTH_CHANGES[[*b"]}"]] = -1


@dataclass(eq=False)
class Container:
    """The JSON object of a file, and the binary chunk of a ``.glb``."""

    root: Item
    binary: memoryview | None
    """content of the binary chunk; None if there is none"""


def open_container(data: bytes, limits: Limits, issues: Findings) -> Container:
    """Parse the JSON text of a ``.gltf`` or ``.glb``, and find the binary chunk of a ``.glb``."""
    if data[:4] != b"glTF":
        return Container(_root(data, 0, limits, issues), None)
    if len(data) < 12:
        raise STRUCT_TRUNCATED.failure(0, "/", wanted=12, left=len(data))
    version, total = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise SEM_UNKNOWN_ENUM.failure(4, "/", value=f"binary glTF version {version}", known="2")
    if total > len(data):
        issues.leave_out(STRUCT_TRUNCATED.failure(8, "/", wanted=total, left=len(data)))
        total = len(data)
    if total < len(data):
        issues.add(STRUCT_TRAILING_DATA, "/", total, size=len(data) - total)
    text: tuple[int, int] | None = None
    binary: memoryview | None = None
    offset, number = 12, 0
    while offset + 8 <= total:
        size, kind = struct.unpack_from("<II", data, offset)
        if size > total - offset - 8:
            left = total - offset - 8
            issues.leave_out(STRUCT_CHUNK_OVERRUN.failure(offset, f"/chunk[{number}]", size=size, left=left))
            size = left
        begin = offset + 8
        if number == 0:
            if kind != _JSON:
                raise STRUCT_TAG_MISMATCH.failure(offset + 4, "/chunk[0]", expected="JSON", found=f"{kind:#010x}")
            text = (begin, begin + size)
        elif number == 1 and kind == _BIN:
            binary = memoryview(data)[begin : begin + size]
        else:
            issues.add(STRUCT_UNKNOWN_CHUNK, f"/chunk[{number}]", offset, size=size)
        offset, number = begin + size, number + 1
    if offset < total:
        issues.add(STRUCT_TRAILING_DATA, f"/chunk[{number}]", offset, size=total - offset)
    if text is None:
        raise STRUCT_CHUNK_MISSING.failure(12, "/", name="JSON chunk")
    return Container(_root(data[text[0] : text[1]], text[0], limits, issues), binary)


def _root(text: bytes, offset: int, limits: Limits, issues: Findings) -> Item:
    """Parse the JSON text at ``offset`` in the file, after checking the number and depth of its values."""
    without_strings = _STRING.sub(b"", text)
    values = without_strings.count(b",") + without_strings.count(b"[") + without_strings.count(b"{")
    if values > limits.records:
        raise LIMIT_RECORDS.failure(offset, "/", limit=limits.records)
    depths = np.cumsum(_DEPTH_CHANGES[np.frombuffer(without_strings, np.uint8)], dtype=np.int32)
    if int(depths.max(initial=0)) > MOST_DEPTH:
        raise LIMIT_DEPTH.failure(offset, "/", limit=MOST_DEPTH)
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise STRUCT_SYNTAX.failure(offset + error.start, "/", wanted="UTF-8", found="other bytes") from None

    begin = offset + len(text) - len(text.removeprefix(b"\xef\xbb\xbf"))

    def refuse(constant: str) -> NoReturn:
        position = next(match.start(1) for match in _CONSTANT.finditer(text) if match[1] is not None)
        raise STRUCT_SYNTAX.failure(offset + position, "/", wanted="JSON", found=constant)

    try:
        root: Any = json.loads(decoded, parse_constant=refuse)
    except json.JSONDecodeError as error:
        position = begin + len(decoded[: error.pos].encode())
        raise STRUCT_SYNTAX.failure(position, "/", wanted="valid JSON", found=f"an error ({error.msg})") from None
    except ValueError:  # int() refuses thousands of digits
        raise STRUCT_SYNTAX.failure(offset, "/", wanted="a number", found="thousands of digits") from None
    if type(root) is not dict:
        raise STRUCT_SYNTAX.failure(offset, "/", wanted="an object", found=described(root))
    issues.places = Places(decoded, begin)
    return Item(root, "/", issues)


NUMBERS_PER_BYTE = 4
"""budget of numbers for each byte of a file: they are copied when read, when joined and when used for faces"""


class Buffers:
    """The buffers and buffer views of one file; each buffer is opened once."""

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

    def contents(self) -> list[memoryview]:
        """Return the content of all buffers."""
        return [self._buffer(number) for number in range(len(self._items))]

    @property
    def view_count(self) -> int:
        return len(self._views)

    def view(self, number: int) -> tuple[memoryview, int]:
        """Return the bytes of a view, and its stride; 0 if it states none."""
        item = self._views[number]
        content = self._buffer(item.needed_index("buffer", len(self._items), "buffer"))
        begin, size = item.integer("byteOffset", 0), item.integer("byteLength", least=1)
        if begin + size > len(content):
            self._issues.leave_out(item.fail(STRUCT_TRUNCATED, "byteLength", wanted=begin + size, left=len(content)))
        stride = item.integer("byteStride", 0, least=4, most=252) if item.has("byteStride") else 0
        return content[begin : begin + size], stride

    def _buffer(self, number: int) -> memoryview:
        if number not in self._read:
            item = self._items[number]
            size = item.integer("byteLength", least=1)
            content = self._content(number, item)
            if size > len(content):
                self._issues.leave_out(item.fail(STRUCT_TRUNCATED, "byteLength", wanted=size, left=len(content)))
            self._read[number] = content[:size]
        return self._read[number]

    def _content(self, number: int, item: Item) -> memoryview:
        if not item.has("uri"):
            if number or self._binary is None:
                raise item.missing("uri")
            return self._binary
        uri = item.text("uri")
        if uri[:5].lower() == "data:":
            return memoryview(decode_data_uri(item, uri))
        return memoryview(self._file(item, uri))

    def _file(self, item: Item, uri: str) -> bytes:
        name = split_name(unquote(uri))
        if name.refusal is not None or not name.parts:
            raise item.fail(name.refusal or SEC_PATH_TRAVERSAL, "uri", name=safe_text(uri[:200]))
        if self._folder is None:
            raise item.fail(
                IO_READ_FAILED,
                "uri",
                reason="a separate buffer file can be read only if the folder of the glTF file is known",
            )
        if name.parts not in self._files:
            path = self._folder.joinpath(*name.parts)
            try:
                is_inside = os.path.realpath(path).startswith(os.path.join(os.path.realpath(self._folder), ""))
                if not is_inside:
                    raise item.fail(SEC_PATH_TRAVERSAL, "uri", name=safe_text(uri[:200]))
                content = read_named(path, self._limits)
            except OSError as error:
                reason = f"{safe_text(path.name)}: {error.strerror or error}"
                raise item.fail(IO_READ_FAILED, "uri", reason=reason) from None
            self._total += len(content)
            check_size(self._total, self._limits)
            self._budget.grant("copies", NUMBERS_PER_BYTE * len(content))
            self._files[name.parts] = content
        return self._files[name.parts]


def decode_data_uri(item: Item, uri: str) -> bytes:
    """Return the bytes of a data URI."""
    head, comma, body = uri.partition(",")
    if not comma:
        raise item.fail(STRUCT_SYNTAX, "uri", wanted="a data URI", found="text without a comma")
    if not head.lower().endswith(";base64"):
        return _percent_decoded(body)
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise item.fail(STRUCT_SYNTAX, "uri", wanted="base64", found="other characters") from None


_DIGITS = np.full(256, -1, np.int16)
_DIGITS[[*b"0123456789abcdef"]] = np.arange(16)
_DIGITS[[*b"ABCDEF"]] = np.arange(10, 16)


def _percent_decoded(text: str) -> bytes:
    """Decode ``%41`` as ``A``; the function of the standard library needs eighty times the memory."""
    stored = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    marks = np.flatnonzero(stored[:-2] == ord("%"))
    high, low = _DIGITS[stored[marks + 1]], _DIGITS[stored[marks + 2]]
    valid = (high >= 0) & (low >= 0)
    marks = marks[valid]
    decoded, is_kept = stored.copy(), np.ones(len(stored), np.bool_)
    decoded[marks] = high[valid] * 16 + low[valid]
    is_kept[marks + 1] = is_kept[marks + 2] = False
    return decoded[is_kept].tobytes()


_SUPPORTED_EXTENSIONS = (
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_transform",
)
DRACO = "KHR_draco_mesh_compression"
_MESHOPT = "decompress the file first (gltfpack -i FILE -o NEW -noq)"
_ADVICE = {
    DRACO: "pip install 'keyframer[gltf]' installs the decoder",
    "EXT_meshopt_compression": _MESHOPT,
    "KHR_meshopt_compression": _MESHOPT,
    "KHR_texture_basisu": "convert its KTX2 images to PNG or JPEG first (gltf-transform ktxdecompress FILE NEW)",
}
"""advice for files with these extensions"""
_APPEARANCE_ONLY = ("KHR_materials_", "EXT_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_")
"""prefixes of extensions that only affect the look of surfaces, not geometry or motion"""


def advice(name: str) -> str | None:
    """Return what the user can do about an unsupported extension; None if nothing is known."""
    return _ADVICE.get(name)


def draco_is_installed() -> bool:
    return find_spec("DracoPy") is not None


def check_extensions(root: Item, issues: Findings) -> None:
    """Report unsupported extensions; a required one is an error unless it only affects the look of surfaces."""
    required = [str(name)[:80] for name in root.entries("extensionsRequired")]
    supported = {*_SUPPORTED_EXTENSIONS, DRACO} if draco_is_installed() else {*_SUPPORTED_EXTENSIONS}
    for number, name in enumerate(required):
        if name in supported:
            continue
        path = f"/extensionsRequired[{number}]"
        if name.startswith(_APPEARANCE_ONLY):
            effect = advice(name) or "surfaces look different without it"
            issues.add(SEM_EXTENSION_UNKNOWN, path, 0, name=name, effect=effect)
        else:
            effect = advice(name) or "the file requires it"
            issues.leave_out(SEM_EXTENSION_UNKNOWN.failure(0, path, name=name, effect=effect))
    known = {*supported, *required}
    for number, name in enumerate(str(name)[:80] for name in root.entries("extensionsUsed")):
        if name not in known:
            args = {"name": name, "effect": advice(name) or "its data is ignored"}
            issues.add(SEM_EXTENSION_UNKNOWN, f"/extensionsUsed[{number}]", 0, severity=Severity.INFO, **args)
