"""A GLB of ours that another program edited: what it changed is what is read, and what `diff` shows.

Edits are made in the JSON, by glTF-Transform and by Blender. Extras must not overrule them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.scene import Camera, Channel, Clip, Handedness, Light, LightType, Material, Node, NodeKind, Scene, Space
from tests.building.gltf import Json, glb, loaded, split_glb
from tests.building.gltf_scenes import SCENES, cube, tcb
from tests.cli.running import Run
from tests.exchange.players import PYTHON, needs_blender
from tests.exchange.truth import ORACLES, glb_of, needs_node_tools

FRAMES = np.linspace(0, 100, 21)


def original(up: str = "z") -> Scene:
    """Return a scene with one of each part that is edited, all in extras as far as these go."""
    nodes = [
        Node("mover", mesh=0, pivot=np.array([0.5, 0, 0]), raw_name=b"mover\xff"),
        Node("still", mesh=0, position=np.array([1.0, 2, 3])),
        Node("eye", NodeKind.CAMERA, camera=0, position=np.array([0, -20.0, 0])),
        Node("lamp", NodeKind.LIGHT, light=0, position=np.array([0, 0, 10.0])),
    ]
    keys = tcb("position", [0, 40, 100], [(0, 0, 0), (4, 0, 1), (0, 3, 2)], tension=[0, 0.5, 0])
    return Scene(
        nodes=nodes,
        meshes=[cube(face_materials=np.zeros(12, int))],
        materials=[Material("paint", diffuse=(0.2, 0.4, 0.6), shininess=0.25, shininess_strength=0.5)],
        cameras=[Camera("eye", fov_degrees=60.0)],
        lights=[Light("lamp", LightType.SPOT, (1.0, 0.5, 0.25), 0.75, hotspot_degrees=30, falloff_degrees=45)],
        clips=[Clip("walk", [Channel(0, keys)], start=0, end=100, rate=24.0)],
        space=Space(up),
    )


def edit_json(data: bytes) -> bytes:
    """Make the edits of ``edit_transform.mjs`` in the JSON and the buffer."""
    root, binary = split_glb(data)
    numbers = bytearray(binary)
    next(node for node in root["nodes"] if node["name"] == "still")["translation"] = [7, 8, 9]
    animation = root["animations"][0]
    for channel in animation["channels"]:
        if channel["target"]["path"] == "translation":
            accessor = root["accessors"][animation["samplers"][channel["sampler"]]["output"]]
            start = root["bufferViews"][accessor["bufferView"]].get("byteOffset", 0) + accessor.get("byteOffset", 0)
            values = np.frombuffer(numbers, "<f4", 3 * accessor["count"], start).reshape(-1, 3) + np.float32((0, 0, 5))
            numbers[start : start + values.nbytes] = values.astype("<f4").tobytes()
    root["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] = [1, 0, 0, 1]
    root["cameras"][0]["perspective"]["yfov"] = 0.5
    light = root["extensions"]["KHR_lights_punctual"]["lights"][0]
    light.update(color=[0, 1, 0], intensity=2 * light["intensity"])
    return glb(root, bytes(numbers))


def edit_with_transform(data: bytes, folder: Path) -> bytes:
    (folder / "in.glb").write_bytes(data)
    script = [str(ORACLES / "gltf" / "edit_transform.mjs"), str(folder / "in.glb"), str(folder / "out.glb")]
    subprocess.run(["node", *script], check=True, cwd=ORACLES, capture_output=True)
    return (folder / "out.glb").read_bytes()


def assert_edited(edited: Scene, up: str) -> None:
    before = original(up)
    assert {node.name for node in edited.nodes} == {node.name for node in before.nodes}  # no helper, no Y_up
    mover, still, *_ = (edited.find(name) for name in ("mover", "still"))
    np.testing.assert_allclose(edited.nodes[still].position, [7, 8, 9])
    np.testing.assert_allclose(edited.nodes[mover].pivot, [0.5, 0, 0])
    pose = keyframer.pose(edited, frames=FRAMES)
    wanted = keyframer.pose(before, frames=FRAMES).world[:, 0, :3, 3] + (0, 0, 5)
    np.testing.assert_allclose(pose.world[:, mover, :3, 3], wanted, atol=1e-2)
    assert (edited.clips[0].name, edited.clips[0].rate, edited.clips[0].end) == ("walk", 24.0, 100.0)
    assert edited.materials[0].diffuse == (1.0, 0.0, 0.0)
    assert edited.materials[0].shininess == pytest.approx(0.25, abs=1e-4)  # not edited
    assert edited.cameras[0].fov_degrees == pytest.approx(np.degrees(2 * np.arctan(np.tan(0.25) * 4 / 3)))
    light = edited.lights[0]
    assert light.color == (0.0, 1.0, 0.0)
    # the middle of the scene has moved, so the same intensity is another multiplier: intensities are compared
    again = split_glb(glb_of(edited)[0])[0]["extensions"]["KHR_lights_punctual"]["lights"][0]["intensity"]
    first = split_glb(glb_of(before)[0])[0]["extensions"]["KHR_lights_punctual"]["lights"][0]["intensity"]
    assert again == pytest.approx(2 * first, rel=1e-4)


@pytest.mark.parametrize("up", ["z", "y"])
def test_edits_of_the_json_are_read(up: str) -> None:
    assert_edited(loaded(edit_json(glb_of(original(up))[0])), up)


@needs_node_tools
@pytest.mark.parametrize("up", ["z", "y"])
def test_edits_of_gltf_transform_are_read(up: str, tmp_path: Path) -> None:
    assert_edited(loaded(edit_with_transform(glb_of(original(up))[0], tmp_path)), up)


@needs_blender
def test_edits_of_blender_are_read(tmp_path: Path) -> None:
    before = original()
    (tmp_path / "in.glb").write_bytes(glb_of(before)[0])
    script = [str(ORACLES / "blender" / "edit.py"), str(tmp_path / "in.glb"), str(tmp_path / "out.glb")]
    completed = subprocess.run([str(PYTHON), *script], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr[-2000:]
    edited = keyframer.load(tmp_path / "out.glb")
    y_up = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0.0]]) if edited.space.up == "y" else np.eye(3)
    seconds = np.linspace(0, 4, 9)
    after = keyframer.pose(edited, frames=seconds * edited.clips[0].frames_per_second).world[..., :3, 3]
    pose = keyframer.pose(before, frames=seconds * 24).world[..., :3, 3]
    # the axes of all Blender objects are turned from those of the nodes: x, y, z are x, z, -y there
    np.testing.assert_allclose(after[0, edited.find("still")], y_up @ (7.0, 8.0, 9.0), atol=1e-5)
    np.testing.assert_allclose(after[:, edited.find("mover")], (pose[:, 0] + (0, 5, 0)) @ y_up.T, atol=1e-2)
    (paint,) = [material for material in edited.materials if material.name == "paint"]
    assert paint.diffuse == pytest.approx((1.0, 0.0, 0.0), abs=1e-6)
    aspect = edited.cameras[0].extras["gltf"]["aspect"] if "gltf" in edited.cameras[0].extras else 4 / 3
    fov = np.degrees(2 * np.arctan(np.tan(0.25) * aspect))
    assert edited.cameras[0].fov_degrees == pytest.approx(fov, abs=1e-3)
    assert edited.lights[0].color == pytest.approx((0.0, 1.0, 0.0))


def test_diff_shows_the_edits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = glb_of(original())[0]
    (tmp_path / "a.glb").write_bytes(data)
    (tmp_path / "b.glb").write_bytes(edit_json(data))
    ran = Run(capsys)("diff", tmp_path / "a.glb", tmp_path / "b.glb")
    assert ran.code == 1
    for path in ("translation", "baseColorFactor", "yfov", "intensity", "mover"):
        assert path in ran.out


def test_conversions_write_the_edits(tmp_path: Path) -> None:
    (tmp_path / "b.glb").write_bytes(edit_json(glb_of(original())[0]))
    keyframer.convert(tmp_path / "b.glb", tmp_path / "b.3ds")
    scene = keyframer.load(tmp_path / "b.3ds")
    world = keyframer.pose(scene, frames=[0.0]).world[0]
    np.testing.assert_allclose(world[scene.find("still"), :3, 3], [7, 8, 9], atol=1e-4)
    assert scene.materials[0].diffuse == pytest.approx((1, 0, 0), abs=0.01)


Edit = Callable[[Json], Any]


def named(root: Json, name: str) -> Json:
    return next(node for node in root["nodes"] if node["name"] == name)


def uneven() -> Scene:
    scene = SCENES["static"]()
    scene.nodes[0].name, scene.nodes[0].scale = "arm", np.array([1, 2, 3.0])
    scene.nodes[0].scale_axes_xyzw = np.array([0.5, 0.5, -0.5, 0.5])
    return scene


HELPERS: dict[str, tuple[Callable[[], Scene], Edit, str]] = {
    "root moved": (SCENES["static"], lambda root: named(root, "Y_up").update(translation=[0, 3, 0]), "Y_up"),
    "root turned": (SCENES["static"], lambda root: named(root, "Y_up").update(rotation=[0, 0, 0, 1]), "Y_up"),
    "root scaled": (SCENES["static"], lambda root: named(root, "Y_up").update(scale=[2, 2, 2]), "Y_up"),
    "geometry turned": (
        SCENES["splines"],
        lambda root: named(root, "base_geo").update(rotation=[0, 0, 1, 0]),
        "base_geo",
    ),
    "geometry halved": (SCENES["splines"], lambda root: named(root, "base_geo").update(scale=[0.5] * 3), "base_geo"),
    "axes turned": (uneven, lambda root: named(root, "arm_shape").update(rotation=[0, 0, 1, 0]), "arm_shape"),
}


@pytest.mark.parametrize("name", HELPERS)
def test_a_changed_helper_node_is_a_node_like_any_other(name: str) -> None:
    make, change, helper = HELPERS[name]
    root, binary = split_glb(glb_of(make())[0])
    assert helper not in [node.name for node in loaded(glb(root, binary)).nodes]
    change(root)
    changed = loaded(glb(root, binary))
    assert helper in [node.name for node in changed.nodes]
    for node in root["nodes"]:
        node.pop("extras", None)
        node["name"] = {"Y_up": "turn"}.get(node["name"], node["name"])  # the name alone says whose helper it is
    del root["scenes"][0]["extras"]
    plain = loaded(glb(root, binary))  # as any reader sees it
    rest = keyframer.pose(plain, frames=[0.0]).world[0]
    worlds = {{"turn": "Y_up"}.get(node.name, node.name): rest[number] for number, node in enumerate(plain.nodes)}
    posed = keyframer.pose(changed, frames=[0.0]).world[0]
    if changed.space.up == "z":  # only another helper was changed
        posed = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]]) @ posed
    for number, node in enumerate(changed.nodes):
        np.testing.assert_allclose(posed[number], worlds[node.name], atol=1e-5, err_msg=node.name)


def test_a_node_that_was_added_beside_the_root_stands_where_it_was_put() -> None:
    root, binary = split_glb(glb_of(SCENES["static"]())[0])
    root["nodes"].append({"name": "added", "translation": [1, 2, 3]})
    root["scenes"][0]["nodes"].append(len(root["nodes"]) - 1)
    changed = loaded(glb(root, binary))
    assert changed.space == Space("y", Handedness.RIGHT, 1.0, False)
    np.testing.assert_allclose(keyframer.pose(changed, frames=[0]).world[0, changed.find("added"), :3, 3], [1, 2, 3])


@pytest.mark.parametrize(("degrees", "is_restored"), [(0.0, True), (0.05, True), (0.2, False), (90.0, False)])
def test_a_target_is_restored_if_it_causes_the_rotation_within_a_tenth_of_a_degree(
    degrees: float, is_restored: bool
) -> None:
    root, binary = split_glb(glb_of(SCENES["looking"]())[0])
    x, y, z, w = named(root, "stored")["rotation"]
    c, s = np.cos(np.radians(degrees) / 2), np.sin(np.radians(degrees) / 2)
    named(root, "stored")["rotation"] = turned = [x * c + w * s, y * c + z * s, z * c - y * s, w * c - x * s]  # about x
    restored = loaded(glb(root, binary))
    assert (restored.cameras[2].target is not None) is is_restored
    assert restored.nodes[restored.find("free")].target == restored.find("goal")  # that was not touched
    if not is_restored:
        np.testing.assert_allclose(restored.nodes[restored.find("stored")].rotation_xyzw, turned, atol=1e-6)


def test_a_renamed_node_does_not_keep_its_old_name() -> None:
    root, binary = split_glb(glb_of(original())[0])
    assert loaded(glb(root, binary)).nodes[0].raw_name == b"mover\xff"
    named(root, "mover")["name"] = "other"
    node = loaded(glb(root, binary)).nodes[0]
    assert (node.name, node.raw_name) == ("other", None)


def test_a_longer_animation_has_another_end() -> None:
    root, binary = split_glb(glb_of(original())[0])
    sampler = root["animations"][0]["samplers"][0]
    accessor = root["accessors"][sampler["input"]]
    start = root["bufferViews"][accessor["bufferView"]].get("byteOffset", 0) + accessor.get("byteOffset", 0)
    times = np.frombuffer(binary, "<f4", accessor["count"], start) * np.float32(2)
    accessor["max"] = [float(times[-1])]
    edited = binary[:start] + times.tobytes() + binary[start + times.nbytes :]
    (clip,) = loaded(glb(root, edited)).clips
    assert clip.end == 200.0


def test_a_glb_saved_from_the_viewer_keeps_its_motion() -> None:
    """The page shows and saves this GLB (tests/viewer)."""
    scene = SCENES["splines"]()
    data, report = glb_of(scene, keys="cubic")
    restored = loaded(data)
    frames = np.linspace(0, 30, 61)
    before, after = (keyframer.pose(some, frames=frames).world for some in (scene, restored))
    np.testing.assert_allclose(after, before, atol=2e-4 * report.measured["size"])
