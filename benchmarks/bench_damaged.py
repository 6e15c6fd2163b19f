"""What damaged 3D Studio files do to readers: Keyframer, assimp and lib3ds, on the same files from a fixed seed.

Each file is loaded in a process of its own with two seconds of the processor and 2 GiB of address space. Every file is
damaged where a reader can notice it: cut, a bit flipped in an id or a length, a count or a length replaced, or nested
without end. A reader that accepts a file has said something if it says anything that it does not say of the sound file.
Peers are Debian's libassimp and lib3ds, called through ctypes; one that is missing is left out.

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
"""valid 3D Studio files with meshes, accepted by every reader here"""
SECONDS = 2
MEMORY = 2 << 30
BLOW_UP = 300 << 20

SILENT, TOLD, REFUSED, PLACED, NO_MEMORY = 0, 10, 11, 12, 13
"""exit codes of children that end by themselves"""
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
"""chunks that begin with a count, with its offset and type"""
COUNTS |= dict.fromkeys(range(0xB020, 0xB02A), (16, "<I"))


# -- files ------------------------------------------------------------------------------------------------------------


def chunks(data: bytes) -> list[int]:
    """Return the start of every chunk that Keyframer knows."""
    todo, found = list(keyframer.decode(data, format="3ds").records), []
    while todo:
        record = todo.pop()
        todo += record.children
        if record.offset is not None:
            found.append(record.offset)
    return sorted(found)


def cut(data: bytes, places: list[int], random: Random) -> bytes:
    return data[: random.randrange(6, len(data))]


def flipped(data: bytes, places: list[int], random: Random) -> bytes:
    at = random.choice(places) + random.randrange(6)
    changed = bytearray(data)
    changed[at] ^= 1 << random.randrange(8)
    return bytes(changed)


def huge_count(data: bytes, places: list[int], random: Random) -> bytes:
    counted = [at for at in places if struct.unpack_from("<H", data, at)[0] in COUNTS]
    at = random.choice(counted)
    offset, form = COUNTS[struct.unpack_from("<H", data, at)[0]]
    most = (1 << 8 * struct.calcsize(form)) - 1
    value = random.choice(
        (most, most - 1, most // 2, most // 2 + 1, most // 3, most // 12 + 1, random.randrange(1_000, most))
    )
    changed = bytearray(data)
    struct.pack_into(form, changed, at + offset, value)
    return bytes(changed)


def wrong_length(data: bytes, places: list[int], random: Random) -> bytes:
    at = random.choice(places)
    old = struct.unpack_from("<I", data, at + 2)[0]
    near = (old + random.choice((-3, -2, -1, 1, 2, 7, 1_000))) & 0xFFFFFFFF
    value = random.choice((0, 1, 5, near, near, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(data), 2 * old + 1))
    return data[: at + 2] + struct.pack("<I", value) + data[at + 6 :]


def nested(data: bytes, places: list[int], random: Random) -> bytes:
    """Return chunks nested in chunks: the editor in itself, objects in objects, materials, unknown ids."""
    depth = random.choice((20, 100, 1_000, 10_000))
    name = b"x\0" if random.random() < 0.5 else b""
    identity = random.choice((0x3D3D, 0x4000, 0xAFFF, 0xB002, 0x4D4D, 0x4100, 0x7777))
    inside, parts = 6 + len(name), []
    for level in range(depth):
        parts.append(struct.pack("<HI", identity, inside * (depth - level)) + name)
    whole = struct.pack("<HI", 0x3D3D, 6 + inside * depth) + b"".join(parts)
    return struct.pack("<HI", 0x4D4D, 6 + len(whole)) + whole


Damage = Callable[[bytes, list[int], Random], bytes]
DAMAGES: dict[str, Damage] = {
    "truncated": cut,
    "bit flipped": flipped,
    "huge count": huge_count,
    "wrong length": wrong_length,
    "deep nesting": nested,
}


@dataclass(frozen=True)
class Damaged:
    damage: str
    path: Path
    sound: Path


def sound_files(folder: Path) -> list[Path]:
    found = []
    for number, name in enumerate(SOURCES):
        path = folder / f"sound{number}.3ds"
        keyframer.save(keyframer.load(ROOT / name), path)
        found.append(path)
    return found


def make_files(folder: Path, sound: list[Path], count: int, seed: str) -> list[Damaged]:
    """Return the same number of files for each damage, all different from their source."""
    sources = [path.read_bytes() for path in sound]
    places = [chunks(data) for data in sources]
    made: list[Damaged] = []
    for number in range(count):
        title = list(DAMAGES)[number % len(DAMAGES)]
        random = Random(f"{seed}/{number}")
        at = random.randrange(len(sources))
        data = sources[at]
        while data == sources[at]:
            data = DAMAGES[title](sources[at], places[at], random)
        path = folder / f"{number:04}.3ds"
        path.write_bytes(data)
        made.append(Damaged(title, path, sound[at]))
    return made


# -- readers ----------------------------------------------------------------------------------------------------------


Load = Callable[[Path], tuple[int, set[str]]]
"""how it ended, and the messages about an accepted file"""


def ours(path: Path) -> tuple[int, set[str]]:
    try:
        scene = keyframer.load(path, format="3ds")
    except keyframer.FormatError as error:
        return (PLACED if error.path else REFUSED), set()
    except MemoryError:
        return NO_MEMORY, set()
    return SILENT, {issue.code for issue in scene.issues}


class LogStream(ctypes.Structure):
    _fields_ = (("callback", ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p)), ("user", ctypes.c_char_p))


def assimp() -> Load | None:
    """Load with assimp: its log has warnings; a refusal has a text without a location in the file."""
    name = ctypes.util.find_library("assimp")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    library.aiImportFile.restype = ctypes.c_void_p

    def load(path: Path) -> tuple[int, set[str]]:
        said: set[str] = set()

        def hear(text: bytes, _: object) -> None:
            if text.startswith((b"Warn", b"Error")):
                said.add(text.decode("latin-1").partition(":")[2])

        stream = LogStream(LogStream._fields_[0][1](hear), None)
        library.aiAttachLogStream(ctypes.byref(stream))
        scene = library.aiImportFile(os.fsencode(path), 0)
        library.aiDetachLogStream(ctypes.byref(stream))
        return (SILENT, said) if scene else (REFUSED, said)

    return load


def lib3ds() -> Load | None:
    """Load with lib3ds, which has no messages."""
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


def outcome(load: Load, path: Path, sound: Path) -> str:
    """Load in a child process; returns how it ended."""
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
            usual = load(sound)[1]
            code, said = load(path)
            code = TOLD if code == SILENT and said - usual else code
        finally:
            os._exit(code)
    _, status, used = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        return "hung" if used.ru_utime + used.ru_stime >= SECONDS - 0.5 else "crashed"
    code = os.WEXITSTATUS(status)
    if code == NO_MEMORY or used.ru_maxrss * 1024 - before > BLOW_UP:
        return "out of memory"
    return {SILENT: COLUMNS[3], TOLD: COLUMNS[4], REFUSED: COLUMNS[5], PLACED: COLUMNS[6]}.get(code, "crashed")


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
        sound = sound_files(Path(name))
        files = make_files(Path(name), sound, options.files, options.seed)
        print(f"{len(files)} files, seed {options.seed}")
        print(f"| reader | damage | {' | '.join(COLUMNS)} |\n{'| --- ' * (len(COLUMNS) + 2)}|", flush=True)
        for title in options.reader:
            load = readers[title]
            if load is None:
                print(f"| {title} | not on this machine |")
                continue
            table = {"none": Counter(outcome(load, path, path) for path in sound)}
            for damage in options.damage:
                table[damage] = Counter(outcome(load, each.path, each.sound) for each in files if each.damage == damage)
            table["all"] = sum((table[damage] for damage in options.damage), Counter())
            for damage, found in table.items():
                cells = " | ".join(str(found[column]) for column in COLUMNS)
                print(f"| {title} | {damage} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
