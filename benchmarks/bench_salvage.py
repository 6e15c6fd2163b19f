"""How much comes back from damaged 3D Studio files: Keyframer with salvage, assimp and lib3ds.

Real files are damaged in seven ways, from a fixed seed. Each reader reads each damaged file in a separate process, with
two seconds of processor time and 2 GiB of address space. Counted are meshes with faces, nodes and keys, as a share of
what the same reader reads from the undamaged file (at most all of it, for each file). A reader that crashes, hangs or
refuses a file gets nothing from it.

Usage: python -m benchmarks.bench_salvage [--files N] [--seed S] [--corpus FOLDER]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import keyframer

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus" / "3ds"
SECONDS, MEMORY = 2, 2 << 30
SECTOR = 512
LARGEST = 1 << 20
PARTS = ("meshes", "nodes", "keys")
Counts = tuple[int, int, int]


# -- damage -----------------------------------------------------------------------------------------------------------


def truncated(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(1, len(data))]


def flipped(data: bytes, random: Random) -> bytes:
    """Flip one bit in every 10,000 bytes, at least one."""
    changed = bytearray(data)
    for _ in range(1 + len(data) // 10_000):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _sector(data: bytes, random: Random) -> tuple[int, int]:
    """Return start and end of a sector after the first; in small files of an eighth of the file."""
    size = min(SECTOR, 1 + len(data) // 8)
    start = random.randrange(1, max(2, len(data) // size)) * size
    return start, start + size


def zeroed(data: bytes, random: Random) -> bytes:
    start, end = _sector(data, random)
    return data[:start] + bytes(len(data[start:end])) + data[end:]


def lost(data: bytes, random: Random) -> bytes:
    start, end = _sector(data, random)
    return data[:start] + data[end:]


def doubled(data: bytes, random: Random) -> bytes:
    start, end = _sector(data, random)
    return data[:end] + data[start:]


def cr_added(data: bytes, random: Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def cr_removed(data: bytes, random: Random) -> bytes:
    return data.replace(b"\r\n", b"\n")


DAMAGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "truncated": truncated,
    "bits flipped": flipped,
    "sector zeroed": zeroed,
    "sector lost": lost,
    "sector twice": doubled,
    "CR added": cr_added,
    "CR removed": cr_removed,
}


# -- readers ----------------------------------------------------------------------------------------------------------


def ours(path: Path) -> Counts:
    """Return the parts of the clean file that salvage makes."""
    scene = keyframer.load(keyframer.salvage(path, format="3ds").data, format="3ds")
    keys = sum(len(channel.track.times) for clip in scene.clips for channel in clip.channels)
    return sum(len(mesh.corners) > 0 for mesh in scene.meshes), len(scene.nodes), keys


def keyframer_counts(path: Path) -> Counts | None:
    """Run `ours` in a child process."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _limit()
            os.write(sender, " ".join(map(str, ours(path))).encode())
        except keyframer.FormatError:
            pass
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return _counts(text)


def peer_counts(program: Path, reader: str, path: Path) -> Counts | None:
    done = subprocess.run([program, reader, path], capture_output=True, preexec_fn=_limit, check=False)
    return _counts(done.stdout) if done.returncode == 0 else None


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _counts(text: bytes) -> Counts | None:
    numbers = tuple(map(int, text.split()))
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == 3 else None


def build_peers(folder: Path) -> Path | None:
    """Compile the program that counts with assimp and lib3ds; None if that is not possible."""
    program = folder / "count_parts"
    source = Path(__file__).parent / "count_parts.c"
    command = ["gcc", "-O2", "-o", program, source, "-l3ds", "-lassimp", "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return program if done.returncode == 0 else None


def valid_files(corpus: Path, count: int) -> list[Path]:
    """Return files of the corpus that load, evenly spread over their names."""
    files = []
    for path in sorted(path for path in corpus.glob("*") if path.suffix.lower() == ".3ds"):
        try:
            if path.stat().st_size <= LARGEST and keyframer.load(path).meshes:
                files.append(path)
        except keyframer.FormatError:
            continue
    return files[:: max(1, len(files) // count)][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    options = parser.parse_args()
    sources = valid_files(options.corpus, options.files)
    if not sources:
        sys.exit(f"no 3D Studio files in {options.corpus}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        readers: dict[str, Callable[[Path], Counts | None]] = {"Keyframer": keyframer_counts}
        program = build_peers(folder)
        if program is None:
            print("assimp and lib3ds are not installed")
        else:
            readers |= {peer: partial(peer_counts, program, peer) for peer in ("assimp", "lib3ds")}
        print(f"{len(sources)} files, each damaged in {len(DAMAGES)} ways, seed {options.seed}")
        print("| damage | reader | files with content | meshes | nodes | keys |\n| --- | --- | --- | --- | --- | --- |")
        whole = {title: [count(path) or (0, 0, 0) for path in sources] for title, count in readers.items()}
        for damage, apply in DAMAGES.items():
            files = []
            for number, path in enumerate(sources):
                damaged = folder / f"{number}.3ds"
                damaged.write_bytes(apply(path.read_bytes(), Random(f"{options.seed}/{damage}/{number}")))
                files.append(damaged)
            for title, count in readers.items():
                print(f"| {damage} | {title} | {_shares([count(path) for path in files], whole[title])} |", flush=True)


def _shares(found: list[Counts | None], whole: list[Counts]) -> str:
    """Return the cells of a row: files with any content, and the share of each part."""
    pairs = [(counts or (0, 0, 0), expected) for counts, expected in zip(found, whole, strict=True)]
    kept = [list(map(min, counts, expected)) for counts, expected in pairs]
    cells = [f"{sum(any(counts) for counts in kept)} of {len(kept)}"]
    for part in range(len(PARTS)):
        total = sum(counts[part] for counts in whole)
        cells.append(f"{100 * sum(counts[part] for counts in kept) / total:.1f} %" if total else "–")
    return " | ".join(cells)


if __name__ == "__main__":
    main()
