"""Midtown clips from scenes: layouts, skeletons, losses, edited originals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.midtown import FORMAT
from keyframer.formats.midtown.records import Dialect
from keyframer.formats.midtown.skeleton import Bone, Skeleton, read_skeleton, write_skeleton
from keyframer.scene import NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from tests.building.random_scenes import largest_difference
from tests.formats.hale3d.test_writing import arm

SAMPLES = Path(__file__).parents[2] / "samples/midtown"


@pytest.mark.parametrize("layout", [dialect.value for dialect in Dialect])
def test_layouts(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.anim"
    report = keyframer.save(arm(), path, format="midtown", dialect=layout)
    assert [Path(name).name for name in report.written] == ["arm.anim", "arm.skel"]
    assert str(keyframer.read(path, format="midtown").dialect) == layout
    scene = keyframer.load(path, format="midtown")
    length, degrees = largest_difference(arm(), scene, np.arange(0.0, 2.5))
    assert length < 1e-5
    assert degrees < 5  # 24 frames a second, sampled at 30: slerp between frames that lie elsewhere


def test_retail_is_the_default(tmp_path: Path) -> None:
    written = FORMAT.from_scene(arm())
    data = keyframer.encode(written.document)
    frames = int.from_bytes(data[4:8], "little")
    assert data[:4] == bytes(4)
    assert len(data) == 17 + 4 * 9 * frames


def test_motion_of_other_bones_besides_rotation_is_reported() -> None:
    scene = arm()
    scene.clips[0].channels[0].node = 1
    lost = FORMAT.from_scene(scene).report.of(Outcome.DROPPED)
    (loss,) = [loss for loss in lost if loss.path == "/nodes/lower/position"]
    assert loss.error == pytest.approx(2.0, abs=1e-6)


def test_the_distance_of_a_midtown_clip_is_kept(tmp_path: Path) -> None:
    scene = keyframer.load(SAMPLES / "retail.anim")
    scene.origin = None
    keyframer.save(scene, tmp_path / "again.anim", format="midtown")
    loaded = keyframer.load(tmp_path / "again.anim", format="midtown")
    assert loaded.clips[0].extras["midtown"]["distance"] == scene.clips[0].extras["midtown"]["distance"]
    assert max(largest_difference(scene, loaded, np.arange(4.0))) < 1e-3


def test_options_that_readers_need_are_returned() -> None:
    written = FORMAT.from_scene(arm(), {"euler_order": "XYZ", "fps": 24.0})
    assert written.reader_options == {"euler_order": "XYZ", "fps": 24.0}


def test_skeletons_are_written_as_they_are_read() -> None:
    skeleton = Skeleton(
        (
            Bone(b"root", -1, (0.0, 1.5, -2e-05)),
            Bone(b"spine", 0, (1.0, 0.0, 0.0), (b"limit", b"-1", b"1")),
            Bone(b"neck", 1, (0.0, 0.25, 0.0)),
            Bone(b"hip", 0, (0.5, 0.0, 0.0)),
            Bone(b"other", -1, (0.0, 0.0, 0.0)),
        ),
        5,
    )
    assert read_skeleton(write_skeleton(skeleton)) == skeleton
    with pytest.raises(ValueError, match="pre-order"):
        write_skeleton(Skeleton((Bone(b"a", -1, (0, 0, 0)), Bone(b"b", -1, (0, 0, 0)), Bone(b"c", 0, (0, 0, 0)))))


@pytest.mark.parametrize("sample", ["retail.anim", "document.anim", "old.anim"])
def test_edits_are_merged(sample: str, tmp_path: Path) -> None:
    path = SAMPLES / sample
    scene: Scene = keyframer.load(path, format="midtown")
    channel = next(channel for channel in scene.clips[0].channels if channel.track.kind == "position")
    values = channel.track.values.copy()
    values[1, 0] += 0.25
    channel.track.values = values
    written = FORMAT.from_scene(scene)
    assert not [loss for loss in written.report if "a new file was written" in loss.detail], list(written.report)
    encoded, data = keyframer.encode(written.document), path.read_bytes()
    assert 1 <= sum(a != b for a, b in zip(encoded, data, strict=True)) <= 4
    assert scene.nodes[0].kind is NodeKind.BONE
