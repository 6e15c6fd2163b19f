"""Bring the edits that another program made to a scene into the original: what did not change keeps its authored data.

The program's scene is read twice: as a fresh import gives it (``before``), and as it is now (``after``), both sampled
at the same frames. A part that is the same in both is not touched, so that saving keeps its records. A changed value
goes into the original: a moved key into the authored key at its frame, other motion into new keys.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.curve_bank import CurveBank
from keyframer.curves.key_reduction import fewest_keys, sample_together, turn_degrees, vector_distance
from keyframer.curves.rotation_forms import absolute, finite_keys
from keyframer.curves.track import KINDS
from keyframer.editing import without_nodes
from keyframer.formats.kit.coordinates import in_space
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.scene import Channel, Clip, Mesh, Scene, Space
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import EDIT_NOT_STORED

TOLERANCE = 1e-5
"""largest error of reduced keys at a frame, and largest difference that is no edit: relative to the size of the scene,
or in radians"""
_DEGREES = ("fov", "roll", "hotspot", "falloff")
_REST = {"position": "position", "rotation": "rotation_xyzw", "scale": "scale"}


@dataclass(eq=False)
class HostScene:
    """What another program has, in its axes: its nodes with their parts, and their values at frames."""

    scene: Scene
    """nodes, meshes, materials, cameras and lights, without motion"""
    frames: Floats
    """(T,)"""
    world: Floats
    """(T, N, 4, 4)"""
    states: dict[tuple[int, str], Floats]
    """other values (T, k) that can be animated, by node and kind of track"""
    keys: dict[tuple[int, str], frozenset[float]]
    """frames of the keys of a node, by kind of track"""
    nodes: dict[int, int] = field(default_factory=dict)
    """the node of the file that a node was imported from"""
    parts: dict[int, int] = field(default_factory=dict)
    """the node that has the mesh, camera or light of a node of the file, if another one moves for it: a bone"""
    helpers: set[int] = field(default_factory=set)
    """nodes that the import added to show others"""
    materials: dict[int, int] = field(default_factory=dict)
    """the material of the file that a material was imported from"""


def reduced_track(kind: str, times: Floats, values: Floats, tolerance: float) -> Track:
    """Return a track with few keys for values (T, k) at times: within the tolerance, degrees for rotations."""
    if kind == "visible":
        changes = np.flatnonzero(np.diff(values[:, 0], prepend=np.nan) != 0)
        return Track(kind, times[changes], values[changes, 0], Interpolation.STEP)
    turning = kind == "rotation"
    form = RotationForm.QUATERNION_ABSOLUTE if turning else RotationForm.NONE
    samples = values[:, 0] if KINDS[kind] == 1 else values
    distance = turn_degrees if turning else vector_distance
    search = fewest_keys(kind, times, samples, form, tolerance, distance, 120.0 if turning else np.inf)
    ((track, _),) = sample_together([search])
    return track


def track_tolerance(kind: str, length: float) -> float:
    """Return the largest error of a kind of track, if that of a position is ``length``."""
    if kind == "position":
        return length
    if kind == "scale":
        return TOLERANCE
    return math.degrees(TOLERANCE) if kind == "rotation" or kind in _DEGREES else 1e-4


def bring_in(
    original: Scene,
    before: HostScene,
    after: HostScene,
    space: Space,
    unit: float,
    rate: float | None,
    report: LossReport,
) -> Scene:
    """Return the original with the edits between two readings of a host whose axes are ``space``, and whose lengths
    are ``unit`` times those of the file. ``rate`` is the number of frames of the host in a second, if it is not that of
    the file. What cannot be brought in is in the report.
    """
    edited = in_space(original, space, unit)
    edited = replace(
        edited,
        nodes=[replace(node) for node in edited.nodes],
        meshes=[replace(mesh) for mesh in edited.meshes],
        materials=[replace(material, maps=dict(material.maps)) for material in edited.materials],
        cameras=[replace(camera) for camera in edited.cameras],
        lights=[replace(light) for light in edited.lights],
        clips=[replace(clip, channels=list(clip.channels)) for clip in edited.clips],
        environment=replace(original.environment),
    )
    edits = _Edits(edited, before, after, rate, report)
    edits.find()
    return _in_the_file(original, in_space(edited, original.space, 1.0 / unit), edits)


def _in_the_file(original: Scene, edited: Scene, edits: _Edits) -> Scene:
    """Return the original with the touched parts of the edited scene: others stay the same objects, so that converting
    them to other axes and back rounds nothing."""
    untouched: dict[str, list[Any]] = {"nodes": list(original.nodes), "meshes": list(original.meshes)}
    untouched |= {name: list(getattr(original, name)) for name in ("materials", "cameras", "lights")}
    for name, parts in untouched.items():
        new: list[Any] = getattr(edited, name)
        for number, part in enumerate(new[: len(parts)]):
            changed = {
                fld: getattr(part, fld) for place, index, fld in edits.touched if (place, index) == (name, number)
            }
            parts[number] = replace(parts[number], **changed) if changed else parts[number]
        parts += new[len(parts) :]
    clips = list(original.clips)
    if edits.tracks or edits.clip_fields:
        first = edited.clips[0]
        old = clips[0].channels if clips else []
        kept = [channel for channel in old if (channel.node, channel.track.kind) not in edits.tracks]
        new_channels = {(channel.node, channel.track.kind): channel for channel in first.channels}
        order = {id(channel): place for place, channel in enumerate(old)}
        places = {(channel.node, channel.track.kind): order[id(channel)] for channel in old}
        added = [new_channels[key] for key in edits.tracks if key in new_channels]
        channels = sorted(
            [*kept, *added],
            key=lambda channel: order.get(id(channel), places.get((channel.node, channel.track.kind), len(order))),
        )
        span = {name: getattr(first, name) for name in edits.clip_fields}
        clips[:1] = [replace(clips[0] if clips else first, channels=channels, **span)]
    environment = original.environment
    if ("environment", 0, "background_color") in edits.touched:
        color = edited.environment.background_color
        environment = replace(environment, background_color=color, uses={*environment.uses, "background_color"})
    stated: dict[str, Any] = {**untouched, "clips": clips, "environment": environment}
    scene = replace(original, **stated)
    return without_nodes(scene, edits.removed) if edits.removed else scene


class _Edits:
    """Finds the edits, and makes them in ``scene``: the original in the axes of the host."""

    def __init__(
        self, scene: Scene, before: HostScene, after: HostScene, rate: float | None, report: LossReport
    ) -> None:
        self.scene, self.before, self.after, self.report = scene, before, after, report
        self.touched: set[tuple[str, int, str]] = set()
        """list of parts, index and field"""
        self.tracks: dict[tuple[int, str], None] = {}
        """nodes and kinds of tracks that were changed, added or removed"""
        self.clip_fields: set[str] = set()
        self.removed: set[int] = set()
        self.size = scene_size(scene)
        self.length = TOLERANCE * self.size
        self.clip = scene.clips[0] if scene.clips else Clip()
        per_unit = self.clip.units_per_frame or 1.0
        own_rate = self.clip.rate / per_unit
        self.frames_per_unit = (own_rate if rate is None else rate) / self.clip.rate
        """frames of the host per time unit of the clip"""
        self.times = after.frames / self.frames_per_unit
        self.rig = Rig(scene, 0)
        samples = self.rig.sample(self.times)
        self.posed = self.rig.world(samples, len(self.times))
        """(T, N, 4, 4) world matrices of the original"""
        self.samples = samples
        self.was = {node: host for host, node in before.nodes.items()}
        """the node of the host before, by node of the file"""
        self.now = {node: host for host, node in after.nodes.items()}
        self.materials = dict(after.materials)
        """the material of the scene of each material of the host"""
        self.known = len(scene.nodes)

    def find(self) -> None:
        self.removed = set(self.was) - set(self.now)
        self._materials()
        pairs = [(number, self.was[number], self.now[number]) for number in sorted(set(self.was) & set(self.now))]
        meshes_done: set[int] = set()
        for number, was, now in pairs:
            self._name(number, was, now)
            was, now = self.before.parts.get(number, was), self.after.parts.get(number, now)
            self._parts(number, was, now)
            self._mesh(number, was, now, meshes_done)
        self._add_nodes()
        moved = self._moved(pairs)
        for number, was, now in pairs:
            self._transform(number, was, now, moved)
            self._states(number, self.before.parts.get(number, was), self.after.parts.get(number, now))
        self._environment()
        self._span()
        if self.tracks and not self.scene.clips:
            self.scene.clips.append(self.clip)

    def _set(self, place: str, number: int, name: str, value: Any) -> None:
        setattr(getattr(self.scene, place)[number], name, value)
        self.touched.add((place, number, name))

    # Names, materials, cameras, lights

    def _name(self, number: int, was: int, now: int) -> None:
        name = self.after.scene.nodes[now].name
        if name != self.before.scene.nodes[was].name:
            self._set("nodes", number, "name", name)

    def _materials(self) -> None:
        was = {number: host for host, number in self.before.materials.items()}
        for host, material in enumerate(self.after.scene.materials):
            number = self.after.materials.get(host)
            if number is None or number not in was:
                self.materials[host] = len(self.scene.materials)
                self.scene.materials.append(material)
                continue
            known = self.before.scene.materials[was[number]]
            for item in fields(material):
                value = getattr(material, item.name)
                if item.name not in ("extras", "raw_name", "maps") and value != getattr(known, item.name):
                    self._set("materials", number, item.name, value)
            self._maps(number, known, material)

    def _maps(self, number: int, known: Any, material: Any) -> None:
        """Bring in the images of other names; a map keeps how its image is placed."""
        maps = self.scene.materials[number].maps
        for slot in known.maps.keys() | material.maps.keys():
            old, new = known.maps.get(slot), material.maps.get(slot)
            if (None if old is None else old.file_name) == (None if new is None else new.file_name):
                continue
            if new is None:
                maps.pop(slot, None)
            else:
                stored = maps.get(slot)
                maps[slot] = new if stored is None else replace(stored, file_name=new.file_name, raw_file_name=b"")
            self.touched.add(("materials", number, "maps"))

    def _parts(self, number: int, was: int, now: int) -> None:
        """Bring in the fields of the camera or light that are not animated."""
        node = self.scene.nodes[number]
        old_node, new_node = self.before.scene.nodes[was], self.after.scene.nodes[now]
        for place, link in (("cameras", "camera"), ("lights", "light")):
            index, old, new = (getattr(each, link) for each in (node, old_node, new_node))
            if index is None or old is None or new is None:
                continue
            known, present = getattr(self.before.scene, place)[old], getattr(self.after.scene, place)[new]
            for name in ("clip", "type", "casts_shadows"):
                if getattr(present, name, None) != getattr(known, name, None):
                    self._set(place, index, name, getattr(present, name))

    def _environment(self) -> None:
        color = self.after.scene.environment.background_color
        if color is not None and color != self.before.scene.environment.background_color:
            self.scene.environment.background_color = color
            self.touched.add(("environment", 0, "background_color"))

    # Meshes

    def _mesh(self, number: int, was: int, now: int, done: set[int]) -> None:
        """Bring in the mesh of a node. Nodes that share a mesh share its edits."""
        old_index, new_index = self.before.scene.nodes[was].mesh, self.after.scene.nodes[now].mesh
        if old_index is None or new_index is None:
            return
        old, new = self.before.scene.meshes[old_index], self.after.scene.meshes[new_index]
        index = self.scene.nodes[number].mesh
        changed = self._changed_columns(old, new)
        self._skin(number, was, now)
        if not changed or index is None or index in done:
            return
        done.add(index)
        mesh = self.scene.meshes[index]
        pivot = np.zeros(3) if self.scene.nodes[number].skin is not None else np.asarray(self.scene.nodes[number].pivot)
        whole = changed & {"corners"} or len(old.positions) != len(new.positions)
        if "positions" in changed and not whole and len(mesh.positions) == len(new.positions):
            rows = (np.asarray(old.positions) != np.asarray(new.positions)).any(axis=1)
            self._set("meshes", index, "positions", _with_rows(mesh.positions, rows, np.asarray(new.positions) + pivot))
            changed = changed - {"positions"}
            if mesh.normals is not None:
                self._set("meshes", index, "normals", None)  # they were those of the old shape
                self._set("meshes", index, "normal_corners", None)
        if not changed:
            return
        self._set("meshes", index, "positions", np.asarray(new.positions) + pivot)
        for name in ("corners", "face_materials", "smoothing", "edges", "uv", "uv_corners", "colors", "color_corners"):
            self._set("meshes", index, name, getattr(new, name))
        if new.face_materials is not None:
            self._set("meshes", index, "face_materials", _mapped(new.face_materials, self.materials))
        for name in ("normals", "normal_corners", "uv2", "uv2_corners"):
            if hasattr(mesh, name):
                self._set("meshes", index, name, None)

    def _changed_columns(self, old: Mesh, new: Mesh) -> set[str]:
        """Return the names of the columns of a mesh that are different."""
        names = ("positions", "corners", "smoothing", "edges", "uv", "uv_corners", "colors", "color_corners")
        changed = {name for name in names if not _equal(getattr(old, name), getattr(new, name))}
        faces = _mapped(old.face_materials, self.before.materials), _mapped(new.face_materials, self.materials)
        return changed if _equal(*faces) else changed | {"face_materials"}

    def _skin(self, number: int, was: int, now: int) -> None:
        """Report edits of weights and shapes, which are not brought in."""
        old, new = self.before.scene.nodes[was], self.after.scene.nodes[now]
        path = f"/nodes/{self.scene.nodes[number].name}"
        if old.skin is not None and new.skin is not None:
            skins = self.before.scene.skins[old.skin], self.after.scene.skins[new.skin]
            if not all(_equal(*(getattr(skin, name) for skin in skins)) for name in ("vertex_indices", "weights")):
                self._not_brought_in(f"{path}/skin", "the weights of its vertices")
        if (old.skin is None) != (new.skin is None):
            self._not_brought_in(f"{path}/skin", "its skin")
        if old.morph is not None and new.morph is not None:
            shapes = [np.asarray(node.morph.positions) for node in (old, new) if node.morph is not None]
            if not _equal(*shapes):
                self._not_brought_in(f"{path}/morph", "its shapes")

    def _not_brought_in(self, path: str, what: str) -> None:
        self.report.add(EDIT_NOT_STORED["kind"], path, what=what)

    # Nodes

    def _add_nodes(self) -> None:
        """Add the nodes that the host did not get from the file, parents first."""
        self.new_nodes: dict[int, int] = {}
        for host, node in enumerate(self.after.scene.nodes):
            if host in self.after.nodes or host in self.after.helpers:
                continue
            number = len(self.scene.nodes)
            self.new_nodes[host] = number
            links = {name: getattr(node, name) for name in ("mesh", "camera", "light")}
            for name, place in (("mesh", "meshes"), ("camera", "cameras"), ("light", "lights")):
                if links[name] is not None:
                    part = getattr(self.after.scene, place)[links[name]]
                    if name == "mesh" and part.face_materials is not None:
                        part = replace(part, face_materials=_mapped(part.face_materials, self.materials))
                    links[name] = len(getattr(self.scene, place))
                    getattr(self.scene, place).append(part)
            parent = self._parent(self.after, host)
            self.scene.nodes.append(replace(node, parent=parent, target=None, skin=None, morph=None, **links))
            if node.skin is not None or node.morph is not None:
                self._not_brought_in(f"/nodes/{node.name}", "the skin or the shapes of a new object")

    def _parent(self, host: HostScene, number: int) -> int | None:
        """Return the node of the file below which a node of the host is."""
        numbers = host.nodes | (self.new_nodes if host is self.after else {})
        above = host.scene.nodes[number].parent
        while above is not None and above not in numbers:
            above = host.scene.nodes[above].parent
        return None if above is None else numbers[above]

    def _moved(self, pairs: Iterable[tuple[int, int, int]]) -> Floats:
        """Return (T, N, 4, 4) world matrices with the edits, also of new nodes."""
        count = len(self.scene.nodes)
        moved = np.zeros((len(self.times), count, 4, 4)) + np.eye(4)
        moved[:, : self.known] = self.posed
        for number, was, now in pairs:
            there, here = self.before.world[:, was], self.after.world[:, now]
            if not self._same_place(there, here):
                with np.errstate(all="ignore"):
                    moved[:, number] = here @ np.linalg.pinv(there) @ self.posed[:, number]
        for host, number in self.new_nodes.items():
            moved[:, number] = self.after.world[:, host]
        for host, number in self.new_nodes.items():
            self._place_new(host, number, moved)
        return moved

    def _same_place(self, there: Floats, here: Floats) -> bool:
        largest = max(1.0, float(np.abs(there[:, :3, :3]).max()))
        turned = float(np.abs(here[:, :3, :3] - there[:, :3, :3]).max()) <= TOLERANCE * largest
        return turned and float(np.abs(here[:, :3, 3] - there[:, :3, 3]).max()) <= self.length

    def _place_new(self, host: int, number: int, moved: Floats) -> None:
        node = self.scene.nodes[number]
        local = moved[:, number]
        if node.parent is not None:
            local = np.linalg.pinv(moved[:, node.parent]) @ local
        position, rotation, scale = affine.decompose(local)
        for kind, values in (("position", position), ("rotation", quat.continuous(rotation)), ("scale", scale)):
            setattr(node, _REST[kind], values[0])
            if not self._is_constant(kind, values):
                self._put_track(number, kind, self._reduced(kind, values))
        for (owner, kind), values in self.after.states.items():
            if owner == host and not self._is_constant(kind, values) and kind not in ("morph", "roll"):
                self._put_track(number, kind, self._reduced(kind, values))

    def _transform(self, number: int, was: int, now: int, moved: Floats) -> None:
        """Bring in where a node is: its parent, and the kinds of motion that differ."""
        node = self.scene.nodes[number]
        parents = self._parent(self.before, was), self._parent(self.after, now)
        reparented = parents[0] != parents[1] and parents[1] != node.parent
        local_before, local_after = (
            _relative(host.world[:, place], host, self._host_of(host, parents[0]))
            for host, place in ((self.before, was), (self.after, now))
        )
        if not reparented and self._same_place(local_before, local_after):
            return
        first = np.linalg.pinv(self.posed[:, node.parent]) if node.parent is not None else np.eye(4)
        old = first @ self.posed[:, number]
        if reparented:
            self._set("nodes", number, "parent", parents[1])
        new = moved[:, number]
        if node.parent is not None:
            new = np.linalg.pinv(moved[:, node.parent]) @ new
        if float(np.abs(new[:, :3, 3] - old[:, :3, 3]).max()) > self.length:
            self._bring("position", number, was, now, old[:, :3, 3], new[:, :3, 3])
        aimed = node.target is not None and self.after.scene.nodes[now].target is not None
        change = new[:, :3, :3] @ np.linalg.pinv(old[:, :3, :3])
        if aimed or float(np.abs(change - np.eye(3)).max()) <= TOLERANCE * 10:
            return
        if node.target is not None:
            self._set("nodes", number, "target", None)
        turns = self._values(number, "rotation", node.rotation_xyzw)
        sizes = self._values(number, "scale", node.scale)
        if node.target is not None or not _is_rotation(change):
            _, rotation, scale = affine.decompose(new)
            if node.scale_axes_xyzw is not None or self._channel(number, "scale_axes") is not None:
                self._set("nodes", number, "scale_axes_xyzw", None)
                self._put_track(number, "scale_axes", None)
            if float(np.abs(scale - sizes).max()) > TOLERANCE * 10:
                self._bring("scale", number, was, now, sizes, scale)
        else:
            rotation = quat.multiply(quat.from_matrix3(change), turns)
        if float(turn_degrees(rotation, turns).max()) > math.degrees(TOLERANCE) * 10:
            self._bring("rotation", number, was, now, turns, quat.continuous(rotation))

    def _host_of(self, host: HostScene, number: int | None) -> int | None:
        if number is None:
            return None
        known = self.was if host is self.before else self.now
        return known.get(number)

    def _values(self, number: int, kind: str, rest: Any) -> Floats:
        """Return (T, k) values of a track of the original, or of the node at rest."""
        animated = self.rig.channels.node_values(self.samples, kind, number)
        if animated is not None:
            return np.array(np.broadcast_to(animated, (len(self.times), np.shape(animated)[1])), np.float64)
        return np.repeat(np.asarray(rest, np.float64)[None], len(self.times), axis=0)

    # Other values

    def _states(self, number: int, was: int, now: int) -> None:
        node = self.scene.nodes[number]
        for kind in ("visible", "fov", "roll", "color", "multiplier", "falloff", "hotspot", "morph"):
            old, new = self.before.states.get((was, kind)), self.after.states.get((now, kind))
            if old is None or new is None or old.shape != new.shape:
                continue
            if float(np.abs(old - new).max()) <= track_tolerance(kind, self.length):
                continue
            if kind == "morph" and node.morph is None:
                continue
            self._bring(kind, number, was, now, old, new)

    def _bring(self, kind: str, number: int, was: int, now: int, old: Floats, new: Floats) -> None:
        """Bring in the values (T, k) of one kind of track: into the authored keys, if the host still has its keys at
        the same frames, or else as new keys, or as the value at rest."""
        channel = self._channel(number, kind)
        if channel is None and self._is_constant(kind, new):
            self._set_rest(kind, number, new[0])
            return
        same_keys = self.before.keys.get((was, kind)) == self.after.keys.get((now, kind))
        track = None
        if channel is not None and same_keys and kind != "visible":
            track = self._edited_keys(channel.track, old, new, self.before.keys.get((was, kind)))
        if track is None:
            track = self._reduced(kind, new)
        self._put_track(number, kind, track)

    def _edited_keys(self, authored: Track, old: Floats, new: Floats, keys: frozenset[float] | None) -> Track | None:
        """Return the track with the values of its keys that changed; None if there are edits between them, or keys
        between frames."""
        track = finite_keys(authored)
        frames = track.times * self.frames_per_unit
        rows = np.rint(frames - self.after.frames[0]).astype(np.int64) if len(frames) else np.empty(0, np.int64)
        if len(frames) == 1:
            rows = np.clip(rows, 0, len(self.times) - 1)
        elif (
            not len(frames)
            or (np.abs(frames - np.rint(frames)) > 1e-4).any()
            or rows.min() < 0
            or rows.max() >= len(self.times)
            or len(np.unique(rows)) < len(rows)
        ):
            return None
        kind = track.kind
        distance = turn_degrees if kind == "rotation" else vector_distance
        tolerance = track_tolerance(kind, self.length)
        changed = np.asarray(distance(old[rows], new[rows])) > tolerance
        edited = _with_keys(track, new[rows], changed)
        shown = edited_values(edited, self.times)
        error = float(np.asarray(distance(shown, new)).max())
        is_authored = keys is not None and keys == frozenset(np.rint(frames).tolist())
        if error > 10 * tolerance and not (changed.any() and (is_authored or (keys is None and len(frames) == 1))):
            return None
        return edited

    def _channel(self, number: int, kind: str) -> Channel | None:
        found = [c for c in self.clip.channels if c.node == number and c.track.kind == kind]
        return found[-1] if found else None

    def _is_constant(self, kind: str, values: Floats) -> bool:
        distance = turn_degrees if kind == "rotation" else vector_distance
        return float(np.asarray(distance(values, values[:1])).max()) <= track_tolerance(kind, self.length)

    def _reduced(self, kind: str, values: Floats) -> Track:
        return reduced_track(kind, self.times, values, track_tolerance(kind, self.length))

    def _put_track(self, number: int, kind: str, track: Track | None) -> None:
        channels = self.clip.channels
        places = [i for i, c in enumerate(channels) if c.node == number and c.track.kind == kind]
        if track is None:
            for place in reversed(places):
                del channels[place]
        elif places:
            channels[places[-1]] = Channel(number, track)
        else:
            channels.append(Channel(number, track))
        if track is not None or places:
            self.tracks[number, kind] = None

    def _set_rest(self, kind: str, number: int, value: Floats) -> None:
        """Set a value that is not animated."""
        node = self.scene.nodes[number]
        if kind in _REST:
            self._set("nodes", number, _REST[kind], value)
        elif kind == "visible":
            self._set("nodes", number, "hidden", not value[0])
        elif kind in ("fov", "roll") and node.camera is not None:
            self._set("cameras", node.camera, f"{kind}_degrees", float(value[0]))
        elif node.light is not None and kind != "morph":
            names = {"color": "color", "multiplier": "multiplier"}
            name = names.get(kind, f"{kind}_degrees")
            self._set("lights", node.light, name, tuple(value.tolist()) if kind == "color" else float(value[0]))

    def _span(self) -> None:
        """Bring in another range of frames or rate."""
        old, new = self.before.scene.clips, self.after.scene.clips
        if not old or not new or not self.scene.clips:
            return
        for name in ("start", "end"):
            frame = getattr(new[0], name)
            if frame != getattr(old[0], name):
                setattr(self.clip, name, frame / self.frames_per_unit)
                self.clip_fields.add(name)


def edited_values(track: Track, times: Floats) -> Floats:
    """Return (T, k) values of a track."""
    return CurveBank([track]).evaluate_pairs(np.zeros(len(times), np.int64), times)


def _with_keys(track: Track, values: Floats, changed: Flags) -> Track:
    """Return the track with other values (n, k) of some keys; rotations are quaternions. Increments to and from a
    changed rotation take the short way, others keep their turns."""
    if track.form is RotationForm.NONE:
        rows = values[:, 0] if track.values.ndim == 1 else values
        return replace(track, values=_with_rows(track.values, changed, rows))
    known = absolute(track)
    turned = np.where(changed[:, None], values, known)
    steps = turned.copy()
    relative = track.form in (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.QUATERNION_RELATIVE)
    touched = changed.copy()
    if relative:
        steps[1:] = quat.multiply(turned[1:], quat.conjugate(turned[:-1]))
        touched[1:] |= changed[:-1]
    if track.form in (RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.AXIS_ANGLE_ABSOLUTE):
        rows = np.column_stack(quat.to_axis_angle(np.where(steps[:, 3:] < 0, -steps, steps)))
    else:
        rows = steps
    return replace(track, values=_with_rows(track.values, touched, rows))


def _with_rows(values: Any, changed: Flags, new: Any) -> Floats:
    result = np.array(values, np.float64)
    result[changed] = np.asarray(new)[changed]
    return result


def _mapped(numbers: Any, new_numbers: Mapping[int, int]) -> Any:
    if numbers is None:
        return None
    return np.array([new_numbers.get(number, number) for number in np.asarray(numbers).tolist()], np.int64)


def _equal(old: Any, new: Any) -> bool:
    if old is None or new is None:
        return (old is None) == (new is None)
    return np.array_equal(np.asarray(old), np.asarray(new), equal_nan=np.asarray(old).dtype.kind == "f")


def _relative(world: Floats, host: HostScene, above: int | None) -> Floats:
    if above is None:
        return world
    return np.asarray(np.linalg.pinv(host.world[:, above]) @ world)


def _is_rotation(change: Floats) -> bool:
    identity = change @ np.swapaxes(change, -1, -2)
    return bool(np.abs(identity - np.eye(3)).max() < 1e-4 and (np.linalg.det(change) > 0).all())
