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
    yield from _Submission(jobs, executor, files_per_task, task).results(stop)


class _Submission:
    """The tasks of a run: those that wait for a worker, that are to be tried again in halves, and that are lost."""

    def __init__(
        self,
        jobs: Iterable[Job],
        executor: Executor,
        files_per_task: int | None,
        task: Callable[[Sequence[Job]], list[Result]],
    ) -> None:
        workers = _workers_of(executor)
        self._executor = executor
        self._task = task
        self._task_size = (
            files_per_task or getattr(executor, "files_per_task", None) or _default_task_size(jobs, workers)
        )
        self._most_waiting = workers * _TASKS_AHEAD * (100 if self._task_size == 1 else 1)
        self._is_remote = bool(getattr(executor, "remote", False))
        self._remaining = iter(jobs)
        self._to_retry: deque[list[Job]] = deque()
        self._finished: SimpleQueue[Future[list[Result]]] = SimpleQueue()
        self._waiting: dict[Future[list[Result]], list[Job]] = {}
        self._lost: list[Exception] = []
        self._is_stopping = False

    def results(self, stop: Callable[[], bool]) -> Iterator[Result]:
        try:
            while True:
                if not self._is_stopping and stop():
                    self._is_stopping = True
                    self._cancel()
                yield from self._submit()
                if not self._waiting:
                    break
                try:
                    future = self._finished.get(timeout=_STOP_INTERVAL)
                except Empty:
                    continue
                yield from self._results_of(future)
        finally:
            self._cancel()
        if self._lost:
            raise ExecutorLost(_reason(self._lost[0]))

    def _cancel(self) -> None:
        for future in list(self._waiting):
            future.cancel()

    def _submit(self) -> Iterator[Result]:
        """Submit tasks until enough are waiting; yields the failures of those that the executor refuses."""
        while not self._is_stopping and len(self._waiting) < self._most_waiting:
            jobs = self._to_retry.popleft() if self._to_retry else list(islice(self._remaining, self._task_size))
            if not jobs:
                return
            try:
                future = self._executor.submit(self._task, jobs)
            except Exception as error:
                yield from self._refused(jobs, error)
                continue
            self._waiting[future] = jobs
            future.add_done_callback(self._finished.put)

    def _results_of(self, future: Future[list[Result]]) -> list[Result]:
        """Return the results of a finished task; none if its halves are tried again, or if it is lost."""
        jobs = self._waiting.pop(future)
        try:
            return future.result()
        except (CancelledError, Stopped):
            return [] if self._is_stopping else self._refused(jobs, RuntimeError("the task was cancelled"))
        except Exception as error:
            half = len(jobs) // 2
            if half:
                self._to_retry.extend((jobs[:half], jobs[half:]))
                return []
            if self._is_remote and not isinstance(error, FormatError):
                self._lost.append(error)
                return []
            return [_lost(jobs[0], error)]

    def _refused(self, jobs: list[Job], error: Exception) -> list[Result]:
        """Return the failures of a task that an executor on this machine did not take."""
        if self._is_remote:
            raise ExecutorLost(_reason(error)) from None
        return [_lost(job, error) for job in jobs]


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
