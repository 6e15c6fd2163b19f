"""A scene prepared for writing: tracks in frames, transforms at frame 0, no mirrors in a new document.

Readers of 3D Studio files disagree about matrices with a negative determinant (some flip X, some do not). A new
document avoids them: if a node is mirrored in scene space, its local axes are mirrored along X, ``W' = W . X``. Cameras
and lights keep their axes, and a scale that mirrors only at some of its keys is not changed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves import Track
from keyframer.formats import properties_of
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, single_key
from keyframer.formats.kit.scene_writing import Tolerance, plain_path
from keyframer.formats.kit.unsupported_features import MOTION
from keyframer.formats.threeds.bridge.declared_fields import CONE
from keyframer.formats.threeds.bridge.original_conventions import OriginalConventions
from keyframer.formats.threeds.bridge.write_tracks import rotation_key, write_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.posing.rest_pose import world_at
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Channel, Clip, Node, Scene
from keyframer.scene.loss_report import LossReport, Outcome

_FLIP = np.array([-1.0, 1.0, 1.0])
_ROTATION_FLIP = np.array([1.0, -1.0, -1.0, 1.0])
"""signs for quaternions, and for axes with angles: a mirror reverses rotations about axes in its plane"""


def without_mirrors(scene: Scene, report: LossReport) -> tuple[Scene, Flags]:
    """Return the scene with as few mirrored nodes as possible, and which nodes have mirrored axes now.

    Meshes are unchanged.
    """
    signs = np.array([_sign(scene, number, node) for number, node in enumerate(scene.nodes)], np.float64)
    flipped = np.zeros(len(scene.nodes), bool)
    if not (signs < 0).any():
        return scene, flipped
    order = evaluation_order(scene.nodes)
    for number in order.flat.tolist():
        node, parent = scene.nodes[number], int(order.parents[number])
        parent_flipped = bool(parent >= 0 and flipped[parent])
        keeps_axes = node.camera is not None or node.light is not None
        flipped[number] = not keeps_axes and parent_flipped != (signs[number] < 0)
    nodes = list(scene.nodes)
    for number, node in enumerate(scene.nodes):
        parent = int(order.parents[number])
        nodes[number] = _mirrored_node(node, bool(parent >= 0 and flipped[parent]), bool(flipped[number]))
        if flipped[number] and (signs[number] < 0):
            path = f"{plain_path('nodes', node.name)}/scale"
            report.add(Outcome.BAKED, path, "the mirroring was moved from the node to its mesh and children")
    clips = list(scene.clips)
    if clips:
        parents = order.parents
        channels = [
            Channel(
                channel.node,
                _mirrored_track(
                    channel.track, parents[channel.node] >= 0 and flipped[parents[channel.node]], flipped[channel.node]
                ),
            )
            for channel in clips[0].channels
        ]
        clips[0] = replace(clips[0], channels=channels)
    return replace(scene, nodes=nodes, clips=clips), flipped


def _sign(scene: Scene, number: int, node: Node) -> float:
    """Return -1 if a node mirrors at every scale key (at rest, if it has none); else 1."""
    for channel in scene.channels_of(number):
        if channel.track.kind == "scale" and channel.track.values.ndim == 2 and len(channel.track.times):
            return -1.0 if (np.prod(channel.track.values, axis=1) < 0).all() else 1.0
    return -1.0 if np.prod(np.asarray(node.scale, np.float64)) < 0 else 1.0


def _mirrored_node(node: Node, parent_mirrored: bool, node_mirrored: bool) -> Node:
    if not parent_mirrored and not node_mirrored:
        return node
    mirrored = replace(node)
    if parent_mirrored:
        mirrored.position = np.asarray(node.position) * _FLIP
        mirrored.rotation_xyzw = np.asarray(node.rotation_xyzw) * _ROTATION_FLIP
    if parent_mirrored != node_mirrored:
        mirrored.scale = np.asarray(node.scale) * _FLIP
    if node_mirrored:
        mirrored.pivot = np.asarray(node.pivot) * _FLIP
        if node.scale_axes_xyzw is not None:
            mirrored.scale_axes_xyzw = np.asarray(node.scale_axes_xyzw) * _ROTATION_FLIP
    return mirrored


def _mirrored_track(track: Track, parent_mirrored: bool, node_mirrored: bool) -> Track:
    if track.kind == "position" and parent_mirrored:
        return replace(track, values=track.values * _FLIP)
    if track.kind == "rotation" and parent_mirrored:
        return replace(track, values=track.values * _ROTATION_FLIP)
    if track.kind == "scale" and parent_mirrored != node_mirrored:
        return replace(track, values=track.values * _FLIP)
    return track


_ADVICE = "find_rate=true searches for a sufficient frame rate"


class PreparedScene:
    """A scene in the axes of 3D Studio, with tracks in frames; for a new document, `without_mirrors` is applied."""

    def __init__(
        self,
        scene: Scene,
        clip: Clip,
        fps: float,
        max_error: float,
        report: LossReport,
        find_rate: bool = False,
        conventions: OriginalConventions | None = None,
    ) -> None:
        self.conventions = conventions or OriginalConventions()
        self.keep_key_flags = properties_of(scene.source_format).key_flags_are_tcb_bits
        """whether key flags of the scene select the floats that are stored, as in this format; see `tcb_keys`"""
        self.source = scene
        """the scene as it was passed, with its mirrored nodes"""
        self.scene, self.flipped = scene, np.zeros(len(scene.nodes), bool)
        if conventions is None:  # mirrored nodes of the original document are kept
            self.scene, self.flipped = without_mirrors(scene, report)
        rules = KeyRules(fps, 1.0, wraps=True, rate_advice=_ADVICE, find_rate=find_rate)
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, max_error), report)
        self.fitted = self._fit()
        self.world, self.points = self._at_rest()

    def _fit(self) -> dict[int, dict[str, Track]]:
        """Fit the tracks of nodes to frames, except in `_unwritten_branches`."""
        fitted_tracks: dict[int, dict[str, Track]] = {}
        kinds = {*MOTION, "fov", "roll", "color", "hotspot", "falloff", "morph"}
        clip = self.scene.clips[0] if self.scene.clips else Clip()
        unwritten = self._unwritten_branches()
        channels = [
            channel for channel in clip.channels if channel.node not in unwritten and channel.track.kind in kinds
        ]
        self.fitter.fit_ahead(channel.track for channel in channels)
        for channel in clip.channels:
            kind, node = channel.track.kind, self.scene.nodes[channel.node]
            tracks_of_node = fitted_tracks.setdefault(channel.node, {})
            if channel.node not in unwritten and kind in kinds and kind not in tracks_of_node:
                fitted = self.fitter.fit(channel.track, f"{plain_path('nodes', node.name)}/{kind}")
                if fitted is not None:
                    tracks_of_node[kind] = fitted
        return fitted_tracks

    def _unwritten_branches(self) -> set[int]:
        """Return nodes of the document that are not written, with no written node below them."""
        unwritten = set(self.conventions.untouched)
        for number in range(len(self.scene.nodes)):
            parent = self.scene.nodes[number].parent if number not in self.conventions.untouched else None
            while parent in unwritten:
                unwritten.discard(parent)
                parent = self.scene.nodes[parent].parent
        return unwritten

    def _at_rest(self) -> tuple[Floats, dict[int, Floats]]:
        """Return the world matrices at frame 0 as readers of the file compute them, and the vertices of new meshes.

        The vertices (V, 3) are those of the scene at frame 0, in scene space, by node.
        """
        channels = [
            Channel(number, track)
            for number, tracks in self.fitted.items()
            for kind, track in tracks.items()
            if kind in (*MOTION, "roll")
        ]
        nodes = [
            node if node.scale_axes_xyzw is None else replace(node, scale_axes_xyzw=None) for node in self.scene.nodes
        ]
        for number, node in enumerate(self.scene.nodes):
            if node.scale_axes_xyzw is not None and "scale" in self.fitted.get(number, ()):
                path = f"{plain_path('nodes', node.name)}/scale_axes"
                self.fitter.report.add(Outcome.DROPPED, path, "animated scale is always along the axes of the node")
        clip = Clip(channels=channels)
        world = world_at(replace(self.scene, nodes=nodes, clips=[clip]), clip, 0.0)
        with_mesh = [number for number, node in enumerate(self.source.nodes) if node.mesh is not None]
        new_nodes = [number for number in with_mesh if number not in self.conventions.nodes]
        if not new_nodes:
            return world, {}
        rig = Rig(self.source)
        source_world = rig.world(rig.sample([0.0]), 1)
        return world, {number: posed_vertices(self.source, number, source_world, None)[0] for number in new_nodes}

    def tracks(self, number: int, node: Node, kinds: tuple[str, ...]) -> list[Chunk]:
        """Return the tracks of a node, in the order of ``kinds``.

        A kind without keys gets a key with the rest value; in a node of the original document, only if readers need it.
        """
        fitted = self.fitted.get(number, {})
        absolute = self.conventions.is_absolute(number)
        if number in self.conventions.nodes and number not in self.conventions.editor_only:
            rest = self._rest_keys(number, node)
            tracks = [fitted.get(kind) or rest.get(kind) for kind in kinds]
            return [write_track(track, self.keep_key_flags, absolute=absolute) for track in tracks if track is not None]
        rest = {"position": single_key("position", node.position), "scale": single_key("scale", node.scale)}
        rest["rotation"] = rotation_key(node.rotation_xyzw)
        rest["roll"] = single_key("roll", self._rest_roll(node))
        if node.camera is not None:
            rest["fov"] = single_key("fov", self.scene.cameras[node.camera].fov_degrees)
        if node.light is not None:
            light = self.scene.lights[node.light]
            rest["color"] = single_key("color", light.color)
            for kind, angle in zip(("hotspot", "falloff"), write_declared_fields(light, CONE), strict=True):
                rest[kind] = single_key(kind, angle)
        tracks = [fitted.get(kind) or rest.get(kind) for kind in kinds]
        return [write_track(track, self.keep_key_flags) for track in tracks if track is not None]

    def _rest_keys(self, number: int, node: Node) -> dict[str, Track]:
        """Return single keys for the rest values of a node that readers would not get without them."""
        names = [
            name
            for name in ("position", "rotation_xyzw", "scale")
            if not self.conventions.stores_rest(number, node, name)
        ]
        tracks = [
            rotation_key(node.rotation_xyzw) if name == "rotation_xyzw" else single_key(name, getattr(node, name))
            for name in names
        ]
        return {track.kind: track for track in tracks}

    def _rest_roll(self, node: Node) -> float:
        if node.camera is not None:
            return self.scene.cameras[node.camera].roll_degrees
        return 0.0 if node.light is None else self.scene.lights[node.light].roll_degrees

    def matrix_and_points(self, number: int, *, needs_node: bool = False) -> tuple[Floats, Floats]:
        """Return the matrix for chunk 4160, and the vertices to store.

        The matrix of a new node with scale 0 has no inverse: the identity and vertices in local space are stored.
        """
        original = self.conventions.mesh_matrices(number, needs_node=needs_node)
        if original is not None:
            to_stored, matrix = original
            node = self.source.nodes[number]
            return matrix, affine.transform_points(to_stored, self.source.meshes[node.mesh or 0].positions)
        matrix, points = self.world[number], self.points[number]
        determinant = float(np.linalg.det(matrix[:3, :3]))
        if abs(determinant) > 1e-9 * float(np.abs(matrix[:3, :3]).max()) ** 3:
            if determinant < 0:  # such as a camera's child under a mirror; the scene reader mirrors X again
                local = (points - matrix[:3, 3]) @ np.linalg.inv(matrix[:3, :3]).T
                points = (local * (-1.0, 1.0, 1.0)) @ matrix[:3, :3].T + matrix[:3, 3]
            return matrix, points
        node = self.source.nodes[number]
        local = np.asarray(self.source.meshes[node.mesh or 0].positions, np.float64) - node.pivot
        return np.eye(4), local * (-1.0, 1.0, 1.0) if self.flipped[number] else local
