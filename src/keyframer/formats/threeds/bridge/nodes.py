"""Read the keyframer's tree: nodes, their parents, targets and channels."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from itertools import chain

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import (
    LINK_DUPLICATE_ID,
    LINK_PARENT_CYCLE,
    LINK_PARENT_MISSING,
    LINK_TARGET_CYCLE,
    LINK_UNRESOLVED_NAME,
)
from keyframer.curves import Track
from keyframer.curves.curve_bank import has_first_value, only_first_key_counts
from keyframer.curves.lazy_fields import set_extras, unchecked_constructor
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context, child, first_chunks, plain_record, unread_chunks
from keyframer.formats.threeds.bridge.declared_fields import BOUNDING_BOX
from keyframer.formats.threeds.bridge.tracks import (
    KINDS,
    read_hide_track,
    read_morph_track,
    read_tracks,
    report_keys,
)
from keyframer.formats.threeds.chunk import Chunk
from keyframer.issues import Severity
from keyframer.maths import quat
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Channel, Node, NodeKind

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
    """A scene node under construction, with its chunks and the stored name of its object."""

    chunk: r.Node
    node: Node
    header: r.NodeHeader | None
    object_name: bytes

    @property
    def tracks(self) -> list[r.Track]:
        return [child for child in self.chunk.children if isinstance(child, r.Track)]


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
    """Read all nodes and resolve their parents and targets; `ChannelReader` reads their channels."""
    entries = [_read_node(context, chunk, writer, names) for chunk in keyframer.children if isinstance(chunk, r.Node)]
    _number_nodes(entries)
    _link_parents(context, entries)
    if any(map(_parent_name, entries)):
        _link_by_name(context, entries)
    _link_targets(entries)
    _cut_cycles(context, entries)
    return entries


_new_node = unchecked_constructor(Node)
_EXTRAS = ("3ds", "flags1", "flags2", "parent", "offset")
"""id of the format, and names of the only values that most nodes keep in extras"""


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
    extras: dict[str, object] = {}
    unread = unread_chunks(chunk, _KNOWN)
    if unread:
        extras["chunks"] = unread
    if header is not None:
        if not (unread or instance or header.children or header.tail or r.ParentName in chunks):
            set_extras(node, _EXTRAS, header.flags1, header.flags2, header.parent, chunk.offset)
            return KeyframerNode(chunk, node, header, name)
        extras |= {"flags1": header.flags1, "flags2": header.flags2, "parent": header.parent}
        unread = unread_chunks(header, frozenset())
        if unread:
            extras["header"] = unread
    if instance is not None:
        extras["instance"] = context.text(instance.name)
    parent_name = chunks.get(r.ParentName)
    if parent_name is not None:
        extras["parent_name"] = context.text(parent_name.name)
    context.mark(node, "3ds", chunk, extras)
    return KeyframerNode(chunk, node, header, name)


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
    """Resolve parents by name (80F0, inside the header or next to it), for nodes without a parent by id."""
    by_name: dict[bytes, int] = {}
    for index, entry in enumerate(entries):
        if entry.node.kind is not NodeKind.TARGET:
            by_name.setdefault(entry.object_name, index)
    for index, entry in enumerate(entries):
        chunk = _parent_name(entry)
        if chunk is None or entry.node.parent is not None or not chunk.name:
            continue
        parent = by_name.get(chunk.name)
        if parent is None or parent == index:
            context.report(LINK_UNRESOLVED_NAME, chunk, "name", kind="parent node", name=context.shown(chunk.name))
        else:
            entry.node.parent = parent


def _parent_name(entry: KeyframerNode) -> r.ParentName | None:
    return child(entry.chunk, r.ParentName) or (child(entry.header, r.ParentName) if entry.header else None)


def _link_targets(entries: list[KeyframerNode]) -> None:
    """Link cameras and spot lights to the target node with their name.

    If several have the same name, they get the targets of that name in file order; several may share the last one.
    """
    for aimed, target in ((r.CameraNode, r.CameraTargetNode), (r.SpotNode, r.SpotTargetNode)):
        targets_by_name: dict[bytes, list[int]] = {}
        for index, entry in enumerate(entries):
            if isinstance(entry.chunk, target):
                targets_by_name.setdefault(entry.object_name, []).append(index)
        used: dict[bytes, int] = {}
        for entry in entries:
            targets = targets_by_name.get(entry.object_name)
            if isinstance(entry.chunk, aimed) and targets:
                number = used.get(entry.object_name, 0)
                entry.node.target = targets[min(number, len(targets) - 1)]
                used[entry.object_name] = number + 1


def _cut_cycles(context: Context, entries: list[KeyframerNode]) -> None:
    order = evaluation_order([entry.node for entry in entries])
    for index in order.cut:
        entry = entries[index]
        context.report(LINK_PARENT_CYCLE, entry.header or entry.chunk, name=context.shown(entry.object_name))
        entry.node.parent = None
    for index in order.untargeted:
        entry = entries[index]
        context.report(LINK_TARGET_CYCLE, entry.header or entry.chunk, name=context.shown(entry.object_name))
        entry.node.target = None


class ChannelReader:
    """Reads the channels of nodes, and sets the rest values of nodes from the first keys.

    ``shape_of`` returns the vertices of the mesh that a morph key names, or None.
    """

    def __init__(
        self,
        context: Context,
        entries: list[KeyframerNode],
        writer: Program,
        shape_of: Callable[[bytes], Floats | None],
    ) -> None:
        self._context = context
        self._absolute = context.options.rotation_keys == "absolute" or (
            context.options.rotation_keys == "auto" and writer.is_blender
        )
        self._from_max = writer.is_max
        self._shape_of = shape_of
        self._axis_angles: list[tuple[Node, Floats]] = []
        self._moving: list[tuple[int, Track, float | None]] = []
        """nodes, their position, rotation and scale tracks with several keys, and first times if times ascend"""
        self._repeated: set[int] = set()
        """nodes with two position, two rotation or two scale tracks"""
        self._tracks = [[chunk for chunk in entry.chunk.children if isinstance(chunk, r.Track)] for entry in entries]
        self._read = read_tracks(
            context, chain.from_iterable(self._tracks), absolute=self._absolute, from_max=self._from_max
        )

    def read(self, index: int, node: Node, vertex_count: int) -> list[Channel]:
        """Read the channels of one node; ``vertex_count`` is the number of vertices of its mesh.

        This sets position, scale and morph of the node; `set_rotations` sets the rotations of all nodes later.
        """
        channels: list[Channel] = []
        value: Floats | None
        for chunk in self._tracks[index]:
            read = self._read.get(id(chunk))
            first: float | None = None
            if read is not None:
                track, doubtful, first, value = read
                if doubtful:
                    report_keys(self._context, chunk, track)
                    first, value = None, _first_usable(track)
            else:
                named = self._read_named_track(chunk, node, vertex_count)
                if named is None:  # without keys, or with unusable morph keys
                    node.extras["3ds"].setdefault("tracks", []).append(plain_record(chunk))
                    continue
                track, value = named, None
            kind = track.kind
            if kind in REST_KINDS:
                if len(chunk.keys) > 1:  # type: ignore[attr-defined]  # every concrete track has keys
                    self._moving.append((index, track, first))
                if any(channel.track.kind == kind for channel in channels):
                    self._repeated.add(index)
                if value is None:
                    pass
                elif kind == "position":
                    node.position = value.copy()
                elif kind == "rotation":
                    self._axis_angles.append((node, value))
                else:
                    node.scale = value.copy()
            channels.append(Channel(index, track))
        return channels

    def moving_channels(self, channels: list[Channel], not_at_rest: Set[int], rolling: Set[int]) -> list[Channel]:
        """Return the channels that can move nodes away from the rest pose.

        These are the tracks of nodes in ``not_at_rest`` that have several keys and a kind of `REST_KINDS`, and the roll
        tracks of nodes in ``rolling``.
        """
        moving = {(index, track.kind) for index, track, _ in self._moving if index in not_at_rest}
        return [
            channel
            for channel in channels
            if (channel.node, channel.track.kind) in moving
            or (channel.track.kind == "roll" and channel.node in rolling)
        ]

    def not_at_rest(self, frame: float) -> set[int]:
        """Return the nodes whose position, rotation or scale may differ from the rest value at this frame."""
        return self._repeated | {
            index
            for index, track, first in self._moving
            if not (only_first_key_counts(track, frame) if first is None else has_first_value(track.wrap, first, frame))
        }

    def _read_named_track(self, chunk: r.Track, node: Node, vertex_count: int) -> Track | None:
        """Read a track whose keys have no numbers; None without usable keys."""
        if isinstance(chunk, r.HideTrack):
            return read_hide_track(self._context, chunk, node.hidden)
        if isinstance(chunk, r.MorphTrack):
            pair = read_morph_track(self._context, chunk, vertex_count, self._shape_of)
            if pair is not None:
                track, node.morph = pair
                return track
        return None

    def set_rotations(self) -> None:
        """Set all rest rotations from rotation keys at once: one call takes as long for fifty nodes as for one."""
        if self._axis_angles:
            values = np.array([value for _, value in self._axis_angles])
            rotations = quat.from_axis_angle(values[:, :3], values[:, 3])
            for (node, _), rotation in zip(self._axis_angles, rotations, strict=True):
                node.rotation_xyzw = rotation.copy()


REST_KINDS = ("position", "rotation", "scale")
"""kinds of tracks whose first usable key is the rest value of a node"""


def _first_usable(track: Track) -> Floats | None:
    """Return the value of the earliest key with finite numbers; None without one."""
    usable = np.flatnonzero(np.isfinite(track.values).reshape(len(track.times), -1).all(axis=1))
    if not len(usable):
        return None
    value: Floats = track.values[usable[np.argmin(track.times[usable])]]
    return value
