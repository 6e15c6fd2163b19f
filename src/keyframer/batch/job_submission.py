"""Submits jobs to any ``concurrent.futures`` executor and yields results as they finish."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from itertools import islice
from queue import Empty, SimpleQueue

from keyframer.batch.job import FILES_PER_TASK, Job, Result, fail, fail_with, new_result
from keyframer.batch.local_executor import Stopped
from keyframer.errors import FormatError

_TASKS_AHEAD = 4
"""tasks submitted in advance for each worker, so that none has to wait; 100 times as many if a task is one file"""
_STOP_INTERVAL = 0.5
"""seconds between checks of ``stop`` while nothing finishes"""


class ExecutorLost(Exception):
    """A remote executor lost jobs, which says nothing about their files: a dead scheduler or worker, a network fault.

    These jobs have no result. The message gives the reason.
    """


def perform_all(jobs: Sequence[Job]) -> list[Result]:
    """Execute several jobs in order: one task of an executor."""
    from keyframer.batch.job_execution import perform  # the process that submits jobs does not need it

    return [perform(job) for job in jobs]


def run(
    jobs: Iterable[Job],
    executor: Executor,
    *,
    files_per_task: int | None = None,
    stop: Callable[[], bool] = lambda: False,
    task: Callable[[Sequence[Job]], list[Result]] = perform_all,
) -> Iterator[Result]:
    """Yield one result for each job, failed or not, in the order in which they finish.

    Jobs are taken from ``jobs`` as needed: an iterator may have any length. ``files_per_task`` jobs make one task
    (default: the choice of the executor, else up to 200, fewer for few jobs); ``task`` executes them. A task that
    raises is split in halves until the responsible file is alone. Only this file fails: with the code of a
    `FormatError`, otherwise with RUN_WORKER_KILLED. If the executor refuses a task, all of its files fail. Once
    ``stop()`` returns true, no more tasks are submitted; jobs that were not started have no result.

    If the executor is remote (it has a true attribute ``remote``), no file fails for a lost task. If it refuses or
    cancels a task, `ExecutorLost` is raised at once; if a task of one file raises, after all others have finished.
    """
    remote = bool(getattr(executor, "remote", False))
    lost: list[Exception] = []
    workers = _workers_of(executor)
    task_size = files_per_task or getattr(executor, "files_per_task", None) or _default_task_size(jobs, workers)
    most_waiting = workers * _TASKS_AHEAD * (100 if task_size == 1 else 1)
    remaining = iter(jobs)
    to_retry: deque[list[Job]] = deque()
    finished: SimpleQueue[Future[list[Result]]] = SimpleQueue()
    waiting: dict[Future[list[Result]], list[Job]] = {}
    stopping = False
    try:
        while True:
            if not stopping and stop():
                stopping = True
                for future in list(waiting):
                    future.cancel()
            while not stopping and len(waiting) < most_waiting:
                task_jobs = to_retry.popleft() if to_retry else list(islice(remaining, task_size))
                if not task_jobs:
                    break
                try:
                    future = executor.submit(task, task_jobs)
                except Exception as error:
                    if remote:
                        raise ExecutorLost(_reason(error)) from None
                    yield from (_lost(job, error) for job in task_jobs)
                    continue
                waiting[future] = task_jobs
                future.add_done_callback(finished.put)
            if not waiting:
                break
            try:
                future = finished.get(timeout=_STOP_INTERVAL)
            except Empty:
                continue
            task_jobs = waiting.pop(future)
            try:
                results = future.result()
            except (CancelledError, Stopped):
                if stopping:
                    continue
                cancelled = RuntimeError("the task was cancelled")
                if remote:
                    raise ExecutorLost(_reason(cancelled)) from None
                results = [_lost(job, cancelled) for job in task_jobs]
            except Exception as error:
                half = len(task_jobs) // 2
                if half:
                    to_retry.extend((task_jobs[:half], task_jobs[half:]))
                    continue
                if remote and not isinstance(error, FormatError):
                    lost.append(error)
                    continue
                results = [_lost(job, error) for job in task_jobs]
            yield from results
    finally:
        for future in waiting:
            future.cancel()
    if lost:
        raise ExecutorLost(_reason(lost[0]))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if type(error) is not RuntimeError else str(error)


def _lost(job: Job, error: BaseException) -> Result:
    """Return the failure of a job for which the executor returned no result."""
    result = new_result(job)
    if isinstance(error, FormatError):
        result["seconds"] = float(str(error.details.get("seconds", 0.0)))  # of LIMIT_TIME
        return fail_with(result, error)
    return fail(result, "RUN_WORKER_KILLED", f"the executor returned no result: {type(error).__name__}: {error}")


def _workers_of(executor: Executor) -> int:
    """Return how many tasks the executor runs at once; 8 if that is unknown."""
    for name in ("workers", "_max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return 8


def _default_task_size(jobs: Iterable[Job], workers: int) -> int:
    try:
        count = len(jobs)  # type: ignore[arg-type]
    except TypeError:
        return FILES_PER_TASK
    return max(1, min(FILES_PER_TASK, count // (workers * _TASKS_AHEAD)))
