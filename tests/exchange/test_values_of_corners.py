"""Stated normals, second coordinates and the opacity of colours: from glTF and ASE, through, and into pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Handedness, Mesh, Node, Scene, Skin, Space
from keyframer.formats.kit.coordinates import in_space
from keyframer.rendering.drawable_scene import DrawableScene
from tests.building.gltf import Json, glb, loaded, split_glb, triangle

NORMALS = np.array([(0.6, 0, 0.8), (0, -0.6, 0.8), (0, 0.28, 0.96)])
UV2 = np.array([(0.25, 0.5), (0.75, 0.125), (1.0, 0.0)])
COLORS = np.array([(1.0, 0, 0, 0.25), (0, 1.0, 0, 0.5), (0, 0, 1.0, 1.0)])


def foreign(mode: str = "BLEND") -> bytes:
    """Return a triangle with normals of its own, a second set of coordinates and colours with alpha."""
    root, binary = triangle()
    attributes = root["meshes"][0]["primitives"][0]["attributes"]
    columns = {"NORMAL": NORMALS, "TEXCOORD_0": UV2 / 2, "TEXCOORD_1": UV2, "COLOR_0": COLORS}
    for name, rows in columns.items():
        attributes[name] = len(root["accessors"])
        view = {"buffer": 0, "byteOffset": len(binary), "byteLength": rows.size * 4}
        root["accessors"].append(
            {
                "bufferView": len(root["bufferViews"]),
                "componentType": 5126,
                "count": 3,
                "type": f"VEC{rows.shape[1]}",
            }
        )
        root["bufferViews"].append(view)
        binary += rows.astype("<f4").tobytes()
    root["buffers"][0]["byteLength"] = len(binary)
    root["materials"] = [{"name": "glass", "alphaMode": mode}]
    root["meshes"][0]["primitives"][0]["material"] = 0
    return glb(root, binary)


def written(data: bytes) -> tuple[Json, dict[str, np.ndarray]]:
    """Return the JSON of a .glb, and the attributes of its first primitive."""
    root, binary = split_glb(data)
    arrays = {}
    for name, number in root["meshes"][0]["primitives"][0]["attributes"].items():
        accessor = root["accessors"][number]
        view = root["bufferViews"][accessor["bufferView"]]
        width = int(accessor["type"].replace("SCALAR", "VEC1")[3:])
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        dtype = {5126: "<f4", 5121: "u1", 5123: "<u2"}[accessor["componentType"]]
        step = view.get("byteStride", width * np.dtype(dtype).itemsize)
        rows = [np.frombuffer(binary, dtype, width, start + step * row) for row in range(accessor["count"])]
        arrays[name] = np.array(rows, np.float64)
    return root, arrays


def test_what_a_gltf_file_states_passes_through(tmp_path: Path) -> None:
    scene = loaded(foreign())
    mesh = scene.meshes[0]
    assert mesh.normals is not None
    assert mesh.uv2 is not None
    assert mesh.color_alpha is not None
    for again in range(2):  # the second time from a file of our own
        keyframer.save(scene, tmp_path / f"{again}.glb")
        root, arrays = written((tmp_path / f"{again}.glb").read_bytes())
        order = [np.flatnonzero((arrays["TEXCOORD_1"] == row).all(axis=1))[0] for row in UV2]
        assert np.array_equal(arrays["NORMAL"][order], NORMALS.astype(np.float32))
        assert np.array_equal(arrays["TEXCOORD_0"][order], UV2 / 2)
        assert np.allclose(arrays["COLOR_0"][order], COLORS, atol=1e-6)
        assert root["materials"][0]["alphaMode"] == "BLEND"
        scene = keyframer.load(tmp_path / f"{again}.glb")


def test_opaque_materials_ignore_the_alpha_of_colours() -> None:
    mesh = loaded(foreign("OPAQUE")).meshes[0]
    assert mesh.colors is not None
    assert mesh.color_alpha is None


def test_computed_normals_do_not_become_stated_ones(tmp_path: Path) -> None:
    scene = Scene([Node("sheet", mesh=0)], [Mesh("sheet", np.eye(3), [[0, 1, 2]])])
    keyframer.save(scene, tmp_path / "a.glb")
    assert keyframer.load(tmp_path / "a.glb").meshes[0].normals is None


def test_each_corner_may_have_a_normal(tmp_path: Path) -> None:
    """Two faces that share vertices have different normals there: the vertices are split."""
    mesh = Mesh("roof", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [2, 1, 3]])
    mesh.normals, mesh.normal_corners = np.array([(0, 0, 2.0), (0, 0.6, 0.8)]), np.array([[0, 0, 0], [1, 1, 1]])
    keyframer.save(Scene([Node("roof", mesh=0)], [mesh]), tmp_path / "a.glb")
    _, arrays = written((tmp_path / "a.glb").read_bytes())
    assert len(arrays["POSITION"]) == 6
    lengths = np.sqrt((arrays["NORMAL"] ** 2).sum(axis=1))
    assert np.allclose(lengths, 1.0, atol=1e-6)
    assert {tuple(np.round(row, 6)) for row in arrays["NORMAL"]} == {(0, 0, 1), (0, 0.6, 0.8)}


def test_normals_without_direction_are_computed(tmp_path: Path) -> None:
    mesh = Mesh("sheet", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], normals=[[0, 0, 0], [np.nan, 0, 0], [1, 0, 0]])
    keyframer.save(Scene([Node("sheet", mesh=0)], [mesh], space=Space("y")), tmp_path / "a.glb")
    _, arrays = written((tmp_path / "a.glb").read_bytes())
    assert sorted(map(tuple, arrays["NORMAL"].tolist())) == [(0, 0, 1), (0, 0, 1), (1, 0, 0)]


def test_images_of_second_coordinates(tmp_path: Path) -> None:
    root, binary = split_glb(foreign())
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100"
        "c9fe92ef0000000049454e44ae426082"
    )
    root["images"] = [{"bufferView": len(root["bufferViews"]), "mimeType": "image/png"}]
    root["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(png)})
    root["textures"] = [{"source": 0}]
    root["materials"][0]["pbrMetallicRoughness"] = {"baseColorTexture": {"index": 0, "texCoord": 1}}
    root["buffers"][0]["byteLength"] = len(binary) + len(png)
    scene = loaded(glb(root, binary + png))
    assert scene.materials[0].maps["texture1"].second_coordinates
    keyframer.save(scene, tmp_path / "a.glb")
    again, _ = split_glb((tmp_path / "a.glb").read_bytes())
    assert again["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["texCoord"] == 1
    scene.meshes[0].uv2 = scene.meshes[0].uv2_corners = None  # nothing places the image any more
    keyframer.save(scene, tmp_path / "b.glb")
    again, _ = split_glb((tmp_path / "b.glb").read_bytes())
    material = again["materials"][again["meshes"][0]["primitives"][0]["material"]]
    assert "baseColorTexture" not in material["pbrMetallicRoughness"]


def test_ase_stores_normals_of_corners(tmp_path: Path) -> None:
    scene = Scene([Node("roof", mesh=0, rotation_xyzw=[0, 0.6, 0, 0.8])])
    scene.meshes.append(Mesh("roof", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [2, 1, 3]]))
    scene.meshes[0].normals = np.array([(0, 0, 1), (0, 0.6, 0.8)])
    scene.meshes[0].normal_corners = np.array([[0, 0, 1], [0, 1, 1]])
    report = keyframer.save(scene, tmp_path / "a.ase")
    assert not [loss for loss in report if loss.code == "NORMALS_CHANGED" or loss.case == "normals"]
    mesh = keyframer.load(tmp_path / "a.ase").meshes[0]
    assert mesh.normals is not None
    assert np.allclose(mesh.normals[mesh.normal_corners], scene.meshes[0].normals[[[0, 0, 1], [0, 1, 1]]], atol=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_ase_normals_may_be_in_the_space_of_the_scene(turned: bool, tmp_path: Path) -> None:
    scene = Scene([Node("sheet", mesh=0, rotation_xyzw=[0, 0.6, 0, 0.8])])
    scene.meshes.append(Mesh("sheet", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], normals=[[0, 0, 1]] * 3))
    keyframer.save(scene, tmp_path / "a.ase")
    text = (tmp_path / "a.ase").read_text()
    before, after = text.split("*MESH_NORMALS", 1)
    assert after.count("0.0000\t0.0000\t1.0000") == 4
    after = after.replace(
        "0.0000\t0.0000\t1.0000", "0.96\t0\t0.28" if turned else "1\t0\t0"
    )  # the normal in the scene, and none
    (tmp_path / "b.ase").write_text(before + "*MESH_NORMALS" + after)
    normals = keyframer.load(tmp_path / "b.ase").meshes[0].normals
    if turned:
        assert normals is not None
        assert np.allclose(normals, [(0, 0, 1)] * 3, atol=1e-6)
    else:
        assert normals is None  # across the face: they cannot be right


@pytest.mark.parametrize("target", ["a.3ds", "a.u3d"])
def test_formats_without_a_place_report_it(target: str, tmp_path: Path) -> None:
    report = keyframer.save(loaded(foreign()), tmp_path / target)
    lost = [loss for loss in report if loss.case in ("normals", "second coordinates", "measured groups")]
    assert len(lost) == 2


def test_normals_and_coordinates_follow_the_axes() -> None:
    scene = loaded(foreign())
    converted = in_space(scene, Space("z", Handedness.LEFT))
    points, normals = converted.meshes[0].positions, converted.meshes[0].normals
    assert normals is not None
    back = in_space(converted, scene.space).meshes[0]
    assert np.allclose(back.normals, scene.meshes[0].normals)
    assert np.allclose(back.uv2, scene.meshes[0].uv2)
    assert np.allclose(
        (points * normals).sum(axis=1), (scene.meshes[0].positions * scene.meshes[0].normals).sum(axis=1)
    )


@pytest.mark.parametrize("handedness", list(Handedness))
def test_pictures_use_stated_normals(handedness: Handedness) -> None:
    """They turn with the node, with bones, and point to the side from which faces are seen."""
    mesh = Mesh("sheet", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    computed = normals_of(Scene([Node("a", mesh=0)], [mesh]))
    assert np.allclose(computed, (0, 0, 1))
    side = 1.0 if handedness is Handedness.RIGHT else -1.0  # corners run the same way, seen from outside
    mesh.normals = np.array([(0.6, 0, 0.8 * side)] * 3)
    space = Space("z", handedness)
    quarter = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    turned = normals_of(Scene([Node("a", mesh=0, rotation_xyzw=quarter, scale=[2, 2, 2])], [mesh], space=space))
    assert np.allclose(turned * side, (0, 0.6, 0.8 * side), atol=1e-6)
    skin = Skin("s", [1], np.eye(4)[None], [0, 1, 2], [0, 0, 0], [1.0, 1, 1])
    bone = Node("bone", rotation_xyzw=quarter)
    skinned = normals_of(Scene([Node("a", mesh=0, skin=0), bone], [mesh], skins=[skin], space=space))
    assert np.allclose(skinned * side, (0, 0.6, 0.8 * side), atol=1e-6)


def normals_of(scene: Scene) -> np.ndarray:
    return DrawableScene(scene, bones=False).shape(keyframer.pose(scene, frames=[0]), 0).normals[0]


def test_opacity_needs_colours() -> None:
    with pytest.raises(ValueError, match="color_alpha must be 3 numbers, not 2 numbers"):
        Mesh("a", np.eye(3), [[0, 1, 2]], colors=np.eye(3), color_alpha=[0.5, 0.5])
