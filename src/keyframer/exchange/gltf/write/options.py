"""The options of a glTF export, and data shared by its parts: boxes around meshes and joints, and the time range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.exchange.gltf import KEY_STYLES
from keyframer.exchange.gltf.conventions import Axes, Names, bounds
from keyframer.exchange.gltf.write.asset import Asset
from keyframer.exchange.kit.images import ImageSource, no_images
from keyframer.exchange.kit.motion import Span
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, DEGREES_AT_DEFAULT, check_max_error
from keyframer.maths import affine
from keyframer.maths.distinct_values import unique_values
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import GrowingBox, clip_span, scene_size
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene
from keyframer.scene.loss_report import LossReport

Box = tuple[Floats, Floats]


def mesh_boxes(scene: Scene) -> list[Box]:
    """Return lower and upper corner of the box around each mesh, in its own space.

    Vertices with non-finite numbers are ignored; the box then includes the origin.
    """
    boxes: list[Box] = []
    for mesh in scene.meshes:
        points = np.asarray(mesh.positions)
        if not len(points):
            boxes.append((np.zeros(3), np.zeros(3)))
            continue
        with np.errstate(invalid="ignore"):  # for signalling NaNs in files
            low, high = map(np.array, bounds(points))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            finite = points[np.isfinite(points).all(axis=1)]
            low = finite.min(axis=0, initial=0.0).astype(np.float64)
            high = finite.max(axis=0, initial=0.0).astype(np.float64)
        boxes.append((low, high))
    return boxes


def joint_boxes(scene: Scene) -> dict[int, Box]:
    """Return the bounding box of the vertices that each joint moves, in the space of the joint.

    The keys are node numbers.
    """
    boxes: dict[int, Box] = {}
    for node in scene.nodes:
        if node.mesh is None or node.skin is None:
            continue
        skin, points = scene.skins[node.skin], np.asarray(scene.meshes[node.mesh].positions, np.float64)
        vertex, joint = np.asarray(skin.vertex_indices, np.intp), np.asarray(skin.joint_indices, np.intp)
        usable = (vertex >= 0) & (vertex < len(points)) & (joint >= 0) & (joint < len(skin.joints))
        usable &= np.nan_to_num(np.asarray(skin.weights, np.float64)) > 0
        with np.errstate(all="ignore"):
            matrices = np.asarray(skin.inverse_bind, np.float64)[joint[usable]]
            bound = affine.transform_each(matrices, points[vertex[usable]])
        in_range = (np.abs(bound) < 1e30).all(axis=1)
        owner, bound = joint[usable][in_range], bound[in_range]
        low, high = np.full((len(skin.joints), 3), np.inf), np.full((len(skin.joints), 3), -np.inf)
        np.minimum.at(low, owner, bound)
        np.maximum.at(high, owner, bound)
        for number in unique_values(owner).tolist():
            box = boxes.get(skin.joints[number], (low[number], high[number]))
            boxes[skin.joints[number]] = np.minimum(box[0], low[number]), np.maximum(box[1], high[number])
    return boxes


def shown_extent(scene: Scene, world: Floats, shown: list[bool]) -> tuple[float, Floats]:
    """Return diagonal and centre of the box around the faces of the ``shown`` nodes at ``world`` (nodes, 4, 4).

    Without such faces the result is 1 and the origin. Meshes with a scale of 0 are ignored, unless they are skinned.
    """
    box = GrowingBox()
    with np.errstate(all="ignore"):
        scales = np.abs(affine.determinant(world))
        for number, node in enumerate(scene.nodes):
            if node.mesh is None or not shown[number] or (node.skin is None and not scales[number] > 0):
                continue
            corners = np.asarray(scene.meshes[node.mesh].corners).reshape(-1)
            used = np.zeros(len(scene.meshes[node.mesh].positions), np.bool_)
            used[corners[(corners >= 0) & (corners < len(used))]] = True
            box.add(posed_vertices(scene, number, world[None], None)[0][used])
    return box.diagonal, box.middle


def written_span(clip: Clip, fps: float | None) -> Span:
    """Return the time range of a clip to write: the whole animation, at ``fps`` frames per second (None: its rate, or
    30 if that is invalid).
    """
    rate = clip.rate if fps is None else fps * clip.units_per_frame
    if not (np.isfinite(rate) and rate > 0):
        rate = 30.0 * clip.units_per_frame
    return Span(*clip_span(clip), rate, _frame_length(clip))


def _frame_length(clip: Clip) -> float:
    length = float(clip.units_per_frame)
    return length if np.isfinite(length) and length > 0 else 1.0


UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "inch": 0.0254, "foot": 0.3048}
"""lengths in metres"""


@dataclass(frozen=True, slots=True)
class GltfOptions:
    """Options for writing glTF."""

    core_only: bool = False
    """leave out all extensions"""
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the size of the scene"""
    keys: str = KEY_STYLES[0]
    """how curves are written: ``linear`` writes LINEAR keys as ``max_error`` requires, which look the same in every
    player; ``cubic`` writes CUBICSPLINE where that is exact (Blender drops the tangents); ``frames`` writes one LINEAR
    key for each frame
    """
    unit: str | float | None = None
    """length of a unit of the scene: a number of metres, a name of `UNITS`, or ``file`` for the unit of the file; None
    keeps the numbers unchanged
    """
    fps: float | None = None
    """frames per second; None uses the rate of the clip"""
    smooth: bool | None = None
    """normals of meshes without smoothing groups: smooth or flat; None: flat for formats that have smoothing groups
    (3D Studio renders such meshes flat), smooth for the others"""
    embed_source: bool = False
    """embed the file that the scene was loaded from, with its companions: reading gives its scene back, as long as the
    content of the glTF file stays the same
    """
    images: ImageSource = no_images
    """source of the images of materials; by default `save` searches next to the model"""
    source: Mapping[str, Any] = field(default_factory=dict)
    """properties of the source file for the extras of the asset: ``name``, ``sha256``, ``dialect``, ``version`` …"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if self.keys not in KEY_STYLES:
            raise ValueError(f"keys must be one of {', '.join(KEY_STYLES)}, not {self.keys!r}")
        if self.fps is not None and not (math.isfinite(self.fps) and self.fps > 0):
            raise ValueError(f"fps must be positive and finite, not {self.fps}")
        if isinstance(self.unit, str):
            if self.unit not in UNITS and self.unit != "file":
                raise ValueError(
                    f"unit must be a number of metres, file, or one of {', '.join(UNITS)}, not {self.unit!r}"
                )
        elif self.unit is not None and not (math.isfinite(self.unit) and self.unit > 0):
            raise ValueError(f"unit must be positive and finite, not {self.unit}")

    @property
    def max_degrees(self) -> float:
        return self.max_error / DEFAULT_MAX_ERROR * DEGREES_AT_DEFAULT

    def metres_per_unit(self, scene: Scene) -> float:
        """Return the factor from scene units to metres."""
        if self.unit is None:
            return 1.0
        if self.unit == "file":
            return scene.space.metres_per_unit or 1.0
        return UNITS[self.unit] if isinstance(self.unit, str) else float(self.unit)

    def provenance_fields(self) -> dict[str, Any]:
        """Return the options that the file records: the main ones always, some others if set."""
        options: dict[str, Any] = {"core_only": self.core_only, "max_error": self.max_error, "keys": self.keys}
        for name in ("unit", "fps", "smooth"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        return options


@dataclass(eq=False, repr=False)
class Context:
    """The state of one export: scene, options, and shared data."""

    scene: Scene
    options: GltfOptions
    asset: Asset
    axes: Axes
    report: LossReport
    names: Names
    rig: Rig
    """rig of the first clip"""

    @cached_property
    def size(self) -> float:
        """Size of the scene (`posing.bounds_and_duration`), in its own unit."""
        return scene_size(self.scene, self.rig)

    @cached_property
    def boxes(self) -> list[Box]:
        """Boxes around the meshes, in their own space."""
        return mesh_boxes(self.scene)

    @cached_property
    def joint_boxes(self) -> dict[int, Box]:
        """Boxes around the vertices of each joint, in the space of the joint, by its node."""
        return joint_boxes(self.scene)

    @property
    def may_use_extensions(self) -> bool:
        return not self.options.core_only
