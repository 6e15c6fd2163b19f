"""A scene prepared for writing: tracks in frames, and transforms at frame 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Track
from keyframer.formats import properties_of
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, single_key
from keyframer.formats.kit.scene_writing import Tolerance, plain_path
from keyframer.formats.threeds.bridge.original_conventions import OriginalConventions, apply
from keyframer.formats.threeds.bridge.write_mirrors import without_mirrors
from keyframer.formats.threeds.bridge.write_objects import cones
from keyframer.formats.threeds.bridge.write_tracks import still_turn, write_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.posing import Rig
from keyframer.posing.rest_pose import world_at
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Channel, Clip, Node, Scene
from keyframer.scene.loss_report import LossReport

PLACING = ("position", "rotation", "scale")
_ADVICE = "find_rate=true looks for a rate that would"


class PreparedScene:
    """A scene in the axes of 3D Studio, without mirrored nodes."""

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
        self.announced = properties_of(scene.source_format).key_flags_are_tcb_bits
        """whether key flags say which floats are stored, as in this format"""
        self.original = scene
        self.scene, self.flipped = scene, np.zeros(len(scene.nodes), bool)
        if conventions is None:  # mirrored nodes of the original document are kept
            self.scene, self.flipped = without_mirrors(scene, report)
        rules = KeyRules(fps, 1.0, wraps=True, more_frames=_ADVICE, find_rate=find_rate)
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, max_error), report)
        self.fitted = self._fit()
        self.world, self.points = self._at_rest()

    def _fit(self) -> dict[int, dict[str, Track]]:
        """Fit the tracks of every node to frames."""
        fitted_tracks: dict[int, dict[str, Track]] = {}
        known = {*PLACING, "fov", "roll", "color", "hotspot", "falloff", "morph"}
        clip = self.scene.clips[0] if self.scene.clips else Clip()
        still = self._out_of_sight()
        shown = [channel for channel in clip.channels if channel.node not in still and channel.track.kind in known]
        self.fitter.fit_ahead(channel.track for channel in shown)
        for channel in clip.channels:
            kind, node = channel.track.kind, self.scene.nodes[channel.node]
            tracks_of_node = fitted_tracks.setdefault(channel.node, {})
            if channel.node not in still and kind in known and kind not in tracks_of_node:
                fitted = self.fitter.fit(channel.track, f"{plain_path('nodes', node.name)}/{kind}")
                if fitted is not None:
                    tracks_of_node[kind] = fitted
        return fitted_tracks

    def _out_of_sight(self) -> set[int]:
        """Return nodes of the document that are not written, with no written node below them."""
        still = set(self.conventions.untouched)
        for number in range(len(self.scene.nodes)):
            parent = self.scene.nodes[number].parent if number not in self.conventions.untouched else None
            while parent in still:
                still.discard(parent)
                parent = self.scene.nodes[parent].parent
        return still

    def _at_rest(self) -> tuple[Floats, dict[int, Floats]]:
        """Return the matrices at frame 0 as readers of the file compute them; for meshes, the vertices of the scene."""
        channels = [
            Channel(number, track)
            for number, tracks in self.fitted.items()
            for kind, track in tracks.items()
            if kind in (*PLACING, "roll")
        ]
        nodes = [
            node if node.scale_axes_xyzw is None else replace(node, scale_axes_xyzw=None) for node in self.scene.nodes
        ]
        clip = Clip(channels=channels)
        world = world_at(replace(self.scene, nodes=nodes, clips=[clip]), clip, 0.0)
        shown = [number for number, node in enumerate(self.original.nodes) if node.mesh is not None]
        new = [number for number in shown if number not in self.conventions.nodes]
        if not new:
            return world, {}
        true = Rig(self.original)
        placed = true.world(true.sample([0.0]), 1)
        return world, {number: posed_vertices(self.original, number, placed, None)[0] for number in new}

    def tracks(self, number: int, node: Node, kinds: tuple[str, ...]) -> list[Chunk]:
        """Return tracks in the format's order; tracks that position a node have at least one key."""
        fitted = self.fitted.get(number, {})
        absolute = self.conventions.is_absolute(number)
        if number in self.conventions.nodes and number not in self.conventions.editor_only:
            rest = self._other_rest(number, node)
            chosen = [fitted.get(kind) or rest.get(kind) for kind in kinds]
            return [write_track(track, self.announced, absolute=absolute) for track in chosen if track is not None]
        rest = {"position": single_key("position", node.position), "scale": single_key("scale", node.scale)}
        rest["rotation"] = still_turn(node.rotation_xyzw)
        rest["roll"] = single_key("roll", self._still_roll(node))
        if node.camera is not None:
            rest["fov"] = single_key("fov", self.scene.cameras[node.camera].fov_degrees)
        if node.light is not None:
            light = self.scene.lights[node.light]
            rest["color"] = single_key("color", light.color)
            for kind, angle in zip(("hotspot", "falloff"), cones(light), strict=True):
                rest[kind] = single_key(kind, angle)
        chosen = [fitted.get(kind) or rest.get(kind) for kind in kinds]
        return [write_track(track, self.announced) for track in chosen if track is not None]

    def _other_rest(self, number: int, node: Node) -> dict[str, Track]:
        """Return single keys for a node whose rest pose differs from that of the document without them."""
        names = [
            name
            for name in ("position", "rotation_xyzw", "scale")
            if not self.conventions.stores_rest(number, node, name)
        ]
        tracks = [
            still_turn(node.rotation_xyzw) if name == "rotation_xyzw" else single_key(name, getattr(node, name))
            for name in names
        ]
        return {track.kind: track for track in tracks}

    def _still_roll(self, node: Node) -> float:
        if node.camera is not None:
            return self.scene.cameras[node.camera].roll_degrees
        return 0.0 if node.light is None else self.scene.lights[node.light].roll_degrees

    def matrix_and_points(self, number: int, *, needs_node: bool = False) -> tuple[Floats, Floats]:
        """Return 4160 and the vertices to store.

        A node with scale 0 has no inverse: its vertices stay in its local space.
        """
        surface = self.conventions.surface(number, needs_node=needs_node)
        if surface is not None:
            node = self.original.nodes[number]
            return surface[1], apply(surface[0], self.original.meshes[node.mesh or 0].positions)
        matrix, points = self.world[number], self.points[number]
        determinant = float(np.linalg.det(matrix[:3, :3]))
        if abs(determinant) > 1e-9 * float(np.abs(matrix[:3, :3]).max()) ** 3:
            if determinant < 0:  # a camera's child under a mirror: readers mirror X, so the writer does too
                local = (points - matrix[:3, 3]) @ np.linalg.inv(matrix[:3, :3]).T
                points = (local * (-1.0, 1.0, 1.0)) @ matrix[:3, :3].T + matrix[:3, 3]
            return matrix, points
        node = self.original.nodes[number]
        local = np.asarray(self.original.meshes[node.mesh or 0].positions, np.float64) - node.pivot
        return np.eye(4), local * (-1.0, 1.0, 1.0) if self.flipped[number] else local
