"""BVH files, read by an independent reader and by Blender: joints are where the pose has them, in every frame."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats import FORMATS
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport
from keyframer.scene.losses import NAME_CHANGED, NODE_ADDED
from tests.corpus import CORPUS, needs_corpus, threeds_files
from tests.exchange.bvh_reader import Bvh, read_bvh
from tests.exchange.players import PYTHON, needs_blender
from tests.exchange.test_gltf_corpus import strict_scene
from tests.exchange.test_gltf_samples import loadable
from tests.exchange.truth import ORACLES, needs_node_tools, to_file_axes
from tests.slow import SLOW

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
NEAR = 1e-6
"""of the size of the scene: 8 digits are written, and errors of angles grow along chains"""
REAL = [
    "hale3d/Bob.md5anim",
    "hale3d/bob_lamp_update.anim",
    "md5/away3d__away3d-examples-fp11__walk7.md5anim",
    "md5/away3d__away3d-examples-fp11__attack2.md5anim",
    "b3d/minetest__minetest_game__character.b3d",
    "b3d/netpipe__IrrlichtDemos__archer.b3d",
    "horde3d/netpipe__IrrlichtDemos__man.anim",
]


def written(scene: Scene, folder: Path, **options: object) -> tuple[Bvh, LossReport]:
    path = folder / "scene.bvh"
    report = keyframer.save(scene, path, overwrite=True, **options)
    return read_bvh(path), report


def candidates(scene: Scene, report: LossReport) -> dict[str, list[int]]:
    """Return for each name in the file the nodes that may have it there."""
    renamed = {
        loss.args["name"]: loss.path.removeprefix("/nodes/") for loss in report if loss.type is NAME_CHANGED["rule"]
    }
    nodes: dict[str, list[int]] = {}
    for number, node in enumerate(scene.nodes):
        nodes.setdefault(node.name, []).append(number)
    return nodes | {name: nodes[old] for name, old in renamed.items()}


def wanted_world(scene: Scene, bvh: Bvh) -> Floats:
    """Return (frames, nodes, 4, 4): the pose at the times of the frames, with Y up."""
    clip = scene.clips[0] if scene.clips else Clip()
    step = bvh.seconds_per_frame
    begin = clip_span(clip)[0] / clip.rate
    first = min(np.floor(begin / step + 1e-6), 0.0)
    times = (first + np.arange(len(bvh.rows))) * step
    return to_file_axes(scene) @ keyframer.pose(scene, times).world


def differences(scene: Scene, bvh: Bvh, report: LossReport) -> float:
    """Return the largest distance of a joint from its node, as a fraction of the size, however programs use offsets."""
    wanted, nodes = wanted_world(scene, bvh)[..., :3, 3], candidates(scene, report)
    largest = 0.0
    assert bvh.roots == 1
    for replace in (True, False):
        found = bvh.world(replace=replace)[..., :3, 3]
        for number, joint in enumerate(bvh.joints):
            if joint.is_end or joint.name not in nodes:
                assert joint.is_end or any(loss.type is NODE_ADDED["root"] for loss in report)
                assert not joint.offset.any()
                continue
            away = [np.abs(found[:, number] - wanted[:, node]).max() for node in nodes[joint.name]]
            largest = max(largest, min(away))
    return largest / max(float(np.abs(wanted).max()), 1e-12)


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_joints_of_samples_are_where_the_pose_has_them(name: str, tmp_path: Path) -> None:
    for path, scene in loadable(name):
        try:
            bvh, report = written(scene, tmp_path)
        except CannotWrite:
            continue
        assert differences(scene, bvh, report) < NEAR, path.name


@needs_corpus
@pytest.mark.parametrize("name", REAL)
def test_joints_of_real_skeletons_are_where_the_pose_has_them(name: str, tmp_path: Path) -> None:
    scene = keyframer.load(CORPUS / name)
    bvh, report = written(scene, tmp_path)
    assert len(bvh.rows) > 1
    assert differences(scene, bvh, report) < NEAR
    assert_turns(scene, bvh, report)


def assert_turns(scene: Scene, bvh: Bvh, report: LossReport) -> None:
    """Joints turn as nodes do since the first frame: axes at rest are not stored, and cancel out."""
    nodes, found, wanted = candidates(scene, report), bvh.world(replace=True), wanted_world(scene, bvh)
    for number, joint in enumerate(bvh.joints):
        if joint.is_end or len(nodes.get(joint.name, ())) != 1:
            continue
        matrices = wanted[:, nodes[joint.name][0], :3, :3]
        matrices = matrices / np.linalg.norm(matrices, axis=-2, keepdims=True)
        since_first = matrices @ np.linalg.inv(matrices[0])
        assert np.abs(found[:, number, :3, :3] @ found[0, number, :3, :3].T - since_first).max() < 2e-6


@needs_corpus
def test_objects_of_real_scenes_are_where_the_pose_has_them(tmp_path: Path) -> None:
    paths = threeds_files() if SLOW else threeds_files()[::10]
    for path in paths:
        scene = strict_scene(path)
        if scene is None:
            continue
        try:
            bvh, report = written(scene, tmp_path)
        except CannotWrite:
            continue
        assert differences(scene, bvh, report) < NEAR, path.name


@needs_corpus
@pytest.mark.parametrize("name", REAL[:4])
def test_angles_do_not_jump(name: str, tmp_path: Path) -> None:
    bvh, _ = written(keyframer.load(CORPUS / name), tmp_path, fps=200.0)
    angles = [f"{joint.name} {channel}" for joint in bvh.joints for channel in joint.channels]
    columns = [number for number, channel in enumerate(angles) if channel.endswith("rotation")]
    assert np.abs(np.diff(bvh.rows[:, columns], axis=0)).max() < 45


def arm() -> Scene:
    """Return two joints of a rest pose that is turned: the shoulder turns about Z, and the hand moves away."""
    quarter = np.array([0, 0, np.sqrt(0.5), np.sqrt(0.5)])
    nodes = [
        Node("shoulder", NodeKind.BONE, position=np.array([1.0, 2.0, 3.0]), rotation_xyzw=quarter),
        Node("elbow", NodeKind.BONE, 0, position=np.array([2.0, 0.0, 0.0])),
        Node("hand", NodeKind.BONE, 1, position=np.array([1.0, 0.0, 0.0])),
    ]
    turns = np.array([[0, 0, 0, 1.0], [0, 0, 1.0, 0]])
    turn = Track("rotation", [0.0, 30.0], turns, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)
    away = Track("position", [0.0, 30.0], [[1.0, 0, 0], [4.0, 0, 0]], Interpolation.LINEAR)
    clip = Clip(end=30.0, rate=30.0, channels=[Channel(0, turn), Channel(2, away)])
    return Scene(nodes=nodes, clips=[clip], space=Space("y"))


def test_text_of_a_small_skeleton(tmp_path: Path) -> None:
    """At rest the arm points along Y. Turned about Z by 0 to 180 degrees, it is turned by -90 to 90 from there."""
    report = keyframer.save(arm(), tmp_path / "arm.bvh", fps=1)
    assert [loss.path for loss in report if loss.outcome.value == "dropped"] == []
    assert (tmp_path / "arm.bvh").read_text().replace("\t", "") == "\n".join(
        [
            *("HIERARCHY", "ROOT shoulder", "{", "OFFSET 0.0000000 0.0000000 0.0000000"),
            "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
            *("JOINT elbow", "{", "OFFSET 0.0000000 2.0000000 0.0000000", "CHANNELS 3 Zrotation Xrotation Yrotation"),
            *("JOINT hand", "{", "OFFSET 0.0000000 0.0000000 0.0000000"),
            "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
            *("End Site", "{", "OFFSET 0 0 0", "}", "}", "}", "}"),
            *("MOTION", "Frames: 2", "Frame Time: 1"),
            "1.0000000 2.0000000 3.0000000 -90.0000000 0.0000000 0.0000000 "
            "0.0000000 0.0000000 0.0000000 0.0000000 1.0000000 0.0000000 0.0000000 0.0000000 0.0000000",
            "1.0000000 2.0000000 3.0000000 90.0000000 0.0000000 0.0000000 "
            "0.0000000 0.0000000 0.0000000 0.0000000 4.0000000 0.0000000 0.0000000 0.0000000 0.0000000",
            "",
        ]
    )


def test_skeletons_rest_in_the_rest_pose(tmp_path: Path) -> None:
    scene = arm()
    del scene.clips[0].channels[1]
    bvh, _ = written(scene, tmp_path)
    rest = keyframer.pose(Scene(nodes=scene.nodes, space=scene.space), frames=0).world[0, :, :3, 3]
    np.testing.assert_allclose(bvh.at_rest()[:3], rest - rest[0], atol=1e-6)


def test_several_roots_get_one(tmp_path: Path) -> None:
    scene = arm()
    scene.nodes.append(Node("root", NodeKind.DUMMY, position=np.array([5.0, 0, 0])))
    bvh, report = written(scene, tmp_path)
    assert [joint.name for joint in bvh.joints if joint.parent == 0] == ["shoulder", "root"]
    assert bvh.joints[0].name == "root.2"
    assert [loss.path for loss in report if loss.type is NODE_ADDED["root"]] == ["/nodes"]
    assert differences(scene, bvh, report) < NEAR


def test_names_are_one_word_and_unique(tmp_path: Path) -> None:
    scene = arm()
    for node, name in zip(scene.nodes, ["Bip01 L {Arm}", "Bip01_L__Arm_", "Hände\n"], strict=True):
        node.name = name
    bvh, report = written(scene, tmp_path)
    assert [joint.name for joint in bvh.joints if not joint.is_end] == [
        *("Bip01_L__Arm_", "Bip01_L__Arm_.2", "Hände_"),
    ]
    assert sum(loss.type is NAME_CHANGED["rule"] for loss in report) == 3


def test_scale_is_reported_and_joints_keep_their_places(tmp_path: Path) -> None:
    scene = arm()
    scene.nodes[0].scale = np.array([2.0, 2.0, 2.0])
    grow = Track("scale", [0.0, 30.0], [[1.0, 1, 1], [3.0, 3, 3]], Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(1, grow))
    bvh, report = written(scene, tmp_path)
    assert {loss.type.key for loss in report} >= {"TRANSFORM_APPLIED:scale", "MOTION_UNSUPPORTED:scale"}
    assert differences(scene, bvh, report) < NEAR


def test_frame_rate(tmp_path: Path) -> None:
    scene = arm()
    for fps, count in ((None, 31), (60.0, 61)):
        bvh, report = written(scene, tmp_path, fps=fps)
        assert (len(bvh.rows), bvh.seconds_per_frame) == (count, pytest.approx(1 / (fps or 30)))
    assert "RATE_CHANGED:sampled" in {loss.type.key for loss in report}
    with pytest.raises(ValueError, match="fps must be positive"):
        written(scene, tmp_path, fps=0.0)


def test_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="no joints"):
        keyframer.save(Scene(), tmp_path / "a.bvh")
    assert not list(tmp_path.iterdir())


def test_deep_chains_stay_linear(tmp_path: Path) -> None:
    nodes = [Node(f"n{number}", NodeKind.BONE, number - 1 if number else None) for number in range(3000)]
    keyframer.save(Scene(nodes=nodes), tmp_path / "a.bvh")
    assert (tmp_path / "a.bvh").stat().st_size < 3000 * 500


_SCRIPT = """
import json, sys
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.preferences.addon_enable(module="io_anim_bvh")
bpy.ops.import_anim.bvh(filepath=sys.argv[-1], axis_forward="-Z", axis_up="Y", frame_start=1)
rig = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")
first, last = (int(frame) for frame in rig.animation_data.action.frame_range)
found = {bone.name: [] for bone in rig.pose.bones}
for frame in range(first, last + 1):
    bpy.context.scene.frame_set(frame)
    for bone in rig.pose.bones:
        found[bone.name].append(list(rig.matrix_world @ bone.head))
print("FOUND " + json.dumps(found))
"""


@needs_node_tools
@pytest.mark.parametrize("source", ["windmill", *REAL[:4:2], REAL[4]])
def test_three_js_shows_joints_where_the_pose_has_them(source: str, tmp_path: Path) -> None:
    """It adds positions to offsets, and reads one root."""
    scene, (bvh, report) = loaded(source), written(loaded(source), tmp_path)
    command = ["node", str(ORACLES / "three" / "bvh.mjs"), str(tmp_path / "scene.bvh")]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert away_from_the_pose(scene, bvh, report, found, np.eye(3), slice(-1)) < NEAR  # the end is the begin


def loaded(source: str) -> Scene:
    if source != "windmill" and not CORPUS.is_dir():
        pytest.skip("the shared corpus of real files is not on this machine")
    return keyframer.load(EXAMPLE if source == "windmill" else CORPUS / source)


def away_from_the_pose(
    scene: Scene, bvh: Bvh, report: LossReport, found: dict[str, list[list[float]]], turned: Floats, frames: slice
) -> float:
    """Return the largest distance of joints that a program shows, ``turned`` from Y up, as a fraction of the size."""
    wanted, nodes = wanted_world(scene, bvh)[..., :3, 3] @ turned.T, candidates(scene, report)
    shown = {name: np.array(places)[frames] for name, places in found.items() if name in nodes}
    assert shown
    away = [min(np.abs(places - wanted[frames, node]).max() for node in nodes[name]) for name, places in shown.items()]
    return float(max(away) / np.abs(wanted).max())


@needs_blender
@pytest.mark.parametrize("source", ["windmill", *REAL[:4:2], REAL[4]])
def test_blender_shows_joints_where_the_pose_has_them(source: str, tmp_path: Path) -> None:
    scene, (bvh, report) = loaded(source), written(loaded(source), tmp_path)
    command = [str(PYTHON), "-c", _SCRIPT, str(tmp_path / "scene.bvh")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(next(line for line in said.splitlines() if line.startswith("FOUND ")).removeprefix("FOUND "))
    turned = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]])  # Y up to Z up, as the importer does
    assert away_from_the_pose(scene, bvh, report, found, turned, slice(None)) < 1e-5
