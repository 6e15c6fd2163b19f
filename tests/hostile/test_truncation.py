"""Truncated files and files with one wrong byte: every offset in every small sample."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyframer
from tests.hostile.law import located, obey
from tests.samples import FOLDER, all_samples
from tests.slow import SLOW

SAMPLES = all_samples()
EVERY_BYTE_UP_TO = 8192 if SLOW else 64
"""larger samples are cut at so many places, spread evenly"""

SMALLEST = (
    *("3ds/library.mli", "hale3d/signalling-nan.anim", "midtown/old.anim", "nodeanim/default_empty_clip.nanim"),
    "uto3d/empty.u3d",
)


@pytest.mark.parametrize(("name", "path"), SAMPLES, ids=[f"{name}-{path.name}" for name, path in SAMPLES])
def test_every_prefix(name: str, path: Path) -> None:
    data = path.read_bytes()
    places = min(len(data), EVERY_BYTE_UP_TO)
    for place in range(places):
        obey(data[: place * len(data) // places], name if place % 4 else None)  # every fourth is detected


def decode_or_refuse(data: bytes, name: str) -> keyframer.Document | None:
    try:
        document = keyframer.decode(data, format=name)
    except keyframer.FormatError as error:
        located(error, data)
        return None
    assert keyframer.encode(document) == data
    return document


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("sample", SMALLEST)
def test_every_value_of_every_byte(sample: str, part: int) -> None:
    """At every byte each bit is flipped, and the limits of signed and unsigned values are tried; ``make slow`` tries
    all 255 other values (in four parts, so that cores share them)."""
    data = (FOLDER / sample).read_bytes()
    name = sample.partition("/")[0]
    assert len(data) < 300
    changed = bytearray(data)
    for at in range(part, len(data), 4):
        flipped = {data[at] ^ (1 << bit) for bit in range(8)} | {0, 127, 128, 255}
        for value in range(256) if SLOW else sorted(flipped):
            if value == data[at]:
                continue
            changed[at] = value
            document = decode_or_refuse(bytes(changed), name)
            if document is not None:
                report = keyframer.check(document)
                assert all(0 <= issue.offset <= len(data) for issue in report.issues)
        changed[at] = data[at]
