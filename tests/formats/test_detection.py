"""Detection across formats: none takes another's files, and none takes what is lying about on any machine."""

from __future__ import annotations

import os
import random
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import keyframer
from keyframer.formats import FORMATS
from tests.formats.hale3d import writer as hale3d
from tests.formats.midtown import writer as midtown
from tests.samples import all_samples
from tests.slow import SLOW

MOST_FILES = 4_000 if SLOW else 800
HEAD = 4096


@pytest.mark.parametrize("name", ["", "x.anim", "x.mdl", "x.3ds", "x.prj", "x.txt", "anim"])
def test_the_extension_never_changes_the_format(name: str) -> None:
    for expected, path in all_samples():
        data = path.read_bytes()
        found = keyframer.detect(data, name=name)
        assert found.format is not None
        assert found.format.name == expected
        assert keyframer.detect(data[:HEAD], size=len(data), name=name).format is found.format


def test_no_bytes_are_an_empty_file_whatever_size_is_claimed() -> None:
    for size in (None, 0, 100):
        found = keyframer.detect(b"", size=size, name="a.nanim")
        assert (found.format, found.reason) == (None, "an empty file (0 bytes)")


def test_two_formats_called_anim_are_told_apart() -> None:
    clips = [midtown.retail(midtown.walk(frames, bones)) for frames in (1, 7, 90) for bones in (1, 19)]
    clips += [midtown.old(midtown.walk(6, 19)), midtown.beta(6, midtown.channel(midtown.walk(6, 19)))]
    animations = [text_layout(kind) for kind in hale3d.TEXTS.values() for text_layout in (hale3d.wave, hale3d.arm)]
    for expected, files in (("midtown", clips), ("hale3d", animations)):
        for data in files:
            claims = [format_.name for format_ in FORMATS if format_.sniff(data[:HEAD], len(data)) is not None]
            assert claims == [expected]


def files_of_this_machine(seed: int = 1) -> Iterator[Path]:
    """Programs, libraries, images, fonts, archives, sources, texts: a walk in random order, the same every time."""
    folders = [Path(sys.prefix), Path(sysconfig.get_paths()["stdlib"]), Path("/usr"), Path("/etc"), Path("/opt")]
    chosen = random.Random(seed)
    for folder in folders:
        left = MOST_FILES // len(folders)
        for place, below, names in os.walk(folder):
            below.sort()
            chosen.shuffle(below)
            for name in sorted(names)[:60]:
                yield Path(place, name)
                left -= 1
            if left <= 0:
                break


def test_nothing_else_on_this_machine_is_claimed() -> None:
    """Each file is tried whole and cut to a few sizes: without a signature, size is half of the proof."""
    seen, claimed = 0, []
    for path in files_of_this_machine():
        try:
            if path.is_symlink() or not path.is_file():
                continue
            size = path.stat().st_size
            with open(path, "rb") as stream:
                head = stream.read(HEAD)
        except OSError:
            continue
        seen += 1
        for shown in {size, min(size, 97), min(size, 257), min(size, 1217)}:
            found = keyframer.detect(head[:shown], size=shown, name=path.name)
            if found.format is not None and not _truly(path, found.format):
                claimed.append(f"{path} ({shown} of {size} bytes): {found.format.name}, {found.reason}")
    assert not claimed
    if seen < 200:
        pytest.skip(f"only {seen} files on this machine can be read")


def _truly(path: Path, claimant: keyframer.Format) -> bool:
    """A file that really is of the format: it has the extension and reads without an error."""
    if path.suffix.lower() not in claimant.extensions:
        return False
    document = keyframer.decode(path.read_bytes(), format=claimant.name)
    return document.issues.first_error() is None


@pytest.mark.parametrize("seed", range(4))
def test_made_up_headers_are_not_claimed(seed: int) -> None:
    """Files of small integers, which look most like a header without a signature."""
    chosen = random.Random(seed)
    for _ in range(1_000):
        words = [chosen.choice((0, 1, 1, 2, 3, 6, chosen.randrange(100))) for _ in range(chosen.randrange(3, 40))]
        data = b"".join(word.to_bytes(4, "little") for word in words) + bytes(chosen.randrange(4))
        found = keyframer.detect(data)
        assert found.format is None, (data.hex(), found)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"-=\x06\0\0\0", "a 3D Studio shaper file (.shp), which holds shapes and no animation"),
        (b"=-\x06\0\0\0", "a 3D Studio lofter file (.lft), which holds paths and no animation"),
        (b"MM\0*\0\0\0\x08", "a TIFF image"),
        (b'\n{"asset": {"version": "2.0"}}', "a glTF file, which has no document"),
        (b'{"assets": 1}', "a text file"),
        (b"[asset]\n", "a text file"),
    ],
)
def test_strangers_are_called_by_their_names(head: bytes, words: str) -> None:
    found = keyframer.detect(head)
    assert found.format is None
    assert found.reason.startswith(f"this is {words}")


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_is_as_good_as_bytes(kind: type) -> None:
    for name, path in all_samples():
        data = path.read_bytes()
        if len(data) < HEAD:
            document = keyframer.decode(kind(data))
            assert (document.format.name, keyframer.encode(document)) == (name, data)
