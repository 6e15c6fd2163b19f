"""The size of GLB files of real files: as written, after dedup and prune of glTF-Transform, compact, and by part.

Images are left out, because the corpus has none. glTF-Transform prunes twice: keeping all vertices and nodes, and with
its defaults, which also remove texture coordinates without an image and nodes without content: those are the user's,
and an image that is not found today may be found tomorrow. With ``--base``, the same for an earlier commit.

Usage: python -m benchmarks.bench_gltf_size [--files N] [--base CHECKOUT]
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._timing import CORPUS_3DS, against_goal, headline

ORACLES = Path(__file__).resolve().parents[1] / "tests" / "oracles"
MOST = 1.05
"""goal: how many times as large as after dedup and prune"""
HALF = 0.5
"""goal: compact files against others"""

_SAVE = """
import keyframer, pathlib, sys
for number, path in enumerate(sys.argv[3:]):
    try:
        scene = keyframer.load(path)
    except keyframer.FormatError:
        continue
    for compact in ((False, True) if sys.argv[2] == "both" else (False,)):
        options = {"compact": True} if compact else {}
        place = pathlib.Path(sys.argv[1]) / f"{number:04}{'c' if compact else ''}.glb"
        keyframer.save(scene, place, textures=False, **options)
"""


def real_files(count: int) -> list[Path]:
    """Return about ``count`` files of the corpus, evenly chosen."""
    found = sorted(path for path in CORPUS_3DS.parent.rglob("*") if path.suffix.lower() in (".3ds", ".ase"))
    small = [path for path in found if path.stat().st_size < 3_000_000 and "damaged" not in path.parts]
    return small[:: max(1, len(small) // count)]


def written(files: list[Path], checkout: Path, folder: Path, modes: str) -> list[Path]:
    """Write all files with the sources of a checkout; returns the GLB files that are not compact."""
    environment = {**os.environ, "PYTHONPATH": os.fspath(checkout / "src")}
    command = [sys.executable, "-c", _SAVE, os.fspath(folder), modes, *map(os.fspath, files)]
    subprocess.run(command, check=True, env=environment)
    return sorted(path for path in folder.glob("*.glb") if not path.stem.endswith("c"))


def parts(data: bytes) -> Counter[str]:
    """Return the bytes of JSON, of our extras in it, and of the buffer."""
    length = struct.unpack_from("<I", data, 12)[0]
    text = json.loads(data[20 : 20 + length])
    return Counter(JSON=length, extras=_extras(text), buffer=len(data) - length)


def _extras(value: Any) -> int:
    if isinstance(value, list):
        return sum(map(_extras, value))
    if not isinstance(value, dict):
        return 0
    own = json.dumps(value["extras"], separators=(",", ":"), ensure_ascii=False) if "extras" in value else ""
    return len(own.encode()) + sum(_extras(part) for name, part in value.items() if name != "extras")


def compare(title: str, paths: list[Path]) -> None:
    """Print sizes and ratios of one checkout."""
    sizes = np.array([path.stat().st_size for path in paths], np.float64)
    total = sum((parts(path.read_bytes()) for path in paths), Counter())
    shares = ", ".join(f"{name} {size / sizes.sum():.1%}" for name, size in total.items())
    print(f"  {title}: {len(paths)} files, {int(sizes.sum()):,} bytes ({shares})")
    compact = [path.with_name(f"{path.stem}c.glb") for path in paths]
    if compact[0].exists():
        ratios = np.array([path.stat().st_size for path in compact]) / sizes
        goal = against_goal(float((ratios * sizes).sum() / sizes.sum()), HALF, at_most=True)
        print(f"    compact: {goal}; median file {np.median(ratios):.2f} x")
    completed = subprocess.run(
        ["node", os.fspath(ORACLES / "gltf" / "sizes.mjs")],
        input="".join(f"{path}\n" for path in paths),
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        print("    glTF-Transform is missing: npm install --no-save @gltf-transform/functions@4.5.1 in tests/oracles")
        return
    rows = [json.loads(line) for line in completed.stdout.splitlines()]
    for name, label in (("kept", "dedup and prune"), ("least", "dedup and prune, unused vertex data and leaves too")):
        least = np.array([row[name] for row in rows])
        goal = against_goal(float(sizes.sum() / least.sum()), MOST, at_most=True)
        print(f"    as written / {label}: {goal}; median file {np.median(sizes / least):.3f} x")
    before, after = (sum(row[name] for row in rows) for name in ("before", "after"))
    print(f"    keys: {before:,}, after resample (which adds its own error to ours): {after:,}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--base", type=Path, help="checkout of the commit to compare with")
    options = parser.parse_args()
    headline("Sizes of GLB files")
    files = real_files(options.files)
    if not files:
        print("  no corpus")
        return
    checkouts = [("base", options.base, "one")] if options.base else []
    for name, checkout, modes in [*checkouts, ("this", Path(__file__).resolve().parents[1], "both")]:
        with tempfile.TemporaryDirectory() as folder:
            compare(name, written(files, checkout, Path(folder), modes))


if __name__ == "__main__":
    main()
