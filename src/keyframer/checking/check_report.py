"""What a check found: issues in the order of passes and places, counts and a verdict; and all of that as plain data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from keyframer.exchange import Importer
from keyframer.formats import Format
from keyframer.issues import Issue, IssueLog, Severity
from keyframer.text import safe_text

PASSES = {
    "structure": "whether the bytes lie as the format says",
    "links": "whether what refers to something else can find it",
    "data": "whether names and numbers are what they should be",
    "scene": "what it means all together",
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
    """The pass that a code belongs to, from the word it begins with."""
    return _PASS_OF_FAMILY[code.partition("_")[0]]


def in_order(issue: Issue) -> tuple[int, int, str, str]:
    """What issues are sorted by: pass, place in the file, path, code."""
    return _PASS_ORDER.index(pass_of(issue.code)), issue.offset, issue.path, issue.code


@dataclass(frozen=True)
class Report:
    """What a check found in one file.

    ``issues`` lists the first of each code, in the order of the passes and of their places in the file. The cap is
    never silent: ``counts`` has all of them, and ``truncated`` says that there are more.
    """

    issues: IssueLog
    format: Format | Importer | None = None
    """None where no reader claims the bytes"""
    size: int | None = None
    """bytes of the file, where they were read here"""
    readable: bool = True

    @property
    def verdict(self) -> str:
        """``not readable``: no document can be made of it. ``clean``: nothing above *info* was found."""
        if not self.readable:
            return NOT_READABLE
        worst = self.issues.worst()
        return CLEAN if worst is None or worst <= Severity.INFO else WITH_PROBLEMS

    @property
    def counts(self) -> dict[str, int]:
        """How many issues there are of each code, also of those that are not listed."""
        return dict(sorted(self.issues.counts.items()))

    @property
    def truncated(self) -> bool:
        """Whether some issues are only counted."""
        return self.issues.truncated

    def count(self, severity: str) -> int:
        """How many issues of a severity (``error``, ``warning``, ``info``) there are, listed or not."""
        wanted = Severity[severity.upper()]
        return sum(count for (_, seen), count in self.issues.tallies.items() if seen is wanted)

    def in_pass(self, name: str) -> list[Issue]:
        """The listed issues of one pass."""
        return [issue for issue in self.issues if pass_of(issue.code) == name]

    def restricted(self, only: Collection[str] = (), ignore: Collection[str] = ()) -> Report:
        """The report with just some codes; a code may be given by its beginning, as in ``SEC_``.

        A file that is not readable stays so, whatever is ignored.
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
"""characters of a message or a path"""


def report_record(report: Report, name: str) -> dict[str, object]:
    """One file as a JSON object; text is safe and of bearable length."""
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
        "path": short(issue.path),
        "message": short(issue.message),
    }


def short(text: str) -> str:
    """Text of a file's making: safe, and no longer than anybody reads."""
    text = safe_text(text[: 2 * _LONGEST])
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def unlisted(report: Report) -> dict[str, int]:
    """How many issues of each code are counted but not listed."""
    listed: dict[str, int] = {}
    for issue in report.issues:
        listed[issue.code] = listed.get(issue.code, 0) + 1
    return {code: count - listed.get(code, 0) for code, count in report.counts.items() if count > listed.get(code, 0)}
