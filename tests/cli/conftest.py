from __future__ import annotations

import pytest

from tests.cli.running import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)
