"""Checks a file or a document: structure, links, data, scene. A report has one issue for each problem, sorted by pass
and place in the file, with counts and a verdict; it can be converted to JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import IO

from keyframer.catalogue import CATALOGUE, IO_READ_FAILED, IO_TEXT_MODE
from keyframer.errors import FormatError, known_offset, reason_of
from keyframer.exchange import IMPORTERS, Importer, reader_by_name
from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.files import PathLike
from keyframer.formats import Format, text_mode_damage
from keyframer.formats.contract import HEAD_SIZE
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, scene_of
from keyframer.issues import Issue, IssueLog, IssueType, Severity
from keyframer.limits import DEFAULT_LIMITS, Limits, budgeted
from keyframer.scene import Scene
from keyframer.text import safe_text, shortened

PASSES = {
    "structure": "whether the bytes have the structure of the format",
    "links": "whether references lead to existing parts",
    "data": "whether names and numbers are valid",
    "scene": "whether the parts make a consistent scene",
}

_PASS_OF_FAMILY = {
    **dict.fromkeys(("IO", "LIMIT", "STRUCT", "RUN"), "structure"),
    "LINK": "links",
    **dict.fromkeys(("DATA", "SEM", "SEC", "STAGE"), "data"),
    **dict.fromkeys(("SCENE", "PROFILE"), "scene"),
}

NOT_READABLE = "not readable"
DAMAGED = "damaged"
WITH_PROBLEMS = "readable with problems"
CLEAN = "clean"
_PASS_ORDER = list(PASSES)
VERDICTS = {
    NOT_READABLE: "neither loading nor salvage gives a scene",
    DAMAGED: "loading is refused; salvage may help",
    WITH_PROBLEMS: "errors or warnings, but the file is loaded",
    CLEAN: "at most infos",
}
"""every verdict and its meaning, the worst first"""


def pass_of(code: str) -> str:
    """Return the pass that a code belongs to, from the first word of the code."""
    return _PASS_OF_FAMILY[code.partition("_")[0]]


def sort_key(issue: Issue) -> tuple[int, int, str, str]:
    """Return the sort key of an issue: pass, place in the file, path, code."""
    return _PASS_ORDER.index(pass_of(issue.code)), issue.offset, issue.path, issue.code


@dataclass(frozen=True)
class Report:
    """The report on one file.

    ``issues`` lists the first issues of each code, sorted by pass and place in the file. ``counts`` counts all of them,
    and ``truncated`` tells whether some are not listed.
    """

    issues: IssueLog
    format: Format | Importer | None = None
    """None if the format is unknown"""
    size: int | None = None
    """size of the file in bytes; None if it is unknown"""
    readable: bool = True
    damaged: bool = False
    """whether loading refuses the file unless unsafe parts are left out (salvage)"""

    @property
    def verdict(self) -> str:
        """One of ``VERDICTS``: ``not readable``, ``damaged``, ``readable with problems`` or ``clean``."""
        if not self.readable or self.damaged:
            return DAMAGED if self.readable else NOT_READABLE
        worst = self.issues.worst()
        return CLEAN if worst is None or worst <= Severity.INFO else WITH_PROBLEMS

    @property
    def counts(self) -> dict[str, int]:
        """Number of issues of each code, listed or not."""
        return dict(sorted(self.issues.counts.items()))

    @property
    def truncated(self) -> bool:
        """Whether some issues are counted but not listed."""
        return self.issues.truncated

    def count(self, severity: str) -> int:
        """Return the number of issues of a severity (``error``, ``warning``, ``info``), listed or not."""
        return self.issues.count(Severity[severity.upper()])

    def fails(self, fail_on: str) -> bool:
        """Return whether the file cannot be read, or has an issue of this severity or a higher one."""
        worst = self.issues.worst()
        return not self.readable or (worst is not None and worst >= Severity[fail_on.upper()])

    def restricted(
        self, only: Collection[str] = (), ignore: Collection[str] = (), severity: str | None = None
    ) -> Report:
        """Return the report with the codes ``only`` (all if empty) except ``ignore``; ``SEC_`` stands for all codes
        that begin with it. With ``severity`` (``error``, ``warning``, ``info``) it has only issues of this severity or
        a higher one.

        The verdicts *not readable* and *damaged* stay, whatever is ignored.
        """
        if not only and not ignore and severity is None:
            return self
        least = Severity.INFO if severity is None else Severity[severity.upper()]

        def wanted(code: str, found: Severity) -> bool:
            if found < least or (only and not code.startswith(tuple(only))):
                return False
            return not (ignore and code.startswith(tuple(ignore)))

        return replace(self, issues=self.issues.selected(wanted, sort_key))

    def __str__(self) -> str:
        return "\n".join([self.verdict, *map(str, self.issues)])


SCHEMA = "keyframer.check"
SCHEMA_VERSION = 1

COLUMNS = ("file", "verdict", "severity", "code", "offset", "path", "message")


def report_record(report: Report, name: str) -> dict[str, object]:
    """Return a report as a JSON object; text from the file is safe to show and truncated."""
    return {
        "file": safe_text(name),
        "format": None if report.format is None else report.format.name,
        "size": report.size,
        "verdict": report.verdict,
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "infos": report.count("info"),
        "counts": report.counts,
        "truncated": report.truncated,
        "issues": [issue_record(issue) for issue in report.issues],
    }


def issue_record(issue: Issue) -> dict[str, object]:
    return {
        "pass": pass_of(issue.code),
        "severity": issue.severity.label,
        "code": issue.code,
        "offset": known_offset(issue.code, issue.offset, issue.path),
        "path": truncated_text(issue.path),
        "message": truncated_text(issue.message),
    }


def truncated_text(text: str) -> str:
    """Make text from a file safe to show, truncated to 1,000 characters."""
    return shortened(text, 1_000)


def unlisted(report: Report) -> dict[str, int]:
    """Return the number of issues of each code that are counted but not listed."""
    listed: dict[str, int] = {}
    for issue in report.issues:
        listed[issue.code] = listed.get(issue.code, 0) + 1
    return {code: count - listed.get(code, 0) for code, count in report.counts.items() if count > listed.get(code, 0)}


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


def check_opened(opened: OpenedFile, profile: str | None = None) -> Report:
    """Check an opened file. If its scene was loaded before, that scene is used. With ``profile``, what that engine
    refuses is an issue, too; raises ValueError if its rules are not known for this format."""
    if profile is not None and (opened.importer is None or profile not in opened.importer.profiles):
        titles = [known.title for known in IMPORTERS if profile in known.profiles]
        raise ValueError(f"the rules of {profile} are known only for {', '.join(titles) or 'no format'}")
    size = len(opened.data)
    try:
        if opened.importer is not None:  # salvage: one issue for each part that cannot be read
            scene = opened.scene(salvage=True)
            damaged = scene.issues.first_unsafe() is not None
            opened.importer.check(opened.data, scene, opened.limits)
            if profile is not None:
                opened.importer.check_profile(opened.data, profile, scene.issues, opened.limits)
            return Report(scene.issues.sorted_by(sort_key), opened.importer, size, damaged=damaged)
        document = opened.document
    except FormatError as error:
        report = unreadable(error, opened.known_reader, size)
        if _can_be_salvaged(opened, error):
            report = replace(report, readable=True, damaged=True)
    else:
        report = _check_document(document, lambda: _scene_as_read(opened), size)
    damage = text_mode_damage(opened.detection, opened.data[:HEAD_SIZE], lambda: opened.data)
    if damage is None:
        return report
    issues = report.issues.copy()
    issues.add(IO_TEXT_MODE, "/", 0, damage=damage)
    return replace(report, issues=issues.sorted_by(sort_key))


def _can_be_salvaged(opened: OpenedFile, error: FormatError) -> bool:
    """Return whether salvage gives a scene of a file that cannot be read because of this error."""
    if opened.known_reader is None or error.code.startswith("LIMIT_"):
        return False
    try:
        opened.scene(salvage=True)
    except (FormatError, ValueError):
        return False
    return True


def _scene_as_read(opened: OpenedFile) -> Scene:
    """Return the scene of the records as they are: the paths in a report are those of the file."""
    if opened.document.issues.first_unsafe() is None:
        return opened.scene(salvage=True)
    return scene_of(opened.document, opened.options, salvage=True, folder=opened.folder)


def check_document(document: Document) -> Report:
    """Check a document. Companion files are not considered."""
    return _check_document(document, lambda: scene_of(document, salvage=True), None)


def _check_document(document: Document, make_scene: Callable[[], Scene], size: int | None) -> Report:
    limits = document.limits
    issues = IssueLog(limits.issues_per_code, limits.issues)
    scene = None
    readable = True
    try:
        if document.format.bridge() is not None:
            scene = make_scene()
    except FormatError as error:  # over a limit
        issues.add_issue(_issue(error))
        readable = False
    reading_issues = document.issues if scene is None else scene.issues  # a scene has those of its document, too
    damaged = reading_issues.first_unsafe() is not None
    issues.extend(reading_issues)
    document.format.apply_rules(document, scene, Reporter(document, issues))
    return Report(issues.sorted_by(sort_key), document.format, size, readable, damaged)


def unreadable(error: FormatError, reader: Format | Importer | None = None, size: int | None = None) -> Report:
    """Return the report on a file that cannot be read."""
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
