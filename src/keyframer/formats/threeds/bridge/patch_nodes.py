"""Nodes of the keyframer and their tracks, changed in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.curves import RotationForm, Track
from keyframer.curves.forms import with_form
from keyframer.formats.kit.key_tracks import KeyFitter, as_tcb, still_key, tcb_keys
from keyframer.formats.kit.scene_writing import Unpatchable, encode_name, plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.links import Links
from keyframer.formats.threeds.bridge.tracks import KINDS
from keyframer.formats.threeds.bridge.write_tracks import still_turn, write_hide_track, write_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import NodeKind, Scene

_HIDDEN = 1 << 11
_CHUNKS: dict[str, type[Chunk]] = {kind: chunk for chunk, kind in KINDS.items()}
_REST = {"position": "position", "rotation_xyzw": "rotation", "scale": "scale"}


class NodePatcher:
    def __init__(self, before: Scene, after: Scene, links: Links, fitter: KeyFitter | None) -> None:
        self.before = before
        self.after = after
        self.links = links
        self.fitter = fitter

    def _chunk(self, number: int) -> r.Node:
        chunk = self.links.nodes[number]
        if chunk is None:
            raise Unpatchable(f"the keyframer does not know {self.after.nodes[number].name!r}")
        return chunk

    def _header(self, number: int) -> r.NodeHeader:
        header = child(self._chunk(number), r.NodeHeader)
        if header is None:
            raise Unpatchable(f"{self.after.nodes[number].name!r} has no header")
        return header

    def patch_track(self, number: int, kind: str, before: Track | None, after: Track | None) -> None:
        chunk = self._chunk(number)
        if kind == "visible":
            self._patch_visible(number, chunk, after)
            return
        if kind not in _CHUNKS or self.fitter is None:
            raise Unpatchable(f"{kind} tracks")
        old = child(chunk, _CHUNKS[kind])
        path = f"{plain_path('nodes', self.after.nodes[number].name)}/{kind}"
        fitted = None if after is None else self.fitter.fit(after, path)
        if fitted is None:
            chunk.children = [each for each in chunk.children if each is not old]
            return
        new = _keys(fitted, before)
        if old is None:
            chunk.children.append(new)
            return
        track: Any = old
        made: Any = new
        track.flags = track.flags & ~3 | made.flags
        track.keys = _keep_rows(track.keys, made.keys, before, fitted)

    def _patch_visible(self, number: int, chunk: r.Node, after: Track | None) -> None:
        old = child(chunk, r.HideTrack)
        hidden, new = self.after.nodes[number].hidden, None
        if after is not None and self.fitter is not None:
            hidden, new = write_hide_track(after, np.rint(self.fitter.times(after.times)), hidden)
        if old is not None and new is not None:
            old.flags = old.flags & ~3 | new.flags
            old.keys = new.keys
        elif new is not None:
            chunk.children.append(new)
        else:
            chunk.children = [each for each in chunk.children if each is not old]
        self._hide(number, hidden)

    def patch_field(self, number: int, name: str) -> None:
        node = self.after.nodes[number]
        if name in _REST:
            self._rest(number, name)
        elif name == "hidden":
            self._hide(number, node.hidden)
        elif name == "parent":
            self._parent(number, node.parent)
        elif name == "pivot":
            self._set(number, r.Pivot, r.Pivot(tuple(float(value) for value in node.pivot)))
        elif name == "bounding_box":
            self._box(number)
        elif name == "name":
            self._rename(number, node.name)
        else:
            raise Unpatchable(f"{name} of nodes")

    def _rest(self, number: int, name: str) -> None:
        """A rest place where there are no keys; with keys it has no say."""
        node, kind = self.after.nodes[number], _REST[name]
        if any(each.track.kind == kind for each in self.after.channels_of(number)):
            return
        if self.links.nodes[number] is None:
            self._stored_place(number, name)
            return
        if kind != "position" and not isinstance(self._chunk(number), r.ObjectNode):
            raise Unpatchable(f"{kind} of a {node.kind.value}")
        value = getattr(node, name)
        key = still_turn(value) if kind == "rotation" else still_key(kind, value)
        self._chunk(number).children.append(write_track(key, False))

    def _stored_place(self, number: int, name: str) -> None:
        node = self.after.nodes[number]
        chunk = None
        if node.camera is not None:
            chunk = self.links.cameras[node.camera]
        elif node.light is not None:
            chunk = self.links.lights[node.light]
        body: Any = None if chunk is None else child(chunk, r.Camera) or child(chunk, r.Light)
        if body is None or name != "position":
            raise Unpatchable(f"{name} of an object that the keyframer does not know")
        body.position = tuple(float(value) for value in node.position)

    def _hide(self, number: int, hidden: bool) -> None:
        if self.links.nodes[number] is not None:
            header = self._header(number)
            header.flags1 = header.flags1 | _HIDDEN if hidden else header.flags1 & ~_HIDDEN
            if hidden:
                return
        thing = self._object(number)
        if thing is None:
            return
        flag = child(thing, r.ObjectHidden)
        if hidden and flag is None:
            thing.children.insert(0, r.ObjectHidden())
        elif not hidden and flag is not None:
            thing.children = [each for each in thing.children if each is not flag]

    def _object(self, number: int) -> r.NamedObject | None:
        """The object of the editor that a node stands for."""
        node = self.before.nodes[number]
        if node.mesh is not None:
            return self.links.meshes[node.mesh]
        if node.camera is not None:
            return self.links.cameras[node.camera]
        return None if node.light is None else self.links.lights[node.light]

    def _parent(self, number: int, parent: int | None) -> None:
        header = self._header(number)
        if child(self._chunk(number), r.ParentName) is not None or child(header, r.ParentName) is not None:
            raise Unpatchable("parents by name")
        if parent is None:
            header.parent = -1
            return
        self._chunk(parent)
        known = self.before.nodes[parent].file_id
        if known is None:
            raise Unpatchable("a parent without a number")
        header.parent = known

    def _set(self, number: int, kind: type[Chunk], made: Chunk) -> None:
        """Put a chunk in the place of its kind, or behind the header."""
        chunk = self._chunk(number)
        for place, each in enumerate(chunk.children):
            if isinstance(each, kind):
                chunk.children[place] = made
                return
        header = self._header(number)
        chunk.children.insert(next(i for i, each in enumerate(chunk.children) if each is header) + 1, made)

    def _box(self, number: int) -> None:
        box, chunk = self.after.nodes[number].bounding_box, self._chunk(number)
        if box is None:
            chunk.children = [each for each in chunk.children if not isinstance(each, r.BoundBox)]
            return
        low, high = (tuple(float(value) for value in corner) for corner in box)
        self._set(number, r.BoundBox, r.BoundBox(low, high))

    def _rename(self, number: int, name: str) -> None:
        """Nodes and objects find each other by name: all that carry the old one get the new."""
        raw = encode_name(name)
        node = self.before.nodes[number]
        if node.kind is NodeKind.TARGET or node.raw_name is None:
            raise Unpatchable("targets are called as what looks at them")
        if any(each.raw_name == raw for each in self.before.nodes):
            raise Unpatchable(f"two nodes called {name!r}")
        chunk = self.links.nodes[number]
        instance = None if chunk is None else child(chunk, r.InstanceName)
        if node.kind is NodeKind.DUMMY and chunk is not None:
            self._set(number, r.InstanceName, r.InstanceName(raw))
            return
        bearers = [i for i, each in enumerate(self.before.nodes) if each.raw_name == node.raw_name]
        others = [i for i in bearers if i != number and i != node.target]
        if instance is not None or others:
            raise Unpatchable("the name of a mesh that several nodes show")
        for bearer in bearers:
            if self.links.nodes[bearer] is not None:
                self._header(bearer).name = raw
        thing = self._object(number)
        if thing is not None:
            thing.name = raw


def _keys(fitted: Track, before: Track | None) -> r.Track:
    if before is not None and before.form is RotationForm.AXIS_ANGLE_ABSOLUTE:  # as Blender writes them
        shaped = as_tcb(fitted)
        values = with_form(shaped, RotationForm.AXIS_ANGLE_ABSOLUTE).values
        made: r.Track = r.RotationTrack(
            0, 0, 0, tcb_keys(shaped, np.column_stack([-values[:, 3], values[:, :3]]), True)
        )
        return made
    return write_track(fitted, True)


def _keep_rows(old: Any, new: Any, before: Track | None, after: Track) -> Any:
    """The new keys, with the stored numbers of those whose value did not change."""
    if before is None or len(old) != len(new) or len(before.times) != len(new) or before.form is not after.form:
        return new
    if before.values.shape != after.values.shape or not new.value.shape[1]:
        return new
    same = (before.values.reshape(len(new), -1) == after.values.reshape(len(new), -1)).all(axis=1)
    value = np.array(new.value, np.float32)
    value[same] = old.value[same]
    new.value = value
    new.flags = new.flags | (np.asarray(old.flags) & ~np.asarray(31, old.flags.dtype))
    return new
