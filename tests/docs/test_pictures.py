"""The pictures of the documentation exist, are shown, and show only the examples."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "tools" / "make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_small_and_made_by_a_command() -> None:
    commands = maker().COMMANDS
    assert {path.name for path in PICTURES.iterdir()} >= set(commands)
    for name, words in commands.items():
        assert words[1] in ("examples/windmill.3ds", "examples/stage.mvr")
        assert (PICTURES / name).stat().st_size < 200_000


def test_every_picture_is_shown_on_a_page() -> None:
    pages = [(ROOT / "docs" / name).read_text("utf-8") for name in ("seeing.md", "stage.md")]
    shown = {name for page in pages for name in re.findall(r"\]\(pictures/([^)]+)\)", page)}
    assert shown == set(maker().COMMANDS)


def test_vector_pictures_are_up_to_date(tmp_path: Path) -> None:
    """They contain no pixels, so they do not depend on the versions of numpy and Pillow."""
    from keyframer.cli import main

    for name, words in maker().COMMANDS.items():
        if name.endswith(".svg") and "EDITED" not in words:
            arguments = [str(ROOT / word) if word == "examples/windmill.3ds" else word for word in words]
            assert main([*arguments, str(tmp_path / name), "-q"]) == 0
            assert (tmp_path / name).read_bytes() == (PICTURES / name).read_bytes(), "run make pictures"
