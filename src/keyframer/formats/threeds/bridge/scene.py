"""Read a scene from a 3D Studio document."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats
from keyframer.catalogue import LIMIT_COPIES, SCENE_REST_POSE
from keyframer.curves.lazy_fields import add_extras
from keyframer.formats.document import Document
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import objects, vertex_space
from keyframer.formats.threeds.bridge.context import (
    MOST_KEPT_CHUNKS,
    Context,
    Links,
    child,
    children,
    plain_record,
    unread_chunks,
)
from keyframer.formats.threeds.bridge.declared_fields import CURRENT_TIME
from keyframer.formats.threeds.bridge.editor import read_editor
from keyframer.formats.threeds.bridge.materials import read_material
from keyframer.formats.threeds.bridge.nodes import (
    NODE_KINDS,
    ChannelReader,
    KeyframerNode,
    Program,
    read_nodes,
)
from keyframer.formats.threeds.bridge.options import Options
from keyframer.issues import IssueLog
from keyframer.posing.evaluation_order import reachable
from keyframer.posing.rest_pose import RestTransforms, world_at
from keyframer.scene import Clip, Light, LightType, Node, NodeKind, Scene

Points = npt.NDArray[np.floating[Any]]

EditorObject = objects.MeshObject | objects.PlacedCamera | objects.PlacedLight

_FULL_COMPARISONS = 8
"""all vertices are compared for this many nodes with the same mesh, and only a sample for further nodes"""
_FEW_NODES = 1_000
"""up to this many nodes, single transforms are computed in plain floats; larger trees are posed at once"""
_AS_STORED = np.eye(4)
_AS_STORED.flags.writeable = False
"""transform of vertices that stay as stored"""
TICKS_PER_FRAME = 160
"""3ds Max counts 4800 ticks and 30 frames per second"""


def to_linked_scene(document: Document, options: Options) -> tuple[Scene, Links]:
    """Return the scene, and the chunk of each of its parts."""
    scene = Scene(source_format="3ds", issues=IssueLog())
    context = Context(document, options, scene.issues)
    builder = _Builder(context, scene)
    builder.build()
    return scene, builder.links


class _Builder:
    """Collects objects by name, then attaches them to the tree."""

    def __init__(self, context: Context, scene: Scene) -> None:
        self.context = context
        self.scene = scene
        self.names = UniqueNames()
        self.meshes: list[objects.MeshObject] = []
        self.mesh_by_name: dict[bytes, int] = {}
        self.cameras: dict[bytes, objects.PlacedCamera] = {}
        self.lights: dict[bytes, objects.PlacedLight] = {}
        self.editor_objects: list[EditorObject] = []
        """every mesh, camera and light of the editor, in file order"""
        self.has_node: set[int] = set()
        """id() of objects with a keyframer node"""
        self.shapes: dict[int, Floats] = {}
        """vertices of meshes that morph keys name, by the number of the mesh"""
        self.samples: dict[int, Points] = {}
        """samples of the vertices of meshes, by `id` of the mesh object"""
        self.links = Links()

    def build(self) -> None:
        document = self.context.document
        editor: r.Editor | None = None
        keyframer: r.Keyframer | None = None
        blocks: list[r.Material] = []
        for chunk in document.find((r.Editor, r.Keyframer, r.Material)):
            if isinstance(chunk, r.Material):
                blocks.append(chunk)
            elif isinstance(chunk, r.Editor):
                editor = editor or chunk
            elif isinstance(chunk, r.Keyframer):
                keyframer = keyframer or chunk
        materials = self._read_materials(blocks)
        if editor is not None:
            read_editor(self.context, editor, self.scene)
            self._read_objects(editor, materials)
        if keyframer is not None:
            self._read_keyframer(keyframer)
        for editor_object in self.editor_objects:
            if id(editor_object) not in self.has_node:
                self._place_without_node(editor_object)
        self._keep_unread_chunks(document, editor, keyframer)

    def _read_materials(self, blocks: list[r.Material]) -> dict[bytes, int]:
        """Read materials.

        Return their numbers by name: as stored, and in lower case, since meshes may spell a name in another case.
        """
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
        other_count = 0
        for chunk in children(editor, r.NamedObject):
            mesh = objects.read_mesh(self.context, chunk, materials)
            if mesh is not None:
                self.mesh_by_name.setdefault(mesh.name, len(self.meshes))
                self.meshes.append(mesh)
                self.editor_objects.append(mesh)
            camera = objects.read_camera(self.context, chunk)
            if camera is not None:
                self.cameras.setdefault(camera.name, camera)
                self.editor_objects.append(camera)
            light = objects.read_light(self.context, chunk)
            if light is not None:
                self.lights.setdefault(light.name, light)
                self.editor_objects.append(light)
            if mesh is None and camera is None and light is None:
                other_count += 1
                if other_count <= MOST_KEPT_CHUNKS:
                    self.scene.extras.setdefault("3ds", {}).setdefault("objects", []).append(plain_record(chunk))
        objects.find_axes(self.meshes)
        for mesh_object in self.meshes:
            self.links.mesh_by_name.setdefault(mesh_object.name, (mesh_object.chunk, mesh_object.to_local))
        if other_count > MOST_KEPT_CHUNKS:  # the document keeps all of them
            self.scene.extras["3ds"]["objects"].append({"chunk": "more", "count": other_count - MOST_KEPT_CHUNKS})

    def _read_keyframer(self, keyframer: r.Keyframer) -> None:
        header = child(keyframer, r.KeyframerHeader)
        writer = Program(header.revision if header else None, header.name if header else b"")
        clip = self._read_clip(keyframer, header, writer)
        self.scene.clips.append(clip)
        if writer.is_max:
            self._repair_spot_rolls()
        entries = read_nodes(self.context, keyframer, writer, self.names)
        channels = ChannelReader(self.context, entries, writer, self._shape_of)
        for index, entry in enumerate(entries):
            self.scene.nodes.append(entry.node)
            self.links.nodes.append(entry.chunk)
            mesh = self._mesh_of(entry)
            self._attach_camera_or_light(entry)
            vertex_count = len(mesh.mesh.positions) if mesh else 0
            clip.channels += channels.read(index, entry.node, vertex_count)
        channels.set_rotations()
        for entry in entries:
            self._set_rest_target(entry, entries)
        self._place_meshes(entries, writer, clip, channels)

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

    def _mesh_of(self, entry: KeyframerNode) -> objects.MeshObject | None:
        if not isinstance(entry.chunk, r.ObjectNode) or entry.object_name not in self.mesh_by_name:
            return None
        return self.meshes[self.mesh_by_name[entry.object_name]]

    def _shape_of(self, name: bytes) -> Floats | None:
        """Return the vertices that morph keys blend: those of the mesh with this name, in its local axes, or None."""
        number = self.mesh_by_name.get(name)
        if number is None:
            return None
        if number not in self.shapes:
            mesh_object = self.meshes[number]
            points = np.asarray(mesh_object.mesh.positions, np.float64)
            if mesh_object.to_local is not None:
                points = np.asarray(points @ mesh_object.to_local[:3, :3].T + mesh_object.to_local[:3, 3])
            self.shapes[number] = points
        return self.shapes[number]

    def _attach_camera_or_light(self, entry: KeyframerNode) -> None:
        """Attach the camera or light of the editor, or a new ambient light, to a node."""
        node = entry.node
        if isinstance(entry.chunk, r.CameraNode) and entry.object_name in self.cameras:
            editor_camera = self.cameras[entry.object_name]
            self.has_node.add(id(editor_camera))
            node.camera = len(self.scene.cameras)
            node.position = np.array(editor_camera.position)
            node.hidden = node.hidden or editor_camera.hidden
            self.scene.cameras.append(editor_camera.camera)
            self.links.cameras.append(editor_camera.chunk)
        elif isinstance(entry.chunk, (r.OmniNode, r.SpotNode)) and entry.object_name in self.lights:
            editor_light = self.lights[entry.object_name]
            self.has_node.add(id(editor_light))
            node.light = len(self.scene.lights)
            node.position = np.array(editor_light.position)
            node.hidden = node.hidden or editor_light.hidden
            self.scene.lights.append(editor_light.light)
            self.links.lights.append(editor_light.chunk)
        elif isinstance(entry.chunk, r.AmbientNode):
            node.light = len(self.scene.lights)
            ambient = self.scene.environment.ambient or (0.0, 0.0, 0.0)
            light = Light(node.name, LightType.AMBIENT, ambient)
            self.context.mark(light, "3ds", entry.chunk)
            self.scene.lights.append(light)
            self.links.lights.append(None)

    def _set_rest_target(self, entry: KeyframerNode, entries: list[KeyframerNode]) -> None:
        """Set the rest position of the node's target from the editor, if the target has no position track."""
        node = entry.node
        if node.target is None or child(entries[node.target].chunk, r.PositionTrack) is not None:
            return
        stored = None
        if node.camera is not None:
            stored = self.scene.cameras[node.camera].target
        elif node.light is not None:
            stored = self.scene.lights[node.light].target
        if stored is not None:
            entries[node.target].node.position = np.array(stored)

    def _repair_spot_rolls(self) -> None:
        """Convert rolls of spot lights (4656) from the radians of 3ds Max to degrees; roll tracks are in degrees."""
        for placed_light in self.lights.values():
            placed_light.light.roll_degrees = math.degrees(placed_light.light.roll_degrees)

    def _place_meshes(self, entries: list[KeyframerNode], writer: Program, clip: Clip, channels: ChannelReader) -> None:
        """Attach meshes to nodes, with vertices in the local space of the node; stop if the budget is exceeded."""
        if all(self._mesh_of(entry) is None for entry in entries):
            return
        rest_frame = clip.current if writer.is_max and clip.current is not None else 0.0
        self.links.rest_frame = rest_frame
        not_at_rest = channels.not_at_rest(rest_frame)
        doubtful = self._doubtful_nodes(entries, not_at_rest)
        if doubtful:
            nodes = self.scene.nodes
            sources = set(reachable(doubtful, lambda number: (nodes[number].parent, nodes[number].target)))
            moving = channels.moving_channels(clip.channels, not_at_rest & sources, sources)
            world = world_at(self.scene, Clip(channels=moving), rest_frame)  # correct only for ``sources``
            animated = any(len(track.keys) > 1 for entry in entries for track in entry.tracks)  # type: ignore[attr-defined]
        shared_meshes: dict[int, int] = {}
        uses_so_far: Counter[int] = Counter()
        all_uses = Counter(entry.object_name for entry in entries if isinstance(entry.chunk, r.ObjectNode))
        for index, entry in enumerate(entries):
            mesh_object = self._mesh_of(entry)
            if mesh_object is None:
                continue
            uses_so_far[id(mesh_object)] += 1
            if index not in doubtful:
                choice = vertex_space.AGREE
                node_world = _AS_STORED
            else:
                node_world = world[index]
                points = (
                    mesh_object.mesh.positions
                    if uses_so_far[id(mesh_object)] <= _FULL_COMPARISONS
                    else self._sample_of(mesh_object)
                )
                choice = vertex_space.choose(
                    mesh_object, entry.node, node_world, points, writer, animated, self.context.options.geometry
                )
            positions = None
            if not choice.follows_keyframer or id(mesh_object) not in shared_meshes:
                if not self._may_copy(entry, mesh_object, first=uses_so_far[id(mesh_object)] == 1):
                    return
                positions = vertex_space.local_positions(mesh_object, entry.node, node_world, choice)
                if positions is None:
                    continue
            self._report_choice(entry, choice)
            self.has_node.add(id(mesh_object))
            entry.node.hidden = entry.node.hidden or mesh_object.hidden
            add_extras(entry.node, "3ds", {"geometry": "keyframer" if choice.follows_keyframer else "raw"})
            if positions is None:
                entry.node.mesh = shared_meshes[id(mesh_object)]
                continue
            entry.node.mesh = len(self.scene.meshes)
            mesh = mesh_object.mesh
            if all_uses[mesh_object.name] == 1:
                mesh.positions = positions
            else:  # other nodes start with the stored vertices again
                mesh = replace(mesh, positions=positions)
            self.scene.meshes.append(mesh)
            self.links.meshes.append(mesh_object.chunk)
            to_node = vertex_space.to_node(mesh_object, entry.node, node_world, choice)
            self.links.to_mesh.append(_AS_STORED if to_node is None else to_node)
            if choice.follows_keyframer:
                shared_meshes[id(mesh_object)] = entry.node.mesh
            elif entry.node.morph is not None:
                transform = vertex_space.shape_transform(mesh_object, entry.node, node_world)
                entry.node.morph.positions = [transform(shape) for shape in entry.node.morph.positions]

    def _doubtful_nodes(self, entries: list[KeyframerNode], not_at_rest: set[int]) -> set[int]:
        """Return the nodes whose mesh may disagree with the keyframer, so that their exact position is needed."""
        meshes = {index: mesh for index, entry in enumerate(entries) if (mesh := self._mesh_of(entry)) is not None}
        few = len(self.scene.nodes) <= _FEW_NODES and self.context.options.geometry == "auto"
        if not few:
            return set(meshes)
        rest_transforms = RestTransforms(self.scene.nodes, not_at_rest)
        doubtful = set()
        for index, mesh in meshes.items():
            world_at_rest = rest_transforms.world(index)
            if world_at_rest is None or not vertex_space.agrees(mesh, entries[index].node, world_at_rest):
                doubtful.add(index)
        return doubtful

    def _sample_of(self, mesh_object: objects.MeshObject) -> Points:
        if id(mesh_object) not in self.samples:
            self.samples[id(mesh_object)] = vertex_space.sample_of(mesh_object.mesh.positions)
        return self.samples[id(mesh_object)]

    def _may_copy(self, entry: KeyframerNode, mesh_object: objects.MeshObject, *, first: bool) -> bool:
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
            self.context.report(
                SCENE_REST_POSE,
                entry.chunk,
                percent=100 * min(choice.difference, 1e9),
                choice=outcome,
                rule=choice.rule,
            )

    def _place_without_node(self, editor_object: EditorObject) -> None:
        """Add a node for an object without a keyframer node, placed as in the editor."""
        node = Node(
            self.names.claim(self.context.text(editor_object.name)),
            raw_name=editor_object.name,
            hidden=editor_object.hidden,
        )
        self.context.mark(node, "3ds", editor_object.chunk)
        if isinstance(editor_object, objects.MeshObject):
            node.mesh = len(self.scene.meshes)
            self.scene.meshes.append(editor_object.mesh)
            self.links.meshes.append(editor_object.chunk)
            self.links.to_mesh.append(_AS_STORED)
        elif isinstance(editor_object, objects.PlacedCamera):
            node.kind, node.camera = NodeKind.CAMERA, len(self.scene.cameras)
            node.position = np.array(editor_object.position)
            self.scene.cameras.append(editor_object.camera)
            self.links.cameras.append(editor_object.chunk)
        else:
            node.kind, node.light = NodeKind.LIGHT, len(self.scene.lights)
            node.position = np.array(editor_object.position)
            self.scene.lights.append(editor_object.light)
            self.links.lights.append(editor_object.chunk)
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
            unread += unread_chunks(keyframer, {*NODE_KINDS, r.KeyframerHeader, r.Frames, r.CurrentTime})
        if unread:
            self.scene.extras.setdefault("3ds", {})["chunks"] = unread
        if document.trailing:
            self.scene.extras.setdefault("3ds", {})["trailing"] = document.trailing.hex()
