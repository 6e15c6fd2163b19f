"""Rules shared by formats: times, angles, tension, ranges, depth, non-finite numbers, names of nodes and files."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence

import numpy as np

from keyframer.arrays import Array
from keyframer.catalogue import (
    DATA_ANGLE_HUGE,
    DATA_BOUNDS_INVERTED,
    DATA_FRAME_RANGE_HUGE,
    DATA_FRAME_RANGE_INVERTED,
    DATA_NON_FINITE,
    DATA_TCB_OUT_OF_RANGE,
    DATA_TIME_HUGE,
    DATA_TIME_NEGATIVE,
    DATA_ZERO_ROWS,
    SEC_NAME_BIDI,
    SEC_NAME_CONTROL_CHARS,
    SEC_NAME_FORMULA,
    SEC_NAME_MARKUP,
    SEC_PATH_ABSOLUTE,
    SEC_PATH_RESERVED,
    SEC_PATH_TRAVERSAL,
    SEC_PATH_UNC,
    SEC_PATH_URL,
    SEM_DEEP_HIERARCHY,
    SEM_DUPLICATE_NAME,
    SEM_NAME_EMPTY,
    SEM_NAME_ENCODING,
    SEM_NAME_TOO_LONG,
    SEM_UNKNOWN_FLAG_BITS,
)
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, report_non_finite
from keyframer.issues import IssueType, Severity
from keyframer.text import decode_name, is_utf8, safe_text
from keyframer.wire.record import Record

HUGE_TIME = 10_000_000
"""frames; stored units if a format does not define its unit of time"""
HUGE_RANGE = 1_000_000
"""frames"""
HUGE_ANGLE = 1e6
"""radians; neighbouring float32 numbers are 0.06 apart here"""
DEEPEST = 1_000
"""ancestors of a node"""


def check_negative_times(reporter: Reporter, record: Record, field: str, times: Array) -> None:
    """Report keys with negative times."""
    _check_times(reporter, record, field, DATA_TIME_NEGATIVE, times, times < 0)


def check_huge_times(reporter: Reporter, record: Record, field: str, times: Array, units_per_frame: int = 1) -> None:
    """Report keys with implausibly large times, positive or negative."""
    huge = np.abs(np.asarray(times, np.float64)) > HUGE_TIME * units_per_frame
    _check_times(reporter, record, field, DATA_TIME_HUGE, times, huge)


def _check_times(reporter: Reporter, record: Record, field: str, kind: IssueType, times: Array, wrong: Array) -> None:
    if wrong.any():
        index = int(wrong.argmax())
        reporter.report(kind, record, f"{field}[{index}]", index=index, time=f"{times[index]:g}")


def check_tcb(reporter: Reporter, record: Record, field: str, shapes: Array, eases: Array) -> None:
    """Report tension, continuity and bias (``shapes``) outside -1..1, and eases outside 0..1."""
    outside = np.asarray((np.abs(shapes) > 1).any(axis=1) | ((eases < 0) | (eases > 1)).any(axis=1))
    if outside.any():
        index = int(outside.argmax())
        reporter.report(DATA_TCB_OUT_OF_RANGE, record, f"{field}[{index}]", index=index)


def check_angles(reporter: Reporter, record: Record, field: str, angles: Array) -> None:
    """Report angles so large that rounding hides the direction. A row has one angle or several, in radians."""
    huge = (np.abs(angles) > HUGE_ANGLE) & np.isfinite(angles)
    if huge.any():
        first = np.unravel_index(int(huge.argmax()), huge.shape)
        index = int(first[0])
        reporter.report(DATA_ANGLE_HUGE, record, f"{field}[{index}]", index=index, angle=float(angles[first]))


_LEAST_ZEROS = 24
"""smallest number of zero rows in a run that is reported: a sector of 512 bytes has 42 vertices or 64 faces"""


def check_zero_rows(reporter: Reporter, record: Record, field: str, rows: Array) -> None:
    """Report a run of rows that are all zero, if there are others and at most one of them is: a lost sector is read as
    zeros.

    For tables that do not repeat a row, such as vertices and faces. Texture coordinates do: 20 of 2572 real tables have
    such runs.
    """
    if len(rows) - np.count_nonzero(rows[:, 0]) < _LEAST_ZEROS:
        return
    zero = (rows == 0).all(axis=1).astype(np.int8)
    begins, ends = (np.flatnonzero(np.diff(zero, prepend=0, append=0) == step) for step in (1, -1))
    lengths = ends - begins
    if not len(lengths) or not _LEAST_ZEROS <= lengths.max() < len(rows) or lengths.sum() > lengths.max() + 1:
        return
    first, last = int(begins[lengths.argmax()]), int(ends[lengths.argmax()]) - 1
    reporter.report(DATA_ZERO_ROWS, record, f"{field}[{first}]", first=first, last=last, total=len(rows))


def check_flags(reporter: Reporter, record: Record, field: str, flags: int, known: int) -> None:
    """Report flag bits of unknown meaning."""
    if flags & ~known:
        reporter.report(SEM_UNKNOWN_FLAG_BITS, record, field, bits=flags & ~known)


def check_key_flags(reporter: Reporter, record: Record, field: str, flags: Array, known: int) -> None:
    """Report the unknown flag bits of all keys, at the first key that has some."""
    bits = int(np.bitwise_or.reduce(flags)) & ~known & 0xFFFFFFFF
    if bits:
        index = int(((flags | known) != known).argmax())
        reporter.report(SEM_UNKNOWN_FLAG_BITS, record, f"{field}[{index}]/flags", bits=bits)


def check_range(reporter: Reporter, record: Record, field: str, start: float, end: float) -> None:
    """Report a range of frames that is reversed or implausibly long."""
    if start > end:
        reporter.report(DATA_FRAME_RANGE_INVERTED, record, field, start=f"{start:g}", end=f"{end:g}")
    elif end - start > HUGE_RANGE:
        reporter.report(DATA_FRAME_RANGE_HUGE, record, field, start=f"{start:g}", end=f"{end:g}")


def check_boxes(reporter: Reporter, record: Record, field: str, lower: Array, upper: Array) -> None:
    """Report boxes with swapped corners, in any axis, or with NaN."""
    wrong = ~(np.asarray(lower) <= np.asarray(upper)).all(axis=1)
    if wrong.any():
        reporter.report(DATA_BOUNDS_INVERTED, record, field, count=int(wrong.sum()), index=int(wrong.argmax()))


def check_depth(reporter: Reporter, records: Sequence[Record], parents: Sequence[int | None]) -> None:
    """Report a hierarchy so deep that recursive programs fail on it; ``parents`` are indices without cycles."""
    depths = _depths(parents)
    deepest = max(range(len(depths)), key=depths.__getitem__, default=None)
    if deepest is not None and depths[deepest] > DEEPEST:
        reporter.report(SEM_DEEP_HIERARCHY, records[deepest], depth=depths[deepest], most=DEEPEST)


def _depths(parents: Sequence[int | None]) -> list[int]:
    """Return the number of ancestors of each node; every node is visited once."""
    depths = [-1] * len(parents)
    for start in range(len(parents)):
        chain: list[int] = []
        at: int | None = start
        while at is not None and depths[at] < 0:
            chain.append(at)
            at = parents[at]
        depth = -1 if at is None else depths[at]
        for node in reversed(chain):
            depth += 1
            depths[node] = depth
    return depths


def check_numbers(reporter: Reporter, document: Document, covered: Container[tuple[type[Record], str]]) -> None:
    """Report NaN and infinity in the numbers and arrays of all records (`check_fields`).

    The fields in ``covered`` are skipped, because the bridge checks them.
    """
    fields: dict[type[Record], list[str]] = {}
    for record in document.find(Record):
        cls = type(record)
        names = fields.get(cls)
        if names is None:
            names = fields[cls] = [plan.name for plan in cls.plan.fields if (cls, plan.name) not in covered]
        if names:
            check_fields(reporter, record, names)


def check_fields(reporter: Reporter, record: Record, names: Iterable[str]) -> None:
    """Report NaN and infinity in the named fields of a record: numbers, tuples and arrays, but not tables of keys."""
    for name in names:
        value = getattr(record, name)
        if isinstance(value, (float, np.floating)):
            if not math.isfinite(value):
                reporter.report(DATA_NON_FINITE, record, name, count=1, index=0)
        elif isinstance(value, tuple):
            non_finite = [index for index, number in enumerate(value) if not math.isfinite(number)]
            if non_finite:
                reporter.report(DATA_NON_FINITE, record, name, count=len(non_finite), index=non_finite[0])
        elif isinstance(value, np.ndarray) and len(value):
            columns = [value[column] for column in value.dtype.names] if value.dtype.names else [value]
            report_non_finite(reporter, record, name, [column for column in columns if column.dtype.kind == "f"])


LONGEST_NAME = 255
"""longest plausible name in bytes, for formats without a limit"""
_EXAMINED = 4096
"""only the first bytes of a name are searched for harmful text: no output shows more"""
_SHOWN = 60

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MARKUP = re.compile(r"<[a-zA-Z/!?]|javascript:|&#", re.IGNORECASE)
# '=' begins a formula in every spreadsheet; '+', '-' and '@' begin many harmless names and are a risk only with a
# call.
_FORMULA = re.compile(r"[\t\r]?(=.|[+\-@].*[(!|])", re.DOTALL)

_DEVICES = r"(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$|clock\$)"
_PATHS: tuple[tuple[IssueType, re.Pattern[str]], ...] = (
    (SEC_PATH_URL, re.compile(r"[a-z][a-z0-9+.\-]+:(//|\\\\)|(data|javascript|file|mailto):", re.IGNORECASE)),
    (SEC_PATH_UNC, re.compile(r"[\\/]{2}[^\\/]")),
    (SEC_PATH_ABSOLUTE, re.compile(r"[\\/]|[a-z]:([\\/]|$)|~", re.IGNORECASE)),
)
_TRAVERSAL = re.compile(r"(^|[\\/:])\.\.([\\/]|$)")
_RESERVED = re.compile(rf"(^|[\\/:]){_DEVICES} *([.:][^\\/]*)?$", re.IGNORECASE)
_STREAM = re.compile(r"(?<!^[a-zA-Z]):[^\\/]*$")


def check_name(reporter: Reporter, record: Record, field: str, name: bytes, longest: int = LONGEST_NAME) -> None:
    """Report a name that is empty, too long, not UTF-8, or harmful when shown.

    A name that exceeds only ``longest``, the limit of the original program, is an info.
    """
    if len(name) > longest:
        severity = Severity.INFO if len(name) <= LONGEST_NAME else None
        reporter.report(SEM_NAME_TOO_LONG, record, field, severity, size=len(name), most=longest)
    if not name:
        reporter.report(SEM_NAME_EMPTY, record, field)
        return
    is_ascii = name.isascii()
    text = decode_name(name[:_EXAMINED])
    if is_ascii and text.isalnum():  # the usual case
        return
    if not is_ascii and not is_utf8(name):
        reporter.report(SEM_NAME_ENCODING, record, field, name=shown(name))
    for kind in name_problems(text):
        reporter.report(kind, record, field, name=shown(name))


def name_problems(text: str) -> Iterator[IssueType]:
    """Yield an issue type for each reason why a name is harmful when shown."""
    for kind, problem in (
        (SEC_NAME_CONTROL_CHARS, _CONTROLS.search(text)),
        (SEC_NAME_BIDI, None if text.isascii() else _BIDI.search(text)),
        (SEC_NAME_MARKUP, _MARKUP.search(text)),
        (SEC_NAME_FORMULA, _FORMULA.match(text)),
    ):
        if problem:
            yield kind


def check_file_name(reporter: Reporter, record: Record, field: str, name: bytes, longest: int = LONGEST_NAME) -> None:
    """Report a file name with the problems of a name (`check_name`) or of a path (`path_problems`)."""
    if not name:  # the field names no file
        return
    check_name(reporter, record, field, name, longest)
    text = decode_name(name[:_EXAMINED])
    for kind in path_problems(text):
        reporter.report(kind, record, field, name=shown(name))


def path_problems(text: str) -> Iterator[IssueType]:
    """Yield an issue type for each reason why a file name is unsafe as a path: absolute, parent folders, devices …"""
    kind = next((kind for kind, pattern in _PATHS if pattern.match(text)), None)
    if kind is not None:
        yield kind
    if kind is SEC_PATH_URL:
        return
    if _TRAVERSAL.search(text):
        yield SEC_PATH_TRAVERSAL
    if _RESERVED.search(text) or _STREAM.search(text):
        yield SEC_PATH_RESERVED


def check_unique(reporter: Reporter, kind: str, field: str, named: Iterable[tuple[Record, bytes]]) -> None:
    """Report names that several records of a kind share, once each, at the second record."""
    counts: dict[bytes, int] = {}
    second: dict[bytes, Record] = {}
    for record, name in named:
        count = counts.get(name, 0)
        counts[name] = count + 1
        if count == 1:
            second[name] = record
    for name, record in second.items():
        reporter.report(SEM_DUPLICATE_NAME, record, field, count=counts[name], kind=kind, name=shown(name))


def shown(name: bytes | str) -> str:
    """Return a name for messages: safe to show, in quotes, truncated."""
    text = safe_text(name[: 4 * _SHOWN] if isinstance(name, str) else decode_name(name[: 4 * _SHOWN]))
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"
