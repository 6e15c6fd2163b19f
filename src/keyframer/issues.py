"""Issue types, issues, and the issue log of a file, which counts all issues and lists the first of each code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from string import Formatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from _typeshed import SupportsRichComparison

from dataclasses import dataclass

from keyframer.errors import FormatError, placed
from keyframer.text import counted

ISSUES_PER_CODE = 20
ISSUES_PER_FILE = 1_000


class Severity(IntEnum):
    """How serious an issue is.

    An *error* makes a scene unsafe to build, or is a value without any meaning (some ``DATA_`` types). A *warning* is
    unusual, or a value that reading ignores or replaces. An *info* is worth knowing.
    """

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        return self.name.lower()


class _MessageFormatter(Formatter):
    """``str.format`` with one more format specification: a space and a noun, for a number with that noun."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith(" "):
            return counted(value, format_spec[1:])
        return format(value, format_spec)


_MESSAGES = _MessageFormatter()


def sentence(template: str, args: Mapping[str, object]) -> str:
    """Fill in a ``str.format`` template, in which ``{count: key}`` is a number with its noun: "1 key", "2 keys"."""
    return _MESSAGES.vformat(template, (), args)


@dataclass(frozen=True, slots=True)
class IssueType:
    """A type of issue: the code never changes, the message (a ``str.format`` template) may.

    In a template, ``{count: key}`` is a number with its noun: "1 key", "2 keys".
    """

    code: str
    severity: Severity
    template: str

    def message(self, args: Mapping[str, object]) -> str:
        return sentence(self.template, args)

    def failure(self, offset: int, path: str, **args: object) -> FormatError:
        """Return the exception for an issue of this type."""
        return FormatError(self.code, offset, path, self.message(args), args)


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue of a file: its type, its place, and the values in its message."""

    type: IssueType
    path: str
    offset: int
    args: Mapping[str, object] = field(default_factory=dict)
    severity_override: Severity | None = None

    @property
    def code(self) -> str:
        return self.type.code

    @property
    def severity(self) -> Severity:
        return self.type.severity if self.severity_override is None else self.severity_override

    @property
    def message(self) -> str:
        return self.type.message(self.args)

    @property
    def unsafe(self) -> bool:
        """Whether the issue makes a scene unsafe to build: every error except invalid values (``DATA_``), which
        evaluation can handle."""
        return _is_unsafe(self.code, self.severity)

    def __str__(self) -> str:
        return f"{self.severity.label}: {placed(self.code, self.offset, self.path)}: {self.message}"

    def as_error(self) -> FormatError:
        return self.type.failure(self.offset, self.path, **self.args)


def _is_unsafe(code: str, severity: Severity) -> bool:
    return severity is Severity.ERROR and not code.startswith("DATA_")


def _empty_counter() -> Counter[Any]:
    """Return an empty counter without calling its ``__init__``: every file has several, mostly empty."""
    return Counter.__new__(Counter)


Wanted = Callable[[str, Severity], bool]
"""whether issues with a code and a severity are wanted"""


class IssueLog:
    """The issues of one file in the order found: all are counted, the first of each code are listed.

    A path that is expensive to build is passed as a function, which is not called for issues that are only counted.
    """

    def __init__(self, per_code: int = ISSUES_PER_CODE, per_file: int = ISSUES_PER_FILE) -> None:
        self._per_code = per_code
        self._per_file = per_file
        self._listed: list[Issue] = []
        self._listed_by_code: Counter[str] = _empty_counter()
        self._first_unsafe: Issue | None = None
        self._worst: Severity | None = None
        self.counts: Counter[str] = _empty_counter()
        """number of issues of each code"""
        self.counts_by_severity: Counter[tuple[str, Severity]] = _empty_counter()
        """number of issues of each code and severity"""

    def list_at_most(self, per_code: int, per_file: int) -> None:
        """List as many issues of each code and in all; the default is that of a new log."""
        self._per_code, self._per_file = per_code, per_file

    def add(
        self,
        kind: IssueType,
        path: str | Callable[[], str],
        offset: int,
        /,
        *,
        severity: Severity | None = None,
        **args: object,
    ) -> None:
        actual_severity = kind.severity if severity is None else severity
        if self._must_create(kind, actual_severity):
            self.add_issue(Issue(kind, path if isinstance(path, str) else path(), offset, args, severity))
        else:
            self.counts[kind.code] += 1
            self.counts_by_severity[kind.code, actual_severity] += 1

    def count_more(self, kind: IssueType, count: int, severity: Severity | None = None) -> None:
        """Count more issues of a type that was added before, without listing them."""
        self.counts[kind.code] += count
        self.counts_by_severity[kind.code, kind.severity if severity is None else severity] += count

    @property
    def most_listed(self) -> int:
        """The maximum number of listed issues of one code, at least 1."""
        return max(self._per_code, 1)

    def _must_create(self, kind: IssueType, severity: Severity) -> bool:
        """Return whether to create this issue: it can be listed, is worse than all before, or is the first unsafe
        one."""
        if self._has_room(kind.code) or self._worst is None or severity > self._worst:
            return True
        return self._first_unsafe is None and _is_unsafe(kind.code, severity)

    def _has_room(self, code: str) -> bool:
        return self._listed_by_code[code] < self._per_code and len(self._listed) < self._per_file

    def add_issue(self, issue: Issue) -> None:
        self.counts[issue.code] += 1
        self.counts_by_severity[issue.code, issue.severity] += 1
        if self._worst is None or issue.severity > self._worst:
            self._worst = issue.severity
        if self._first_unsafe is None and issue.unsafe:
            self._first_unsafe = issue
        if self._has_room(issue.code):
            self._listed_by_code[issue.code] += 1
            self._listed.append(issue)

    def extend(self, issues: IssueLog) -> None:
        """Add the issues and the counts of another log."""
        if not issues.counts_by_severity:
            return
        for issue in issues:
            self.add_issue(issue)
        first_unsafe = issues.first_unsafe()
        if self._first_unsafe is None and first_unsafe is not None:
            self._first_unsafe = first_unsafe
        self._count_unlisted(issues)

    def _count_unlisted(self, issues: IssueLog, wanted: Wanted = lambda code, severity: True) -> None:
        """Add the counts of issues that another log did not list."""
        listed = Counter((issue.code, issue.severity) for issue in issues)
        for (code, severity), count in issues.counts_by_severity.items():
            if wanted(code, severity):
                self.counts[code] += count - listed[code, severity]
                self.counts_by_severity[code, severity] += count - listed[code, severity]
                self._worst = severity if self._worst is None else max(self._worst, severity)

    def sorted_by(self, order: Callable[[Issue], SupportsRichComparison]) -> IssueLog:
        """Return a log with the same content, its listed issues sorted by ``order``."""
        return self.selected(lambda code, severity: True, order)

    def selected(self, wanted: Wanted, order: Callable[[Issue], SupportsRichComparison]) -> IssueLog:
        """Return a log of the wanted codes and severities, its listed issues sorted by ``order``."""
        chosen = IssueLog(self._per_code, self._per_file)
        for issue in sorted((issue for issue in self if wanted(issue.code, issue.severity)), key=order):
            chosen.add_issue(issue)
        if self._first_unsafe is not None and wanted(self._first_unsafe.code, self._first_unsafe.severity):
            chosen._first_unsafe = self._first_unsafe
        chosen._count_unlisted(self, wanted)
        return chosen

    def copy(self) -> IssueLog:
        """Return an independent log with the same content."""
        duplicate = IssueLog(self._per_code, self._per_file)
        duplicate.extend(self)
        return duplicate

    @property
    def truncated(self) -> bool:
        """Whether some issues are counted but not listed."""
        return self.total > len(self._listed)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def count(self, severity: Severity) -> int:
        """Return the number of issues of a severity, listed or not."""
        return sum(count for (_, counted_as), count in self.counts_by_severity.items() if counted_as is severity)

    def counts_text(self) -> str:
        """Return the number of issues by severity, such as ``1 error, 2 warnings, 3 info``; empty without issues."""
        counts = {severity: self.count(severity) for severity in reversed(Severity)}
        return ", ".join(
            f"{count} info" if severity is Severity.INFO else counted(count, severity.label)
            for severity, count in counts.items()
            if count
        )

    def worst(self) -> Severity | None:
        """Return the highest severity, including issues that are not listed; None without issues."""
        return self._worst

    def first_unsafe(self) -> Issue | None:
        """Return the first issue that makes a scene unsafe, even if it is not listed."""
        return self._first_unsafe

    def unsafe_counts(self) -> dict[str, int]:
        """Return the number of unsafe issues of each code; salvage leaves out the parts that have them."""
        counts: dict[str, int] = {}
        for (code, severity), count in self.counts_by_severity.items():
            if _is_unsafe(code, severity):
                counts[code] = counts.get(code, 0) + count
        return counts

    def __iter__(self) -> Iterator[Issue]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, index: int) -> Issue:
        return self._listed[index]

    def __repr__(self) -> str:
        counts = ", ".join(f"{code} x{count}" for code, count in sorted(self.counts.items()))
        return f"<IssueLog: {counts or 'nothing'}>"
