"""Meshes that use the same accessors share their arrays when loaded, and are written once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from tests.building.gltf import Json, glb, loaded, split_glb
from tests.exchange.truth import assert_valid, needs_node_tools

SPHERES = 200
RINGS = 64


def spheres(count: int = SPHERES, rings: int = RINGS) -> tuple[Json, bytes]:
    """Return ``count`` meshes of the same four accessors, each with its own material, as in scenes that test
    materials."""
    across = np.linspace(0, 2 * np.pi, 2 * rings + 1)
    down = np.linspace(0, np.pi, rings + 1)
    around, along = np.meshgrid(across, down)
    points = np.stack([np.sin(along) * np.cos(around), np.cos(along), np.sin(along) * np.sin(around)], axis=-1)
    points = points.reshape(-1, 3).astype("<f4")
    uv = np.stack([around / (2 * np.pi), along / np.pi], axis=-1).reshape(-1, 2).astype("<f4")
    corner = np.arange(rings * (2 * rings + 1)).reshape(rings, -1)[:, :-1].reshape(-1)
    below = corner + 2 * rings + 1
    faces = np.stack([corner, corner + 1, below, below, corner + 1, below + 1], axis=-1).reshape(-1).astype("<u2")
    parts = [points.tobytes(), points.tobytes(), uv.tobytes(), faces.tobytes()]
    offsets = np.cumsum([0, *map(len, parts)]).tolist()
    accessor = [("VEC3", 5126, len(points)), ("VEC3", 5126, len(points)), ("VEC2", 5126, len(uv))]
    root: Json = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": list(range(count))}],
        "nodes": [{"mesh": number, "translation": [3 * number, 0, 0]} for number in range(count)],
        "materials": [{"pbrMetallicRoughness": {"roughnessFactor": number / count}} for number in range(count)],
        "meshes": [
            {
                "primitives": [
                    {
                        "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2},
                        "indices": 3,
                        "material": number,
                    }
                ]
            }
            for number in range(count)
        ],
        "accessors": [
            {"bufferView": place, "componentType": kind, "count": size, "type": word}
            for place, (word, kind, size) in enumerate([*accessor, ("SCALAR", 5123, len(faces))])
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": offset, "byteLength": len(part)}
            for offset, part in zip(offsets, parts, strict=False)
        ],
        "buffers": [{"byteLength": sum(map(len, parts))}],
    }
    root["accessors"][0].update(min=[-1, -1, -1], max=[1, 1, 1])
    return root, b"".join(parts)


def test_hundreds_of_meshes_with_the_same_accessors_share_their_arrays() -> None:
    root, binary = spheres()
    scene = loaded(glb(root, binary), limits=keyframer.Limits(copies=0))
    assert len(scene.meshes) == SPHERES
    first, last = scene.meshes[0], scene.meshes[-1]
    for name in ("positions", "corners", "uv", "uv_corners", "smoothing"):
        assert getattr(first, name) is getattr(last, name), name
        assert not getattr(first, name).flags.writeable
    assert (int(first.face_materials[0]), int(last.face_materials[0])) == (0, SPHERES - 1)
    assert last.face_materials.base.nbytes <= 8


def test_shared_arrays_are_written_once(tmp_path: Path) -> None:
    root, binary = spheres(20)
    keyframer.save(loaded(glb(root, binary)), tmp_path / "x.glb")
    written, buffer = split_glb((tmp_path / "x.glb").read_bytes())
    assert len(written["meshes"]) == 20
    assert len({primitive["material"] for mesh in written["meshes"] for primitive in mesh["primitives"]}) == 20
    assert len({primitive["attributes"]["POSITION"] for m in written["meshes"] for primitive in m["primitives"]}) == 1
    assert len(buffer) < 1.2 * len(binary)
    again = keyframer.load(tmp_path / "x.glb")
    assert again.meshes[0].positions is again.meshes[-1].positions


@needs_node_tools
def test_validator_accepts_shared_accessors(tmp_path: Path) -> None:
    keyframer.save(loaded(glb(*spheres(20))), tmp_path / "x.glb")
    assert_valid([tmp_path / "x.glb"])


def test_meshes_that_use_parts_of_shared_vertices_get_only_these_parts() -> None:
    """The file has one list of vertices, and a list of corners for each mesh."""
    root, binary = spheres(1)
    whole = np.frombuffer(binary[-root["bufferViews"][3]["byteLength"] :], "<u2").reshape(-1, 3)
    count = len(whole) // 64
    root["accessors"][3:] = [
        {"bufferView": 3, "byteOffset": 6 * 64 * place, "componentType": 5123, "count": 3 * 64, "type": "SCALAR"}
        for place in range(count)
    ]
    root["meshes"] = [
        {"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3 + place}]}
        for place in range(count)
    ]
    root["nodes"] = [{"mesh": place} for place in range(count)]
    root["scenes"] = [{"nodes": list(range(count))}]
    scene = loaded(glb(root, binary), limits=keyframer.Limits(copies=0))
    points = np.frombuffer(binary, "<f4", 3 * root["accessors"][0]["count"]).reshape(-1, 3)
    for place, mesh in enumerate(scene.meshes):
        assert len(mesh.positions) <= 3 * 64
        wanted = points[whole[64 * place : 64 * place + 64]]
        assert np.allclose(np.asarray(mesh.positions)[np.asarray(mesh.corners)], wanted, atol=1e-6)


def test_combinations_of_the_same_accessors_are_limited() -> None:
    """Few accessors can be paired to make many meshes: only new data in each mesh counts."""
    root, binary = spheres(1)
    parts = 60
    root["accessors"] += [dict(root["accessors"][0]) for _ in range(parts)]
    root["accessors"] += [dict(root["accessors"][3]) for _ in range(parts)]
    root["meshes"] = [
        {"primitives": [{"attributes": {"POSITION": 4 + one}, "indices": 4 + parts + other}]}
        for one in range(parts)
        for other in range(parts)
    ]
    root["nodes"] = [{"mesh": place} for place in range(parts * parts)]
    root["scenes"] = [{"nodes": list(range(parts * parts))}]
    with pytest.raises(FormatError, match="LIMIT_COPIES"):
        loaded(glb(root, binary))
