"""glTF export: time compared with assimp on static files of the corpus, and the peak memory for a large scene.

    python -m benchmarks.bench_gltf [--every N] [--no-memory]

Both sides read a .3ds file and convert it to binary glTF in memory, in this process; assimp without post-processing
(impasse from PyPI with Debian's libassimp-dev). Times are processor time, summed over all files, best of three rounds.
Animated files are left out, because assimp writes NaN as their key times. Goals: at most four times the time of assimp
on files up to 100 KB, less than its time on larger files. ``--every N`` takes every Nth file.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks._timing import against_goal, corpus_files, headline, machine_load, row

import keyframer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.asset import glb_parts

SCENE_MEGABYTES = 300
ROUNDS = 3


def static_files(every: int) -> list[Path]:
    files = []
    for path in corpus_files()[::every]:
        try:
            scene = keyframer.load(path)
        except keyframer.FormatError:
            continue
        if not any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels):
            files.append(path)
    return files


def ours(path: Path) -> bytes:
    return b"".join(glb_parts(export(keyframer.load(path))[0]))


def assimp() -> Callable[[Path], object] | None:
    try:
        import impasse
        from impasse.core import export_blob
    except Exception as error:  # the module or the library is missing
        print(f"  assimp: not compared ({error})")
        return None

    def work(path: Path) -> object:
        return export_blob(impasse.load(os.fspath(path), processing=0), "glb2", 0)

    return work


def seconds_of(work: Callable[[Path], object], path: Path) -> float:
    begin = time.process_time()
    work(path)
    return time.process_time() - begin


def compare(every: int) -> None:
    """Print the times of assimp and Keyframer for static files of several sizes."""
    theirs = assimp()
    files = static_files(every)
    if theirs is None or not files:
        return
    usable = []
    for path in files:
        try:
            theirs(path)
            usable.append(path)
        except Exception:  # files that assimp refuses
            continue
    best: dict[str, dict[Path, float]] = {"ours": {}, "theirs": {}, "load": {}}
    for _ in range(ROUNDS):
        for path in usable:
            for name, work in (("ours", ours), ("theirs", theirs), ("load", keyframer.load)):
                best[name][path] = min(best[name].get(path, 1e9), seconds_of(work, path))
    for title, goal, chosen in (
        ("all files", 1.0, usable),
        ("files up to 100 KB", 0.25, [path for path in usable if path.stat().st_size <= 100_000]),
        ("files over 100 KB", 1.0, [path for path in usable if path.stat().st_size > 100_000]),
        ("files over 500 KB", 1.0, [path for path in usable if path.stat().st_size > 500_000]),
    ):
        total = {name: sum(times[path] for path in chosen) for name, times in best.items()}
        print(f"{title}: {len(chosen)}")
        row("assimp: import and export", total["theirs"])
        row("keyframer: load", total["load"])
        median = statistics.median(best["theirs"][path] / best["ours"][path] for path in chosen)
        goal_text = against_goal(total["theirs"] / total["ours"], goal)
        row("keyframer: load and export", total["ours"], goal_text, f"median file {median:.2f} x")


CHILD = """
import sys, tracemalloc
import numpy as np
import psutil
import keyframer
from keyframer.scene import Mesh, Node, Scene

def scene(megabytes):
    # grids of 65,025 vertices, just below the limit of 3D Studio
    side = 255
    x, y = np.meshgrid(np.arange(side, dtype=np.float32), np.arange(side, dtype=np.float32))
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.concatenate([
        np.stack([corner, corner + 1, corner + side], 1), np.stack([corner + 1, corner + side + 1, corner + side], 1)
    ]).astype(np.int32)
    meshes, size = [], 0
    while size < megabytes * 1e6:
        points = np.stack([x, y, np.sin(x + len(meshes))], -1).reshape(-1, 3).astype(np.float32)
        mesh = Mesh(f"grid{len(meshes)}", points, faces.copy(), uv=points[:, :2].copy(),
                    smoothing=np.ones(len(faces), np.uint32), edges=np.full(len(faces), 7, np.uint8))
        size += sum(a.nbytes for a in (mesh.positions, mesh.corners, mesh.uv, mesh.smoothing, mesh.edges))
        meshes.append(mesh)
    return Scene(nodes=[Node(m.name, mesh=i) for i, m in enumerate(meshes)], meshes=meshes), size

import threading, time
process = psutil.Process()
large_scene, size = scene(float(sys.argv[1]))
peak = [0]
stop = threading.Event()
def watch():
    while not stop.is_set():
        peak[0] = max(peak[0], process.memory_info().rss)
        time.sleep(0.002)
watcher = threading.Thread(target=watch)
before = process.memory_info().rss
watcher.start()
begin = time.perf_counter()
keyframer.save(large_scene, sys.argv[2])
elapsed = time.perf_counter() - begin
stop.set()
watcher.join()
print(size, peak[0], peak[0] - before, elapsed)
"""


def memory() -> None:
    """Print the time and the peak memory of saving a large scene, in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "large.glb"
        process = subprocess.run(
            [sys.executable, "-c", CHILD, str(SCENE_MEGABYTES), str(target)],
            capture_output=True,
            text=True,
            check=True,
        )
        size, peak, growth, elapsed = map(float, process.stdout.split())
        print(f"a scene of {size / 1e6:.0f} MB to a GLB of {target.stat().st_size / 1e6:.0f} MB")
        row("keyframer.save", elapsed, f"{size / 1e6 / elapsed:.0f} MB/s")
        print(f"  peak memory {peak / 1e6:.0f} MB, including the scene: {against_goal(peak / size, 3.0, at_most=True)}")
        print(f"  the export added {growth / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="compare with assimp on every Nth file only")
    parser.add_argument("--no-memory", action="store_true", help="leave out the large scene")
    arguments = parser.parse_args()
    headline(f"glTF export, {machine_load()}")
    compare(arguments.every)
    if not arguments.no_memory:
        memory()


if __name__ == "__main__":
    main()
