"""A scene ready for pictures: faces of all nodes in common arrays, made once; points and normals for each time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from keyframer.formats import facts_of
from keyframer.limits import spend
from keyframer.posing import Pose
from keyframer.rendering import bone_shapes
from keyframer.rendering.normals import corner_normals, face_normals, normal_groups
from keyframer.rendering.surfaces import Surfaces
from keyframer.scene import Mesh, Scene
from keyframer.textures import TextureSource

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]

_FARTHEST = 1e18
"""points beyond this are not shown: products of them must stay numbers"""


@dataclass(eq=False)
class Shape:
    """The faces of a stage at one time."""

    points: Floats
    """(V, 3)"""
    corners: Indices
    """(F, 3)"""
    faces: Indices
    """(F,) their numbers on the stage"""
    normals: Singles
    """(F, 3, 3) of each corner"""
    sticks_at: int
    """where among the faces those of the skeleton begin"""


class DrawableScene:
    """``bones``: sticks for the skeleton always (True), never (False), or where there is no mesh to show (None)."""

    def __init__(
        self,
        scene: Scene,
        source: TextureSource | None = None,
        bones: bool | None = None,
        lift_black: bool = True,
    ) -> None:
        self.scene = scene
        self.surfaces = Surfaces(scene, source, lift_black)
        self.carriers = [n for n, node in enumerate(scene.nodes) if node.mesh is not None and _faces(scene, n)]
        counts = [_faces(scene, number) for number in self.carriers]
        spend("faces", sum(counts))
        self._sizes = [len(_mesh(scene, number).positions) for number in self.carriers]
        starts = np.cumsum([0, *self._sizes])
        self._bones = bones
        self._last: tuple[Pose, int, Shape] | None = None
        self._joined, self._alone = bone_shapes.stick_nodes(scene)
        count = 0 if bones is False else len(self._joined) + len(self._alone)
        self._stick_faces = sum(counts) + np.arange(8 * count)
        meshes = [np.asarray(_mesh(scene, n).corners, np.int64) + starts[i] for i, n in enumerate(self.carriers)]
        self.corners: Indices = np.concatenate([*meshes, bone_shapes.stick_corners(count) + starts[-1]])
        stick = np.full(8 * count, len(scene.materials) + 1, np.int64)
        self.material: Indices = np.concatenate([*(_materials(scene, number) for number in self.carriers), stick])
        self._node = np.repeat(np.array(self.carriers, np.int64), counts)
        self.groups = self._groups()
        self.uv = self._corner_values("uv", "uv_corners", 2, 0.0) if self.surfaces.any_image else None
        self.colors = self._corner_values("colors", "color_corners", 3, 1.0)

    def _groups(self) -> Indices:
        found: list[Indices] = []
        next_number = 0
        smooth = facts_of(self.scene.source_format).smooth_without_groups
        for number in self.carriers:
            mesh = _mesh(self.scene, number)
            flat = self.surfaces.flat[_materials(self.scene, number)]
            masks = None if mesh.smoothing is None else np.asarray(mesh.smoothing, np.int64)
            groups = normal_groups(np.asarray(mesh.corners, np.int64), masks, flat, smooth)
            found.append(groups + next_number)
            next_number += int(groups.max(initial=-1)) + 1
        found.append(np.repeat(next_number + np.arange(len(self._stick_faces))[:, None], 3, axis=1))
        return np.concatenate(found)

    def _corner_values(self, values: str, corners: str, width: int, default: float) -> Singles | None:
        """(F, 3, width) of all meshes, or None if no mesh has them."""
        if all(getattr(_mesh(self.scene, number), values) is None for number in self.carriers):
            return None
        parts: list[Singles] = []
        for number in self.carriers:
            mesh = _mesh(self.scene, number)
            given, places = getattr(mesh, values), getattr(mesh, corners)
            places = np.asarray(mesh.corners if places is None else places, np.int64)
            if given is None or not len(given):
                parts.append(np.full((len(mesh.corners), 3, width), default, np.float32))
                continue
            there = (places >= 0) & (places < len(given))
            found = np.nan_to_num(np.asarray(given, np.float32), nan=0.0, posinf=0.0, neginf=0.0)[
                np.where(there, places, 0)
            ]
            parts.append(np.where(there[:, :, None], found[..., :width], np.float32(default)))
        parts.append(np.full((len(self._stick_faces), 3, width), default, np.float32))
        return np.concatenate(parts)

    def shape(self, pose: Pose, at: int) -> Shape:
        """Everything that is visible at the ``at``-th time of a pose of this scene; the last one is kept."""
        if self._last is None or self._last[0] is not pose or self._last[1] != at:
            self._last = pose, at, self._shape(pose, at)
        return self._last[2]

    @np.errstate(all="ignore")
    def _shape(self, pose: Pose, at: int) -> Shape:
        shown = pose.visible[at]
        single = _one_time(pose, at)
        parts = [
            single.vertices(number)[0] if shown[number] else np.full((size, 3), np.nan)
            for number, size in zip(self.carriers, self._sizes, strict=True)
        ]
        faces = np.flatnonzero(shown[self._node])
        bones = bool(len(self._stick_faces)) and (not len(faces) if self._bones is None else self._bones)
        if bones:
            parts.append(bone_shapes.stick_points(pose.world[at], self._joined, self._alone))
        sticks_at = len(faces)
        faces = np.concatenate([faces, self._stick_faces]) if bones else faces
        points = np.concatenate(parts) if parts else np.empty((0, 3))
        corners, groups = self.corners[faces], self.groups[faces]
        points[np.abs(points) > _FARTHEST] = np.nan
        normals = corner_normals(face_normals(points, corners), groups)
        return Shape(points, corners, faces, normals, sticks_at)

    def node_of(self, faces: Indices) -> Indices:
        """The node of each face; -1 for the sticks of a skeleton."""
        return np.append(self._node, np.full(len(self._stick_faces), -1))[faces]

    def extent(self, pose: Pose) -> Floats:
        """(n, 3) points that a fitted view must show, over all times of the pose."""
        found: list[Floats] = []
        for at in range(len(pose.frames)):
            shape = self.shape(pose, at)
            used = shape.points[np.unique(shape.corners)]
            found.append(used[np.isfinite(used).all(axis=1)])
        return np.concatenate(found) if found else np.empty((0, 3))


def _one_time(pose: Pose, at: int) -> Pose:
    """The pose at one of its times, so that only its vertices are made."""
    if len(pose.frames) == 1:
        return pose
    weights = {node: values[at : at + 1] for node, values in pose.morph_weights.items()}
    return replace(pose, frames=pose.frames[at : at + 1], world=pose.world[at : at + 1], morph_weights=weights)


def _mesh(scene: Scene, node: int) -> Mesh:
    number = scene.nodes[node].mesh
    assert number is not None
    return scene.meshes[number]


def _faces(scene: Scene, node: int) -> int:
    return len(_mesh(scene, node).corners)


def _materials(scene: Scene, node: int) -> Indices:
    """A material for each face; those without one get the number behind the last."""
    mesh = _mesh(scene, node)
    none = len(scene.materials)
    if mesh.face_materials is None:
        return np.full(len(mesh.corners), none, np.int64)
    given = np.asarray(mesh.face_materials, np.int64)
    return np.where((given >= 0) & (given < none), given, none)
