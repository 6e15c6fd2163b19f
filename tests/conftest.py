"""What holds for all tests: nothing is judged by the clock, machines are shared, and what is slow says so.

``@pytest.mark.slow`` is for tests that repeat what a quicker test shows already (more files, more values, larger
sizes): ``make slow`` runs them, ``make test`` skips them with that reason. A test that does more in ``make slow``
asks `tests.slow.SLOW`. ``make quick`` runs the folders of `QUICK` in the Makefile.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.slow import SLOW

settings.register_profile("keyframer", deadline=None)
settings.load_profile("keyframer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not SLOW:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: only make slow runs it"))
