"""The worker process of `LocalExecutor`: reads calls from stdin, answers on what was its stdout.

Its peer is the process that started it, through pipes nobody else can open; that is why unpickling is no danger here.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not look like an answer
    calls = sys.stdin.buffer
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinator decides when to stop
    try:
        setup = pickle.load(calls)  # noqa: S301
        _die_with_parent()
        sys.path[:] = setup["path"]
        _limit_memory(setup["memory"])
        _serve(calls, answers, setup["memory"])
    except (EOFError, BrokenPipeError):
        pass  # the coordinator has gone
    with suppress(OSError):
        answers.close()


def _serve(calls: Any, answers: Any, memory: int | None) -> None:
    base = 0
    while True:
        for function, arguments, options in pickle.load(calls):  # noqa: S301
            try:
                answer: tuple[bool, Any] = (True, function(*arguments, **options))
            except Exception as error:
                answer = (False, error)
            size = _address_space()
            base = base or size
            retire = memory is not None and size - base > (memory - base) / 4
            answers.write(_pickled(answer, retire))
            answers.flush()
            if retire:  # what a file left behind must not be taken from the next one's share
                return


def _pickled(answer: tuple[bool, Any], retire: bool) -> bytes:
    try:
        return pickle.dumps((*answer, retire))
    except Exception as error:
        return pickle.dumps(
            (False, RuntimeError(f"the answer cannot be sent: {type(error).__name__}: {error}"), retire)
        )


def _limit_memory(memory: int | None) -> None:
    if memory is None:
        return
    with suppress(ImportError, ValueError, OSError):  # not POSIX, or a lower limit stands already
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _address_space() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


def _die_with_parent() -> None:
    """Linux only: be killed when the thread that started us ends, so that ``kill -9`` of it leaves nobody at work.

    Elsewhere a worker ends after the file at hand, when its pipe is closed.
    """
    if not sys.platform.startswith("linux"):
        return
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() == 1:  # it had gone already
            os._exit(0)


if __name__ == "__main__":
    main()
