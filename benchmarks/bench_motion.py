"""Exporting animated files as GLB: processor time, keys and bytes, compared with an earlier commit.

``--base`` names a checkout of the earlier commit (``git worktree add --detach ../base e884593``). Both versions run in
separate processes, which alternate; without it only the figures of this checkout are printed. The corpus is every 3D
Studio and ASE file below the folder next to the checkout with a track of two keys or more. ``--large`` adds generated
files, each in a process of its own, whose peak memory is measured: very many keys, very many animated nodes, and a
chain of nodes that is only posed.

Usage: python -m benchmarks.bench_motion [--rounds N] [--every N] [--large] [--base CHECKOUT]
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks._timing import CORPUS_3DS, Contestant, against_goal, headline, machine_load, row

import keyframer
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.document import new_document

FASTER = 3.0
"""goal: how many times as fast as the base, over all files"""

_EXPORT = """
import keyframer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.asset import glb_parts
def work(path={path!r}):
    asset = export(keyframer.load(path))[0]
    keys = 0
    for animation in asset.animations:
        keys += sum(asset.buffers.accessors[sampler["input"]]["count"] for sampler in animation["samplers"])
    return keys, sum(map(len, glb_parts(asset)))
"""
_POSE = """
import keyframer
scene = keyframer.load({path!r})
def work():
    keyframer.pose(scene, frames=range(10))
    return 0, 0
"""


def animated_corpus(every: int) -> list[Path]:
    """Return the real files with a track of two keys or more."""
    files = []
    for path in sorted(CORPUS_3DS.parent.rglob("*"))[::every]:
        if path.suffix.lower() in (".3ds", ".ase"):
            try:
                scene = keyframer.load(path)
            except keyframer.FormatError:
                continue
            if any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels):
                files.append(path)
    return files


def compare(files: list[Path], checkouts: dict[str, Path], rounds: int) -> None:
    """Print time, keys and bytes over all files, and the slowest files."""
    best: dict[str, dict[Path, float]] = {name: {} for name in checkouts}
    sizes = {name: np.zeros(2, np.int64) for name in checkouts}
    for path in files:
        contestants = {
            name: Contestant(place, _EXPORT.format(path=os.fspath(path))) for name, place in checkouts.items()
        }
        for _ in range(rounds):
            for name, contestant in contestants.items():
                best[name][path] = min(best[name].get(path, math.inf), contestant.round())
        for name, contestant in contestants.items():
            sizes[name] += contestant.result
            contestant.close()
    total = {name: sum(times.values()) for name, times in best.items()}
    for name, seconds in total.items():
        keys, size = sizes[name].tolist()
        notes = [f"{keys:,} keys", f"{size:,} bytes"]
        if name != "base" and "base" in total:
            ratios = [best["base"][path] / best["this"][path] for path in files]
            notes += [against_goal(total["base"] / seconds, FASTER), f"median file {np.median(ratios):.2f} x"]
        row(f"{len(files)} animated files: {name}", seconds, *notes)
    for path in sorted(files, key=lambda path: -best["this"][path])[:5]:
        row(f"    {path.stem.rpartition('__')[2][:40]}", *(best[name][path] for name in ("this",)), *_ratio(best, path))


def _ratio(best: dict[str, dict[Path, float]], path: Path) -> list[str]:
    return [f"{best['base'][path] / best['this'][path]:.2f} x as fast as the base"] if "base" in best else []


def smooth_file(nodes: int, keys: int) -> bytes:
    """Return a file with nodes in a shallow tree, whose position and rotation keys, on every second frame, are those of
    a smooth motion.
    """
    steps = np.arange(keys)
    times = 2 * steps
    children: list[r.Chunk] = [r.KeyframerHeader(5, b"", int(times[-1])), r.Frames(0, int(times[-1]))]
    for number in range(nodes):
        phase = steps / 50 + number
        places = np.stack([np.sin(phase), np.cos(phase), np.sin(phase / 3)], axis=1)
        turns = np.stack([np.full(keys, 0.05), np.sin(phase / 5), np.cos(phase / 5), np.ones(keys)], axis=1)
        header = r.NodeHeader(f"N{number:05}".encode(), 0x4000, 0, -1 if number < 10 else number // 10)
        tracks = [r.PositionTrack(keys=Keys.make(times, places)), r.RotationTrack(keys=Keys.make(times, turns))]
        children.append(r.ObjectNode(children=[r.NodeId(number), header, *tracks]))
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=children)))


def random_file(nodes: int, keys: int) -> bytes:
    """Return a file with TCB keys of random values on every frame, which no player interpolates: the worst case."""
    rng, times = np.random.default_rng(1), np.arange(keys)
    tcb = {name: rng.uniform(-1, 1, keys) for name in ("tension", "continuity", "bias")}
    children: list[r.Chunk] = [r.KeyframerHeader(5, b"", keys - 1), r.Frames(0, keys - 1)]
    for number in range(nodes):
        places, sizes = rng.uniform(-100, 100, (keys, 3)), rng.uniform(0.5, 2, (keys, 3))
        axes = rng.normal(size=(keys, 3))
        turns = np.column_stack([rng.uniform(-1, 1, keys), axes / np.linalg.norm(axes, axis=1)[:, None]])
        tracks = (
            r.PositionTrack(keys=Keys.make(times, places, **tcb)),
            r.RotationTrack(keys=Keys.make(times, turns, **tcb)),
            r.ScaleTrack(keys=Keys.make(times, sizes, **tcb)),
        )
        header = r.NodeHeader(f"N{number:05}".encode(), 0x4000, 0, -1)
        children.append(r.ObjectNode(children=[r.NodeId(number), header, *tracks]))
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=children)))


def chain(nodes: int) -> bytes:
    """Return a file with a chain of nodes, each of which turns."""
    times = np.array([0, 50, 100])
    children: list[r.Chunk] = [r.KeyframerHeader(5, b"", 100), r.Frames(0, 100)]
    for number in range(nodes):
        turns = np.array([[0, 0, 0, 1], [0.01, 0, 0, 1], [0.01, 0, 1, 0]], np.float64)
        header = r.NodeHeader(f"N{number:05}".encode(), 0x4000, 0, number - 1)
        position = r.PositionTrack(keys=Keys.make(np.array([0]), np.array([[0.0, 1.0, 0.0]])))
        tracks = [position, r.RotationTrack(keys=Keys.make(times, turns))]
        children.append(r.ObjectNode(children=[r.NodeId(number), header, *tracks]))
    return keyframer.encode(new_document(r.Version(3), r.Keyframer(children=children)))


_MEASURED = """
import resource, time
begin = time.process_time()
_, size = work()
print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, size)
"""
_LIMIT = 400
"""seconds after which a generated file is given up"""


def measure(title: str, content: bytes, program: str, checkouts: dict[str, Path]) -> None:
    """Print the time and the largest memory of one generated file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.3ds"
        path.write_bytes(content)
        for name, checkout in checkouts.items():
            command = [sys.executable, "-c", program.format(path=os.fspath(path)) + _MEASURED]
            environment = {**os.environ, "PYTHONPATH": os.fspath(checkout / "src")}
            label = f"{title} ({len(content) / 1e6:.1f} MB): {name}"
            try:
                process = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=_LIMIT, check=False
                )
            except subprocess.TimeoutExpired:
                print(f"  {label}: not finished after {_LIMIT} s")
                continue
            if process.returncode:
                print(f"  {label}: {process.stderr.strip().splitlines()[-1]}")
                continue
            seconds, megabytes, size = map(float, process.stdout.split())
            row(label, seconds, f"{megabytes:,.0f} MB of memory", f"GLB of {size / 1e6:.1f} MB")


def large(checkouts: dict[str, Path]) -> None:
    """Measure generated files."""
    print(f"generated files, {machine_load()}")
    measure("1 node, 100,000 keys", smooth_file(1, 50_000), _EXPORT, checkouts)
    measure("100 nodes, 100,000 keys", smooth_file(100, 500), _EXPORT, checkouts)
    measure("1 node, 300,000 random keys", random_file(1, 100_000), _EXPORT, checkouts)
    measure("5,000 nodes, 75,000 random keys", random_file(5_000, 5), _EXPORT, checkouts)
    measure("20,000 nodes, 300,000 random keys", random_file(20_000, 5), _EXPORT, checkouts)
    for nodes in (5_000, 20_000):
        measure(f"{nodes:,} animated nodes", smooth_file(nodes, 5), _EXPORT, checkouts)
    for nodes in (1_000, 5_000):
        measure(f"posing a chain of {nodes:,} nodes", chain(nodes), _POSE, checkouts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="take every Nth file of the corpus only")
    parser.add_argument("--large", action="store_true", help="measure generated files, too")
    parser.add_argument("--base", type=Path, help="checkout of the commit to compare with")
    options = parser.parse_args()
    headline(f"Exporting animated files, {machine_load()}")
    checkouts = {"base": options.base} if options.base else {}
    checkouts["this"] = Path(__file__).resolve().parents[1]
    if files := animated_corpus(options.every):
        compare(files, checkouts, options.rounds)
    if options.large:
        large(checkouts)


if __name__ == "__main__":
    main()
