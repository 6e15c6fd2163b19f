"""Programs of lib3ds that several tests compare with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracles.lib3ds import build


def _built(name: str, folders: pytest.TempPathFactory) -> Path:
    try:
        return build(folders.mktemp("lib3ds"), name)
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def lib3ds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built("evaluate", tmp_path_factory)


@pytest.fixture(scope="session")
def meshes_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built("meshes", tmp_path_factory)
