"""An executor for one machine: a call that crashes, hangs or uses too much memory fails alone.

``concurrent.futures.ProcessPoolExecutor`` loses the whole pool with one dead process. Here each worker process has a
thread that sends it a portion of calls and collects the answers one by one. When a process dies, its answers stay
valid, the current call is repeated once, alone in a new process, and the other calls return to the queue. A call that
kills its process twice fails; a call that exceeds the time limit fails at once.

Processes are forked by the fork server of ``multiprocessing``, which has loaded all modules (`preloaded`), or spawned
where there is none.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from time import monotonic, sleep
from types import ModuleType
from typing import Any

from keyframer.batch.job import MEMORY, SECONDS
from keyframer.catalogue import LIMIT_TIME, RUN_WORKER_KILLED

METHOD = "forkserver" if sys.platform.startswith("linux") and hasattr(os, "fork") else "spawn"
"""macOS has fork, but its system libraries do not support it"""
_PRELOADED = "keyframer.batch.preloaded"
_MOST_CALLS = 200
"""maximum number of calls sent to a worker at once"""
_PORTION_SECONDS = 0.25
"""seconds that the calls sent to a worker at once should take, so that little work is lost if everything is killed"""


class Stopped(Exception):
    """The executor was stopped before the call was answered."""


class _Call:
    """A submitted call: its payload and its future."""

    def __init__(self, payload: tuple[Any, ...]) -> None:
        self.payload = payload
        self.future: Future[Any] = Future()
        self.is_retry = False
        """whether the call may have killed a process and is repeated alone in a new process"""


class LocalExecutor(Executor):
    """A ``concurrent.futures`` executor with a time limit for each call and a memory limit for each process.

    A call that exceeds the time limit ends with a `FormatError` LIMIT_TIME, one that kills its process with
    RUN_WORKER_KILLED. Exceeding the memory limit (address space, POSIX only) raises MemoryError inside the call.
    """

    files_per_task = 1
    """tells `run` to submit file by file: this executor groups calls itself"""

    def __init__(
        self,
        workers: int | None = None,
        *,
        seconds: float | None = SECONDS,
        memory: int | None = MEMORY,
        modules: Sequence[str] = (),
    ) -> None:
        """``modules`` are loaded by the fork server, once for all workers, if it is not running yet."""
        self.workers = workers or available_cores()
        self.seconds = seconds
        self.memory = memory
        self._modules = modules
        self._calls: deque[_Call] = deque()
        self._changed = threading.Condition()
        self._alive: set[Worker] = set()
        self._threads: list[threading.Thread] = []
        self._at_work = 0
        self._closing = self._killed = False
        self._pace = 0.05
        """average seconds per call"""

    def start(self) -> None:
        """Start the fork server, so that it loads modules while the caller prepares calls."""
        if METHOD == "forkserver":
            from multiprocessing.forkserver import ensure_running, set_forkserver_preload

            set_forkserver_preload([_PRELOADED])
            with _starting(self._modules):
                ensure_running()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        call = _Call((function, arguments, options))
        with self._changed:
            if self._closing:
                raise RuntimeError("the executor has been shut down")
            if not self._threads:
                self.start()
            self._calls.append(call)
            if len(self._threads) < self.workers:
                self._threads.append(threading.Thread(target=self._work, daemon=True))
                self._threads[-1].start()
            self._changed.notify()
        return call.future

    def _work(self) -> None:
        """Feed a worker process with portions of calls until there are no more; the work of a thread."""
        worker: Worker | None = None
        while calls := self._take():
            unanswered = deque(calls)
            try:
                if worker is None or calls[0].is_retry:
                    self._end(worker)
                    worker = None  # starting another may fail
                    worker = self._new_worker()
                continues = self._run(worker, unanswered)
            except Exception as error:  # the process could not be started, or a call cannot be sent
                continues = False
                while unanswered:
                    unanswered.popleft().future.set_exception(Stopped() if self._killed else error)
            if not continues:
                self._end(worker)
                worker = None
            with self._changed:
                self._at_work -= 1
                self._calls.extendleft(reversed(unanswered))
                self._changed.notify_all()
        self._end(worker)

    def _take(self) -> list[_Call]:
        """Wait for calls and return the next portion; empty if the executor is closing and all calls are done.

        A portion takes about `_PORTION_SECONDS` and leaves some calls for other workers; a retry comes alone.
        """
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._calls or (self._closing and not self._at_work))
                if not self._calls:
                    self._changed.notify_all()
                    return []
                most = min(_MOST_CALLS, int(_PORTION_SECONDS / self._pace), len(self._calls) // (2 * self.workers))
                taken: list[_Call] = []
                while self._calls and len(taken) < max(most, 1) and not (taken and self._calls[0].is_retry):
                    call = self._calls.popleft()
                    if call.future.running() or call.future.set_running_or_notify_cancel():
                        taken.append(call)
                        if call.is_retry:
                            break
                if taken:
                    self._at_work += 1
                    return taken

    def _new_worker(self) -> Worker:
        worker = Worker(self.memory)
        self._alive.add(worker)
        if self._killed:
            worker.process.kill()
        return worker

    def _run(self, worker: Worker, unanswered: deque[_Call]) -> bool:
        """Have a portion of calls executed; returns whether the process continues. Answered calls are removed."""
        worker.send([call.payload for call in unanswered])
        while unanswered:
            try:
                worker.wait_until_ready()  # the time limit does not include the start of the process
                start = monotonic()
                if not worker.has_answer(self.seconds):
                    late = LIMIT_TIME.failure(0, "/", seconds=self.seconds)
                    unanswered.popleft().future.set_exception(late)
                    return False
                succeeded, value, retires = worker.pipe.recv()
            except Exception:  # the process has died; an incomplete answer can raise anything
                self._handle_death(worker, unanswered)
                return False
            self._pace = 0.9 * self._pace + 0.1 * (monotonic() - start)
            future = unanswered.popleft().future
            if succeeded:
                future.set_result(value)
            else:
                future.set_exception(value)
            if retires:
                return False
        return True

    def _handle_death(self, worker: Worker, unanswered: deque[_Call]) -> None:
        """Handle a dead process: the first unanswered call is responsible and is repeated once."""
        worker.end()
        if self._killed:
            while unanswered:
                unanswered.popleft().future.set_exception(Stopped())
        elif unanswered[0].is_retry:
            reason = f"the worker process {worker.ending} while it processed this file, twice"
            unanswered.popleft().future.set_exception(RUN_WORKER_KILLED.failure(0, "/", reason=reason))
        else:
            unanswered[0].is_retry = True

    def _end(self, worker: Worker | None) -> None:
        if worker is not None:
            self._alive.discard(worker)
            worker.end()

    def kill(self) -> None:
        """End all processes at once; unanswered calls are cancelled or end with `Stopped`."""
        with self._changed:
            self._killed = self._closing = True
            waiting, self._calls = [*self._calls], deque()
            self._changed.notify_all()
        for call in waiting:
            if not call.future.cancel() and not call.future.done():
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


class Worker:
    """A worker process and the pipe to it."""

    def __init__(self, memory: int | None) -> None:
        context: Any = multiprocessing.get_context(METHOD)
        self._is_ready = False
        for pause in _START_PAUSES:
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs, memory), daemon=True)
            try:
                with _starting(), theirs:
                    self.process.start()
                return
            except BaseException as error:
                self.pipe.close()
                is_server_gone = isinstance(error, EOFError | ConnectionError | FileNotFoundError)
                if not is_server_gone or pause is None:
                    raise
                sleep(pause)

    def wait_until_ready(self) -> None:
        """Wait for the first message of a new process."""
        if not self._is_ready:
            self.pipe.recv()
            self._is_ready = True

    def send(self, value: object) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it is dead: waiting for its answer will show that
            self.pipe.send(value)

    def has_answer(self, seconds: float | None) -> bool:
        """Wait for an answer, or the end of the process; returns False if the time is over."""
        return bool(self.pipe.poll(seconds))

    def end(self) -> None:
        """End the process at once, if it is running."""
        self.process.kill()
        self.process.join()
        self.pipe.close()

    @property
    def ending(self) -> str:
        """How the process ended, in words."""
        code = self.process.exitcode or 0
        if code >= 0:
            return f"ended with exit code {code}"
        known = {number.value: number.name for number in signal.Signals}
        return f"was killed by {known.get(-code, f'signal {-code}')}"


_STARTING = threading.Lock()
_START_PAUSES = (0.02, 0.1, 0.5, 2.0, None)
"""seconds before each new try to start a worker: a fork server that is being killed is replaced only when it is gone"""


@contextmanager
def _starting(modules: Sequence[str] = ()) -> Iterator[None]:
    """Prepare the start of a process. It uses one thread for numbers, has the module path of this process and imports
    nothing from the working folder: an archive may contain a ``pickle.py``. It does not run the main module again, as
    ``multiprocessing`` would, so that scripts work without a guard. It may be started by a daemon, as workers of
    clusters are. It inherits that SIGINT is blocked: Ctrl-C would end its imports with a traceback.
    """
    environment = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment |= {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    environment |= {"KEYFRAMER_PRELOAD": " ".join(modules)}
    config = multiprocessing.process.current_process()._config  # type: ignore[attr-defined]
    with _STARTING:
        before = {name: os.environ.get(name) for name in environment}
        main, is_daemon = sys.modules["__main__"], config.pop("daemon", None)
        blocked = _block_interrupt()
        try:
            os.environ.update(environment)
            sys.modules["__main__"] = ModuleType("__main__")
            yield
        finally:
            if blocked is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            sys.modules["__main__"] = main
            if is_daemon is not None:
                config["daemon"] = is_daemon
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _block_interrupt() -> set[Any] | None:
    """Block SIGINT in this thread, and in processes that it starts; returns the signals that were blocked before, None
    on systems without. In this process Ctrl-C reaches another thread or waits."""
    if os.name != "posix":
        return None
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # starting it later would unblock SIGINT
    return signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def _serve(pipe: Connection[Any, Any], memory: int | None) -> None:
    """Execute calls in a worker process until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides when to stop
    threading.Thread(target=_end_with_coordinator, daemon=True).start()
    if os.name == "posix":
        os.setsid()  # Linux divides a busy processor among sessions, not among processes
    if not os.environ.get("KEYFRAMER_DEBUG"):
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    _limit_memory(memory)
    gc.set_threshold(100_000, 50, 100)  # 4 % faster: docs/decisions/0010-lazy-fields-and-garbage-collection.md
    first_size = 0
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the coordinator has ended
        pipe.send(None)
        while True:
            for function, arguments, options in pipe.recv():
                try:
                    succeeded, value = True, function(*arguments, **options)
                except Exception as error:
                    succeeded, value = False, error
                size = _address_space()
                first_size = first_size or size
                retires = memory is not None and size - first_size > (memory - first_size) / 4
                _answer(pipe, succeeded, value, retires)
                if retires:  # memory that this file did not release would be missing for the next file
                    return


def _answer(pipe: Connection[Any, Any], succeeded: bool, value: Any, retires: bool) -> None:
    try:
        pipe.send((succeeded, value, retires))
    except OSError:
        raise
    except Exception as error:
        reason = f"the result cannot be sent: {type(error).__name__}: {error}"
        pipe.send((False, RuntimeError(reason), retires))


def _end_with_coordinator() -> None:
    """End this process when the coordinator ends for any reason, so that ``kill -9`` leaves no workers."""
    coordinator = multiprocessing.parent_process()
    if coordinator is not None:
        wait([coordinator.sentinel])
        os._exit(0)


def _limit_memory(memory: int | None) -> None:
    if memory is not None:
        with suppress(ImportError, ValueError, OSError):  # not POSIX, or there is a lower limit already
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _address_space() -> int:
    """Return the bytes of address space in use; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as stream:
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
