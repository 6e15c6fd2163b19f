"""Executes jobs. A job never raises: its result describes success or failure. The modules that process files are loaded
with the first job: the coordinator, which only refers to these functions, does not load them.
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
    return _begin(job)()


def perform_all(jobs: Sequence[Job]) -> list[Result]:
    """Execute several jobs in order: one task of an executor."""
    return [perform(job) for job in jobs]


def begin_all(jobs: Sequence[Job]) -> DeferredAnswer:
    """Execute jobs like `perform_all`, for executors that start the next task while outputs are written to the disk."""
    begun = [_begin(job) for job in jobs]
    return DeferredAnswer(lambda: [finish() for finish in begun])


def _begin(job: Job) -> Callable[[], Result]:
    """Execute one job without waiting for the disk; the returned function renames the outputs when they are on the
    disk.
    """
    result = new_result(job)
    outputs: list[Output] = []
    start = time.perf_counter()
    _record_failure(result, lambda: _perform(job, result, outputs))
    result["seconds"] = round(time.perf_counter() - start, 6)

    def finish() -> Result:
        if outputs:
            from keyframer.batch.operations.outputs import finish_all

            _record_failure(result, lambda: result["outputs"].extend(finish_all(outputs)))
        return result

    return finish


def _record_failure(result: Result, act: Callable[[], None]) -> None:
    """Call ``act``; if it raises, turn the result into a failure."""
    try:
        act()
    except FormatError as error:
        fail_with(result, error)
    except MemoryError:
        fail(result, "LIMIT_MEMORY", "the file needs more memory than the limit allows")
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
