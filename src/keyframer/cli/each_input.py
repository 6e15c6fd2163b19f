"""The loop of commands over their inputs: a budget for each, one message for each failure, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from keyframer.cli.exit_handling import FINDINGS, INPUTS_FAILED, SUCCESS
from keyframer.cli.inputs import inputs_of
from keyframer.cli.messages import failure
from keyframer.errors import FormatError

if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager

    from keyframer.cli.inputs import Input

READ_FAILURES = (FormatError, OSError)
"""exceptions of reading an input"""
LOAD_FAILURES = (*READ_FAILURES, ValueError)
"""exceptions of loading an input; ValueError for an option that its format does not have"""


class EachInput:
    """The inputs of a command, one after the other.

    for item in (each := EachInput(options)):
        with each.guarded(item):
            ...  # an exception of ``failures`` is reported as a failure of this input
    return each.code
    """

    def __init__(
        self,
        options: argparse.Namespace,
        extensions: tuple[str, ...] | None = None,
        failures: tuple[type[Exception], ...] = READ_FAILURES,
        before_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self.code = SUCCESS
        self.error: Exception | None = None
        """the failure of the current input"""
        self._options = options
        self._extensions = extensions
        self._failures = failures
        self._before_failure = before_failure

    def __iter__(self) -> Iterator[Input]:
        for item in inputs_of(self._options, self._extensions):
            self.error = None
            yield item

    @contextmanager
    def guarded(self, item: Input) -> Iterator[None]:
        """Open the budget of an input. A failure is reported once, and the next input follows."""
        try:
            with budget_for(self._options, item):
                yield
        except self._failures as error:
            self.fail(item, error)

    def fail(self, item: Input, error: Exception) -> None:
        """Report a failure of an input."""
        self.code, self.error = INPUTS_FAILED, error
        self._before_failure()
        failure(item.name, error)

    def find(self) -> None:
        """Note that an input has findings."""
        self.code = self.code or FINDINGS


def budget_for(options: argparse.Namespace, item: Input | None = None) -> AbstractContextManager[object]:
    """Open the budget for one input; the members of an archive share a budget. There is none in commands without
    ``--limit``, which only look at the beginning of files, or read text."""
    if not hasattr(options, "limit"):
        return nullcontext()
    from keyframer.limits import Budget, limits_of

    shared = None if item is None else item.budget
    return (shared or Budget(limits_of(dict(options.limit)))).opened()
