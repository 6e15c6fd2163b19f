"""Write nodes of the keyframer, and the objects of the editor that they refer to."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.fields import dataclass
from keyframer.formats.kit.mesh_writing import MeshPiece, split_mesh
from keyframer.formats.kit.rigid_joints import nodes_depth_first
from keyframer.formats.kit.scene_writing import UniqueByteNames, plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.declared_fields import BOUNDING_BOX
from keyframer.formats.threeds.bridge.original_conventions import apply
from keyframer.formats.threeds.bridge.prepared_scene import PLACING, PreparedScene
from keyframer.formats.threeds.bridge.write_materials import MapNames
from keyframer.formats.threeds.bridge.write_objects import write_camera, write_light, write_mesh
from keyframer.formats.threeds.bridge.write_targets import Aim, find_aims
from keyframer.formats.threeds.bridge.write_tracks import write_hide_track, write_morph_track, write_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import LightType, Mesh, Node, NodeKind
from keyframer.scene.loss_report import LossReport, Outcome

RESERVED = (b"$$$DUMMY", b"DUMMY", b"$AMBIENT$", b"$_$_$_$")
_PRIMARY, _HIDDEN = 1 << 14, 1 << 11
_MOST = 65_535
"""counts of vertices and faces have 16 bits"""


@dataclass(eq=False)
class Placed:
    """A keyframer node under construction."""

    kind: type[r.Node]
    name: bytes
    parent: int | None
    """keyframer number of the parent"""
    tracks: list[Chunk] = field(default_factory=list)
    instance: bytes | None = None
    hidden: bool = False
    box: tuple[Any, Any] | None = None
    number: int = -1
    pivot: tuple[float, ...] = (0.0, 0.0, 0.0)
    node: int | None = None
    """number in the scene; None for a target that was made for a camera or light"""

    def chunk(self) -> r.Node:
        """Return the chunk of the node. B030 precedes B010, because some readers need the number before the name."""
        flags = _PRIMARY | (_HIDDEN if self.hidden else 0)
        ambient = self.kind is r.AmbientNode
        parent = -1 if self.parent is None else self.parent
        parts: list[Chunk] = [r.NodeId(-1 if ambient else self.number), r.NodeHeader(self.name, flags, 0, parent)]
        if self.instance is not None:
            parts.append(r.InstanceName(self.instance))
        if self.kind is r.ObjectNode:
            parts.append(r.Pivot(self.pivot))
        return self.kind(children=[*parts, *BOUNDING_BOX.put(self.box), *self.tracks])


_KINDS: dict[type[Chunk], tuple[str, ...]] = {
    r.CameraNode: ("position", "fov", "roll"),
    r.CameraTargetNode: ("position",),
    r.OmniNode: ("position", "color"),
    r.SpotNode: ("position", "color", "hotspot", "falloff", "roll"),
    r.SpotTargetNode: ("position",),
    r.AmbientNode: ("color",),
}
"""tracks of nodes, in the order of the format; objects have those that position them"""


class NodeWriter:
    """Writes the nodes of a prepared scene one by one."""

    def __init__(self, prepared: PreparedScene, materials: list[bytes], maps: MapNames, report: LossReport) -> None:
        self.prepared = prepared
        self.conventions = prepared.conventions
        self.scene = prepared.scene
        self.materials = materials
        self.maps = maps
        self.report = report
        self.names = UniqueByteNames(10, reserved=(*RESERVED, *self.conventions.taken))
        self.objects: list[Chunk] = []
        self.placed: list[Placed] = []
        self.numbers: dict[int, int] = {}
        """scene node number to keyframer number"""
        self.free = self.conventions.first
        """number of the next new node"""
        self.parts: dict[int, tuple[str, int]] = {}
        """scene node of each object and keyframer node, by the `id` of its chunk"""
        self.shared: set[int] = set()
        """`id` of objects of the document that are written already"""
        self.needs_node = self._objects_that_need_nodes()
        self.without_node = self.conventions.editor_only - self.needs_node
        """nodes that stay editor objects without a keyframer node"""
        self.aims = find_aims(
            self.scene, prepared.world, prepared.fitter, set(self.conventions.nodes) - self.needs_node
        )
        self.aimed_nodes = {aim.node: number for number, aim in self.aims.items() if aim.node is not None}
        self.claimed = {number: self._claim_name(number, node) for number, node in enumerate(self.scene.nodes)}

    def _objects_that_need_nodes(self) -> frozenset[int]:
        """Return editor objects without a keyframer node in the document that now need one."""
        if not self.conventions.editor_only:
            return frozenset()
        parents = {node.parent for node in self.scene.nodes}
        moved = {channel.node for channel in (self.scene.clips[0].channels if self.scene.clips else [])}
        numbers = set()
        for number in self.conventions.editor_only:
            node = self.scene.nodes[number]
            placed = np.any(node.position) or np.any(np.asarray(node.scale) != 1) or np.any(node.rotation_xyzw[:3])
            linked = node.parent is not None or number in parents or number in moved or node.morph is not None
            if linked or (node.mesh is not None and placed):
                numbers.add(number)
        return frozenset(numbers)

    def place_all(self) -> None:
        """Write all nodes depth first, parents before children: assimp finds parents only in this order."""
        above = evaluation_order(self.scene.nodes).parents.tolist()
        for number in nodes_depth_first(above, range(len(above))):
            if number in self.conventions.untouched:
                self.numbers |= {number: self.conventions.numbers[number]} if number in self.conventions.numbers else {}
                continue
            placed = len(self.placed)
            self._place(number, self.scene.nodes[number])
            for placed_node in self.placed[placed:]:
                placed_node.node = number
        for number, aim in self.aims.items():
            if aim.position is not None:
                self._place_new_target(number, aim)

    def chunks(self) -> list[Chunk]:
        node_chunks = [placed.chunk() for placed in self.placed]
        pairs = zip(node_chunks, self.placed, strict=True)
        self.parts |= {id(chunk): ("nodes", placed.node) for chunk, placed in pairs if placed.node is not None}
        return list(node_chunks)

    def _claim_number(self, number: int | None) -> int:
        """Return the keyframer number of a node: that of the document, or the next free one."""
        known = None if number is None else self.conventions.numbers.get(number)
        if known is None:
            known, self.free = self.free, self.free + 1
        if number is not None:
            self.numbers[number] = known
        return known

    def _claim_name(self, number: int, node: Node) -> bytes:
        """Return the name in the file. A target has the name of its camera or light."""
        if number in self.conventions.names:
            return self.conventions.names[number]
        if number in self.aimed_nodes or node.kind is NodeKind.AMBIENT:
            return b""
        name = self.names.claim(node.name, node.raw_name)
        if self.names.shown(name) != node.name:
            shown = self.names.shown(name)
            self.report.add(
                Outcome.BAKED,
                plain_path("nodes", node.name),
                f"renamed to {shown!r}: names have at most 10 characters and must be unique",
            )
        return name

    def _place(self, number: int, node: Node) -> None:
        parent = None if node.parent is None else self.numbers.get(node.parent)
        name = self.claimed[number]
        if number in self.aimed_nodes:
            aimed = self.aimed_nodes[number]
            is_camera = self.scene.nodes[aimed].camera is not None
            name = self.claimed[aimed]
            kind = r.CameraTargetNode if is_camera else r.SpotTargetNode
            placed = Placed(kind, name, parent, self.prepared.tracks(number, node, _KINDS[kind]))
        elif node.light is not None and self.scene.lights[node.light].type is LightType.AMBIENT:
            tracks = self.prepared.tracks(number, node, _KINDS[r.AmbientNode])
            placed = Placed(r.AmbientNode, b"$AMBIENT$", None, tracks)
        elif node.camera is not None:
            placed = self._camera(number, node, name, parent)
        elif node.light is not None:
            placed = self._light(number, node, name, parent)
        elif node.mesh is not None:
            self._mesh(number, node, name, parent)
            return
        else:
            placed = self._dummy(number, node, name, parent)
        self._hide(placed, number, node)
        if number in self.without_node:
            return
        if placed.kind is r.AmbientNode:  # the ambient light has no number, so it cannot be a parent
            self.free += number not in self.conventions.nodes
        else:
            placed.number = self._claim_number(number)
        self.placed.append(placed)

    def _dummy(self, number: int, node: Node, name: bytes, parent: int | None) -> Placed:
        chunk = self.conventions.chunk(number)
        if chunk is not None and node.kind is not NodeKind.DUMMY:  # it has no mesh in the document either
            tracks = self.prepared.tracks(number, node, _KINDS.get(type(chunk), PLACING))
            return Placed(type(chunk), name, parent, tracks, self._instance(number))
        if node.kind is not NodeKind.DUMMY:
            message = f"written as a dummy: the {node.kind.value} has no mesh, camera or light"
            self.report.add(Outcome.BAKED, plain_path("nodes", node.name), message, extras=node.extras)
        tracks = self.prepared.tracks(number, node, PLACING)
        placed = Placed(r.ObjectNode, b"$$$DUMMY", parent, tracks, name, box=node.bounding_box)
        placed.pivot = self._pivot(number, node)
        return placed

    def _pivot(self, number: int, node: Node) -> tuple[float, ...]:
        """Return the pivot of a node of the original document; pivots of new nodes are applied to their vertices."""
        return tuple(map(float, node.pivot)) if number in self.conventions.nodes else (0.0, 0.0, 0.0)

    def _camera(self, number: int, node: Node, name: bytes, parent: int | None) -> Placed:
        assert node.camera is not None
        camera = self.scene.cameras[node.camera]
        if camera.clip is not None and number not in self.conventions.nodes:
            self.report.add(Outcome.DROPPED, plain_path("cameras", camera.name), "clip planes cannot be stored")
        aim = self.aims[number]
        body = write_camera(camera, self.prepared.world[number, :3, 3], aim.place)
        self._add_object(number, node, name, body)
        tracks = self.prepared.tracks(number, node, _KINDS[r.CameraNode])
        if aim.roll is not None:
            tracks[-1] = write_track(aim.roll, False)
        return Placed(r.CameraNode, name, parent, tracks)

    def _light(self, number: int, node: Node, name: bytes, parent: int | None) -> Placed:
        assert node.light is not None
        light = self.scene.lights[node.light]
        aim = self.aims.get(number)
        if light.type is LightType.DIRECTIONAL:
            path = plain_path("lights", light.name or node.name)
            self.report.add(Outcome.BAKED, path, "written as a spot light (the format has no directional lights)")
        body = write_light(light, self.prepared.world[number, :3, 3], None if aim is None else aim.place, self.maps)
        self._add_object(number, node, name, body)
        kind = r.OmniNode if aim is None else r.SpotNode
        return Placed(kind, name, parent, self.prepared.tracks(number, node, _KINDS[kind]))

    def _mesh(self, number: int, node: Node, name: bytes, parent: int | None) -> None:
        """Write the pieces of a mesh, each as an object with a node; the first piece is the parent of the others."""
        assert node.mesh is not None
        mesh, path = self.scene.meshes[node.mesh], plain_path("nodes", node.name)
        if mesh.axes is not None and number not in self.conventions.nodes:
            self.report.add(Outcome.BAKED, f"{path}/axes", "the mesh axes were replaced by those of its node")
        if np.any(node.pivot) and number not in self.conventions.nodes:
            self.report.add(Outcome.BAKED, f"{path}/pivot", "applied to the vertices", extras=node.extras)
        if node.bounding_box is not None and number not in self.conventions.nodes:
            self.report.add(Outcome.DROPPED, f"{path}/bounding_box", "new objects are written without a bounding box")
        matrix, points = self.prepared.matrix_and_points(number, needs_node=number in self.needs_node)
        parts = split_mesh(mesh, _MOST)
        if len(parts) > 1:
            message = f"{len(mesh.positions)} vertices and {len(mesh.corners)} faces are too many for one mesh"
            self.report.add(Outcome.BAKED, path, f"{message}: written as {len(parts)} pieces")
        elif len(parts[0].vertices) > len(mesh.positions):
            added = len(parts[0].vertices) - len(mesh.positions)
            duplicated = "1 vertex was" if added == 1 else f"{added} vertices were"
            self.report.add(Outcome.BAKED, path, f"{duplicated} duplicated at texture seams")
        reverse = bool(self.prepared.flipped[number])
        for place, piece in enumerate(parts):
            object_name = name if place == 0 else self.names.claim(self.names.shown(name))
            body = write_mesh(mesh, piece, points, matrix, self.materials, reverse=reverse)
            if place == 0:
                placed = Placed(r.ObjectNode, object_name, parent, self.prepared.tracks(number, node, PLACING))
                placed.pivot = self._pivot(number, node)
                placed.instance, placed.box = self._instance(number), self._box(number, node)
                first = placed.number = -1 if number in self.without_node else self._claim_number(number)
                if node.morph is not None:
                    placed.tracks += self._morph(number, node, object_name, matrix, parts)
            else:
                placed = Placed(r.ObjectNode, object_name, first, self.prepared.tracks(-1, Node(""), PLACING))
                placed.number = self._claim_number(None)
            self._hide(placed, number, node)
            hidden = placed.hidden and not _has_hide(placed)
            if number in self.conventions.nodes:
                hidden = placed.hidden and self.conventions.hides_object(number)
            self._keep_object(number, self._object(object_name, mesh, body, hidden=hidden))
            if number not in self.without_node:
                self.placed.append(placed)

    def _instance(self, number: int) -> bytes | None:
        """Return the instance name, which distinguishes nodes of a document that show one mesh."""
        chunk = self.conventions.chunk(number)
        instance = None if chunk is None else child(chunk, r.InstanceName)
        return None if instance is None else instance.name

    def _box(self, number: int, node: Node) -> tuple[Any, Any] | None:
        return node.bounding_box if number in self.conventions.nodes else None

    def _add_object(self, number: int, node: Node, name: bytes, body: Chunk) -> None:
        """Add the object of a camera or light."""
        hidden = node.hidden and number in self.conventions.nodes and self.conventions.hides_object(number)
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        self._keep_object(number, r.NamedObject(name, children=[*flags, body]))

    def _keep_object(self, number: int, written: r.NamedObject) -> None:
        """Add an object, unless another node has added this object of the document already."""
        original_object = self.conventions.object(number)
        if original_object is not None and id(original_object) in self.shared:
            return
        if original_object is not None:
            self.shared.add(id(original_object))
            self._replace_shape_vertices(original_object, written)
        self.parts[id(written)] = ("nodes", number)
        self.objects.append(written)

    def _replace_shape_vertices(self, original_object: r.NamedObject, written: r.NamedObject) -> None:
        """Replace the vertices of an object that is a morph shape."""
        body = child(written, r.Mesh)
        points = None if body is None else child(body, r.PointArray)
        if original_object.name in self.conventions.shapes and points is not None:
            points.points = self.conventions.shapes[original_object.name].astype("<f4")

    @staticmethod
    def _object(name: bytes, mesh: Mesh, body: r.Mesh, *, hidden: bool) -> r.NamedObject:
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        flags += [] if mesh.casts_shadows else [r.ObjectDoesNotCast()]
        flags += [] if mesh.receives_shadows else [r.ObjectReceivesNoShadow()]
        return r.NamedObject(name, children=[*flags, body])

    def _morph(self, number: int, node: Node, name: bytes, matrix: Floats, parts: list[MeshPiece]) -> list[Chunk]:
        """Write the morph track; shapes other than the mesh itself become hidden objects."""
        track = self.prepared.fitted.get(number, {}).get("morph")
        path = f"{plain_path('nodes', node.name)}/morph"
        if track is None or node.morph is None or node.mesh is None:
            self.report.add(Outcome.DROPPED, path, "unused shapes cannot be stored in this format")
            return []
        mesh = self.scene.meshes[node.mesh]
        names = [self._shape(shape_name) or name for shape_name in node.morph.names]
        morph_track = None if len(parts) > 1 else write_morph_track(track, names, self.prepared.announced)
        if morph_track is None:
            self.report.losses = [loss for loss in self.report if loss.path != path]  # without reports about its keys
            self.report.add(Outcome.DROPPED, path, "blended and split shapes cannot be stored")
            return []
        flip = (-1.0, 1.0, 1.0) if self.prepared.flipped[number] else (1.0, 1.0, 1.0)
        pivot = self.prepared.original.nodes[number].pivot
        for place, (shape_name, shape) in enumerate(zip(node.morph.names, node.morph.positions, strict=True)):
            if self._shape(shape_name) is not None or np.allclose(shape, mesh.positions, rtol=1e-6, atol=1e-9):
                continue
            names[place] = self.names.claim(shape_name)
            local = (np.asarray(shape, np.float64) - pivot) * flip
            points = local @ matrix[:3, :3].T + matrix[:3, 3]
            surface = self.conventions.surface(number, needs_node=number in self.needs_node)
            if surface is not None:
                points = apply(surface[0], shape)
            body = write_mesh(mesh, parts[0], points, matrix, [], reverse=bool(self.prepared.flipped[number]))
            self.objects.append(self._object(names[place], mesh, body, hidden=True))
        morph_track = write_morph_track(track, names, self.prepared.announced)
        return [] if morph_track is None else [morph_track]

    def _shape(self, shape_name: str) -> bytes | None:
        """Return the stored name of the object of the document that is a shape; None if there is none."""
        return next((name for name in self.conventions.links.surfaces if self.names.shown(name) == shape_name), None)

    def _hide(self, placed: Placed, number: int, node: Node) -> None:
        placed.hidden = node.hidden
        for channel in self.scene.channels_of(number):
            if channel.track.kind == "visible":
                times = self.prepared.fitter.times(channel.track.times)
                frames = np.rint(times)
                error = np.nan_to_num(np.abs(frames - times)).max(initial=0.0) / self.prepared.fitter.rules.per_second
                if error:
                    path = f"{plain_path('nodes', node.name)}/visible"
                    self.report.add(Outcome.APPROXIMATED, path, "times were rounded", error=float(error), unit="second")
                hidden, track = write_hide_track(channel.track, frames, node.hidden)
                placed.hidden = hidden
                if track is not None:
                    placed.tracks.append(track)
                return

    def _place_new_target(self, number: int, aim: Aim) -> None:
        assert aim.position is not None
        is_camera = self.scene.nodes[number].camera is not None
        parent = None if aim.parent is None else self.numbers.get(aim.parent)
        kind = r.CameraTargetNode if is_camera else r.SpotTargetNode
        placed = Placed(kind, self.claimed[number], parent, [write_track(aim.position, False)])
        placed.number = self._claim_number(None)
        self.placed.append(placed)


def _has_hide(placed: Placed) -> bool:
    return any(isinstance(track, r.HideTrack) for track in placed.tracks)
