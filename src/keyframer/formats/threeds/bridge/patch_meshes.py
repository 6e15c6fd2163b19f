"""Meshes changed in place: vertices, texture vertices, faces, and where the whole stands at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.formats.kit.scene_writing import Unpatchable
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.links import Links
from keyframer.formats.threeds.bridge.patch_faces import patch_faces
from keyframer.formats.threeds.bridge.patch_values import set_field
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Mesh, Scene

Floats = npt.NDArray[np.float64]

_FIELDS = {"positions", "corners", "uv", "face_materials", "smoothing", "edges", "casts_shadows", "receives_shadows"}
_FIELDS |= {"name", "axes"}  # the name is that of the node, the axes follow the node
_MOST = 65_535
_AGREE = 0.01
"""of the mesh's size: the rule by which readers decide whether vertices and keyframer agree"""


class MeshPatcher:
    def __init__(self, after: Scene, links: Links) -> None:
        self.after = after
        self.links = links

    def _body(self, number: int) -> r.Mesh:
        chunk = self.links.meshes[number]
        if sum(other is chunk for other in self.links.meshes) > 1:
            raise Unpatchable("a mesh that several nodes show in different places")
        body = child(chunk, r.Mesh)
        assert body is not None
        return body

    def patch_fields(self, number: int, names: set[str]) -> None:
        """What changed of one mesh: only the chunks that say it."""
        body, mesh = self._body(number), self.after.meshes[number]
        unknown = names - _FIELDS
        if unknown:
            raise Unpatchable(f"{min(unknown)} of meshes")
        if max(len(mesh.positions), len(mesh.corners)) > _MOST:
            raise Unpatchable("more vertices or faces than one mesh can have")
        if "positions" in names:
            self._positions(number, body)
        if "uv" in names:
            self._uv(mesh, body)
        if names & {"corners", "edges", "smoothing", "face_materials"}:
            patch_faces(body, mesh, names, [self._material_name(place) for place in range(len(self.links.materials))])
        for name in names & {"casts_shadows", "receives_shadows"}:
            kind = r.ObjectDoesNotCast if name == "casts_shadows" else r.ObjectReceivesNoShadow
            self._flag(self.links.meshes[number], kind, there=not getattr(mesh, name))

    def _positions(self, number: int, body: r.Mesh) -> None:
        """Vertices; those that stay where they were keep their stored numbers."""
        points = child(body, r.PointArray)
        wanted = np.asarray(self.after.meshes[number].positions, np.float64).reshape(-1, 3)
        change = self.links.to_mesh[number]
        if points is None:
            points = r.PointArray(np.empty((0, 3), "<f4"))
            body.children.insert(0, points)
        stored = np.asarray(points.points, np.float64)
        common = min(len(stored), len(wanted))
        moved = np.ones(len(wanted), bool)
        moved[:common] = (_apply(change, stored[:common]) != wanted[:common]).any(axis=1)
        made = np.empty((len(wanted), 3), "<f4")
        made[:common] = points.points[:common]
        made[moved] = _apply(np.asarray(np.linalg.inv(change), np.float64), wanted[moved])
        points.points = made
        flags = child(body, r.PointFlags)
        if flags is not None and len(flags.flags) == len(stored) != len(wanted):
            table = np.zeros(len(wanted), "<u2")
            table[:common] = flags.flags[:common]
            flags.flags = table

    @staticmethod
    def _uv(mesh: Mesh, body: r.Mesh) -> None:
        if mesh.uv is not None and len(mesh.uv) != len(mesh.positions):
            raise Unpatchable("another number of texture vertices than of vertices")
        wanted = None if mesh.uv is None else np.asarray(mesh.uv).astype("<f4")
        found = child(body, r.TextureVertices)
        if wanted is not None and found is not None:
            same = found.uv[: len(wanted)]
            wanted[: len(same)] = np.where(wanted[: len(same)] == same, same, wanted[: len(same)])
        set_field(body, r.TextureVertices, "uv", wanted)

    def _material_name(self, number: int) -> bytes:
        name = child(self.links.materials[number], r.MaterialName)
        return b"" if name is None else name.name

    @staticmethod
    def _flag(chunk: r.NamedObject, kind: type[Chunk], *, there: bool) -> None:
        chunk.children = [each for each in chunk.children if not isinstance(each, kind)]
        if there:
            chunk.children.insert(0, kind())

    def move(self, number: int, before: Floats, after: Floats, pivot: Any, *, shared: bool) -> None:
        """The node stands elsewhere at rest: so do its stored vertices and matrix, if they stood where it did."""
        body = child(self.links.meshes[number], r.Mesh)
        points = None if body is None else child(body, r.PointArray)
        if body is None or points is None or not len(points.points) or abs(np.linalg.det(before[:3, :3])) < 1e-12:
            return
        stored = np.asarray(points.points, np.float64)
        matrix = self._matrix(body)
        size = max(float(np.ptp(stored, axis=0).max()), 1e-12)
        placed = before @ _shift(-np.asarray(pivot)) @ self.links.to_mesh[number]
        agrees = [np.abs(_apply(each, stored) - stored).max() <= _AGREE * size for each in (placed, before @ matrix[1])]
        if not any(agrees):
            return
        if shared:
            raise Unpatchable("a mesh that several nodes show")
        change = after @ np.linalg.inv(before)
        points.points = _apply(change, stored).astype("<f4")
        made = change @ matrix[0]
        axes = [tuple(float(value) for value in made[:3, column]) for column in range(4)]
        found = child(body, r.MeshMatrix)
        if found is None:
            body.children.append(r.MeshMatrix(*axes))
        else:
            found.x_axis, found.y_axis, found.z_axis, found.origin = axes

    @staticmethod
    def _matrix(body: r.Mesh) -> tuple[Floats, Floats]:
        """4160 and its inverse; identities where it is missing or has none."""
        found = child(body, r.MeshMatrix)
        if found is None:
            return np.eye(4), np.eye(4)
        matrix = np.eye(4)
        matrix[:3] = np.array([found.x_axis, found.y_axis, found.z_axis, found.origin]).T
        try:
            return matrix, np.asarray(np.linalg.inv(matrix), np.float64)
        except np.linalg.LinAlgError:
            return matrix, np.eye(4)


def _apply(matrix: Floats, points: Floats) -> Floats:
    return np.asarray(points @ matrix[:3, :3].T + matrix[:3, 3])


def _shift(offset: Floats) -> Floats:
    matrix = np.eye(4)
    matrix[:3, 3] = offset
    return matrix
