"""Hold workers at a certain file, and apply time limits only to workers that hang, however busy the machine is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keyframer.batch.local_executor import METHOD, Worker
from tests.waiting import wait_for

_PATCH = Path(__file__).with_name("gate")


class Gate:
    """Holds workers of commands started with ``environment`` at each file named ``first`` or later in order of
    names: before they begin or, with ``writing``, when they have written its output under a temporary name."""

    def __init__(self, folder: Path, first: str, *, writing: bool = False) -> None:
        folder.mkdir()
        self._folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(_PATCH), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "KEYFRAMER_GATE": str(folder),
            "KEYFRAMER_GATE_FROM": first,
            "KEYFRAMER_GATE_WRITING": "1" if writing else "",
        }

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Hold the workers that this process starts from now on, in a test with `own_fork_server`."""
        monkeypatch.syspath_prepend(_PATCH)
        for name in ("KEYFRAMER_GATE", "KEYFRAMER_GATE_FROM"):
            monkeypatch.setenv(name, self.environment[name])

    def holds(self, worker: Worker) -> bool:
        """Return whether a worker is held at the gate."""
        return (self._folder / f"held-{worker.process.pid}").exists()

    def wait_for_workers(self, count: int) -> None:
        """Wait until ``count`` workers are held at the gate."""
        wait_for(lambda: len(list(self._folder.glob("held-*"))) >= count)

    def open(self) -> None:
        (self._folder / "open").touch()


def apply_time_limit_only_if_hanging(monkeypatch: pytest.MonkeyPatch, hangs: Callable[[Worker], bool]) -> None:
    """Apply the time limit only to a worker that ``hangs``: on a busy machine, a limit of one second cannot end a call
    that works."""
    usual = Worker.has_answer

    def has_answer(worker: Worker, seconds: float | None) -> bool:
        while not hangs(worker):
            if usual(worker, 0.05):
                return True
        return usual(worker, seconds)

    monkeypatch.setattr(Worker, "has_answer", has_answer)


@pytest.fixture
def own_fork_server() -> Iterator[None]:
    """Have the workers of this test forked by a fork server of its own, which has the environment of the test."""
    stop_fork_server()
    yield
    stop_fork_server()


def stop_fork_server() -> None:
    if METHOD == "forkserver":
        from multiprocessing.forkserver import _forkserver

        _forkserver._stop()  # type: ignore[attr-defined]
