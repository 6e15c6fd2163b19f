"""An executor for one machine: a call that crashes, hangs or uses too much memory fails alone.

``concurrent.futures.ProcessPoolExecutor`` loses the whole pool with one dead process. Here each worker process has a
thread that sends it a portion of calls and collects the answers one by one. When a process dies, its answers stay
valid, the current call is repeated once, alone in a new process, and the other calls return to the queue. A call that
kills its process twice fails; a call that exceeds the time limit fails at once.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from time import monotonic
from typing import Any

from keyframer.batch.defaults import MEMORY, SECONDS
from keyframer.batch.fork_server import CAN_FORK, ForkServer, Process, Spawned
from keyframer.batch.worker import BEGUN
from keyframer.catalogue import LIMIT_TIME, RUN_WORKER_KILLED
from keyframer.errors import FormatError


class WorkerHandle:
    """A worker process as seen by its thread: the calls it has started, and the time limit of the current call."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.fresh = True
        """whether the process has not answered any call"""
        self.begun = 0
        """calls of the current portion that were started but not answered"""
        self._lock = threading.Lock()
        self._serial = 0
        self._deadline: float | None = None
        self._expired = -1

    def send(self, value: object) -> None:
        with suppress(OSError):  # the process is dead: reading its answer will show that
            self.process.calls.write(pickle.dumps(value))
            self.process.calls.flush()

    def answer(self, seconds: float | None) -> tuple[bool, Any, bool] | None:
        """Return the next answer; None if the process has died."""
        self._set_deadline(seconds)
        try:
            while (message := pickle.load(self.process.answers)) is BEGUN:  # noqa: S301  # our own child
                self.begun += 1
                self._set_deadline(seconds)
        except Exception:  # an incomplete answer can raise anything
            return None
        finally:
            with self._lock:
                self._deadline = None
        self.begun -= 1
        self.fresh = False
        answer: tuple[bool, Any, bool] = message
        return answer

    def _set_deadline(self, seconds: float | None) -> None:
        with self._lock:
            self._serial += 1
            self._deadline = None if seconds is None else monotonic() + seconds

    def kill_if_late(self) -> None:
        with self._lock:
            if self._deadline is not None and monotonic() > self._deadline:
                self._expired = self._serial
                self.process.kill()

    @property
    def was_late(self) -> bool:
        return self._expired == self._serial

    def end(self) -> str:
        """End the process at once, if it is running; returns how it ended, in words."""
        self.process.kill()
        code = self.process.wait()
        for stream in (self.process.calls, self.process.answers):
            with suppress(OSError):
                stream.close()
        if code >= 0:
            return f"ended with exit code {code}"
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"


_MOST_CALLS = 200
"""maximum number of calls sent to a worker at once"""
_PORTION_SECONDS = 0.25
"""seconds that the calls sent to a worker at once should take, so that little work is lost if everything is killed"""
_WATCH_INTERVAL = 0.1
"""seconds between checks of the time limits"""


class Stopped(Exception):
    """The executor was stopped before the call was answered."""


class _Call:
    """A submitted call: its payload and its future."""

    __slots__ = ("alone", "future", "payload", "started")

    def __init__(self, payload: tuple[Any, ...]) -> None:
        self.payload = payload
        self.future: Future[Any] = Future()
        self.started = False
        self.alone = False
        """whether the call may have killed a process and is repeated alone in a new process"""


class LocalExecutor(Executor):
    """A ``concurrent.futures`` executor with a time limit for each call and a memory limit for each process.

    A call that exceeds the time limit ends with a `FormatError` LIMIT_TIME, one that kills its process with
    RUN_WORKER_KILLED. Exceeding the memory limit (address space, POSIX only) raises MemoryError inside the call.
    """

    files_per_task = 1
    """tells `run` to submit file by file: this executor groups calls itself"""
    finishes_later = True
    """tells `run` that a call may return a `DeferredAnswer`: outputs of several files are synced together"""

    def __init__(
        self,
        workers: int | None = None,
        *,
        seconds: float | None = SECONDS,
        memory: int | None = MEMORY,
        modules: Sequence[str] = (),
    ) -> None:
        """``modules`` are loaded by the fork server, once for all workers; without a fork server they are ignored."""
        self.workers = workers or available_cores()
        self._modules = modules
        self._fork_server: ForkServer | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None
        self.seconds = seconds
        self.memory = memory
        self._calls: deque[_Call] = deque()
        self._changed = threading.Condition()
        self._alive: set[WorkerHandle] = set()
        self._at_work = 0
        self._closing = False
        self._killed = False
        self._pace = 0.05
        """average seconds per call"""
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the fork server, so that it loads modules while the caller prepares calls."""
        with self._changed:
            if self._watcher is None and not self._closing:
                self._watcher = threading.Thread(target=self._watch, name="keyframer-watch", daemon=True)
                self._watcher.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        call = _Call((function, arguments, options))
        self.start()
        with self._changed:
            if self._closing:
                raise RuntimeError("the executor has been shut down")
            self._calls.append(call)
            if len(self._threads) < self.workers:
                self._start_thread()
            self._changed.notify()
        return call.future

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"keyframer-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch(self) -> None:
        """Enforce time limits. This thread owns the fork server, which ends with the thread that started it."""
        try:
            if CAN_FORK:
                with suppress(OSError):  # workers are then started without it
                    self._fork_server = ForkServer(self.memory, self._modules)
            self._ready.set()
            while not (self._closing and not any(thread.is_alive() for thread in self._threads)):
                for worker in tuple(self._alive):
                    worker.kill_if_late()
                self._ended.wait(_WATCH_INTERVAL)
        finally:
            self._ready.set()
            if self._fork_server is not None:
                self._fork_server.close()

    def _take(self) -> list[_Call]:
        """Wait for calls and return the next portion; empty if the executor is closing and all calls are done."""
        with self._changed:
            while True:
                while not self._calls:
                    if self._closing and not self._at_work:
                        self._changed.notify_all()
                        return []
                    self._changed.wait()
                if taken := self._next_portion():
                    self._at_work += 1
                    return taken

    def _next_portion(self) -> list[_Call]:
        """Return calls for about `_PORTION_SECONDS`, but leave some for other workers; an `alone` call comes alone."""
        most = max(1, min(_MOST_CALLS, int(_PORTION_SECONDS / self._pace), len(self._calls) // (2 * self.workers)))
        taken: list[_Call] = []
        while self._calls and len(taken) < most and not (taken and self._calls[0].alone):
            call = self._calls.popleft()
            if call.started or call.future.set_running_or_notify_cancel():
                call.started = True
                taken.append(call)
                if call.alone:
                    break
        return taken

    def _finish_portion(self, unanswered: Iterable[_Call]) -> None:
        """Finish a portion of a worker; unanswered calls return to the front of the queue."""
        with self._changed:
            self._at_work -= 1
            self._calls.extendleft(reversed([*unanswered]))
            self._changed.notify_all()

    def _serve(self) -> None:
        worker: WorkerHandle | None = None
        try:
            while calls := self._take():
                worker = self._feed(worker, calls)
        finally:
            self._end(worker)

    def _end(self, worker: WorkerHandle | None) -> None:
        """End the process of a worker, if there is one."""
        if worker is not None:
            self._alive.discard(worker)
            worker.end()

    def _new_process(self) -> Process:
        """Return a new worker process; without a fork server, or with a dead one, the process loads modules itself."""
        self._ready.wait()
        if self._fork_server is not None:
            with suppress(OSError):
                return self._fork_server.fork()
        return Spawned(self.memory)

    def _feed(self, worker: WorkerHandle | None, calls: list[_Call]) -> WorkerHandle | None:
        unanswered = deque(calls)
        try:
            if worker is not None and calls[0].alone and not worker.fresh:
                self._end(worker)
                worker = None
            if worker is None:
                worker = WorkerHandle(self._new_process())
                self._alive.add(worker)
                if self._killed:
                    worker.process.kill()
            worker.send([call.payload for call in unanswered])
            while unanswered:
                worker = self._wait_for_answer(worker, unanswered)
                if worker is None:
                    break
        except Exception as error:  # the process could not be started, or a call cannot be sent
            while unanswered:
                unanswered.popleft().future.set_exception(error)
            self._end(worker)
            worker = None
        self._finish_portion(unanswered)
        return worker

    def _wait_for_answer(self, worker: WorkerHandle, unanswered: deque[_Call]) -> WorkerHandle | None:
        """Wait for the answer to the first of these calls; returns None if the process has ended."""
        start = time.monotonic()
        answer = worker.answer(self.seconds)
        if answer is None:
            self._alive.discard(worker)
            self._handle_dead_process(worker, unanswered)
            return None
        call = unanswered.popleft()
        self._pace = 0.9 * self._pace + 0.1 * (time.monotonic() - start)
        succeeded, value, retire = answer
        if succeeded:
            call.future.set_result(value)
        else:
            call.future.set_exception(value)
        if retire:
            self._end(worker)
            return None
        return worker

    def _handle_dead_process(self, worker: WorkerHandle, unanswered: deque[_Call]) -> None:
        """Handle a dead process: the call started last is responsible; earlier calls only waited to be synced."""
        ending = worker.end()
        if self._killed:
            while unanswered:
                unanswered.popleft().future.set_exception(Stopped())
            return
        index = max(worker.begun - 1, 0)
        call = unanswered[index]
        del unanswered[index]
        if worker.was_late:
            call.future.set_exception(LIMIT_TIME.failure(0, "/", seconds=self.seconds))
        elif call.alone:
            call.future.set_exception(_worker_killed(ending))
        else:
            call.alone = True
            unanswered.appendleft(call)

    def kill(self) -> None:
        """End all processes at once; unanswered calls are cancelled or end with `Stopped`."""
        with self._changed:
            self._killed = self._closing = True
            waiting, self._calls = [*self._calls], deque()
            self._changed.notify_all()
        for call in waiting:
            if call.future.cancel() or call.future.done():
                continue
            call.future.set_exception(Stopped())
        for worker in tuple(self._alive):
            worker.process.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._changed:
            self._closing = True
            if cancel_futures:
                self._calls = deque(call for call in self._calls if not call.future.cancel())
            self._changed.notify_all()
        if wait:
            for thread in self._threads:
                thread.join()
            self._ended.set()
            if self._watcher is not None:
                self._watcher.join()


def _worker_killed(ending: str) -> FormatError:
    return RUN_WORKER_KILLED.failure(0, "/", reason=f"the worker process {ending} while it processed this file, twice")


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
