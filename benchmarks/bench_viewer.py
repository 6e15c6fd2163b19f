"""How much work it is until a file of 5 MB is up in the viewer: what the server computes, and what the page does."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.viewer.browser import Browser, open_browser, why_no_browser
from tests.viewer.opening import viewed

import keyframer
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
)
from keyframer.viewer import ViewedFile, Viewer

SIDE = 100
OBJECTS = 18
KEYS = 100


def five_megabytes() -> bytes:
    """Sheets of 100 x 100 vertices that wander and turn."""
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
    """Seconds of processor time."""

    described: float
    exported: float
    page: float | None
    """of the page's main thread; None where there is no browser"""
    scripts: float = 0.0

    @property
    def total(self) -> float:
        return self.described + self.exported + (self.page or 0.0)


def measure(file: ViewedFile, browser: Browser | None) -> Work:
    """What it takes until a file that nobody has looked at yet is up."""
    begin = time.process_time()
    file.scene()
    described = time.process_time()
    file.model()
    done = time.process_time()
    work = Work(described - begin, done - described, None)
    if browser is not None:
        viewer = Viewer([file])
        page = browser.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(viewer.url)
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        work.page, work.scripts = found["TaskDuration"], found["ScriptDuration"]
        page.context.close()
        viewer.close()
    return work


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "five.3ds"
        path.write_bytes(five_megabytes())
        print(f"{path.stat().st_size / 1e6:.1f} MB, {OBJECTS} objects, {2 * OBJECTS * KEYS} keys")
        (file,) = viewed(path)
        reason = why_no_browser()
        work = measure(file, None if reason else stack.enter_context(open_browser()))
        print(f"server: scene, places, issues {work.described:.2f} s, GLB {work.exported:.2f} s of work")
        print(f"        {len(file.scene()) / 1e3:.0f} kB of JSON, {len(file.model() or b'') / 1e6:.1f} MB of GLB")
        if work.page is None:
            print(f"page: {reason}")
        else:
            print(f"page: {work.page:.2f} s of work of the main thread in all, {work.scripts:.2f} s of it in scripts")


if __name__ == "__main__":
    main()
