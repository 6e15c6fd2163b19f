"""Checking a file or a document: structure, links, data, scene. Lists everything and raises nothing."""

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
    """What is wrong with a file (a path, a binary stream or its bytes) or with a document that was read.

    What cannot be read at all is a report, too: its verdict is *not readable* and its one issue says why. ``format``
    is the id of a format where the content does not decide; ValueError if there is none of this id.
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
    """What is wrong with a file that was opened. A scene that was made of it already is not made again."""
    size = len(opened.data)
    try:
        if opened.importer is not None:  # each part that cannot be read, and all that is odd
            scene = opened.scene(salvage=True)
            opened.importer.check(opened.data, scene, opened.limits)
            return Report(scene.issues.selected(lambda code: True, in_order), opened.importer, size)
        document = opened.document
    except FormatError as error:
        return unreadable(error, opened.known_reader, size)
    return _check_document(document, lambda: opened.scene(salvage=True), size)


def check_document(document: Document) -> Report:
    """What is wrong with a document. Nothing is known of files beside it."""
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
    issues.extend(document.issues if scene is None else scene.issues)  # those of the scene hold those of the document
    document.format.apply_rules(document, scene, Reporter(document, issues))
    return Report(issues.selected(lambda code: True, in_order), document.format, size)


def unreadable(error: FormatError, reader: Format | Importer | None = None, size: int | None = None) -> Report:
    """The report on what no document can be made of."""
    issues = IssueLog()
    issues.add_issue(_issue(error))
    return Report(issues, reader, size, readable=False)


def _issue(error: FormatError) -> Issue:
    """The issue behind an exception, in its own words."""
    kind = CATALOGUE[error.code]
    if not error.details:
        words = error.message.replace("{", "{{").replace("}", "}}")
        kind = IssueType(kind.code, kind.severity, words)
    return Issue(kind, error.path, error.offset, error.details)
