"""``make tests-of``: the tests of a module are found by its name and by imports."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tools.tests_of import MOST, nearest_tests

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module", "first"),
    [
        ("wire/cursor.py", "tests/wire/test_cursor.py"),
        ("scene/losses.py", "tests/scene/test_losses.py"),
        ("cli/convert.py", "tests/cli/test_convert.py"),
        ("formats/nodeanim/bridge/writing.py", "tests/formats/nodeanim/test_writing.py"),
    ],
)
def test_first_test_of_a_module(module: str, first: str) -> None:
    assert nearest_tests(ROOT / "src/keyframer" / module)[0].as_posix() == first


def test_modules_without_a_test_of_their_name_have_tests_that_import_them() -> None:
    found = [path.as_posix() for path in nearest_tests(ROOT / "src/keyframer/batch/ledger.py")]
    assert {"tests/batch/test_command.py", "tests/batch/test_resumable_run.py"} <= set(found)
    assert len(found) <= MOST


def test_every_module_has_tests() -> None:
    modules = sorted((ROOT / "src/keyframer").rglob("*.py"))
    for module in random.Random(1).sample(modules, 5):
        assert nearest_tests(module), module
