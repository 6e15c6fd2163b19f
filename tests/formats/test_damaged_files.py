"""Damaged files give a scene with issues or a located FormatError, and every pose is finite."""

from __future__ import annotations

import random

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.inspecting.samples import Sample
from keyframer.inspecting.scene_tables import scene_tables
from tests.samples import sample_files

WORDS = [
    b"\xff" * 4,
    bytes(4),
    b"\0\0\x80\x7f",
    b"\1\0\xa0\x7f",
    b"\0\0\xc0\x7f",
    b"\xff\xff\x7f\x7f",
    b"\xff\xff\xff\x7f",
]
"""-1, 0, infinity, a signalling and a quiet NaN, the largest float, the largest integer"""
FORMATS = ("uto3d", "hale3d", "midtown", "nodeanim")


def damaged(dice: random.Random, data: bytes) -> bytes:
    damaged_data = bytearray(data)
    for _ in range(dice.randrange(1, 5)):
        at = dice.randrange(max(1, len(damaged_data)))
        kind = dice.randrange(4)
        if kind == 0:
            damaged_data[at : at + 1] = bytes([dice.randrange(256)])
        elif kind == 1:
            damaged_data[at : at + 4] = dice.choice(WORDS)
        elif kind == 2:
            del damaged_data[at : at + dice.randrange(1, 9)]
        else:
            damaged_data[at:at] = dice.randbytes(dice.randrange(1, 9))
    return bytes(damaged_data)


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_samples(name: str) -> None:
    dice = random.Random(name)
    samples = [path.read_bytes() for path in sample_files(name)]
    scenes = 0
    for _ in range(120):
        try:
            scene = scene_of(keyframer.decode(damaged(dice, dice.choice(samples)), format=name), {}, salvage=True)
        except keyframer.FormatError:
            continue
        scenes += 1
        sample = Sample(scene, frames=[0, 1.5, -3, 1e9], times=None, axes=dice.choice(["file", "y-up"]))
        assert np.isfinite(sample.pose.world).all()
        for number, node in enumerate(scene.nodes):
            if node.mesh is not None:
                assert np.isfinite(sample.pose.vertices(number)).all()
        assert sample.record()["schema"] == "keyframer.sample/1"
        assert scene_tables(scene)
    assert scenes > 20
