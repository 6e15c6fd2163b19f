"""Damaged 3D Studio files from a fixed seed, read by Keyframer, assimp and lib3ds.

Each file is loaded in a separate process with two seconds of processor time and 2 GiB of address space. All damage is
detectable: the file is truncated, a bit of an id or a length is flipped, a count or a length is replaced, or chunks are
nested deeply. "With a message" means a message that the undamaged file does not cause. Peers are Debian's libassimp and
lib3ds, called through ctypes; one that is missing is left out.

Usage: python -m benchmarks.bench_damaged [--files N] [--seed S] [--reader NAME …] [--damage NAME …]
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import os
import resource
import struct
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import keyframer

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("examples/windmill.3ds", "tests/samples/uto3d/maxscript.u3d", "tests/samples/hale3d/arm-nul-ended.mdl")
"""scenes with meshes; saved as 3D Studio files, they are accepted by every reader here"""
SECONDS = 2
MEMORY = 2 << 30
MOST_GROWTH = 300 << 20

SILENT, WITH_MESSAGE, REFUSED, LOCATED, NO_MEMORY = 0, 10, 11, 12, 13
"""exit codes of child processes that are not killed"""
COLUMNS = (
    "crashed",
    "hung",
    "out of memory",
    "accepted silently",
    "accepted with a message",
    "refused",
    "refused with location",
)
COUNTS = {0x4110: (6, "<H"), 0x4120: (6, "<H"), 0x4140: (6, "<H"), 0x4111: (6, "<H")}
"""chunks with a count: its offset in the chunk and its type"""
COUNTS |= dict.fromkeys(range(0xB020, 0xB02A), (16, "<I"))


# -- files ------------------------------------------------------------------------------------------------------------


def chunk_offsets(data: bytes) -> list[int]:
    """Return the offset of every chunk that Keyframer reads."""
    waiting, offsets = list(keyframer.decode(data, format="3ds").records), []
    while waiting:
        record = waiting.pop()
        waiting += record.children
        if record.offset is not None:
            offsets.append(record.offset)
    return sorted(offsets)


def truncated(data: bytes, offsets: list[int], random: Random) -> bytes:
    return data[: random.randrange(6, len(data))]


def bit_flipped(data: bytes, offsets: list[int], random: Random) -> bytes:
    at = random.choice(offsets) + random.randrange(6)
    changed = bytearray(data)
    changed[at] ^= 1 << random.randrange(8)
    return bytes(changed)


def huge_count(data: bytes, offsets: list[int], random: Random) -> bytes:
    counted = [at for at in offsets if struct.unpack_from("<H", data, at)[0] in COUNTS]
    at = random.choice(counted)
    offset, layout = COUNTS[struct.unpack_from("<H", data, at)[0]]
    most = (1 << 8 * struct.calcsize(layout)) - 1
    value = random.choice(
        (most, most - 1, most // 2, most // 2 + 1, most // 3, most // 12 + 1, random.randrange(1_000, most))
    )
    changed = bytearray(data)
    struct.pack_into(layout, changed, at + offset, value)
    return bytes(changed)


def wrong_length(data: bytes, offsets: list[int], random: Random) -> bytes:
    at = random.choice(offsets)
    old = struct.unpack_from("<I", data, at + 2)[0]
    near = (old + random.choice((-3, -2, -1, 1, 2, 7, 1_000))) & 0xFFFFFFFF
    value = random.choice((0, 1, 5, near, near, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(data), 2 * old + 1))
    return data[: at + 2] + struct.pack("<I", value) + data[at + 6 :]


def deeply_nested(data: bytes, offsets: list[int], random: Random) -> bytes:
    """Return a file of chunks with one id, each inside the previous one."""
    depth = random.choice((20, 100, 1_000, 10_000))
    name = b"x\0" if random.random() < 0.5 else b""
    chunk_id = random.choice((0x3D3D, 0x4000, 0xAFFF, 0xB002, 0x4D4D, 0x4100, 0x7777))
    size, parts = 6 + len(name), []
    for level in range(depth):
        parts.append(struct.pack("<HI", chunk_id, size * (depth - level)) + name)
    editor = struct.pack("<HI", 0x3D3D, 6 + size * depth) + b"".join(parts)
    return struct.pack("<HI", 0x4D4D, 6 + len(editor)) + editor


Damage = Callable[[bytes, list[int], Random], bytes]
DAMAGES: dict[str, Damage] = {
    "truncated": truncated,
    "bit flipped": bit_flipped,
    "huge count": huge_count,
    "wrong length": wrong_length,
    "deep nesting": deeply_nested,
}


@dataclass(frozen=True)
class DamagedFile:
    damage: str
    path: Path
    valid: Path


def valid_files(folder: Path) -> list[Path]:
    """Save the sources as 3D Studio files."""
    files = []
    for number, name in enumerate(SOURCES):
        path = folder / f"valid{number}.3ds"
        keyframer.save(keyframer.load(ROOT / name), path)
        files.append(path)
    return files


def make_files(folder: Path, valid: list[Path], count: int, seed: str) -> list[DamagedFile]:
    """Write the same number of files with each kind of damage, all different from their source."""
    sources = [path.read_bytes() for path in valid]
    offsets = [chunk_offsets(data) for data in sources]
    files: list[DamagedFile] = []
    for number in range(count):
        damage = list(DAMAGES)[number % len(DAMAGES)]
        random = Random(f"{seed}/{number}")
        chosen = random.randrange(len(sources))
        data = sources[chosen]
        while data == sources[chosen]:
            data = DAMAGES[damage](sources[chosen], offsets[chosen], random)
        path = folder / f"{number:04}.3ds"
        path.write_bytes(data)
        files.append(DamagedFile(damage, path, valid[chosen]))
    return files


# -- readers ----------------------------------------------------------------------------------------------------------


Load = Callable[[Path], tuple[int, set[str]]]
"""loads a file; returns one of the exit codes, and the messages about an accepted file"""


def ours(path: Path) -> tuple[int, set[str]]:
    try:
        scene = keyframer.load(path, format="3ds")
    except keyframer.FormatError as error:
        return (LOCATED if error.path else REFUSED), set()
    except MemoryError:
        return NO_MEMORY, set()
    return SILENT, {issue.code for issue in scene.issues}


class LogStream(ctypes.Structure):
    _fields_ = (("callback", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)), ("user", ctypes.c_char_p))


def assimp() -> Load | None:
    """Return a function that loads with assimp. Warnings are in its log; refusals have no location in the file."""
    name = ctypes.util.find_library("assimp")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.aiImportFile.restype = ctypes.c_void_p

    def load(path: Path) -> tuple[int, set[str]]:
        messages: set[str] = set()

        def log(text: bytes, _: object) -> None:
            if text.startswith((b"Warn", b"Error")):
                messages.add(text.decode("latin-1").partition(":")[2])

        stream = LogStream(LogStream._fields_[0][1](log), None)
        library.aiAttachLogStream(ctypes.byref(stream))
        scene = library.aiImportFile(os.fsencode(path), 0)
        library.aiDetachLogStream(ctypes.byref(stream))
        return (SILENT, messages) if scene else (REFUSED, messages)

    return load


def lib3ds() -> Load | None:
    """Return a function that loads with lib3ds, which has no messages."""
    name = ctypes.util.find_library("3ds-1") or ctypes.util.find_library("3ds")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.lib3ds_file_load.restype = ctypes.c_void_p
    library.lib3ds_file_free.argtypes = (ctypes.c_void_p,)

    def load(path: Path) -> tuple[int, set[str]]:
        file = library.lib3ds_file_load(os.fsencode(path))
        if not file:
            return REFUSED, set()
        library.lib3ds_file_free(file)
        return SILENT, set()

    return load


def outcome(load: Load, path: Path, valid: Path) -> str:
    """Load a file in a child process; returns the column of the table that counts this result."""
    before = _resident()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            expected = load(valid)[1]
            code, messages = load(path)
            code = WITH_MESSAGE if code == SILENT and messages - expected else code
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        return "hung" if used.ru_utime + used.ru_stime >= SECONDS - 0.5 else "crashed"
    code = os.WEXITSTATUS(status)
    if code == NO_MEMORY or used.ru_maxrss * 1024 - before > MOST_GROWTH:
        return "out of memory"
    return {SILENT: COLUMNS[3], WITH_MESSAGE: COLUMNS[4], REFUSED: COLUMNS[5], LOCATED: COLUMNS[6]}.get(code, "crashed")


def _resident() -> int:
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_200)
    parser.add_argument("--seed", default="0")
    readers: dict[str, Load | None] = {"Keyframer": ours, "assimp": assimp(), "lib3ds": lib3ds()}
    parser.add_argument("--reader", nargs="+", choices=readers, default=list(readers))
    parser.add_argument("--damage", nargs="+", choices=DAMAGES, default=list(DAMAGES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        valid = valid_files(Path(name))
        files = make_files(Path(name), valid, options.files, options.seed)
        print(f"{len(files)} files, seed {options.seed}")
        print(f"| reader | damage | {' | '.join(COLUMNS)} |\n{'| --- ' * (len(COLUMNS) + 2)}|", flush=True)
        for title in options.reader:
            load = readers[title]
            if load is None:
                print(f"| {title} | not installed |")
                continue
            table = {"none": Counter(outcome(load, path, path) for path in valid)}
            for damage in options.damage:
                table[damage] = Counter(outcome(load, file.path, file.valid) for file in files if file.damage == damage)
            table["all"] = sum((table[damage] for damage in options.damage), Counter())
            for damage, counts in table.items():
                cells = " | ".join(str(counts[column]) for column in COLUMNS)
                print(f"| {title} | {damage} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
