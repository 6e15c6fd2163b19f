"""Read a scene from a 3D Studio document: one pass over materials, editor, keyframer, and objects without a node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import LIMIT_COPIES, SCENE_REST_POSE
from keyframer.curves import Track
from keyframer.curves.curve_bank import has_first_value, only_first_key_counts
from keyframer.curves.lazy_fields import add_extras
from keyframer.formats.document import Document
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import vertex_space
from keyframer.formats.threeds.bridge.context import (
    MOST_KEPT_CHUNKS,
    Context,
    Options,
    child,
    children,
    plain_record,
    unread_chunks,
)
from keyframer.formats.threeds.bridge.declared_fields import CURRENT_TIME
from keyframer.formats.threeds.bridge.editor import (
    EditorObject,
    MeshObject,
    PlacedObject,
    find_axes,
    read_material,
    read_objects,
    read_settings,
)
from keyframer.formats.threeds.bridge.nodes import NODE_KINDS, KeyframerNode, Program, read_nodes
from keyframer.formats.threeds.bridge.tracks import (
    ReadTrack,
    check_keys,
    first_usable,
    read_hide_track,
    read_morph_track,
    read_tracks,
)
from keyframer.issues import IssueLog, Severity
from keyframer.maths import affine, quat
from keyframer.posing.evaluation_order import reachable
from keyframer.posing.rest_pose import RestTransforms, world_at
from keyframer.scene import Camera, Channel, Clip, Light, LightType, Node, NodeKind, Scene

_FULL_COMPARISONS = 8
"""all vertices are compared for this many nodes with the same mesh, and only a sample for further nodes"""
_FEW_NODES = 1_000
"""up to this many nodes, single transforms are computed in plain floats; larger trees are posed at once"""
_AS_STORED = np.eye(4)
_AS_STORED.flags.writeable = False
"""transform of vertices that stay as stored"""
TICKS_PER_FRAME = 160
"""3ds Max counts 4800 ticks and 30 frames per second"""
_REST_KINDS = ("position", "rotation", "scale")
"""kinds of tracks whose first usable key is the rest value of a node"""


@dataclass(eq=False, repr=False)
class Links:
    """The chunks of a scene's parts, in lists parallel to those of the scene."""

    nodes: list[r.Node | None] = field(default_factory=list)
    """None for objects without a keyframer node"""
    materials: list[r.Material] = field(default_factory=list)
    meshes: list[r.NamedObject] = field(default_factory=list)
    to_mesh: list[Floats] = field(default_factory=list)
    """(4, 4) for each mesh: from stored vertices to those of the mesh"""
    cameras: list[r.NamedObject] = field(default_factory=list)
    lights: list[r.NamedObject | None] = field(default_factory=list)
    """None for the ambient light"""
    rest_frame: float = 0.0
    """the frame at which stored vertices and keyframer are compared"""


def to_linked_scene(document: Document, options: Options) -> tuple[Scene, Links]:
    """Return the scene, and the chunk of each of its parts."""
    reading = _Reading(document, options)
    reading.read()
    return reading.scene, reading.links


class _Reading:
    """One pass over a document; the methods are in the order in which they are called."""

    def __init__(self, document: Document, options: Options) -> None:
        self.scene = Scene(source_format="3ds", issues=IssueLog())
        self.context = Context(document, options, self.scene.issues)
        self.links = Links()
        self.names = UniqueNames()
        self.objects: list[EditorObject] = []
        """every mesh, camera and light of the editor, in file order"""
        self.meshes: dict[bytes, MeshObject] = {}
        self.cameras: dict[bytes, PlacedObject] = {}
        self.lights: dict[bytes, PlacedObject] = {}
        """the first of each kind by name"""
        self.has_node: set[int] = set()
        """id() of objects with a keyframer node"""
        self.shapes: dict[bytes, Floats] = {}
        """vertices of meshes that morph keys name"""
        self.entries: list[KeyframerNode] = []
        self.moving: list[tuple[int, Track, float | None]] = []
        """nodes, their position, rotation and scale tracks with several keys, and first times if times ascend"""
        self.repeated: set[int] = set()
        """nodes with two position, two rotation or two scale tracks"""

    def read(self) -> None:
        document = self.context.document
        editor: r.Editor | None = None
        keyframer: r.Keyframer | None = None
        blocks: list[r.Material] = []  # in editors, and directly in a material library
        for top in document.records:
            for chunk in (top, *top.children):
                if isinstance(chunk, r.Editor):
                    editor = editor or chunk
                    blocks += children(chunk, r.Material)
                elif isinstance(chunk, r.Keyframer):
                    keyframer = keyframer or chunk
                elif isinstance(chunk, r.Material) and not isinstance(top, r.Editor):
                    blocks.append(chunk)
        materials = self._read_materials(blocks)
        if editor is not None:
            read_settings(self.context, editor, self.scene)
            self._read_objects(editor, materials)
        if keyframer is not None:
            self._read_keyframer(keyframer)
        for editor_object in self.objects:
            if id(editor_object) not in self.has_node:
                self._place_without_node(editor_object)
        self._keep_unread_chunks(document, editor, keyframer)

    def _read_materials(self, blocks: list[r.Material]) -> dict[bytes, int]:
        """Read materials, and return their numbers by name: as stored, and in lower case, which meshes may use."""
        numbers: dict[bytes, int] = {}
        for chunk in blocks:
            material = read_material(self.context, chunk)
            raw = material.raw_name or b""
            numbers.setdefault(raw, len(self.scene.materials))
            numbers.setdefault(raw.lower(), len(self.scene.materials))
            self.scene.materials.append(material)
            self.links.materials.append(chunk)
        return numbers

    def _read_objects(self, editor: r.Editor, materials: dict[bytes, int]) -> None:
        others: list[r.NamedObject] = []
        for chunk in children(editor, r.NamedObject):
            objects = read_objects(self.context, chunk, materials)
            self.objects += objects
            for editor_object in objects:
                if isinstance(editor_object, MeshObject):
                    self.meshes.setdefault(chunk.name, editor_object)
                elif isinstance(editor_object.part, Camera):
                    self.cameras.setdefault(chunk.name, editor_object)
                else:
                    self.lights.setdefault(chunk.name, editor_object)
            if not objects:
                others.append(chunk)
        find_axes([mesh for mesh in self.objects if isinstance(mesh, MeshObject)])
        if others:
            kept = [plain_record(chunk) for chunk in others[:MOST_KEPT_CHUNKS]]
            if len(others) > len(kept):  # the document keeps all of them
                kept.append({"chunk": "more", "count": len(others) - len(kept)})
            self.scene.extras.setdefault("3ds", {})["objects"] = kept

    def _read_keyframer(self, keyframer: r.Keyframer) -> None:
        header = child(keyframer, r.KeyframerHeader)
        writer = Program(header.revision if header else None, header.name if header else b"")
        clip = self._read_clip(keyframer, header, writer)
        self.scene.clips.append(clip)
        if writer.is_max:  # which stores the rolls of spot lights (4656) in radians; roll tracks are in degrees
            for light in (placed.part for placed in self.lights.values()):
                light.roll_degrees = math.degrees(light.roll_degrees)
        context = self.context
        self.entries = read_nodes(context, keyframer, writer, self.names)
        form = context.options.rotation_keys
        absolute = form == "absolute" or (form == "auto" and writer.is_blender)
        chunks = chain.from_iterable(entry.tracks for entry in self.entries)
        tracks = read_tracks(context, chunks, absolute=absolute, from_max=writer.is_max)
        rotations: list[tuple[Node, Floats]] = []
        for index, entry in enumerate(self.entries):
            self.scene.nodes.append(entry.node)
            self.links.nodes.append(entry.chunk)
            self._attach_camera_or_light(entry)
            clip.channels += self._read_channels(index, entry, tracks, rotations)
        if rotations:  # one call takes as long for fifty nodes as for one
            values = np.array([value for _, value in rotations])
            for (node, _), rotation in zip(rotations, quat.from_axis_angle(values[:, :3], values[:, 3]), strict=True):
                node.rotation_xyzw = rotation.copy()
        for entry in self.entries:
            self._set_rest_target(entry)
        self._place_meshes(writer, clip)

    def _read_clip(self, keyframer: r.Keyframer, header: r.KeyframerHeader | None, writer: Program) -> Clip:
        clip = Clip(rate=self.context.options.fps)
        if header is not None:
            clip.name = self.context.text(header.name)
            clip.end = float(header.length)
            clip.extras["3ds"] = {"revision": header.revision, "length": header.length}
        segment = child(keyframer, r.Frames)
        if segment is not None:
            clip.start, clip.end = float(segment.start), float(segment.end)
        current = child(keyframer, r.CurrentTime)
        if current is not None:
            read_declared_fields(clip, (current, TICKS_PER_FRAME if writer.is_max else 1), CURRENT_TIME)
        return clip

    def _attach_camera_or_light(self, entry: KeyframerNode) -> None:
        """Attach the camera or light of the editor, or a new ambient light, to a node."""
        placed = None
        if isinstance(entry.chunk, r.CameraNode):
            placed = self.cameras.get(entry.object_name)
        elif isinstance(entry.chunk, (r.OmniNode, r.SpotNode)):
            placed = self.lights.get(entry.object_name)
        elif isinstance(entry.chunk, r.AmbientNode):
            entry.node.light = len(self.scene.lights)
            ambient = self.scene.environment.ambient or (0.0, 0.0, 0.0)
            light = Light(entry.node.name, LightType.AMBIENT, ambient)
            self.context.mark(light, "3ds", entry.chunk)
            self.scene.lights.append(light)
            self.links.lights.append(None)
        if placed is not None:
            self._attach(placed, entry.node)

    def _attach(self, placed: PlacedObject, node: Node) -> None:
        """Attach a camera or light of the editor to a node, with its position in the editor."""
        self.has_node.add(id(placed))
        node.position = np.array(placed.position)
        node.hidden = node.hidden or placed.hidden
        if isinstance(placed.part, Camera):
            node.camera = len(self.scene.cameras)
            self.scene.cameras.append(placed.part)
            self.links.cameras.append(placed.chunk)
        else:
            node.light = len(self.scene.lights)
            self.scene.lights.append(placed.part)
            self.links.lights.append(placed.chunk)

    def _read_channels(
        self, index: int, entry: KeyframerNode, tracks: dict[int, ReadTrack], rotations: list[tuple[Node, Floats]]
    ) -> list[Channel]:
        """Return the channels of one node, and set its rest position, scale and morph; its rotation joins the list."""
        channels: list[Channel] = []
        node = entry.node
        for chunk in entry.tracks:
            value: Floats | None = None
            first: float | None = None
            read = tracks.get(id(chunk))
            if read is None:  # keys without numbers, or no keys
                named = self._read_named_track(chunk, entry)
                if named is None:
                    node.extras["3ds"].setdefault("tracks", []).append(plain_record(chunk))
                    continue
                track = named
            else:
                track, doubtful, first, value = read
                if doubtful:
                    check_keys(self.context, chunk, track)
                    first, value = None, first_usable(track)
            kind = track.kind
            if kind in _REST_KINDS:
                if len(chunk.keys) > 1:  # type: ignore[attr-defined]  # every concrete track has keys
                    self.moving.append((index, track, first))
                if any(channel.track.kind == kind for channel in channels):
                    self.repeated.add(index)
                if value is None:
                    pass
                elif kind == "position":
                    node.position = value.copy()
                elif kind == "rotation":
                    rotations.append((node, value))
                else:
                    node.scale = value.copy()
            channels.append(Channel(index, track))
        return channels

    def _read_named_track(self, chunk: r.Track, entry: KeyframerNode) -> Track | None:
        """Read a track whose keys have no numbers; None without usable keys."""
        if isinstance(chunk, r.HideTrack):
            return read_hide_track(self.context, chunk, entry.node.hidden)
        if isinstance(chunk, r.MorphTrack):
            mesh = self._mesh_of(entry)
            vertex_count = len(mesh.mesh.positions) if mesh else 0
            pair = read_morph_track(self.context, chunk, vertex_count, self._shape_of)
            if pair is not None:
                track, entry.node.morph = pair
                return track
        return None

    def _mesh_of(self, entry: KeyframerNode) -> MeshObject | None:
        return self.meshes.get(entry.object_name) if isinstance(entry.chunk, r.ObjectNode) else None

    def _shape_of(self, name: bytes) -> Floats | None:
        """Return the vertices that morph keys blend: those of the mesh with this name, in its local axes, or None."""
        mesh_object = self.meshes.get(name)
        if mesh_object is not None and name not in self.shapes:
            points = np.asarray(mesh_object.mesh.positions, np.float64)
            to_local = mesh_object.to_local
            self.shapes[name] = points if to_local is None else affine.transform_points(to_local, points)
        return self.shapes.get(name)

    def _set_rest_target(self, entry: KeyframerNode) -> None:
        """Set the rest position of the node's target from the editor, if the target has no position track."""
        node = entry.node
        if node.target is None or child(self.entries[node.target].chunk, r.PositionTrack) is not None:
            return
        stored = None
        if node.camera is not None:
            stored = self.scene.cameras[node.camera].target
        elif node.light is not None:
            stored = self.scene.lights[node.light].target
        if stored is not None:
            self.entries[node.target].node.position = np.array(stored)

    def _place_meshes(self, writer: Program, clip: Clip) -> None:
        """Attach meshes to nodes, with vertices in the local space of the node; stop if the budget is exceeded."""
        meshes = {index: mesh for index, entry in enumerate(self.entries) if (mesh := self._mesh_of(entry)) is not None}
        if not meshes:
            return
        shared_meshes: dict[int, int] = {}
        uses = Counter(map(id, meshes.values()))
        for index, choice, node_world, is_first in self._choices(meshes, writer, clip):
            entry, mesh_object = self.entries[index], meshes[index]
            node, identity = entry.node, id(mesh_object)
            to_node: Floats | None = None
            if not choice.follows_keyframer or identity not in shared_meshes:
                if not self._may_copy(entry, mesh_object, first=is_first):
                    return
                to_node = vertex_space.to_node(mesh_object, node, node_world, choice)
                if to_node is None:
                    continue
            self._report_choice(entry, choice)
            self.has_node.add(identity)
            node.hidden = node.hidden or mesh_object.hidden
            add_extras(node, "3ds", {"geometry": "keyframer" if choice.follows_keyframer else "raw"})
            if to_node is None:
                node.mesh = shared_meshes[identity]
                continue
            node.mesh = self._add_mesh(mesh_object, to_node, is_only=uses[identity] == 1)
            if choice.follows_keyframer:
                shared_meshes[identity] = node.mesh
            elif node.morph is not None:
                transform = to_node
                if mesh_object.to_local is not None:
                    transform = affine.multiply(to_node, affine.inverse(mesh_object.to_local))
                node.morph.positions = [affine.transform_points(transform, shape) for shape in node.morph.positions]

    def _choices(
        self, meshes: dict[int, MeshObject], writer: Program, clip: Clip
    ) -> Iterator[tuple[int, vertex_space.Choice, Floats, bool]]:
        """Yield each node with a mesh, with the place of its vertices, its world matrix at rest, and whether it is the
        first with this mesh."""
        rest_frame = clip.current if writer.is_max and clip.current is not None else 0.0
        self.links.rest_frame = rest_frame
        not_at_rest = self.repeated | {
            index
            for index, track, first in self.moving
            if not (
                only_first_key_counts(track, rest_frame)
                if first is None
                else has_first_value(track.wrap, first, rest_frame)
            )
        }
        doubtful = self._doubtful_nodes(meshes, not_at_rest)
        if doubtful:
            world = self._world_at_rest(doubtful, not_at_rest, clip, rest_frame)
            animated = any(len(track.keys) > 1 for entry in self.entries for track in entry.tracks)  # type: ignore[attr-defined]
        uses: Counter[int] = Counter()
        followed: set[int] = set()
        geometry = self.context.options.geometry
        for index, mesh in meshes.items():
            uses[id(mesh)] += 1
            choice, node_world = vertex_space.AGREE, _AS_STORED
            if index in doubtful:
                node_world, node = world[index], self.entries[index].node
                points = mesh.mesh.positions if uses[id(mesh)] <= _FULL_COMPARISONS else mesh.sample
                settled = "another node shows the mesh where the keyframer places it" if id(mesh) in followed else ""
                settled = "the file is animated" if animated else settled
                choice = vertex_space.choose(mesh, node, node_world, points, writer, settled, geometry)
            if choice.follows_keyframer:
                followed.add(id(mesh))
            yield index, choice, node_world, uses[id(mesh)] == 1

    def _add_mesh(self, mesh_object: MeshObject, to_node: Floats, *, is_only: bool) -> int:
        """Add a mesh to the scene, with vertices in the space of its node, and return its number; ``is_only``: no other
        node shows it."""
        mesh = mesh_object.mesh
        positions = affine.transform_points(to_node, mesh.positions)
        if is_only:
            mesh.positions = positions
        else:  # other nodes start with the stored vertices again
            mesh = replace(mesh, positions=positions)
        self.scene.meshes.append(mesh)
        self.links.meshes.append(mesh_object.chunk)
        self.links.to_mesh.append(to_node)
        return len(self.scene.meshes) - 1

    def _doubtful_nodes(self, meshes: dict[int, MeshObject], not_at_rest: Set[int]) -> Set[int]:
        """Return the nodes whose mesh may disagree with the keyframer, so that their exact position is needed."""
        if len(self.scene.nodes) > _FEW_NODES or self.context.options.geometry != "auto":
            return meshes.keys()
        rest_transforms = RestTransforms(self.scene.nodes, not_at_rest)
        doubtful = set()
        for index, mesh in meshes.items():
            world_at_rest = rest_transforms.world(index)
            if world_at_rest is None or not vertex_space.agrees(mesh, self.entries[index].node, world_at_rest):
                doubtful.add(index)
        return doubtful

    def _world_at_rest(self, numbers: Set[int], not_at_rest: Set[int], clip: Clip, frame: float) -> Floats:
        """Return (nodes, 4, 4) world matrices at the rest frame, correct only for these nodes."""
        nodes = self.scene.nodes
        sources = set(reachable(numbers, lambda number: (nodes[number].parent, nodes[number].target)))
        moving = {(index, track.kind) for index, track, _ in self.moving if index in not_at_rest & sources}
        channels = [
            channel
            for channel in clip.channels
            if (channel.node, channel.track.kind) in moving
            or (channel.track.kind == "roll" and channel.node in sources)
        ]
        return world_at(self.scene, Clip(channels=channels), frame)

    def _may_copy(self, entry: KeyframerNode, mesh_object: MeshObject, *, first: bool) -> bool:
        """Return whether the budget allows copies of vertices and shapes for the node; if not, report the limit."""
        shapes = entry.node.morph.positions if entry.node.morph is not None else []
        count = sum(shape.size for shape in shapes) + (0 if first else mesh_object.mesh.positions.size)
        budget = self.context.budget
        if budget.charge("copies", count):
            return True
        self.context.report(LIMIT_COPIES, entry.chunk, what="repeated use of vertices", **budget.state("copies"))
        return False

    def _report_choice(self, entry: KeyframerNode, choice: vertex_space.Choice) -> None:
        if choice.difference > 0.01:
            outcome = "the keyframer data is used" if choice.follows_keyframer else "the stored vertices are used"
            percent = 100 * min(choice.difference, 1e9)
            severity = None if choice.is_guess else Severity.INFO
            args = {"percent": percent, "choice": outcome, "rule": choice.rule}
            self.context.report(SCENE_REST_POSE, entry.chunk, severity=severity, **args)

    def _place_without_node(self, editor_object: EditorObject) -> None:
        """Add a node for an object without a keyframer node, placed as in the editor."""
        name = editor_object.chunk.name
        node = Node(self.names.claim(self.context.text(name)), raw_name=name, hidden=editor_object.hidden)
        self.context.mark(node, "3ds", editor_object.chunk)
        if isinstance(editor_object, MeshObject):
            node.mesh = len(self.scene.meshes)
            self.scene.meshes.append(editor_object.mesh)
            self.links.meshes.append(editor_object.chunk)
            self.links.to_mesh.append(_AS_STORED)
        else:
            node.kind = NodeKind.CAMERA if isinstance(editor_object.part, Camera) else NodeKind.LIGHT
            self._attach(editor_object, node)
        self.scene.nodes.append(node)
        self.links.nodes.append(None)

    def _keep_unread_chunks(self, document: Document, editor: r.Editor | None, keyframer: r.Keyframer | None) -> None:
        """Keep other data of the document as extras.

        These are chunks next to editor, keyframer and materials, unread chunks of the keyframer, and trailing bytes.
        """
        unread = []
        for top in document.records:
            if top is not editor:
                if top.tail:
                    unread.append({"chunk": "tail", "data": top.tail.hex()})
                others = [
                    child
                    for child in top.children
                    if child is not editor and child is not keyframer and not isinstance(child, r.Material)
                ]
                unread += [plain_record(other) for other in others[:MOST_KEPT_CHUNKS]]
        if keyframer is not None:
            unread += unread_chunks(keyframer, _KEYFRAMER_KNOWN)
        if unread:
            self.scene.extras.setdefault("3ds", {})["chunks"] = unread
        if document.trailing:
            self.scene.extras.setdefault("3ds", {})["trailing"] = document.trailing.hex()


_KEYFRAMER_KNOWN = frozenset((*NODE_KINDS, r.KeyframerHeader, r.Frames, r.CurrentTime))
