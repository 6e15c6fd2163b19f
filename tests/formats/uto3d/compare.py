"""Compares a document with the plain data that the writer of the tests wrote."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.formats.document import Document
from keyframer.formats.kit.key_table import EXTRAS
from keyframer.formats.uto3d.records import (
    AnyController,
    AnyLight,
    Bone,
    Camera,
    CameraTarget,
    Controller,
    FlexporterLight,
    Light,
    LiteralLight,
    Material,
    Mesh,
    MeshWithUvFaces,
    NoController,
    SampledController,
)
from keyframer.wire.record import Record
from tests.building.uto3d import Manner, Scene

LIGHTS = {"a": FlexporterLight, "b": Light, "literal": LiteralLight}


def same(actual: Any, wanted: Any) -> None:
    actual, wanted = np.asarray(actual, np.float32), np.asarray(wanted, np.float32)
    assert actual.shape == wanted.shape
    assert actual.tobytes() == wanted.tobytes()


def assert_matches(document: Document, scene: Scene, manner: Manner) -> None:
    """Check that the document has all data of the scene with its values, and nothing else."""
    _pair(document, Mesh, scene.meshes, lambda record, data: _mesh(record, data, manner))
    _pair(document, Camera, scene.cameras, _camera)
    _pair(document, CameraTarget, scene.targets, _node)
    _pair(document, AnyLight, scene.lights, lambda record, data: _light(record, data, manner))
    _pair(document, Bone, scene.bones, _node)
    _pair(document, AnyController, scene.controllers, _controller)
    assert [(record.name, record.id) for record in document.find(Material)] == scene.materials


def _pair(document: Document, kind: type[Any], wanted: list[Any], compare: Any) -> None:
    actual: list[Record] = list(document.find(kind))
    assert len(actual) == len(wanted), kind
    for record, data in zip(actual, wanted, strict=True):
        compare(record, data)


def _node(record: Any, data: dict[str, Any]) -> None:
    assert (record.name, record.id, record.parent_id, record.hidden) == (
        data["name"],
        data["id"],
        data["parent"],
        data["hidden"],
    )
    for name in ("position", "rotation", "scale", "pivot"):
        same(getattr(record, name), data[name])


def _camera(record: Camera, data: dict[str, Any]) -> None:
    _node(record, data)
    assert record.target_id == data["target"]
    same((record.fov, record.near, record.far), (data["fov"], data["near"], data["far"]))


def _light(record: Any, data: dict[str, Any], manner: Manner) -> None:
    assert type(record) is LIGHTS[manner.lights]
    _node(record, data)
    assert record.type == data["type"]
    same(record.colour, data["colour"])
    same((record.attenuation_start, record.attenuation_end), data["attenuation"])
    assert record.use_attenuation == data["attenuated"]
    same(record.multiplier, data["multiplier"])
    if manner.lights != "a":
        assert record.target_id == data["target"]
        same(record.target_position, data["aim"] if data["type"] in (1, 2) else (0, 0, 0))
        same((record.cut_off, record.exponent), data["cone"] if data["type"] == 2 else (0, 0))


def _mesh(record: Mesh, data: dict[str, Any], manner: Manner) -> None:
    _node(record, data)
    flags = data["flags"]
    assert record.flags == flags
    same(record.vertices, data["vertices"])
    same(record.faces, data["faces"])
    same(record.edges, data["edges"])
    same(record.face_materials, data["materials"])
    same(record.uvs, np.reshape(data.get("uvs", []), (-1, 2)))
    same(record.colours, np.reshape(data.get("colours", []), (-1, 3)))
    same(record.colour_faces, np.reshape(data.get("colour_faces", []), (-1, 3)))
    if "uvs" in data:
        same(record.uv_faces, data["uv_faces"])
    elif data["faces"] and manner.uv_faces:
        assert isinstance(record, MeshWithUvFaces)
        same(record.uv_faces, np.full((len(data["faces"]), 3), -1))
    else:
        assert len(record.uv_faces) == 0
    if flags & 1:
        same((*record.sphere_centre, record.sphere_radius), data["sphere"])
    if flags & 4 and data["skin"] == 0:
        same(record.vertex_bones, data["bones"])
    elif flags & 4:
        same(record.bones_per_vertex, [len(bones) for bones in data["weights"]])
        same(record.bone_ids, [bone for bones in data["weights"] for bone, _ in bones])
        same(record.bone_weights, [weight for bones in data["weights"] for _, weight in bones])
    else:
        assert len(record.vertex_bones) == len(record.bones_per_vertex) == len(record.bone_ids) == 0


def _controller(record: Any, data: dict[str, Any]) -> None:
    if data["type"] == 5:
        assert isinstance(record, NoController)
        assert record.filler == 255
        return
    assert isinstance(record, SampledController if data.get("sampled") else Controller)
    assert (record.type, record.id, record.owner_id) == (data["type"], data["id"], data["owner"])
    if isinstance(record, SampledController):
        return
    keys = data.get("keys", [])
    assert record.scheme == data["scheme"]
    assert record.key_count == data.get("count", len(keys))
    assert record.keys.time.tolist() == [key[0] for key in keys]
    for row, (_, value, *shape) in enumerate(keys):
        same(record.keys.value[row], value)
        if data["scheme"] == 1:
            flags, extras = shape
            assert record.keys.flags[row] == flags
            announced = [name for bit, name in enumerate(EXTRAS) if flags >> bit & 1]
            same([record.keys.column(name)[row] for name in announced], extras)
