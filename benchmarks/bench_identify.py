"""Processor time of identifying 1,000 small files of mixed formats, compared with only reading their first bytes.

Goal: under a second.
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
            read_heads(paths)
            floor = min(floor, time.process_time() - start)
            start = time.process_time()
            formats = [detect(head, size=size).format for head, size in read_heads(paths)]
            work = min(work, time.process_time() - start)
    recognised = [format.name for format in formats if format is not None]
    print(f"{COUNT} files of {len(set(recognised))} formats, {len(recognised)} recognised")
    print(f"reading the first bytes    {floor * 1e3:8.1f} ms")
    print(f"identifying                {work * 1e3:8.1f} ms   {work / floor:.1f} x reading; goal: under 1000 ms")


if __name__ == "__main__":
    main()
