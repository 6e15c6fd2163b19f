"""An executor for one machine in which a call that kills, hangs or eats memory costs only itself.

``concurrent.futures.ProcessPoolExecutor`` loses the whole pool with one dead process. Here each worker process has a
thread that feeds it a handful of calls at a time and collects answers one by one. When a process dies, what it had
answered stays answered, the call it was at is tried once more alone in a fresh process, and the rest goes on elsewhere;
a call that kills its process twice is the culprit.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any

from keyframer.batch.defaults import MEMORY, SECONDS
from keyframer.catalogue import LIMIT_TIME, RUN_WORKER_KILLED
from keyframer.errors import FormatError

_MOST = 200
"""calls given to a worker at once"""
_HANDFUL = 0.25
"""seconds that these should last, so that little is lost when everything is killed"""
_TICK = 0.1


class Stopped(Exception):
    """The executor was stopped before the call was answered."""


class _Call:
    __slots__ = ("alone", "future", "payload", "started")

    def __init__(self, payload: tuple[Any, ...]) -> None:
        self.payload = payload
        self.future: Future[Any] = Future()
        self.started = False
        self.alone = False
        """whether it is under suspicion: it gets a fresh process to itself"""


class _Worker:
    """A process, its pipes, and the moment when its present call has taken too long."""

    def __init__(self, memory: int | None) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from keyframer.batch.worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("KEYFRAMER_DEBUG") else subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=os.name == "posix",  # Ctrl-C is for the coordinator
        )
        self.lock = threading.Lock()
        self.fresh = True
        self._serial = 0
        self._deadline: float | None = None
        self._expired = 0
        self.send({"path": sys.path, "memory": memory})

    def send(self, value: object) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it is dead: reading its answer will tell
            self.process.stdin.write(pickle.dumps(value))
            self.process.stdin.flush()

    def answer(self, seconds: float | None) -> tuple[bool, Any, bool] | None:
        """The next answer; None if the process has died."""
        assert self.process.stdout is not None
        with self.lock:
            self._serial += 1
            self._deadline = None if seconds is None else time.monotonic() + seconds
        try:
            answer: tuple[bool, Any, bool] = pickle.load(self.process.stdout)  # noqa: S301  # our own child
        except Exception:  # half an answer can raise anything
            return None
        finally:
            with self.lock:
                self._deadline = None
        self.fresh = False
        return answer

    def kill_if_late(self) -> None:
        with self.lock:
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._expired = self._serial
                self.process.kill()

    @property
    def was_late(self) -> bool:
        return self._expired == self._serial

    def end(self) -> str:
        """Wait for the end of a dead process; how it ended, in words."""
        self.process.kill()
        code = self.process.wait()
        self._close()
        if code >= 0:
            return f"ended with exit code {code}"
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
        return f"was killed by signal {-code}"

    def close(self) -> None:
        """Let it end: no more calls will come."""
        self._close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


class LocalExecutor(Executor):
    """A ``concurrent.futures`` executor with a time limit for each call and a memory limit for each process.

    A call that breaks the time limit ends with a `FormatError` LIMIT_TIME, one that kills its process with
    RUN_WORKER_KILLED. Breaking the memory limit (address space, POSIX only) is a MemoryError inside the call.
    """

    files_per_task = 1
    """tells `run` to submit file by file: this executor makes the handfuls itself"""

    def __init__(
        self, workers: int | None = None, *, seconds: float | None = SECONDS, memory: int | None = MEMORY
    ) -> None:
        self.workers = workers or available_cores()
        self.seconds = seconds
        self.memory = memory
        self._calls: deque[_Call] = deque()
        self._changed = threading.Condition()
        self._alive: set[_Worker] = set()
        self._at_work = 0
        self._closing = False
        self._killed = False
        self._pace = 0.05
        self._threads: list[threading.Thread] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        call = _Call((function, arguments, options))
        with self._changed:
            if self._closing:
                raise RuntimeError("the executor has been shut down")
            self._calls.append(call)
            if len(self._threads) < self.workers:
                self._start_thread()
            self._changed.notify()
        return call.future

    def _start_thread(self) -> None:
        if not self._threads:
            threading.Thread(target=self._watch, name="keyframer-watch", daemon=True).start()
        thread = threading.Thread(target=self._serve, name=f"keyframer-{len(self._threads)}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch(self) -> None:
        while not (self._closing and not any(thread.is_alive() for thread in self._threads)):
            for worker in tuple(self._alive):
                worker.kill_if_late()
            time.sleep(_TICK)

    def _take(self) -> list[_Call]:
        """The next calls for one worker; none when all is done."""
        with self._changed:
            while True:
                while not self._calls:
                    if self._closing and not self._at_work:
                        self._changed.notify_all()
                        return []
                    self._changed.wait()
                if taken := self._handful():
                    self._at_work += 1
                    return taken

    def _handful(self) -> list[_Call]:
        """As many calls as take a moment, and not so many that others have nothing to do; a suspect comes alone."""
        most = max(1, min(_MOST, int(_HANDFUL / self._pace), len(self._calls) // (2 * self.workers)))
        taken: list[_Call] = []
        while self._calls and len(taken) < most and not (taken and self._calls[0].alone):
            call = self._calls.popleft()
            if call.started or call.future.set_running_or_notify_cancel():
                call.started = True
                taken.append(call)
                if call.alone:
                    break
        return taken

    def _done(self, left: Iterable[_Call]) -> None:
        """A worker's handful is over; what is left of it comes first."""
        with self._changed:
            self._at_work -= 1
            self._calls.extendleft(reversed([*left]))
            self._changed.notify_all()

    def _serve(self) -> None:
        worker: _Worker | None = None
        try:
            while calls := self._take():
                worker = self._feed(worker, calls)
        finally:
            if worker is not None:
                self._alive.discard(worker)
                worker.close()

    def _feed(self, worker: _Worker | None, calls: list[_Call]) -> _Worker | None:
        left = deque(calls)
        try:
            if worker is not None and calls[0].alone and not worker.fresh:
                self._alive.discard(worker)
                worker.close()
                worker = None
            if worker is None:
                worker = _Worker(self.memory)
                self._alive.add(worker)
                if self._killed:
                    worker.process.kill()
            worker.send([call.payload for call in left])
            while left:
                worker = self._one(worker, left)
                if worker is None:
                    break
        except Exception as error:  # the process could not even be started
            while left:
                left.popleft().future.set_exception(error)
            worker = None
        self._done(left)
        return worker

    def _one(self, worker: _Worker, left: deque[_Call]) -> _Worker | None:
        """Wait for the answer to the first of these calls; None if the process is gone."""
        start = time.monotonic()
        answer = worker.answer(self.seconds)
        call = left.popleft()
        if answer is None:
            self._alive.discard(worker)
            how = worker.end()
            if self._killed:
                for each in (call, *left):
                    each.future.set_exception(Stopped())
                left.clear()
            elif worker.was_late:
                call.future.set_exception(LIMIT_TIME.failure(0, "/", seconds=self.seconds))
            elif call.alone:
                call.future.set_exception(_killed(how))
            else:
                call.alone = True
                left.appendleft(call)
            return None
        self._pace = 0.9 * self._pace + 0.1 * (time.monotonic() - start)
        good, value, retire = answer
        if good:
            call.future.set_result(value)
        else:
            call.future.set_exception(value)
        if retire:
            self._alive.discard(worker)
            worker.close()
            return None
        return worker

    def kill(self) -> None:
        """End all processes at once; what is not answered ends with `Stopped`."""
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


def _killed(how: str) -> FormatError:
    return RUN_WORKER_KILLED.failure(0, "/", reason=f"the process that worked on it {how}, twice")


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
