"""Detection of every framing from its first bytes, without claiming other files."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import keyframer
from keyframer.formats.contract import HEAD_SIZE
from keyframer.formats.nodeanim.sniff import sniff
from tests.building.nodeanim import Bone, Clip, Framing, Key, clips, framings, with_key_flags, write
from tests.slow import SLOW

FRAMINGS = list(framings())


def long_clip(bones: int, keys: int) -> Clip:
    """A clip that is longer than the bytes used for detection."""
    track = tuple(Key(0, index / 8, (index / 4, 1.0, -2.0)) for index in range(keys))
    turns = tuple(Key(0, key.time, (key.time, 0.0, 0.0, 1.0)) for key in track)
    flags = (4, 1, 2)
    nodes = tuple(Bone(b"bone %d" % at, flags[at % 3], track, turns, track[:1]) for at in range(bones))
    return Clip(nodes, b"a long walk", b"somebody")


@pytest.mark.parametrize("shape", [(200, 3), (3, 400), (1, 700)], ids=["many bones", "many keys", "one bone"])
def test_the_first_bytes_of_a_large_file_are_enough(shape: tuple[int, int]) -> None:
    clip = long_clip(*shape)
    for framing in FRAMINGS[:: 1 if SLOW or shape[0] == 200 else 4]:
        for how in (framing, replace(framing, tcb_by_key=True)):
            if how.header.endswith("+u16") and shape[1] == 400:
                continue  # more than such a chunk can hold
            data = write(with_key_flags(clip) if how.tcb_by_key else clip, how)
            match = sniff(data[:HEAD_SIZE], len(data))
            assert match is not None, str(how)
            assert match.score >= 0.5
            document = keyframer.decode(data, format="nodeanim")
            assert str(document.dialect) == str(how)
            detected = keyframer.detect(data[:HEAD_SIZE], size=len(data)).format
            assert detected.name == "nodeanim"


def test_an_empty_clip_without_chunk_sizes_is_not_claimed() -> None:
    """Ten or twenty bytes, mostly zeros: the user must name the format."""
    for clip in (Clip((), b"", b""), Clip(), Clip((Bone(b"a", 4),))):
        for how in FRAMINGS:
            data = write(clip, how)
            match = sniff(data, len(data))
            assert (match is None) == ("+" not in how.header)


@pytest.mark.parametrize("how", FRAMINGS, ids=str)
def test_other_bytes_before_chunk_1_are_not_searched(how: Framing) -> None:
    """No document mentions them: such a file is refused in one line."""
    data = b"NANM\x03\x02" + write(clips()["linear"], how)
    assert sniff(data, len(data)) is None
    with pytest.raises(keyframer.FormatError, match="no complete chunk 1 was found"):
        keyframer.decode(data, format="nodeanim")


def test_damaged_files_with_sizes_are_still_claimed() -> None:
    for how in FRAMINGS:
        if "+" in how.header:
            data = write(clips()["mixed"], how)
            for damaged in (data[:-30], data + b"more", data[:-300] + bytes(300)):
                assert sniff(damaged, len(damaged)) is not None, str(how)


def machine_files(limit: int) -> Iterator[Path]:
    """Files that every machine has: the interpreter, its libraries and headers."""
    roots = {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), "/usr/share", "/usr/lib", "/usr/bin"}
    share = limit // len(roots)
    for root in sorted(roots):
        detected = 0
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if detected < share and path.is_file() and not path.is_symlink():
                    detected += 1
                    yield path


@pytest.mark.slow
def test_no_file_of_the_machine_is_claimed() -> None:
    """Other files than in `tests/formats/test_detection.py`."""
    seen = 0
    for path in machine_files(4000):
        try:
            size = path.stat().st_size
            with open(path, "rb") as stream:
                head = stream.read(HEAD_SIZE)
        except OSError:
            continue
        if size:
            seen += 1
            assert sniff(head, size) is None, path
    assert seen > 1000


def test_random_bytes_are_not_claimed() -> None:
    dice = random.Random(20021)
    for _ in range(2000):
        size = dice.randrange(8, 300)
        few = dice.choice([(0, 0, 0, 1), (0, 0, 1, 2, 4), (0, 1, 2, 0x41), tuple(range(256))])
        noise = bytes(dice.choice((0, 0, 0, 1)) for _ in range(dice.randrange(9)))
        noise += bytes(dice.choice(few) for _ in range(size))
        assert sniff(noise, len(noise)) is None, noise.hex()


def test_sniffing_needs_no_numpy() -> None:
    program = (
        "import sys\n"
        "from keyframer.formats.nodeanim.sniff import sniff\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "assert sniff(data, len(data)).score > 0.9\n"
        "assert 'numpy' not in sys.modules\n"
    )
    sample = Path(__file__).parents[2] / "samples" / "nodeanim" / "default_mixed.nanim"
    subprocess.run([sys.executable, "-c", program, str(sample)], check=True)


def test_the_first_key_must_be_in_the_first_bytes() -> None:
    """Without chunk sizes, detection needs a plausible key; a long name moves it out of the examined bytes."""
    key = Key(0, 0.0, (1.0, 2.0, 3.0))
    size = 20  # flags, time, three numbers
    for how in FRAMINGS:
        if "+" in how.header or how.text in ("nul", "u8"):
            continue

        def clip(letters: int) -> Clip:
            return Clip((Bone(b"b" * letters, 4, (key,) * 9),), b"walk", b"me")

        others = len(write(clip(0), how)) - 9 * size
        for start, claimed in ((HEAD_SIZE - size, True), (HEAD_SIZE - size + 1, False), (HEAD_SIZE, False)):
            data = write(clip(start - others), how)
            assert (sniff(data[:HEAD_SIZE], len(data)) is not None) is claimed, f"{how} {start}"
