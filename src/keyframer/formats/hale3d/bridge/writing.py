"""Write a scene as a Hale3D animation and its model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats, Singles
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.pair_writer import PairWriter, has_free_vertices
from keyframer.formats.hale3d.document import encode, new_animation, new_model
from keyframer.formats.hale3d.records import Dialect
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities
from keyframer.formats.kit.frame_times import rate_of_keys
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.rigid_joints import (
    Joints,
    find_joint_nodes,
    joints_at,
    parent_joints,
    parents_first,
    report_frames,
    sample_joints,
)
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, Written, first_clip
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene, Space
from keyframer.scene.clip import FASTEST
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome

CAPABILITIES = Capabilities(
    ("parents", "meshes", "materials", "textures", "skins", "pivots", "bounds", "frames"),
    reported=("scale axes",),  # with the scale, which is applied to the vertices
)
_POSED_AT_ONCE = 4_000_000
"""largest product of vertices and frames that are posed at once"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options. An animation and its model are two files."""

    file: str = "animation"
    """the file to write: ``animation`` or ``model``; the other one is its companion"""
    companion: bool = True
    """whether the other file is written, too; an animation only if a joint moves"""
    fps: int | None = None
    """frames per second; None: those of the clip, rounded to a whole number, or up to 120 at which no key of the clip
    is between frames"""
    dialect: str = Dialect.NUL_ENDED.value
    """how text is stored"""
    max_error: float = DEFAULT_MAX_ERROR
    """not used: every frame is written"""

    def __post_init__(self) -> None:
        if self.file not in ("animation", "model"):
            raise ValueError(f"file must be animation or model, not {self.file!r}")
        if self.fps is not None and not 0 < self.fps <= FASTEST:
            raise ValueError(f"fps must be a positive whole number up to {FASTEST:g}, not {self.fps}")
        Dialect(self.dialect)


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def from_scene(self, scene: Scene, options: WriteOptions) -> Written:
        """Write the animation (or the model) of a scene, and the other file; report losses."""
        report = LossReport("hale3d")
        converted = in_space(scene, Space("z", metres_per_unit=scene.space.metres_per_unit, v_up=False))
        converted = with_constant_shapes(converted, report)
        clip = first_clip(converted, report)
        report_dropped(converted, clip, report, CAPABILITIES.handled)
        fps = options.fps or rate_of_keys(clip)
        if not math.isclose(fps, clip.frames_per_second):
            message = f"sampled at {fps} frames per second; the clip has {clip.frames_per_second:g}"
            report.add(Outcome.APPROXIMATED, "/clips/rate", message)
        joints = sample_joints(converted, clip, float(fps), report, depth_first=False)
        if not joints.nodes:
            raise CannotWrite("nothing to write: the scene has no joints and no meshes")
        dialect = Dialect(options.dialect)
        if has_free_vertices(converted, range(len(converted.nodes))):
            joints = joints.with_anchor()
        writer = PairWriter(converted, joints, report)
        meshes = [mesh for records in writer.meshes().values() for mesh in records]
        model = new_model(meshes, writer.bound_joints(), dialect=dialect) if meshes else None
        if options.file == "model":
            if model is None:
                raise CannotWrite("nothing to write: the scene has no meshes")
            companion = ((".anim", encode(_animation(writer, clip, fps, dialect, report))),)
            return Written(model, report, companion if options.companion and joints.moves() else ())
        document = _animation(writer, clip, fps, dialect, report)
        if model is None or not options.companion:
            if model is not None:
                report.add(Outcome.DROPPED, "/meshes", "no model was requested")
            return Written(document, report)
        return Written(document, report, ((".mdl", encode(model)),))

    def options_for(self, suffix: str) -> dict[str, object]:
        """Return the writer option that selects the file of the pair with this suffix."""
        file = {".anim": "animation", ".mdl": "model"}.get(suffix)
        return {} if file is None else {"file": file}


def _animation(writer: PairWriter, clip: Clip, fps: int, dialect: Dialect, report: LossReport) -> Document:
    """Write an animation with components only for values that change: a flag for each of Tx Ty Tz Qx Qy Qz."""
    joints, records = writer.joints, []
    moving: list[Singles] = []
    for record, columns in writer.animated_joints(clip):
        record.flags = sum(1 << bit for bit in columns)
        record.start_index = len(moving) if columns else 0
        moving += columns.values()
        records.append(record)
    count = len(joints.times)
    report_frames(writer.scene, clip, fps, joints, "joint", report)
    if clip.bounds is not None:
        report.add(Outcome.BAKED, "/clips/bounds", "bounding boxes were recomputed")
    rows = np.stack(moving, axis=1) if moving else np.zeros((count, 0), np.float32)
    return new_animation(records, rows, bounds=boxes(writer.scene, joints), frame_rate=fps, dialect=dialect)


def boxes_at(scene: Scene, times: Floats) -> Floats:
    """Return (T, 2, 3) boxes at these times of the clip."""
    joint_nodes, parents = find_joint_nodes(scene)
    nodes = parents_first(parents, sorted(joint_nodes))
    return boxes(scene, joints_at(scene, nodes, parent_joints(nodes, parents), times)[0])


def boxes(scene: Scene, joints: Joints) -> Floats:
    """Return (T, 2, 3) boxes of the posed vertices; of the joints if there are no vertices."""
    origins = joints.rigid[..., :3, 3]
    low, high = origins.min(axis=1), origins.max(axis=1)
    mesh_nodes = [
        i for i, node in enumerate(scene.nodes) if node.mesh is not None and len(scene.meshes[node.mesh].positions)
    ]
    if not mesh_nodes:
        return np.stack([low, high], axis=1) + 0.0  # whether 0 or -0 is found depends on the processor
    low, high = np.full_like(low, np.inf), np.full_like(high, -np.inf)
    weights = joints.rig.properties.morph_weights(joints.rig.sample(joints.times), len(joints.times))
    for number in mesh_nodes:
        count = len(scene.meshes[scene.nodes[number].mesh or 0].positions)
        step = max(1, _POSED_AT_ONCE // count)
        vertex_weights = weights.get(number)
        for begin in range(0, len(joints.times), step):
            block = slice(begin, begin + step)
            points = posed_vertices(
                scene, number, joints.world[block], None if vertex_weights is None else vertex_weights[block]
            )
            np.minimum(low[block], points.min(axis=1), out=low[block])
            np.maximum(high[block], points.max(axis=1), out=high[block])
    return np.stack([low, high], axis=1) + 0.0
