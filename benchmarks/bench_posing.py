"""Posing whole animations, compared with lib3ds 1.3, which evaluates frame by frame.

Usage: ``python -m benchmarks.bench_posing [--large]``. It needs gcc, Debian's lib3ds-dev and the corpus next to the
checkout. ``--large`` adds 2,000 nodes x 500 keys x 1,000 times in a separate process, whose peak memory is measured (a
minute, some 2 GB).

There are two figures for each file: with a rig that was compiled before (lib3ds, too, prepares its tracks while
reading), and for ``keyframer.pose(scene, frames=...)``, which compiles the rig in the same call. lib3ds is timed in C,
evaluation only.
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
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.document import new_document
from keyframer.posing import Rig
from keyframer.scene import Scene

MANY_NODES, MANY_KEYS = 2_000, 500
MOST_GIBIBYTES = 3.0


def animated_files(least_nodes: int = 20) -> list[Path]:
    """Return real files with a track of two keys or more, and at least this many nodes."""
    files = []
    for path in sorted(CORPUS_3DS.glob("*")):
        if path.suffix.lower() == ".3ds":
            scene = keyframer.load(path, salvage=True)
            keys = [len(channel.track.times) for clip in scene.clips for channel in clip.channels]
            if max(keys, default=0) > 1 and len(scene.nodes) >= least_nodes:
                files.append(path)
    return files


def generated_file(nodes: int, keys: int, seed: int = 3, *, tcb: bool = False) -> bytes:
    """Return a file with nodes in a shallow tree, each with position, rotation and scale keys on every second frame.

    With ``tcb`` each key has tension, continuity and bias.
    """
    rng = np.random.default_rng(seed)
    times = 2 * np.arange(keys)
    names = ("tension", "continuity", "bias") if tcb else ()
    tcb_columns = {name: rng.uniform(-1, 1, keys) for name in names}
    children: list[r.Chunk] = [r.KeyframerHeader(5, b"", int(times[-1])), r.Frames(0, int(times[-1]))]
    for number in range(nodes):
        turns = np.column_stack([rng.uniform(0, 1, keys), rng.normal(size=(keys, 3))])
        children.append(
            r.ObjectNode(
                children=[
                    r.NodeId(number),
                    r.NodeHeader(f"N{number:05}".encode(), 0x4000, 0, -1 if number < 10 else number // 10),
                    r.PositionTrack(keys=Keys.make(times, rng.normal(size=(keys, 3)), **tcb_columns)),
                    r.RotationTrack(keys=Keys.make(times, turns, **tcb_columns)),
                    r.ScaleTrack(keys=Keys.make(times, rng.uniform(0.9, 1.1, (keys, 3)), **tcb_columns)),
                ]
            )
        )
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=children)))


def frames_of(scene: Scene) -> tuple[int, int]:
    """Return the first and last frame of the active segment and of all keys."""
    times = np.concatenate([channel.track.times for channel in scene.clips[0].channels])
    return int(min(scene.clips[0].start, times.min())), int(max(scene.clips[0].end, times.max()))


def lib3ds_seconds(program: Path, path: Path, first: int, last: int, rounds: int) -> float:
    command = [str(program), "time", str(path), str(first), str(last), str(rounds)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def compare(program: Path, path: Path, goal: float, rounds: int = 20) -> tuple[float, float]:
    """Print the results of one file; returns both ratios."""
    scene = keyframer.load(path, salvage=True)
    first, last = frames_of(scene)
    frames = np.arange(first, last + 1)
    rig = Rig(scene)
    theirs = lib3ds_seconds(program, path, first, last, rounds)
    compiled = best_of(lambda: keyframer.pose(scene, frames=frames, rig=rig), runs=rounds)
    plain = best_of(lambda: keyframer.pose(scene, frames=frames), runs=rounds)
    # lib3ds runs before and after Keyframer, so that other programs affect both equally.
    theirs = min(theirs, lib3ds_seconds(program, path, first, last, rounds))
    title = f"{path.name.rpartition('__')[2][:24]} ({len(scene.nodes)} nodes, {len(frames)} frames)"
    row(f"{title}: lib3ds", theirs)
    row("    pose, compiled before", compiled, against_goal(theirs / compiled, goal))
    row("    pose, compiled in the call", plain, against_goal(theirs / plain, goal))
    return theirs / compiled, theirs / plain


def linearity() -> None:
    """Print the microseconds per node and sampled time, which should be constant."""
    print("\nGrowth with nodes x times (compiled before):")
    for nodes, times in ((100, 250), (100, 1_000), (400, 250), (400, 1_000), (1_600, 250)):
        scene = keyframer.load(BytesIO(generated_file(nodes, 50)))
        rig = Rig(scene)
        frames = np.linspace(0, 98, times)
        elapsed = best_of(partial(keyframer.pose, scene, frames=frames, rig=rig), runs=5)
        row(f"{nodes} nodes x {times} times", elapsed, f"{elapsed / nodes / times * 1e6:.3f} us per node and time")


def largest() -> None:
    """Print the time of posing, and the peak memory of all steps from bytes to matrices, in a separate process."""
    code = (
        "import numpy as np, keyframer, resource, time; from io import BytesIO;"
        "from benchmarks.bench_posing import generated_file;"
        f"scene = keyframer.load(BytesIO(generated_file({MANY_NODES}, {MANY_KEYS}))); begin = time.perf_counter();"
        f"posed = keyframer.pose(scene, frames=np.linspace(0, {2 * MANY_KEYS - 2}, 1000));"
        "print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    elapsed, gibibytes = map(float, process.stdout.split())
    verdict = "met" if gibibytes < MOST_GIBIBYTES else "MISSED"
    note = f"peak {gibibytes:.2f} GiB, goal below {MOST_GIBIBYTES:g} GiB: {verdict}"
    row(f"{MANY_NODES} nodes x {MANY_KEYS} keys x 1,000 times", elapsed, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    headline("Posing whole animations")
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        print("Real files, compared with lib3ds_file_eval frame by frame:")
        ratios = [compare(program, path, 1.0) for path in animated_files()]
        for title, column in (("compiled before", 0), ("compiled in the call", 1)):
            fast = sum(ratio[column] >= 1 for ratio in ratios)
            print(f"  {title}: at least as fast on {fast} of {len(ratios)} files")
        print("\nGenerated, with many keys:")
        path = Path(folder) / "generated.3ds"
        path.write_bytes(generated_file(MANY_NODES, MANY_KEYS))
        scene = keyframer.load(path)
        frames = np.arange(2 * MANY_KEYS - 1)
        rig = Rig(scene)
        theirs = lib3ds_seconds(program, path, 0, int(frames[-1]), 1)
        compiled = best_of(lambda: keyframer.pose(scene, frames=frames, rig=rig), runs=3)
        plain = best_of(lambda: keyframer.pose(scene, frames=frames), runs=2)
        row(f"{MANY_NODES} nodes x {MANY_KEYS} keys, {len(frames)} frames: lib3ds", theirs)
        row("    pose, compiled before", compiled, against_goal(theirs / compiled, 5.0))
        row("    pose, compiled in the call", plain, against_goal(theirs / plain, 5.0))
    linearity()
    if large:
        print()
        largest()
    print(f"\npeak memory of this run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
