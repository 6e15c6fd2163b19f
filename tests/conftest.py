"""Skips slow tests outside ``make slow``, and has the fixtures `run` and `browser`.

``@pytest.mark.slow`` is for tests that repeat a quicker test with more files, more values or larger sizes:
``make slow`` runs them, ``make test`` skips them with this reason. A test that does more in ``make slow``
reads `tests.slow.SLOW`. ``make quick`` runs the folders of `QUICK` in the Makefile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.slow import SLOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.running import Run
    from tests.viewer.browser import Browser

settings.register_profile("keyframer", deadline=None, derandomize=not SLOW)
"""``make test`` draws the same examples in every run, so that none fails by chance; ``make slow`` draws new ones"""
settings.load_profile("keyframer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not SLOW:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: only make slow runs it"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: ``run("identify", path)``."""
    from tests.cli.running import Run

    return Run(capsys)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    from tests.viewer.browser import open_browser, why_no_browser

    reason = why_no_browser()
    if reason:
        pytest.skip(reason)
    with open_browser() as running:
        yield running
