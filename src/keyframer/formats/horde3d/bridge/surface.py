"""Read geometry: the part of a mesh, with its morph targets and its skin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.catalogue import LINK_INDEX_OUT_OF_RANGE
from keyframer.formats.document import Document
from keyframer.formats.horde3d.document import (
    KINDS,
    Geometry,
    MorphStream,
    MorphTarget,
    Stream,
    Triangles,
    name_of,
    rows_of,
    streams_of,
)
from keyframer.formats.kit.scene_reading import Reporter, check_weights, finite_rows
from keyframer.maths import affine
from keyframer.scene import Mesh, Morph, Skin
from keyframer.text import decode_name

_WEIGHTS_TOLERANCE = 4.5 / 255
"""allowed difference of a vertex's weight sum from 1: the converter rounds four weights down to 255ths; the sums of
nine real models are 252 to 255"""


class Surface:
    """The geometry of a model: the vertices and triangles of all of its meshes."""

    def __init__(self, document: Document, reporter: Reporter) -> None:
        self.document = document
        self.reporter = reporter
        record = document.first(Geometry)
        assert record is not None
        self.record = record
        self.streams = streams_of(record)
        self.records = {child.kind: child for child in record.children if isinstance(child, Stream)}
        for kind, name in enumerate(KINDS):
            if name in self.streams and self.streams[name].dtype.kind == "f":
                self.streams[name] = finite_rows(reporter, self.records[kind], "values", self.streams[name])
        self.positions: Floats = self.streams.get("position", np.zeros((0, 3)))
        self.targets = list(self._targets())
        rows = finite_rows(reporter, record, "inverse_bind", record.inverse_bind)
        self.inverse_bind = rows.reshape(-1, 4, 4).transpose(0, 2, 1).copy()
        """(J, 4, 4) from the space of the model to that of each joint"""
        self.inverse_bind[:, 3] = (0.0, 0.0, 0.0, 1.0)
        triangles = document.first(Triangles)
        self.corners: Ints = np.zeros(0, np.int64)
        if triangles is not None:
            self.corners = self._valid(triangles)

    def _valid(self, triangles: Triangles) -> Ints:
        """Return all corners; triangles with vertices that do not exist are reported, and get -1."""
        corners = np.asarray(triangles.corners, np.int64)
        whole = corners[: len(corners) // 3 * 3].reshape(-1, 3)
        count = len(self.positions)
        wrong = np.asarray((whole >= count).any(axis=1))

        def args_of(face: int) -> dict[str, object]:
            index = int(whole[face].max())
            return {"what": "face", "item": face, "kind": "vertex", "index": index, "count": count}

        faces = np.flatnonzero(wrong)
        self.reporter.report_each(LINK_INDEX_OUT_OF_RANGE, triangles, "corners", faces, args_of)
        return np.where(wrong[:, None], -1, whole).reshape(-1)

    def part(self, first: int, count: int) -> tuple[Ints, Ints]:
        """Return the faces of a mesh, which count its own vertices, and these vertices in the geometry."""
        chosen = self.corners[max(first, 0) : max(first, 0) + max(count, 0)]
        faces = chosen[: len(chosen) // 3 * 3].reshape(-1, 3)
        faces = faces[(faces >= 0).all(axis=1)]
        used, own = np.unique(faces, return_inverse=True)
        return own.reshape(-1, 3).astype(np.int32), used

    def mesh(self, name: str, corners: Ints, used: Ints) -> Mesh:
        mesh = Mesh(name, self.positions[used], corners)
        self.reporter.mark(mesh, "horde3d", self.record)
        if "normal" in self.streams:
            normals = self.streams["normal"][used] / 32767.0
            length = np.sqrt((normals * normals).sum(axis=1, keepdims=True))
            mesh.normals = np.where(length > 0, normals / np.where(length > 0, length, 1.0), (0.0, 1.0, 0.0))
        if "coordinates" in self.streams:
            mesh.uv = self.streams["coordinates"][used]
        if "second_coordinates" in self.streams and self.streams["second_coordinates"][used].any():
            mesh.uv2 = self.streams["second_coordinates"][used]
        return mesh

    def _targets(self) -> Iterator[tuple[str, Ints, Floats]]:
        """Yield name, vertices and differences of position of each morph target."""
        count = len(self.positions)
        for target in self.document.find(MorphTarget):
            vertices = np.asarray(target.vertices, np.int64)

            def args_of(row: int, numbers: Ints = vertices) -> dict[str, object]:
                return {"what": "entry", "item": row, "kind": "vertex", "index": int(numbers[row]), "count": count}

            wrong = np.flatnonzero(vertices >= count)
            self.reporter.report_each(LINK_INDEX_OUT_OF_RANGE, target, "vertices", wrong, args_of)
            for stream in target.children:
                rows = rows_of(stream, "difference") if isinstance(stream, MorphStream) else None
                if rows is None:
                    continue
                differences = finite_rows(self.reporter, stream, "values", rows)
                if isinstance(stream, MorphStream) and stream.kind == 0:
                    yield decode_name(name_of(target.name)), vertices, differences

    def morph(self, used: Ints, positions: Any) -> Morph | None:
        """Return the morph targets that move a vertex of a mesh."""
        names, shapes = [], []
        for name, vertices, differences in self.targets if len(used) else ():
            places = np.searchsorted(used, vertices).clip(0, len(used) - 1)
            own = used[places] == vertices
            if own.any():
                shape = positions.copy()
                np.add.at(shape, places[own], differences[own])
                names.append(name)
                shapes.append(shape)
        return Morph(names, shapes) if names else None

    def bind_pose(self) -> Floats:
        """Return (J, 4, 4) matrices of the joints in the space of the model; those that cannot be inverted stand
        still."""
        inverse = self.inverse_bind
        usable = np.abs(np.linalg.det(inverse[:, :3, :3])) > 1e-30
        return affine.inverse(np.where(usable[:, None, None], inverse, np.eye(4)))

    def skin(self, name: str, used: Ints, joints: dict[int, int], owner: int) -> Skin | None:
        """Return the skin of a mesh with joints; what they do not move follows the node of the mesh, ``owner``."""
        if not {"joints", "weights"} <= self.streams.keys() or not len(used):
            return None
        numbers, weights = self.streams["joints"][used].astype(np.int64), self.streams["weights"][used] / 255.0
        count = self.record.joint_count
        wrong = np.flatnonzero(np.asarray(((numbers >= count) & (weights > 0)).any(axis=1)))

        def args_of(row: int) -> dict[str, object]:
            index = int(numbers[row].max())
            return {"what": "vertex", "item": int(used[row]), "kind": "joint", "index": index, "count": count}

        self.reporter.report_each(LINK_INDEX_OUT_OF_RANGE, self.records[4], "values", wrong, args_of)
        known = np.array([joints.get(joint, -1) if joint < count else -1 for joint in range(256)])
        if not ((known[numbers] >= 0) & (weights > 0)).any():
            return None
        unbound = ~(weights > 0).any(axis=1)
        weights[unbound, 0], numbers[unbound] = 1.0, 0
        vertices, columns = np.nonzero(weights > 0)
        chosen, values = numbers[vertices, columns], weights[vertices, columns]
        check_weights(
            self.reporter, self.records[5], "values", vertices, values, len(used), tolerance=_WEIGHTS_TOLERANCE
        )
        present = np.unique(chosen)
        nodes = [owner if known[joint] < 0 else int(known[joint]) for joint in present.tolist()]
        bind = [np.eye(4) if known[joint] < 0 else self.inverse_bind[joint] for joint in present.tolist()]
        skin = Skin(name, nodes, np.array(bind), vertices, np.searchsorted(present, chosen), values)
        skin.extras["horde3d"] = self.reporter.location_of(self.record)
        return skin
