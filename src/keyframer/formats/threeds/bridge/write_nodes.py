"""Write nodes of the keyframer, and the objects of the editor that they refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.formats.kit.mesh_writing import MeshPiece, split_mesh
from keyframer.formats.kit.rigid_joints import nodes_depth_first
from keyframer.formats.kit.scene_writing import UniqueByteNames, plain_path
from keyframer.formats.kit.unsupported_features import MOTION
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.declared_fields import BOUNDING_BOX
from keyframer.formats.threeds.bridge.prepared_scene import PreparedScene
from keyframer.formats.threeds.bridge.write_materials import MapNames
from keyframer.formats.threeds.bridge.write_objects import write_camera, write_light, write_mesh
from keyframer.formats.threeds.bridge.write_targets import Aim, find_aims
from keyframer.formats.threeds.bridge.write_tracks import write_hide_track, write_morph_track, write_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.maths import affine
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import LightType, Mesh, Node, NodeKind
from keyframer.scene.loss_report import LossReport, Outcome

RESERVED = (b"$$$DUMMY", b"DUMMY", b"$AMBIENT$", b"$_$_$_$")
_PRIMARY, _HIDDEN = 1 << 14, 1 << 11
_MOST_IN_MESH = 65_535
"""counts of vertices and faces have 16 bits"""


@dataclass(eq=False)
class NodeDraft:
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


_TRACK_KINDS: dict[type[Chunk], tuple[str, ...]] = {
    r.CameraNode: ("position", "fov", "roll"),
    r.CameraTargetNode: ("position",),
    r.OmniNode: ("position", "color"),
    r.SpotNode: ("position", "color", "hotspot", "falloff", "roll"),
    r.SpotTargetNode: ("position",),
    r.AmbientNode: ("color",),
}
"""tracks of each kind of node, in the order of the format; objects have `MOTION`"""


class NodeWriter:
    """Writes the nodes of a prepared scene one by one."""

    def __init__(self, prepared: PreparedScene, materials: list[bytes], maps: MapNames, report: LossReport) -> None:
        self.prepared = prepared
        self.conventions = prepared.conventions
        self.scene = prepared.scene
        self.materials = materials
        self.maps = maps
        self.report = report
        self.names = UniqueByteNames(10, reserved=(*RESERVED, *self.conventions.taken_names))
        self.objects: list[Chunk] = []
        self.drafts: list[NodeDraft] = []
        self.numbers: dict[int, int] = {}
        """keyframer number of each scene node"""
        self.next_number = self.conventions.first_new_number
        """number of the next new node"""
        self.parts: dict[int, tuple[str, int]] = {}
        """scene node of each object and keyframer node, by the `id` of its chunk"""
        self.written_objects: set[int] = set()
        """`id` of the objects of the original document that are written already"""
        self.needs_node = self._objects_that_need_nodes()
        self.without_node = self.conventions.editor_only - self.needs_node
        """nodes that stay editor objects without a keyframer node"""
        self.aims = find_aims(
            self.scene, prepared.world, prepared.fitter, set(self.conventions.nodes) - self.needs_node
        )
        self.aimed_at = {aim.node: number for number, aim in self.aims.items() if aim.node is not None}
        """the camera or light that is aimed at each target"""
        self.stored_names = {number: self._claim_name(number, node) for number, node in enumerate(self.scene.nodes)}

    def _objects_that_need_nodes(self) -> frozenset[int]:
        """Return editor objects without a keyframer node in the document that now need one."""
        if not self.conventions.editor_only:
            return frozenset()
        parents = {node.parent for node in self.scene.nodes}
        animated = {channel.node for channel in (self.scene.clips[0].channels if self.scene.clips else [])}
        numbers = set()
        for number in self.conventions.editor_only:
            node = self.scene.nodes[number]
            transformed = np.any(node.position) or np.any(np.asarray(node.scale) != 1) or np.any(node.rotation_xyzw[:3])
            linked = node.parent is not None or number in parents or number in animated or node.morph is not None
            if linked or (node.mesh is not None and transformed):
                numbers.add(number)
        return frozenset(numbers)

    def write_all(self) -> None:
        """Write all nodes except untouched ones, parents before children: assimp finds parents only in this order."""
        parents = evaluation_order(self.scene.nodes).parents.tolist()
        for number in nodes_depth_first(parents, range(len(parents))):
            if number in self.conventions.untouched:
                self.numbers |= {number: self.conventions.numbers[number]} if number in self.conventions.numbers else {}
                continue
            count = len(self.drafts)
            self._write_node(number, self.scene.nodes[number])
            for draft in self.drafts[count:]:
                draft.node = number
        for number, aim in self.aims.items():
            if aim.position is not None:
                self._write_new_target(number, aim)

    def chunks(self) -> list[Chunk]:
        """Return the chunks of all written nodes, and add them to ``parts``."""
        node_chunks = [draft.chunk() for draft in self.drafts]
        pairs = zip(node_chunks, self.drafts, strict=True)
        self.parts |= {id(chunk): ("nodes", draft.node) for chunk, draft in pairs if draft.node is not None}
        return list(node_chunks)

    def _claim_number(self, number: int | None) -> int:
        """Return the keyframer number of a node: that of the document, or the next free one."""
        keyframer_number = None if number is None else self.conventions.numbers.get(number)
        if keyframer_number is None:
            keyframer_number, self.next_number = self.next_number, self.next_number + 1
        if number is not None:
            self.numbers[number] = keyframer_number
        return keyframer_number

    def _claim_name(self, number: int, node: Node) -> bytes:
        """Return the stored name of a node; empty for new targets and ambient lights, which `_write_node` names."""
        if number in self.conventions.names:
            return self.conventions.names[number]
        if number in self.aimed_at or node.kind is NodeKind.AMBIENT:
            return b""
        name = self.names.claim(node.name, node.raw_name)
        if self.names.decode(name) != node.name:
            message = f"renamed to {self.names.decode(name)!r}: names have at most 10 characters and must be unique"
            self.report.add(Outcome.BAKED, plain_path("nodes", node.name), message)
        return name

    def _write_node(self, number: int, node: Node) -> None:
        parent = None if node.parent is None else self.numbers.get(node.parent)
        name = self.stored_names[number]
        if number in self.aimed_at:
            aimed = self.aimed_at[number]
            is_camera = self.scene.nodes[aimed].camera is not None
            name = self.stored_names[aimed]
            kind = r.CameraTargetNode if is_camera else r.SpotTargetNode
            draft = NodeDraft(kind, name, parent, self.prepared.tracks(number, node, _TRACK_KINDS[kind]))
        elif node.light is not None and self.scene.lights[node.light].type is LightType.AMBIENT:
            tracks = self.prepared.tracks(number, node, _TRACK_KINDS[r.AmbientNode])
            draft = NodeDraft(r.AmbientNode, b"$AMBIENT$", None, tracks)
        elif node.camera is not None:
            draft = self._camera(number, node, name, parent)
        elif node.light is not None:
            draft = self._light(number, node, name, parent)
        elif node.mesh is not None:
            self._mesh(number, node, name, parent)
            return
        else:
            draft = self._dummy(number, node, name, parent)
        self._set_visibility(draft, number, node)
        if number in self.without_node:
            return
        if draft.kind is r.AmbientNode:  # the ambient light has no number, so it cannot be a parent
            self.next_number += number not in self.conventions.nodes
        else:
            draft.number = self._claim_number(number)
        self.drafts.append(draft)

    def _dummy(self, number: int, node: Node, name: bytes, parent: int | None) -> NodeDraft:
        chunk = self.conventions.chunk(number)
        if chunk is not None and node.kind is not NodeKind.DUMMY:  # keeps the type of its chunk
            tracks = self.prepared.tracks(number, node, _TRACK_KINDS.get(type(chunk), MOTION))
            return NodeDraft(type(chunk), name, parent, tracks, self._instance(number))
        if node.kind is not NodeKind.DUMMY:
            message = "written as a dummy: no mesh, camera or light belongs to this node"
            self.report.add(Outcome.BAKED, plain_path("nodes", node.name), message, extras=node.extras)
        tracks = self.prepared.tracks(number, node, MOTION)
        draft = NodeDraft(r.ObjectNode, b"$$$DUMMY", parent, tracks, name, box=node.bounding_box)
        draft.pivot = self._pivot(number, node)
        return draft

    def _pivot(self, number: int, node: Node) -> tuple[float, ...]:
        """Return the pivot of a node of the original document; pivots of new nodes are applied to their vertices."""
        return tuple(map(float, node.pivot)) if number in self.conventions.nodes else (0.0, 0.0, 0.0)

    def _camera(self, number: int, node: Node, name: bytes, parent: int | None) -> NodeDraft:
        assert node.camera is not None
        camera = self.scene.cameras[node.camera]
        if camera.clip is not None and number not in self.conventions.nodes:
            self.report.add(Outcome.DROPPED, plain_path("cameras", camera.name), "clip planes cannot be stored")
        aim = self.aims[number]
        body = write_camera(camera, self.prepared.world[number, :3, 3], aim.point)
        self._add_camera_or_light(number, node, name, body)
        tracks = self.prepared.tracks(number, node, _TRACK_KINDS[r.CameraNode])
        if aim.roll is not None:
            tracks[-1] = write_track(aim.roll, False)
        return NodeDraft(r.CameraNode, name, parent, tracks)

    def _light(self, number: int, node: Node, name: bytes, parent: int | None) -> NodeDraft:
        assert node.light is not None
        light = self.scene.lights[node.light]
        aim = self.aims.get(number)
        if light.type is LightType.DIRECTIONAL:
            path = plain_path("lights", light.name or node.name)
            self.report.add(Outcome.BAKED, path, "written as a spot light (the format has no directional lights)")
        body = write_light(light, self.prepared.world[number, :3, 3], None if aim is None else aim.point, self.maps)
        self._add_camera_or_light(number, node, name, body)
        kind = r.OmniNode if aim is None else r.SpotNode
        return NodeDraft(kind, name, parent, self.prepared.tracks(number, node, _TRACK_KINDS[kind]))

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
        pieces = split_mesh(mesh, _MOST_IN_MESH)
        if len(pieces) > 1:
            message = f"{len(mesh.positions)} vertices and {len(mesh.corners)} faces are too many for one mesh"
            self.report.add(Outcome.BAKED, path, f"{message}: written as {len(pieces)} pieces")
        elif len(pieces[0].vertices) > len(mesh.positions):
            added = len(pieces[0].vertices) - len(mesh.positions)
            duplicated = "1 vertex was" if added == 1 else f"{added} vertices were"
            self.report.add(Outcome.BAKED, path, f"{duplicated} duplicated at texture seams")
        reverse = bool(self.prepared.flipped[number])
        for index, piece in enumerate(pieces):
            object_name = name if index == 0 else self.names.claim(self.names.decode(name))
            body = write_mesh(mesh, piece, points, matrix, self.materials, reverse=reverse)
            if index == 0:
                draft = NodeDraft(r.ObjectNode, object_name, parent, self.prepared.tracks(number, node, MOTION))
                draft.pivot = self._pivot(number, node)
                draft.instance, draft.box = self._instance(number), self._box(number, node)
                first_number = draft.number = -1 if number in self.without_node else self._claim_number(number)
                if node.morph is not None:
                    draft.tracks += self._morph(number, node, object_name, matrix, pieces)
            else:
                draft = NodeDraft(r.ObjectNode, object_name, first_number, self.prepared.tracks(-1, Node(""), MOTION))
                draft.number = self._claim_number(None)
            self._set_visibility(draft, number, node)
            hidden = draft.hidden and not _has_hide_track(draft)
            if number in self.conventions.nodes:
                hidden = draft.hidden and self.conventions.hides_object(number)
            self._add_object(number, self._object(object_name, mesh, body, hidden=hidden))
            if number not in self.without_node:
                self.drafts.append(draft)

    def _instance(self, number: int) -> bytes | None:
        """Return the original instance name, which distinguishes nodes that show the same mesh."""
        chunk = self.conventions.chunk(number)
        instance = None if chunk is None else child(chunk, r.InstanceName)
        return None if instance is None else instance.name

    def _box(self, number: int, node: Node) -> tuple[Any, Any] | None:
        return node.bounding_box if number in self.conventions.nodes else None

    def _add_camera_or_light(self, number: int, node: Node, name: bytes, body: Chunk) -> None:
        """Add the object of a camera or light."""
        hidden = node.hidden and number in self.conventions.nodes and self.conventions.hides_object(number)
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        self._add_object(number, r.NamedObject(name, children=[*flags, body]))

    def _add_object(self, number: int, named_object: r.NamedObject) -> None:
        """Add an object, unless another node has added the same object of the original document already."""
        original_object = self.conventions.object(number)
        if original_object is not None and id(original_object) in self.written_objects:
            return
        if original_object is not None:
            self.written_objects.add(id(original_object))
            self._replace_shape_vertices(original_object, named_object)
            _place_groups(original_object, named_object)
        self.parts[id(named_object)] = ("nodes", number)
        self.objects.append(named_object)

    def _replace_shape_vertices(self, original_object: r.NamedObject, named_object: r.NamedObject) -> None:
        """Replace the vertices of an object that is a changed morph shape."""
        body = child(named_object, r.Mesh)
        points = None if body is None else child(body, r.PointArray)
        if original_object.name in self.conventions.shapes and points is not None:
            points.points = self.conventions.shapes[original_object.name].astype("<f4")

    @staticmethod
    def _object(name: bytes, mesh: Mesh, body: r.Mesh, *, hidden: bool) -> r.NamedObject:
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        flags += [] if mesh.casts_shadows else [r.ObjectDoesNotCast()]
        flags += [] if mesh.receives_shadows else [r.ObjectReceivesNoShadow()]
        return r.NamedObject(name, children=[*flags, body])

    def _morph(self, number: int, node: Node, name: bytes, matrix: Floats, pieces: list[MeshPiece]) -> list[Chunk]:
        """Return the morph track, if it can be stored; shapes without an object become hidden objects."""
        track = self.prepared.fitted.get(number, {}).get("morph")
        path = f"{plain_path('nodes', node.name)}/morph"
        if track is None or node.morph is None or node.mesh is None:
            self.report.add(Outcome.DROPPED, path, "unused shapes cannot be stored in this format")
            return []
        mesh = self.scene.meshes[node.mesh]
        names = [self._stored_shape_name(shape_name) or name for shape_name in node.morph.names]
        morph_track = None if len(pieces) > 1 else write_morph_track(track, names, self.prepared.keep_key_flags)
        if morph_track is None:
            self.report.losses = [loss for loss in self.report if loss.path != path]  # remove reports about its keys
            self.report.add(Outcome.DROPPED, path, "blended shapes and shapes of split meshes cannot be stored")
            return []
        flip = (-1.0, 1.0, 1.0) if self.prepared.flipped[number] else (1.0, 1.0, 1.0)
        pivot = self.prepared.source.nodes[number].pivot
        for index, (shape_name, shape) in enumerate(zip(node.morph.names, node.morph.positions, strict=True)):
            is_mesh = np.allclose(shape, mesh.positions, rtol=1e-6, atol=1e-9)
            if is_mesh or self._stored_shape_name(shape_name) is not None:
                continue
            names[index] = self.names.claim(shape_name)
            local = (np.asarray(shape, np.float64) - pivot) * flip
            points = local @ matrix[:3, :3].T + matrix[:3, 3]
            original = self.conventions.mesh_matrices(number, needs_node=number in self.needs_node)
            if original is not None:
                points = affine.transform_points(original[0], shape)
            body = write_mesh(mesh, pieces[0], points, matrix, [], reverse=bool(self.prepared.flipped[number]))
            self.objects.append(self._object(names[index], mesh, body, hidden=True))
        morph_track = write_morph_track(track, names, self.prepared.keep_key_flags)
        return [] if morph_track is None else [morph_track]

    def _stored_shape_name(self, shape_name: str) -> bytes | None:
        """Return the stored name of the original mesh object with this name; None without one."""
        return next(
            (name for name in self.conventions.links.mesh_by_name if self.names.decode(name) == shape_name), None
        )

    def _set_visibility(self, draft: NodeDraft, number: int, node: Node) -> None:
        """Set whether the node is hidden at first, and add a hide track if its visibility changes."""
        draft.hidden = node.hidden
        for channel in self.scene.channels_of(number):
            if channel.track.kind == "visible":
                times = self.prepared.fitter.times(channel.track.times)
                frames = np.rint(times)
                error = np.nan_to_num(np.abs(frames - times)).max(initial=0.0) / self.prepared.fitter.rules.per_second
                if error:
                    path = f"{plain_path('nodes', node.name)}/visible"
                    self.report.add(Outcome.APPROXIMATED, path, "times were rounded", error=float(error), unit="second")
                hidden, track = write_hide_track(channel.track, frames, node.hidden)
                draft.hidden = hidden
                if track is not None:
                    draft.tracks.append(track)
                return

    def _write_new_target(self, number: int, aim: Aim) -> None:
        assert aim.position is not None
        is_camera = self.scene.nodes[number].camera is not None
        parent = None if aim.parent is None else self.numbers.get(aim.parent)
        kind = r.CameraTargetNode if is_camera else r.SpotTargetNode
        draft = NodeDraft(kind, self.stored_names[number], parent, [write_track(aim.position, False)])
        draft.number = self._claim_number(None)
        self.drafts.append(draft)


def _place_groups(original_object: r.NamedObject, named_object: r.NamedObject) -> None:
    """Move face groups from the faces to the mesh if the original has them there, as 5 of 544 real files do."""
    bodies = [child(chunk, r.Mesh) for chunk in (original_object, named_object)]
    if bodies[0] is None or bodies[1] is None:
        return
    kinds = tuple({type(part) for part in bodies[0].children} & {r.MaterialGroup, r.SmoothGroups})
    faces = child(bodies[1], r.FaceArray)
    if kinds and faces is not None:
        bodies[1].children += [part for part in faces.children if isinstance(part, kinds)]
        faces.children = [part for part in faces.children if not isinstance(part, kinds)]


def _has_hide_track(draft: NodeDraft) -> bool:
    return any(isinstance(track, r.HideTrack) for track in draft.tracks)
