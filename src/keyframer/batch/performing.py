"""Carrying out jobs. A job never raises: whatever happens to it is its result."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from keyframer.batch.job import Job, Result, fail, fail_with, new_result
from keyframer.batch.operations import OPERATIONS
from keyframer.batch.operations._subject import Subject
from keyframer.errors import FormatError


def perform(job: Job) -> Result:
    """Do one job; the result is a plain dict."""
    result = new_result(job)
    start = time.perf_counter()
    try:
        _perform(job, result)
    except FormatError as error:
        fail_with(result, error)
    except MemoryError:
        fail(result, "LIMIT_MEMORY", "the file needs more memory than it may have")
    except OSError as error:
        fail(result, "IO_READ_FAILED", error.strerror or str(error) or type(error).__name__)
    except ValueError as error:
        fail(result, "RUN_REFUSED", str(error))
    except Exception as error:
        fail(result, "RUN_INTERNAL_ERROR", f"{type(error).__name__}: {error} (please report it)")
    result["seconds"] = round(time.perf_counter() - start, 6)
    return result


def perform_all(jobs: Sequence[Job]) -> list[Result]:
    """Do a handful of jobs one after the other: what goes to an executor as one task."""
    return [perform(job) for job in jobs]


def _perform(job: Job, result: Result) -> None:
    operation = OPERATIONS.get(job.operation)
    if operation is None:
        raise ValueError(f"no operation is called {job.operation!r} (there are: {', '.join(OPERATIONS)})")
    subject = Subject(job)
    result["sha256"] = hashlib.sha256(subject.data).hexdigest()
    result["size"] = len(subject.data)
    try:
        operation.function()(subject, result)
    finally:
        known = vars(subject).get("format")
        if known is not None:
            result["format"] = known.name
