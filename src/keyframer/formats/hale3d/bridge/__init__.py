"""The bridge between Hale3D documents and scenes.

`scene` reads an animation, a model or both. `writing` writes new files with the records of `pair_writer`, and edited
scenes: the same records, with what did not change from the original.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.catalogue import DATA_RATE_INVALID, LINK_RANGE_OVERLAP, SEM_EMPTY_TRACK, SEM_UNKNOWN_VERSION
from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.hale3d import VERSION
from keyframer.formats.hale3d.bridge.scene import Options, to_scene
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Animation, Frames, Joint, Mesh, Model, ModelJoint, unquoted
from keyframer.formats.kit.common_rules import (
    check_boxes,
    check_depth,
    check_file_name,
    check_name,
    check_numbers,
    check_unique,
)
from keyframer.formats.kit.scene_reading import Reporter, companion_paths
from keyframer.scene import Channel, Scene
from keyframer.scene.clip import FASTEST
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

_CHECKED_BY_READER = {
    (Frames, "rows"),
    *((cls, field) for cls in (Joint, ModelJoint) for field in ("position", "orientation")),
    (Mesh, "vertices"),
    (Mesh, "weights"),
}
"""fields that the scene reader checks"""


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    joints: list[Record] = [record for record in document.find(Record) if isinstance(record, (Joint, ModelJoint))]
    for top in document.records:
        if isinstance(top, (Animation, Model)) and top.version != VERSION:
            reporter.report(SEM_UNKNOWN_VERSION, top, "version", version=top.version, known=str(VERSION))
        if isinstance(top, Animation) and top.frame_rate > FASTEST:  # the bridge reports a rate of 0
            reporter.report(DATA_RATE_INVALID, top, "frame_rate", rate=top.frame_rate)
    for joint in joints:
        assert isinstance(joint, (Joint, ModelJoint))
        check_name(reporter, joint, "name", unquoted(joint.name))
    for mesh in document.find(Mesh):
        check_file_name(reporter, mesh, "material", mesh.material)
    # All joints of the one real animation are named "origin": a shared name is reported once.
    named = ((joint, unquoted(joint.name)) for joint in joints if isinstance(joint, (Joint, ModelJoint)))
    check_unique(reporter, "joints", "name", named)
    check_numbers(reporter, document, () if scene is None else _CHECKED_BY_READER)
    _check_frames(document, reporter)
    _check_overlaps(document, reporter)
    if scene is not None:
        check_depth(reporter, joints, [node.parent for node in scene.nodes[: len(joints)]])


def _check_frames(document: Document, reporter: Reporter) -> None:
    frames = document.first(Frames)
    if frames is None:
        return
    if len(frames.rows) == 0:
        reporter.report(SEM_EMPTY_TRACK, frames, what="the file has no frames")
        return
    check_boxes(reporter, frames, "bounds", frames.bounds[:, 0], frames.bounds[:, 1])


def _check_overlaps(document: Document, reporter: Reporter) -> None:
    """Report components that two joints use: the file is readable, but this is certainly an error."""
    top = document.first(Animation)
    if top is None:
        return
    spans: list[tuple[int, int, int, Joint]] = []
    for index, joint in enumerate(document.find(Joint)):
        count = len(joint.moving)
        if count and joint.start_index + count <= top.component_count:
            spans.append((joint.start_index, joint.start_index + count, index, joint))
    spans.sort(key=lambda span: span[:3])
    furthest_end, owner = 0, -1
    for start, end, index, joint in spans:
        if start < furthest_end:
            reporter.report(
                LINK_RANGE_OVERLAP,
                joint,
                "start_index",
                what="joint",
                item=index,
                kind="component",
                index=start,
                other=owner,
            )
        if end > furthest_end:
            furthest_end, owner = end, index


class HaleBridge(Bridge[Options]):
    options = Options
    internal_options = ("found",)
    read = staticmethod(to_scene)
    check = staticmethod(apply_rules)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Return options with the other file of the pair, if it has the same stem and is in the same folder."""
        option, suffix = ("model", ".mdl") if document.first(Animation) is not None else ("animation", ".anim")
        for candidate in companion_paths(path, suffix):
            try:
                companion = decode(read_bytes(candidate))
            except (OSError, FormatError):
                continue
            if companion.first(Model if option == "model" else Animation) is not None:
                return {option: companion, "found": candidate.name}
        return {}

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return which bytes of a frame belong to a channel: a frame has a box, then the components of all joints."""
        if not isinstance(record, Joint):
            return None
        position_count, rotation_count = (record.flags & 7).bit_count(), (record.flags >> 3 & 7).bit_count()
        first, count = (0, position_count) if channel.track.kind == "position" else (position_count, rotation_count)
        return KeyLocation("rows", Frames, (4 * (BOUNDS_FLOATS + record.start_index + first), 4 * count))

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.hale3d.bridge.writing import Merger, Writer

        return Writer(Merger())


BRIDGE = HaleBridge()
