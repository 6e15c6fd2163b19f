"""Checks of node animations beyond those made while decoding and while reading the scene."""

from __future__ import annotations

import numpy as np

from keyframer.catalogue import SEM_EMPTY_TRACK
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_angles,
    check_huge_times,
    check_name,
    check_negative_times,
    check_tcb,
    check_unique,
)
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.nodeanim.keys import TCB_COLUMNS
from keyframer.formats.nodeanim.records import Header, Node
from keyframer.scene import Scene


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    for header in document.find(Header):
        for field, text in (("name", header.name), ("author", header.author)):
            if text:
                check_name(reporter, header, field, text)
    check_unique(reporter, "nodes", "name", ((node, node.name) for node in document.find(Node)))
    for node in document.find(Node):
        check_name(reporter, node, "name", node.name)
        _check_keys(reporter, node)


def _check_keys(reporter: Reporter, node: Node) -> None:
    if not (len(node.translation_keys) or len(node.rotation_keys) or len(node.scale_keys)):
        reporter.report(SEM_EMPTY_TRACK, node, what="a node without keys")
    for field in ("translation_keys", "rotation_keys", "scale_keys"):
        keys = getattr(node, field)
        if not len(keys):
            continue
        check_negative_times(reporter, node, field, keys.time)
        check_huge_times(reporter, node, field, keys.time)
        if keys.has("tension"):
            columns = np.column_stack([keys.column(name) for name in TCB_COLUMNS])
            check_tcb(reporter, node, field, columns[:, :3], columns[:, 3:])
    if len(node.rotation_keys):
        check_angles(reporter, node, "rotation_keys", node.rotation_keys.value[:, 0])
