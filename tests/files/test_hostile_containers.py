"""Hostile and damaged containers end in one line for each problem, within time and memory."""

from __future__ import annotations

import builtins
import bz2
import gzip
import io
import random
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.files.containers import open_container
from keyframer.limits import MOST_ENTRIES
from tests.building import containers
from tests.cli.running import EXAMPLE, Run

SECTOR = 2048


def both(number: int) -> bytes:
    return struct.pack("<I", number) + struct.pack(">I", number)


def record(name: bytes, sector: int, size: int, *, folder: bool = False) -> bytes:
    """A record of a folder on a disc."""
    body = both(sector) + both(size) + bytes((94, 7, 1, 12, 0, 0, 0, 2 * folder, 0, 0, 1, 0, 0, 1, len(name))) + name
    body += bytes(len(body) % 2)
    return bytes((len(body) + 2, 0)) + body


def disc(*folders: list[bytes], files: bytes = b"") -> bytes:
    """A disc image: folders from sector 18 on, each in a sector of its own, then the contents of files."""
    primary = b"\1CD001\1".ljust(128, b"\0") + struct.pack("<H", SECTOR) + bytes(26)
    primary = (primary + record(b"\0", 18, SECTOR, folder=True)).ljust(SECTOR, b"\0")
    own = [record(b"\0", 18, SECTOR, folder=True), record(b"\1", 18, SECTOR, folder=True)]
    sectors = [b"".join([*own, *records]).ljust(SECTOR, b"\0") for records in folders]
    last = b"\xffCD001\1".ljust(SECTOR, b"\0")
    return bytes(16 * SECTOR) + primary + last + b"".join(sectors) + files


MILL = EXAMPLE.read_bytes()


def one_line(run: Run, path: Path, words: str) -> None:
    ran = run("identify", path)
    assert ran.code == 3
    assert ran.err.count("\n") == 1, ran.err
    assert words in ran.err


def test_discs_whose_folders_contain_themselves(run: Run, tmp_path: Path) -> None:
    top = [record(b"A", 19, SECTOR, folder=True), record(b"M.3DS;1", 20, len(MILL))]
    path = tmp_path / "a.iso"
    path.write_bytes(disc(top, [record(b"UP", 18, SECTOR, folder=True)], files=MILL))
    assert run("identify", path).out.startswith(f"{path}!/M.3DS: 3D Studio")


def test_extents_beyond_the_end(run: Run, tmp_path: Path) -> None:
    top = [record(b"BAD.3DS;1", 1 << 30, 5_000), record(b"LONG.3DS;1", 19, 1 << 31), record(b"M.3DS;1", 19, len(MILL))]
    path = tmp_path / "a.iso"
    path.write_bytes(disc([*top, record(b"FOLDER", 1 << 30, SECTOR, folder=True)], files=MILL))
    ran = run("info", path)
    assert ran.code == 3
    assert "M.3DS" in ran.out
    assert [line.split("!/")[1].split(":")[0] for line in ran.err.splitlines()] == ["FOLDER", "BAD.3DS", "LONG.3DS"]
    assert "LIMIT_" in ran.err.splitlines()[-1]


def test_millions_of_entries(run: Run, tmp_path: Path) -> None:
    """The disc claims ten million files; 200,000 are the limit, and no more of its folder is read."""
    path = tmp_path / "a.iso"
    image = bytearray(disc([]))
    entry = record(b"A.3DS;1", 18, 1)
    count = SECTOR // len(entry)
    sectors = 10_000_000 // count
    at = image.index(b"CD001") - 1 + 156
    image[at : at + 34] = record(b"\0", 18, sectors * SECTOR, folder=True)
    with path.open("wb") as stream:
        stream.write(image[: 18 * SECTOR])
        stream.write((entry * count).ljust(SECTOR, b"\0") * (MOST_ENTRIES // count + 2))
        stream.truncate((18 + sectors) * SECTOR)
    one_line(run, path, "more than 200,000 members")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives_with_too_many_members(run: Run, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "tar":
        path.write_bytes(tarfile.TarInfo("a.3ds").tobuf() * (MOST_ENTRIES + 1) + bytes(1024))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.3ds", b"")
        data = path.read_bytes()
        start, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
        entries = data[start:end] * (MOST_ENTRIES * 2)
        number = struct.pack("<HHII", 0xFFFF, 0xFFFF, len(entries), start)
        path.write_bytes(data[:start] + entries + data[end : end + 8] + number + data[end + 20 :])
    one_line(run, path, "more than 200,000 members")


def test_names_with_control_characters(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    top = [record(b"\x1b[31m\n.3DS;1", 19, len(MILL)), record(b"A/../../B.3DS;1", 19, len(MILL))]
    path.write_bytes(disc(top, files=MILL))
    ran = run("identify", path)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert sorted(line.split("!/")[1].split(":")[0] for line in ran.out.splitlines()) == [
        "A_.._.._B.3DS", "\\x1b[31m\\x0a.3DS",
    ]  # fmt: skip


def test_truncated_and_empty_images(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.iso"
    whole = disc([record(b"M.3DS;1", 19, len(MILL))], files=MILL)
    path.write_bytes(whole[: 18 * SECTOR])
    one_line(run, path, "outside of the image")
    path.write_bytes(whole[:-100])
    assert "outside of the image" in run("info", path).err
    path.write_bytes(disc([]))
    one_line(run, path, "no file with a known extension")


def bombs() -> Iterator[Any]:
    zeros = bytes(50 << 20)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        info = tarfile.TarInfo("a.3ds")
        info.size = len(zeros)
        archive.addfile(info, io.BytesIO(zeros))
    yield pytest.param(gzip.compress(zeros), "a.3ds.gz", id="gzip")
    yield pytest.param(bz2.compress(zeros), "a.3ds.bz2", id="bzip2")
    yield pytest.param(gzip.compress(tar.getvalue()), "a.tgz", id="tar")


@pytest.mark.parametrize(("data", "name"), [*bombs()])
def test_bombs(run: Run, tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    one_line(run, tmp_path / name, "LIMIT_ARCHIVE_BYTES")


def test_links_are_not_followed(run: Run, tmp_path: Path) -> None:
    """Neither inside the archive nor out of it."""
    (tmp_path / "secret.3ds").write_bytes(MILL)
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, target in (("a.3ds", tarfile.SYMTYPE, "../secret.3ds"), ("b.3ds", tarfile.LNKTYPE, "c.3ds")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)
        archive.add(EXAMPLE, "c.3ds")
    ran = run("info", path)
    assert ran.err.count("not followed") == ran.err.count("\n") == 2
    assert "c.3ds" in ran.out
    folder = tmp_path / "disc"
    folder.mkdir()
    (folder / "a.3ds").symlink_to("../secret.3ds")
    containers.MAKERS["iso"](folder, tmp_path / "a.iso")
    one_line_of = run("info", tmp_path / "a.iso")
    assert (one_line_of.code, one_line_of.err.count("\n")) == (3, 1)
    assert "a link, which is not followed" in one_line_of.err


@pytest.mark.parametrize("kind", ["7z", "lzh", "cab", "rar", "ima", "iso", "tgz"])
def test_damaged_containers_raise_nothing_else(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "disc"
    folder.mkdir()
    (folder / "A.3DS").write_bytes(MILL)
    path = tmp_path / f"whole.{kind}"
    containers.MAKERS[kind](folder, path)
    whole = path.read_bytes()
    step = max(1, len(whole) // 40)
    for at in range(0, len(whole), step):
        flipped = bytearray(whole)
        flipped[at] ^= 0xFF
        for data in (bytes(flipped), whole[:at]):
            with suppress(FormatError):
                container = open_container(io.BytesIO(data), len(data))
                for member in container.members:
                    container.read(member)


def test_without_the_extra_one_line_says_what_is_missing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100))

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "libarchive":
            raise ModuleNotFoundError("No module named 'libarchive'")
        return imported(name, *arguments, **options)

    imported = builtins.__import__
    monkeypatch.setattr("keyframer.files.libarchive_archives.import_module", without)
    one_line(run, tmp_path / "a.7z", "pip install keyframer[archives]")


def test_memory_is_that_of_the_largest_member(tmp_path: Path) -> None:
    """An image of 200 MB is searched and a member converted with a small part of its size."""
    path = tmp_path / "a.iso"
    at = 19 + (200 << 20) // SECTOR
    with path.open("wb") as stream:
        stream.write(disc([record(b"BIG.AVI;1", 19, 200 << 20), record(b"M.3DS;1", at, len(MILL))]))
        stream.seek(at * SECTOR)
        stream.write(MILL)
    program = (
        "import resource, sys; import keyframer; from keyframer.cli import main\n"
        "keyframer.load(sys.argv[2]); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert main(['info', sys.argv[1]]) == 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    ran = subprocess.run([sys.executable, "-c", program, path, EXAMPLE], capture_output=True, check=True)
    assert int(ran.stdout.split()[-1]) < 60_000, ran.stdout  # kilobytes


def test_budget_of_nested_archives_is_that_of_the_outermost(run: Run, tmp_path: Path) -> None:
    """A zip in a zip may unpack to 16 times the bytes that it takes in the outer one, not 16 times 16."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a.3ds", bytes(30 << 20))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("noise.bin", random.Random(1).randbytes(2 << 20))
        archive.writestr("in.zip", inner.getvalue())
    assert "LIMIT_ARCHIVE_BYTES" in run("info", tmp_path / "a.zip").err
    with pytest.raises(FormatError, match="unpacked members"):
        keyframer.load(f"{tmp_path}/a.zip!/in.zip!/a.3ds")


def test_floppy_whose_files_and_folders_share_clusters(run: Run, tmp_path: Path) -> None:
    """Every cluster leads to the first, every entry claims 4 GB or is a folder: listing takes linear time."""
    boot = bytearray(512)
    boot[:3], boot[510:] = b"\xeb\x3c\x90", b"\x55\xaa"
    struct.pack_into("<HBHBHHBH", boot, 11, 512, 1, 1, 2, 16 * 200, 2880, 0xF0, 9)
    entries = bytearray()
    for number in range(16 * 200):
        kind, size = (0x10, 0) if number % 2 else (0x20, 0xFFFFFFFF)
        entries += b"%-8d3DS" % number + bytes([kind]) + bytes(14) + struct.pack("<HI", 2 + number % 2000, size)
    table = (b"\x02\x20\x00" * 1536).ljust(9 * 512, b"\0")[: 9 * 512]
    path = tmp_path / "a.ima"
    path.write_bytes((bytes(boot) + table * 2 + bytes(entries)).ljust(2880 * 512, b"\x20"))
    one_line(run, path, "disc image")
