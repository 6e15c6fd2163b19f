"""Hold workers at a certain file, and apply time limits only to workers that hang, however busy the machine is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keyframer.batch.local_executor import WorkerHandle
from tests.waiting import wait_for

_PATCH = Path(__file__).with_name("gate")


class Gate:
    """Holds workers of commands started with ``environment`` at each file named ``first`` or later in order of
    names."""

    def __init__(self, folder: Path, first: str) -> None:
        folder.mkdir()
        self._folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(_PATCH), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "KEYFRAMER_GATE": str(folder),
            "KEYFRAMER_GATE_FROM": first,
        }

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Hold the workers that this process starts from now on."""
        monkeypatch.syspath_prepend(_PATCH)
        for name in ("KEYFRAMER_GATE", "KEYFRAMER_GATE_FROM"):
            monkeypatch.setenv(name, self.environment[name])

    def calls_until_held(self, worker: WorkerHandle) -> int | None:
        """Return the number of calls that a held worker has begun; None for others."""
        return read_count(self._folder / f"held-{worker.process.pid}")

    def wait_for_workers(self, count: int) -> None:
        """Wait until ``count`` workers are held at the gate."""
        wait_for(lambda: len(list(self._folder.glob("held-*"))) >= count)

    def open(self) -> None:
        (self._folder / "open").touch()


def read_count(path: Path) -> int | None:
    """Return the number in a file; None if there is none yet."""
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def apply_time_limit_only_if_hanging(
    monkeypatch: pytest.MonkeyPatch, calls_until_hanging: Callable[[WorkerHandle], int | None]
) -> None:
    """Check the time limit of a worker only if it hangs and the message of that call has been read: on a busy machine,
    a limit of one second cannot end a call that works.

    ``calls_until_hanging`` returns the number of calls that a hanging worker has begun, and None for others.
    """
    usual = WorkerHandle.kill_if_late

    def kill_if_hanging_and_late(worker: WorkerHandle) -> None:
        # a deadline is set before each answer and with each message that a call was begun
        begun = (worker._serial - 1 + worker.begun) // 2
        if begun == calls_until_hanging(worker):
            usual(worker)

    monkeypatch.setattr(WorkerHandle, "kill_if_late", kill_if_hanging_and_late)
