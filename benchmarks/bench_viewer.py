"""How much work it is until a file of 5 MB is up in the viewer: what the server computes, and what the page does."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from tests.viewer.browser import open_browser, why_no_browser
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
from keyframer.viewer import Viewer

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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "five.3ds"
        path.write_bytes(five_megabytes())
        print(f"{path.stat().st_size / 1e6:.1f} MB, {OBJECTS} objects, {2 * OBJECTS * KEYS} keys")
        (file,) = viewed(path)
        begin = time.process_time()
        file.scene()
        described = time.process_time()
        model = file.model()
        done = time.process_time()
        print(f"server: scene, places, issues {described - begin:.2f} s, GLB {done - described:.2f} s of work")
        print(f"        {len(file.scene()) / 1e3:.0f} kB of JSON, {len(model or b'') / 1e6:.1f} MB of GLB")
        reason = why_no_browser()
        if reason:
            print(f"page: {reason}")
            return
        viewer = Viewer([file])
        with open_browser() as browser:
            page = browser.new_page()
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            page.goto(viewer.url)
            page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
            found = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
            total, scripts = found["TaskDuration"], found["ScriptDuration"]
            print(f"page: {total:.2f} s of work of the main thread in all, {scripts:.2f} s of it in scripts")
        viewer.close()


if __name__ == "__main__":
    main()
