"""Writing scenes as ASE: what is stored exactly, what is converted, and what the report says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.ase import records as r
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    TextureMap,
)
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import NAME_CHANGED
from tests.building.scenes import as_read_from_a_file, one_node
from tests.samples import FOLDER

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])


def save_and_reload(scene: Scene, folder: Path, **options: object) -> tuple[Scene, LossReport]:
    """Save the scene, and return the reloaded scene and the loss report."""
    report = keyframer.save(scene, folder / "made.ase", **options)  # type: ignore[arg-type]
    assert not list(keyframer.check(folder / "made.ase").issues)
    return keyframer.load(folder / "made.ase"), report


def animated_dummy(*tracks: Track, **fields: object) -> Scene:
    """A dummy with these tracks: 30 frames per second, times in frames."""
    return one_node(*tracks, node=Node("Box", NodeKind.DUMMY, **fields), end=10.0)  # type: ignore[arg-type]


def outcomes(report: LossReport) -> dict[str, str]:
    return {loss.path: loss.outcome.value for loss in report}


def test_tcb_keys_are_kept(tmp_path: Path) -> None:
    track = Track("position", np.array([0.0, 4, 10]), np.array([[0.0, 0, 0], [1, 2, 3], [4, 0, 0]]), Interpolation.TCB)
    track.tension, track.ease_to = np.array([0.0, 0.5, 0]), np.array([0.0, 0.25, 0])
    turn = Track(
        "rotation", np.array([0.0, 10]), np.array([[0, 0, 1, 0.5], [0, 1, 0, 7.0]]), Interpolation.TCB,
        form=RotationForm.AXIS_ANGLE_RELATIVE,
    )  # fmt: skip
    scene, report = save_and_reload(animated_dummy(track, turn), tmp_path, keys=True)
    assert outcomes(report)["/nodes/Box/position"] == outcomes(report)["/nodes/Box/rotation"] == "exact"
    position, rotation = (channel.track for channel in scene.clips[0].channels)
    assert position.interpolation is rotation.interpolation is Interpolation.TCB
    np.testing.assert_array_equal(position.times, [0, 640, 1600])
    np.testing.assert_array_equal(position.values, track.values)
    assert position.tension.tolist() == [0, 0.5, 0]
    assert position.ease_to.tolist() == [0, 0.25, 0]
    np.testing.assert_allclose(rotation.values, turn.values, atol=1e-6)  # more than a full turn


def test_cubic_keys_become_bezier_keys_and_play_the_same(tmp_path: Path) -> None:
    track = Track(
        "position", np.array([0.0, 3, 10]), np.array([[0.0, 0, 0], [1, 2, 3], [4, 0, 0]]), Interpolation.CUBIC,
        tangents_in=np.array([[0.0, 0, 0], [0.5, 0, 0.25], [1, 0, 0]]),
        tangents_out=np.array([[1.0, 0, 0], [0, 0.5, 0], [0, 0, 0]]),
    )  # fmt: skip
    given = animated_dummy(track)
    scene, report = save_and_reload(given, tmp_path, keys=True)
    assert outcomes(report)["/nodes/Box/position"] == "exact"
    assert b"CONTROL_POS_BEZIER" in (tmp_path / "made.ase").read_bytes()
    frames = np.linspace(0, 10, 41)
    np.testing.assert_allclose(
        keyframer.pose(scene, frames=frames).world, keyframer.pose(given, frames=frames).world, atol=1e-6
    )


def test_keys_are_sampled_at_every_frame_and_the_error_between_frames_is_reported(tmp_path: Path) -> None:
    values = np.array([[0.0, 0, 0], [1, 2, 3], [4, 0, 0]])
    curve = Track("position", np.array([0.0, 4, 10]), values, Interpolation.TCB)
    line = Track("scale", np.array([0.0, 5, 10]), 1 + values, Interpolation.LINEAR)
    given = animated_dummy(curve, line)
    scene, report = save_and_reload(given, tmp_path)
    text = (tmp_path / "made.ase").read_text()
    assert (text.count("*CONTROL_POS_SAMPLE"), text.count("*CONTROL_SCALE_SAMPLE")) == (11, 11)
    assert outcomes(report)["/nodes/Box/scale"] == "baked"
    (loss,) = (loss for loss in report if loss.path == "/nodes/Box/position")
    frames = np.linspace(0, 10, 201)
    one, other = (keyframer.pose(part, frames=frames).world[:, 0, :3, 3] for part in (scene, given))
    reached = float(np.linalg.norm(one - other, axis=1).max())
    assert (loss.outcome.value, loss.type.key, loss.args, loss.unit) == (
        "approximated",
        "MOTION_SAMPLED:track",
        {"count": 11},
        "scene unit",
    )
    assert loss.error == pytest.approx(reached, rel=0.05)
    np.testing.assert_allclose(one[::20], other[::20], atol=1e-6)


def test_steps_on_frames_are_jumps_between_two_samples(tmp_path: Path) -> None:
    values = np.array([[0.0, 0, 0], [5, 0, 0], [2, 0, 0]])
    turns = np.array([[0.0, 0, 1, 0.5], [0, 0, 1, 1.0], [0, 0, 1, 1.0]])
    given = animated_dummy(
        Track("position", np.array([0.0, 4, 9]), values, Interpolation.STEP),
        Track("rotation", np.array([0.0, 4, 9]), turns, Interpolation.STEP, form=RotationForm.AXIS_ANGLE_RELATIVE),
    )
    scene, report = save_and_reload(given, tmp_path)  # also: no warning about two keys at one time
    assert outcomes(report)["/nodes/Box/position"] == outcomes(report)["/nodes/Box/rotation"] == "baked"
    frames = np.array([0.0, 3.0, 3.99, 4.0, 4.01, 8.99, 9.0, 9.5])
    one, other = keyframer.pose(scene, frames=frames).world, keyframer.pose(given, frames=frames).world
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_constant_that_is_not_the_rest_pose_has_two_samples(tmp_path: Path) -> None:
    still, moved = (Track("position", np.zeros(1), np.array([[x, 0.0, 0]])) for x in (0.0, 7.0))
    for track, count in ((still, 1), (moved, 2)):
        keyframer.save(animated_dummy(track), tmp_path / "made.ase", overwrite=True)
        assert (tmp_path / "made.ase").read_text().count("*CONTROL_POS_SAMPLE") == count


def test_more_frames_than_the_budget_allows_become_keys(tmp_path: Path) -> None:
    track = Track("position", np.array([0.0, 50_000, 99_000]), np.eye(3))
    given = animated_dummy(track)
    limits = keyframer.Limits(keys=10_000)
    report = keyframer.save(given, tmp_path / "made.ase", limits=limits)
    assert outcomes(report)["/nodes/Box/position"] == "exact"
    assert b"CONTROL_POS_LINEAR" in (tmp_path / "made.ase").read_bytes()


def test_sampled_tracks_stay_sampled(tmp_path: Path) -> None:
    values = np.column_stack([np.sin(np.arange(11.0)), np.zeros(11), np.arange(11.0)])
    scene, report = save_and_reload(animated_dummy(Track.sampled("position", values)), tmp_path)
    assert outcomes(report)["/nodes/Box/position"] == "exact"
    (channel,) = scene.clips[0].channels
    assert channel.track.interpolation is Interpolation.SAMPLED
    np.testing.assert_allclose(channel.track.values, values, atol=1e-6)


def test_a_mesh_with_two_materials(tmp_path: Path) -> None:
    corners = np.array([[0, 1, 2], [2, 1, 0]])
    mesh = Mesh("Box", TRIANGLE, corners, face_materials=np.array([2, 0]), smoothing=np.array([0, 1 << 31 | 1]))
    stone = Material("stone", diffuse=(0.5, 0.25, 0.125), two_sided=True, shading="metal")
    stone.maps["bump"] = TextureMap("a.tga", amount=0.5, scale=(2, 3), offset=(0.25, 0.5), rotation_degrees=30)
    materials = [stone, Material("unused"), Material("red", transparency=0.75)]
    scene, _ = save_and_reload(Scene(nodes=[Node("Box", mesh=0)], meshes=[mesh], materials=materials), tmp_path)
    assert [material.name for material in scene.materials] == ["stone", "unused", "red"]
    loaded_mesh = scene.meshes[0]
    assert loaded_mesh.face_materials.tolist() == [2, 0]
    assert loaded_mesh.smoothing.tolist() == [0, 1 << 31 | 1]
    assert (scene.materials[0].two_sided, scene.materials[0].shading) == (True, "metal")
    bump = scene.materials[0].maps["bump"]
    assert (bump.amount, bump.scale, bump.offset) == (0.5, (2, 3), (0.25, 0.5))
    assert bump.rotation_degrees == pytest.approx(30, abs=1e-5)


@pytest.mark.parametrize("name", ["Constant", "Phong", "Blinn", "Metal"])
def test_the_name_of_a_shading_is_kept_in_a_new_file(name: str, tmp_path: Path) -> None:
    """Scenes have one word for Phong and Blinn."""
    text = (FOLDER / "ase" / "textured.ase").read_text().replace("SHADING Phong", f"SHADING {name}")
    (tmp_path / "in.ase").write_text(text)
    save_and_reload(replace(keyframer.load(tmp_path / "in.ase"), origin=None), tmp_path)
    assert f"SHADING {name}\n" in (tmp_path / "made.ase").read_text()


def test_mirrored_nodes_keep_their_faces(tmp_path: Path) -> None:
    mesh = Mesh("Box", TRIANGLE, np.array([[0, 1, 2]]), edges=np.array([0b011]))
    given = Scene(nodes=[Node("Box", mesh=0, scale=np.array([-1.0, 1, 1]))], meshes=[mesh])
    scene, _ = save_and_reload(given, tmp_path)
    document = keyframer.read(tmp_path / "made.ase")
    assert document.first(r.FaceList).corners.tolist() == [[2, 1, 0]]  # counter-clockwise in the world
    for one in (given, scene):
        placed = keyframer.pose(one, frames=[0]).vertices(0)[0][one.meshes[0].corners[0]]
        np.testing.assert_allclose(placed, [[0, 0, 0], [-1, 0, 0], [0, 1, 0]], atol=1e-9)
    assert scene.meshes[0].edges.tolist() == [0b011]


def test_hidden_and_blinking_nodes(tmp_path: Path) -> None:
    blink = Track("visible", np.array([0.0, 3, 5]), np.array([1.0, 0, 1]), Interpolation.STEP)
    given = Scene(
        nodes=[Node("Ghost", NodeKind.DUMMY, hidden=True), Node("Lamp", NodeKind.DUMMY)],
        clips=[Clip(channels=[Channel(1, blink)], end=10.0)],
    )
    scene, report = save_and_reload(given, tmp_path)
    assert [node.hidden for node in scene.nodes] == [True, False]
    assert outcomes(report)["/nodes/Lamp/visible"] == "exact"
    assert keyframer.pose(scene, frames=[0, 2, 3, 4, 5]).visible[:, 1].tolist() == [True, True, False, False, True]


def rolling_camera(**fields: object) -> Scene:
    """A camera that rolls by 90 degrees in 10 frames while its target moves."""
    times = np.array([0.0, 10])
    goal = Track("position", times, np.array([[0.0, 10, 0], [5, 10, 0]]))
    roll = Track("roll", times, np.array([0.0, 90]))
    return Scene(
        nodes=[Node("Eye", NodeKind.CAMERA, camera=0, target=1), Node("Goal", NodeKind.TARGET, **fields)],  # type: ignore[arg-type]
        cameras=[Camera("Eye", fov_degrees=60.0)],
        clips=[Clip(channels=[Channel(1, goal), Channel(0, roll)], end=10.0)],
    )


def test_a_rolling_camera(tmp_path: Path) -> None:
    given = rolling_camera()
    scene, report = save_and_reload(given, tmp_path)
    (loss,) = (loss for loss in report if loss.path == "/nodes/Eye/roll")
    assert (loss.type.key, loss.args) == ("AIM_BAKED:frames", {"count": 11})
    assert 0 < (loss.error or 0) < 0.1  # between frames
    assert [node.name for node in scene.nodes] == ["Eye", "Eye.Target"]  # readers know it by this name
    frames = np.arange(11.0)
    np.testing.assert_allclose(
        keyframer.pose(scene, frames=frames).world, keyframer.pose(given, frames=frames).world, atol=1e-4
    )
    assert scene.cameras[0].fov_degrees == pytest.approx(60)


def test_a_smooth_field_of_view_becomes_enough_linear_keys(tmp_path: Path) -> None:
    fov = Track("fov", np.array([0.0, 50, 100]), np.array([30.0, 90, 40]), Interpolation.TCB)
    given = Scene(
        nodes=[Node("Eye", NodeKind.CAMERA, camera=0)],
        cameras=[Camera("Eye")],
        clips=[Clip(channels=[Channel(0, fov)], end=100.0)],
    )
    scene, report = save_and_reload(given, tmp_path)
    frames = np.arange(0, 100.5, 0.5)
    expected, actual = (keyframer.pose(part, frames=frames).camera_fov_degrees for part in (given, scene))
    np.testing.assert_allclose(actual, expected, atol=0.01)
    (loss,) = (loss for loss in report if loss.path == "/nodes/Eye/fov")
    assert str(loss.args["keys"]).endswith("linear keys")


@as_read_from_a_file()
def test_a_target_with_a_parent_becomes_a_separate_target(tmp_path: Path) -> None:
    given = rolling_camera(parent=2)
    given.nodes.append(Node("Cart", NodeKind.DUMMY, position=np.array([0.0, 0, 3])))
    scene, report = save_and_reload(given, tmp_path)
    assert outcomes(report)["/nodes/Eye/target"] == "baked"
    assert [(node.name, node.kind) for node in scene.nodes] == [
        ("Eye", NodeKind.CAMERA),
        ("Eye.Target", NodeKind.TARGET),
        ("Goal", NodeKind.DUMMY),
        ("Cart", NodeKind.DUMMY),
    ]
    frames = np.arange(11.0)
    loaded_worlds, given_worlds = (
        keyframer.pose(scene, frames=frames).world[:, 0],
        keyframer.pose(given, frames=frames).world[:, 0],
    )
    np.testing.assert_allclose(loaded_worlds, given_worlds, atol=1e-4)


def test_animated_lights(tmp_path: Path) -> None:
    times = np.array([0.0, 10])
    light = Light("Spot", LightType.SPOT, (1.0, 0.5, 0.0), 2.0, hotspot_degrees=20.0, falloff_degrees=40.0)
    light.attenuated, light.inner_range, light.outer_range, light.excludes = True, 5.0, 9.0, ["Box"]
    tracks = [Track("multiplier", times, np.array([1.0, 3])), Track("falloff", times, np.array([40.0, 60]))]
    given = Scene(
        nodes=[Node("Spot", NodeKind.LIGHT, light=0)],
        lights=[light],
        clips=[Clip(channels=[Channel(0, track) for track in tracks], end=10.0)],
    )
    scene, _ = save_and_reload(given, tmp_path)
    loaded_light = scene.lights[0]
    assert (loaded_light.type, loaded_light.color, loaded_light.inner_range, loaded_light.outer_range) == (
        LightType.SPOT,
        (1.0, 0.5, 0.0),
        5.0,
        9.0,
    )
    assert loaded_light.excludes == ["Box"]
    values = {channel.track.kind: channel.track.values.tolist() for channel in scene.clips[0].channels}
    assert values == {"multiplier": [1, 3], "falloff": [40, 60]}


def test_morphs_become_animated_meshes_and_morphs_again(tmp_path: Path) -> None:
    shapes = [TRIANGLE, TRIANGLE + np.array([0, 0, 2.0]), TRIANGLE * 3]
    weights = Track("morph", np.array([0.0, 4, 10]), np.eye(3))
    turn = Track("position", np.array([0.0, 10]), np.array([[0.0, 0, 0], [10, 0, 0]]))
    given = Scene(
        nodes=[Node("Box", mesh=0, morph=Morph(["a", "b", "c"], shapes))],
        meshes=[Mesh("Box", TRIANGLE, np.array([[0, 1, 2]]))],
        clips=[Clip(channels=[Channel(0, weights), Channel(0, turn)], end=10.0)],
    )
    scene, report = save_and_reload(given, tmp_path)
    assert outcomes(report)["/nodes/Box/morph"] == "baked"
    frames = np.arange(11.0)
    one, other = keyframer.pose(scene, frames=frames), keyframer.pose(given, frames=frames)
    np.testing.assert_allclose(one.vertices(0), other.vertices(0), atol=1e-5)


def test_skins(tmp_path: Path) -> None:
    bind = np.tile(np.eye(4), (2, 1, 1))
    bind[1, 2, 3] = -1.0
    given = Scene(
        nodes=[
            Node("hip", NodeKind.BONE),
            Node("knee", NodeKind.BONE, parent=0, position=np.array([0.0, 0, 1])),
            Node("Leg", mesh=0, skin=0),
        ],
        meshes=[Mesh("Leg", TRIANGLE, np.array([[0, 1, 2]]))],
        skins=[Skin("Leg", [0, 1], bind, np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([1.0, 0.25, 0.75]))],
    )
    scene, _ = save_and_reload(given, tmp_path)
    (skin,) = scene.skins
    assert [scene.nodes[joint].name for joint in skin.joints] == ["hip", "knee"]
    assert skin.vertex_indices.tolist() == [0, 1, 1]  # the third vertex has no bone
    assert skin.weights.tolist() == [1.0, 0.25, 0.75]
    np.testing.assert_allclose(skin.inverse_bind, bind, atol=1e-9)


def test_names_with_quotes_are_changed_and_reported(tmp_path: Path) -> None:
    scene, report = save_and_reload(
        Scene(nodes=[Node('a "b"\nc', NodeKind.DUMMY), Node("Fähre", NodeKind.DUMMY)]), tmp_path
    )
    assert [node.name for node in scene.nodes] == ["a 'b' c", "Fähre"]
    assert any(loss.type is NAME_CHANGED["rule"] for loss in report)


def test_reports_use_the_written_name(tmp_path: Path) -> None:
    scene, report = save_and_reload(Scene(nodes=[Node("box", NodeKind.DUMMY), Node("box", NodeKind.DUMMY)]), tmp_path)
    (name,) = (loss.args["name"] for loss in report if loss.type is NAME_CHANGED["rule"])
    assert name == scene.nodes[1].name
    assert scene.nodes[1].name != "box"


def edit_sample(name: str, edit: Callable[[Scene], object], folder: Path) -> tuple[bytes, bytes, LossReport]:
    """The bytes of a sample, its bytes after an edit, and the report."""
    source = FOLDER / "ase" / name
    scene = keyframer.load(source)
    edit(scene)
    report = keyframer.save(scene, folder / "edited.ase")
    return source.read_bytes(), (folder / "edited.ase").read_bytes(), report


def test_an_unchanged_scene_gives_the_same_file(tmp_path: Path) -> None:
    before, after, _ = edit_sample("odd.ase", lambda scene: None, tmp_path)
    assert after == before


def test_a_renamed_node_changes_the_lines_with_its_name(tmp_path: Path) -> None:
    before, after, _ = edit_sample("textured.ase", lambda scene: setattr(scene.nodes[0], "name", "Banner"), tmp_path)
    assert after == before.replace(b'*NODE_NAME "Flag"', b'*NODE_NAME "Banner"')


def test_a_renamed_bone_is_renamed_in_its_skin(tmp_path: Path) -> None:
    text = (FOLDER / "ase" / "skinned.ase").read_bytes().partition(b"*MESH_SOFTSKINVERTS")[0]
    (tmp_path / "skinned.ase").write_bytes(text)
    scene = keyframer.load(tmp_path / "skinned.ase")
    scene.node("knee").name = "shin"
    keyframer.save(scene, tmp_path / "edited.ase")
    assert (tmp_path / "edited.ase").read_bytes() == text.replace(b'"knee"', b'"shin"')


def test_an_edited_key_changes_its_row(tmp_path: Path) -> None:
    def edit(scene: Scene) -> None:
        values = scene.clips[0].channels[0].track.values.copy()
        values[1, 0] = 4.5
        scene.clips[0].channels[0].track.values = values

    before, after, _ = edit_sample("controllers.ase", edit, tmp_path)
    assert after == before.replace(b"*CONTROL_POS_KEY 640\t4.0000", b"*CONTROL_POS_KEY 640\t4.5000")


def test_an_edited_material_in_utf_16(tmp_path: Path) -> None:
    source = tmp_path / "wide.ase"
    text = (FOLDER / "ase" / "textured.ase").read_text().replace("\n", "\r\n")
    source.write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    scene = keyframer.load(source)
    scene.materials[2].diffuse = (0.25, 0.5, 1.0)
    keyframer.save(scene, tmp_path / "edited.ase")
    expected = text.replace("DIFFUSE 0.0000\t0.0000\t1.0000", "DIFFUSE 0.2500\t0.5000\t1.0000")
    assert (tmp_path / "edited.ase").read_bytes() == b"\xff\xfe" + expected.encode("utf-16-le")


def test_an_edited_sub_material_stays_a_sub_material(tmp_path: Path) -> None:
    before, after, _ = edit_sample(
        "textured.ase", lambda scene: setattr(scene.materials[0], "shininess", 0.75), tmp_path
    )
    assert after == before.replace(b"*MATERIAL_SHINE 0.2500", b"*MATERIAL_SHINE 0.7500")


def test_a_removed_sub_material_is_removed_and_the_count_updated(tmp_path: Path) -> None:
    def edit(scene: Scene) -> None:
        scene.materials.pop(1)
        mesh = scene.meshes[0]
        assert mesh.face_materials is not None
        mesh.face_materials = np.where(mesh.face_materials == 1, 0, mesh.face_materials)

    before, after, report = edit_sample("textured.ase", edit, tmp_path)
    assert not any(loss.code == "ORIGINAL_REWRITTEN" for loss in report)
    begin, end = before.index(b"\n\t\t*SUBMATERIAL 1"), before.index(b"\n\t}\n\t*MATERIAL 1 {")
    expected = (before[:begin] + before[end:]).replace(b"*NUMSUBMTLS 2", b"*NUMSUBMTLS 1")
    assert after.replace(b"MTLID 0", b"MTLID 1") == expected.replace(b"MTLID 0", b"MTLID 1")


def test_faces_with_unrelated_materials_cause_a_new_file(tmp_path: Path) -> None:
    def edit(scene: Scene) -> None:
        mesh = scene.meshes[0]
        twice = {
            name: np.repeat(getattr(mesh, name), 2, axis=0) for name in PER_FACE if getattr(mesh, name) is not None
        }
        scene.meshes[0] = replace(mesh, **{**twice, "face_materials": np.array([0, 2], np.int32)})

    _, after, report = edit_sample("textured.ase", edit, tmp_path)
    assert any(loss.code == "ORIGINAL_REWRITTEN" and "not sub-materials of one" in str(loss.args) for loss in report)
    document = keyframer.decode(after)
    assert document.format.to_scene(document, {}).meshes[0].face_materials.tolist() == [0, 2]


PER_FACE = ("corners", "uv_corners", "color_corners", "normal_corners", "smoothing", "edges")


def test_a_renamed_node_stays_in_its_group(tmp_path: Path) -> None:
    before, after, _ = edit_sample("stage.ase", lambda scene: setattr(scene.node("Line01"), "name", "Line02"), tmp_path)
    assert after == before.replace(b'"Line01"', b'"Line02"')


def test_first_keys_of_a_node_with_a_name_that_is_not_ascii(tmp_path: Path) -> None:
    def edit(scene: Scene) -> None:
        track = Track("position", np.array([0.0, 160.0]), np.array([[0.0, 0, 0], [1, 2, 3]]), Interpolation.LINEAR)
        scene.clips[0].channels.append(Channel(0, track))

    before, after, report = edit_sample("cp1252_crlf.ase", edit, tmp_path)
    assert not any(loss.code == "ORIGINAL_REWRITTEN" for loss in report)
    assert after.count("Fähre".encode("cp1252")) == before.count("Fähre".encode("cp1252"))
    assert len(keyframer.load(tmp_path / "edited.ase").clips[0].channels) == 1


def test_an_edited_sampled_track_stays_sampled_and_holds_its_gaps(tmp_path: Path) -> None:
    """Nothing moves between ticks 0 and 320: the end of the gap is written as a sample, and is read again as a gap."""
    row = b"\t\t\t\t*CONTROL_POS_SAMPLE %d\t%d.0000\t0.0000\t0.0000\n"
    rows = b"".join(row % sample for sample in ((0, 1), (480, 2), (640, 3)))
    lines = b"\t\t*SHAPE_LINECOUNT 1\n"
    head = b'\t\t*TM_ANIMATION {\n\t\t\t*NODE_NAME "Line01"\n\t\t\t*CONTROL_POS_TRACK {\n'
    text = (FOLDER / "ase" / "stage.ase").read_bytes()
    text = text.replace(lines, head + rows + b"\t\t\t}\n\t\t}\n" + lines)
    source = tmp_path / "sampled.ase"
    source.write_bytes(text)
    scene = keyframer.load(source)
    (track,) = [channel.track for channel in scene.clips[0].channels if channel.track.kind == "position"]
    assert track.times.tolist() == [0, 320, 480, 640]
    values = track.values.copy()
    values[3, 0] = 4.0
    track.values = values
    keyframer.save(scene, tmp_path / "edited.ase")
    expected = text.replace(b"640\t3.0000", b"640\t4.0000").replace(row % (480, 2), row % (320, 1) + row % (480, 2))
    assert (tmp_path / "edited.ase").read_bytes() == expected
    frames = np.arange(6.0)
    after = keyframer.pose(keyframer.load(tmp_path / "edited.ase"), frames=frames).world
    np.testing.assert_allclose(after, keyframer.pose(scene, frames=frames).world, atol=1e-9)


def test_vertices_are_stored_relative_to_the_matrix_in_the_file(tmp_path: Path) -> None:
    """Its four decimals differ slightly from the matrix of the scene, but the vertices are read back correctly."""
    text = (FOLDER / "ase" / "textured.ase").read_text()
    turned = {"TM_ROW0 1.0000\t0.0000\t0.0000": "TM_ROW0 0.8662\t0.5000\t0.0000"}
    turned["TM_ROW1 0.0000\t1.0000\t0.0000"] = "TM_ROW1 -0.5000\t0.8659\t0.0000"
    for old, new in turned.items():
        assert old in text
        text = text.replace(old, new)
    source = tmp_path / "turned.ase"
    source.write_text(text)
    scene = keyframer.load(source)
    meant = scene.meshes[0].positions * 64
    scene.meshes[0].positions = meant
    report = keyframer.save(scene, tmp_path / "edited.ase")
    assert not any(loss.code == "ORIGINAL_REWRITTEN" for loss in report)
    np.testing.assert_allclose(keyframer.load(tmp_path / "edited.ase").meshes[0].positions, meant, atol=1e-4)


def test_an_empty_scene_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no objects or materials"):
        keyframer.save(Scene(), tmp_path / "a.ase")
