"""The whole way from a 3D Studio document to a scene."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import SCENE_REST_POSE
from keyframer.formats._document import Document
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import objects, rest
from keyframer.formats.threeds.bridge.context import Context, child, children, leftover
from keyframer.formats.threeds.bridge.editor import read_editor
from keyframer.formats.threeds.bridge.materials import read_material
from keyframer.formats.threeds.bridge.names import UniqueNames
from keyframer.formats.threeds.bridge.nodes import KeyframerNode, Writer, read_channels, read_nodes
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.chunk import Chunk
from keyframer.issues import IssueLog
from keyframer.posing import Rig
from keyframer.scene import Clip, Light, LightType, Mesh, Node, NodeKind, Scene

Floats = npt.NDArray[np.float64]

_TICKS_PER_FRAME = 160
"""3ds Max counts 4800 ticks a second, 30 frames a second"""


def to_scene(document: Document, options: Options | None = None) -> Scene:
    """What the document means. Unsafe parts (a face, a link, a key) are left out and reported as errors."""
    scene = Scene(source_format="3ds", issues=IssueLog())
    context = Context(document, options or Options(), scene.issues)
    _Builder(context, scene).build()
    return scene


class _Builder:
    """Collects objects by name, then hangs them into the tree."""

    def __init__(self, context: Context, scene: Scene) -> None:
        self.context = context
        self.scene = scene
        self.names = UniqueNames()
        self.meshes: list[objects.MeshObject] = []
        self.mesh_by_name: dict[bytes, int] = {}
        self.cameras: dict[bytes, objects.PlacedCamera] = {}
        self.lights: dict[bytes, objects.PlacedLight] = {}
        self.unplaced: list[objects.MeshObject | objects.PlacedCamera | objects.PlacedLight] = []

    def build(self) -> None:
        document = self.context.document
        editor = document.first(r.Editor)
        keyframer = document.first(r.Keyframer)
        materials = self._materials(document)
        if editor is not None:
            read_editor(self.context, editor, self.scene)
            self._objects(editor, materials)
        if keyframer is not None:
            self._keyframer(keyframer)
        for item in self.unplaced:
            self._place_without_node(item)
        self._keep_the_rest(document)

    def _materials(self, document: Document) -> dict[bytes, int]:
        """Materials, and their numbers by name: as written, and in small letters for names that differ only so."""
        numbers: dict[bytes, int] = {}
        for chunk in document.find(r.Material):
            material = read_material(self.context, chunk)
            raw = material.raw_name or b""
            numbers.setdefault(raw, len(self.scene.materials))
            numbers.setdefault(raw.lower(), len(self.scene.materials))
            self.scene.materials.append(material)
        return numbers

    def _objects(self, editor: r.Editor, materials: dict[bytes, int]) -> None:
        for chunk in children(editor, r.NamedObject):
            mesh = objects.read_mesh(self.context, chunk, materials)
            if mesh is not None:
                self.mesh_by_name.setdefault(mesh.name, len(self.meshes))
                self.meshes.append(mesh)
                self.unplaced.append(mesh)
            camera = objects.read_camera(self.context, chunk)
            if camera is not None:
                self.cameras.setdefault(camera.name, camera)
                self.unplaced.append(camera)
            light = objects.read_light(self.context, chunk)
            if light is not None:
                self.lights.setdefault(light.name, light)
                self.unplaced.append(light)
            if mesh is None and camera is None and light is None:
                self.scene.extras.setdefault("3ds", {}).setdefault("objects", []).append(leftover(chunk))

    def _keyframer(self, keyframer: r.Keyframer) -> None:
        header = child(keyframer, r.KeyframerHeader)
        writer = Writer(header.revision if header else None, header.name if header else b"")
        clip = self._clip(keyframer, header, writer)
        self.scene.clips.append(clip)
        found = read_nodes(self.context, keyframer, writer, self.names)
        for index, each in enumerate(found):
            self.scene.nodes.append(each.node)
            mesh = self._mesh_of(each)
            self._carry(each)
            vertices = len(mesh.mesh.positions) if mesh else 0
            clip.channels += read_channels(self.context, index, each, writer, self._shape, vertices)
        self._place_meshes(found, writer, clip)

    def _clip(self, keyframer: r.Keyframer, header: r.KeyframerHeader | None, writer: Writer) -> Clip:
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
            clip.current = current.time / _TICKS_PER_FRAME if writer.is_max else float(current.time)
        return clip

    def _mesh_of(self, each: KeyframerNode) -> objects.MeshObject | None:
        if not isinstance(each.chunk, r.ObjectNode) or each.object_name not in self.mesh_by_name:
            return None
        return self.meshes[self.mesh_by_name[each.object_name]]

    def _shape(self, name: bytes) -> Floats | None:
        """The vertices of a mesh in its own axes: what morph keys mix."""
        number = self.mesh_by_name.get(name)
        if number is None:
            return None
        item = self.meshes[number]
        points = np.asarray(item.mesh.positions, np.float64)
        if item.to_local is None:
            return points
        return np.asarray(points @ item.to_local[:3, :3].T + item.to_local[:3, 3])

    def _carry(self, each: KeyframerNode) -> None:
        """Cameras and lights of the editor that the node stands for."""
        node = each.node
        if isinstance(each.chunk, r.CameraNode) and each.object_name in self.cameras:
            placed = self.cameras[each.object_name]
            self._taken(placed)
            node.camera = len(self.scene.cameras)
            node.position = np.array(placed.position)
            self.scene.cameras.append(placed.camera)
        elif isinstance(each.chunk, (r.OmniNode, r.SpotNode)) and each.object_name in self.lights:
            lamp = self.lights[each.object_name]
            self._taken(lamp)
            node.light = len(self.scene.lights)
            node.position = np.array(lamp.position)
            self.scene.lights.append(lamp.light)
        elif isinstance(each.chunk, r.AmbientNode):
            node.light = len(self.scene.lights)
            ambient = self.scene.environment.ambient or (0.0, 0.0, 0.0)
            self.scene.lights.append(Light(node.name, LightType.AMBIENT, ambient))

    def _taken(self, item: objects.MeshObject | objects.PlacedCamera | objects.PlacedLight) -> None:
        self.unplaced = [other for other in self.unplaced if other is not item]

    def _place_meshes(self, found: list[KeyframerNode], writer: Writer, clip: Clip) -> None:
        """Give nodes their meshes, with vertices in the node's own space."""
        carriers = [
            (index, each, mesh) for index, each in enumerate(found) if (mesh := self._mesh_of(each)) is not None
        ]
        if not carriers:
            return
        moment = clip.current if writer.is_max and clip.current is not None else 0.0
        rig = Rig(self.scene)
        samples = rig.sample([moment])
        world = rig.world(rig.local(samples, 1), samples)[0]
        animated = any(len(channel.track.times) > 1 for channel in clip.channels)
        shared: dict[int, int] = {}
        used: set[int] = set()
        for index, each, item in carriers:
            choice = rest.choose(item, each.node, world[index], writer, animated, self.context.options.geometry)
            positions = rest.local_positions(item, each.node, world[index], choice)
            if positions is None:
                continue
            self._report(each, choice)
            used.add(id(item))
            each.node.hidden = each.node.hidden or item.hidden
            each.node.extras["3ds"]["geometry"] = "keyframer" if choice.formula else "raw"
            if choice.formula and id(item) in shared:
                each.node.mesh = shared[id(item)]
                continue
            each.node.mesh = len(self.scene.meshes)
            self.scene.meshes.append(_with_positions(item.mesh, positions))
            if choice.formula:
                shared[id(item)] = each.node.mesh
        self.unplaced = [item for item in self.unplaced if id(item) not in used]

    def _report(self, each: KeyframerNode, choice: rest.Choice) -> None:
        if choice.difference > 0.01:
            picture = "the keyframer's picture is taken" if choice.formula else "the stored vertices are kept"
            self.context.report(
                SCENE_REST_POSE, each.chunk, percent=100 * min(choice.difference, 1e9), choice=picture, rule=choice.rule
            )

    def _place_without_node(self, item: objects.MeshObject | objects.PlacedCamera | objects.PlacedLight) -> None:
        """An object that the keyframer does not know stands where the editor has it."""
        node = Node(self.names.claim(self.context.text(item.name)), raw_name=item.name)
        if isinstance(item, objects.MeshObject):
            node.mesh = len(self.scene.meshes)
            node.hidden = item.hidden
            self.scene.meshes.append(item.mesh)
        elif isinstance(item, objects.PlacedCamera):
            node.kind, node.camera = NodeKind.CAMERA, len(self.scene.cameras)
            node.position = np.array(item.position)
            self.scene.cameras.append(item.camera)
        else:
            node.kind, node.light = NodeKind.LIGHT, len(self.scene.lights)
            node.position = np.array(item.position)
            self.scene.lights.append(item.light)
        self.scene.nodes.append(node)

    def _keep_the_rest(self, document: Document) -> None:
        """What stands beside editor, keyframer and materials, and what the keyframer holds besides nodes."""
        known: tuple[type[Chunk], ...] = (r.Editor, r.Keyframer, r.Material)
        kept = [leftover(each) for top in document.records for each in top.children if not isinstance(each, known)]
        keyframer = document.first(r.Keyframer)
        if keyframer is not None:
            usual = (r.Node, r.KeyframerHeader, r.Frames, r.CurrentTime)
            kept += [leftover(each) for each in keyframer.children if not isinstance(each, usual)]
        if kept:
            self.scene.extras.setdefault("3ds", {})["chunks"] = kept
        if document.trailing:
            self.scene.extras.setdefault("3ds", {})["trailing"] = document.trailing.hex()


def _with_positions(mesh: Mesh, positions: Floats) -> Mesh:
    """A copy of a mesh with other vertices."""
    return Mesh(
        mesh.name,
        positions,
        mesh.corners,
        uv=mesh.uv,
        smoothing=mesh.smoothing,
        edges=mesh.edges,
        face_materials=mesh.face_materials,
        axes=mesh.axes,
        casts_shadows=mesh.casts_shadows,
        receives_shadows=mesh.receives_shadows,
        extras=mesh.extras,
        raw_name=mesh.raw_name,
    )
