"""Read the keyframer's tree: nodes, their parents and targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyframer.catalogue import (
    LINK_DUPLICATE_ID,
    LINK_PARENT_CYCLE,
    LINK_PARENT_MISSING,
    LINK_TARGET_CYCLE,
    LINK_UNRESOLVED_NAME,
)
from keyframer.curves.lazy_fields import unchecked_constructor
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context, child, first_chunks, unread_chunks
from keyframer.formats.threeds.bridge.declared_fields import BOUNDING_BOX
from keyframer.formats.threeds.bridge.tracks import KINDS
from keyframer.issues import Severity
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Node, NodeKind
from keyframer.wire.record import Record

NODE_KINDS: dict[type[Record], NodeKind] = {
    r.AmbientNode: NodeKind.AMBIENT,
    r.ObjectNode: NodeKind.OBJECT,
    r.CameraNode: NodeKind.CAMERA,
    r.CameraTargetNode: NodeKind.TARGET,
    r.OmniNode: NodeKind.LIGHT,
    r.SpotTargetNode: NodeKind.TARGET,
    r.SpotNode: NodeKind.LIGHT,
}

_DUMMIES = (b"$$$DUMMY", b"DUMMY")
_HIDDEN = 1 << 11
_USUAL_FLAGS = 0x4000
"""which nearly every real file has: others become extras"""

_KNOWN = frozenset(
    (*KINDS, r.HideTrack, r.MorphTrack, r.NodeHeader, r.NodeId, r.InstanceName, r.Pivot, r.BoundBox, r.ParentName)
)


@dataclass(eq=False, repr=False, slots=True)
class KeyframerNode:
    """A scene node under construction, with its chunks and the stored name of its object."""

    chunk: r.Node
    node: Node
    header: r.NodeHeader | None
    object_name: bytes
    parent_name: r.ParentName | None
    """inside the header or next to it"""
    tracks: list[r.Track]


@dataclass(frozen=True)
class Program:
    """The program that wrote the keyframer section, since programs interpret the same bytes differently."""

    revision: int | None
    name: bytes

    @property
    def is_max(self) -> bool:
        return self.name == b"MAXSCENE"

    @property
    def is_blender(self) -> bool:
        """Return whether this is Blender's exporter, which writes absolute rotation keys, and parents only by name."""
        return self.revision == 5 and self.name in (b"Blender", b"NRGSille", b"A3DSCENE")


def read_nodes(context: Context, keyframer: r.Keyframer, writer: Program, names: UniqueNames) -> list[KeyframerNode]:
    """Read all nodes, without their tracks, and resolve their parents and targets."""
    entries = [_read_node(context, chunk, writer, names) for chunk in keyframer.children if isinstance(chunk, r.Node)]
    _number_nodes(entries)
    _link_parents(context, entries)
    if any(entry.parent_name is not None for entry in entries):
        _link_by_name(context, entries)
    _link_targets(entries)
    _cut_cycles(context, entries)
    return entries


_new_node = unchecked_constructor(Node)


def _read_node(context: Context, chunk: r.Node, writer: Program, names: UniqueNames) -> KeyframerNode:
    chunks = first_chunks(chunk)
    header: r.NodeHeader | None = chunks.get(r.NodeHeader)
    instance = chunks.get(r.InstanceName)
    name = header.name if header else b""
    kind = NODE_KINDS[type(chunk)]
    node_name = context.text(name)
    if kind is NodeKind.OBJECT and name in _DUMMIES:
        kind = NodeKind.DUMMY
        node_name = context.text(instance.name) if instance and instance.name else node_name
    elif instance and instance.name:
        node_name = f"{node_name}.{context.text(instance.name)}"
    elif kind is NodeKind.TARGET:
        node_name = f"{node_name}.target"
    node: Node = _new_node(names.claim(node_name), kind, raw_name=name)
    flags1 = header.flags1 if header else 0
    if writer.revision is not None and writer.revision < 4:
        flags1 &= 7  # the other bits are not valid in these revisions
    node.hidden = bool(flags1 & _HIDDEN)
    pivot, node_id = chunks.get(r.Pivot), chunks.get(r.NodeId)
    if pivot is not None:
        node.pivot = np.array(context.finite(pivot, "pivot", pivot.pivot, (0.0, 0.0, 0.0)))
    if r.BoundBox in chunks:
        node.bounding_box = BOUNDING_BOX.get(chunks)
    node.file_id = node_id.id_ if node_id else None
    unread = unread_chunks(chunk, _KNOWN)
    extras: dict[str, object] = {"chunks": unread} if unread else {}
    if header is not None:
        if header.flags1 & ~_HIDDEN != _USUAL_FLAGS:
            extras["flags1"] = header.flags1
        if header.flags2:
            extras["flags2"] = header.flags2
        if header.parent != -1:
            extras["parent"] = header.parent
        unread = unread_chunks(header, frozenset())
        if unread:
            extras["header"] = unread
    if instance is not None:
        extras["instance"] = context.text(instance.name)
    parent_name: r.ParentName | None = chunks.get(r.ParentName)
    if parent_name is not None:
        extras["parent_name"] = context.text(parent_name.name)
    context.mark(node, "3ds", chunk, extras)
    tracks = [child for child in chunk.children if isinstance(child, r.Track)]
    return KeyframerNode(chunk, node, header, name, parent_name or child(header, r.ParentName), tracks)


def _number_nodes(entries: list[KeyframerNode]) -> None:
    """Number nodes without chunk B030 (as in three old files) by their order, not counting the ambient light."""
    count = 0
    for entry in entries:
        if entry.node.kind is NodeKind.AMBIENT:
            continue
        if entry.node.file_id is None:
            entry.node.file_id = count
        count += 1


def _link_parents(context: Context, entries: list[KeyframerNode]) -> None:
    """Resolve parents by id, in two passes because a parent may come after its child.

    If several nodes have one id, the first is the parent. A node with a missing parent becomes a root: the writer
    A3DSCENE numbers nodes from 2 and gives the root the parent 1.
    """
    by_id: dict[int, int] = {}
    parent_ids = {entry.header.parent for entry in entries if entry.header}
    for index, entry in enumerate(entries):
        node_id = entry.node.file_id
        if node_id is None or entry.node.kind is NodeKind.AMBIENT:
            continue
        if node_id in by_id:
            # an error only if a child refers to the id
            severity = Severity.ERROR if node_id in parent_ids and node_id != -1 else None
            name, first_name = context.shown(entry.object_name), context.shown(entries[by_id[node_id]].object_name)
            args = {"what": "id", "id": node_id, "name": name, "other": first_name}
            context.report(LINK_DUPLICATE_ID, entry.chunk, severity=severity, **args)
        by_id.setdefault(node_id, index)
    for entry in entries:
        parent = entry.header.parent if entry.header else -1
        if parent == -1 or entry.node.kind is NodeKind.AMBIENT:
            continue
        if parent in by_id:
            entry.node.parent = by_id[parent]
        elif entry.header is not None:
            context.report(
                LINK_PARENT_MISSING, entry.header, "parent", parent=parent, name=context.shown(entry.header.name)
            )


def _link_by_name(context: Context, entries: list[KeyframerNode]) -> None:
    """Resolve parents by name (80F0), for nodes without a parent by id."""
    by_name: dict[bytes, int] = {}
    for index, entry in enumerate(entries):
        if entry.node.kind is not NodeKind.TARGET:
            by_name.setdefault(entry.object_name, index)
    for index, entry in enumerate(entries):
        chunk = entry.parent_name
        if chunk is None or entry.node.parent is not None or not chunk.name:
            continue
        parent = by_name.get(chunk.name)
        if parent is None or parent == index:
            context.report(LINK_UNRESOLVED_NAME, chunk, "name", kind="parent node", name=context.shown(chunk.name))
        else:
            entry.node.parent = parent


_TARGETS: dict[type[Record], type[Record]] = {r.CameraNode: r.CameraTargetNode, r.SpotNode: r.SpotTargetNode}


def _link_targets(entries: list[KeyframerNode]) -> None:
    """Link cameras and spot lights to the target node with their name.

    If several have the same name, they get the targets of that name in file order; several may share the last one.
    """
    targets: dict[tuple[type[Record], bytes], list[int]] = {}
    for index, entry in enumerate(entries):
        if entry.node.kind is NodeKind.TARGET:
            targets.setdefault((type(entry.chunk), entry.object_name), []).append(index)
    used: dict[tuple[type[Record], bytes], int] = {}
    for entry in entries if targets else ():
        kind = _TARGETS.get(type(entry.chunk))
        key = (kind, entry.object_name)
        if kind is not None and key in targets:
            number = used.get(key, 0)
            entry.node.target = targets[key][min(number, len(targets[key]) - 1)]
            used[key] = number + 1


def _cut_cycles(context: Context, entries: list[KeyframerNode]) -> None:
    order = evaluation_order([entry.node for entry in entries])
    for kind, link, numbers in (
        (LINK_PARENT_CYCLE, "parent", order.cut),
        (LINK_TARGET_CYCLE, "target", order.untargeted),
    ):
        for entry in map(entries.__getitem__, numbers):
            context.report(kind, entry.header or entry.chunk, name=context.shown(entry.object_name))
            setattr(entry.node, link, None)
