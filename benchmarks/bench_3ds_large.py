"""Reading a generated 3D Studio file of 300 MB against reading its bytes into memory; time and peak memory.

The file has many meshes of 65,535 vertices (the maximum of a 16-bit count) with faces and mapping. It is written to the
folder for temporary files and removed afterwards. It is read once before the measurement, so that all runs find it in
the system's cache.

Usage: python -m benchmarks.bench_3ds_large [--megabytes N] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks._timing import against_goal, best_of_each, headline, row

import keyframer
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import (
    Editor,
    FaceArray,
    Mesh,
    NamedObject,
    PointArray,
    TextureVertices,
    Version,
)

VERTICES = 65_535
MESH_BYTES = VERTICES * (12 + 8 + 8)

_PEAK = """
import sys
with open("/proc/self/status") as status:
    before = [line for line in status if line.startswith("VmHWM")][0].split()[1]
{work}
with open("/proc/self/status") as status:
    after = [line for line in status if line.startswith("VmHWM")][0].split()[1]
print(int(after) - int(before))
"""
_FLOOR_WORK = "data = open(sys.argv[1], 'rb').read()"
_OUR_SETUP = "import keyframer, keyframer.formats.threeds.document\n"
_OUR_WORK = "document = keyframer.read(sys.argv[1])"


def make(path: Path, megabytes: int) -> int:
    """Write the file; returns its number of meshes."""
    count = max(1, round(megabytes * 1e6 / MESH_BYTES))
    rng = np.random.default_rng(3)
    points = rng.normal(size=(VERTICES, 3)).astype(np.float32)
    uv = rng.uniform(size=(VERTICES, 2)).astype(np.float32)
    faces = rng.integers(0, VERTICES, (VERTICES, 4)).astype(np.uint16)
    objects = [
        NamedObject(
            f"Mesh{number:03}".encode(),
            children=[Mesh(children=[PointArray(points), FaceArray(faces), TextureVertices(uv)])],
        )
        for number in range(count)
    ]
    keyframer.write(new_document(Version(3), Editor(children=[*objects])), path)
    return count


def read_into_memory(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def peak_megabytes(path: Path, work: str, setup: str = "") -> float:
    """Return by how many megabytes the work raises the peak memory of a new process (after its imports)."""
    program = setup + _PEAK.format(work=work)
    command = [sys.executable, "-c", program, os.fspath(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(output) * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Read a large 3D Studio file")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.3ds"
        meshes = make(path, options.megabytes)
        size = path.stat().st_size / 1e6
        headline(
            f"A generated file of {size:.0f} MB, {meshes} meshes of {VERTICES:,} vertices, best of {options.rounds}"
        )
        vertices = sum(len(record.points) for record in keyframer.read(path).find(PointArray))
        if vertices != meshes * VERTICES:
            raise SystemExit(f"{vertices} vertices were read, {meshes * VERTICES} were written")
        best = best_of_each(
            {"floor": lambda: read_into_memory(path), "ours": lambda: keyframer.read(path)}, runs=options.rounds
        )
        row("floor: open(path, 'rb').read()", best["floor"], f"{size / best['floor'] / 1e3:.2f} GB/s")
        row("keyframer.read(path)", best["ours"], against_goal(best["ours"] / best["floor"], 1.5, at_most=True))
        if not Path("/proc/self/status").exists():
            print("  peak memory: not measured (only possible on Linux)")
            return
        floor = peak_megabytes(path, _FLOOR_WORK)
        ours = peak_megabytes(path, _OUR_WORK, _OUR_SETUP)
        print(f"  peak memory: floor {floor:.0f} MB, keyframer.read {ours:.0f} MB, {ours / floor:.3f} x")


if __name__ == "__main__":
    main()
