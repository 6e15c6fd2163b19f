"""Loading real stage shows, and computing the tree, the issues and the model for the page of the viewer.

The lower bound is unpacking every member and parsing the description with the standard library. Times are processor
time, best of three rounds. Without the shared corpus, the example of the project is used.

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
    """Return the least processor time of several calls."""
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def unpack_and_parse(path: Path) -> None:
    with ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    ElementTree.fromstring(contents["GeneralSceneDescription.xml"])


def load(path: Path) -> LoadedFile:
    opened = open_file(path)
    return LoadedFile(opened, opened.scene(salvage=True))


def load_for_viewer(path: Path) -> None:
    """Compute most of what the page requests first: the tree with all issues, and the model."""
    file = ViewedFile(path.name, lambda: load(path), Budget(size=path.stat().st_size))
    file.scene()
    file.model()


def main() -> None:
    headline(f"Stage shows (load {os.getloadavg()[0]:.1f})")
    for path in shows():
        lower_bound = best(lambda: unpack_and_parse(path))  # noqa: B023
        loading = best(lambda: load(path))  # noqa: B023
        viewing = best(lambda: load_for_viewer(path))  # noqa: B023
        print(path.name)
        row("unpack and parse, standard library", lower_bound)
        row("load", loading, f"{loading / lower_bound:.1f} x the lower bound")
        row("load, check and export for the viewer", viewing, f"{viewing / lower_bound:.1f} x the lower bound")


if __name__ == "__main__":
    main()
