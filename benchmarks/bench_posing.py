"""How fast whole animations are posed, against lib3ds 1.3 frame by frame in one process, as ratios of one run.

Usage, in the project's root: ``python -m benchmarks.bench_posing [--large]``. It needs gcc and Debian's lib3ds-dev; the
real files stand beside a checkout on the project's own machines. ``--large`` adds 2,000 nodes x 500 keys x 1,000 times
in a process of its own, whose peak memory is measured (a minute, some 2 GB).

Two figures for each file: with the rig compiled before (lib3ds too sets its tracks up while it reads), and for a plain
``keyframer.pose(scene, frames=...)`` that compiles it on the way. lib3ds is timed in C, evaluation only.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from benchmarks._timing import CORPUS_3DS, against_goal, best_of, headline, row
from tests.oracles.lib3ds import build

import keyframer
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.document import new_document
from keyframer.posing import Rig
from keyframer.scene import Scene
from keyframer.wire.key_table import Keys

MANY_NODES, MANY_KEYS = 2_000, 500
LARGEST_GB = 3.0


def animated_files(least_nodes: int = 20) -> list[Path]:
    """Return real files with a track of two keys or more, and this many nodes."""
    found = []
    for path in sorted(CORPUS_3DS.glob("*")):
        if path.suffix.lower() == ".3ds":
            scene = keyframer.load(path, salvage=True)
            keys = [len(channel.track.times) for clip in scene.clips for channel in clip.channels]
            if max(keys, default=0) > 1 and len(scene.nodes) >= least_nodes:
                found.append(path)
    return found


def made_file(nodes: int, keys: int, seed: int = 3, *, tcb: bool = False) -> bytes:
    """Make nodes in a shallow tree, each with position, rotation and scale keys on every second frame.

    With ``tcb`` each key has tension, continuity and bias; else it has none of them.
    """
    rng = np.random.default_rng(seed)
    times = 2 * np.arange(keys)
    names = ("tension", "continuity", "bias") if tcb else ()
    shapes = {name: rng.uniform(-1, 1, keys) for name in names}
    children: list[r.Chunk] = [r.KeyframerHeader(5, b"", int(times[-1])), r.Frames(0, int(times[-1]))]
    for number in range(nodes):
        turns = np.column_stack([rng.uniform(0, 1, keys), rng.normal(size=(keys, 3))])
        children.append(
            r.ObjectNode(
                children=[
                    r.NodeId(number),
                    r.NodeHeader(f"N{number:05}".encode(), 0x4000, 0, -1 if number < 10 else number // 10),
                    r.PositionTrack(keys=Keys.make(times, rng.normal(size=(keys, 3)), **shapes)),
                    r.RotationTrack(keys=Keys.make(times, turns, **shapes)),
                    r.ScaleTrack(keys=Keys.make(times, rng.uniform(0.9, 1.1, (keys, 3)), **shapes)),
                ]
            )
        )
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=children)))


def frames_of(scene: Scene) -> tuple[int, int]:
    """Return the active segment, or the range of the keys if that is longer."""
    times = np.concatenate([channel.track.times for channel in scene.clips[0].channels])
    return int(min(scene.clips[0].start, times.min())), int(max(scene.clips[0].end, times.max()))


def lib3ds_seconds(program: Path, path: Path, first: int, last: int, rounds: int) -> float:
    given = [str(program), "time", str(path), str(first), str(last), str(rounds)]
    return float(subprocess.run(given, capture_output=True, text=True, check=True, timeout=300).stdout)


def compare(program: Path, path: Path, goal: float, rounds: int = 20) -> tuple[float, float]:
    """Print the results of one file; returns both ratios."""
    scene = keyframer.load(path, salvage=True)
    first, last = frames_of(scene)
    frames = np.arange(first, last + 1)
    rig = Rig(scene)
    theirs = lib3ds_seconds(program, path, first, last, rounds)
    compiled = best_of(lambda: keyframer.pose(scene, frames=frames, rig=rig), runs=rounds)
    whole = best_of(lambda: keyframer.pose(scene, frames=frames), runs=rounds)
    theirs = min(
        theirs, lib3ds_seconds(program, path, first, last, rounds)
    )  # alternating: other work affects both equally
    title = f"{path.name.rpartition('__')[2][:24]} ({len(scene.nodes)} nodes, {len(frames)} frames)"
    row(f"{title}: lib3ds", theirs)
    row("    pose, compiled before", compiled, against_goal(theirs / compiled, goal))
    row("    pose, compiling on the way", whole, against_goal(theirs / whole, goal))
    return theirs / compiled, theirs / whole


def linearity() -> None:
    """Print the time per node and time, which should be constant."""
    print("\nLinear in nodes x times (microseconds per node and time, compiled before):")
    for nodes, times in ((100, 250), (100, 1_000), (400, 250), (400, 1_000), (1_600, 250)):
        scene = keyframer.load(BytesIO(made_file(nodes, 50)))
        rig = Rig(scene)
        frames = np.linspace(0, 98, times)
        took = best_of(partial(keyframer.pose, scene, frames=frames, rig=rig), runs=5)
        row(f"{nodes} nodes x {times} times", took, f"{took / nodes / times * 1e6:.3f} us each")


def largest() -> None:
    """Measure in a separate process: the peak memory is that of all steps from bytes to matrices."""
    code = (
        "import numpy as np, keyframer, resource, time; from io import BytesIO;"
        "from benchmarks.bench_posing import made_file;"
        f"scene = keyframer.load(BytesIO(made_file({MANY_NODES}, {MANY_KEYS}))); begin = time.perf_counter();"
        f"posed = keyframer.pose(scene, frames=np.linspace(0, {2 * MANY_KEYS - 2}, 1000));"
        "print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    took, gigabytes = map(float, done.stdout.split())
    verdict = "met" if gigabytes < LARGEST_GB else "MISSED"
    note = f"peak {gigabytes:.2f} GB, goal below {LARGEST_GB:g}: {verdict}"
    row(f"{MANY_NODES} nodes x {MANY_KEYS} keys x 1,000 times", took, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    headline("Posing whole animations")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        print("Real files, against lib3ds_file_eval frame by frame:")
        ratios = [compare(program, path, 1.0) for path in animated_files()]
        for what, column in (("compiled before", 0), ("compiling on the way", 1)):
            found = [ratio[column] for ratio in ratios]
            print(f"  {what}: at least as fast on {sum(ratio >= 1 for ratio in found)} of {len(found)} files")
        print("\nMade, key-heavy:")
        path = Path(folder) / "made.3ds"
        path.write_bytes(made_file(MANY_NODES, MANY_KEYS))
        scene = keyframer.load(path)
        frames = np.arange(2 * MANY_KEYS - 1)
        rig = Rig(scene)
        theirs = lib3ds_seconds(program, path, 0, int(frames[-1]), 1)
        compiled = best_of(lambda: keyframer.pose(scene, frames=frames, rig=rig), runs=3)
        whole = best_of(lambda: keyframer.pose(scene, frames=frames), runs=2)
        row(f"{MANY_NODES} nodes x {MANY_KEYS} keys, {len(frames)} frames: lib3ds", theirs)
        row("    pose, compiled before", compiled, against_goal(theirs / compiled, 5.0))
        row("    pose, compiling on the way", whole, against_goal(theirs / whole, 5.0))
    linearity()
    if large:
        print()
        largest()
    print(f"\npeak memory of this run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
