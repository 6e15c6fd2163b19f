"""Files that once broke something, found by fuzzing (``make fuzz``) and kept for ever: NUMBER.FORMAT.bin."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.hostile.law import obey

CRASHERS = sorted(Path(__file__).parent.glob("*.bin"))


@pytest.mark.parametrize("path", CRASHERS, ids=lambda path: path.name)
def test_crasher(path: Path) -> None:
    name = path.suffixes[0][1:]
    start = time.process_time()
    obey(path.read_bytes(), None if name == "any" else name)
    assert time.process_time() - start < 5


def test_numbers_are_used_once() -> None:
    numbers = [path.name[:4] for path in CRASHERS]
    assert len(set(numbers)) == len(numbers)
