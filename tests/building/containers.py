"""Containers of every kind, made from the files of a folder by the programs that make them, or by Python."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
import subprocess
import tarfile
import zipfile
from binascii import crc32
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Maker = Callable[[Path, Path], None]
"""packs a folder into a file"""


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def zipped(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files_of(folder):
            archive.write(file, name)


def tar(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        for name, file in files_of(folder):
            archive.add(file, name)


def by_program(program: str, *arguments: str, inside: bool = False) -> Maker:
    """Return a maker that runs a program. OUT and FOLDER are replaced; ``inside``: it runs in the folder, with the
    names in it instead of FILES."""

    def make(folder: Path, path: Path) -> None:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is missing (tools/install_test_tools.sh installs it where it may)")
        values = {"OUT": [str(path)], "FOLDER": [str(folder)], "FILES": sorted(os.listdir(folder)) if inside else []}
        line = [word for argument in arguments for word in values.get(argument, [argument])]
        subprocess.run([program, *line], cwd=folder if inside else None, check=True, capture_output=True)

    return make


def floppy(folder: Path, path: Path) -> None:
    """A FAT image: 1.44 MB, or larger if the path says so (``fat16``, ``fat32``)."""
    if shutil.which("mformat") is None or shutil.which("mkfs.fat") is None:
        pytest.skip("mtools and dosfstools are missing (tools/install_test_tools.sh installs them where it may)")
    kilobytes, bits = {"fat16": (20_000, "16"), "fat32": (40_000, "32")}.get(path.stem, (1440, "12"))
    path.write_bytes(b"")
    subprocess.run(["mkfs.fat", "-C", "-F", bits, f"{path}.new", str(kilobytes)], check=True, capture_output=True)
    os.replace(f"{path}.new", path)
    names = [str(child) for child in sorted(folder.iterdir())]
    subprocess.run(["mcopy", "-s", "-m", "-i", str(path), *names, "::"], check=True, capture_output=True)


def rar(folder: Path, path: Path) -> None:
    """A RAR archive of version 2.0 with stored files: no free program writes RAR."""

    def block(kind: int, flags: int, body: bytes) -> bytes:
        rest = struct.pack("<BHH", kind, flags, 7 + len(body)) + body
        return struct.pack("<H", crc32(rest) & 0xFFFF) + rest

    data = b"Rar!\x1a\7\0" + block(0x73, 0, bytes(6))
    for name, file in files_of(folder):
        raw, content = name.replace("/", "\\").encode(), file.read_bytes()
        numbers = (len(content), len(content), 0, crc32(content), 0x1CE1_6000, 20, 0x30, len(raw), 0x20)
        data += block(0x74, 0x8000, struct.pack("<IIBIIBBHI", *numbers) + raw) + content
    path.write_bytes(data + block(0x7B, 0x4000, b""))


def raw_sectors(folder: Path, path: Path) -> None:
    """A disc as it is on the medium: 2,352 bytes in each sector."""
    MAKERS["iso"](folder, path)
    data = path.read_bytes()
    sync = b"\0" + b"\xff" * 10 + b"\0"
    path.write_bytes(b"".join(sync + bytes(4) + data[at : at + 2048] + bytes(288) for at in range(0, len(data), 2048)))


def unpacking_itself(kind: str) -> Maker:
    def make(folder: Path, path: Path) -> None:
        MAKERS[kind](folder, path)
        path.write_bytes(b"MZ" + bytes(30_000) + path.read_bytes())

    return make


MAKERS: dict[str, Maker] = {
    "zip": zipped,
    "tar": tar,
    "tgz": tar,
    "iso": by_program("genisoimage", "-quiet", "-J", "-R", "-o", "OUT", "FOLDER"),
    "joliet.iso": by_program("genisoimage", "-quiet", "-J", "-o", "OUT", "FOLDER"),
    "dos.iso": by_program("genisoimage", "-quiet", "-iso-level", "2", "-o", "OUT", "FOLDER"),
    "xorriso.iso": by_program("xorriso", "-outdev", "OUT", "-map", "FOLDER", "/"),
    "bin": raw_sectors,
    "ima": floppy,
    "lzh": by_program("jlha", "aq", "OUT", "FILES", inside=True),
    "cab": by_program("gcab", "-n", "-c", "OUT", "FILES", inside=True),
    "7z": by_program("7zz", "a", "OUT", "FILES", inside=True),
    "rar": rar,
    "zip.exe": unpacking_itself("zip"),
    "lzh.exe": unpacking_itself("lzh"),
    "rar.exe": unpacking_itself("rar"),
}
"""by the ending of the file that they make"""


def gzipped(data: bytes, name: str, path: Path) -> None:
    with path.open("wb") as stream, gzip.GzipFile(name, "wb", fileobj=stream) as packed:
        packed.write(data)
