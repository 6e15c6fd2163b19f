"""Write nodes of the keyframer, and the objects of the editor that they refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Track
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.key_tracks import KeyFitter, single_key
from keyframer.formats.kit.mesh_writing import MeshPiece, split_mesh
from keyframer.formats.kit.rigid_joints import nodes_depth_first
from keyframer.formats.kit.scene_writing import UniqueByteNames, plain_path
from keyframer.formats.kit.unsupported_features import MOTION
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.declared_fields import BOUNDING_BOX, CONE
from keyframer.formats.threeds.bridge.original_conventions import OriginalConventions
from keyframer.formats.threeds.bridge.write_motion import (
    find_aims,
    names_shapes,
    rotation_key,
    without_mirrors,
    write_hide_track,
    write_morph_track,
    write_track,
)
from keyframer.formats.threeds.bridge.write_objects import MapNames, write_camera, write_light, write_mesh
from keyframer.formats.threeds.chunk import Chunk
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.posing.rest_pose import world_at
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Channel, Clip, LightType, Mesh, Node, NodeKind, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import (
    DETAIL_UNSUPPORTED,
    FIELD_UNSUPPORTED,
    KIND_CHANGED,
    MESH_SPLIT,
    MORPHS_UNSUPPORTED,
    NAME_CHANGED,
    SCALE_AXES_UNSUPPORTED,
    TIMES_ROUNDED,
    TRANSFORM_APPLIED,
)
from keyframer.text import encode_name

RESERVED = (b"$$$DUMMY", b"DUMMY", b"$AMBIENT$", b"$_$_$_$")
_PRIMARY, _HIDDEN = 1 << 14, 1 << 11
_MOST_IN_MESH = 65_535
"""counts of vertices and faces have 16 bits"""
_ORIGIN = (0.0, 0.0, 0.0)
_MIRROR = (-1.0, 1.0, 1.0)
_NUMBERS = {*MOTION, "fov", "roll", "color", "hotspot", "falloff", "morph"}
"""kinds of tracks that are fitted to frames"""
_TRACK_KINDS: dict[type[Chunk], tuple[str, ...]] = {
    r.CameraNode: ("position", "fov", "roll"),
    r.CameraTargetNode: ("position",),
    r.OmniNode: ("position", "color"),
    r.SpotNode: ("position", "color", "hotspot", "falloff", "roll"),
    r.SpotTargetNode: ("position",),
    r.AmbientNode: ("color",),
}
"""tracks of each kind of node, in the order of the format; objects have `MOTION`"""


_LONGEST_NAME = 10
"""bytes of a name"""


class _NodeDetails(NamedTuple):
    """What the chunk of a node may have besides its name, its parent and its tracks."""

    instance: bytes | None = None
    hidden: bool = False
    box: Any = None
    pivot: tuple[float, ...] = _ORIGIN


class NodeWriter:
    """Writes nodes: fits their tracks to frames, places them at frame 0, then writes one after the other."""

    def __init__(self, scene: Scene, fitter: KeyFitter, report: LossReport, original: OriginalConventions) -> None:
        self.source = scene
        """the scene in the axes of 3D Studio, with its mirrored nodes"""
        self.scene, self.flipped = scene, np.zeros(len(scene.nodes), bool)
        self.fitter = fitter
        self.report = report
        self.original = original
        if not original.exists:  # mirrored nodes of an original document are kept
            self.scene, self.flipped = without_mirrors(scene, report)
        self.keep_key_flags = scene.source_format == FORMAT.name
        """whether key flags of the scene select the floats that are stored; see `tcb_keys`"""
        self.fitted = self._fit()
        self.world, self.points = self._at_rest()
        self.names = UniqueByteNames(_LONGEST_NAME, reserved=(*RESERVED, *original.taken_names))
        self.objects: list[Chunk] = []
        self.nodes: list[Chunk] = []
        self.parts: dict[int, tuple[str, int]] = {}
        """scene node of each object and keyframer node, by the `id` of its chunk"""
        self.numbers: dict[int, int] = {}
        """keyframer number of each scene node"""
        self.next_number = original.first_new_number
        """number of the next new node"""
        self.written_objects: set[int] = set()
        """`id` of the objects of the original document that are written already"""

    def _fit(self) -> dict[int, dict[str, Track]]:
        """Fit the tracks of nodes to frames, except in `_unwritten_branches`."""
        fitted_tracks: dict[int, dict[str, Track]] = {}
        unwritten = self._unwritten_branches()
        clip = self.scene.clips[0] if self.scene.clips else Clip()
        channels = [each for each in clip.channels if each.node not in unwritten and each.track.kind in _NUMBERS]
        self.fitter.fit_ahead(channel.track for channel in channels)
        for channel in channels:
            kind, node = channel.track.kind, self.scene.nodes[channel.node]
            tracks_of_node = fitted_tracks.setdefault(channel.node, {})
            if kind not in tracks_of_node:
                fitted = self.fitter.fit(channel.track, f"{plain_path('nodes', node.name)}/{kind}")
                if fitted is not None:
                    tracks_of_node[kind] = fitted
        return fitted_tracks

    def _unwritten_branches(self) -> set[int]:
        """Return nodes of the document that are not written, with no written node below them."""
        unwritten = set(self.original.untouched)
        for number in range(len(self.scene.nodes)):
            parent = self.scene.nodes[number].parent if number not in self.original.untouched else None
            while parent in unwritten:
                unwritten.discard(parent)
                parent = self.scene.nodes[parent].parent
        return unwritten

    def _at_rest(self) -> tuple[Floats, dict[int, Floats]]:
        """Return the world matrices at frame 0 as readers of the file compute them, and the vertices of new meshes.

        The vertices (V, 3) are those of the scene at frame 0, in scene space, by node.
        """
        nodes = list(self.scene.nodes)
        for number, node in enumerate(nodes):
            if node.scale_axes_xyzw is not None:
                nodes[number] = replace(node, scale_axes_xyzw=None)
                path = f"{plain_path('nodes', node.name)}/scale_axes"
                if "scale" in self.fitted.get(number, ()):
                    self.report.add(SCALE_AXES_UNSUPPORTED["animated"], path)
                elif self._has_free_descendants(number):
                    self.report.add(SCALE_AXES_UNSUPPORTED["below"], path)
        kinds = (*MOTION, "roll")
        channels = [
            Channel(number, track)
            for number, tracks in self.fitted.items()
            for kind, track in tracks.items()
            if kind in kinds
        ]
        clip = Clip(channels=channels)
        world = world_at(replace(self.scene, nodes=nodes, clips=[clip]), clip, 0.0)
        new = [n for n, node in enumerate(self.source.nodes) if node.mesh is not None and n not in self.original.nodes]
        if not new:
            return world, {}
        rig = Rig(self.source)
        source_world = rig.world(rig.sample([0.0]), 1)
        return world, {number: posed_vertices(self.source, number, source_world, None)[0] for number in new}

    def _has_free_descendants(self, number: int) -> bool:
        """Return whether a node below this one moves by itself or has no mesh: its vertices cannot make up for a
        different scale of this node.
        """
        order = evaluation_order(self.scene.nodes)
        below = {number}
        for other in order.flat.tolist():
            if int(order.parents[other]) in below:
                below.add(other)
                if self.scene.nodes[other].mesh is None or self.fitted.get(other, {}).keys() & set(MOTION):
                    return True
        return False

    def write_all(self, materials: list[bytes], maps: MapNames) -> None:
        """Write all nodes except untouched ones, parents before children: assimp finds parents only in this order.

        ``materials`` are the stored names of the materials.
        """
        self.materials, self.maps = materials, maps
        self.needs_node = self._objects_that_need_nodes()
        self.without_node = self.original.editor_only - self.needs_node
        """nodes that stay editor objects without a keyframer node"""
        existing = set(self.original.nodes) - self.needs_node
        self.aims = find_aims(self.scene, self.world, self.fitter, existing)
        self.aimed_at = {aim.node: number for number, aim in self.aims.items() if aim.node is not None}
        """the camera or light that is aimed at each target"""
        parents = evaluation_order(self.scene.nodes).parents.tolist()
        order = list(nodes_depth_first(parents, range(len(parents))))
        self.instances = self._find_instances(order)
        fits = {number: len(encode_name(node.name)) <= _LONGEST_NAME for number, node in enumerate(self.scene.nodes)}
        self.stored_names = {  # cut names give way to those that fit
            number: self._claim_name(number, self.scene.nodes[number])
            for number in sorted(fits, key=lambda n: not fits[n])
        }
        for number in order:
            if number not in self.original.untouched:
                self._write_node(number, self.scene.nodes[number])
            elif number in self.original.numbers:
                self.numbers[number] = self.original.numbers[number]
        for number, aim in self.aims.items():
            if aim.position is not None:  # a new target
                parent = None if aim.parent is None else self.numbers.get(aim.parent)
                kind = r.SpotTargetNode if self.scene.nodes[number].camera is None else r.CameraTargetNode
                tracks: list[Chunk] = [write_track(aim.position, False)]
                target_number = self._claim_number(None)
                self._add_node(None, kind, self.stored_names[number], parent, tracks, target_number, _NodeDetails())

    def _find_instances(self, order: Sequence[int]) -> dict[int, int]:
        """Return new nodes that show the mesh of another new node, which is written before, by that node."""
        first: dict[tuple[object, ...], int] = {}
        instances = {}
        for number in order:
            node, matrix = self.scene.nodes[number], self.world[number]
            if node.mesh is None or node.morph is not None or node.skin is not None or number in self.original.nodes:
                continue
            sign = np.sign(affine.determinant(matrix))
            key = (node.mesh, self.source.nodes[number].mesh, *map(float, node.pivot), bool(self.flipped[number]), sign)
            if key not in first:
                first[key] = number
            elif self._keeps_shape(first[key], number):
                instances[number] = first[key]
        return instances

    def _keeps_shape(self, first: int, number: int) -> bool:
        """Return whether the vertices of two nodes, relative to them, are the same, and one object can store them."""
        if len(split_mesh(self.scene.meshes[self.scene.nodes[number].mesh or 0], _MOST_IN_MESH)) > 1:
            return False
        with np.errstate(all="ignore"):
            own, other = (
                affine.transform_points(affine.inverse(self.world[n]), self.points[n]) for n in (first, number)
            )
            return bool(np.abs(own - other).max(initial=0.0) <= 1e-5 * np.abs(own).max(initial=1e-30))

    def _objects_that_need_nodes(self) -> frozenset[int]:
        """Return editor objects without a keyframer node in the document that now need one."""
        if not self.original.editor_only:
            return frozenset()
        parents = {node.parent for node in self.scene.nodes}
        animated = {channel.node for channel in (self.scene.clips[0].channels if self.scene.clips else [])}
        numbers = set()
        for number in self.original.editor_only:
            node = self.scene.nodes[number]
            transformed = np.any(node.position) or np.any(np.asarray(node.scale) != 1) or np.any(node.rotation_xyzw[:3])
            linked = node.parent is not None or number in parents or number in animated or node.morph is not None
            if linked or (node.mesh is not None and transformed):
                numbers.add(number)
        return frozenset(numbers)

    def _claim_name(self, number: int, node: Node) -> bytes:
        """Return the stored name of a node; empty for new targets and ambient lights, which `_write_node` names."""
        if number in self.original.names and not (number in self.needs_node and self.original.shares_name(number)):
            return self.original.names[number]
        if number in self.aimed_at or node.kind is NodeKind.AMBIENT:
            return b""
        if number in self.instances:
            owner = self.scene.nodes[self.instances[number]].name
            name = self.names.claim(node.name.removeprefix(f"{owner}."))
            if f"{owner}.{self.names.decode(name)}" != node.name:
                path, instance = plain_path("nodes", node.name), self.names.decode(name)
                self.report.add(NAME_CHANGED["instance"], path, owner=owner, instance=instance)
            return name
        return self.names.claim_for(node, self.report, rule=": names have at most 10 characters and must be unique")

    def _claim_number(self, number: int | None) -> int:
        """Return the keyframer number of a node: that of the document, or the next free one."""
        keyframer_number = None if number is None else self.original.numbers.get(number)
        if keyframer_number is None:
            keyframer_number, self.next_number = self.next_number, self.next_number + 1
        if number is not None:
            self.numbers[number] = keyframer_number
        return keyframer_number

    def _write_node(self, number: int, node: Node) -> None:
        parent = None if node.parent is None else self.numbers.get(node.parent)
        name, instance, box = self.stored_names[number], None, None
        kind: type[r.Node]
        pivot: tuple[float, ...] = _ORIGIN
        if number in self.aimed_at:
            aimed = self.aimed_at[number]
            name = self.stored_names[aimed]
            kind = r.SpotTargetNode if self.scene.nodes[aimed].camera is None else r.CameraTargetNode
        elif node.light is not None and self.scene.lights[node.light].type is LightType.AMBIENT:
            kind, name, parent = r.AmbientNode, b"$AMBIENT$", None
        elif node.camera is not None:
            kind = r.CameraNode
            self._write_camera(number, node, name)
        elif node.light is not None:
            kind = r.OmniNode if self.aims.get(number) is None else r.SpotNode
            self._write_light(number, node, name)
        elif number in self.instances:
            tracks = self._tracks(number, node, MOTION)
            hidden = self._add_visibility(tracks, number, node)
            shown, details = self.stored_names[self.instances[number]], _NodeDetails(name, hidden)
            self._add_node(number, r.ObjectNode, shown, parent, tracks, self._claim_number(number), details)
            return
        elif node.mesh is not None:
            self._write_mesh_node(number, node, name, parent)
            return
        else:
            chunk = self.original.chunk(number)
            if chunk is not None and node.kind is not NodeKind.DUMMY:  # keeps the type of its chunk
                kind, instance = type(chunk), self._instance(number)
            else:
                if node.kind is not NodeKind.DUMMY:
                    path, reason = plain_path("nodes", node.name), "no mesh, camera or light belongs to this node"
                    self.report.add(KIND_CHANGED["reason"], path, extras=node.extras, kind="a dummy", reason=reason)
                kind, name, instance = r.ObjectNode, b"$$$DUMMY", name
                box, pivot = node.bounding_box, self._pivot(number, node)
        tracks = self._tracks(number, node, _TRACK_KINDS.get(kind, MOTION))
        roll = self.aims[number].roll if node.camera is not None else None
        if roll is not None:  # which replaces the rotation of a free camera
            tracks[-1] = write_track(roll, False)
        hidden = self._add_visibility(tracks, number, node)
        if number in self.without_node:
            return
        file_number = -1
        if kind is r.AmbientNode:  # the ambient light has no number, so it cannot be a parent
            self.next_number += number not in self.original.nodes
        else:
            file_number = self._claim_number(number)
        details = _NodeDetails(instance, hidden, box, pivot)
        self._add_node(number, kind, name, parent, tracks, file_number, details)

    def _add_node(
        self,
        number: int | None,
        kind: type[r.Node],
        name: bytes,
        parent: int | None,
        tracks: list[Chunk],
        file_number: int,
        details: _NodeDetails,
    ) -> None:
        """Add the chunk of a node; ``number`` is its number in the scene, None for a target that the writer made.

        B030 precedes B010, because some readers need the number before the name.
        """
        flags = _PRIMARY | (_HIDDEN if details.hidden else 0)
        parts: list[Chunk] = [r.NodeId(file_number), r.NodeHeader(name, flags, 0, -1 if parent is None else parent)]
        if details.instance is not None:
            parts.append(r.InstanceName(details.instance))
        if kind is r.ObjectNode:
            parts.append(r.Pivot(details.pivot))
        chunk = kind(children=[*parts, *BOUNDING_BOX.put(details.box), *tracks])
        self.nodes.append(chunk)
        if number is not None:
            self.parts[id(chunk)] = ("nodes", number)

    def _pivot(self, number: int, node: Node) -> tuple[float, ...]:
        """Return the pivot of a node of the original document; pivots of new nodes are applied to their vertices."""
        return tuple(map(float, node.pivot)) if number in self.original.nodes else _ORIGIN

    def _instance(self, number: int) -> bytes | None:
        """Return the original instance name, which distinguishes nodes that show the same mesh."""
        instance = child(self.original.chunk(number), r.InstanceName)
        return None if instance is None else instance.name

    def _tracks(self, number: int, node: Node, kinds: tuple[str, ...]) -> list[Chunk]:
        """Return the tracks of a node, in the order of ``kinds``.

        A kind without keys gets a key with the rest value; in a node of the original document, only if readers need it.
        """
        fitted = self.fitted.get(number, {})
        rest = {"position": single_key("position", node.position), "scale": single_key("scale", node.scale)}
        rest["rotation"] = rotation_key(node.rotation_xyzw)
        if number in self.original.nodes and number not in self.original.editor_only:
            rest = {kind: key for kind, key in rest.items() if not self.original.stores_rest(number, node, kind)}
        else:
            roll = 0.0
            if node.camera is not None:
                roll = self.scene.cameras[node.camera].roll_degrees
                rest["fov"] = single_key("fov", self.scene.cameras[node.camera].fov_degrees)
            if node.light is not None:
                light = self.scene.lights[node.light]
                roll = light.roll_degrees if node.camera is None else roll
                rest["color"] = single_key("color", light.color)
                for kind, angle in zip(("hotspot", "falloff"), write_declared_fields(light, CONE), strict=True):
                    rest[kind] = single_key(kind, angle)
            rest["roll"] = single_key("roll", roll)
        absolute = self.original.is_absolute(number)
        tracks = [fitted.get(kind) or rest.get(kind) for kind in kinds]
        return [write_track(track, self.keep_key_flags, absolute=absolute) for track in tracks if track is not None]

    def _add_visibility(self, tracks: list[Chunk], number: int, node: Node) -> bool:
        """Return whether the node is hidden at first, and add a hide track if its visibility changes."""
        for channel in self.scene.channels_of(number):
            if channel.track.kind == "visible":
                times = self.fitter.times(channel.track.times)
                frames = np.rint(times)
                error = np.nan_to_num(np.abs(frames - times)).max(initial=0.0) / self.fitter.rules.per_second
                if error:
                    path = f"{plain_path('nodes', node.name)}/visible"
                    self.report.add(TIMES_ROUNDED["keys"], path, error=float(error), seconds=float(error))
                hidden, track = write_hide_track(channel.track, frames, node.hidden)
                tracks += [] if track is None else [track]
                return hidden
        return node.hidden

    def _write_camera(self, number: int, node: Node, name: bytes) -> None:
        camera = self.scene.cameras[node.camera or 0]
        if camera.clip is not None and number not in self.original.nodes:
            path = f"{plain_path('cameras', camera.name)}/clip"
            self.report.add(FIELD_UNSUPPORTED["value"], path, what="clip planes")
        body = write_camera(camera, self.world[number, :3, 3], self.aims[number].point)
        self._add_camera_or_light(number, node, name, body)

    def _write_light(self, number: int, node: Node, name: bytes) -> None:
        light = self.scene.lights[node.light or 0]
        aim = self.aims.get(number)
        if light.type is LightType.DIRECTIONAL:
            path = plain_path("lights", light.name or node.name)
            self.report.add(KIND_CHANGED["light"], path, lights="directional")
        body = write_light(light, self.world[number, :3, 3], None if aim is None else aim.point, self.maps)
        self._add_camera_or_light(number, node, name, body)

    def _add_camera_or_light(self, number: int, node: Node, name: bytes, body: Chunk) -> None:
        hidden = node.hidden and number in self.original.nodes and self.original.hides_object(number)
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        self._add_object(number, r.NamedObject(name, children=[*flags, body]))

    def _write_mesh_node(self, number: int, node: Node, name: bytes, parent: int | None) -> None:
        """Write the pieces of a mesh, each as an object with a node; the first piece is the parent of the others."""
        mesh, path = self.scene.meshes[node.mesh or 0], plain_path("nodes", node.name)
        is_new = number not in self.original.nodes
        if is_new and mesh.axes is not None:
            self.report.add(TRANSFORM_APPLIED["mesh axes"], f"{path}/axes")
        if is_new and np.any(node.pivot):
            self.report.add(TRANSFORM_APPLIED["pivot"], f"{path}/pivot", extras=node.extras)
        if is_new and node.bounding_box is not None:
            self.report.add(DETAIL_UNSUPPORTED["bounding box"], f"{path}/bounding_box")
        matrix, points = self._matrix_and_points(number)
        pieces = split_mesh(mesh, _MOST_IN_MESH)
        if len(pieces) > 1:
            reason = f"{len(mesh.positions)} vertices and {len(mesh.corners)} faces are too many for one"
            self.report.add(MESH_SPLIT["pieces"], path, pieces=len(pieces), reason=reason)
        elif len(pieces[0].vertices) > len(mesh.positions):
            self.report.add(MESH_SPLIT["seams"], path, count=len(pieces[0].vertices) - len(mesh.positions))
        reverse = bool(self.flipped[number])
        first_number = -1 if number in self.without_node else self._claim_number(number)
        for index, piece in enumerate(pieces):
            object_name = name if index == 0 else self.names.claim(self.names.decode(name))
            body = write_mesh(mesh, piece, points, matrix, self.materials, reverse=reverse)
            file_number = first_number if index == 0 else self._claim_number(None)
            tracks = self._tracks(number if index == 0 else -1, node if index == 0 else Node(""), MOTION)
            if index == 0 and node.morph is not None:
                tracks += self._morph(number, node, object_name, matrix, pieces)
            hidden = self._add_visibility(tracks, number, node)
            hides_object = hidden and not any(isinstance(track, r.HideTrack) for track in tracks)
            if not is_new:
                hides_object = hidden and self.original.hides_object(number)
            self._add_object(number, self._object(object_name, mesh, body, hidden=hides_object))
            if number in self.without_node:
                continue
            if index == 0:
                box = None if is_new else node.bounding_box
                details = _NodeDetails(self._instance(number), hidden, box, self._pivot(number, node))
                self._add_node(number, r.ObjectNode, object_name, parent, tracks, file_number, details)
            else:
                details = _NodeDetails(hidden=hidden)
                self._add_node(number, r.ObjectNode, object_name, first_number, tracks, file_number, details)

    def _matrix_and_points(self, number: int) -> tuple[Floats, Floats]:
        """Return the matrix for chunk 4160, and the vertices to store.

        The matrix of a new node with scale 0 has no inverse: the identity and vertices in local space are stored.
        """
        original = self.original.mesh_matrices(number, needs_node=number in self.needs_node)
        node = self.source.nodes[number]
        positions = self.source.meshes[node.mesh or 0].positions
        if original is not None:
            to_stored, matrix = original
            return matrix, affine.transform_points(to_stored, positions)
        matrix, points = self.world[number], self.points[number]
        determinant = float(affine.determinant(matrix))
        if abs(determinant) > 1e-9 * float(np.abs(matrix[:3, :3]).max()) ** 3:
            if determinant < 0:  # such as a camera's child under a mirror; the scene reader mirrors X again
                local = affine.transform_points(affine.inverse(matrix), points)
                points = affine.transform_points(matrix, local * _MIRROR)
            return matrix, points
        local = np.asarray(positions, np.float64) - node.pivot
        return np.eye(4), local * _MIRROR if self.flipped[number] else local

    def _morph(self, number: int, node: Node, name: bytes, matrix: Floats, pieces: Sequence[MeshPiece]) -> list[Chunk]:
        """Return the morph track, if it can be stored; shapes of new nodes become hidden objects."""
        track = self.fitted.get(number, {}).get("morph")
        path = f"{plain_path('nodes', node.name)}/morph"
        if track is None or node.morph is None:
            self.report.add(MORPHS_UNSUPPORTED["unused"], path)
            return []
        mesh = self.scene.meshes[node.mesh or 0]
        names = [encode_name(shape_name) for shape_name in node.morph.names]
        if len(pieces) > 1 or not names_shapes(track):
            self.report.forget(path)  # reports about its keys
            self.report.add(MORPHS_UNSUPPORTED["blended"], path)
            return []
        if number in self.original.nodes:  # whose shapes are objects of the document
            return [write_morph_track(track, names, self.keep_key_flags)]
        flip = _MIRROR if self.flipped[number] else (1.0, 1.0, 1.0)
        pivot = self.source.nodes[number].pivot
        for index, (shape_name, shape) in enumerate(zip(node.morph.names, node.morph.positions, strict=True)):
            if np.allclose(shape, mesh.positions, rtol=1e-6, atol=1e-9):
                names[index] = name
                continue
            names[index] = self.names.claim(shape_name)
            local = (np.asarray(shape, np.float64) - pivot) * flip
            points = affine.transform_points(matrix, local)
            body = write_mesh(mesh, pieces[0], points, matrix, [], reverse=bool(self.flipped[number]))
            self.objects.append(self._object(names[index], mesh, body, hidden=True))
        return [write_morph_track(track, names, self.keep_key_flags)]

    @staticmethod
    def _object(name: bytes, mesh: Mesh, body: r.Mesh, *, hidden: bool) -> r.NamedObject:
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        flags += [] if mesh.casts_shadows else [r.ObjectDoesNotCast()]
        flags += [] if mesh.receives_shadows else [r.ObjectReceivesNoShadow()]
        return r.NamedObject(name, children=[*flags, body])

    def _add_object(self, number: int, named_object: r.NamedObject) -> None:
        """Add an object, unless another node has added the same object of the original document already."""
        original_object = self.original.object(number)
        if original_object is not None:
            if id(original_object) in self.written_objects:
                return
            self.written_objects.add(id(original_object))
            _place_groups(original_object, named_object)
        self.parts[id(named_object)] = ("nodes", number)
        self.objects.append(named_object)


def _place_groups(original_object: r.NamedObject, named_object: r.NamedObject) -> None:
    """Move face groups from the faces to the mesh if the original has them there, as 5 of 544 real files do."""
    original_body, body = child(original_object, r.Mesh), child(named_object, r.Mesh)
    faces = child(body, r.FaceArray)
    if original_body is None or body is None or faces is None:
        return
    kinds = tuple({type(part) for part in original_body.children} & {r.MaterialGroup, r.SmoothGroups})
    body.children += [part for part in faces.children if isinstance(part, kinds)]
    faces.children = [part for part in faces.children if not isinstance(part, kinds)]
