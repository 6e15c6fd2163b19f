"""The wrapper asks the library for names that exist. This needs no Blender, so it runs everywhere."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

MODULES = sorted((Path(__file__).parents[2] / "blender").glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_what_the_wrapper_imports_is_in_the_library(path: Path) -> None:
    wanted = [
        (node.module or "", name.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keyframer")
        for name in node.names
    ]
    missing = [f"{module}.{name}" for module, name in wanted if not hasattr(importlib.import_module(module), name)]
    assert not missing
