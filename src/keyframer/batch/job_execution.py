"""Executes jobs. A job never raises: its result describes success or failure.

Modules that process files are imported inside functions: the process that submits jobs does not need them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from keyframer.batch.job import Job, Result, fail, fail_with, new_result
from keyframer.batch.operations import OPERATIONS
from keyframer.batch.worker import DeferredAnswer
from keyframer.errors import FormatError, reason_of
from keyframer.files import running
from keyframer.limits import Budget, limits_of

if TYPE_CHECKING:
    from keyframer.batch.operations.outputs import Output


def perform(job: Job) -> Result:
    """Execute one job; returns a plain dict."""
    return _ExecutedJob(job).finish()


def perform_all(jobs: Sequence[Job]) -> list[Result]:
    """Execute several jobs in order: one task of an executor."""
    return [perform(job) for job in jobs]


def begin_all(jobs: Sequence[Job]) -> DeferredAnswer:
    """Execute jobs like `perform_all`, for executors that wait for the outputs of several tasks together."""
    executed = [_ExecutedJob(job) for job in jobs]

    def sync() -> None:
        for job in executed:
            job.sync()

    return DeferredAnswer(sync, lambda: [job.finish() for job in executed])


class _ExecutedJob:
    """An executed job. Its outputs on disk have temporary names until `finish`."""

    __slots__ = ("_outputs", "_result")

    def __init__(self, job: Job) -> None:
        self._result = new_result(job)
        self._outputs: list[Output] = []
        start = time.perf_counter()
        _run_or_fail(self._result, lambda: _perform(job, self._result, self._outputs))
        self._result["seconds"] = round(time.perf_counter() - start, 6)

    def sync(self) -> None:
        """Wait until the outputs are on the disk."""
        if self._outputs:
            from keyframer.batch.operations.outputs import sync_all

            _run_or_fail(self._result, lambda: sync_all(self._outputs))

    def finish(self) -> Result:
        """Wait until the outputs are on the disk and rename them; returns the result."""
        self.sync()
        if self._outputs:
            from keyframer.batch.operations.outputs import finish_all

            _run_or_fail(self._result, lambda: self._result["outputs"].extend(finish_all(self._outputs)))
        return self._result


def _run_or_fail(result: Result, action: Callable[[], None]) -> None:
    """Call ``action``; if it raises, turn the result into a failure."""
    try:
        action()
    except FormatError as error:
        fail_with(result, error)
    except MemoryError:
        fail(result, "LIMIT_MEMORY", "processing the file needs more memory than is available")
    except OSError as error:
        fail(result, "IO_READ_FAILED", reason_of(error, str(result["source"])))
    except ValueError as error:
        fail(result, "RUN_REFUSED", str(error))
    except Exception as error:
        fail(result, "RUN_INTERNAL_ERROR", f"{type(error).__name__}: {error} (please report it)")


def _perform(job: Job, result: Result, outputs: list[Output]) -> None:
    from keyframer.batch.operations.job_input import JobInput

    operation = OPERATIONS.get(job.operation)
    if operation is None:
        raise ValueError(f"unknown operation {job.operation!r} (known: {', '.join(OPERATIONS)})")
    with running(), Budget(limits_of(job.options.get("limit", {}))).opened():
        job_input = JobInput(job, outputs)
        result["sha256"] = hashlib.sha256(job_input.data).hexdigest()
        result["size"] = len(job_input.data)
        try:
            operation.function()(job_input, result)
        finally:
            result["format"] = result["format"] or job_input.format_name
