"""Hold workers at a certain file, and apply time limits only to workers that hang, however busy the machine is."""

from __future__ import annotations

import os
import select
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

    def holds(self, process: int) -> bool:
        return (self._folder / f"held-{process}").exists()

    def wait_for_workers(self, count: int) -> None:
        """Wait until ``count`` workers are held at the gate."""
        wait_for(lambda: len(list(self._folder.glob("held-*"))) >= count)

    def open(self) -> None:
        (self._folder / "open").touch()


def apply_time_limit_only_if(monkeypatch: pytest.MonkeyPatch, hangs: Callable[[WorkerHandle], bool]) -> None:
    """Check the time limit of a worker only if it hangs and all its answers have been read: on a busy machine, a
    limit of one second cannot end a call that works."""
    usual = WorkerHandle.kill_if_late

    def look(worker: WorkerHandle) -> None:
        unread, _, _ = select.select([worker.process.answers], [], [], 0)
        if hangs(worker) and worker.begun == 1 and not unread:
            usual(worker)

    monkeypatch.setattr(WorkerHandle, "kill_if_late", look)
