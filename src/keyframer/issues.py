"""What may be said about a file: issue types, issues, and a log of them with a cap that is never silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

from keyframer.errors import FormatError

ISSUES_PER_CODE = 20
ISSUES_PER_FILE = 1_000


class Severity(IntEnum):
    """How bad it is; an *error* makes a scene unsafe to build, anything merely odd is a *warning*."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class IssueType:
    """A kind of issue: the code never changes, the words (a ``str.format`` template) may."""

    code: str
    severity: Severity
    template: str

    def message(self, args: Mapping[str, object]) -> str:
        return self.template.format_map(args)

    def failure(self, offset: int, path: str, **args: object) -> FormatError:
        """The exception that says this."""
        return FormatError(self.code, offset, path, self.message(args), args)


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding: its type, where it is, and the values of its message."""

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
        """Whether no scene is made of the file: an error of structure, links or counts. Wrong values (``DATA_``) are
        errors too, but evaluation copes with them."""
        return _is_unsafe(self.code, self.severity)

    def __str__(self) -> str:
        return f"{self.severity.label}: {self.code} at {self.offset:#x} in {self.path}: {self.message}"

    def as_error(self) -> FormatError:
        return self.type.failure(self.offset, self.path, **self.args)


def _is_unsafe(code: str, severity: Severity) -> bool:
    return severity is Severity.ERROR and not code.startswith("DATA_")


class IssueLog:
    """The issues of one file in the order found: all are counted, the first of each code are kept.

    The place of an issue is given as a function where finding it costs something, so that the ten-thousandth
    issue of a hostile file costs no more than a counter.
    """

    def __init__(self, per_code: int = ISSUES_PER_CODE, per_file: int = ISSUES_PER_FILE) -> None:
        self._per_code = per_code
        self._per_file = per_file
        self._kept: list[Issue] = []
        self._kept_by_code: Counter[str] = Counter()
        self._first_unsafe: Issue | None = None
        self._worst: Severity | None = None
        self.counts: Counter[str] = Counter()
        """how many there are of each code"""
        self.tallies: Counter[tuple[str, Severity]] = Counter()
        """the same, apart by severity"""

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
        seen = kind.severity if severity is None else severity
        if self._wants(kind, seen):
            self.add_issue(Issue(kind, path if isinstance(path, str) else path(), offset, args, severity))
        else:
            self.counts[kind.code] += 1
            self.tallies[kind.code, seen] += 1

    def count_more(self, kind: IssueType, count: int, severity: Severity | None = None) -> None:
        """Count further issues of a kind of which one was added before, without listing them."""
        self.counts[kind.code] += count
        self.tallies[kind.code, kind.severity if severity is None else severity] += count

    @property
    def most_listed(self) -> int:
        """So many of one code are listed at most; one is always looked at."""
        return max(self._per_code, 1)

    def _wants(self, kind: IssueType, severity: Severity) -> bool:
        """Whether this issue is more than a number: there is room for it, or none so bad was seen before."""
        if self._has_room(kind.code) or self._worst is None or severity > self._worst:
            return True
        return self._first_unsafe is None and _is_unsafe(kind.code, severity)

    def _has_room(self, code: str) -> bool:
        return self._kept_by_code[code] < self._per_code and len(self._kept) < self._per_file

    def add_issue(self, issue: Issue) -> None:
        self.counts[issue.code] += 1
        self.tallies[issue.code, issue.severity] += 1
        if self._worst is None or issue.severity > self._worst:
            self._worst = issue.severity
        if self._first_unsafe is None and issue.unsafe:
            self._first_unsafe = issue
        if self._has_room(issue.code):
            self._kept_by_code[issue.code] += 1
            self._kept.append(issue)

    def extend(self, issues: IssueLog) -> None:
        """Take over what another log kept and counted."""
        for issue in issues:
            self.add_issue(issue)
        unkept = issues.first_unsafe()
        if self._first_unsafe is None and unkept is not None:
            self._first_unsafe = unkept
        self._count_unlisted(issues)

    def _count_unlisted(self, issues: IssueLog, wanted: Callable[[str], bool] = lambda code: True) -> None:
        """Count what another log only counted."""
        listed = Counter((issue.code, issue.severity) for issue in issues)
        for (code, severity), count in issues.tallies.items():
            if wanted(code):
                self.counts[code] += count - listed[code, severity]
                self.tallies[code, severity] += count - listed[code, severity]
                self._worst = severity if self._worst is None else max(self._worst, severity)

    def selected(self, wanted: Callable[[str], bool], order: Callable[[Issue], SupportsRichComparison]) -> IssueLog:
        """A log of just the codes that are wanted, those that are listed in another order."""
        chosen = IssueLog(self._per_code, self._per_file)
        for issue in sorted((issue for issue in self if wanted(issue.code)), key=order):
            chosen.add_issue(issue)
        if self._first_unsafe is not None and wanted(self._first_unsafe.code):
            chosen._first_unsafe = self._first_unsafe
        chosen._count_unlisted(self, wanted)
        return chosen

    def copy(self) -> IssueLog:
        """A log of its own with the same content."""
        twin = IssueLog(self._per_code, self._per_file)
        twin.extend(self)
        return twin

    @property
    def truncated(self) -> bool:
        """Whether some issues were only counted."""
        return self.total > len(self._kept)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def worst(self) -> Severity | None:
        """The highest severity, of issues that were only counted too."""
        return self._worst

    def first_unsafe(self) -> Issue | None:
        """The first issue that makes a scene unsafe, whether or not there was room to list it."""
        return self._first_unsafe

    def unsafe_counts(self) -> dict[str, int]:
        """How many there are of each code that makes a scene unsafe: what salvage left out."""
        counts: dict[str, int] = {}
        for (code, severity), count in self.tallies.items():
            if _is_unsafe(code, severity):
                counts[code] = counts.get(code, 0) + count
        return counts

    def __iter__(self) -> Iterator[Issue]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: int) -> Issue:
        return self._kept[index]

    def __repr__(self) -> str:
        counted = ", ".join(f"{code} x{count}" for code, count in sorted(self.counts.items()))
        return f"<IssueLog: {counted or 'nothing'}>"
