"""Rounds of ``kill -9`` and resume; ``make batch-torture`` does a hundred."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "batch_torture.py"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("batch_torture", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_killed_batches_lose_no_files_and_leave_no_partial_ones() -> None:
    memory = "/dev/shm"  # a thousand syncs to a busy disk take longer than everything else
    place = memory if os.access(memory, os.W_OK) else None
    hits = 0
    for seed in range(20):  # on a busy machine a kill may come after the end: then another round follows
        more, wrong = tool().torture(2, 400, operation="identify", kills=1, seed=seed, place=place)
        assert wrong == []
        hits += more
        if hits >= 2:
            return
    raise AssertionError("no kill ever hit a running batch")
