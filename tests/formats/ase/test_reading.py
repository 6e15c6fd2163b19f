"""Reading ASE scenes: positions, meshes, materials and motion, compared with the numbers of `samples.ase.make`."""

from __future__ import annotations

import math

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation
from keyframer.scene import LightType, NodeKind
from tests.building import files as w
from tests.samples import FOLDER

SAMPLES = FOLDER / "ase"


def world(name: str, node: str, frames: list[float]) -> np.ndarray:  # type: ignore[type-arg]
    scene = keyframer.load(SAMPLES / name)
    number = [node.name for node in scene.nodes].index(node)
    return keyframer.pose(scene, frames=frames).world[:, number]


def test_samples_hold_until_the_next_sample() -> None:
    """Samples at frames 0, 1 and 4: 10, 11 and 12 units; frames 2 and 3 hold 11."""
    places = world("textured.ase", "Flag", [0, 0.5, 1, 2, 3, 3.5, 4, 9])[:, 0, 3]
    np.testing.assert_allclose(places, [10, 10.5, 11, 11, 11, 11.5, 12, 12], atol=1e-12)


def test_rotation_samples_are_relative_and_left_handed() -> None:
    """No sample at frame 0: no rotation. Then twice -0.7854 about z, left-handed: 45 and 90 degrees."""
    turned = world("textured.ase", "Flag", [0, 1, 2, 4])
    angles = np.degrees(np.arctan2(turned[:, 1, 0], turned[:, 0, 0]))
    np.testing.assert_allclose(angles, [0, 45, 90, 90], atol=1e-3)


def test_vertices_are_relative_to_their_node() -> None:
    scene = keyframer.load(SAMPLES / "textured.ase")
    mesh = scene.meshes[0]
    np.testing.assert_allclose(mesh.positions, [[0, 0, 0], [1, 0, 0], [0, 1, 0]], atol=1e-12)
    assert mesh.corners.tolist() == [[0, 1, 2]]
    assert mesh.uv.tolist() == [[0, 0], [1, 0], [0, 1]]
    assert mesh.color_corners.tolist() == [[0, 1, 1]]
    assert mesh.smoothing.tolist() == [5]
    assert mesh.edges.tolist() == [0b101]
    assert (mesh.casts_shadows, mesh.receives_shadows) == (True, False)


@pytest.mark.parametrize(
    ("numbers", "code", "message"),
    [
        (
            (1, 0, 5),
            "LINK_INDEX_OUT_OF_RANGE",
            "row 2 refers to entry 5, which does not exist (count: 3)",
        ),
        ((0, 1, 1), "LINK_DUPLICATE_ID", "row 2 has the number 1, which row 1 already has"),
    ],
)
def test_wrong_row_numbers_are_located(numbers: tuple[int, ...], code: str, message: str) -> None:
    table = "\n".join(f"*MESH_VERTEX {number} {row} 0 0" for row, number in enumerate(numbers))
    document = keyframer.decode(w.ase_object(f"*MESH {{\n*MESH_VERTEX_LIST {{\n{table}\n}}\n}}"))
    scene = document.format.to_scene(document, {})
    assert [(issue.code, issue.message) for issue in scene.issues if issue.code.startswith("LINK_")] == [
        (code, message)
    ]
    assert scene.meshes[0].positions[:, 0].tolist() == [0, 1, 2]  # in file order


def test_an_invalid_rate_is_located() -> None:
    document = keyframer.decode(w.ase("*SCENE {\n*SCENE_TICKSPERFRAME 0\n}"))
    (issue,) = document.format.to_scene(document, {}).issues
    assert issue.path == "/scene/scene_ticksperframe"
    assert issue.message == "invalid frame rate: 30 frames per second, 0 ticks per frame"


def test_the_faces_of_a_mirrored_node_are_flipped_back() -> None:
    rows = "*TM_ROW0 -1 0 0\n*TM_ROW1 0 1 0\n*TM_ROW2 0 0 1\n*TM_ROW3 5 0 0"
    table = "*MESH_VERTEX 0 5 0 0\n*MESH_VERTEX 1 4 0 0\n*MESH_VERTEX 2 5 1 0"
    face = "*MESH_FACE 0: A: 0 B: 2 C: 1 AB: 1 BC: 0 CA: 0"
    data = w.ase_object(
        f"*NODE_TM {{\n{rows}\n}}\n*MESH {{\n*MESH_VERTEX_LIST {{\n{table}\n}}\n*MESH_FACE_LIST {{\n{face}\n}}\n}}"
    )
    document = keyframer.decode(data)
    mesh = document.format.to_scene(document, {}).meshes[0]
    np.testing.assert_allclose(mesh.positions, [[0, 0, 0], [1, 0, 0], [0, 1, 0]], atol=1e-12)
    assert mesh.corners.tolist() == [[1, 2, 0]]  # counter-clockwise in the node's own space
    assert mesh.edges.tolist() == [0b010]  # 0-2 of the file is the second edge now


def test_sub_materials_are_chosen_by_the_face_id() -> None:
    scene = keyframer.load(SAMPLES / "textured.ase")
    assert [material.name for material in scene.materials] == ["red", "stone", "blue"]
    faces = scene.meshes[0].face_materials
    assert faces.tolist() == [1]
    red, stone, _ = scene.materials
    assert (red.diffuse, red.shininess, red.shading) == ((1.0, 0.0, 0.0), 0.25, "phong")
    assert (stone.two_sided, stone.transparency) == (True, 0.25)
    texture = stone.maps["texture1"]
    assert (texture.file_name, texture.amount, texture.scale) == ("STONE.TGA", 0.75, (2.0, 3.0))
    assert texture.offset == (0.25, -0.125)  # the scene counts down
    assert texture.rotation_degrees == pytest.approx(-30.0, abs=1e-3)


def test_cameras_and_lights() -> None:
    scene = keyframer.load(SAMPLES / "stage.ase")
    kinds = [node.kind for node in scene.nodes]
    assert kinds == [NodeKind.CAMERA, NodeKind.TARGET, NodeKind.LIGHT, NodeKind.TARGET, NodeKind.DUMMY, NodeKind.DUMMY]
    assert [(node.name, node.parent) for node in scene.nodes[4:]] == [("Sign", None), ("Line01", 4)]  # a group
    camera, light = scene.cameras[0], scene.lights[0]
    assert camera.fov_degrees == pytest.approx(45, abs=1e-3)
    assert (camera.ranges, camera.roll_degrees) == ((0.0, 1000.0), 0.0)
    assert scene.nodes[0].target == 1
    (fov,) = scene.channels_of(0)
    np.testing.assert_allclose(fov.track.values, [45, 60], atol=1e-3)
    assert (light.type, light.color, light.multiplier) == (LightType.SPOT, (1.0, 0.5, 0.25), 1.5)
    assert (light.hotspot_degrees, light.falloff_degrees, light.casts_shadows) == (43.0, 45.0, True)
    assert light.excludes == ["Flag"]
    assert scene.environment.ambient == (0.1, 0.1, 0.1)
    assert scene.environment.background_color == (0.0, 0.0, 0.5)


def test_controllers_become_tracks_with_their_keys() -> None:
    scene = keyframer.load(SAMPLES / "controllers.ase")
    tracks = {
        (scene.nodes[channel.node].name, channel.track.kind): channel.track for channel in scene.clips[0].channels
    }
    assert tracks["Linear", "position"].interpolation is Interpolation.LINEAR
    tcb = tracks["Tcb", "position"]
    assert tcb.interpolation is Interpolation.TCB
    assert tcb.tension.tolist() == [0, 0.5, 0]
    assert tcb.continuity.tolist() == [0, -0.5, 0]
    assert tcb.bias.tolist() == [0, 0.25, 0]
    assert tracks["Tcb", "rotation"].values[1, 3] == pytest.approx(2 * math.pi, abs=1e-4)  # a full turn
    bezier = tracks["Bezier", "position"]
    assert bezier.interpolation is Interpolation.CUBIC
    assert bezier.tangents_in[1].tolist() == [0.0125, 0, 0]


def test_bezier_curves_follow_their_control_points() -> None:
    """From 0 to 4 in 640 ticks; flat at the start, 0.0125 per tick at the end: control points 0, 0, 4 - 8/3, 4."""
    places = world("controllers.ase", "Bezier", [0, 1, 2, 3, 4])[:, 0, 3]
    u = np.linspace(0, 1, 5)
    expected = 3 * u**2 * (1 - u) * (4 - 0.0125 * 640 / 3) + u**3 * 4
    np.testing.assert_allclose(places, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("controller", "key", "usual"), [("LINEAR", "ROT", 1.0), ("BEZIER", "BEZIER_ROT", 1.5), ("TCB", "TCB_ROT", 1.5)]
)
def test_tcb_and_bezier_rotation_keys_are_relative_and_linear_ones_absolute(
    controller: str, key: str, usual: float
) -> None:
    """Unless an option says otherwise. The second key of 1 radian adds to the first (1.5) or replaces it (1)."""
    shape = " 0 0 0 0 0" if controller == "TCB" else ""
    rows = "\n".join(f"*CONTROL_{key}_KEY {time} 0 0 1 {angle}{shape}" for time, angle in ((0, -0.5), (160, -1.0)))
    data = w.ase_object(f'*TM_ANIMATION {{\n*NODE_NAME "Box"\n*CONTROL_ROT_{controller} {{\n{rows}\n}}\n}}')
    for choice, angle in (("auto", usual), ("absolute", 1.0), ("relative", 1.5)):
        document = keyframer.decode(data)
        scene = document.format.to_scene(document, {"rotation_keys": choice})
        matrix = keyframer.pose(scene, frames=[1]).world[0, 0]
        assert math.atan2(matrix[1, 0], matrix[0, 0]) == pytest.approx(angle)
    with pytest.raises(ValueError, match="rotation_keys"):
        document.format.to_scene(document, {"rotation_keys": "maybe"})


def test_a_small_rotation_with_flipped_sign_stays_small() -> None:
    """3ds Max writes 0.1 as 2 pi - 0.1 in the other direction when its quaternion changes sign."""
    rows = f"*CONTROL_ROT_SAMPLE 0 0 0 1 -0.5\n*CONTROL_ROT_SAMPLE 160 0 0 1 {2 * math.pi - 0.1:.4f}"
    data = w.ase_object(f'*TM_ANIMATION {{\n*NODE_NAME "Box"\n*CONTROL_ROT_TRACK {{\n{rows}\n}}\n}}')
    document = keyframer.decode(data)
    scene = document.format.to_scene(document, {})
    matrix = keyframer.pose(scene, frames=[0.5]).world[0, 0]
    assert math.atan2(matrix[1, 0], matrix[0, 0]) == pytest.approx(0.55, abs=1e-4)


def test_animated_meshes_and_visibility() -> None:
    scene = keyframer.load(SAMPLES / "morphing.ase")
    pose = keyframer.pose(scene, frames=[0, 1, 2, 3])
    heights = [float(pose.vertices(0)[frame][:, 2].max()) for frame in range(4)]
    np.testing.assert_allclose(heights, [0, 1, 2, 2], atol=1e-9)
    assert pose.visible[:, 0].tolist() == [True, True, False, False]


def test_animated_meshes_beyond_the_limit_of_samples_are_reported() -> None:
    limits = keyframer.Limits(samples=4000)
    with pytest.raises(keyframer.FormatError, match="LIMIT_SAMPLES"):
        keyframer.load(SAMPLES / "morphing.ase", limits=limits)
    scene = keyframer.load(SAMPLES / "morphing.ase", limits=limits, salvage=True)
    assert all(node.morph is None for node in scene.nodes)
    assert "LIMIT_SAMPLES" in [issue.code for issue in scene.issues]


@pytest.mark.parametrize("name", ["Leg", "Boot"])
def test_skins(name: str) -> None:
    scene = keyframer.load(SAMPLES / "skinned.ase")
    node = scene.node(name)
    assert node.skin is not None
    skin = scene.skins[node.skin]
    assert [scene.nodes[joint].name for joint in skin.joints] == ["hip", "knee"]
    assert skin.vertex_indices.tolist() == [0, 1, 1, 2]
    shares = {"Leg": [1, 0.75, 0.25, 1], "Boot": [1, 0.5, 0.5, 1]}[name]
    assert skin.weights.tolist() == shares
    # moving the knee up by 1 moves each vertex by the knee's share
    scene.node("knee").position = np.array([0.0, 0.0, 2.0])
    moved = keyframer.pose(scene, frames=[0]).vertices(scene.nodes.index(node))[0]
    np.testing.assert_allclose(moved[:, 2], [0, shares[2], 1], atol=1e-9)


def test_a_long_chain_of_cameras_stays_within_the_budget() -> None:
    """If computing the roll would cost too much, cameras keep the rotation keys of the file."""
    place = '*NODE_TM {\n*NODE_NAME "%s"\n*TM_ROW3 1 2 %d\n}\n'
    keys = '*TM_ANIMATION {\n*NODE_NAME "c%d"\n*CONTROL_ROT_TRACK {\n*CONTROL_ROT_SAMPLE 0 0 0 1 0.1\n}\n}\n'
    one = '*CAMERAOBJECT {\n*NODE_NAME "c%d"\n*NODE_PARENT "c%d"\n'
    count = 300
    cameras = [
        one % (at, at - 1) + place % (f"c{at}", 3) + place % (f"t{at}", -9) + keys % at + "}\n" for at in range(count)
    ]
    document = keyframer.decode(w.ase("".join(cameras)))
    scene = document.format.to_scene(document, {})
    looking = [node.target is not None for node in scene.nodes if node.camera is not None]
    assert len(looking) == count
    assert looking[0]
    assert not looking[-1]
    assert len(scene.clips[0].channels) >= looking.count(False)
