"""The paths of docs/architecture.md run through the modules that the page names, in that order."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import keyframer
from keyframer.batch import Job, perform
from keyframer.cli import main

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(keyframer.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WINDMILL = str(ROOT / "examples" / "windmill.3ds")
NAMED = re.compile(r"`([\w/]+(?:\.py|/))`")


def visited(journey: Callable[[Path], object], folder: Path) -> list[str]:
    """Return our modules in the order of their first call. The journey runs twice, so that imports do not count."""
    (folder / "first").mkdir()
    journey(folder / "first")
    modules: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(PACKAGE):
                modules.setdefault(path.relative_to(PACKAGE).as_posix())

    (folder / "again").mkdir()
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        journey(folder / "again")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(modules)


def edit_and_save(folder: Path) -> None:
    scene = keyframer.load(WINDMILL)
    scene.nodes[0].name = "Renamed"
    keyframer.save(scene, folder / "edited.3ds")


JOURNEYS: dict[str, list[Callable[[Path], object]]] = {
    "Bytes to pose": [lambda folder: keyframer.pose(keyframer.load(WINDMILL), frames=[10])],
    "From .3ds to .glb": [lambda folder: main(["convert", WINDMILL, str(folder / "a.glb"), "-q"])],
    "Edit and save": [edit_and_save],
    "A batch of files": [
        lambda folder: main(["batch", "convert", WINDMILL, "-o", str(folder / "out"), "-j", "1", "-q"]),
        lambda folder: perform(Job("convert", WINDMILL, str(folder / "a.glb"))),  # what the worker does
    ],
}


def test_every_journey_of_the_page_is_tested() -> None:
    assert re.findall(r"^## (.*)", PAGE, re.M) == list(JOURNEYS)


@pytest.mark.parametrize("name", JOURNEYS)
def test_journey_runs_through_the_modules_that_the_page_names(name: str, tmp_path: Path) -> None:
    section = PAGE.split(f"## {name}\n")[1].split("\n## ")[0]
    hops = re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.M)
    assert len(hops) == len(re.findall(r"^\d+\. ", section, re.M)) <= 10
    modules: list[str] = []
    for number, part in enumerate(JOURNEYS[name]):
        (tmp_path / str(number)).mkdir()
        modules += visited(part, tmp_path / str(number))
    left = iter(modules)
    for hop in hops:
        assert hop in left, f"{hop} comes not at all, or before another hop: {modules}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_named_module_exists(page: str) -> None:
    named = NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(named) > 3
    absent = [name for name in named if not any((top / name).exists() for top in (PACKAGE, PACKAGE.parent, ROOT))]
    assert not absent
