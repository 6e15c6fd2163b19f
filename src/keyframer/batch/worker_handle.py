"""A worker process seen from its thread: sends calls, receives answers, and handles death and timeouts."""

from __future__ import annotations

import pickle
import signal
import threading
from contextlib import suppress
from time import monotonic
from typing import Any

from keyframer.batch.fork_server import Process
from keyframer.batch.worker import BEGUN


class WorkerHandle:
    """A process, what it was last heard to begin, and the moment when that has taken too long."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.fresh = True
        self.begun = 0
        """calls of the present handful that it began and has not answered"""
        self._lock = threading.Lock()
        self._serial = 0
        self._deadline: float | None = None
        self._expired = -1

    def send(self, value: object) -> None:
        with suppress(OSError):  # it is dead: reading its answer will tell
            self.process.calls.write(pickle.dumps(value))
            self.process.calls.flush()

    def answer(self, seconds: float | None) -> tuple[bool, Any, bool] | None:
        """The next answer; None if the process has died."""
        self._begin(seconds)
        try:
            while (message := pickle.load(self.process.answers)) is BEGUN:  # noqa: S301  # our own child
                self.begun += 1
                self._begin(seconds)
        except Exception:  # half an answer can raise anything
            return None
        finally:
            with self._lock:
                self._deadline = None
        self.begun -= 1
        self.fresh = False
        answer: tuple[bool, Any, bool] = message
        return answer

    def _begin(self, seconds: float | None) -> None:
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
        """End it at once, if it has not ended; how it ended, in words."""
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
