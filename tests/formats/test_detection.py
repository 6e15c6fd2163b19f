"""Detection across formats: no format claims files of another, or unrelated files of the machine."""

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
from tests.building import hale3d, midtown
from tests.cli.running import EXAMPLE
from tests.samples import all_samples
from tests.slow import SLOW

MOST_FILES = 4_000 if SLOW else 800
HEAD = 4096


@pytest.mark.parametrize("name", ["", "x.anim", "x.mdl", "x.3ds", "x.prj", "x.txt", "anim"])
def test_the_extension_does_not_change_the_detected_format(name: str) -> None:
    for expected, path in all_samples():
        data = path.read_bytes()
        match = keyframer.detect(data, name=name)
        assert match.format.name == expected
        assert keyframer.detect(data[:HEAD], size=len(data), name=name).format is match.format


def test_each_sample_is_claimed_by_its_format_alone() -> None:
    for expected, path in all_samples():
        data = path.read_bytes()
        assert [known.name for known in FORMATS if known.sniff(data[:HEAD], len(data)) is not None] == [expected]


def test_empty_data_is_an_empty_file_whatever_size_is_given() -> None:
    for size in (None, 0, 100):
        match = keyframer.detect(b"", size=size, name="a.nanim")
        assert (match.format, match.reason) == (None, "an empty file (0 bytes)")


def test_two_formats_with_the_extension_anim_are_distinguished() -> None:
    clips = [midtown.retail(midtown.walk(frames, bones)) for frames in (1, 7, 90) for bones in (1, 19)]
    clips += [midtown.old(midtown.walk(6, 19)), midtown.beta(6, midtown.channel(midtown.walk(6, 19)))]
    animations = [text_layout(kind) for kind in hale3d.TEXTS.values() for text_layout in (hale3d.wave, hale3d.arm)]
    for expected, files in (("midtown", clips), ("hale3d", animations)):
        for data in files:
            claims = [format_.name for format_ in FORMATS if format_.sniff(data[:HEAD], len(data)) is not None]
            assert claims == [expected]


def test_a_damaged_id_of_the_version_does_not_hide_a_scene() -> None:
    """One bit of an intact file of 3D Studio: the length of the file and the editor still say what it is."""
    whole = EXAMPLE.read_bytes()
    damaged = whole[:7] + b"\x04" + whole[8:]  # 0002 becomes 0402
    assert keyframer.detect(damaged).format is keyframer.detect(whole).format
    assert [mesh.name for mesh in keyframer.load(damaged).meshes] == [
        mesh.name for mesh in keyframer.load(whole).meshes
    ]
    assert keyframer.salvage(damaged).data == damaged
    for other in (damaged[:-1], damaged[:16] + b"\x3e" + damaged[17:]):  # a cut file, another section
        assert keyframer.detect(other).format is None


def files_of_this_machine(seed: int = 1) -> Iterator[Path]:
    """Programs, libraries, images, fonts, archives, sources, texts, in a random but reproducible order."""
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


def test_no_other_file_of_this_machine_is_claimed() -> None:
    """Each file is tried complete and cut to several sizes: without a signature, detection depends on the size."""
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
            match = keyframer.detect(head[:shown], size=shown, name=path.name)
            if match.format is not None and not _really_has_format(path, match.format):
                claimed.append(f"{path} ({shown} of {size} bytes): {match.format.name}, {match.reason}")
    assert not claimed
    if seen < 200:
        pytest.skip(f"only {seen} files on this machine can be read")


def _really_has_format(path: Path, claimant: keyframer.Format) -> bool:
    """Whether the file is of this format: it has the extension and is read without an error."""
    if path.suffix.lower() not in claimant.extensions:
        return False
    document = keyframer.decode(path.read_bytes(), format=claimant.name)
    return document.issues.first_error() is None


@pytest.mark.parametrize("seed", range(4))
def test_random_headers_are_not_claimed(seed: int) -> None:
    """Files of small integers, which look most like a header without a signature."""
    chosen = random.Random(seed)
    for _ in range(1_000):
        words = [chosen.choice((0, 1, 1, 2, 3, 6, chosen.randrange(100))) for _ in range(chosen.randrange(3, 40))]
        data = b"".join(word.to_bytes(4, "little") for word in words) + bytes(chosen.randrange(4))
        match = keyframer.detect(data)
        assert match.format is None, (data.hex(), match)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"MM\0*\0\0\0\x08", "a TIFF image"),
        (b'\n{"asset": {"version": "2.0"}}', "a glTF file, which has no document"),
        (b'{"assets": 1}', "a text file"),
        (b"[asset]\n", "a text file"),
        (b"-- a comment\n", "a text file"),
        (b"=-=-=-=-=\n", "a text file"),
    ],
)
def test_well_known_foreign_formats_are_named(head: bytes, words: str) -> None:
    match = keyframer.detect(head)
    assert match.format is None
    assert match.reason.startswith(f"this is {words}")


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_is_accepted(kind: type) -> None:
    for name, path in all_samples():
        data = path.read_bytes()
        if len(data) < HEAD:
            document = keyframer.decode(kind(data))
            assert (document.format.name, keyframer.encode(document)) == (name, data)
