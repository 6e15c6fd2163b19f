"""Galleries: files of the corpus, and small generated files; files per second, size, memory, and a second run.

    .venv/bin/python -m benchmarks.bench_gallery --files 1000 --place /dev/shm

The files of the corpus are evenly spread over the sorted names, so that a part of them is like the whole.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks._timing import corpus_files
from benchmarks.bench_batch import batch, new_folder
from benchmarks.bench_catalogue import generate


def gallery(title: str, source: Path, place: Path, count: int) -> None:
    """Make a gallery, and run it again."""
    site = new_folder(place)
    print(f"{title}, {count:,} files")
    first, _, peak = batch("gallery", source, site)
    size = sum(path.stat().st_size for path in (site / "files").rglob("*") if path.is_file())
    index = (site / "gallery" / "data.js").stat().st_size
    print(f"  first run  {first:7.1f} s, {count / first:.1f} files per second; largest process {peak / 1e6:.0f} MB")
    print(f"  {size / count:,.0f} bytes per file, and {index / count:,.0f} in the index")
    second, _, peak = batch("gallery", source, site)
    print(f"  second run {second:7.1f} s; largest process {peak / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200, help="number of files of each kind (default: 200)")
    parser.add_argument("--place", help="folder for temporary files (default: that of the system)")
    options = parser.parse_args()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="keyframer-bench-", dir=options.place) as folder:
        place = Path(folder)
        corpus = corpus_files()
        taken = corpus[:: max(1, len(corpus) // options.files)][: options.files]
        if taken:
            source = new_folder(place)
            for number, path in enumerate(taken):
                shutil.copyfile(path, source / f"{number:06}-{path.name}")
            gallery("corpus", source, place, len(taken))
        source = new_folder(place)
        generate(source, options.files)
        gallery("generated", source, place, options.files)


if __name__ == "__main__":
    main()
