"""Meshes changed in place: vertices, texture vertices and what belongs to faces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.formats._writing import Unpatchable
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.links import Links
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Scene

Floats = npt.NDArray[np.float64]

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

    def patch_field(self, number: int, name: str) -> None:
        body, mesh = self._body(number), self.after.meshes[number]
        if name == "positions":
            self._positions(number, body)
        elif name == "uv" and mesh.uv is not None and len(mesh.uv) == len(mesh.positions):
            uv = np.asarray(mesh.uv).astype("<f4")
            found = child(body, r.TextureVertices)
            if found is None:
                body.children.append(r.TextureVertices(uv))
            else:
                found.uv = uv
        elif name == "face_materials":
            self._materials(number, body)
        elif name in ("smoothing", "edges"):
            self._faces(number, body, name)
        elif name in ("casts_shadows", "receives_shadows"):
            kind = r.ObjectDoesNotCast if name == "casts_shadows" else r.ObjectReceivesNoShadow
            self._flag(self.links.meshes[number], kind, there=not getattr(mesh, name))
        elif name not in ("name", "axes"):  # the name is that of the node, the axes follow the node
            raise Unpatchable(f"{name} of meshes")

    def _positions(self, number: int, body: r.Mesh) -> None:
        points = child(body, r.PointArray)
        wanted = np.asarray(self.after.meshes[number].positions, np.float64)
        change = self.links.to_mesh[number]
        if points is None or len(points.points) != len(wanted):
            raise Unpatchable("another number of vertices")
        stored = np.asarray(points.points, np.float64)
        was = stored @ change[:3, :3].T + change[:3, 3]
        moved = (was != wanted).any(axis=1)
        back = np.linalg.inv(change)
        made = np.array(points.points)
        made[moved] = wanted[moved] @ back[:3, :3].T + back[:3, 3]
        points.points = made

    def _face_chunk(self, number: int, body: r.Mesh) -> r.FaceArray:
        faces = child(body, r.FaceArray)
        if faces is None or len(faces.faces) != len(self.after.meshes[number].corners):
            raise Unpatchable("another number of faces")
        return faces

    def _materials(self, number: int, body: r.Mesh) -> None:
        """Groups made anew; those of materials that do not exist stay."""
        faces = self._face_chunk(number, body)
        owners = np.asarray(self.after.meshes[number].face_materials, np.int64)
        names = [self._material_name(place) for place in range(len(self.links.materials))]
        known = {name.lower() for name in names}
        for home in (body, faces):
            home.children = [
                each
                for each in home.children
                if not (isinstance(each, r.MaterialGroup) and each.material.lower() in known)
            ]
        groups: list[Chunk] = [
            r.MaterialGroup(names[place], np.flatnonzero(owners == place).astype(np.uint16))
            for place in np.unique(owners[owners >= 0]).tolist()
        ]
        faces.children[0:0] = groups

    def _material_name(self, number: int) -> bytes:
        name = child(self.links.materials[number], r.MaterialName)
        return b"" if name is None else name.name

    def _faces(self, number: int, body: r.Mesh, name: str) -> None:
        faces, mesh = self._face_chunk(number, body), self.after.meshes[number]
        if name == "edges" and mesh.edges is not None:
            edges = np.asarray(mesh.edges, np.uint16)
            table = np.array(faces.faces)
            table[:, 3] = table[:, 3] & ~np.uint16(7) | (edges >> 2 & 1) | (edges >> 1 & 1) << 1 | (edges & 1) << 2
            faces.faces = table
            return
        found = child(faces, r.SmoothGroups) or child(body, r.SmoothGroups)
        if mesh.smoothing is None:
            for home in (body, faces):
                home.children = [each for each in home.children if each is not found]
            return
        masks = np.asarray(mesh.smoothing).astype("<u4")
        if found is None:
            faces.children.append(r.SmoothGroups(masks))
        else:
            found.groups = masks

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
