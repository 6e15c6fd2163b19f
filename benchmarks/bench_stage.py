"""Real shows in the viewer: the work until everything is made that the page asks for first.

The floor is the standard library alone: every member unpacked, and the description parsed into elements. Times are
processor time, the best of three rounds. Without the shared corpus the example of the project is taken.

Usage: python -m benchmarks.bench_stage
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

from benchmarks._timing import CORPUS_3DS, headline, row

from keyframer.exchange.opening import open_file
from keyframer.limits import Budget
from keyframer.viewer.viewed_file import LoadedFile, ViewedFile

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "stage.mvr"


def shows() -> list[Path]:
    return sorted((CORPUS_3DS.parent / "stage").glob("*.mvr")) or [EXAMPLE]


def best(work: Callable[[], object], rounds: int = 3) -> float:
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def unpacked(path: Path) -> None:
    with ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    ElementTree.fromstring(contents["GeneralSceneDescription.xml"])


def load(path: Path) -> LoadedFile:
    opened = open_file(path)
    return LoadedFile(opened, opened.scene(salvage=True))


def viewed(path: Path) -> None:
    """Compute everything that the page requests first: the tree with all issues, and the model."""
    file = ViewedFile(path.name, lambda: load(path), Budget(size=path.stat().st_size))
    file.scene()
    file.model()


def main() -> None:
    headline(f"Shows of stage lighting (load {os.getloadavg()[0]:.1f})")
    for path in shows():
        floor, loading, viewing = best(lambda: unpacked(path)), best(lambda: load(path)), best(lambda: viewed(path))  # noqa: B023
        print(path.name)
        row("unpack and parse, standard library", floor)
        row("load", loading, f"{loading / floor:.1f} x the floor")
        row("load, check, describe and export for the viewer", viewing, f"{viewing / floor:.1f} x the floor")


if __name__ == "__main__":
    main()
