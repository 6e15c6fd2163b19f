"""The worker process of `LocalExecutor`: reads calls from one pipe and answers on another.

Only the coordinator and the worker have access to the pipes, so unpickling is safe here. The worker announces each call
before it executes it, so that the executor knows which call killed the worker.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import IO, Any

BEGUN = None
"""the message before each call; an answer is (success, value or exception, whether the worker ends after it)"""
MOST_DEFERRED = 16
"""maximum number of answers that wait for the disk: waiting for all of them takes little longer than for one"""
_LONGEST_DELAY = 0.1
"""seconds after which answers are sent even if there are fewer than `MOST_DEFERRED`"""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class DeferredAnswer:
    """The answer to a call whose outputs may not be on the disk yet: ``sync()`` waits for them, then ``finish()``
    returns the value. Outputs of several calls are synced together.
    """

    __slots__ = ("finish", "sync")

    def __init__(self, sync: Callable[[], None], finish: Callable[[], Any]) -> None:
        self.sync = sync
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
    gc.set_threshold(
        100_000, 50, 100
    )  # saves 4 % of the time: docs/decisions/0010-lazy-fields-and-garbage-collection.md
    with suppress(EOFError, BrokenPipeError):  # the coordinator has ended
        _serve(calls, _Answers(answers), memory)


def _serve(calls: IO[bytes], answers: _Answers, memory: int | None) -> None:
    first_size = 0
    while True:
        for function, arguments, options in pickle.load(calls):  # noqa: S301
            answers.send(BEGUN)
            answers.flush()
            succeeded = True
            try:
                value = function(*arguments, **options)
            except Exception as error:
                succeeded, value = False, error
            size = _address_space()
            first_size = first_size or size
            retire = memory is not None and size - first_size > (memory - first_size) / 4
            answers.add(succeeded, value, retire)
            if retire:  # memory that this file did not release would be missing for the next file
                answers.finish()
                return
        answers.finish()


class _Answers:
    """Answers that have not been sent, in the order of the calls."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._waiting: list[tuple[bool, Any, bool]] = []
        self._since = 0.0

    def add(self, succeeded: bool, value: Any, retire: bool) -> None:
        """Add an answer; sends all answers if there are enough, or if the first has waited long enough."""
        if not self._waiting:
            self._since = monotonic()
        self._waiting.append((succeeded, value, retire))
        if len(self._waiting) >= MOST_DEFERRED or monotonic() - self._since > _LONGEST_DELAY:
            self.finish()

    def finish(self) -> None:
        """Wait until the outputs of all answers are on the disk, then send the answers."""
        for _, value, _ in self._waiting:
            if isinstance(value, DeferredAnswer):
                value.sync()
        for succeeded, value, retire in self._waiting:
            if isinstance(value, DeferredAnswer):
                try:
                    value = value.finish()
                except Exception as error:
                    succeeded, value = False, error
            self.send((succeeded, value, retire))
        self._waiting.clear()
        self.flush()

    def send(self, message: Any) -> None:
        try:
            data = pickle.dumps(message)
        except Exception as error:
            reason = f"the result cannot be sent: {type(error).__name__}: {error}"
            data = pickle.dumps((False, RuntimeError(reason), message[2]))
        self._stream.write(data)

    def flush(self) -> None:
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
    known: if it has ended already, this process ends at once.
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
