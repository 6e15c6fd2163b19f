"""Files that once broke something, found by fuzzing (``make fuzz``) and kept: NUMBER.KIND.json.

Each is a finding as the fuzzer wrote it: the file and its companions. All operations of the fuzzer run on it again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyframer.formats import FORMATS
from tests.fuzz.mutating import Input
from tests.fuzz.operations import OPERATIONS, Place
from tests.fuzz.running import Clock, Limits, examine, unpacked
from tests.hostile.law import obey

CRASHERS = sorted(Path(__file__).parent.glob("*.json"))
DOCUMENTS = {known.name for known in FORMATS}


@pytest.mark.parametrize("path", CRASHERS, ids=lambda path: path.name)
def test_crasher_breaks_no_operation(path: Path, tmp_path: Path) -> None:
    seed = unpacked(json.loads(path.read_text("utf-8")))
    if seed.kind in DOCUMENTS:
        obey(seed.data, seed.kind)
    place = Place(tmp_path / "place", Input(seed.kind, seed.suffix, seed.data, seed.companions))
    clock = Clock(Limits())
    with clock.watching_time():
        broken = [examine(operation, place, clock)[1] for operation in OPERATIONS if operation.suits(seed.kind)]
    assert [finding for finding in broken if finding is not None] == []


def test_numbers_are_unique() -> None:
    numbers = [path.name[:4] for path in CRASHERS]
    assert len(set(numbers)) == len(numbers)
