"""The lines of VUE files, and their codec: a line that does not change keeps its text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.catalogue import IO_UNRECOGNISED, LIMIT_NAME, LIMIT_RECORDS, STRUCT_SYNTAX, STRUCT_TRAILING_DATA
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, RawRun
from keyframer.formats.vue import FORMAT
from keyframer.issues import Severity
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import show_name
from keyframer.wire.cursor import frozen
from keyframer.wire.field_types import array_to_end, blob, i32, strz
from keyframer.wire.record import NO_CHILDREN, Record, record

_LINE = re.compile(rb"(?:[ \t\r]*+\n)++|[^\n]*+\n|[^\n]++\Z")
"""a line with its end, or all empty lines up to the next one with text"""
_WORD = re.compile(rb'"[^"\r\n]*"|[^\s"]+')
_FRAME = re.compile(rb"\s*frame\s")
NAMED = {b"transform": (12,), b"light": (6, 7), b"spotlight": (11, 12)}
"""commands with a name, and how many numbers follow: 3ds Max adds a shadow flag to lights"""
_SIDES = (b"top", b"bottom", b"left", b"right", b"front", b"back")
VIEWS = {b"camera": (8,), b"user": (7,), **dict.fromkeys(_SIDES, (4,))}
"""commands without a name"""


@record
class Frame(Record):
    """A frame, with its commands as children."""

    repeats = True

    number: int = i32("frame number")
    text: str | None = None
    """the line as it was read"""


@record
class Command(Record):
    """A command: ``transform``, ``light``, ``spotlight``, ``morph`` or a view."""

    repeats = True

    keyword: bytes = strz("keyword")
    name: bytes = strz("name of the object or light; empty for views")
    values: Array = array_to_end(
        "<f8",
        "transform: the rows of a 4 x 3 matrix; light: position, colour, shadows; spotlight: position, target, colour, "
        "hotspot and falloff in degrees, shadows; camera: position, target, roll in degrees, lens in mm; "
        "user: centre, horizontal and vertical angle, roll, width; other views: centre, width; morph: all its numbers",
    )
    text: str | None = None
    """the line as it was read"""

    @property
    def segment(self) -> str:
        return self.keyword.decode("latin-1").lower() or "command"


@record
class Line(Record):
    """A line that is none of these: empty ones, or one that cannot be read."""

    repeats = True

    data: bytes = blob("the line, with its end")


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a VUE file. Raises `FormatError` if the data is not one or exceeds a limit."""
    if not _FRAME.match(data):
        raise IO_UNRECOGNISED.failure(0, "/", reason="a VUE file begins with frame and a number")
    document = Document(FORMAT, limits=limits)
    siblings, path, commands = document.records, "", 0
    frames = 0
    text = data.rstrip(b"\x1a")  # the end of a text in DOS
    for count, match in enumerate(_LINE.finditer(text), 1):
        if count > limits.records:
            raise LIMIT_RECORDS.failure(match.start(), path or "/", limit=limits.records)
        line = match.group()
        found = _read(line, limits, match.start(), path)
        found.offset, found.children = match.start(), NO_CHILDREN
        if isinstance(found, Frame):
            found.children = siblings = []
            document.records.append(found)
            path, commands, frames = f"/frame[{frames}]", 0, frames + 1
            continue
        if isinstance(found, Line) and line.strip():
            shown = f"'{show_name(line.strip()[:40])}'"
            place, wanted = f"{path}/line[{sum(isinstance(each, Line) for each in siblings)}]", "a command of VUE files"
            document.issues.add(
                STRUCT_SYNTAX, place, match.start(), severity=Severity.WARNING, wanted=wanted, found=shown
            )
        siblings.append(found)
        commands += 1
    if len(text) < len(data):
        document.trailing = data[len(text) :]
        document.issues.add(STRUCT_TRAILING_DATA, "/", len(text), size=len(document.trailing))
    return document


def _read(line: bytes, limits: Limits, at: int, path: str) -> Frame | Command | Line:
    words = _WORD.findall(line)
    keyword = words[0].lower() if words and len(words[0]) < 16 else b""
    if keyword == b"frame" and len(words) == 2 and re.fullmatch(rb"[-+]?\d{1,9}", words[1]):
        return Frame(int(words[1]), line.decode("latin-1"))
    named = keyword in NAMED or keyword == b"morph"
    if (not named and keyword not in VIEWS) or (named and len(words) < 2):
        return Line(line)
    name = words[1].strip(b'"') if named else b""
    if len(name) > limits.name:
        raise LIMIT_NAME.failure(at, f"{path or '/'}/name", size=len(name), limit=limits.name)
    rest = [word for word in words[2 if named else 1 :] if keyword != b"morph" or not word.startswith(b'"')]
    values = _numbers(rest)
    sizes = NAMED.get(keyword) or VIEWS.get(keyword)
    if values is None or (sizes is not None and len(values) not in sizes) or (sizes is None and len(values) < 12):
        return Line(line)
    return Command(keyword, name, frozen(values), line.decode("latin-1"))


def _numbers(words: list[bytes]) -> Array | None:
    try:
        return np.array([float(word) for word in words], np.float64)
    except ValueError:
        return None


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its lines, those that changed written anew."""
    parts = []
    for top in document.records:
        if not isinstance(top, Frame | Command | Line | RawRun):
            raise ValueError(f"{top!r} cannot be at the top level of a VUE file")
        parts.append(_text(top))
        for child in top.children:
            if not isinstance(top, Frame) or not isinstance(child, Command | Line):
                raise ValueError(f"{child!r} is not allowed here: expected commands in a frame")
            parts.append(_text(child))
    return b"".join(parts) + document.trailing


def _text(item: Record) -> bytes:
    if isinstance(item, Line | RawRun):
        return item.data
    assert isinstance(item, Frame | Command)
    if item.text is not None:
        line = item.text.encode("latin-1")
        original = _read(line, DEFAULT_LIMITS, 0, "")
        if isinstance(item, Frame) and isinstance(original, Frame) and original.number == item.number:
            return line
        if isinstance(item, Command) and isinstance(original, Command) and _same(item, original):
            return line
    if isinstance(item, Frame):
        return b"\r\nframe %d\r\n" % item.number
    if item.keyword == b"morph":
        raise ValueError("the numbers of a morph command cannot be changed: the names of its shapes are between them")
    if item.keyword not in NAMED and item.keyword not in VIEWS:
        raise ValueError(f"{item.keyword!r} is not a command of VUE files")
    if b'"' in item.name or b"\n" in item.name or b"\r" in item.name:
        raise ValueError(f"{item.name!r} has a quote or a line end, which VUE files cannot store")
    name = b' "' + item.name + b'"' if item.keyword in NAMED else b""
    return item.keyword + name + b" " + b" ".join(_written(item.values)) + b"\r\n"


def _same(one: Command, two: Command) -> bool:
    return (one.keyword, one.name) == (two.keyword, two.name) and np.array_equal(one.values, two.values, equal_nan=True)


def _written(values: npt.ArrayLike) -> Iterator[bytes]:
    """Yield numbers as 3D Studio writes them: at most four decimals, no zeros at the end; more where it needs them."""
    for value in np.asarray(values, np.float64).tolist():
        if not math.isfinite(value):
            raise ValueError("VUE files cannot store non-finite numbers")
        text = f"{value:.4f}"
        if abs(float(text) - value) > 1e-9 * abs(value) and abs(value) < 1:
            text = f"{value:.8f}"
        text = text.rstrip("0").rstrip(".")
        yield (b"0" if text in ("-0", "") else text.encode())


def new_frame(number: int, commands: list[Command]) -> Frame:
    return Frame(number, children=list(commands))


CODEC = Codec(decode, encode, (Frame, Command, Line, RawRun))
