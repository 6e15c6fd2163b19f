"""The report of a check: issues sorted by pass and place, counts and a verdict; and the same as plain data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from keyframer.exchange import Importer
from keyframer.formats import Format
from keyframer.issues import Issue, IssueLog, Severity
from keyframer.text import safe_text

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
    "SCENE": "scene",
}

NOT_READABLE = "not readable"
WITH_PROBLEMS = "readable with problems"
CLEAN = "clean"
_PASS_ORDER = list(PASSES)
VERDICTS = (NOT_READABLE, WITH_PROBLEMS, CLEAN)


def pass_of(code: str) -> str:
    """Return the pass that a code belongs to, from the first word of the code."""
    return _PASS_OF_FAMILY[code.partition("_")[0]]


def in_order(issue: Issue) -> tuple[int, int, str, str]:
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
    """None if no reader recognises the bytes"""
    size: int | None = None
    """size of the file in bytes; None if it was not read for this check"""
    readable: bool = True

    @property
    def verdict(self) -> str:
        """``not readable`` if the file cannot be decoded, ``clean`` without warnings and errors, else ``readable with
        problems``."""
        if not self.readable:
            return NOT_READABLE
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
        wanted = Severity[severity.upper()]
        return sum(count for (_, tallied), count in self.issues.tallies.items() if tallied is wanted)

    def in_pass(self, name: str) -> list[Issue]:
        """The listed issues of one pass."""
        return [issue for issue in self.issues if pass_of(issue.code) == name]

    def restricted(self, only: Collection[str] = (), ignore: Collection[str] = ()) -> Report:
        """Return the report without some codes; ``SEC_`` stands for all codes that begin so.

        The verdict *not readable* stays, whatever is ignored.
        """

        def wanted(code: str) -> bool:
            return (not only or code.startswith(tuple(only))) and not (ignore and code.startswith(tuple(ignore)))

        return replace(self, issues=self.issues.selected(wanted, in_order))

    def __str__(self) -> str:
        return "\n".join([self.verdict, *map(str, self.issues)])


SCHEMA = "keyframer.check"
SCHEMA_VERSION = 1

COLUMNS = ("file", "verdict", "severity", "code", "offset", "path", "message")

_LONGEST = 1_000
"""most characters of a message or a path"""


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
        "offset": issue.offset,
        "path": truncated_text(issue.path),
        "message": truncated_text(issue.message),
    }


def truncated_text(text: str) -> str:
    """Make text from a file safe to show, truncated to 1,000 characters."""
    text = safe_text(text[: 2 * _LONGEST])
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def unlisted(report: Report) -> dict[str, int]:
    """Return the number of issues of each code that are counted but not listed."""
    listed: dict[str, int] = {}
    for issue in report.issues:
        listed[issue.code] = listed.get(issue.code, 0) + 1
    return {code: count - listed.get(code, 0) for code, count in report.counts.items() if count > listed.get(code, 0)}
