"""Workers that stop at a certain file until they are told to go on, and workers that are late only where they hang:
nothing here depends on how busy the machine is."""

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
    """Workers of a command that is started with ``environment`` wait at each file whose name is ``first`` or comes
    after it."""

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
        """Until so many of them stand at the gate."""
        wait_for(lambda: len(list(self._folder.glob("held-*"))) >= count)

    def open(self) -> None:
        (self._folder / "open").touch()


def late_only_if(monkeypatch: pytest.MonkeyPatch, hangs: Callable[[WorkerHandle], bool]) -> None:
    """Look at the time limit of a worker only while it hangs and everything it said has been heard: a limit of a
    second cannot strike a sound call of a machine that is busy."""
    usual = WorkerHandle.kill_if_late

    def look(worker: WorkerHandle) -> None:
        unread, _, _ = select.select([worker.process.answers], [], [], 0)
        if hangs(worker) and worker.begun == 1 and not unread:
            usual(worker)

    monkeypatch.setattr(WorkerHandle, "kill_if_late", look)
