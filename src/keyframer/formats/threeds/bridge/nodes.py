"""The keyframer's tree: nodes, their parents, their channels, and which object each carries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import (
    LINK_DUPLICATE_ID,
    LINK_PARENT_CYCLE,
    LINK_PARENT_MISSING,
    LINK_TARGET_CYCLE,
    LINK_UNRESOLVED_NAME,
)
from keyframer.curves import Track
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context, child, children, firsts, leftover, leftovers, unread
from keyframer.formats.threeds.bridge.tracks import KINDS, read_hide_track, read_morph_track, read_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.issues import Severity
from keyframer.maths import quat
from keyframer.posing.evaluation_order import placing_order
from keyframer.scene import Channel, Node, NodeKind

Floats = npt.NDArray[np.float64]

NODE_KINDS: dict[type[Chunk], NodeKind] = {
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

_KNOWN = frozenset(
    (
        *KINDS,
        r.HideTrack,
        r.MorphTrack,
        r.NodeHeader,
        r.NodeId,
        r.InstanceName,
        r.Pivot,
        r.BoundBox,
        r.ParentName,
    )
)


@dataclass(eq=False, repr=False, slots=True)
class KeyframerNode:
    """A node on its way: what the scene shows, and what the file said."""

    chunk: r.Node
    node: Node
    header: r.NodeHeader | None
    object_name: bytes

    @property
    def tracks(self) -> Iterator[r.Track]:
        return children(self.chunk, r.Track)


@dataclass(frozen=True)
class Writer:
    """Who wrote the keyframer section: some programs mean other things by the same bytes."""

    revision: int | None
    name: bytes

    @property
    def is_max(self) -> bool:
        return self.name == b"MAXSCENE"

    @property
    def is_blender(self) -> bool:
        """Blender's exporter writes absolute rotation keys and the parent only by name."""
        return self.revision == 5 and self.name in (b"Blender", b"NRGSille")


def read_nodes(context: Context, keyframer: r.Keyframer, writer: Writer, names: UniqueNames) -> list[KeyframerNode]:
    """All nodes with parents resolved; channels come later, when objects are known."""
    found = [_read_node(context, chunk, writer, names) for chunk in keyframer.children if isinstance(chunk, r.Node)]
    _number(context, found)
    _link(context, found)
    if any(_parent_name(each) for each in found):
        _link_by_name(context, found)
    _link_targets(found)
    _cut_cycles(context, found)
    return found


def _read_node(context: Context, chunk: r.Node, writer: Writer, names: UniqueNames) -> KeyframerNode:
    inside = firsts(chunk)
    header: r.NodeHeader | None = inside.get(r.NodeHeader)
    instance = inside.get(r.InstanceName)
    name = header.name if header else b""
    kind = NODE_KINDS[type(chunk)]
    shown = context.text(name)
    if kind is NodeKind.OBJECT and name in _DUMMIES:
        kind = NodeKind.DUMMY
        shown = context.text(instance.name) if instance and instance.name else shown
    elif instance and instance.name:
        shown = f"{shown}.{context.text(instance.name)}"
    elif kind is NodeKind.TARGET:
        shown = f"{shown}.target"
    node = Node(names.claim(shown), kind, raw_name=name)
    flags1 = header.flags1 if header else 0
    if writer.revision is not None and writer.revision < 4:
        flags1 &= 7  # the other bits are not valid in those revisions
    node.hidden = bool(flags1 & _HIDDEN)
    pivot, box, number = (inside.get(kind) for kind in (r.Pivot, r.BoundBox, r.NodeId))
    if pivot is not None:
        node.pivot = np.array(context.finite(pivot, "pivot", pivot.pivot, (0.0, 0.0, 0.0)))
    if box is not None:
        node.bounding_box = (np.array(box.minimum), np.array(box.maximum))
    node.file_id = number.id_ if number else None
    extras = leftovers(chunk, _KNOWN).get("3ds", {})
    if header is not None:
        extras |= {"flags1": header.flags1, "flags2": header.flags2, "parent": header.parent}
        kept = unread(header, ())
        if kept:
            extras["header"] = kept
    if instance is not None:
        extras["instance"] = context.text(instance.name)
    named = inside.get(r.ParentName)
    if named is not None:
        extras["parent_name"] = context.text(named.name)
    context.mark(node, "3ds", chunk, extras)
    return KeyframerNode(chunk, node, header, name)


def _number(context: Context, found: list[KeyframerNode]) -> None:
    """Nodes without B030 (three old files) are numbered by their order, not counting the ambient light."""
    count = 0
    for each in found:
        if each.node.kind is NodeKind.AMBIENT:
            continue
        if each.node.file_id is None:
            each.node.file_id = count
        count += 1


def _link(context: Context, found: list[KeyframerNode]) -> None:
    """Parents by id, in two passes because a parent may come after its child. The first of equal ids wins."""
    by_id: dict[int, int] = {}
    wanted = {each.header.parent for each in found if each.header}
    for index, each in enumerate(found):
        number = each.node.file_id
        if number is None or each.node.kind is NodeKind.AMBIENT:
            continue
        if number in by_id:
            # which of the two is meant matters only if a child names the id
            severity = Severity.ERROR if number in wanted and number != -1 else None
            name, other = context.shown(each.object_name), context.shown(found[by_id[number]].object_name)
            context.report(LINK_DUPLICATE_ID, each.chunk, severity=severity, id=number, name=name, other=other)
        by_id.setdefault(number, index)
    for each in found:
        parent = each.header.parent if each.header else -1
        if parent == -1 or each.node.kind is NodeKind.AMBIENT:
            continue
        if parent in by_id:
            each.node.parent = by_id[parent]
        elif each.header is not None:
            context.report(
                LINK_PARENT_MISSING, each.header, "parent", parent=parent, name=context.shown(each.header.name)
            )


def _link_by_name(context: Context, found: list[KeyframerNode]) -> None:
    """80F0 names the parent: inside the header (Autodesk's toolkit) or beside it (Blender, which has nothing else)."""
    by_name: dict[bytes, int] = {}
    for index, each in enumerate(found):
        if each.node.kind is not NodeKind.TARGET:
            by_name.setdefault(each.object_name, index)
    for index, each in enumerate(found):
        stored = _parent_name(each)
        if stored is None or each.node.parent is not None or not stored.name:
            continue
        parent = by_name.get(stored.name)
        if parent is None or parent == index:
            context.report(LINK_UNRESOLVED_NAME, stored, "name", kind="parent node", name=context.shown(stored.name))
        else:
            each.node.parent = parent


def _parent_name(each: KeyframerNode) -> r.ParentName | None:
    return child(each.chunk, r.ParentName) or (child(each.header, r.ParentName) if each.header else None)


def _link_targets(found: list[KeyframerNode]) -> None:
    """Cameras and spot lights look at the target node that carries their name."""
    for looker, goal in ((r.CameraNode, r.CameraTargetNode), (r.SpotNode, r.SpotTargetNode)):
        waiting: dict[bytes, list[int]] = {}
        for index, each in enumerate(found):
            if isinstance(each.chunk, goal):
                waiting.setdefault(each.object_name, []).append(index)
        taken: dict[bytes, int] = {}
        for each in found:
            goals = waiting.get(each.object_name)
            if isinstance(each.chunk, looker) and goals:
                number = taken.get(each.object_name, 0)
                each.node.target = goals[min(number, len(goals) - 1)]
                taken[each.object_name] = number + 1


def _cut_cycles(context: Context, found: list[KeyframerNode]) -> None:
    order = placing_order([each.node for each in found])
    for index in order.cut:
        each = found[index]
        context.report(LINK_PARENT_CYCLE, each.header or each.chunk, name=context.shown(each.object_name))
        each.node.parent = None
    for index in order.blind:
        each = found[index]
        context.report(LINK_TARGET_CYCLE, each.header or each.chunk, name=context.shown(each.object_name))
        each.node.target = None


def read_channels(
    context: Context,
    index: int,
    each: KeyframerNode,
    writer: Writer,
    shape_of: Callable[[bytes], Floats | None],
    vertices: int,
    turns: list[tuple[Node, Floats]],
) -> list[Channel]:
    """The channels of one node; the node's rest values become those of the first keys. Its turn is added to ``turns``
    with the node: see `set_turns`."""
    absolute = context.options.rotation_keys == "absolute" or (
        context.options.rotation_keys == "auto" and writer.is_blender
    )
    channels: list[Channel] = []
    for chunk in each.tracks:
        if isinstance(chunk, r.HideTrack):
            track = read_hide_track(context, chunk, each.node.hidden)
        elif isinstance(chunk, r.MorphTrack):
            pair = read_morph_track(context, chunk, vertices, shape_of)
            track = None
            if pair is not None:
                track, each.node.morph = pair
        else:
            track = read_track(context, chunk, absolute=absolute, max_scene=writer.is_max)
        if track is None:  # without keys, or morph keys that name no fitting mesh
            each.node.extras["3ds"].setdefault("tracks", []).append(leftover(chunk))
            continue
        _set_rest(each.node, track, turns)
        channels.append(Channel(index, track))
    return channels


def _set_rest(node: Node, track: Track, turns: list[tuple[Node, Floats]]) -> None:
    """A node rests at its earliest usable key."""
    if track.kind not in ("position", "rotation", "scale"):
        return
    if len(track.values) == 1:
        value = track.values[0]
        if not all(map(math.isfinite, value.tolist())):
            return
    else:
        usable = np.flatnonzero(np.isfinite(track.values).all(axis=1))
        if not len(usable):
            return
        value = track.values[usable[np.argmin(track.times[usable])]]
    if track.kind == "rotation":
        turns.append((node, value))
    else:
        setattr(node, track.kind, value.copy())


def set_turns(turns: list[tuple[Node, Floats]]) -> None:
    """Turn nodes as axes and angles say, all at once: one alone takes as long as fifty."""
    if not turns:
        return
    values = np.array([value for _, value in turns])
    for (node, _), rotation in zip(turns, quat.from_axis_angle(values[:, :3], values[:, 3]), strict=True):
        node.rotation_xyzw = rotation.copy()
