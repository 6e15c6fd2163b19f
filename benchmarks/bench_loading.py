"""Processor time of loading, exporting and posing real 3D Studio files, compared with an earlier commit.

``--base`` names a checkout of the earlier commit (``git worktree add ../base cc89646``). Both versions run in separate
processes, which alternate. Small files have up to 100 KB. Loading makes a scene; exporting writes it as a GLB to a
temporary folder. Without ``--base`` only the figures of this checkout are printed. Files that are mostly keys are read
and loaded alternately in this process.

Usage: python -m benchmarks.bench_loading [--rounds N] [--files N] [--base CHECKOUT]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks._timing import Contestant, against_goal, best_of_each, corpus_files, headline, machine_load, row

SMALL = 100_000
"""maximum size of a small file, in bytes"""

_HEAD = """
import json, sys, tempfile, time
import keyframer
from keyframer.posing import Rig
paths = json.loads({paths!r})
"""
_WORKS = {
    "read": "def work():\n    for path in paths: keyframer.read(path)",
    "load": "def work():\n    for path in paths: keyframer.load(path)",
    "load and export": """
folder = tempfile.TemporaryDirectory()
def work():
    for path in paths: keyframer.save(keyframer.load(path), folder.name + "/x.glb", overwrite=True)
""",
    "make a rig": "scenes = [keyframer.load(path) for path in paths]\ndef work():\n    for scene in scenes: Rig(scene)",
    "pose 9 frames": """
scenes = [keyframer.load(path) for path in paths]
def work():
    for scene in scenes: keyframer.pose(scene, frames=range(9))
""",
}
_GOALS = {"load": 2.0, "make a rig": 2.0}


def animated(paths: list[Path]) -> list[Path]:
    """Return the files with 20 to 60 nodes, some of them animated."""
    import keyframer

    files = []
    for path in paths:
        scene = keyframer.load(path)
        moves = any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)
        if moves and 20 <= len(scene.nodes) <= 60:
            files.append(path)
    return files


def loadable(paths: list[Path]) -> list[Path]:
    """Return the files that can be loaded and exported."""
    import keyframer

    files = []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            try:
                keyframer.save(keyframer.load(path), Path(folder) / "x.glb", overwrite=True)
            except keyframer.FormatError:
                continue
            files.append(path)
    return files


def compare(title: str, paths: list[Path], works: list[str], base: Path | None, rounds: int) -> None:
    """Print the times of some kinds of work on files, with alternating rounds of both checkouts."""
    print(f"{title}: {len(paths)} files, {machine_load()}")
    this_checkout = Path(__file__).resolve().parents[1]
    head = _HEAD.format(paths=json.dumps([str(path) for path in paths]))
    for work in works:
        checkouts = {"ours": this_checkout} if base is None else {"base": base, "ours": this_checkout}
        contestants = {name: Contestant(checkout, head + _WORKS[work]) for name, checkout in checkouts.items()}
        best = dict.fromkeys(contestants, float("inf"))
        for _ in range(rounds):
            for name, contestant in contestants.items():
                best[name] = min(best[name], contestant.round())
        for contestant in contestants.values():
            contestant.close()
        notes = [f"{best['ours'] / max(1, len(paths)) * 1e3:.2f} ms per file"]
        if work == "pose 9 frames":
            verdict = "met" if best["ours"] / max(1, len(paths)) < POSE_SECONDS else "MISSED"
            notes.append(f"goal under {POSE_SECONDS * 1e3:g} ms per file: {verdict}")
        if "base" in best:
            ratio = best["base"] / best["ours"]
            notes.append(against_goal(ratio, _GOALS[work]) if work in _GOALS else f"{ratio:.2f} x as fast as the base")
        row(work, best["ours"], *notes)


KEY_FILES = ("RotatingCube", "mak_robotic")
"""real files that are mostly keys"""
MOST_LOADING = 3.0
"""goal for loading such files, as a multiple of the time for reading them"""
POSE_SECONDS = 1e-3
"""goal for posing a file of 20 to 60 nodes at nine frames"""


def keys(rounds: int) -> None:
    """Compare loading with reading for files that are mostly keys: two real ones, and generated files of 2,000 nodes x
    3 tracks x 500 keys with TCB and without."""
    from benchmarks.bench_posing import MANY_KEYS, MANY_NODES, generated_file

    import keyframer

    print(f"files that are mostly keys, {machine_load()}")
    with tempfile.TemporaryDirectory() as folder:
        generated = [Path(folder) / "generated_tcb.3ds", Path(folder) / "generated_plain.3ds"]
        generated[0].write_bytes(generated_file(MANY_NODES, MANY_KEYS, tcb=True))
        generated[1].write_bytes(generated_file(MANY_NODES, MANY_KEYS))
        real = [path for path in corpus_files() if any(name in path.name for name in KEY_FILES)]
        for path in (*real, *generated):
            functions = {"read": partial(keyframer.read, path), "load": partial(keyframer.load, path)}
            repeats = 2 if path in generated else 20
            best = best_of_each(functions, runs=rounds, repeats=repeats, clock=time.process_time)
            title = f"{path.stem.rpartition('__')[2]} ({path.stat().st_size / 1e3:,.0f} KB): load"
            ratio = against_goal(best["load"] / best["read"], MOST_LOADING, at_most=True)
            row(title, best["load"], f"{ratio} of reading ({best['read'] * 1e3:.3f} ms)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=150, help="approximate number of small files, chosen evenly")
    parser.add_argument("--base", type=Path, help="checkout of the commit to compare with")
    options = parser.parse_args()
    headline("Loading, exporting and posing")
    small = [path for path in corpus_files() if path.stat().st_size <= SMALL]
    small = loadable(small[:: max(1, len(small) // options.files)])
    compare("small files", small, ["read", "load", "load and export"], options.base, options.rounds)
    keys(options.rounds)
    rigs, works = animated(small), ["make a rig", "pose 9 frames"]
    compare("small animated files of 20 to 60 nodes", rigs, works, options.base, options.rounds)


if __name__ == "__main__":
    main()
