"""Rendering a picture of 256 x 256 pixels: a generated scene of 2,000 triangles, and a real robot of about as many.

The time includes everything after start-up: collecting faces and materials, posing, drawing at twice the resolution,
reducing, and encoding as PNG; for the real file also reading it and its images. Usage:
`python -m benchmarks.bench_thumbnail`.

With ``--base FOLDER`` (the ``src`` of another commit), both versions make thumbnails of small real files in separate
processes, which alternate. With ``--large``, scenes of many translucent boxes and of millions of vertices are drawn in
processes of their own, whose peak memory is measured; also with the sources of ``--base``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks._timing import CORPUS_3DS, against_goal, best_of, corpus_files, headline, row

import keyframer
from keyframer.rendering import Renderer, Settings, encode_still
from keyframer.scene import Material, Mesh, Node, Scene
from keyframer.textures import TextureFinder, TextureSource

GOAL_SECONDS = 0.2


def bumpy_ball(rings: int = 25, sides: int = 40) -> Scene:
    """Return a smooth mesh of 2,000 triangles with ten materials."""
    high, around = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.arange(sides) * 2 * np.pi / sides, indexing="ij")
    size = 1 + 0.1 * np.sin(5 * around) * np.sin(high) ** 2
    points = np.stack(
        [size * np.sin(high) * np.cos(around), size * np.sin(high) * np.sin(around), np.cos(high)], axis=-1
    )
    first = (np.arange(rings)[:, None] * sides + np.arange(sides)).reshape(-1)
    right = (np.arange(rings)[:, None] * sides + (np.arange(sides) + 1) % sides).reshape(-1)
    corners = np.concatenate(
        [np.stack([first, first + sides, right], axis=1), np.stack([right, first + sides, right + sides], axis=1)]
    )
    materials = [
        Material(f"m{i}", diffuse=(0.2 + 0.07 * i, 0.5, 0.9 - 0.07 * i), specular=(1, 1, 1)) for i in range(10)
    ]
    mesh = Mesh("ball", points.reshape(-1, 3), corners, smoothing=np.ones(len(corners), np.int64))
    mesh.face_materials = np.arange(len(corners)) % 10
    return Scene(nodes=[Node("ball", mesh=0)], meshes=[mesh], materials=materials, source_format="3ds")


def picture(scene: Scene, textures: TextureSource | None = None) -> bytes:
    renderer = Renderer(scene, Settings(256, 256), textures=textures)
    return encode_still(renderer.picture(renderer.default_frame))


def from_file(path: Path) -> bytes:
    return picture(keyframer.load(path), TextureSource(TextureFinder([path.parent])))


def processor_seconds(work: Callable[[], object], runs: int = 7) -> float:
    """Return the least processor time of several runs."""
    best = float("inf")
    for _ in range(runs):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def measure(title: str, work: Callable[[], bytes]) -> None:
    elapsed = best_of(work)
    processor_time = processor_seconds(work)
    verdict = "met" if processor_time < GOAL_SECONDS else "MISSED"
    goal = f"goal under {GOAL_SECONDS * 1e3:.0f} ms: {verdict}"
    row(title, elapsed, f"{processor_time * 1e3:.0f} ms of processor time, {goal}")


WORK = """
import sys, time
from pathlib import Path
import keyframer
import keyframer.rendering
from keyframer.rendering import Settings, encode_still
from keyframer.textures import TextureFinder, TextureSource
Renderer = getattr(keyframer.rendering, "Renderer", None) or keyframer.rendering.Studio  # its name at cc89646

def make(path):
    scene = keyframer.load(path, salvage=True)
    renderer = Renderer(scene, Settings(256, 256), textures=TextureSource(TextureFinder([Path(path).parent])))
    encode_still(renderer.picture(renderer.default_frame))

paths = sys.argv[1:]
make(paths[0])
begin = time.process_time()
for path in paths:
    try:
        make(path)
    except keyframer.FormatError:
        pass
print(time.process_time() - begin)
"""


def against_base(base: str, rounds: int = 3) -> None:
    """Compare the processor time of both versions for the windmill and every 25th real file up to 100 KB."""
    root = Path(__file__).resolve().parents[1]
    small = [path for path in corpus_files() if path.stat().st_size <= 100_000][::25]
    paths = [str(path) for path in (root / "examples" / "windmill.3ds", *small)]
    best = {base: float("inf"), str(root / "src"): float("inf")}
    for _ in range(rounds):
        for source in best:
            command = [sys.executable, "-c", WORK, *paths]
            process = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True, check=True
            )
            best[source] = min(best[source], float(process.stdout))
    before, now = (1e3 * seconds / len(paths) for seconds in best.values())
    print(f"{len(paths)} thumbnails, load {os.getloadavg()[0]:.0f}, processor time of one:")
    print(f"  {before:.1f} ms before, {now:.1f} ms now")
    print(f"  {against_goal(before / now, 2.0)}")


LARGE = """
import resource, sys, time
import numpy as np
from keyframer.rendering import render
from keyframer.scene import Material, Mesh, Node, Scene
kind, count = sys.argv[1], int(sys.argv[2])
if kind == "boxes":
    rng = np.random.default_rng(1)
    points = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    box = Mesh("box", points, np.array([face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]))
    box.face_materials = np.zeros(12, np.int64)
    places = rng.uniform(-10, 10, (count, 3))
    nodes = [Node(f"b{n}", mesh=0, position=place, scale=np.full(3, 8.0)) for n, place in enumerate(places)]
    scene = Scene(nodes, [box], [Material("glass", diffuse=(0.5, 0.7, 1.0), transparency=0.6)])
else:
    side = int(count**0.5)
    across, down = (axis.reshape(-1) for axis in np.meshgrid(np.arange(side), np.arange(side)))
    points = np.stack([across, down, 3 * np.sin(across / 20) * np.cos(down / 30)], axis=1).astype(np.float32)
    first = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).reshape(-1, 1)
    faces = np.concatenate([first + np.array(corners) for corners in ((0, 1, side), (1, side + 1, side))])
    scene = Scene([Node("land", mesh=0)], [Mesh("land", points, faces.astype(np.uint32))])
begin = time.process_time()
render(scene)
print(time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


def large(sources: list[str]) -> None:
    """Print processor time and peak memory of large scenes."""
    for kind, count, goal in (
        ("boxes", 1_000, "300 MB"),
        ("boxes", 10_000, "300 MB"),
        ("vertices", 1_000_000, "4 s and 600 MB"),
        ("vertices", 5_000_000, "2,000 MB"),
    ):
        for source in sources:
            process = subprocess.run(
                [sys.executable, "-c", LARGE, kind, str(count)],
                env={**os.environ, "PYTHONPATH": source},
                capture_output=True,
                text=True,
                check=False,
            )
            title = f"{count:,} {'translucent boxes' if kind == 'boxes' else 'vertices'}: {Path(source).parent.name}"
            if process.returncode:
                print(f"  {title}: {(process.stderr.strip().splitlines() or ['killed'])[-1]}")
                continue
            seconds, megabytes = map(float, process.stdout.split())
            row(title, seconds, f"{megabytes:,.0f} MB, goal {goal}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", metavar="FOLDER", help="the src folder of another commit")
    parser.add_argument("--large", action="store_true", help="measure large scenes, and their memory")
    options = parser.parse_args()
    base = options.base
    if options.large:
        large([*([base] if base else []), str(Path(__file__).resolve().parents[1] / "src")])
        return
    if base is not None:
        against_base(base)
        return
    headline("A picture of 256 x 256 pixels")
    scene = bumpy_ball()
    measure(f"{len(scene.meshes[0].corners)} triangles", lambda: picture(scene))
    robot = CORPUS_3DS.parent / "makbot" / "mak_running.3DS"
    if robot.is_file():
        measure("the robot (2,010 triangles), read with its images", lambda: from_file(robot))


if __name__ == "__main__":
    main()
