"""Skinned meshes in 3D Studio files, which have no skins: parts that follow one joint become its children."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.maths import affine, quat
from keyframer.scene import Channel, Clip, Material, Mesh, Morph, Node, NodeKind, Scene, Skin
from keyframer.scene.loss_report import Loss, LossReport, Outcome

Floats = npt.NDArray[np.float64]

WINDMILL = Path(__file__).parents[2] / "samples/3ds/windmill.3ds"
SECONDS = np.linspace(0.0, 2.0, 21)


def cloud(scene: Scene, seconds: Floats) -> Floats:
    """(T, V, 3) of all meshes together."""
    pose = keyframer.pose(scene, times=seconds)
    return np.concatenate([pose.vertices(at) for at, node in enumerate(scene.nodes) if node.mesh is not None], axis=1)


def farthest(a: Floats, b: Floats) -> float:
    """The largest distance from a point of one cloud to the nearest of the other, in both directions, at all times."""
    worst = 0.0
    for ours, theirs in zip(a, b, strict=True):
        distances = np.sqrt(((ours[:, None] - theirs[None]) ** 2).sum(axis=-1))
        worst = max(worst, float(distances.min(axis=0).max()), float(distances.min(axis=1).max()))
    return worst


def through_3ds(scene: Scene, folder: Path) -> tuple[Scene, LossReport]:
    report = keyframer.save(scene, folder / "made.3ds")
    assert keyframer.check(folder / "made.3ds").count("error") == 0
    return keyframer.load(folder / "made.3ds"), report


def skin_losses(report: LossReport) -> list[Loss]:
    return [loss for loss in report if loss.path.endswith("/skin")]


def test_the_windmill_converted_to_hale3d_and_back_moves(tmp_path: Path) -> None:
    mill = keyframer.load(WINDMILL)
    keyframer.save(mill, tmp_path / "mill.anim", format="hale3d")
    back, report = through_3ds(keyframer.load(tmp_path / "mill.anim"), tmp_path)
    seconds = np.linspace(0.0, 3.3, 12)
    truth = cloud(mill, seconds)
    assert np.ptp(truth, axis=0).max() > 5
    assert farthest(truth, cloud(back, seconds)) < 1e-3
    assert {loss.outcome for loss in skin_losses(report)} == {Outcome.BAKED}


def test_a_skinned_u3d_scene_moves_in_3ds(tmp_path: Path) -> None:
    keyframer.save(figure(np.random.default_rng(5)), tmp_path / "made.u3d")
    scene = keyframer.load(tmp_path / "made.u3d")
    assert scene.skins
    loaded, _ = through_3ds(scene, tmp_path)
    assert farthest(cloud(scene, SECONDS), cloud(loaded, SECONDS) @ np.eye(3)[[0, 2, 1]]) < 2e-3


def figure(random: np.random.Generator, *, blended: bool = False, stored: bool = False, free: bool = False) -> Scene:
    """Bones that rotate, in a random hierarchy, and a mesh each of whose faces follows one of them."""
    nodes, channels = [], []
    for number in range(4):
        node = Node(f"bone{number}", NodeKind.BONE, int(random.integers(number)) if number else None)
        node.position = random.uniform(-2, 2, 3)
        node.scale = random.uniform(0.5, 2, 3) if number == 3 else np.ones(3)
        nodes.append(node)
        turns = np.column_stack([random.normal(size=(4, 3)), random.uniform(-2, 2, 4)])
        track = Track("rotation", np.arange(4.0) * 20, turns, form=RotationForm.AXIS_ANGLE_RELATIVE)
        channels.append(Channel(number, track))
    faces = 12
    joints = random.integers(5 if free else 4, size=faces)
    corners = np.arange(3 * faces).reshape(-1, 3)
    vertices = np.arange(3 * faces)
    owners = np.repeat(joints, 3)
    if blended:
        owners[::3] = (owners[::3] + 1) % 4
    bind = affine.compose(
        random.uniform(-1, 1, (4, 3)),
        quat.from_axis_angle(random.normal(size=(4, 3)), random.uniform(-3, 3, 4)),
        np.ones(3),
    )
    positions = random.uniform(-3, 3, (3 * faces, 3))
    carried = owners < 4
    inverse = affine.inverse(bind)
    skin = Skin("skin", [0, 1, 2, 3], inverse, vertices[carried], owners[carried], np.full(int(carried.sum()), 0.7))
    if stored:
        skin.positions = random.uniform(-1, 1, (int(carried.sum()), 3))
    mesh = Mesh("body", positions, corners, uv=random.uniform(0, 1, (3 * faces, 2)))
    mesh.face_materials = np.arange(faces) % 2
    mesh.smoothing = np.full(faces, 3)
    nodes.append(Node("body", mesh=0, skin=0, position=np.array([50.0, 0, 0])))
    materials = [Material("red"), Material("blue")]
    return Scene(nodes, [mesh], materials, skins=[skin], clips=[Clip(channels=channels, end=60.0)])


@pytest.mark.parametrize("stored", [False, True], ids=["bound", "stored"])
@pytest.mark.parametrize("free", [False, True], ids=["all skinned", "some not skinned"])
@pytest.mark.parametrize("seed", range(4))
def test_rigid_skins_keep_their_motion(seed: int, free: bool, stored: bool, tmp_path: Path) -> None:
    scene = figure(np.random.default_rng(seed), stored=stored, free=free)
    loaded, report = through_3ds(scene, tmp_path)
    truth = cloud(scene, SECONDS)
    assert np.ptp(truth, axis=0).max() > 1
    assert farthest(truth, cloud(loaded, SECONDS)) < 5e-4 * float(np.abs(truth).max())
    (loss,) = skin_losses(report)
    assert loss.outcome is Outcome.BAKED
    parents = {
        loaded.nodes[node.parent].name for node in loaded.nodes if node.mesh is not None and node.parent is not None
    }
    carried = set(np.asarray(scene.skins[0].joint_indices).tolist())
    assert parents == {f"bone{joint}" for joint in carried}


def test_face_attributes_stay_with_their_faces(tmp_path: Path) -> None:
    scene = figure(np.random.default_rng(1))
    loaded, _ = through_3ds(scene, tmp_path)
    pose, truth = keyframer.pose(loaded, times=[0.0]), keyframer.pose(scene, times=[0.0]).vertices(4)[0]
    whole = scene.meshes[0]
    assert whole.uv is not None
    assert whole.face_materials is not None
    seen = 0
    for number, node in enumerate(loaded.nodes):
        if node.mesh is None:
            continue
        part = loaded.meshes[node.mesh]
        assert part.uv is not None
        assert part.face_materials is not None
        assert part.smoothing is not None
        for face, corners in enumerate(part.corners):
            place = pose.vertices(number)[0][corners[0]]
            vertex = int(np.argmin(((truth - place) ** 2).sum(axis=1)))
            name = loaded.materials[int(part.face_materials[face])].name
            assert name == scene.materials[int(whole.face_materials[vertex // 3])].name
            assert np.allclose(part.uv[corners[0]], whole.uv[vertex], atol=1e-6)
            seen += 1
    assert seen == len(whole.corners)


@pytest.mark.parametrize("seed", range(3))
def test_deforming_faces_are_reported_with_their_error(seed: int, tmp_path: Path) -> None:
    """Every third vertex follows another joint than its face: the part moves, and the report has its error."""
    scene = figure(np.random.default_rng(seed), blended=True)
    loaded, report = through_3ds(scene, tmp_path)
    (loss,) = skin_losses(report)
    assert (loss.outcome, loss.path, loss.unit) == (Outcome.DROPPED, "/nodes/body/skin", "scene unit")
    assert (loss.type.key, loss.args) == ("SKINS_UNSUPPORTED:bending", {"bent": 12, "count": 12})
    truth, actual = cloud(scene, SECONDS), cloud(loaded, SECONDS)
    assert np.ptp(actual, axis=0).max() > 1  # parts with a deforming corner still move
    assert loss.error is not None
    assert loss.error > 0.1
    two_of_three = truth.reshape(len(SECONDS), -1, 3, 3)[:, :, 1:].reshape(len(SECONDS), -1, 3)
    for ours, theirs in zip(two_of_three, actual, strict=True):
        nearest = np.sqrt(((ours[:, None] - theirs[None]) ** 2).sum(axis=-1)).min(axis=1)
        assert nearest.max() < 1e-2
    assert farthest(truth, actual) <= loss.error * 1.05 + 1e-2


def test_weights_of_joints_that_move_together_lose_nothing(tmp_path: Path) -> None:
    scene = figure(np.random.default_rng(2), blended=True)
    scene.clips[0].channels = scene.clips[0].channels[:1]
    for node in scene.nodes[1:4]:
        node.parent = 0
    rest = keyframer.pose(scene, times=[0.0]).world[0, :4]
    scene.skins[0].inverse_bind = affine.inverse(rest)
    loaded, report = through_3ds(scene, tmp_path)
    assert [loss.outcome for loss in skin_losses(report)] == [Outcome.BAKED]
    assert farthest(cloud(scene, SECONDS), cloud(loaded, SECONDS)) < 1e-2


def test_morphs_and_visibility_are_kept_by_the_parts(tmp_path: Path) -> None:
    scene = figure(np.random.default_rng(3))
    large = scene.meshes[0].positions * 1.5
    scene.nodes[4].morph = Morph(["body", "large"], [scene.meshes[0].positions, large])
    weights = np.array([[1.0, 0.0], [0.0, 1.0]])
    morph = Track("morph", np.array([0.0, 30.0]), weights, Interpolation.TCB)
    hide = Track("visible", np.array([0.0, 40.0]), np.array([1.0, 0.0]), Interpolation.STEP)
    scene.clips[0].channels += [Channel(4, morph), Channel(4, hide)]
    loaded, _ = through_3ds(scene, tmp_path)
    parts = [at for at, node in enumerate(loaded.nodes) if node.mesh is not None and node.parent is not None]
    pose = keyframer.pose(loaded, times=SECONDS)
    actual = np.concatenate([pose.vertices(at) for at in parts], axis=1)
    assert farthest(cloud(scene, SECONDS), actual) < 1e-2
    shown = {channel.node for channel in loaded.clips[0].channels if channel.track.kind == "visible"}
    assert shown == set(parts)


def test_a_skinned_mesh_added_to_a_3ds_file_moves(tmp_path: Path) -> None:
    """The edit is merged: the parts become children of existing nodes."""
    scene = keyframer.load(WINDMILL)
    names = [node.name for node in scene.nodes]
    rotor = names.index("Rotor")
    points = np.array([[0.0, 0, 0], [3, 0, 0], [0, 0, 3]])
    scene.meshes.append(Mesh("flag", points, np.array([[0, 1, 2]])))
    scene.skins.append(Skin("flag", [rotor], np.eye(4)[None], np.arange(3), np.zeros(3, int), np.ones(3)))
    scene.nodes.append(Node("flag", mesh=len(scene.meshes) - 1, skin=0))
    loaded, report = through_3ds(scene, tmp_path)
    assert not [loss for loss in report if loss.code == "ORIGINAL_REWRITTEN"]
    flag = [node.name for node in loaded.nodes].index("flag")
    ours = keyframer.pose(scene, times=SECONDS).vertices(len(scene.nodes) - 1)
    assert np.ptp(ours, axis=0).max() > 1
    assert np.allclose(keyframer.pose(loaded, times=SECONDS).vertices(flag), ours, atol=1e-3)
