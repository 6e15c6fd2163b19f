"""Salvage damaged files: a clean file of the same format, and a map that says what became of every byte.

The records are those of `keyframer.formats.recovery`, as for ``load(…, salvage=True)``. Rows, links and records that
the check still calls unsafe are left out until there are none. The map compares the source with the clean file, record
by record. Nothing is invented: values in the clean file are those of the source; only lengths, counts and links change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from keyframer.catalogue import DATA_ZERO_ROWS, IO_TEXT_MODE, IO_UNRECOGNISED, LIMIT_COPIES
from keyframer.checking import check_document
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile, Source, open_file, size_in_memory
from keyframer.formats import FORMATS, SURE, Format, match_format
from keyframer.formats.contract import HEAD_SIZE, Missing
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.recovery import recover
from keyframer.issues import Issue
from keyframer.limits import DEFAULT_LIMITS, Limits, budgeted
from keyframer.salvaging.byte_map import DROPPED, Span, across_text_mode, joined, spans_of
from keyframer.wire.record import Raw, Record

_ROUNDS = 16
"""maximum number of checks: each leaves out what the last one found"""
_GENTLE_ROUNDS = 12
"""in later rounds records are removed, not only their rows and links"""
_LEAST_SCORE = 0.7
"""score of a beginning that shows the format, even if it is damaged"""
_LEAST_PART = 0.01
"""part of a file that must be kept if its beginning does not show the format"""
_ISSUES = 100_000
"""issues that a check lists, also of one code: what is not listed takes another check"""


@dataclass(frozen=True)
class Salvaged:
    """The result of `salvage`."""

    format: Format
    data: bytes
    """the clean file"""
    spans: tuple[Span, ...]
    """the map: spans that tile the source"""
    size: int
    """size of the source"""
    changed: bool
    """whether the clean file differs from the source"""
    missing: Missing | None = None
    """what the source lacks behind its end, if it says so"""
    doubtful: tuple[Issue, ...] = ()
    """data of the clean file that looks lost, although its structure is whole: runs of zeros"""


def salvage(source: Source, *, format: str | None = None, limits: Limits | None = None) -> Salvaged:
    """Return the clean file of a damaged one, and the map of its bytes. A file without unsafe parts stays as it is.

    Raises `FormatError` if nothing of the file can be kept, or what is left would not be recognised as a file.
    """
    limits = limits or DEFAULT_LIMITS
    with budgeted(limits, size_in_memory(source)):
        return salvage_opened(open_file(source, format=format, limits=limits))


def salvage_opened(opened: OpenedFile) -> Salvaged:
    """Return the clean file of an opened one, and its map (see `salvage`)."""
    recovery = opened.recover()
    document = recovery.document
    first = document.issues.first_unsafe()
    causes = [issue for issue in document.issues if issue.unsafe] or ([] if first is None else [first])
    lacks = document.format.codec().missing
    in_text_mode = document.issues.counts[IO_TEXT_MODE.code]  # such files are shorter than their length says
    missing = None if lacks is None or in_text_mode else lacks(recovery.data, document)
    clean, doubtful = _leave_out_unsafe(document, opened.limits, causes)
    found = opened.detection
    if (causes and not _has_content(document)) or not _would_be_recognised(document, clean, found.format):
        reason = found.reason or f"it does not begin like a file of {document.format.title}"
        raise causes[0].as_error() if causes else IO_UNRECOGNISED.failure(0, "/", reason=reason)
    spans = spans_of(recovery.data, document, clean, causes)
    if recovery.data is not opened.data:
        spans = across_text_mode(spans, opened.data, recovery.data)
    tiles = tuple(joined(spans))
    kept = sum(tile.end - tile.start for tile in tiles if tile.state != DROPPED)
    if found.score < _LEAST_SCORE and kept < _LEAST_PART * len(opened.data):
        reason = f"it does not begin like a file of {document.format.title}, and less than 1 % of it could be kept"
        raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
    is_changed = clean != opened.data
    return Salvaged(document.format, clean, tiles, len(opened.data), is_changed, missing, doubtful)


def _would_be_recognised(document: Document, clean: bytes, given: Format | None) -> bool:
    """Return whether detection finds the format of the clean file. Files of formats without a signature may depend on
    the ``given`` format."""
    format = document.format
    is_optional = not format.signatures and given is format
    return is_optional or match_format(format, clean[:HEAD_SIZE], len(clean)) is not None


# Unsafe parts


def _leave_out_unsafe(document: Document, limits: Limits, causes: list[Issue]) -> tuple[bytes, tuple[Issue, ...]]:
    """Remove unsafe parts from a document until it has none, and return its bytes, and the issues of doubtful data in
    them; adds the issues of the unsafe parts to ``causes``.
    """
    thorough = replace(limits, issues=_ISSUES, issues_per_code=_ISSUES)
    failure: FormatError | None = None
    for number in range(_ROUNDS):
        try:
            data = document.format.encode(document)
            written = document.format.decode(data, thorough)
        except FormatError as refusal:
            failure = refusal
            break
        except ValueError:  # the remaining records cannot be stored
            break
        issues = check_document(written).issues
        unsafe = [issue for issue in issues if issue.unsafe]
        if not unsafe:
            return data, tuple(issue for issue in issues if issue.code == DATA_ZERO_ROWS.code)
        failure = unsafe[0].as_error()
        if not _remove(document, unsafe, number < _GENTLE_ROUNDS, causes):
            break
    first = document.issues.first_unsafe()
    error = failure if first is None else first.as_error()
    raise error or IO_UNRECOGNISED.failure(0, "/", reason="nothing of the file can be kept")


def _remove(document: Document, unsafe: list[Issue], gentle: bool, causes: list[Issue]) -> bool:
    """Remove what issues are about: the rows or links of a record if its format can, else the record. Returns whether
    anything was removed."""
    mend = document.format.codec().mend if gentle else None
    records = {str(place): record for place, record in document.walk()}
    parents = {id(child): record for record in records.values() for child in record.children}
    found: dict[str, str] = {}
    """by path of a record: one field, because mending it may change others; the next round has the rest"""
    for issue in unsafe:
        path, rest = issue.path, ""
        while path and path not in records:
            path, _, rest = path.rpartition("/")
        if path and path not in found:
            found[path] = rest.partition("[")[0]
            causes.append(replace(issue, path=path, offset=records[path].offset or 0))
    for path, field in found.items():
        record, parent = records[path], parents.get(id(records[path]))
        siblings = document.records if parent is None else parent.children
        if mend is None or not mend(record, parent, field):
            siblings[:] = [other for other in siblings if other is not record]
    return bool(found)


# Scenes inside other files


class Carved(NamedTuple):
    """A file inside another one."""

    offset: int
    format: Format
    data: bytes


_COPIES, _FREE_COPIES = 3, 1 << 16
"""bytes that may be searched in vain: a multiple of the file, and more"""
_LOOK = 512
"""bytes that each possible file costs in addition"""
_LONGEST_MARK = 3
"""bytes of a byte order mark, which may precede a signature"""


def carve(data: bytes, limits: Limits | None = None) -> Iterator[Carved]:
    """Yield the files inside a file, such as a disk image or a program, that begin with a signature.

    Formats without a signature cannot be found. Raises `FormatError` if too many places look like a file.
    """
    limits = limits or DEFAULT_LIMITS
    most = left = _COPIES * len(data) + _FREE_COPIES
    end = next_sure = 0
    sure = (at for at, _ in _beginnings(data, SURE))
    empty: dict[Format, int] = {}
    """end of the last piece without content: parts of it have none, either"""
    for at, known in _beginnings(data, _LEAST_SCORE):
        if at < end:
            continue
        while next_sure <= at:
            next_sure = next(sure, len(data) + 1)
        stop = known.longest_end(data, at)
        if stop > len(data):  # unknown, or cut
            stop = min(len(data), next_sure)
        while stop > empty.get(known, 0):
            left -= stop - at + _LOOK
            if left < 0:
                what = "possible files inside the file"
                raise LIMIT_COPIES.failure(at, "/", what=what, count=most - left, limit=most)
            piece = data[at:stop]
            try:
                document = recover(piece, known, limits).document
            except FormatError:
                break
            following = None
            if document.trailing or document.issues.first_unsafe() is not None:
                following = _next_file(data, at, stop, document)
            if following is None:
                if not _has_content(document):
                    empty[known] = stop
                elif size := _size_of(piece, document, limits):
                    end = at + size
                    left += stop - at
                    yield Carved(at, known, piece[:size])
                break
            stop = following


def _beginnings(data: bytes, least_score: float, start: int = 0) -> Iterator[tuple[int, Format]]:
    """Yield where files may begin, and their format."""
    formats = {
        first: known for known in FORMATS for signature in known.signatures for first in signature.sequences[0][1]
    }
    slack = {known: max(signature.slack for signature in known.signatures) for known in formats.values()}
    if not formats:
        return
    pattern = re.compile(b"(?=(%s))" % b"|".join(re.escape(signature) for signature in formats))
    for match in pattern.finditer(data, start):
        at, known = match.start(), formats[match[1]]
        for before in range(min(slack[known], _LONGEST_MARK, at - start), -1, -1):
            found = match_format(known, data[at - before : at - before + HEAD_SIZE], len(data) - at + before)
            if found is not None and found.score >= least_score:
                yield at - before, known
                break


def _next_file(data: bytes, start: int, stop: int, document: Document) -> int | None:
    """Return where another file certainly begins between the beginning of one and ``stop``; None if none does."""
    own = {record.offset for record in document.find(Record)}  # a chunk may be a file, too
    at = next((at for at, _ in _beginnings(data, SURE, start + 1) if at - start not in own), stop)
    return at if at < min(stop, len(data)) else None


def _size_of(piece: bytes, document: Document, limits: Limits) -> int:
    """Return the size of the file at the beginning of a piece: up to the last record that can be kept, or 0."""
    if document.issues.first_unsafe() is None:
        raw = next((record.offset for record in document.records if isinstance(record, Raw)), None)
        return len(piece) - len(document.trailing) if raw is None else raw
    try:
        spans = salvage_opened(OpenedFile(piece, format=document.format.name, limits=limits)).spans
    except FormatError:
        return 0
    return max((span.end for span in spans if span.state != DROPPED), default=0)


def _has_content(document: Document) -> bool:
    """Return whether a document has anything that a scene or a table of its format shows."""
    try:
        scene = scene_of(document, salvage=True)
    except (FormatError, ValueError):
        return False
    if scene.nodes or scene.meshes or scene.materials or any(clip.channels for clip in scene.clips):
        return True
    return any(table.rows for table in document.format.scene_bridge().summarise(document) if table.name != "overview")
