"""Check the records of animations of joints and of their models; find the other file of a pair."""

from __future__ import annotations

from pathlib import Path

from keyframer.catalogue import DATA_RATE_INVALID, LINK_RANGE_OVERLAP, SEM_EMPTY_TRACK, SEM_UNKNOWN_VERSION
from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_boxes,
    check_depth,
    check_file_name,
    check_name,
    check_numbers,
    check_unique,
)
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.records import Frames, Joint, Mesh, ModelJoint, unquoted
from keyframer.formats.kit.scene_reading import Reporter, companion_paths
from keyframer.scene import Scene
from keyframer.scene.clip import FASTEST
from keyframer.wire.record import Record

_CHECKED_BY_READER = {
    (Frames, "rows"),
    *((cls, field) for cls in (Joint, ModelJoint) for field in ("position", "orientation")),
    (Mesh, "vertices"),
    (Mesh, "weights"),
}
"""fields that the scene reader checks"""


def apply_rules(family: Family, document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    joints: list[Record] = [record for record in document.find(Record) if isinstance(record, (Joint, ModelJoint))]
    for top in document.records:
        if isinstance(top, (family.animation, family.model)) and top.version != family.version:
            reporter.report(SEM_UNKNOWN_VERSION, top, "version", version=top.version, known=str(family.version))
        if isinstance(top, family.animation) and top.frame_rate > FASTEST:  # the bridge reports a rate of 0
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
    _check_overlaps(family, document, reporter)
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


def _check_overlaps(family: Family, document: Document, reporter: Reporter) -> None:
    """Report components that two joints use: the file is readable, but this is certainly an error."""
    top = document.first(family.animation)
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


def find_companion(family: Family, document: Document, path: Path) -> dict[str, object]:
    """Return options with the other file of the pair, if it has the same stem and is in the same folder."""
    option, suffix, header = "model", family.model_ending, family.model
    if document.first(family.animation) is None:
        option, suffix, header = "animation", family.animation_ending, family.animation
    for candidate in companion_paths(path, suffix):
        try:
            companion = family.decode(read_bytes(candidate))
        except (OSError, FormatError):
            continue
        if companion.first(header) is not None:
            return {option: companion, "found": candidate.name}
    return {}
