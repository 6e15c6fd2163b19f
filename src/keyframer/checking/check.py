"""Check a file or a document: structure, links, data, scene. Every problem becomes an issue in a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from keyframer.catalogue import CATALOGUE, IO_READ_FAILED
from keyframer.checking.check_report import Report, in_order
from keyframer.errors import FormatError, reason_of
from keyframer.exchange import Importer, reader_by_name
from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.files import PathLike
from keyframer.formats import Format
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, scene_of
from keyframer.issues import Issue, IssueLog, IssueType
from keyframer.limits import DEFAULT_LIMITS, Limits, budgeted
from keyframer.scene import Scene


def check(
    source: PathLike | IO[bytes] | bytes | Document, *, format: str | None = None, limits: Limits | None = None
) -> Report:
    """Check a file (a path, a binary stream or bytes) or a document and return a report.

    A file that cannot be read gets a report, too: its verdict is *not readable* and its only issue gives the reason.
    ``format`` is the id of a format, for content that fits several; raises ValueError for an unknown id.
    """
    if isinstance(source, Document):
        return check_document(source)
    reader = None if format is None else reader_by_name(format)
    size = len(source) if isinstance(source, bytes) else None
    with budgeted(limits, size or 0):
        try:
            opened = open_file(source, format=format, limits=limits or DEFAULT_LIMITS)
        except FormatError as error:
            return unreadable(error, reader, size)
        except OSError as error:
            return unreadable(IO_READ_FAILED.failure(0, "/", reason=reason_of(error)), reader)
        return check_opened(opened)


def check_opened(opened: OpenedFile) -> Report:
    """Check an opened file. If its scene was loaded before, that scene is used."""
    size = len(opened.data)
    try:
        if opened.importer is not None:  # salvage: one issue for each part that cannot be read
            scene = opened.scene(salvage=True)
            opened.importer.check(opened.data, scene, opened.limits)
            return Report(scene.issues.selected(lambda code: True, in_order), opened.importer, size)
        document = opened.document
    except FormatError as error:
        return unreadable(error, opened.known_reader, size)
    return _check_document(document, lambda: opened.scene(salvage=True), size)


def check_document(document: Document) -> Report:
    """Check a document. Companion files are not considered."""
    return _check_document(document, lambda: scene_of(document, salvage=True), None)


def _check_document(document: Document, make_scene: Callable[[], Scene], size: int | None) -> Report:
    limits = document.limits
    issues = IssueLog(limits.issues_per_code, limits.issues)
    scene = None
    try:
        if document.format.reader() is not None:
            scene = make_scene()
    except FormatError as error:  # over a limit
        issues.add_issue(_issue(error))
    issues.extend(document.issues if scene is None else scene.issues)  # a scene has the issues of its document, too
    document.format.apply_rules(document, scene, Reporter(document, issues))
    return Report(issues.selected(lambda code: True, in_order), document.format, size)


def unreadable(error: FormatError, reader: Format | Importer | None = None, size: int | None = None) -> Report:
    """Return the report on a file that cannot be decoded."""
    issues = IssueLog()
    issues.add_issue(_issue(error))
    return Report(issues, reader, size, readable=False)


def _issue(error: FormatError) -> Issue:
    """Return an exception as an issue with the same message."""
    kind = CATALOGUE[error.code]
    if not error.details:
        template = error.message.replace("{", "{{").replace("}", "}}")
        kind = IssueType(kind.code, kind.severity, template)
    return Issue(kind, error.path, error.offset, error.details)
