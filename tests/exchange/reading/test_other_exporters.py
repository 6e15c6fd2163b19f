"""Files of three.js' GLTFExporter and of glTF-Transform, compared with the independent player."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation
from keyframer.scene import LightType, NodeKind, Space
from tests.exchange.truth import needs_node_tools
from tests.oracles.gltf.sampler import Gltf

pytestmark = needs_node_tools


def test_poses_match_files_of_three(exported_files: Path) -> None:
    scene = keyframer.load(exported_files / "three.glb")
    gltf = Gltf((exported_files / "three.glb").read_bytes())
    seconds = np.linspace(0, 3, 40)
    worlds = gltf.worlds(seconds, 0)
    pose = keyframer.pose(scene, times=seconds)
    np.testing.assert_allclose(pose.world, worlds, atol=1e-6)
    drawn = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    assert [scene.nodes[number].name for number in drawn] == ["box", "ball", "blob", "leg"]
    for number in drawn:
        (primitive,) = gltf.json["meshes"][gltf.json["nodes"][number]["mesh"]]["primitives"]
        corners = gltf.accessor(primitive["indices"]).reshape(-1, 3)
        theirs = gltf.vertices(number, seconds, worlds, 0)[:, corners]
        place = scene.nodes[number].mesh
        assert place is not None
        np.testing.assert_allclose(pose.vertices(number)[:, scene.meshes[place].corners], theirs, atol=1e-6)


def test_normals_of_three_are_kept(exported_files: Path, tmp_path: Path) -> None:
    """Edges of the box stay hard, and the ball is smooth where its image begins and ends."""
    scene = keyframer.load(exported_files / "three.glb")
    keyframer.save(scene, tmp_path / "again.glb")
    before, after = (Gltf(path.read_bytes()) for path in (exported_files / "three.glb", tmp_path / "again.glb"))
    for name, degrees in (("box", 0.1), ("ball", 12.0)):
        normals_of_scenes = []
        for gltf in (before, after):
            nodes = gltf.json["nodes"]
            holder = next(node for node in nodes if "mesh" in node and node["name"].removesuffix("_geo") == name)
            (primitive,) = gltf.json["meshes"][holder["mesh"]]["primitives"]
            corners = gltf.accessor(primitive["indices"]).reshape(-1)
            attributes = primitive["attributes"]
            normals_of_scenes.append(
                (gltf.accessor(attributes["POSITION"])[corners], gltf.accessor(attributes["NORMAL"])[corners])
            )
        (places, normals), (same, again) = normals_of_scenes
        np.testing.assert_allclose(same, places, atol=1e-6)
        cosine = np.clip((normals * again).sum(axis=1), -1, 1)
        poles = np.abs(normals[:, 1]) > 0.999 if name == "ball" else np.zeros(len(normals), bool)
        assert np.degrees(np.arccos(cosine))[~poles].max() < degrees, name


def test_contents_of_a_file_of_three(exported_files: Path) -> None:
    scene = keyframer.load(exported_files / "three.glb")
    assert scene.space == Space("y", metres_per_unit=1.0, v_up=False)
    assert scene.source_format == "gltf"
    kinds = {node.name: node.kind for node in scene.nodes}
    assert (kinds["eye"], kinds["lamp"], kinds["knee"]) == (NodeKind.CAMERA, NodeKind.LIGHT, NodeKind.BONE)
    assert scene.node("ball").parent == 0
    wanted = 2 * math.degrees(math.atan(math.tan(math.radians(20)) * 1.5))  # 40 degrees high, 3:2
    assert scene.cameras[0].fov_degrees == pytest.approx(wanted)
    lamp = scene.lights[0]
    assert (lamp.type, lamp.outer_range) == (LightType.SPOT, 20.0)
    assert lamp.falloff_degrees == pytest.approx(math.degrees(1.0))
    assert {material.name: material.diffuse for material in scene.materials}["red"] == (1.0, 0.0, 0.0)
    glass = next(material for material in scene.materials if material.name == "glass")
    assert (glass.transparency, glass.two_sided) == (0.75, True)
    modes = {channel.track.kind: channel.track.interpolation for channel in scene.clips[0].channels}
    assert modes["scale"] is Interpolation.STEP
    assert [issue.path for issue in scene.issues] == ["/meshes[3]/primitives[0]/mode"]  # the points


def test_text_with_a_data_uri_gives_the_same_scene(exported_files: Path) -> None:
    both = [keyframer.load(exported_files / name) for name in ("three.glb", "three.gltf")]
    poses = [keyframer.pose(scene, times=[0, 0.7, 2]).world for scene in both]
    np.testing.assert_array_equal(*poses)
    np.testing.assert_array_equal(both[0].meshes[0].positions, both[1].meshes[0].positions)


@pytest.mark.parametrize("name", ["transform.glb", "transform.gltf"])
def test_files_of_gltf_transform(exported_files: Path, name: str) -> None:
    scene = keyframer.load(exported_files / name)
    seconds = np.linspace(0, 3, 31)
    pose = keyframer.pose(scene, times=seconds)
    gltf = Gltf((exported_files / "transform.glb").read_bytes())
    np.testing.assert_allclose(pose.world, gltf.worlds(seconds, 0), atol=1e-6)
    assert {channel.track.interpolation for channel in scene.clips[0].channels[:2]} == {Interpolation.CUBIC}
    mesh = scene.meshes[0]
    assert mesh.corners.tolist() == [[0, 1, 2], [1, 3, 2]]  # a strip: every other triangle is reversed
    assert mesh.colors is not None
    np.testing.assert_allclose(mesh.colors, [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    # the target is sparse: only the last vertex moves, by 5, and its weight is 0.5
    here = pose.world[0, 0] @ np.array([2, 3, 2.5, 1])
    np.testing.assert_allclose(pose.vertices(0)[0, 3], here[:3], atol=1e-6)
    assert scene.lights[0].outer_range == 7.0
    assert scene.materials[0].transparency == 0.5
    assert len(scene.issues) == 0
