"""Saving one changed number of a file of about 200 KB into its original, against writing the same scene anew.

Timed is making the document of the scene and its bytes, in time of this process. Written anew is the same scene without
the document that it came from. Reading the file and changing the number is not timed.
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


def made(nodes: int) -> Scene:
    """Return animated nodes that each have a mesh of 150 vertices."""
    chance = np.random.default_rng(20)
    scene = Scene(space=Space("z"), clips=[Clip(end=59.0)])
    for number in range(nodes):
        points = chance.normal(size=(150, 3)).round(3)
        corners = chance.integers(0, 150, (200, 3))
        scene.meshes.append(Mesh(f"mesh{number}", points, corners, uv=chance.random((150, 2)).round(3)))
        scene.nodes.append(Node(f"node{number}", NodeKind.OBJECT, mesh=number))
        places = chance.normal(size=(20, 3)).round(3)
        times = np.arange(20) * 3.0
        scene.clips[0].channels.append(Channel(number, Track("position", times, places, Interpolation.TCB)))
    return scene


def of_size(format: Format) -> Scene:
    """Return a scene of this format with an original of about `SIZE` bytes."""
    nodes = 4
    while True:
        written = format.from_scene(made(nodes))
        data = keyframer.encode(written.document)
        if len(data) >= SIZE * 0.9:
            print(f"{format.name}: {len(data):,} bytes, {nodes} nodes")
            return scene_of(keyframer.decode(data, format=format.name), dict(written.reading))
        nodes = max(nodes + 1, int(nodes * SIZE / len(data)))


def change_a_number(scene: Scene) -> None:
    track = scene.clips[0].channels[0].track
    values = track.values.copy()
    values[7] += 0.125
    track.values = values


def saved(format: Format, scene: Scene) -> bytes:
    """Save as `keyframer.save` does, without the file."""
    written = format.from_scene(scene)
    return keyframer.encode(written.document) if written.data is None else written.data


def best(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    headline("One changed number saved into an original of 200 KB, against writing the scene anew")
    print(f"{machine_load()}\n")
    for format in FORMATS:
        scene = of_size(format)
        change_a_number(scene)
        anew = replace(scene, origin=None)
        works = {
            "saved": lambda scene=scene, format=format: saved(format, scene),
            "anew": lambda scene=anew, format=format: saved(format, scene),
        }
        report = format.from_scene(scene).report
        assert not [loss for loss in report if "a new file was written" in loss.detail], [str(loss) for loss in report]
        rounds = [{name: best(work) for name, work in works.items()} for _ in range(ROUNDS)]  # one after the other
        times = {name: min(each[name] for each in rounds) for name in works}
        ratio = times["saved"] / times["anew"]
        print(
            f"  saved {times['saved'] * 1e3:8.1f} ms   anew {times['anew'] * 1e3:8.1f} ms   "
            f"{against_goal(ratio, GOAL, at_most=True)}"
        )


if __name__ == "__main__":
    main()
