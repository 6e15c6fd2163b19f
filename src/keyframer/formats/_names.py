"""What may be wrong with a name from a file, or with the name of another file in it: rules that all formats share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from keyframer.catalogue import (
    SEC_NAME_BIDI,
    SEC_NAME_CONTROL_CHARS,
    SEC_NAME_FORMULA,
    SEC_NAME_MARKUP,
    SEC_PATH_ABSOLUTE,
    SEC_PATH_RESERVED,
    SEC_PATH_TRAVERSAL,
    SEC_PATH_UNC,
    SEC_PATH_URL,
    SEM_DUPLICATE_NAME,
    SEM_NAME_EMPTY,
    SEM_NAME_ENCODING,
    SEM_NAME_TOO_LONG,
)
from keyframer.formats._bridging import Reporter
from keyframer.issues import IssueType
from keyframer.text import decode_name, safe_text
from keyframer.wire.record import Record

LONGEST = 255
"""bytes of a name, where the format itself sets no limit"""
_LOOK = 4096
"""of a name, so many bytes are looked at for what could harm: nothing shows more"""
_SHOWN = 60

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MARKUP = re.compile(r"<[a-zA-Z/!?]|javascript:|&#", re.IGNORECASE)
# '=' begins a formula in every spreadsheet; '+', '-' and '@' begin many honest names too, and harm only with a call.
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


def check_name(reporter: Reporter, record: Record, field: str, name: bytes, longest: int = LONGEST) -> None:
    """Length, encoding, and what could harm whoever shows it."""
    if len(name) > longest:
        reporter.report(SEM_NAME_TOO_LONG, record, field, size=len(name), most=longest)
    if not name:
        reporter.report(SEM_NAME_EMPTY, record, field)
        return
    plain = name.isascii()
    text = decode_name(name[:_LOOK])
    if plain and text.isalnum():  # the usual case
        return
    if not plain and not _is_utf8(name):
        reporter.report(SEM_NAME_ENCODING, record, field, name=shown(name))
    for kind in name_problems(text):
        reporter.report(kind, record, field, name=shown(name))


def name_problems(text: str) -> Iterator[IssueType]:
    """What in a name could harm whoever shows it."""
    for kind, found in (
        (SEC_NAME_CONTROL_CHARS, _CONTROLS.search(text)),
        (SEC_NAME_BIDI, None if text.isascii() else _BIDI.search(text)),
        (SEC_NAME_MARKUP, _MARKUP.search(text)),
        (SEC_NAME_FORMULA, _FORMULA.match(text)),
    ):
        if found:
            yield kind


def check_file_name(reporter: Reporter, record: Record, field: str, name: bytes, longest: int = LONGEST) -> None:
    """The name of another file: all that holds for names, and where it leads. It is never followed here."""
    if not name:  # no file
        return
    check_name(reporter, record, field, name, longest)
    text = decode_name(name[:_LOOK])
    for kind in path_problems(text):
        reporter.report(kind, record, field, name=shown(name))


def path_problems(text: str) -> Iterator[IssueType]:
    """Where the name of a file leads that it should not."""
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
    """Names that several records of a kind carry; each is told once, at the second that carries it."""
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
    """A name for messages: safe, in quotes, of bearable length."""
    text = safe_text(name[: 4 * _SHOWN] if isinstance(name, str) else decode_name(name[: 4 * _SHOWN]))
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}…'"


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
