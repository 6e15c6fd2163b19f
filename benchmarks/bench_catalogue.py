"""Catalogues and duplicates: the corpus, and many generated files; a second run, memory, size, and growth.

    .venv/bin/python -m benchmarks.bench_catalogue --files 100000 --place /dev/shm --base ../checkout

With ``--base`` it first compares the processor time of one worker with that of another checkout, in alternating runs.
Generated files are 3D Studio files of 0.3 KB: a mesh of one to four faces and a key. Every second file has the meshes
and keys of the one before it under other names.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._timing import CORPUS_3DS, against_goal, corpus_files
from benchmarks.bench_batch import ROOT, batch, new_folder
from tools.batch_torture import START


def _chunk(number: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack("<HI", number, 6 + len(body)) + body


def generated_file(seed: int, name: bytes) -> bytes:
    """Return a 3D Studio file with one mesh and one position key; equal seeds give equal meshes."""
    draw = random.Random(seed)
    faces = draw.randint(1, 4)
    count = faces + 2
    points = struct.pack(f"<H{3 * count}f", count, *(draw.uniform(-9, 9) for _ in range(3 * count)))
    corners = struct.pack("<H", faces) + b"".join(struct.pack("<4H", at, at + 1, at + 2, 7) for at in range(faces))
    mesh = _chunk(0x4000, name + b"\0", _chunk(0x4100, _chunk(0x4110, points), _chunk(0x4120, corners)))
    head = _chunk(0xB010, name + b"\0", struct.pack("<HHh", 0x4000, 0, -1))
    key = struct.pack("<HIIIIH3f", 0, 0, 0, 1, 0, 0, *(draw.uniform(-9, 9) for _ in range(3)))
    node = _chunk(0xB002, _chunk(0xB030, b"\0\0"), head, _chunk(0xB020, key))
    return _chunk(0x4D4D, _chunk(0x0002, struct.pack("<I", 3)), _chunk(0x3D3D, mesh), _chunk(0xB000, node))


def generate(folder: Path, count: int) -> None:
    for number in range(count):
        if number % 1000 == 0:
            (folder / f"{number // 1000:04}").mkdir()
        data = generated_file(number // 2, b"Part%d" % number)
        (folder / f"{number // 1000:04}" / f"{number:06}.3ds").write_bytes(data)


def catalogue(title: str, source: Path, place: Path, count: int) -> None:
    """Make a catalogue, run it again, and find duplicates."""
    path = new_folder(place) / "archive.sqlite"
    print(f"{title}, {count:,} files")
    first, work, peak = batch("catalogue", source, path)
    print(f"  first run  {first:7.1f} s, {count / first:.0f} files per second; {work:.0f} s of processor time", end="")
    print(f"; largest process {peak / 1e6:.0f} MB; {path.stat().st_size / count:,.0f} bytes per file")
    second, work, peak = batch("catalogue", source, path)
    print(f"  second run {second:7.1f} s, {work:.1f} s of processor time; largest process {peak / 1e6:.0f} MB")
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", START, "batch", "duplicates", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _, messages = process.communicate()
    seconds = time.perf_counter() - start
    print(f"  duplicates {seconds:7.1f} s, {count / seconds:,.0f} files per second")
    for line in messages.decode().splitlines():
        print("    " + line.removeprefix("keyframer: "))


def against_base(title: str, source: Path, place: Path, count: int, base: Path) -> None:
    """Compare the processor time of a catalogue with that of another checkout: one worker, the best of three runs."""
    best = {base: math.inf, ROOT: math.inf}
    for _ in range(3):
        for checkout, least in best.items():
            out = new_folder(place) / "archive.sqlite"
            best[checkout] = min(least, batch("catalogue", source, out, "-j", "1", checkout=checkout)[1])
    print(f"{title}, {count:,} files: {1e3 * best[base] / count:.2f} ms of processor time for each before", end="")
    print(f", {1e3 * best[ROOT] / count:.2f} now, {against_goal(best[base] / best[ROOT], 2)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000, help="number of generated files (default: 20000)")
    parser.add_argument("--place", help="folder for temporary files (default: that of the system)")
    parser.add_argument("--base", type=Path, help="a checkout to compare with")
    options = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="keyframer-bench-", dir=options.place) as folder:
        place = Path(folder)
        if options.base is not None:
            small = new_folder(place)
            generate(small, 4_000)
            against_base("generated", small, place, 4_000, options.base)
            if corpus_files():
                against_base("corpus", CORPUS_3DS, place, len(corpus_files()), options.base)
        if corpus_files():
            catalogue("corpus", CORPUS_3DS, place, len(corpus_files()))
        for count in (options.files // 10, options.files):
            source = new_folder(place)
            generate(source, count)
            catalogue("generated", source, place, count)


if __name__ == "__main__":
    main()
