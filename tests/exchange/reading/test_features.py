"""Single features of glTF, in files written by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import keyframer
from tests.building.gltf import Json, data_uri, glb, loaded, split_glb, triangle

POINTS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0)], float)


def test_buffer_in_a_separate_file(tmp_path: Path) -> None:
    import json

    root, binary = triangle()
    root["buffers"][0]["uri"] = "deep/my%20data.bin"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "my data.bin").write_bytes(binary)
    (tmp_path / "a.gltf").write_text(json.dumps(root))
    np.testing.assert_array_equal(keyframer.load(tmp_path / "a.gltf").meshes[0].positions, POINTS)
    with pytest.raises(
        keyframer.FormatError,
        match=r"IO_READ_FAILED .* in /buffers\[0\]/uri: .*only if the folder of the glTF file is known",
    ):
        loaded(json.dumps(root).encode())


def test_interleaved_buffer_view() -> None:
    root, _ = triangle()
    rows = np.zeros(3, [("position", "<f4", 3), ("uv", "<u2", 2)])
    rows["position"], rows["uv"] = POINTS, [(0, 0), (65535, 0), (0, 65535)]
    root["bufferViews"] = [{"buffer": 0, "byteLength": 48, "byteStride": 16}]
    uv = {"bufferView": 0, "byteOffset": 12, "componentType": 5123, "normalized": True, "count": 3, "type": "VEC2"}
    root["accessors"] = [root["accessors"][0], uv]
    root["meshes"][0]["primitives"][0] = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}}
    root["buffers"][0]["byteLength"] = 48
    mesh = loaded(glb(root, rows.tobytes())).meshes[0]
    np.testing.assert_array_equal(mesh.positions, POINTS)
    np.testing.assert_array_equal(mesh.uv, [(0, 0), (1, 0), (0, 1)])


@pytest.mark.parametrize(
    ("kind", "stored", "wanted"),
    [
        ("<u1", [0, 255, 51], [0, 1, 0.2]),
        ("<i1", [-128, 127, -127], [-1, 1, -1]),
        ("<i2", [-32768, 32767, 0], [-1, 1, 0]),
        ("<u2", [0, 65535, 13107], [0, 1, 0.2]),
    ],
)
def test_normalised_integers(kind: str, stored: list[int], wanted: list[float]) -> None:
    root, _ = triangle()
    numbers = {"<i1": 5120, "<u1": 5121, "<i2": 5122, "<u2": 5123}
    size = 4 * np.dtype(kind).itemsize  # VEC3, padded to four
    rows = np.zeros((3, 4), kind)
    rows[:, 0] = stored
    root["bufferViews"] = [{"buffer": 0, "byteLength": 3 * size, "byteStride": size}]
    root["accessors"] = [
        {"bufferView": 0, "componentType": numbers[kind], "normalized": True, "count": 3, "type": "VEC3"}
    ]
    root["meshes"][0]["primitives"][0] = {"attributes": {"POSITION": 0}}
    root["buffers"] = [{"byteLength": 3 * size, "uri": data_uri(rows.tobytes())}]
    positions = loaded(glb(root)).meshes[0].positions[:, 0]
    np.testing.assert_allclose(positions, wanted, atol=1e-6)


def test_sparse_accessor_with_and_without_a_buffer_view() -> None:
    root, binary = triangle()
    extra = np.array([2], "<u2").tobytes() + bytes(2) + np.array([9, 8, 7], "<f4").tobytes()
    root["bufferViews"] += [
        {"buffer": 0, "byteOffset": 44, "byteLength": 2},
        {"buffer": 0, "byteOffset": 48, "byteLength": 12},
    ]
    root["buffers"][0]["byteLength"] = 60
    sparse = {"count": 1, "indices": {"bufferView": 2, "componentType": 5123}, "values": {"bufferView": 3}}
    root["accessors"][0]["sparse"] = sparse
    positions = loaded(glb(root, binary + extra)).meshes[0].positions
    np.testing.assert_array_equal(positions, [(0, 0, 0), (1, 0, 0), (9, 8, 7)])
    del root["accessors"][0]["bufferView"]
    positions = loaded(glb(root, binary + extra)).meshes[0].positions
    np.testing.assert_array_equal(positions, [(0, 0, 0), (0, 0, 0), (9, 8, 7)])


@pytest.mark.parametrize(
    ("mode", "faces"), [(5, [[0, 1, 2], [1, 0, 2]]), (6, [[1, 2, 0], [2, 0, 0]]), (4, [[0, 1, 2]])]
)
def test_strips_and_fans(mode: int, faces: list[list[int]]) -> None:
    root, binary = triangle()
    root["meshes"][0]["primitives"][0]["mode"] = mode
    root["accessors"][1]["count"] = 4  # 0 1 2 0
    if mode == 5:  # (1, 2, 0) is reversed, because it is the second: (1, 0, 2)
        faces = [[0, 1, 2], [1, 0, 2]]
    assert loaded(glb(root, binary)).meshes[0].corners.tolist() == faces


def test_matrix_of_a_node() -> None:
    root, binary = triangle()
    turned = [0, 0, -2, 0, 0, 3, 0, 0, 4, 0, 0, 0, 5, 6, 7, 1]  # columns
    root["nodes"][0]["matrix"] = turned
    world = keyframer.pose(loaded(glb(root, binary)), frames=[0]).world[0, 0]
    np.testing.assert_allclose(world, np.array(turned, float).reshape(4, 4).T, atol=1e-12)


def seamed(*, with_normals: bool, fold: bool = False) -> bytes:
    """Return two triangles with a common edge whose vertices are stored twice; with ``fold``, with different
    normals."""
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], "<f4")
    normals = np.array([(0, 0, 1)] * 3 + [(0, 1, 0) if fold else (0, 0, 1)] * 3, "<f4")
    uv = np.arange(12, dtype="<f4").reshape(6, 2) / 12
    root, _ = triangle()
    sizes = [72, 72, 48]
    root["bufferViews"] = [
        {"buffer": 0, "byteOffset": sum(sizes[:number]), "byteLength": size} for number, size in enumerate(sizes)
    ]
    root["buffers"] = [{"byteLength": sum(sizes)}]
    root["accessors"] = [
        {"bufferView": number, "componentType": 5126, "count": 6, "type": kind}
        for number, kind in enumerate(("VEC3", "VEC3", "VEC2"))
    ]
    attributes = {"POSITION": 0, **({"NORMAL": 1} if with_normals else {}), "TEXCOORD_0": 2}
    root["meshes"] = [{"primitives": [{"attributes": attributes}]}]
    return glb(root, points.tobytes() + normals.tobytes() + uv.tobytes())


def test_vertices_that_differ_only_in_texture_coordinates_are_merged() -> None:
    (mesh,) = loaded(seamed(with_normals=True)).meshes
    assert mesh.corners.tolist() == [[0, 1, 2], [1, 3, 2]]
    assert len(mesh.positions) == 4
    assert mesh.uv_corners is not None
    np.testing.assert_allclose(mesh.uv[mesh.uv_corners].reshape(6, 2), np.arange(12).reshape(6, 2) / 12, rtol=1e-6)
    assert mesh.smoothing.tolist() == [1, 1]


def test_different_normals_make_a_hard_edge() -> None:
    (mesh,) = loaded(seamed(with_normals=True, fold=True)).meshes
    assert mesh.corners.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("size", [1e-42, 1e-30, 1e30, 3e38])
def test_vertices_of_a_mesh_of_any_size_are_merged(size: float) -> None:
    data = seamed(with_normals=True)
    points = np.frombuffer(data, "<f4", 18, data.index(b"BIN\0") + 4)
    at = data.index(b"BIN\0") + 4
    large = (points.astype(np.float64) * size).astype("<f4").tobytes()
    (mesh,) = loaded(data[:at] + large + data[at + 72 :]).meshes
    assert len(mesh.positions) == 4


def test_mesh_without_normals_is_flat() -> None:
    """As the glTF specification requires."""
    (mesh,) = loaded(seamed(with_normals=False)).meshes
    assert mesh.smoothing.tolist() == [0, 0]
    assert len(mesh.positions) == 6


@pytest.mark.parametrize("mirrored", [1, -1])
def test_matrix_with_shear_is_kept(mirrored: int, tmp_path: Path) -> None:
    """Shear is stored as scaling along separate axes; another export keeps it."""
    matrix = np.array([[1.0, 0.5, 0.2, 3], [0, mirrored, -0.7, 2], [0.1, 0, 2, 1], [0, 0, 0, 1]])
    root, binary = triangle()
    root["nodes"][0]["matrix"] = matrix.T.ravel().tolist()
    scene = loaded(glb(root, binary))
    np.testing.assert_allclose(keyframer.pose(scene, frames=[0]).world[0, 0], matrix, atol=1e-12)
    points = keyframer.pose(scene, frames=[0]).vertices(0)[0]
    np.testing.assert_allclose(points, POINTS @ matrix[:3, :3].T + matrix[:3, 3], atol=1e-12)
    keyframer.save(scene, tmp_path / "a.glb")
    after = keyframer.pose(keyframer.load(tmp_path / "a.glb"), frames=[0]).vertices(0)[0]
    np.testing.assert_allclose(after, points, atol=1e-6)


@pytest.mark.parametrize("scale", [(-1, 2, 3), (0, 1, 1), (1, 1, 1)])
def test_matrix_without_shear_has_no_scale_axes(scale: tuple[float, float, float]) -> None:
    root, binary = triangle()
    root["nodes"][0]["matrix"] = np.diag([*scale, 1]).astype(float).ravel().tolist()
    (node,) = loaded(glb(root, binary)).nodes
    assert node.scale_axes_xyzw is None


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ({"rotation": [0, 0, 0, 0]}, [("DATA_QUATERNION_LENGTH", "/nodes[0]/rotation")]),
        ({"rotation": [0, 0, 2, 2]}, [("DATA_QUATERNION_LENGTH", "/nodes[0]/rotation")]),
        ({"rotation": [0, 0, 0.709, 0.709]}, []),
        ({"matrix": [1, 0, 0, 0.5, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}, [("STRUCT_SYNTAX", "/nodes[0]/matrix")]),
    ],
)
def test_unusual_transforms_are_reported(node: Json, found: list[tuple[str, str]]) -> None:
    root, binary = triangle()
    root["nodes"][0].update(node)
    issues = list(loaded(glb(root, binary)).issues)
    assert [(issue.code, issue.path) for issue in issues] == found
    assert all(issue.severity.label == "warning" for issue in issues)


def test_min_version_above_2_0_is_refused() -> None:
    root, binary = triangle()
    for needed in ("2.0", "2", "1.0"):
        root["asset"] = {"version": "2.1", "minVersion": needed}
        assert loaded(glb(root, binary)).nodes
    for needed in ("2.1", "2.10", "3.0", "10"):
        root["asset"]["minVersion"] = needed
        with pytest.raises(keyframer.FormatError, match=r"SEM_UNKNOWN_ENUM at 0x.* in /asset/minVersion"):
            loaded(glb(root, binary))


def test_only_the_default_scene_is_loaded() -> None:
    root, binary = triangle()
    root["nodes"] += [{"name": "other", "mesh": 0}, {"name": "third"}]
    root["scenes"] = [{"nodes": [0]}, {"nodes": [1]}]
    root["scene"] = 1
    scene = loaded(glb(root, binary))
    assert [node.name for node in scene.nodes] == ["other"]
    (issue,) = scene.issues
    assert (issue.code, issue.path, issue.severity.label) == ("LINK_NOT_SHOWN", "/scenes[1]/nodes", "info")
    assert issue.message == "the displayed scene leaves out 2 of 3 nodes"


def animated(target: Json, values: np.ndarray, kind: str, **others: object) -> bytes:
    root, binary = triangle()
    times = np.array([0, 1, 2], "<f4").tobytes()
    content = np.ascontiguousarray(values).tobytes()
    root["bufferViews"] += [
        {"buffer": 0, "byteOffset": 44, "byteLength": 12},
        {"buffer": 0, "byteOffset": 56, "byteLength": len(content)},
    ]
    root["buffers"][0]["byteLength"] = 56 + len(content)
    number = 5126 if values.dtype.kind == "f" else 5121
    root["accessors"] += [
        {"bufferView": 2, "componentType": 5126, "count": 3, "type": "SCALAR"},
        {"bufferView": 3, "componentType": number, "count": len(values), "type": kind},
    ]
    sampler = {"input": 2, "output": 3, "interpolation": "STEP"}
    root["animations"] = [{"samplers": [sampler], "channels": [{"sampler": 0, "target": target}]}]
    return glb({**root, **others}, binary + times + content)


def pointer(path: str) -> Json:
    return {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": path}}}


def test_visibility_hides_children() -> None:
    nodes = [{"children": [1], "extensions": {"KHR_node_visibility": {"visible": False}}}, {"mesh": 0}, {"mesh": 0}]
    scenes = [{"nodes": [0, 2]}]
    path = "/nodes/0/extensions/KHR_node_visibility/visible"
    data = animated(pointer(path), np.array([0, 1, 0], np.uint8), "SCALAR", nodes=nodes, scenes=scenes)
    scene = loaded(data)
    assert [node.hidden for node in scene.nodes] == [True, True, False]
    visible = keyframer.pose(scene, times=[0.5, 1.5, 2.5]).visible
    assert visible.tolist() == [[False, False, True], [True, True, True], [False, False, True]]


def test_pointers_to_cameras_and_lights() -> None:
    lens = {"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1, "aspectRatio": 1.0}}
    lamp = {"type": "spot", "spot": {}}
    others: Json = {
        "nodes": [{"camera": 0, "extensions": {"KHR_lights_punctual": {"light": 0}}}],
        "cameras": [lens],
        "extensions": {"KHR_lights_punctual": {"lights": [lamp]}},
    }
    angles = np.radians(np.array([30, 60, 90], "<f4")).astype("<f4")
    scene = loaded(animated(pointer("/cameras/0/perspective/yfov"), angles, "SCALAR", **others))
    np.testing.assert_allclose(scene.clips[0].channels[0].track.values, [30, 60, 90], rtol=1e-6)
    assert scene.clips[0].channels[0].track.kind == "fov"
    path = "/extensions/KHR_lights_punctual/lights/0/spot/outerConeAngle"
    scene = loaded(animated(pointer(path), angles, "SCALAR", **others))
    np.testing.assert_allclose(scene.clips[0].channels[0].track.values, [60, 120, 180], rtol=1e-6)
    assert scene.lights[0].falloff_degrees == 90.0
    scene = loaded(animated(pointer("/materials/0/alphaCutoff"), angles, "SCALAR", **others))
    assert [issue.path for issue in scene.issues] == [
        "/animations[0]/channels[0]/target/extensions/KHR_animation_pointer/pointer"
    ]


def test_texture_transform_is_inverse_to_export() -> None:
    from keyframer.exchange.gltf.write.materials import transform
    from keyframer.scene import TextureMap

    texture = TextureMap("a.png", scale=(2.0, 3.0), offset=(0.25, -0.5), rotation_degrees=30.0)
    root, binary = triangle()
    reference = {"index": 0, "extensions": {"KHR_texture_transform": transform(texture)}}
    root["images"], root["textures"] = [{"uri": "maps/a%20b.png"}], [{"source": 0}]
    root["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": reference}}]
    restored = loaded(glb(root, binary)).materials[0].maps["texture1"]
    assert restored.file_name == "maps/a b.png"
    assert restored.scale == (2.0, 3.0)
    assert restored.offset == pytest.approx((0.25, -0.5))
    assert restored.rotation_degrees == pytest.approx(30.0)


def test_frame_rate_of_a_clip() -> None:
    data = animated({"node": 0, "path": "translation"}, np.zeros((3, 3), "<f4"), "VEC3")
    assert loaded(data).clips[0].frames_per_second == pytest.approx(30.0)
    assert loaded(data, fps=25).clips[0].frames_per_second == pytest.approx(25.0)
    with pytest.raises(ValueError, match="gltf has no option 'geometry'"):
        loaded(data, geometry="raw")
    with pytest.raises(ValueError, match="fps must be positive"):
        loaded(data, fps=-math.inf)


def test_first_of_two_channels_with_the_same_target_is_used() -> None:
    data = animated({"node": 0, "path": "translation"}, np.arange(9, dtype="<f4").reshape(3, 3), "VEC3")
    root, binary = split_glb(data)
    animation = root["animations"][0]
    animation["samplers"].append({"input": 2, "output": 0})
    animation["channels"] += [
        {"sampler": 1, "target": {"node": 0, "path": "translation"}},
        {"sampler": 1, "target": {"node": 0, "path": "scale"}},
    ]
    scene = loaded(glb(root, binary))
    kinds = [(channel.track.kind, channel.track.values[0].tolist()) for channel in scene.clips[0].channels]
    assert kinds == [("position", [0.0, 1.0, 2.0]), ("scale", [0.0, 0.0, 0.0])]
    (issue,) = scene.issues
    assert (issue.code, issue.path) == ("LINK_RANGE_OVERLAP", "/animations[0]/channels[1]")
    assert issue.message == "channel 1 shares the position of tri with channel 0"


@pytest.mark.parametrize(("mode", "corners", "told"), [(4, 3, False), (4, 2, True), (5, 3, False), (5, 2, True)])
def test_incomplete_faces_are_reported(mode: int, corners: int, told: bool) -> None:
    root, binary = triangle()
    root["accessors"][1]["count"] = corners
    root["meshes"][0]["primitives"][0]["mode"] = mode
    issues = list(loaded(glb(root, binary)).issues)
    assert [(issue.code, issue.severity.label) for issue in issues] == [("STRUCT_SYNTAX", "warning")] * told
