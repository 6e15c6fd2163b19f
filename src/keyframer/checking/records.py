"""A report as plain data: what ``keyframer check`` prints as JSON, and the rows of its tables."""

from __future__ import annotations

from keyframer.checking.report import Report, pass_of
from keyframer.issues import Issue
from keyframer.text import safe_text

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
