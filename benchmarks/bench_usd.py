"""USD export: time compared with our GLB export for many keys, and the peak memory for a large scene.

    python -m benchmarks.bench_usd [--no-memory]

The scene with many keys has 2,000 nodes in chains of ten, each with 500 keys of position and rotation. Times are
processor time, best of three alternating rounds. Goal for the memory: at most three times that of the scene.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks._timing import against_goal, headline, machine_load, row
from benchmarks.bench_gltf import CHILD, SCENE_MEGABYTES

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.scene import Channel, Clip, Node, Scene

NODES, KEYS, ROUNDS = 2_000, 500, 3


def many_keys() -> Scene:
    random = np.random.default_rng(1)
    nodes = [Node(f"node {number}", parent=number - 1 if number % 10 else None) for number in range(NODES)]
    times = np.arange(KEYS, dtype=np.float64)
    channels = []
    for number in range(NODES):
        positions = np.cumsum(random.normal(size=(KEYS, 3)), axis=0)
        angles = np.cumsum(random.normal(scale=0.05, size=KEYS))
        turns = np.stack([np.zeros(KEYS), np.zeros(KEYS), np.sin(angles / 2), np.cos(angles / 2)], axis=1)
        channels.append(Channel(number, Track("position", times, positions, Interpolation.LINEAR)))
        form = RotationForm.QUATERNION_ABSOLUTE
        channels.append(Channel(number, Track("rotation", times, turns, Interpolation.LINEAR, form=form)))
    return Scene(nodes, clips=[Clip("walk", channels, end=float(KEYS - 1))])


def compare(folder: Path) -> None:
    """Print the times of both exports of many keys."""
    scene = many_keys()
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name in ("keys.glb", "keys.usdz", "keys.usda"):
            begin = time.process_time()
            keyframer.save(scene, folder / name, overwrite=True)
            best[name] = min(best.get(name, 1e9), time.process_time() - begin)
    for name, seconds in best.items():
        size = (folder / name).stat().st_size / 1e6
        row(f"save {name}", seconds, f"{size:.0f} MB, {seconds / best['keys.glb']:.2f} times the time of GLB")


def memory(folder: Path) -> None:
    """Print the time and the peak memory of saving a large scene, each in a process of its own."""
    for name in ("large.glb", "large.usdz"):
        command = [sys.executable, "-c", CHILD, str(SCENE_MEGABYTES), str(folder / name)]
        size, peak, growth, elapsed = map(
            float, subprocess.run(command, capture_output=True, check=True).stdout.split()
        )
        row(f"save {name}: {(folder / name).stat().st_size / 1e6:.0f} MB", elapsed, f"{size / 1e6 / elapsed:.0f} MB/s")
        print(f"  peak memory {peak / 1e6:.0f} MB, including the scene: {against_goal(peak / size, 3.0, at_most=True)}")
        print(f"  the export added {growth / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-memory", action="store_true", help="leave out the large scene")
    arguments = parser.parse_args()
    headline(f"USD export, {machine_load()}")
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder))
        if not arguments.no_memory:
            memory(Path(folder))


if __name__ == "__main__":
    main()
