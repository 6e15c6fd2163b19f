"""Convert a scene to other axes, another handedness and another unit, for writers.

The change C is a signed permutation of the axes, so values change place and sign without rounding, except lengths in
another unit, reversed texture coordinates, and rotations of cameras, lights and their children (`corrections`). The
local frames of nodes change with the scene: ``W' = C . W . C^-1``. Only cameras and lights keep their frames (X right,
Y up, view along -Z, or +Z for left-handed axes), and the transforms of their children compensate for this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import RotationForm, Track
from keyframer.curves.rotation_forms import earliest_key
from keyframer.maths import affine, quat
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.posing.local_matrices import stored_target
from keyframer.scene import Camera, Channel, Clip, Fog, Handedness, Light, Mesh, Morph, Node, Scene, Skin, Space
from keyframer.scene.cameras_lights import is_aimed

_TO_Y_UP = {
    "x": np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "y": np.eye(3),
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
"""rotation to right-handed Y up"""


def in_space(scene: Scene, space: Space, unit: float = 1.0) -> Scene:
    """Return the scene in another space, with lengths multiplied by ``unit``; the same object if nothing changes."""
    if scene.space.up not in _TO_Y_UP or space.up not in _TO_Y_UP:
        raise ValueError(f"up axes must be x, y or z: cannot convert {scene.space.up!r} to {space.up!r}")
    matrix = _to_common(space).T @ _to_common(scene.space)
    flip_v = scene.space.v_up != space.v_up
    if np.array_equal(matrix, np.eye(3)) and unit == 1.0 and not flip_v:
        return scene if scene.space == space else replace(scene, space=space)
    return _SpaceChange(scene, matrix, unit, flip_v).apply(space)


def _to_common(space: Space) -> Floats:
    """Return the change from a space to right-handed Y up: left-handed axes are mirrored first, as in glTF export."""
    return np.asarray(_TO_Y_UP[space.up] * _mirror(space))


def _mirror(space: Space) -> Floats:
    """Return (3,) signs that mirror left-handed axes along one axis that is not up."""
    signs = np.ones(3)
    if space.handedness is Handedness.LEFT:
        signs[1 if space.up == "z" else 2] = -1.0
    return signs


def to_right_handed_y_up(space: Space) -> tuple[Floats, Floats]:
    """Return two (4, 4) matrices, ``conversion`` and ``mirror``, to right-handed Y up.

    ``conversion @ world @ mirror`` is the world matrix of a node there. The local frame of a node is mirrored with the
    scene and otherwise unchanged.
    """
    conversion, mirror = np.eye(4), np.diag([*_mirror(space), 1.0])
    conversion[:3, :3] = _to_common(space)
    return conversion, mirror


class _SignedPermutation:
    """A signed permutation of three axes; vectors and scales are changed without rounding."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self.order = np.abs(matrix).argmax(axis=1)
        self.signs = matrix[np.arange(3), self.order]
        self.determinant = float(affine.determinant(matrix))

    def vectors(self, values: Any) -> Floats:
        return np.asarray(np.asarray(values, np.float64)[..., self.order] * self.signs)

    def scales(self, values: Any) -> Floats:
        """Permute scale factors: their signs do not change."""
        return np.asarray(np.asarray(values, np.float64)[..., self.order])

    def rotations(self, values: Any) -> Floats:
        """Return ``C R C^-1`` for quaternions or for axes with angles.

        The axis is permuted; a change that mirrors also reverses it.
        """
        converted = np.array(values, np.float64)
        converted[..., :3] = self.vectors(converted[..., :3]) * self.determinant
        return converted

    def matrices(self, values: Any, unit: float) -> Floats:
        """Return ``C M C^-1`` for (..., 4, 4) matrices, with translations multiplied by ``unit``."""
        converted = np.array(values, np.float64)
        converted[..., :3, :3] = affine.multiply(affine.multiply(self.matrix, converted[..., :3, :3]), self.matrix.T)
        converted[..., :3, 3] = self.vectors(converted[..., :3, 3]) * unit
        return converted


class _SpaceChange:
    """Applies a change of space to the parts of one scene."""

    def __init__(self, scene: Scene, matrix: Floats, unit: float, flip_v: bool) -> None:
        self.scene = scene
        self.axes = _SignedPermutation(matrix)
        self.unit = unit
        self.flip_v = flip_v
        view = _SignedPermutation(np.diag([1.0, 1.0, self.axes.determinant]))
        self.frame_changes = [self.axes if node.camera is None and node.light is None else view for node in scene.nodes]
        """change of the local frame of each node"""
        self.parent_changes = [
            self.axes if node.parent is None else self.frame_changes[node.parent] for node in scene.nodes
        ]
        """change of the frame that the transform of each node is relative to: of its parent, or of the scene"""
        # The pose computes the rotation of a node that is aimed at a target: the stored rotation is overridden.
        untargeted = {
            number
            for number in evaluation_order(scene.nodes).untargeted
            if stored_target(scene, scene.nodes[number]) is None
        }
        self.corrections: list[Floats | None] = []
        """rotation that the converted rotation of each node is multiplied by on the right; None for no change"""
        for number, node in enumerate(scene.nodes):
            difference = self.parent_changes[number].matrix @ self.frame_changes[number].matrix.T
            is_overridden = is_aimed(scene, node) and number not in untargeted
            unchanged = is_overridden or np.array_equal(difference, np.eye(3))
            self.corrections.append(None if unchanged else quat.from_matrix3(difference))

    def apply(self, space: Space) -> Scene:
        scene = self.scene
        environment = scene.environment
        if self.unit != 1.0:
            environment = replace(
                environment, fog=self._fog(environment.fog), distance_cue=self._fog(environment.distance_cue)
            )
            layers = environment.layered_fog
            if layers is not None:
                layers = replace(layers, z_min=layers.z_min * self.unit, z_max=layers.z_max * self.unit)
                environment.layered_fog = layers
        return replace(
            scene,
            nodes=[self._node(number, node) for number, node in enumerate(scene.nodes)],
            meshes=[self._mesh(mesh) for mesh in scene.meshes],
            cameras=[self._camera(camera) for camera in scene.cameras],
            lights=[self._light(light) for light in scene.lights],
            skins=[self._skin(skin) for skin in scene.skins],
            clips=[self._clip(clip) for clip in scene.clips],
            environment=environment,
            space=space,
        )

    def _points(self, values: Any) -> Floats:
        return self.axes.vectors(values) * self.unit

    def _node(self, number: int, node: Node) -> Node:
        parent_change, frame_change = self.parent_changes[number], self.frame_changes[number]
        rotation = parent_change.rotations(node.rotation_xyzw)
        correction = self.corrections[number]
        if correction is not None:
            rotation = quat.multiply(rotation, correction)
        converted = replace(
            node,
            position=parent_change.vectors(node.position) * self.unit,
            rotation_xyzw=rotation,
            scale=frame_change.scales(node.scale),
            pivot=frame_change.vectors(node.pivot) * self.unit,
        )
        if node.scale_axes_xyzw is not None:
            converted.scale_axes_xyzw = frame_change.rotations(node.scale_axes_xyzw)
        if node.bounding_box is not None:
            converted.bounding_box = self._box(*node.bounding_box)
        if node.morph is not None:
            converted.morph = Morph(list(node.morph.names), [self._points(shape) for shape in node.morph.positions])
        return converted

    def _box(self, low: Any, high: Any) -> tuple[Floats, Floats]:
        corners = self._points(np.stack([low, high]))
        return corners.min(axis=0), corners.max(axis=0)

    def _mesh(self, mesh: Mesh) -> Mesh:
        converted = replace(mesh, positions=self._points(mesh.positions))
        if mesh.axes is not None:
            converted.axes = self.axes.matrices(mesh.axes, self.unit)
        if mesh.bounding_sphere is not None:
            centre, radius = mesh.bounding_sphere
            converted.bounding_sphere = (self._points(centre), radius * self.unit)
        if mesh.normals is not None:
            converted.normals = self.axes.vectors(mesh.normals)
        for name in ("uv", "uv2") if self.flip_v else ():
            if getattr(mesh, name) is not None:
                uv = np.array(getattr(mesh, name), np.float64)
                uv[:, 1] = 1.0 - uv[:, 1]
                setattr(converted, name, uv)
        return converted

    def _camera(self, camera: Camera) -> Camera:
        converted = replace(camera, target=self._target(camera.target))
        converted.ranges, converted.clip = self._pair(camera.ranges), self._pair(camera.clip)
        return converted

    def _pair(self, pair: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if pair is None else (pair[0] * self.unit, pair[1] * self.unit)

    def _target(self, point: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        if point is None:
            return None
        x, y, z = self._points(point).tolist()
        return x, y, z

    def _light(self, light: Light) -> Light:
        converted = replace(light, target=self._target(light.target))
        converted.inner_range = None if light.inner_range is None else light.inner_range * self.unit
        converted.outer_range = None if light.outer_range is None else light.outer_range * self.unit
        return converted

    def _skin(self, skin: Skin) -> Skin:
        converted = replace(skin, inverse_bind=self.axes.matrices(skin.inverse_bind, self.unit))
        if skin.positions is not None:
            converted.positions = self._points(skin.positions)
        return converted

    def _fog(self, fog: Fog | None) -> Fog | None:
        return None if fog is None else replace(fog, near=fog.near * self.unit, far=fog.far * self.unit)

    def _clip(self, clip: Clip) -> Clip:
        converted = replace(
            clip,
            channels=[Channel(channel.node, self._track(channel.node, channel.track)) for channel in clip.channels],
        )
        if clip.bounds is not None:
            corners = self._points(clip.bounds)
            converted.bounds = np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1)
        return converted

    def _track(self, number: int, track: Track) -> Track:
        parent_change, frame_change = self.parent_changes[number], self.frame_changes[number]
        tangents = {
            name: getattr(track, name) for name in ("tangents_in", "tangents_out") if getattr(track, name) is not None
        }
        if track.kind == "position" and not track.is_rotation:
            return self._mapped(track, tangents, lambda values: parent_change.vectors(values) * self.unit)
        if track.kind == "rotation" and track.is_rotation:
            return self._rotated(track, tangents, parent_change, self.corrections[number])
        if track.kind == "scale" and not track.is_rotation:
            return self._mapped(track, tangents, frame_change.scales)
        if track.kind == "scale_axes" and track.is_rotation:
            return self._mapped(track, tangents, frame_change.rotations)
        return track

    @staticmethod
    def _mapped(track: Track, tangents: dict[str, Floats], change: Any) -> Track:
        return replace(
            track, values=change(track.values), **{name: change(tangent) for name, tangent in tangents.items()}
        )

    def _rotated(
        self, track: Track, tangents: dict[str, Floats], change: _SignedPermutation, correction: Floats | None
    ) -> Track:
        """Change the rotation keys of a node.

        Relative keys stay relative: only the first key, which is absolute, includes the ``correction``.
        """
        if correction is None:
            return self._mapped(track, tangents, change.rotations)
        if track.form is RotationForm.QUATERNION_ABSOLUTE:
            return self._mapped(track, tangents, lambda values: quat.multiply(change.rotations(values), correction))
        values = change.rotations(track.values)
        changed_keys = slice(None) if track.form is RotationForm.AXIS_ANGLE_ABSOLUTE else earliest_key(track)
        if track.form is RotationForm.QUATERNION_RELATIVE:
            values[changed_keys] = quat.multiply(quat.normalise(values[changed_keys]), correction)
        else:
            rotations = quat.from_axis_angle(values[changed_keys, :3], values[changed_keys, 3])
            axes, angles = quat.to_axis_angle(quat.multiply(rotations, correction))
            values[changed_keys] = np.column_stack([axes, angles])
        return replace(track, values=values)
