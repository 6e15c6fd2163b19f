"""The worker process of `LocalExecutor`: reads calls from one pipe and answers on another.

The pipes are private to the process that started it, so unpickling is safe here. It announces each call before it
starts, so that the other side knows which call killed it.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

BEGUN = None
"""the message before each call; an answer is (success, value or exception, whether it is the last one)"""
AHEAD = 8
"""maximum number of answers that wait for the disk while further calls are executed"""
_FINISHERS = 3
"""threads that wait for the disk: 216 small files per second with one, 298 with two, 700 with four, on a journaling
file system
"""
_SWITCH_INTERVAL = 0.0005
"""the longest time in seconds that a thread waits for the interpreter after its output has been synced; with Python's
default of 0.005, workers had to wait for their outputs"""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class DeferredAnswer:
    """An answer that waits for something other than the processor: ``finish()`` returns it. The worker starts the next
    call meanwhile.
    """

    __slots__ = ("finish",)

    def __init__(self, finish: Callable[[], Any]) -> None:
        self.finish = finish


def main() -> None:
    """Run a worker that was started as a program: calls come from stdin, answers go to the original stdout."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not be taken for an answer
    ignore_interrupts()
    try:
        setup = pickle.load(sys.stdin.buffer)  # noqa: S301
        die_with_parent()
        sys.path[:] = setup["path"]
        serve(sys.stdin.buffer, answers, setup["memory"])
    except EOFError:
        pass  # the coordinator has ended
    with suppress(OSError):
        answers.close()


def serve(calls: IO[bytes], answers: IO[bytes], memory: int | None) -> None:
    """Execute calls until there are no more."""
    limit_memory(memory)
    sys.setswitchinterval(_SWITCH_INTERVAL)
    gc.set_threshold(
        100_000, 50, 100
    )  # saves 4 % of the time: docs/decisions/0010-lazy-fields-and-garbage-collection.md
    with suppress(EOFError, BrokenPipeError):  # the coordinator has ended
        _serve(calls, _Answers(answers), memory)


def _serve(calls: IO[bytes], answers: _Answers, memory: int | None) -> None:
    base = 0
    while True:
        for function, arguments, options in pickle.load(calls):  # noqa: S301
            answers.send(BEGUN)
            good = True
            try:
                value = function(*arguments, **options)
            except Exception as error:
                good, value = False, error
            size = _address_space()
            base = base or size
            retire = memory is not None and size - base > (memory - base) / 4
            answers.add(good, value, retire)
            if retire:  # memory that this file did not release would be missing for the next one
                answers.wait()
                return


class _Answer:
    """An answer that has not been sent."""

    __slots__ = ("good", "is_ready", "retire", "value")

    def __init__(self, good: bool, value: Any, retire: bool) -> None:
        self.good = good
        self.value = value
        self.retire = retire
        self.is_ready = not isinstance(value, DeferredAnswer)

    def finish(self) -> None:
        try:
            self.value = self.value.finish()
        except Exception as error:
            self.good, self.value = False, error


class _Answers:
    """Answers that have not been sent, in the order of the calls. Several wait for the disk at once, which is
    faster."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sending = threading.Lock()
        self._waiting: SimpleQueue[_Answer] = SimpleQueue()
        self._order: deque[_Answer] = deque()
        self._moving = threading.Lock()
        self._room = threading.Semaphore(AHEAD)
        self._threads: list[threading.Thread] = []

    def add(self, good: bool, value: Any, retire: bool) -> None:
        answer = _Answer(good, value, retire)
        self._room.acquire()
        with self._moving:
            self._order.append(answer)
        if answer.is_ready:
            self._send_finished()
            return
        if len(self._threads) < _FINISHERS:
            self._threads.append(threading.Thread(target=self._finish, daemon=True))
            self._threads[-1].start()
        self._waiting.put(answer)

    def wait(self) -> None:
        """Wait until all answers are sent."""
        for _ in range(AHEAD):
            self._room.acquire()

    def _finish(self) -> None:
        with suppress(OSError):  # the other side has ended
            while True:
                answer = self._waiting.get()
                answer.finish()
                answer.is_ready = True
                self._send_finished()

    def _send_finished(self) -> None:
        """Send all answers that have no unfinished ones before them."""
        with self._moving:
            while self._order and self._order[0].is_ready:
                answer = self._order.popleft()
                self.send((answer.good, answer.value, answer.retire))
                self._room.release()

    def send(self, message: Any) -> None:
        try:
            data = pickle.dumps(message)
        except Exception as error:
            reason = f"the result cannot be sent: {type(error).__name__}: {error}"
            data = pickle.dumps((False, RuntimeError(reason), message[2]))
        with self._sending:
            self._stream.write(data)
            self._stream.flush()


def ignore_interrupts() -> None:
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides when to stop


def limit_memory(memory: int | None) -> None:
    if memory is None:
        return
    with suppress(ImportError, ValueError, OSError):  # not POSIX, or there is a lower limit already
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _address_space() -> int:
    """Return the bytes of address space in use; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as stream:
            return int(stream.read().split()[0]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def die_with_parent(parent: int | None = None) -> None:
    """On Linux, end this process when the thread that started it ends, so that ``kill -9`` leaves no workers. Elsewhere
    a worker ends after the current file, when its pipe is closed. ``parent`` is the process that started this one, if
    known: it may have ended already.
    """
    if not sys.platform.startswith("linux"):
        return
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() == 1 or (parent is not None and os.getppid() != parent):
            os._exit(0)


if __name__ == "__main__":
    main()
