"""Saving one changed number into an original of about 200 KB, compared with writing the scene to a new file.

The processor time includes making the document and its bytes, but not reading the file and changing the number. The new
file is made from the same scene without its original document.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from benchmarks._timing import against_goal, headline, machine_load

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats import FORMATS, Format
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import Channel, Clip, Mesh, Node, NodeKind, Scene, Space

GOAL = 2.5
SIZE = 200_000
ROUNDS = 7


def generated_scene(nodes: int) -> Scene:
    """Return a scene of animated nodes, each with a mesh of 150 vertices."""
    rng = np.random.default_rng(20)
    scene = Scene(space=Space("z"), clips=[Clip(end=59.0)])
    for number in range(nodes):
        points = rng.normal(size=(150, 3)).round(3)
        corners = rng.integers(0, 150, (200, 3))
        scene.meshes.append(Mesh(f"mesh{number}", points, corners, uv=rng.random((150, 2)).round(3)))
        scene.nodes.append(Node(f"node{number}", NodeKind.OBJECT, mesh=number))
        positions = rng.normal(size=(20, 3)).round(3)
        times = np.arange(20) * 3.0
        scene.clips[0].channels.append(Channel(number, Track("position", times, positions, Interpolation.TCB)))
    return scene


def scene_of_size(format: Format) -> Scene:
    """Return a scene that was read from a file of this format with about `SIZE` bytes."""
    nodes = 4
    while True:
        written = format.from_scene(generated_scene(nodes))
        data = keyframer.encode(written.document)
        if len(data) >= SIZE * 0.9:
            print(f"{format.name}: {len(data):,} bytes, {nodes} nodes")
            return scene_of(keyframer.decode(data, format=format.name), dict(written.reader_options))
        nodes = max(nodes + 1, int(nodes * SIZE / len(data)))


def change_a_number(scene: Scene) -> None:
    track = scene.clips[0].channels[0].track
    values = track.values.copy()
    values[7] += 0.125
    track.values = values


def saved(format: Format, scene: Scene) -> bytes:
    """Return the bytes that `keyframer.save` writes."""
    written = format.from_scene(scene)
    return keyframer.encode(written.document) if written.data is None else written.data


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    headline("One changed number saved into an original of 200 KB, compared with writing a new file")
    print(f"{machine_load()}\n")
    for format in FORMATS:
        scene = scene_of_size(format)
        change_a_number(scene)
        without_original = replace(scene, origin=None)
        works = {
            "merged": lambda scene=scene, format=format: saved(format, scene),
            "new file": lambda scene=without_original, format=format: saved(format, scene),
        }
        report = format.from_scene(scene).report
        assert not [loss for loss in report if "a new file was written" in loss.detail], [str(loss) for loss in report]
        rounds = [{name: seconds_of(work) for name, work in works.items()} for _ in range(ROUNDS)]
        times = {name: min(seconds[name] for seconds in rounds) for name in works}
        ratio = times["merged"] / times["new file"]
        print(
            f"  merged {times['merged'] * 1e3:8.1f} ms   new file {times['new file'] * 1e3:8.1f} ms   "
            f"{against_goal(ratio, GOAL, at_most=True)}"
        )


if __name__ == "__main__":
    main()
