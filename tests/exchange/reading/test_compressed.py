"""Compressed files: Draco if its decoder is installed; otherwise one line that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from tests.building.gltf import Json, glb, loaded

DracoPy = pytest.importorskip("DracoPy")

DRACO = "KHR_draco_mesh_compression"
SIDE = 12


def grid() -> tuple[Any, Any, Any, Any]:
    """Return positions, normals (up), texture coordinates and faces of a wavy square."""
    u, v = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0, 1, SIDE), np.linspace(0, 1, SIDE)))
    points = np.stack([u, 0.2 * np.sin(5 * u) * v, v], axis=1).astype(np.float32)
    corner = (np.arange(SIDE - 1)[:, None] * SIDE + np.arange(SIDE - 1)).reshape(-1)
    faces = np.concatenate(
        [
            np.stack([corner, corner + SIDE, corner + 1], axis=1),
            np.stack([corner + 1, corner + SIDE, corner + SIDE + 1], axis=1),
        ]
    )
    return points, np.tile([0.0, 1.0, 0.0], (len(points), 1)), np.stack([u, v], axis=1), faces.astype(np.uint32)


def compressed(users: int = 1) -> tuple[Json, bytes]:
    points, normals, uv, faces = grid()
    packed = DracoPy.encode(points, faces, quantization_bits=20, tex_coord=uv, normals=normals)
    attribute_ids = {
        attribute["attribute_type"]: attribute["unique_id"] for attribute in DracoPy.decode(packed).attributes
    }
    extension = {
        "bufferView": 0,
        "attributes": {"POSITION": attribute_ids[0], "NORMAL": attribute_ids[1], "TEXCOORD_0": attribute_ids[3]},
    }
    primitive = {
        "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2},
        "indices": 3,
        "extensions": {DRACO: extension},
    }
    count = len(DracoPy.decode(packed).points)
    root: Json = {
        "asset": {"version": "2.0"},
        "extensionsUsed": [DRACO],
        "extensionsRequired": [DRACO],
        "scenes": [{"nodes": list(range(users))}],
        "nodes": [{"mesh": number} for number in range(users)],
        "meshes": [{"primitives": [primitive]} for _ in range(users)],
        "accessors": [
            {"componentType": 5126, "count": count, "type": "VEC3", "min": [0, -1, 0], "max": [1, 1, 1]},
            {"componentType": 5126, "count": count, "type": "VEC3"},
            {"componentType": 5126, "count": count, "type": "VEC2"},
            {"componentType": 5123, "count": faces.size, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": len(packed)}],
        "buffers": [{"byteLength": len(packed)}],
    }
    return root, packed


@pytest.fixture
def without_draco(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make importing DracoPy fail, as if it was not installed."""
    for module in ("container", "accessors"):
        monkeypatch.setattr(f"keyframer.exchange.gltf.read.{module}.draco_is_installed", lambda: False)


def test_compressed_mesh_is_decompressed() -> None:
    points, _, uv, faces = grid()
    (mesh,) = loaded(glb(*compressed())).meshes
    corners = np.asarray(mesh.corners)
    assert len(corners) == len(faces)
    assert mesh.uv is not None
    uv_corners = corners if mesh.uv_corners is None else np.asarray(mesh.uv_corners)
    decompressed = np.concatenate([np.asarray(mesh.positions)[corners], np.asarray(mesh.uv)[uv_corners]], axis=2)
    wanted = np.concatenate([points[faces], uv[faces]], axis=2)
    key = np.round(decompressed.mean(axis=1), 3)
    order = np.lexsort(key.T)
    other = np.lexsort(np.round(wanted.mean(axis=1), 3).T)
    for turn in range(3):  # a face may begin with another corner
        matching = np.abs(np.roll(decompressed[order], turn, axis=1) - wanted[other]).max(axis=(1, 2)) < 1e-3
        decompressed[order[matching]] = wanted[other[matching]]
    assert np.abs(decompressed[order] - wanted[other]).max() < 1e-3
    assert keyframer.pose(loaded(glb(*compressed())), [0.0]) is not None


def test_buffer_view_is_decompressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    decode = DracoPy.decode
    monkeypatch.setattr(DracoPy, "decode", lambda data: calls.append(len(data)) or decode(data))
    root, binary = compressed(50)
    calls.clear()
    scene = loaded(glb(root, binary))
    assert len(calls) == 1
    assert len({id(mesh.positions) for mesh in scene.meshes}) == 1


@pytest.mark.usefixtures("without_draco")
def test_message_without_the_decoder_says_what_to_install() -> None:
    with pytest.raises(FormatError) as caught:
        loaded(glb(*compressed()))
    assert str(caught.value).startswith("SEM_EXTENSION_UNKNOWN at 0x")
    assert str(caught.value).endswith(f"{DRACO}: pip install 'keyframer[gltf]' installs the decoder")
    scene = loaded(glb(*compressed()), salvage=True)
    assert not scene.meshes
    assert scene.issues.counts["SEM_EXTENSION_UNKNOWN"] == 2


@pytest.mark.usefixtures("without_draco")
def test_uncompressed_fallback_is_read_without_the_decoder() -> None:
    root, packed = compressed()
    points, normals, uv, faces = grid()
    packed += bytes(-len(packed) % 4)
    del root["extensionsRequired"]
    contents = [points, normals.astype("<f4"), uv.astype("<f4"), faces.astype("<u2")]
    for place, content in enumerate(contents):
        root["accessors"][place].update(bufferView=place + 1, count=content.size if place == 3 else len(content))
        root["bufferViews"].append({"buffer": 0, "byteOffset": len(packed), "byteLength": content.nbytes})
        packed += content.tobytes() + bytes(-content.nbytes % 4)
    root["buffers"] = [{"byteLength": len(packed)}]
    (mesh,) = loaded(glb(root, packed)).meshes
    assert np.allclose(np.asarray(mesh.positions)[np.asarray(mesh.corners)], points[faces], atol=1e-6)


@pytest.mark.parametrize("spoil", ["cut", "no mesh", "unknown attribute", "another count", "absurd count"])
def test_damaged_compression_is_reported_with_a_path(spoil: str) -> None:
    root, packed = compressed()
    extension = root["meshes"][0]["primitives"][0]["extensions"][DRACO]
    if spoil == "cut":
        root["bufferViews"][0]["byteLength"] //= 2
    elif spoil == "no mesh":
        packed = b"something else".ljust(len(packed))
    elif spoil == "unknown attribute":
        extension["attributes"]["NORMAL"] = 77
    else:
        root["accessors"][0]["count"] += 1 if spoil == "another count" else 2**40
    with pytest.raises(FormatError, match=r"(STRUCT_SYNTAX|LIMIT_COPIES) at 0x\S+ in /meshes\[0\]/primitives\[0\]"):
        loaded(glb(root, packed))
    if spoil != "absurd count":
        assert not loaded(glb(root, packed), salvage=True).meshes


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("EXT_meshopt_compression", "gltfpack -i FILE -o NEW -noq"),
        ("KHR_meshopt_compression", "gltfpack -i FILE -o NEW -noq"),
    ],
)
def test_meshopt_is_refused_with_advice(name: str, words: str) -> None:
    root, packed = compressed()
    root["extensionsRequired"] = [name]
    with pytest.raises(FormatError, match=rf"unsupported extension {name}: .*{words}"):
        loaded(glb(root, packed))


def test_ktx2_images_are_left_out_with_advice() -> None:
    root, packed = compressed()
    root["extensionsRequired"].append("KHR_texture_basisu")
    root["textures"] = [{"extensions": {"KHR_texture_basisu": {"source": 0}}}]
    root["images"] = [{"uri": "a.ktx2"}]
    root["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    scene = loaded(glb(root, packed))
    messages = [issue.message for issue in scene.issues if issue.code == "SEM_EXTENSION_UNKNOWN"]
    assert len(messages) == 2
    assert all("convert its KTX2 images to PNG or JPEG first" in message for message in messages)
    assert not scene.materials[0].maps
