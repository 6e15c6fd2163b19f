"""Processor time until the viewer shows a file of 5 MB, in the server and in the page; and of exporting the page of a
file with thousands of short tracks, compared with loading that file.

Usage: python -m benchmarks.bench_viewer [--nodes N]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks._timing import machine_load, row
from tests.viewer.browser import Browser, open_browser, why_no_browser
from tests.viewer.opening import EXAMPLE, viewed

import keyframer
from keyframer.cli import main as run
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import (
    Editor,
    FaceArray,
    Keyframer,
    KeyframerHeader,
    Keys,
    Mesh,
    NamedObject,
    NodeHeader,
    NodeId,
    ObjectNode,
    PointArray,
    PositionTrack,
    RotationTrack,
    ScaleTrack,
)
from keyframer.viewer import ViewedFile, Viewer

SIDE = 100
OBJECTS = 18
KEYS = 100


def five_megabytes() -> bytes:
    """Return a file of about 5 MB: sheets of 100 x 100 vertices that move and rotate."""
    rng = np.random.default_rng(1)
    x, y = np.meshgrid(np.arange(SIDE, dtype="<f4"), np.arange(SIDE, dtype="<f4"))
    corner = (np.arange(SIDE - 1)[:, None] * SIDE + np.arange(SIDE - 1)).reshape(-1)
    faces = np.concatenate([corner[:, None] + [0, 1, SIDE], corner[:, None] + [1, SIDE + 1, SIDE]])
    faces = np.column_stack([faces, np.full(len(faces), 7)]).astype("<u2")
    objects: list[Chunk] = []
    nodes: list[Chunk] = []
    for number in range(OBJECTS):
        points = np.column_stack([x.reshape(-1), y.reshape(-1), rng.normal(size=x.size)]).astype("<f4")
        name = f"Sheet{number}".encode()
        objects.append(NamedObject(name, children=[Mesh(children=[PointArray(points), FaceArray(faces)])]))
        frames = np.arange(KEYS) * 3
        turns = np.column_stack([rng.uniform(-1, 1, KEYS), rng.normal(size=(KEYS, 3))])
        tracks: list[Chunk] = [
            PositionTrack(keys=Keys.make(frames, rng.normal(size=(KEYS, 3)) * 100, tension=rng.uniform(-1, 1, KEYS))),
            RotationTrack(keys=Keys.make(frames, turns)),
        ]
        nodes.append(ObjectNode(children=[NodeId(number), NodeHeader(name), *tracks]))
    return keyframer.encode(
        new_document(Editor(children=objects), Keyframer(children=[KeyframerHeader(length=300), *nodes]))
    )


@dataclass
class Work:
    """Seconds of processor time until a file is shown."""

    description: float
    export: float
    page: float | None
    """seconds of the main thread of the page; None without a browser"""
    scripts: float = 0.0

    @property
    def total(self) -> float:
        return self.description + self.export + (self.page or 0.0)


def measure(file: ViewedFile, browser: Browser | None) -> Work:
    """Return the processor time until a new file is shown."""
    begin = time.process_time()
    file.scene()
    described = time.process_time()
    file.model()
    end = time.process_time()
    work = Work(described - begin, end - described, None)
    if browser is not None:
        viewer = Viewer([file])
        page = browser.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(viewer.url)
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        work.page, work.scripts = metrics["TaskDuration"], metrics["ScriptDuration"]
        page.context.close()
        viewer.close()
    return work


def many_tracks(count: int, keys: int = 5) -> bytes:
    """Return a file with nodes in chains of ten that share one mesh, with position, rotation and scale keys."""
    rng = np.random.default_rng(2)
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], "<f4")
    faces = np.array([(0, 1, 2, 7), (0, 1, 3, 7), (0, 2, 3, 7), (1, 2, 3, 7)], "<u2")
    shape = NamedObject(b"Box", children=[Mesh(children=[PointArray(points), FaceArray(faces)])])
    frames = np.arange(keys) * 10
    nodes: list[Chunk] = []
    for number in range(count):
        turns = np.column_stack([rng.uniform(-1, 1, keys), rng.normal(size=(keys, 3))])
        tracks: list[Chunk] = [
            PositionTrack(keys=Keys.make(frames, rng.normal(size=(keys, 3)) * 10)),
            RotationTrack(keys=Keys.make(frames, turns)),
            ScaleTrack(keys=Keys.make(frames, rng.uniform(0.5, 1.5, (keys, 3)))),
        ]
        header = NodeHeader(b"Box", parent=number - 1 if number % 10 else -1)
        nodes.append(ObjectNode(children=[NodeId(number), header, *tracks]))
    timeline = KeyframerHeader(length=int(frames[-1]))
    return keyframer.encode(new_document(Editor(children=[shape]), Keyframer(children=[timeline, *nodes])))


def page_of_many_tracks(folder: Path, count: int) -> None:
    """Print the processor time of `view --export` for many animated nodes."""
    path = folder / "many.3ds"
    path.write_bytes(many_tracks(count))
    run(["view", str(EXAMPLE), "--export", str(folder / "warm.html"), "-f"])  # so that imports are not measured
    begin = time.process_time()
    keyframer.load(path)
    loaded = time.process_time()
    run(["view", str(path), "--export", str(folder / "many.html"), "-f"])
    exported = time.process_time() - loaded
    size = (folder / "many.html").stat().st_size
    print(f"{count} animated nodes, {3 * count} tracks, {machine_load()}")
    row("loading", loaded - begin)
    ratio = exported / (loaded - begin)
    goal = "met" if exported < 10.0 else "MISSED"
    row("view --export", exported, f"{ratio:.1f} x loading; {size / 1e6:.0f} MB; goal under 10 s: {goal}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=5_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page_of_many_tracks(Path(folder), options.nodes)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "five.3ds"
        path.write_bytes(five_megabytes())
        print(f"{path.stat().st_size / 1e6:.1f} MB, {OBJECTS} objects, {2 * OBJECTS * KEYS} keys, processor time")
        (file,) = viewed(path)
        reason = why_no_browser()
        work = measure(file, None if reason else stack.enter_context(open_browser()))
        print(f"server: scene, issues, locations {work.description:.2f} s, GLB {work.export:.2f} s")
        print(f"        {len(file.scene()) / 1e3:.0f} kB of JSON, {len(file.model() or b'') / 1e6:.1f} MB of GLB")
        if work.page is None:
            print(f"page: {reason}")
        else:
            print(f"page: {work.page:.2f} s in the main thread, {work.scripts:.2f} s of it in scripts")
            print(f"together {work.total:.2f} s, goal under 2 s: {'met' if work.total < 2.0 else 'MISSED'}")


if __name__ == "__main__":
    main()
