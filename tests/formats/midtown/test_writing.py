"""Midtown clips from scenes: layouts, skeletons, distance, raw channels, and what cannot be stored."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.midtown import FORMAT
from keyframer.formats.midtown.records import Channel as Record
from keyframer.formats.midtown.records import Dialect, OldChannel
from keyframer.formats.midtown.skeleton import Bone, Skeleton, read_skeleton, write_skeleton
from keyframer.scene import Light, Node, NodeKind, RawChannel, Scene, Space
from keyframer.scene.loss_report import CannotWrite, Outcome
from tests.building.editing import losses_of
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


def write(scene: Scene, **options: object) -> Written:
    return FORMAT.from_scene(scene, {"fps": 24.0, **options})


def record(written: Written) -> Record | OldChannel:
    document = keyframer.decode(keyframer.encode(written.document), format="midtown")
    channel: Any = next(child for child in document.records[0].children or document.records if hasattr(child, "rows"))
    return channel  # type: ignore[no-any-return]


def with_extras(**extras: object) -> Scene:
    scene = arm()
    scene.clips[0].extras["midtown"] = extras
    return scene


# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scene", "distance", "stored"),
    [
        (arm(), None, 0.0),
        (arm(), 1.5, 1.5),
        (with_extras(distance=2.5), None, 2.5),
        (with_extras(distance=2.5), 1.5, 1.5),
        (with_extras(distance=2.5, in_place=True), None, 0.0),  # it is in the path of the root already
        (with_extras(distance=math.nan), None, 0.0),
    ],
)
def test_distance_option(scene: Scene, distance: float | None, stored: float) -> None:
    assert record(write(scene, distance=distance)).distance == stored


def test_without_a_skeleton_the_hierarchy_is_dropped() -> None:
    written = write(arm(), skeleton=False)
    assert written.companions == ()
    assert losses_of(written.report, Outcome.DROPPED) == {
        "/parents": ("NODES_UNSUPPORTED:skeleton", {}),
        "/reading": ("READER_OPTION_NEEDED", {"name": "fps", "value": 24.0}),
    }


def test_angles_in_another_order() -> None:
    scene = arm()
    written = write(scene, euler_order="XYZ")
    assert written.reader_options == {"euler_order": "XYZ", "fps": 24.0}
    ((_, skeleton),) = written.companions
    document = keyframer.decode(keyframer.encode(written.document), format="midtown")
    loaded = scene_of(document, {**written.reader_options, "skeleton": read_skeleton(skeleton)})
    length, degrees = largest_difference(scene, loaded, np.array([0.0, 1.25, 2.5]))
    assert length < 1e-5
    assert degrees < 1e-3


# --- losses -------------------------------------------------------------------------------------------------------


def test_units_other_than_metres_are_reported() -> None:
    scene = replace(arm(), space=Space("z", metres_per_unit=0.5))
    kept = ("LENGTHS_CONVERTED:not scaled", {"reason": "this format uses metres"})
    assert losses_of(write(scene).report, Outcome.BAKED) == {"/space": kept}
    known = replace(arm(), space=Space("z", metres_per_unit=1.0))
    assert losses_of(write(known).report, Outcome.BAKED) == {}


def test_spaces_and_braces_in_names_are_replaced() -> None:
    scene = arm()
    scene.nodes[0].name, scene.nodes[1].name = "upper arm {left}", "upper\tarm__left_"
    written = write(scene)
    ((suffix, content),) = written.companions
    assert suffix == ".skel"
    assert [bone.name for bone in read_skeleton(content).bones] == [b"upper_arm__left_", b"upper_arm__left_.2"]
    renamed = [(loss.path, loss.args["name"]) for loss in written.report if loss.type.key == "NAME_CHANGED:rule"]
    assert renamed == [
        ("/nodes/upper arm {left}", "upper_arm__left_"),
        ("/nodes/upper\tarm__left_", "upper_arm__left_.2"),
    ]


def test_bones_without_a_name_get_one() -> None:
    scene = arm()
    scene.nodes[1].name = ""
    ((_, content),) = write(scene).companions
    assert [bone.name for bone in read_skeleton(content).bones] == [b"upper", b"bone"]


def raw(rows: int, **extras: object) -> RawChannel:
    channel = RawChannel("channel 1", np.arange(2.0 * rows).reshape(rows, 2))
    channel.extras["midtown"] = extras
    return channel


def test_raw_channels_are_written_only_in_the_beta_layout() -> None:
    scene = arm()
    scene.clips[0].raw_channels = [raw(3, distance=0.5, type=7), raw(2)]
    written = write(scene, dialect="beta")
    losses = losses_of(written.report, Outcome.DROPPED)
    assert losses == {
        "/reading": ("READER_OPTION_NEEDED", {"name": "fps", "value": 24.0}),
        "/raw_channels/channel 1": ("MOTION_UNSUPPORTED:raw frames", {"count": 2, "frames": 3}),
    }
    document = keyframer.decode(keyframer.encode(written.document), format="midtown")
    _, kept = document.find(Record)
    assert (kept.type, kept.distance, kept.rows.tolist()) == (7, 0.5, [[0, 1], [2, 3], [4, 5]])
    retail = write(scene).report
    kind, args = losses_of(retail, Outcome.DROPPED)["/raw_channels"]
    assert (kind, args["what"]) == ("MOTION_UNSUPPORTED:raw channels", "2 raw channels")


def test_a_scene_with_only_lights_is_refused() -> None:
    scene = Scene([Node("lamp", NodeKind.LIGHT, light=0)], lights=[Light("lamp")])
    with pytest.raises(CannotWrite, match="no bones or objects"):
        write(scene)


def test_a_static_clip_is_written_only_if_it_was_a_midtown_clip() -> None:
    scene = replace(arm(), clips=[])
    with pytest.raises(CannotWrite, match="no bone or object rotates"):
        write(scene)
    scene.source_format = "midtown"
    assert len(record(write(scene)).rows) == 1
