"""The text of MD5 files: where every value is, and values as text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from keyframer.arrays import Array
from keyframer.catalogue import LIMIT_NAME, LIMIT_RECORDS, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.limits import Limits
from keyframer.text import show_name

_COMMENTS = re.compile(rb'"[^"\n]*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_WORD = re.compile(rb'\s*("[^"\n]*"|[{}()]|[^\s{}()"]+)')
_VECTORS = re.compile(rb"\(([^()]*)\)\s*\(([^()]*)\)")
_HEADSET = re.compile(rb"\s*(?:(?:pos|rotA|rot)\s*\([^(){}]*\)\s*)*")
"""what may follow the number of a cut"""
_CAMERA_FRAME = re.compile(rb"\(([^(){}]*)\)\s*\(([^(){}]*)\)\s*([^\s(){}]+)")
_TWO_VECTORS = re.compile(rb"\s*\(([^(){}]*)\)\s*\(([^(){}]*)\)")
_NO_PARENTHESES = bytes.maketrans(b"()", b"  ")
_TABLES = {b"vert": 5, b"tri": 4, b"weight": 6}
"""entries of a mesh and how many numbers each has"""
_END_OF_TABLE = {word: re.compile(rb"(?:num(?:verts|tris|weights)|shader)\b|\}") for word in _TABLES}
SETTINGS = {
    b"MD5Version": "version",
    b"commandline": "command_line",
    b"numFrames": "frame_count",
    b"numJoints": "joint_count",
    b"frameRate": "frame_rate",
    b"numAnimatedComponents": "component_count",
    b"numMeshes": "mesh_count",
    b"numCuts": "cut_count",
}
"""the fields of the headers by their keywords"""
_SHOWN = 40
Span = tuple[int, int, str]
"""start and end of a value in the text, and its new text"""


class Value(NamedTuple):
    """A value and where it is in the text."""

    start: int
    end: int
    value: Any


class MeshText:
    """The values of one mesh."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.shader = Value(-1, -1, b"")
        self.claimed: dict[bytes, int] = {}
        """how many rows the text claims"""
        self.tables = {word: Value(-1, -1, np.zeros((0, width))) for word, width in _TABLES.items()}


class Md5Text:
    """The values of a file. ``partial``: a text that ends too early, or has an error, gives what is before that."""

    def __init__(self, data: bytes, limits: Limits, *, partial: bool = False) -> None:
        self.text = _COMMENTS.sub(_without_comment, data)
        self.limits = limits
        self.at = 0
        self.records = 0
        self.place = "/"
        self.settings: dict[str, Value] = {}
        self.joints: list[Value] = []
        """name, parent, flags, first component"""
        self.boxes: list[Value] = []
        self.base: list[Value] = []
        self.frames: list[Value] = []
        self.bound_joints: list[Value] = []
        """name, parent, six numbers"""
        self.meshes: list[MeshText] = []
        self.cuts: list[Value] = []
        """number of a frame, and the text after it"""
        self.camera: list[Value] = []
        """seven numbers"""
        self.whole = 0
        """end of the last whole part"""
        self.open = ""
        """what closes the block that is open there"""
        try:
            while self._block():
                self.whole, self.open = self.at, ""
        except FormatError as error:
            if not partial or error.code.startswith("LIMIT_"):
                raise

    def _block(self) -> bool:
        word, start = self._next(optional=True)
        if not word:
            return False
        self.place = "/"
        if word in SETTINGS:
            value, at = self._next()
            is_text = word == b"commandline"
            number = _unquoted(value) if is_text else self._integer(value, at)
            self.settings[SETTINGS[word]] = Value(at, self.at, number)
        elif word == b"hierarchy":
            self._list(self.joints, "/joint", self._joint)
        elif word == b"joints":
            self._list(self.bound_joints, "/joint", self._bound_joint)
        elif word == b"cuts":
            self._list(self.cuts, "/camera/cut", self._cut)
        elif word == b"camera":
            self._list(self.camera, "/camera/frames", self._camera_frame)
        elif word in (b"bounds", b"baseframe"):
            self.place = f"/{word.decode()}"
            self._vectors(self.boxes if word == b"bounds" else self.base)
        elif word == b"frame":
            self.place = f"/frame[{len(self.frames)}]"
            self._integer(*self._next())
            self._count()
            self.frames.append(self._numbers_in_braces(translate=False))
        elif word == b"mesh":
            self._mesh(start)
        elif word != b"}":
            self._fail(start, "a keyword of MD5 files", word)
        return True

    def _list(self, target: list[Value], place: str, read: Callable[[bytes, int], Value]) -> None:
        """Read entries in braces; ``read`` gets the first word of one, and where it is."""
        self._brace()
        while True:
            self.place = f"{place}[{len(target)}]"
            word, start = self._next()
            if word == b"}":
                return
            self._count()
            target.append(read(word, start))
            self.whole, self.open = self.at, "\n}"

    def _name(self, word: bytes, start: int) -> bytes:
        if len(word) - 2 > self.limits.name:
            raise LIMIT_NAME.failure(start, f"{self.place}/name", size=len(word), limit=self.limits.name)
        return _unquoted(word)

    def _joint(self, word: bytes, start: int) -> Value:
        name = self._name(word, start)
        parent, flags, first = (self._integer(*self._next()) for _ in range(3))
        if not 0 <= flags < 1 << 32 or not 0 <= first < 1 << 32 or not -(1 << 31) <= parent < 1 << 31:
            self._fail(start, "numbers of 32 bits", name)
        return Value(start, self.at, (name, parent, flags, first))

    def _cut(self, word: bytes, start: int) -> Value:
        frame, rest = self._integer(word, start), _HEADSET.match(self.text, self.at)
        if rest is None or not -(1 << 31) <= frame < 1 << 31:
            self._fail(start, "a number of 32 bits", word)
        self.at += len(rest[0].rstrip())
        return Value(start, self.at, (frame, rest[0].strip()))

    def _camera_frame(self, word: bytes, start: int) -> Value:
        match = _CAMERA_FRAME.match(self.text, start)
        numbers = None if match is None else _numbers(b" ".join(match.groups()))
        if match is None or numbers is None or len(numbers) != 7:
            self._fail(start, "( x y z ) ( x y z ) and an angle", self.text[start : start + _SHOWN].strip())
        self.at = match.end()
        return Value(start, self.at, numbers)

    def _bound_joint(self, word: bytes, start: int) -> Value:
        name = self._name(word, start)
        parent = self._integer(*self._next())
        match = _TWO_VECTORS.match(self.text, self.at)
        numbers = None if match is None else _numbers(match[1] + b" " + match[2])
        if match is None or numbers is None or len(numbers) != 6 or not -(1 << 31) <= parent < 1 << 31:
            self._fail(self.at, "( x y z ) ( x y z )", self.text[self.at : self.at + _SHOWN].strip())
        self.at = match.end()
        return Value(start, self.at, (name, parent, numbers))

    def _vectors(self, target: list[Value]) -> None:
        """Read rows of two vectors in braces."""
        block = self._numbers_in_braces(translate=True)
        spans = [(match.start(), match.end()) for match in _VECTORS.finditer(self.text, block.start, block.end)]
        self._count(len(spans))
        if len(block.value) != 6 * len(spans):
            self._fail(
                block.start, "rows of ( x y z ) ( x y z )", self.text[block.start : block.start + _SHOWN].strip()
            )
        target += [Value(*span, row) for span, row in zip(spans, block.value.reshape(-1, 6), strict=True)]

    def _numbers_in_braces(self, *, translate: bool) -> Value:
        self._brace()
        start, end = self.at, self.text.find(b"}", self.at)
        if end < 0:
            self._fail(len(self.text), "}", b"")
        body = self.text[start:end]
        numbers = _numbers(body.translate(_NO_PARENTHESES) if translate else body)
        if numbers is None:
            self._fail(start, "numbers", body.strip())
        self.at = end + 1
        return Value(start + len(body) - len(body.lstrip()), start + len(body.rstrip()), numbers)

    def _mesh(self, start: int) -> None:
        self.place = f"/mesh[{len(self.meshes)}]"
        self._count()
        mesh = MeshText(start)
        self._brace()
        while True:
            word, at = self._next()
            if word == b"}":
                break
            if word == b"shader":
                value, at = self._next()
                if len(value) - 2 > self.limits.name:
                    raise LIMIT_NAME.failure(at, f"{self.place}/material", size=len(value), limit=self.limits.name)
                mesh.shader = Value(at, self.at, _unquoted(value))
            elif word in (b"numverts", b"numtris", b"numweights"):
                mesh.claimed[word[3:-1]] = self._integer(*self._next())
                self._table(mesh, word[3:-1])
            else:
                self._fail(at, "shader, numverts, numtris or numweights", word)
        self.meshes.append(mesh)

    def _table(self, mesh: MeshText, word: bytes) -> None:
        match = _END_OF_TABLE[word].search(self.text, self.at)
        if match is None:
            self._fail(len(self.text), "}", b"")
        body, start = self.text[self.at : match.start()], self.at
        width = _TABLES[word]
        numbers = _numbers(body.replace(word, b" ").translate(_NO_PARENTHESES))
        if numbers is None or len(numbers) != width * body.count(word):
            self._fail(start, f"rows of {word.decode()} and {width} numbers", body.strip())
        self.at = match.start()
        trimmed = start + len(body) - len(body.lstrip())
        mesh.tables[word] = Value(trimmed, start + len(body.rstrip()), numbers.reshape(-1, width))

    def _next(self, *, optional: bool = False) -> tuple[bytes, int]:
        """Return the next word and its place; nothing at the end if it is ``optional``."""
        match = _WORD.match(self.text, self.at)
        if match is None:
            rest = self.text[self.at :].strip()
            if optional and not rest:
                return b"", len(self.text)
            self._fail(len(self.text) - len(self.text[self.at :].lstrip()), "a word", rest)
        self.at = match.end()
        return match[1], match.start(1)

    def _brace(self) -> None:
        word, at = self._next()
        if word != b"{":
            self._fail(at, "{", word)

    def _integer(self, word: bytes, at: int) -> int:
        try:
            number = float(word[:_SHOWN])
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number != int(number) or len(word) > _SHOWN:
            self._fail(at, "a whole number", word)
        return int(number)

    def _count(self, more: int = 1) -> None:
        self.records += more
        if self.records > self.limits.records:
            raise LIMIT_RECORDS.failure(self.at, self.place, limit=self.limits.records)

    def _fail(self, at: int, wanted: str, found: bytes) -> NoReturn:
        shown = f"'{show_name(found[:_SHOWN])}'" if found else "the end of the text"
        raise STRUCT_SYNTAX.failure(at, self.place, wanted=wanted, found=shown)


def _without_comment(match: re.Match[bytes]) -> bytes:
    found = match.group()
    return found if found.startswith(b'"') else re.sub(rb"[^\n]", b" ", found)


def _unquoted(word: bytes) -> bytes:
    return word[1:-1] if word.startswith(b'"') else word


def _numbers(text: bytes) -> Array | None:
    """Return all numbers of a text; None if one of its words is not a number."""
    try:
        numbers: Array = np.fromstring(text + b" inf", np.float64, sep=" ")
    except (ValueError, DeprecationWarning):  # warnings may be errors; otherwise numpy stops before "inf"
        return None
    return numbers[:-1] if len(numbers) and numbers[-1] == np.inf else None


def written(numbers: Any) -> str:
    """Return numbers as text: nine digits keep every bit of a single."""
    return " ".join(f"{number:.9g}" for number in np.asarray(numbers, np.float64).tolist())


def vectors(numbers: Any) -> str:
    """Return six numbers as two vectors."""
    return f"( {written(numbers[:3])} ) ( {written(numbers[3:])} )"


def quoted(text: bytes) -> str:
    if b'"' in text or b"\n" in text:
        raise ValueError(f"{text!r} has a quote or a line feed, which MD5 files cannot store")
    return f'"{text.decode("latin-1")}"'


def table_rows(word: bytes, table: Array) -> Iterator[str]:
    """Yield the lines of a table of a mesh."""
    for number, row in enumerate(table.tolist()):
        if word == b"vert":
            (s, t), first, count = row
            yield f"vert {number} ( {written((s, t))} ) {first} {count}"
        elif word == b"tri":
            yield f"tri {number} {' '.join(map(str, row))}"
        else:
            bias, joint, position = row
            yield f"weight {number} {joint} {written([bias])} ( {written(position)} )"
