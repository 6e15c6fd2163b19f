"""A file of 5 MB opens in the page as in the benchmark, which has the timings (they are not tested)."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench_viewer import five_megabytes, measure

from tests.viewer.browser import Browser
from tests.viewer.opening import viewed


def test_file_of_five_megabytes_opens(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "five.3ds"
    path.write_bytes(five_megabytes())
    assert path.stat().st_size > 5_000_000
    (file,) = viewed(path)
    assert measure(file, browser).page is not None
