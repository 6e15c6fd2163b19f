"""A scene prepared for pictures: faces of all nodes in common arrays, made once; points and normals for each time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from keyframer.arrays import Flags, Floats, Indices, Numbers, Singles
from keyframer.formats import properties_of
from keyframer.limits import spend
from keyframer.maths.smoothing_groups import smooth_clusters
from keyframer.posing import Pose
from keyframer.posing.vertices import turned_by_bones
from keyframer.rendering.raster import FACES_AT_ONCE
from keyframer.rendering.surfaces import Surfaces
from keyframer.scene import Handedness, Mesh, NodeKind, Scene
from keyframer.textures import TextureSource

_THICKEST = 0.12
"""position of the thickest place along a stick, as a fraction of its length"""
_STICK_TRIANGLES = np.array(
    [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]], np.int64
)  # eight faces: both ends to the four corners of the thickest place


def stick_nodes(scene: Scene) -> tuple[Indices, Indices]:
    """Return (S, 2) pairs of nodes that are joined by a stick, and (K,) nodes that are drawn as a short stick each.

    Cameras, lights and targets are left out.
    """
    count = len(scene.nodes)
    plain = [
        node.kind not in (NodeKind.CAMERA, NodeKind.LIGHT, NodeKind.TARGET, NodeKind.AMBIENT) for node in scene.nodes
    ]
    joined = [
        (node.parent, number)
        for number, node in enumerate(scene.nodes)
        if node.parent is not None and 0 <= node.parent < count and plain[number] and plain[node.parent]
    ]
    touched = {number for pair in joined for number in pair}
    alone = [number for number in range(count) if plain[number] and number not in touched]
    return np.array(joined, np.int64).reshape(-1, 2), np.array(alone, np.int64)


def stick_points(world: Floats, joined: Indices, alone: Indices) -> Floats:
    """Return (6 (S + K), 3) points of the sticks for nodes at ``world`` (N, 4, 4)."""
    positions = np.nan_to_num(world[:, :3, 3])
    begin, end = positions[joined[:, 0]], positions[joined[:, 1]]
    lengths = _length(end - begin)
    used = positions[np.unique(np.concatenate([joined.reshape(-1), alone]))]
    size = float(_length(np.ptp(used, axis=0)[None])[0]) if len(used) else 0.0
    size = size or 1.0
    typical = float(np.median(lengths[lengths > 0])) if (lengths > 0).any() else size * 0.1
    mark = min(typical * 0.25, size * 0.045) if len(joined) else size * 0.03
    thick = np.minimum(np.maximum(lengths * 0.1, 0.0), mark)
    long = _octahedra(begin, end, np.maximum(thick, mark * 0.15), _THICKEST)
    up = np.array([0.0, 0.0, 1.0])
    short = _octahedra(positions[alone] - up * mark, positions[alone] + up * mark, np.full(len(alone), mark * 0.7), 0.5)
    return np.concatenate([long, short]).reshape(-1, 3)


def stick_corners(count: int) -> Indices:
    """Return (8 count, 3) point indices of the faces of ``count`` sticks."""
    return (np.arange(count)[:, None, None] * 6 + _STICK_TRIANGLES).reshape(-1, 3)


def _octahedra(begin: Floats, end: Floats, thick: Floats, thickest_at: float) -> Floats:
    """Return (n, 6, 3) points: one end, four corners around the thickest place, the other end."""
    direction = end - begin
    length = _length(direction)[:, None]
    direction = np.where(length > 0, direction / np.where(length > 0, length, 1.0), (0.0, 0.0, 1.0))
    helper_axis = np.eye(3)[np.argmin(np.abs(direction), axis=1)]
    side = np.cross(direction, helper_axis)
    side /= _length(side)[:, None]
    across = np.cross(direction, side)
    middle = begin + (end - begin) * thickest_at
    out = np.empty((len(begin), 6, 3))
    out[:, 0], out[:, 5] = begin, end
    for place, outwards in enumerate((side, across, -side, -across), start=1):
        out[:, place] = middle + outwards * thick[:, None]
    return out


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(vectors * vectors, axis=-1)))


_OPPOSITE_WINDING = -0.3
"""cosine below which two faces of one smooth surface are treated as having opposite winding"""


def normal_groups(corners: Indices, masks: Indices | None, flat: Flags, smooth: bool) -> Numbers:
    """Return (F, 3) the index of the normal of each corner.

    ``masks`` are the smoothing groups of faces, ``flat`` marks faces that are always flat, ``smooth`` applies to meshes
    without masks.
    """
    face_masks = np.full(len(corners), int(smooth), np.int64) if masks is None else masks
    face_masks = np.where(flat, 0, face_masks)
    clusters, _ = smooth_clusters(corners, face_masks, int(corners.max(initial=-1)) + 1, smooth)
    groups = np.array(clusters.reshape(-1, 3), np.int32)
    sharp = face_masks & 0xFFFFFFFF == 0
    groups[sharp] = groups[sharp, :1]
    return groups


def face_normals(points: Floats, corners: Numbers) -> Floats:
    """Return (F, 3) unit normals; zero for faces without area."""
    out = np.empty((len(corners), 3))
    with np.errstate(all="ignore"):
        for rows in _portions(len(corners)):
            a, b, c = (points[corners[rows, corner]] for corner in range(3))
            b, c, normal = b - a, c - a, out[rows]
            normal[:, 0] = b[:, 1] * c[:, 2] - b[:, 2] * c[:, 1]
            normal[:, 1] = b[:, 2] * c[:, 0] - b[:, 0] * c[:, 2]
            normal[:, 2] = b[:, 0] * c[:, 1] - b[:, 1] * c[:, 0]
            normal[:] = unit(normal)
        return out


def _portions(count: int) -> list[slice]:
    """Return slices of faces whose values are computed together: all at once take several times their memory."""
    return [slice(at, at + FACES_AT_ONCE) for at in range(0, count, FACES_AT_ONCE)]


def corner_normals(normals_of_faces: Floats, groups: Numbers) -> Singles:
    """Return (F, 3, 3) unit normals of corners: sums of the face normals (F, 3) of a group, as in 3D Studio.

    The winding of old files is not reliable: normals that clearly point away from the first one of their group are
    negated before they are added, and the sum then points to the side of the face of the corner.
    """
    count = int(groups.max(initial=-1)) + 1
    first, total = np.zeros(count, np.int32), np.zeros((count, 3))  # the first face of each group, and the sum
    portions = _portions(len(groups))

    def corners(rows: slice) -> tuple[Numbers, Floats]:
        return groups[rows].reshape(-1), np.repeat(normals_of_faces[rows], 3, axis=0)

    for rows in reversed(portions):
        corner_groups = groups[rows].reshape(-1)
        first[corner_groups[::-1]] = np.repeat(np.arange(rows.start, rows.start + len(groups[rows])), 3)[::-1]
    for rows in portions:
        corner_groups, corner_face_normals = corners(rows)
        first_normals = normals_of_faces[first[corner_groups]]
        sign = np.where(_dot(corner_face_normals, first_normals) < _OPPOSITE_WINDING, -1.0, 1.0)
        for axis in range(3):
            total[:, axis] += np.bincount(corner_groups, corner_face_normals[:, axis] * sign, count)
    del first
    for rows in _portions(count):
        total[rows] = unit(total[rows])
    out = np.empty((len(groups), 3, 3), np.float32)
    for rows in portions:
        corner_groups, corner_face_normals = corners(rows)
        normals = total[corner_groups]
        normals *= np.where(_dot(corner_face_normals, normals) < 0, -1.0, 1.0)[:, None]
        out[rows] = normals.reshape(-1, 3, 3)
    return out


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2])


def unit(vectors: Floats) -> Floats:
    """Return unit vectors; zero for those without a direction."""
    with np.errstate(all="ignore"):
        largest = np.abs(vectors).max(axis=1, initial=0.0)
        usable = (largest > 0) & np.isfinite(largest)
        scaled = vectors / np.where(usable, largest, 1.0)[:, None]
        length = np.sqrt(scaled[:, 0] ** 2 + scaled[:, 1] ** 2 + scaled[:, 2] ** 2)
        return np.asarray(np.where(usable[:, None], scaled / np.where(length > 0, length, 1.0)[:, None], 0.0))


_FARTHEST = 1e18
"""points beyond this are not shown, so that their products stay finite"""


@dataclass(eq=False)
class Shape:
    """The visible faces at one time."""

    points: Floats
    """(V, 3)"""
    corners: Numbers
    """(F, 3)"""
    faces: Numbers
    """(F,) their indices in the `DrawableScene`"""
    normals: Singles
    """(F, 3, 3) of each corner"""
    mirrored: Flags
    """(F,) whether the node of the face is mirrored: seen from the front, its corners run clockwise"""
    first_stick: int
    """index of the first face of the skeleton, whose faces come last"""

    @property
    def used_points(self) -> Floats:
        """Points of faces."""
        used = np.zeros(len(self.points), np.bool_)
        used[self.corners] = True
        return self.points[used]


class DrawableScene:
    """A scene prepared for pictures. ``bones``: draw the skeleton always (True), never (False), or if no face is
    visible (None). ``two_sided``: draw the back of faces whose material is one-sided, too. ``lift_black`` as in
    `Surfaces`.
    """

    def __init__(
        self,
        scene: Scene,
        source: TextureSource | None = None,
        bones: bool | None = None,
        lift_black: bool = True,
        two_sided: bool = False,
    ) -> None:
        self.scene = scene
        self.two_sided = two_sided
        self.surfaces = Surfaces(scene, source, lift_black)
        self.mesh_nodes = [n for n, node in enumerate(scene.nodes) if node.mesh is not None and _face_count(scene, n)]
        """nodes that have a mesh with faces"""
        counts = [_face_count(scene, number) for number in self.mesh_nodes]
        spend("faces", sum(counts))
        self._sizes = [len(_mesh(scene, number).positions) for number in self.mesh_nodes]
        starts = np.cumsum([0, *self._sizes])
        self._bones = bones
        self.left_out: frozenset[int] = frozenset()
        """nodes that are not drawn"""
        self._last: tuple[Pose, int, Shape] | None = None
        self._joined, self._alone = stick_nodes(scene)
        count = 0 if bones is False else len(self._joined) + len(self._alone)
        self._stick_faces = sum(counts) + np.arange(8 * count)
        # tables of faces have 32 bits: they are most of the memory of a large scene
        self.corners: Numbers = np.concatenate(
            [
                *(
                    np.asarray(_mesh(scene, n).corners, np.int32) + int(starts[i])
                    for i, n in enumerate(self.mesh_nodes)
                ),
                stick_corners(count) + starts[-1],
            ],
            dtype=np.int32,
        )
        stick_materials = np.full(8 * count, len(scene.materials) + 1)
        self.material: Numbers = np.concatenate(
            [*(_materials(scene, number) for number in self.mesh_nodes), stick_materials], dtype=np.int32
        )
        self._node: Numbers = np.repeat(np.array(self.mesh_nodes, np.int32), counts)
        self.groups = self._groups()
        self.uv = self._corner_values("uv", "uv_corners", 2, 0.0) if self.surfaces.any_image else None
        self.colors = self._corner_values("colors", "color_corners", 3, 1.0)
        self._stated = {
            number: np.asarray(_mesh(scene, number).normals, np.float64)
            for number in self.mesh_nodes
            if _mesh(scene, number).normals is not None and scene.nodes[number].morph is None
        }
        """normals that the file states, by node; those of morphs are computed"""
        self._first_faces = dict(zip(self.mesh_nodes, np.cumsum([0, *counts]).tolist(), strict=False))

    def _groups(self) -> Numbers:
        mesh_groups: list[Numbers] = []
        next_number = 0
        smooth = properties_of(self.scene.source_format).smooth_without_groups
        for number in self.mesh_nodes:
            mesh = _mesh(self.scene, number)
            flat = self.surfaces.flat[_materials(self.scene, number)]
            masks = None if mesh.smoothing is None else np.asarray(mesh.smoothing, np.int64)
            groups = normal_groups(np.asarray(mesh.corners, np.int64), masks, flat, smooth)
            groups += next_number
            next_number = int(groups.max(initial=next_number - 1)) + 1
            mesh_groups.append(groups)
        stick_groups = np.repeat(next_number + np.arange(len(self._stick_faces))[:, None], 3, axis=1)
        return np.concatenate([*mesh_groups, stick_groups], dtype=np.int32)

    def _corner_values(self, values: str, corners: str, width: int, default: float) -> Singles | None:
        """Return (F, 3, width) values of corners of all meshes, or None if no mesh has them."""
        if all(getattr(_mesh(self.scene, number), values) is None for number in self.mesh_nodes):
            return None
        parts: list[Singles] = []
        for number in self.mesh_nodes:
            mesh = _mesh(self.scene, number)
            stored, indices = getattr(mesh, values), getattr(mesh, corners)
            indices = np.asarray(mesh.corners if indices is None else indices, np.int64)
            if stored is None or not len(stored):
                parts.append(np.full((len(mesh.corners), 3, width), default, np.float32))
                continue
            is_valid = (indices >= 0) & (indices < len(stored))
            corner_values = np.nan_to_num(np.asarray(stored, np.float32), nan=0.0, posinf=0.0, neginf=0.0)[
                np.where(is_valid, indices, 0)
            ]
            parts.append(np.where(is_valid[:, :, None], corner_values[..., :width], np.float32(default)))
        parts.append(np.full((len(self._stick_faces), 3, width), default, np.float32))
        return np.concatenate(parts)

    def leave_out(self, nodes: Iterable[int]) -> None:
        """Do not draw these nodes from now on."""
        self.left_out, self._last = frozenset(nodes), None

    def shape(self, pose: Pose, at: int) -> Shape:
        """Return everything visible at time index ``at`` of a pose of this scene; the last result is kept."""
        if self._last is None or self._last[0] is not pose or self._last[1] != at:
            self._last = pose, at, self._shape(pose, at)
        return self._last[2]

    @np.errstate(all="ignore")
    def _shape(self, pose: Pose, at: int) -> Shape:
        shown = pose.visible[at].copy()
        shown[list(self.left_out)] = False
        single = _one_time(pose, at)
        parts = [
            single.vertices(number)[0] if shown[number] else np.full((size, 3), np.nan)
            for number, size in zip(self.mesh_nodes, self._sizes, strict=True)
        ]
        faces: Numbers = np.flatnonzero(shown[self._node]).astype(np.int32)
        bones = bool(len(self._stick_faces)) and (not len(faces) if self._bones is None else self._bones)
        if bones:
            parts.append(stick_points(pose.world[at], self._joined, self._alone))
        first_stick = len(faces)
        faces = np.concatenate([faces, self._stick_faces], dtype=np.int32) if bones else faces
        points = np.concatenate([np.empty((0, 3)), *parts])
        del parts  # as large as the points
        all_shown = len(faces) == len(self.corners)
        corners, groups = (table if all_shown else table[faces] for table in (self.corners, self.groups))
        points[np.abs(points) > _FARTHEST] = np.nan
        normals = corner_normals(face_normals(points, corners), groups)
        self._use_stated_normals(normals, faces, single)
        mirrored = np.linalg.det(pose.world[at, :, :3, :3]) < 0
        mirrored[[node.skin is not None for node in self.scene.nodes]] = False  # skins ignore the node of their mesh
        return Shape(points, corners, faces, normals, np.append(mirrored, False)[self.node_of(faces)], first_stick)

    def _use_stated_normals(self, normals: Singles, faces: Numbers, pose: Pose) -> None:
        """Replace normals of the ``faces`` at the time of a pose by those that the file states, moved with their node
        or the bones of their vertex; without a direction they stay."""
        for number, stated in self._stated.items():
            mesh, node, first = _mesh(self.scene, number), self.scene.nodes[number], self._first_faces[number]
            rows = np.flatnonzero((faces >= first) & (faces < first + len(mesh.corners)))
            corners = np.asarray(mesh.corners, np.int64)[faces[rows] - first]
            indices = corners if mesh.normal_corners is None else np.asarray(mesh.normal_corners)[faces[rows] - first]
            valid = (indices >= 0) & (indices < len(stated))
            given = np.nan_to_num(stated)[np.where(valid, indices, 0)] * valid[:, :, None]
            if node.skin is None:
                # The inverse transpose, times the determinant: it exists for flat nodes, too, and in mirrored ones the
                # result is on the side from which corners run counter-clockwise, as computed normals are.
                matrix = pose.world[0, number, :3, :3]
                moved = given @ np.stack([np.cross(matrix[i - 2], matrix[i - 1]) for i in range(3)]).T
            else:
                moved = turned_by_bones(
                    self.scene.skins[node.skin], corners.reshape(-1), given.reshape(-1, 3), pose.world
                )
            directed = unit(moved.reshape(-1, 3) * (-1.0 if self.scene.space.handedness is Handedness.LEFT else 1.0))
            usable = directed.any(axis=1).reshape(-1, 3)
            normals[rows] = np.where(usable[:, :, None], directed.reshape(-1, 3, 3), normals[rows])

    def node_of(self, faces: Numbers) -> Numbers:
        """Return the node of each face; -1 for the skeleton."""
        skeleton = np.full(len(self._stick_faces), -1, np.int32)
        return np.asarray(np.append(self._node, skeleton)[faces])

    def extent(self, pose: Pose) -> Floats:
        """Return (n, 3) points that a fitted view must show, over all times of the pose."""
        parts: list[Floats] = []
        for at in range(len(pose.frames)):
            shape = self.shape(pose, at)
            points = shape.used_points
            parts.append(points[np.isfinite(points).all(axis=1)])
        return np.concatenate(parts) if parts else np.empty((0, 3))


def _one_time(pose: Pose, at: int) -> Pose:
    """Return the pose at one of its times, for its vertices only: other values keep all times."""
    if len(pose.frames) == 1:
        return pose
    weights = {node: values[at : at + 1] for node, values in pose.morph_weights.items()}
    return replace(pose, frames=pose.frames[at : at + 1], world=pose.world[at : at + 1], morph_weights=weights)


def _mesh(scene: Scene, node: int) -> Mesh:
    number = scene.nodes[node].mesh
    assert number is not None
    return scene.meshes[number]


def _face_count(scene: Scene, node: int) -> int:
    return len(_mesh(scene, node).corners)


def _materials(scene: Scene, node: int) -> Indices:
    """Return the material of each face; faces without one get the index after the last."""
    mesh = _mesh(scene, node)
    none = len(scene.materials)
    if mesh.face_materials is None:
        return np.full(len(mesh.corners), none, np.int64)
    given = np.asarray(mesh.face_materials, np.int64)
    return np.where((given >= 0) & (given < none), given, none)
