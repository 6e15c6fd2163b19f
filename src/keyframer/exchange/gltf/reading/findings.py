"""What is found while a file is read: issues with their place in its bytes, and parts left out when saving the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

from keyframer.catalogue import CATALOGUE
from keyframer.errors import FormatError
from keyframer.exchange.gltf.reading.places import Places
from keyframer.exchange.gltf.reading.sources import Sources
from keyframer.issues import Issue, IssueLog, Severity
from keyframer.limits import Limits

P = ParamSpec("P")
T = TypeVar("T")


class Findings(IssueLog):
    """The issues of one file. With ``salvage`` a part that cannot be read is an issue and is left out."""

    def __init__(self, limits: Limits, *, salvage: bool = False) -> None:
        super().__init__(limits.issues_per_code, limits.issues)
        self.salvage = salvage
        self.places: Places | None = None
        """known as soon as the JSON text is"""
        self.sources = Sources()

    def add_issue(self, issue: Issue) -> None:
        if not issue.offset and self.places is not None:
            issue = replace(issue, offset=self.places.find(issue.path))
        super().add_issue(issue)

    def placed(self, error: FormatError) -> FormatError:
        """The same failure, with its place in the file."""
        if error.offset or self.places is None:
            return error
        return FormatError(error.code, self.places.find(error.path), error.path, error.message, error.details)

    def attempt(self, make: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
        """What ``make`` makes of its arguments; with salvage None where that fails, which is then an issue. Limits stay
        limits: what would cost too much is not tried part by part."""
        try:
            return make(*args, **named)
        except FormatError as error:
            self.left_out(error)
            return None

    def left_out(self, error: FormatError) -> None:
        """Report what was left out; without salvage, and where a limit is broken, the failure goes on."""
        if not self.salvage or error.code.startswith("LIMIT_"):
            raise error
        self.add(CATALOGUE[error.code], error.path, error.offset, severity=Severity.ERROR, **error.details)
