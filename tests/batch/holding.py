"""Workers that stop at a certain file until they are told to go on: whatever is done meanwhile is done at work."""

from __future__ import annotations

import os
from pathlib import Path

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

    def wait_for_workers(self, count: int) -> None:
        """Until so many of them stand at the gate."""
        wait_for(lambda: len(list(self._folder.glob("held-*"))) >= count)

    def open(self) -> None:
        (self._folder / "open").touch()
