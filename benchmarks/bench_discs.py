"""A disc image of 600 MB with 2,000 files, of which 300 are scenes: listing, catalogue and gallery of the image,
against unpacking it with 7-Zip and doing the same with the folder.

    .venv/bin/python -m benchmarks.bench_discs

The scenes are files of the corpus, or generated ones without it; the other files are random bytes.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from benchmarks._timing import corpus_files, headline
from benchmarks.bench_catalogue import generated_file
from tools.batch_torture import START

SCENES, OTHERS = 300, 1_700


def make_folder(folder: Path, megabytes: int) -> None:
    """Write the files of the disc: fifty scenes in a folder, among files of other kinds."""
    scenes = [path.read_bytes() for path in corpus_files()[:SCENES] if path.stat().st_size < 1_000_000]
    scenes += [generated_file(number, b"Part%d" % number) for number in range(SCENES - len(scenes))]
    draw = random.Random(1)
    size = (megabytes * 1_000_000 - sum(map(len, scenes))) // OTHERS
    for number in range(SCENES + OTHERS):
        place = folder / f"DIR{number % 40:02}"
        place.mkdir(parents=True, exist_ok=True)
        is_scene = number < SCENES
        data = scenes[number] if is_scene else draw.randbytes(size)
        (place / (f"SCENE{number:03}.3DS" if is_scene else f"FILE{number:04}.DAT")).write_bytes(data)


def measured(*command: str | Path) -> tuple[float, float, float]:
    """Run a command; returns seconds, seconds of processor time of all its processes, and megabytes of the largest of
    them, both as far as looking at them fifty times a second tells.
    """
    begin, work, largest = time.perf_counter(), dict[int, float](), 0
    with psutil.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with suppress(psutil.Error):
                for each in (process, *process.children(recursive=True)):
                    times = each.cpu_times()
                    work[each.pid] = times.user + times.system
                    largest = max(largest, each.memory_info().rss)
            time.sleep(0.02)
    return time.perf_counter() - begin, sum(work.values()), largest / 1e6


def show(title: str, result: tuple[float, float, float]) -> None:
    seconds, work, peak = result
    print(f"  {title:<32} {seconds:7.1f} s   {work:7.1f} s of processor time   largest process {peak:5.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=600, help="size of the image (default: 600)")
    parser.add_argument("--gallery", action="store_true", help="also make galleries, which takes minutes")
    parser.add_argument("--place", help="folder for temporary files (default: that of the system)")
    options = parser.parse_args()
    if shutil.which("genisoimage") is None or shutil.which("7zz") is None:
        sys.exit("needs Debian's genisoimage and 7zip")
    headline(f"Disc image of {options.megabytes} MB, {SCENES + OTHERS:,} files, {SCENES} of them scenes")
    with tempfile.TemporaryDirectory(prefix="keyframer-bench-", dir=options.place) as folder:
        place = Path(folder)
        make_folder(place / "disc", options.megabytes)
        image = place / "disc.iso"
        subprocess.run(["genisoimage", "-quiet", "-J", "-R", "-o", image, place / "disc"], check=True)
        shutil.rmtree(place / "disc")
        program = (sys.executable, "-c", START)
        show("image: list (identify)", measured(*program, "identify", image))
        show("image: catalogue", measured(*program, "batch", "catalogue", image, "-o", place / "image.sqlite"))
        if options.gallery:
            show("image: gallery", measured(*program, "batch", "gallery", image, "-o", place / "image"))
        show("unpack", measured("7zz", "x", f"-o{place / 'unpacked'}", image))
        source = place / "unpacked"
        show("folder: list (identify -r)", measured(*program, "identify", "-r", source))
        show("folder: catalogue", measured(*program, "batch", "catalogue", source, "-o", place / "folder.sqlite"))
        if options.gallery:
            show("folder: gallery", measured(*program, "batch", "gallery", source, "-o", place / "folder"))


if __name__ == "__main__":
    main()
