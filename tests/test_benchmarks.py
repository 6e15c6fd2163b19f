"""Every benchmark can be started: its imports are those of the tree as it is."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = sorted(path.stem for path in (ROOT / "benchmarks").glob("bench_*.py"))


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_imports_and_has_a_start(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.main)
    assert 'if __name__ == "__main__":' in (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "RESULTS.md"])
def test_pages_know_every_benchmark_and_no_other(page: str) -> None:
    text = (ROOT / "benchmarks" / page).read_text(encoding="utf-8")
    assert set(re.findall(r"\b(bench_\w+?)\b", text)) == set(BENCHMARKS)
