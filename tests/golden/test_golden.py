"""Golden files: every code that a file alone can cause has at least two small files, each with its exact report."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyframer
from keyframer.catalogue import CATALOGUE
from tests.golden.make import FOLDER, LIMITS, NOT_BY_A_FILE, WANTED, format_of, report_text

FILES = sorted(path for path in FOLDER.glob("*/*") if path.suffix != ".json")


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.name}" for path in FILES])
def test_report(path: Path) -> None:
    code = path.parent.name
    data = path.read_bytes()
    text = report_text((format_of(path), data), code)
    assert f'"{code}"' in text
    assert text == path.with_suffix(".json").read_text("utf-8"), (
        "run python -m tests.golden.make and read the difference"
    )


@pytest.mark.parametrize("code", [code for code in CATALOGUE if code not in NOT_BY_A_FILE])
def test_every_code_has_files(code: str) -> None:
    assert len([path for path in FILES if path.parent.name == code]) >= WANTED


def test_every_code_has_golden_files_or_a_reason() -> None:
    assert set(NOT_BY_A_FILE) <= set(CATALOGUE)
    assert {path.parent.name for path in FILES} == set(CATALOGUE) - set(NOT_BY_A_FILE)
    assert all(NOT_BY_A_FILE.values())
    assert set(LIMITS) <= set(CATALOGUE)


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.name}" for path in FILES])
def test_accepted_files_are_written_back(path: Path) -> None:
    data = path.read_bytes()
    try:
        document = keyframer.decode(data, format=format_of(path))
    except keyframer.FormatError:
        return
    assert keyframer.encode(document) == data
