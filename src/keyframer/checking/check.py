"""Checking a file or a document: structure, links, data, scene. Lists everything and raises nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from keyframer.catalogue import CATALOGUE, IO_READ_FAILED
from keyframer.checking.report import Report, in_order
from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS, Importer, importer_for
from keyframer.files import PathLike, read_bytes
from keyframer.formats import Format, decode, detect, format_by_name
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
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
    if format is not None:
        _known(format)
    with budgeted(limits, len(source) if isinstance(source, bytes) else 0):
        return _check(source, format, limits or DEFAULT_LIMITS)


def _check(source: PathLike | IO[bytes] | bytes, format: str | None, limits: Limits) -> Report:
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
    data: bytes | None = None
    try:
        data = source if isinstance(source, bytes) else read_bytes(source, limits)
        if format is None and data:
            found = detect(data, name=name).format or importer_for(data, name)
            format = None if found is None else found.name
        importer = None if format is None else importer_for(b"", format=format)
        if importer is not None:
            return check_imported(importer, data, Path(name).parent if name else None, limits)
        document = decode(data, format=format, limits=limits)
    except FormatError as error:
        return unreadable(error, format, None if data is None else len(data))
    except OSError as error:
        return unreadable(IO_READ_FAILED.failure(0, "/", reason=error.strerror or str(error)), format, None)
    return check_document(document, len(data), path=Path(name) if name else None)


def check_imported(importer: Importer, data: bytes, folder: Path | None, limits: Limits = DEFAULT_LIMITS) -> Report:
    """What is wrong with a file that becomes a scene at once: each part that cannot be read, and all that is odd."""
    try:
        scene = importer.load(data, folder, limits, salvage=True)
        importer.check(data, scene, limits)
    except FormatError as error:
        return unreadable(error, importer.name, len(data))
    return Report(scene.issues.selected(lambda code: True, in_order), importer, len(data))


def check_document(
    document: Document, size: int | None = None, scene: Scene | None = None, path: Path | None = None
) -> Report:
    """What is wrong with a document; ``size`` is that of its file, if known, ``scene`` what `load` made of it. Without
    a scene one is made here, with the companions that stand beside ``path``."""
    limits = document.limits
    issues = IssueLog(limits.issues_per_code, limits.issues)
    if scene is None:
        issues.extend(document.issues)
        scene = _scene(document, issues, path)
    else:
        issues.extend(scene.issues)  # with those of the document
    document.format.apply_rules(document, scene, Reporter(document, issues))
    return Report(issues.selected(lambda code: True, in_order), document.format, size)


def _scene(document: Document, issues: IssueLog, path: Path | None) -> Scene | None:
    """The scene, as far as it can be made, with what making it finds; None where it breaks a limit."""
    try:
        options = {} if path is None else document.format.find_companions(document, path, {})
        scene = document.format.to_scene(document, options)
    except FormatError as error:
        issues.add_issue(_issue(error))
        return None
    issues.extend(scene.issues)
    return scene


def unreadable(error: FormatError, format: str | None = None, size: int | None = None) -> Report:
    """The report on what no document can be made of."""
    issues = IssueLog()
    issues.add_issue(_issue(error))
    return Report(issues, None if format is None else _known(format), size, readable=False)


def _known(format: str) -> Format | Importer:
    return next((each for each in IMPORTERS if each.name == format), None) or format_by_name(format)


def _issue(error: FormatError) -> Issue:
    """The issue behind an exception, in its own words."""
    kind = CATALOGUE[error.code]
    if not error.details:
        words = error.message.replace("{", "{{").replace("}", "}}")
        kind = IssueType(kind.code, kind.severity, words)
    return Issue(kind, error.path, error.offset, error.details)
