"""Reading Midtown clips: figures compared with a slow evaluator, skeletons, root motion, raw channels."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.midtown.records import Channel
from tests.building import editing
from tests.building.files import single
from tests.building.midtown import beta, channel, old, retail, walk
from tests.posing.plain import Matrix, product, rotation, translation
from tests.reference_curves.slow import SlowTrack, evaluate
from tests.reference_curves.slow import product as multiply

NAMES = [
    "root", "spine", "neck", "head",
    "clavicle_r", "shoulder_r", "elbow_r", "wrist_r",
    "clavicle_l", "shoulder_l", "elbow_l", "wrist_l",
    "pelvis", "hip_l", "knee_l", "ankle_l", "hip_r", "knee_r", "ankle_r",
]  # fmt: skip
FRAMES = [0.0, 0.25, 1.0, 1.5, 2.75, 3.0, 9.0]
SKELETON = """NumBones 3
bone hips {
    offset 0 1 0
    bone chest { offset 0.125 0.5 0  XROT -1.5 1.5 bone "skull" { offset 0 0.25 -0.125 } }
}"""
OFFSETS = [[0.0, 1.0, 0.0], [0.125, 0.5, 0.0], [0.0, 0.25, -0.125]]


load = partial(editing.load, "midtown")


def codes(scene: keyframer.Scene) -> list[str]:
    return sorted({issue.code for issue in scene.issues})


def rotation_about(axis: int, angle: float) -> list[float]:
    q = [0.0, 0.0, 0.0, math.cos(angle / 2)]
    q[axis] = math.sin(angle / 2)
    return q


def slow_world(
    rows: list[list[float]], parents: list[int], offsets: list[list[float]], frame: float, order: str = "YZX"
) -> list[Matrix]:
    """The root translation is lerped, rotations are slerped; R = Ry . Rz . Rx of roll (X), pitch (Y), heading (Z) by
    default.
    """
    times = [float(number) for number in range(len(rows))]
    numbers = [[single(x) for x in row] for row in rows]
    path = SlowTrack(times, [row[:3] for row in numbers], "SAMPLED")
    worlds: list[Matrix] = []
    for bone, (parent, offset) in enumerate(zip(parents, offsets, strict=True)):
        keys = []
        for row in numbers:
            angles = row[3 + 3 * bone : 6 + 3 * bone]
            q = [0.0, 0.0, 0.0, 1.0]
            for axis in order:
                q = multiply(q, rotation_about("XYZ".index(axis), angles["XYZ".index(axis)]))
            keys.append(q)
        turning = SlowTrack(times, keys, "SAMPLED", form="QUATERNION_ABSOLUTE")
        place = evaluate(path, frame, [0.0] * 3) if bone == 0 else offset
        local = product(translation(place), rotation(evaluate(turning, frame, [0.0, 0.0, 0.0, 1.0])))
        worlds.append(local if parent < 0 else product(worlds[parent], local))
    return worlds


def wild_walk(frames: int, bones: int) -> list[list[float]]:
    """Angles beyond half a turn, so that the order of axes and the shortest way matter."""
    return [
        [0.1 * n, 1.0 - 0.05 * n, -0.4 * n] + [2.5 * math.sin(1.7 * n + 0.9 * part) for part in range(3 * bones)]
        for n in range(frames)
    ]


@pytest.mark.parametrize("layout", ["retail", "beta", "old"])
def test_the_19_bone_rig_against_the_slow_evaluator(layout: str) -> None:
    rows = wild_walk(4, 19)
    data = {"retail": retail(rows), "beta": beta(4, channel(rows)), "old": old(rows)}[layout]
    scene = load(data)
    assert [node.name for node in scene.nodes] == NAMES
    assert codes(scene) == ["SCENE_DEFAULT_RIG"]
    parents = [-1 if node.parent is None else node.parent for node in scene.nodes]
    assert all(parent < number for number, parent in enumerate(parents))
    pose = keyframer.pose(scene, frames=FRAMES)
    offsets = [node.position.tolist() for node in scene.nodes]
    for at, frame in enumerate(FRAMES):
        np.testing.assert_allclose(pose.world[at], slow_world(rows, parents, offsets, frame), atol=1e-9)


def test_the_default_rig_is_a_human_figure() -> None:
    """Facing -Z, its right is +X; head up, ankles near the ground, all in metres."""
    rows = [[0.0, 1.0, 0.0] + [0.0] * 57] * 2
    scene = load(retail(rows))
    origins = keyframer.pose(scene, frames=[0]).world[0, :, :3, 3]
    place = dict(zip(NAMES, origins, strict=True))
    assert 1.4 < place["head"][1] < 1.9
    assert 0 < place["ankle_l"][1] < 0.2
    for part in ("clavicle", "shoulder", "elbow", "wrist", "hip", "knee", "ankle"):
        assert place[f"{part}_r"][0] > 0 > place[f"{part}_l"][0]
    assert scene.nodes[NAMES.index("knee_l")].parent == NAMES.index("hip_l")
    assert (scene.space.up, scene.space.handedness.value, scene.space.metres_per_unit) == ("y", "right", 1.0)


@pytest.mark.parametrize("order", ["XYZ", "ZYX", "YXZ"])
def test_the_euler_order_is_an_option(order: str) -> None:
    rows = wild_walk(3, 2)
    scene = load(retail(rows), euler_order=order)
    pose = keyframer.pose(scene, frames=[0, 1.5])
    offsets = [node.position.tolist() for node in scene.nodes]
    for at, frame in enumerate((0, 1.5)):
        np.testing.assert_allclose(pose.world[at], slow_world(rows, [-1, 0], offsets, frame, order), atol=1e-9)
    usual = keyframer.pose(load(retail(rows)), frames=[0, 1.5])
    assert np.abs(usual.world - pose.world).max() > 0.1


@pytest.mark.parametrize("distance", [1.552, 2.97, 0.0, -0.75])
def test_root_motion_and_in_place(distance: float) -> None:
    """The game adds i x distance / frames to z of frame i; a steady walk along -Z then stays in place."""
    frames = 8
    rows = [[0.0, 1.0, -single(distance) * n / frames] + [0.0] * 57 for n in range(frames)]
    moving, still = load(retail(rows, distance)), load(retail(rows, distance), in_place=True)
    at = np.arange(frames)
    np.testing.assert_allclose(
        keyframer.pose(moving, frames=at).world[:, 0, 2, 3], -distance * at / frames, rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(keyframer.pose(still, frames=at).world[:, 0, 2, 3], np.zeros(frames), atol=1e-6)
    assert moving.clips[0].extras["midtown"] == {"distance": pytest.approx(distance), "in_place": False}
    assert still.clips[0].extras["midtown"]["in_place"]


def test_times_and_rate() -> None:
    clip = load(retail(walk(4))).clips[0]
    assert (clip.unit, clip.start, clip.end, clip.frames_per_second) == ("frame", 0, 3, 30)
    assert load(retail(walk(4)), fps=15.0).clips[0].frames_per_second == 15
    assert keyframer.pose(load(retail(walk(4))), frames=[3]).times_seconds == pytest.approx([0.1])


def test_bones_of_an_unknown_rig_are_numbered() -> None:
    scene = load(retail(walk(3, 12)))
    assert [node.name for node in scene.nodes] == [f"bone_{number:02}" for number in range(12)]


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    (tmp_path / "walk.anim").write_bytes(retail(wild_walk(4, 3)))
    (tmp_path / "man.skel").write_text(SKELETON)
    return tmp_path / "walk.anim"


@pytest.mark.parametrize("how", ["named", "found", "found in capitals"])
def test_a_skeleton_file(clip: Path, how: str) -> None:
    skeleton = clip.with_name("man.skel")
    if how == "named":
        scene = keyframer.load(clip, skeleton=skeleton)
    else:
        skeleton.rename(clip.with_suffix(".skel" if how == "found" else ".SKEL"))
        scene = keyframer.load(clip)
    assert not list(scene.issues)
    assert [node.name for node in scene.nodes] == ["hips", "chest", '"skull"']
    assert scene.nodes[1].extras["midtown"]["words"] == ["XROT", "-1.5", "1.5"]
    pose = keyframer.pose(scene, frames=FRAMES)
    for at, frame in enumerate(FRAMES):
        truth = slow_world(wild_walk(4, 3), [-1, 0, 1], OFFSETS, frame)
        np.testing.assert_allclose(pose.world[at], truth, atol=1e-9)


def test_a_skeleton_that_does_not_match(clip: Path) -> None:
    clip.write_bytes(retail(walk(4, 2)))
    skeleton = clip.with_name("man.skel")
    why = "the clip animates 2 bones, the skeleton has 3; nothing animates bone 2"
    with pytest.raises(keyframer.FormatError, match=f"LINK_SKELETON_MISMATCH .*{why}"):
        keyframer.load(clip, skeleton=skeleton)
    skeleton.rename(clip.with_suffix(".skel"))
    scene = keyframer.load(clip)
    assert [issue.code for issue in scene.issues] == ["LINK_SKELETON_MISMATCH", "SCENE_DEFAULT_RIG"]
    assert scene.issues[0].severity.label == "warning"
    assert len(scene.nodes) == 2
    clip.write_bytes(retail(walk(4, 5)))
    assert "the clip animates 5 bones, the skeleton has 3" in str(keyframer.load(clip).issues[0])


def test_skeletons_that_cannot_be_read(clip: Path) -> None:
    bad = clip.with_name("bad.skel")
    bad.write_text("bone { }")
    with pytest.raises(
        keyframer.FormatError, match=r"STRUCT_SYNTAX at 0x5 in /companion/bone\[0\]/name: the skeleton: "
    ):
        keyframer.load(clip, skeleton=bad)
    bad.write_text("")
    with pytest.raises(keyframer.FormatError, match="IO_EMPTY at 0x0 in /companion/: the skeleton: "):
        keyframer.load(clip, skeleton=bad)
    with pytest.raises(OSError):
        keyframer.load(clip, skeleton=clip.with_name("none.skel"))
    bad.rename(clip.with_suffix(".skel"))
    assert codes(keyframer.load(clip)) == ["LINK_SKELETON_MISMATCH", "SCENE_DEFAULT_RIG"]


def test_a_wrong_bone_count_is_reported_and_equal_names_made_unique(clip: Path) -> None:
    clip.write_bytes(retail(walk(4, 2)))
    text = "NumBones 9 bone a { offset 0 0 0 bone a { offset 0 1 0 } }"
    clip.with_suffix(".skel").write_text(text)
    scene = keyframer.load(clip)
    assert [str(issue) for issue in scene.issues] == [
        "warning: LINK_COUNT_MISMATCH at 0x0 in /companion/walk.skel/numbones: bones: expected 9, found 2"
    ]
    assert [node.name for node in scene.nodes] == ["a", "a.2"]


def test_raw_channels_are_kept_and_never_posed() -> None:
    strange = [[0.5, 0.25], [0.5, 0.5], [0.5, 0.75]]
    data = beta(3, channel(strange, 2.0, 2), channel(walk(3, 2)), channel(walk(3, 4)), channel([[1.0, 2.0, 3.0]] * 3))
    scene = load(data)
    assert len(scene.nodes) == 2
    first, second, third = scene.clips[0].raw_channels
    assert [raw.name for raw in (first, second, third)] == ["channel 0", "channel 2", "channel 3"]
    np.testing.assert_array_equal(first.values, strange)
    (stored, *_) = keyframer.decode(data).find(Channel)
    assert first.extras["midtown"] == {"type": 2, "distance": 2.0, "offset": stored.offset}
    assert second.values.shape == (3, 15)
    assert third.values.shape == (3, 3)
    reported = [issue.path for issue in scene.issues if issue.code == "SEM_RPH_WIDTH"]
    assert reported == ["/clip/channel[0]", "/clip/channel[3]"]


def test_motion_that_is_not_played_is_reported() -> None:
    data = beta(2, channel(walk(2, 5000)), channel(walk(2, 2)), channel(walk(2, 4)))
    scene = load(data)
    assert len(scene.nodes) == 2
    reports = [str(issue) for issue in scene.issues if issue.code == "SEM_MOTION_NOT_PLAYED"]
    second = 8 + (9 + 2 * 4 * 15003) + (9 + 2 * 4 * 9)
    assert reports == [
        "warning: SEM_MOTION_NOT_PLAYED at 0x8 in /clip/channel[0]: motion of 5000 bones is not played but kept as raw "
        "numbers: a figure has at most 4096 bones",
        f"warning: SEM_MOTION_NOT_PLAYED at {second:#x} in /clip/channel[2]: motion of 4 bones is not played but kept "
        "as raw numbers: the first such channel moves the figure",
    ]
    assert keyframer.check(data).counts["SEM_MOTION_NOT_PLAYED"] == 2


def test_a_clip_of_raw_channels_only() -> None:
    scene = load(beta(2, channel([[1.0, 2.0]] * 2, 0.0, 9)))
    assert not scene.nodes
    assert keyframer.pose(scene, frames=[0, 1]).world.shape == (2, 0, 4, 4)
    assert scene.clips[0].end == 1


def test_the_error_for_an_unknown_option_lists_those_for_users() -> None:
    with pytest.raises(ValueError, match=r"no option 'rate' \(it has: skeleton, model, in_place, euler_order, fps\)"):
        load(retail(walk()), rate=24)
