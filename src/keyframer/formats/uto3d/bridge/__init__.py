"""The bridge between U3D (UTO!) documents and scenes.

Reading (`scene.to_scene`): materials; nodes in the order of their records; parents and targets by id (targets of
Flexporter lights by name); meshes, cameras and lights (`objects`); the clip with one or two tracks for each controller
(`controllers`); at last `skins`, whose bind pose is the rest pose of the bones.

Writing (`writing`): every node gets its id first, because records refer to ids; then materials, nodes (bones in their
bind pose), targets, controllers, and the first and last frame, whose unit depends on all of them.

Edits (`merging`): the writer writes the scene with the ids, names, layout and time unit of the original.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from keyframer.catalogue import DATA_QUATERNION_LENGTH, SEM_EMPTY_TRACK
from keyframer.formats.bridge import Bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_angles,
    check_depth,
    check_flags,
    check_huge_times,
    check_key_flags,
    check_name,
    check_negative_times,
    check_numbers,
    check_range,
    check_tcb,
    check_unique,
)
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.scene import Options, to_scene
from keyframer.formats.uto3d.sections import Main
from keyframer.scene import Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

_TICKS_PER_FRAME = 160
"""at 30 frames per second"""
_MESH_FLAGS = r.HAS_BOUNDING_SPHERE | r.DYNAMIC | r.SKINNED | r.CASTS_SHADOWS
_KEY_FLAGS = 0x1F

_LIGHTS = (r.Light, r.LiteralLight, r.FlexporterLight)
_PLACED = (r.Mesh, r.MeshWithUvFaces, r.Camera, r.CameraTarget, r.Bone, *_LIGHTS)
_COVERED = {
    *((cls, field) for cls in _PLACED for field in ("position", "rotation", "scale")),
    *((cls, field) for cls in (r.Mesh, r.MeshWithUvFaces) for field in ("vertices", "uvs", "colours", "bone_weights")),
    *((cls, field) for cls in (r.Mesh, r.MeshWithUvFaces) for field in ("sphere_centre", "sphere_radius")),
    *((r.Camera, field) for field in ("fov", "near", "far")),
    *((cls, field) for cls in _LIGHTS for field in ("colour", "multiplier", "attenuation_start", "attenuation_end")),
    *((cls, field) for cls in _LIGHTS for field in ("target_position", "cut_off", "exponent")),
    (r.Controller, "keys"),
}
"""fields that the bridge checks for non-finite numbers"""


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    placed = [record for record in document.find(Record) if isinstance(record, _PLACED)]
    for record in placed:
        check_name(reporter, record, "name", record.name)
        _check_rotation(reporter, record)
        if isinstance(record, r.Mesh):
            check_flags(reporter, record, "flags", record.flags & 0xFFFFFFFF, _MESH_FLAGS)
    for material in document.find(r.Material):
        check_name(reporter, material, "name", material.name)
    check_unique(reporter, "nodes", "name", ((record, record.name) for record in placed))
    check_unique(reporter, "materials", "name", ((record, record.name) for record in document.find(r.Material)))
    for controller in document.find(r.Controller):
        _check_controller(reporter, controller)
    main = document.first(Main)
    if main is not None:
        check_range(reporter, main, "last_frame", main.first_frame, main.last_frame)
    check_numbers(reporter, document, () if scene is None else _COVERED)
    if scene is not None:
        check_depth(reporter, placed, [node.parent for node in scene.nodes])


def _check_rotation(reporter: Reporter, record: Any) -> None:
    """Report a quaternion that is not of length 1.

    All zeros are valid: the MAXScript exporter writes them for no rotation.
    """
    length = math.hypot(*map(float, record.rotation))
    if math.isfinite(length) and length != 0 and abs(length - 1) > 0.01:
        reporter.report(DATA_QUATERNION_LENGTH, record, "rotation", length=length)


def _check_controller(reporter: Reporter, controller: r.Controller) -> None:
    keys = controller.keys
    if not controller.has_keys:
        return
    if len(keys) == 0:
        reporter.report(SEM_EMPTY_TRACK, controller, "keys", what="a controller without keys")
        return
    check_negative_times(reporter, controller, "keys", keys.time)
    check_huge_times(reporter, controller, "keys", keys.time, _TICKS_PER_FRAME)
    if controller.scheme == r.TCB:
        check_key_flags(reporter, controller, "keys", keys.flags, _KEY_FLAGS)
    if keys.extras is not None:
        check_tcb(reporter, controller, "keys", keys.extras[:, :3], keys.extras[:, 3:])
    if controller.type == r.ROLL:
        check_angles(reporter, controller, "keys", keys.value[:, 0])


class UtoBridge(Bridge[Options]):
    options = Options
    read = staticmethod(to_scene)
    check = staticmethod(apply_rules)

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.uto3d.bridge.merging import Merger
        from keyframer.formats.uto3d.bridge.writing import Writer

        return Writer(Merger())


BRIDGE = UtoBridge()
