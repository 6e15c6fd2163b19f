"""Blitz3D files as scenes; poses are compared with `evaluator`, which does not use our code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Handedness, Interpolation, NodeKind, RotationForm, Space
from keyframer.formats.kit.coordinates import in_space
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.truth import assert_valid
from tests.formats.b3d import evaluator
from tests.samples.b3d.make import chunk, file, floats, ints, layered, node, odd, swaying

FILES = sorted((CORPUS / "b3d").glob("*.b3d"))


def assert_poses_match(data: bytes) -> None:
    """Compare matrices of nodes and positions of vertices with the evaluator, before, between and after the keys."""
    scene = keyframer.load(data, salvage=True)
    parts = evaluator.parts_of(data)
    assert [node.raw_name for node in scene.nodes] == [part.name for part in parts]
    last = max((frame for part in parts for keys in part.keys.values() for frame in keys), default=0)
    for frame in (-1.0, 0.0, last * 0.37, last / 2, last + 3.0):
        pose = keyframer.pose(scene, frames=[frame])
        expected = np.array(evaluator.world_matrices(parts, frame))
        assert np.abs(pose.world[0] - expected).max() <= 1e-6 * max(np.abs(expected).max(), 1.0)
        for number, rows in evaluator.vertices(parts, frame).items():
            points = np.array(rows).reshape(-1, 3)
            size = max(np.abs(points).max(initial=0.0), 1.0)
            assert np.abs(pose.vertices(number)[0] - points).max(initial=0.0) <= 1e-6 * size


@needs_corpus
@pytest.mark.skipif(not FILES, reason="the corpus has no Blitz3D files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_files_are_lossless_and_pose_as_the_evaluator_says(path: Path) -> None:
    data = path.read_bytes()
    assert keyframer.encode(keyframer.decode(data)) == data
    assert_poses_match(data)


@needs_corpus
@pytest.mark.skipif(not FILES, reason="the corpus has no Blitz3D files")
def test_real_files_are_valid_as_gltf(tmp_path: Path) -> None:
    outputs = [tmp_path / f"{path.stem}.glb" for path in FILES]
    for path, output in zip(FILES, outputs, strict=True):
        keyframer.save(keyframer.load(path), output)
    assert_valid(outputs)


def test_a_strip_with_two_bones() -> None:
    scene = keyframer.load(swaying())
    assert (scene.space.up, scene.space.handedness, scene.space.v_up) == ("y", Handedness.LEFT, False)
    assert [(node.name, node.kind, node.parent) for node in scene.nodes] == [
        ("strip", NodeKind.OBJECT, None),
        ("foot", NodeKind.BONE, 0),
        ("tip", NodeKind.BONE, 1),
    ]
    clip = scene.clips[0]
    assert (clip.rate, clip.start, clip.end) == (60.0, 0.0, 10.0)  # the file states a rate of 0
    assert clip.extras["b3d"]["sequences"][1] == {"name": "down", "first": 5, "last": 10}
    track = next(channel.track for channel in clip.channels if channel.track.kind == "rotation")
    assert (track.interpolation, track.form) == (Interpolation.LINEAR, RotationForm.QUATERNION_ABSOLUTE)
    # The tip turns about Z by a quarter: in Blitz3D the other way round than the usual matrix of that quaternion.
    vertices = keyframer.pose(scene, frames=[10]).vertices(0)[0]
    assert np.allclose(vertices[2], (1.0, 2.0, 0.0), atol=1e-6)  # (0, 2) is (0, 1) above the tip at (0, 2)
    assert np.allclose(vertices[0], (0.0, 1.0, 0.0), atol=1e-6)
    assert np.allclose(vertices[3], 0.75 * np.array((1, 1, 0)) + 0.25 * np.array((1, 3, 0)), atol=1e-6)


def test_faces_are_seen_from_where_their_normals_point() -> None:
    mesh = in_space(keyframer.load(swaying()), Space("y")).meshes[0]
    a, b, c = (mesh.positions[mesh.corners[:, corner]] for corner in range(3))
    assert mesh.normals is not None
    assert (np.cross(b - a, c - a) * mesh.normals[mesh.corners[:, 0]]).sum(axis=1).min() > 0


def test_brushes_and_textures() -> None:
    scene = keyframer.load(layered())
    plain, layers, glow = scene.materials
    assert (plain.diffuse, plain.transparency, plain.self_illumination) == ((0.5, 0.5, 0.5), 0.5, 1.0)
    assert plain.two_sided
    assert (glow.additive, glow.shading) == (True, "flat")
    assert {slot: map.file_name for slot, map in layers.maps.items()} == {
        "texture1": "base.png",
        "texture2": "light.png",
        "reflection": "sky.bmp",
    }
    base, light = layers.maps["texture1"], layers.maps["texture2"]
    assert (base.tiled, base.ignore_alpha, base.second_coordinates) == (False, False, False)
    assert (light.tiled, light.ignore_alpha, light.second_coordinates) == (True, True, True)
    # Blitz3D: R S w + position, about the corner; a map: R S (w - 1/2 - offset) + 1/2
    w = np.array([0.3, 0.7])
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    stored = turn @ (w * (2, 4)) + (0.25, 0.5)
    assert light.rotation_degrees == pytest.approx(np.degrees(0.5))
    assert np.allclose(turn @ ((w - 0.5 - np.array(light.offset)) * light.scale) + 0.5, stored)


def test_vertices_with_everything() -> None:
    sheet, wall = keyframer.load(layered()).meshes
    assert sheet.colors is not None
    assert sheet.color_alpha is not None
    assert sheet.uv2 is not None
    assert np.allclose(sheet.colors[1], (1, 0, 0.5))
    assert np.allclose(sheet.color_alpha, (1, 0.5, 1))
    assert np.allclose(sheet.uv2[1], (0.5, 0))
    assert wall.normals is wall.uv is wall.colors is None
    assert wall.face_materials is not None
    assert wall.face_materials.tolist() == [0, 2]


def test_colours_that_no_brush_uses_are_not_shown() -> None:
    data = layered().replace(ints(1, 2 | 32, 0, 1, 2), ints(1, 0, 0, 1, 2))
    assert keyframer.load(data).meshes[0].colors is None


def test_issues_of_odd_files() -> None:
    scene = keyframer.load(odd(), salvage=True)
    codes = {issue.code: issue.path for issue in scene.issues}
    assert codes["DATA_WEIGHT_SUM"] == "/BB3D/NODE[0]"
    assert codes["LINK_INDEX_OUT_OF_RANGE"].startswith("/BB3D/NODE[0]/MESH/TRIS[0]")
    track = scene.clips[0].channels[0].track
    assert track.times.tolist() == [2, 5, 8]
    assert scene.meshes[0].corners.tolist() == [[2, 1, 0]]
    assert "DATA_KEYS_NOT_INCREASING" in {issue.code for issue in keyframer.check(odd()).issues}


def test_of_two_keys_at_one_frame_the_last_counts() -> None:
    rows = [ints(frame) + floats(x, 0, 0) for frame, x in ((4, 1), (0, 0), (4, 2))]
    data = file(node("still", chunk("KEYS", ints(1), *rows)))
    assert_poses_match(data)
    assert keyframer.pose(keyframer.load(data), frames=[4]).world[0, 0, 0, 3] == 2


def test_unit_quaternions_of_zeros() -> None:
    data = file(node("still", chunk("KEYS", ints(4), ints(0) + floats(0, 0, 0, 0), ints(9) + floats(2, 0, 0, 0))))
    world = keyframer.pose(keyframer.load(data), frames=[0, 4, 9]).world
    assert np.allclose(world, np.eye(4))
