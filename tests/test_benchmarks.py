"""Every benchmark can be imported and started, and is listed in the documentation."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_can_be_imported_and_started(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.main)
    assert 'if __name__ == "__main__":' in (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "RESULTS.md"])
def test_pages_list_every_benchmark_and_no_other(page: str) -> None:
    text = (ROOT / "benchmarks" / page).read_text(encoding="utf-8")
    assert set(re.findall(r"\b(bench_\w+?)\b", text)) == set(BENCHMARKS)
