"""Write the parts of the editor section: meshes, cameras and lights at frame 0 in scene space, and materials."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.mesh_writing import MeshPiece
from keyframer.formats.kit.scene_writing import UniqueByteNames, cut_name, plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import declared_fields as f
from keyframer.formats.threeds.bridge.editor import SLOTS
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, Material, Mesh
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import NAME_CHANGED
from keyframer.text import encode_name


def write_mesh(
    mesh: Mesh, piece: MeshPiece, points: Floats, matrix: Floats, materials: list[bytes], *, reverse: bool
) -> r.Mesh:
    """Write one piece of a mesh.

    ``points`` (V, 3) are the vertices of the whole mesh as they are stored, ``matrix`` (4, 4) is the matrix to store,
    ``materials`` are stored names. With ``reverse``, the corners of faces are written in reverse order.
    """
    order = [0, 2, 1] if reverse else [0, 1, 2]
    faces = np.zeros((len(piece.faces), 4), np.uint16)
    faces[:, :3] = piece.corners[:, order]
    faces[:, 3] = _face_flags(mesh, piece, reverse)
    groups: list[Chunk] = []
    if mesh.face_materials is not None and materials:
        numbers = np.asarray(mesh.face_materials, np.int64)[piece.faces]
        for number in np.unique(numbers[(numbers >= 0) & (numbers < len(materials))]).tolist():
            groups.append(r.MaterialGroup(materials[number], np.flatnonzero(numbers == number).astype(np.uint16)))
    if mesh.smoothing is not None:
        groups.append(r.SmoothGroups(np.asarray(mesh.smoothing)[piece.faces].astype("<u4")))
    parts: list[Chunk] = [
        r.PointArray(points[piece.vertices].astype("<f4")),
        r.FaceArray(faces.astype("<u2"), children=list(groups)),
    ]
    if piece.uv is not None:
        parts.append(r.TextureVertices(piece.uv.astype("<f4")))
    parts.append(r.MeshMatrix(*(_tuple(matrix[:3, column]) for column in range(4))))
    return r.Mesh(children=list(parts))


def _face_flags(mesh: Mesh, piece: MeshPiece, reverse: bool) -> Array:
    """Return the flags of visible edges in the stored order CA, BC, AB; all edges if the mesh has no flags."""
    stored = write_declared_fields(mesh, f.EDGES)
    if not stored:
        return np.full(len(piece.faces), 7)
    flags = stored[0][piece.faces]
    return f.REVERSED_EDGES[flags] if reverse else flags  # corners A, C, B: the first edge becomes the last


def write_camera(camera: Camera, position: Floats, target: Floats) -> r.Camera:
    numbers = write_declared_fields(camera, f.CAMERA_NUMBERS)
    chunk = r.Camera(_tuple(position), _tuple(target), *numbers)
    chunk.children = [*write_declared_fields(camera, f.CAMERA)]
    return chunk


def write_light(light: Light, position: Floats, target: Floats | None, maps: MapNames) -> r.Light:
    """Write a light; with a target, a spot light."""
    parts = [*write_declared_fields(light, f.LIGHT_COLOR), *write_declared_fields(light, f.LIGHT)]
    parts += write_declared_fields(light, f.EXCLUDES)
    if target is not None:
        inside = [
            *write_declared_fields(light, f.SPOT),
            *f.write_file_names(light, f.PROJECTOR, maps.claim),
            *write_declared_fields(light, f.SPOT_NUMBERS),
        ]
        parts.append(r.Spotlight(_tuple(target), *write_declared_fields(light, f.CONE), children=list(inside)))
    return r.Light(_tuple(position), children=list(parts))


def _tuple(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


_STEM, _SUFFIX = 8, 3
"""longest stem and suffix of DOS file names"""


class MapNames:
    """Makes DOS file names: up to eight characters, a dot, up to three, upper case; unique for each file."""

    def __init__(self, report: LossReport, *, as_given: bool = False) -> None:
        self._report = report
        self._as_given = as_given
        """whether names are stored as they are: an original file may have long names"""
        self._claimed: dict[str, bytes] = {}
        self._taken: set[bytes] = set()

    def claim(self, name: str) -> bytes:
        """Return the stored name of an image file; an empty name stays empty."""
        if not name:
            return b""
        stored = encode_name(name) if self._as_given else self._claimed.get(name)
        if stored is not None:
            return stored
        stem, suffix = os.path.splitext(re.split(r"[\\/]", name)[-1])
        stem = stem.upper().replace(" ", "_") or "MAP"
        stored_suffix = cut_name(suffix.upper(), _SUFFIX + 1)
        candidate = cut_name(stem, _STEM) + stored_suffix
        number = 2
        while candidate in self._taken:
            digits = str(number).encode()
            candidate = cut_name(stem, _STEM - len(digits)) + digits + stored_suffix
            number += 1
        self._taken.add(candidate)
        self._claimed[name] = candidate
        if candidate != encode_name(name):
            self._report.add(NAME_CHANGED["rule"], plain_path("maps", name), name=candidate.decode("latin-1"), rule="")
        return candidate


def write_material(material: Material, name: bytes, maps: MapNames) -> r.Material:
    """Write a material and its maps as a material block."""
    parts: list[Chunk] = [r.MaterialName(name)]
    parts += write_declared_fields(material, f.MATERIAL)
    for kind, slot in SLOTS.items():
        if slot in material.maps:
            texture = material.maps[slot]
            inside = [*write_declared_fields(texture, f.MAP_AMOUNT), r.MapName(maps.claim(texture.file_name))]
            inside += [*write_declared_fields(texture, f.MAP_FLAGS), *write_declared_fields(texture, f.MAP)]
            parts.append(kind(children=list(inside)))
    return r.Material(children=list(parts))


def material_names(materials: Sequence[Material], report: LossReport, known: Mapping[int, bytes]) -> list[bytes]:
    """Return the stored name of each material; ``known`` are names in the original document, by number."""
    names = UniqueByteNames(16, reserved=known.values())
    claimed = [
        known[number] if number in known else names.claim(material.name, material.raw_name, "material")
        for number, material in enumerate(materials)
    ]
    for material, name in zip(materials, claimed, strict=True):
        if names.decode(name) != material.name:
            path = plain_path("materials", material.name)
            rule = ": names have 1 to 16 characters and must be unique"
            report.add(NAME_CHANGED["rule"], path, name=names.decode(name), rule=rule)
    return claimed
