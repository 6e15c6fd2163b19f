"""What identifying 1,000 small files of mixed formats costs: work on one core, against only reading their heads.

Goal: under a second of work.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.samples import all_samples

from keyframer.formats import detect
from keyframer.formats.contract import HEAD_SIZE

COUNT = 1_000


def read_heads(paths: list[Path]) -> list[tuple[bytes, int]]:
    heads = []
    for path in paths:
        with open(path, "rb") as stream:
            heads.append((stream.read(HEAD_SIZE), path.stat().st_size))
    return heads


def main() -> None:
    samples = [path for _, path in all_samples()]
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number in range(COUNT):
            source = samples[number % len(samples)]
            path = Path(folder) / f"{number:04}{source.suffix}"
            path.write_bytes(source.read_bytes())
            paths.append(path)
        floor = work = float("inf")
        for _ in range(5):
            start = time.process_time()
            heads = read_heads(paths)
            floor = min(floor, time.process_time() - start)
            start = time.process_time()
            found = [detect(head, size=size).format for head, size in read_heads(paths)]
            work = min(work, time.process_time() - start)
    named = sum(format is not None for format in found)
    print(f"{COUNT} files of {len({format.name for format in found if format})} formats, {named} recognised")
    print(f"opening and reading heads  {floor * 1e3:8.1f} ms")
    print(
        f"identifying                {work * 1e3:8.1f} ms   {work / floor:.1f} x the floor; goal: under 1000 ms of work"
    )
    del heads


if __name__ == "__main__":
    main()
