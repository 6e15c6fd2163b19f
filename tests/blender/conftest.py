from __future__ import annotations

from pathlib import Path

import pytest

from tests.blender.outside import builder


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the zip of the extension."""
    built: Path = builder().build(tmp_path_factory.mktemp("extension"))
    return built
