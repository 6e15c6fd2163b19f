"""The whole way from a scene to a 3D Studio document, so that all readers see the same.

Vertices stand in the scene's own space as they are at frame 0, 4160 is the node's matrix there, and the keyframer
says the same: readers that know no keyframer and readers that do show one picture.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.curves import Track
from keyframer.formats._axes import in_space
from keyframer.formats._document import Document
from keyframer.formats._dropped import tell_dropped
from keyframer.formats._keys import KeyFitter, KeyRules, still_key
from keyframer.formats._surfaces import Piece, pieces
from keyframer.formats._writing import (
    DEFAULT_MAX_ERROR,
    NamesThatFit,
    Tolerance,
    Written,
    check_max_error,
    first_clip,
    plain_path,
)
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.write_aims import Aim, find_aims
from keyframer.formats.threeds.bridge.write_materials import (
    MapNames,
    material_names,
    write_environment,
    write_material,
)
from keyframer.formats.threeds.bridge.write_mirrors import without_mirrors
from keyframer.formats.threeds.bridge.write_objects import write_camera, write_light, write_mesh
from keyframer.formats.threeds.bridge.write_tracks import still_turn, write_hide_track, write_morph_track, write_track
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.posing import Rig
from keyframer.posing.order import placing_order
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Channel, Clip, LightType, Mesh, Node, NodeKind, Scene, Space
from keyframer.scene.report import LossReport, NothingToWrite, Outcome

Floats = npt.NDArray[np.float64]

_HOLDS = (
    *("tree", "meshes", "materials", "textures", "cameras", "lights", "smoothing", "hidden", "environment", "pivots"),
    *("segment", "morphs", "skins", "fov", "roll", "color", "hotspot", "falloff", "visible"),
)
_RESERVED = (b"$$$DUMMY", b"DUMMY", b"$AMBIENT$", b"$_$_$_$")
_WRITER = b"KEYFRAMER"
_PRIMARY, _HIDDEN = 1 << 14, 1 << 11
_METRES_PER_INCH = 0.0254
_MOST = 65_535
"""counts of vertices and faces are 16 bits wide"""
_MOST_NODES = 32_000
_PLACING = ("position", "rotation", "scale")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Defaults are what the original programs read."""

    fps: float = 30.0
    """frames a second; the format does not store it, 3D Studio played 30"""
    max_error: float = DEFAULT_MAX_ERROR
    """how far motion may be off where keys cannot hold it exactly: a fraction of the scene's size"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive, not {self.fps}")


def from_scene(scene: Scene, options: WriteOptions | None = None) -> Written:
    """A document of the scene, and what is not in it."""
    options = options or WriteOptions()
    report = LossReport("3ds")
    if not scene.nodes and not scene.materials:
        raise NothingToWrite("a 3D Studio file holds objects and materials, and this scene has none")
    if len(scene.nodes) > _MOST_NODES:
        raise NothingToWrite(f"a 3D Studio file numbers its nodes in 16 bits; {len(scene.nodes)} are too many")
    placed = in_space(scene, Space("z", metres_per_unit=scene.space.metres_per_unit))
    clip = first_clip(placed, report)
    tell_dropped(placed, clip, report, _HOLDS)
    reading: dict[str, object] = {} if options.fps == 30.0 else {"fps": options.fps}
    if reading:
        report.add(Outcome.EXACT, "/reading", f"readers must be told fps={options.fps:g}: the file does not say so")
    return Written(_Writer(placed, clip, options, report).document(), report, reading=reading)


@dataclass(eq=False)
class _Placed:
    """A node on its way into the keyframer."""

    kind: type[r.Node]
    name: bytes
    parent: int | None
    """number of another of these"""
    tracks: list[Chunk] = field(default_factory=list)
    instance: bytes | None = None
    hidden: bool = False
    box: tuple[Any, Any] | None = None


class _Writer:
    def __init__(self, scene: Scene, clip: Clip, options: WriteOptions, report: LossReport) -> None:
        self.report = report
        self.clip = clip
        self.announced = scene.source_format in ("3ds", "uto3d")
        self.original = scene
        self.scene, self.flipped = without_mirrors(scene, report)
        rules = KeyRules(options.fps, 1.0, wraps=True)
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, options.max_error), report)
        self.fitted = self._fit()
        self.world, self.points = self._at_rest()
        self.names = NamesThatFit(10, reserved=_RESERVED)
        self.maps = MapNames(report)
        self.materials = material_names(scene.materials, report)
        self.objects: list[Chunk] = []
        self.placed: list[_Placed] = []
        self.numbers: dict[int, int] = {}
        """node of the scene to node of the keyframer"""

    def document(self) -> Document:
        scene = self.scene
        self.aims = find_aims(scene, self.world, self.fitter)
        self.lookers = {aim.node: number for number, aim in self.aims.items() if aim.node is not None}
        self.claimed = {number: self._claim(number, node) for number, node in enumerate(scene.nodes)}
        for number in self._parents_first():
            self._place(number, scene.nodes[number])
        for number, aim in self.aims.items():
            if aim.node is None:
                self._place_new_target(number, aim)
        editor: list[Chunk] = [r.MeshVersion(3)]
        editor += [
            write_material(material, name, self.maps)
            for material, name in zip(scene.materials, self.materials, strict=True)
        ]
        metres = scene.space.metres_per_unit
        editor.append(r.MasterScale(1.0 if metres is None else metres / _METRES_PER_INCH))
        editor += write_environment(scene.environment, self.maps)
        parts: list[Chunk] = [r.Version(3), r.Editor(children=[*editor, *self.objects])]
        if scene.nodes:
            parts.append(self._keyframer())
        return new_document(*parts)

    def _fit(self) -> dict[int, dict[str, Track]]:
        """The tracks of every node, in frames."""
        found: dict[int, dict[str, Track]] = {}
        known = {*_PLACING, "fov", "roll", "color", "hotspot", "falloff", "morph"}
        clip = self.scene.clips[0] if self.scene.clips else Clip()
        for channel in clip.channels:
            kind, node = channel.track.kind, self.scene.nodes[channel.node]
            own = found.setdefault(channel.node, {})
            if kind in known and kind not in own:
                fitted = self.fitter.fit(channel.track, f"{plain_path('nodes', node.name)}/{kind}")
                if fitted is not None:
                    own[kind] = fitted
        return found

    def _at_rest(self) -> tuple[Floats, dict[int, Floats]]:
        """Matrices at frame 0 as readers of the file will find them; of meshes the vertices as the scene has them."""
        channels = [
            Channel(number, track)
            for number, tracks in self.fitted.items()
            for kind, track in tracks.items()
            if kind in (*_PLACING, "roll")
        ]
        nodes = [replace(node, scale_axes_xyzw=None) for node in self.scene.nodes]
        rig = Rig(replace(self.scene, nodes=nodes, clips=[Clip(channels=channels)]))
        world = rig.world(rig.sample([0.0]), 1)[0]
        true = Rig(self.original)
        placed = true.world(true.sample([0.0]), 1)
        points = {
            number: posed_vertices(self.original, number, placed, None)[0]
            for number, node in enumerate(self.original.nodes)
            if node.mesh is not None
        }
        return world, points

    def _claim(self, number: int, node: Node) -> bytes:
        """The name in the file. Targets are called as what looks at them."""
        if number in self.lookers or node.kind is NodeKind.AMBIENT:
            return b""
        made = self.names.claim(node.name, node.raw_name)
        if self.names.shown(made) != node.name:
            shown = self.names.shown(made)
            self.report.add(Outcome.BAKED, plain_path("nodes", node.name), f"is called {shown!r}: names have 10 letters")
        return made

    def _parents_first(self) -> list[int]:
        """Nodes in their own order, each behind its parent."""
        parents = placing_order(self.scene.nodes).parents.tolist()
        done: set[int] = set()
        order: list[int] = []
        for number in range(len(parents)):
            chain = []
            at = number
            while at >= 0 and at not in done:
                chain.append(at)
                done.add(at)
                at = parents[at]
            order += reversed(chain)
        return order

    def _place(self, number: int, node: Node) -> None:
        parent = None if node.parent is None else self.numbers.get(node.parent)
        name = self.claimed[number]
        if number in self.lookers:
            looker = self.lookers[number]
            is_camera = self.scene.nodes[looker].camera is not None
            name = self.claimed[looker]
            made = _Placed(r.CameraTargetNode if is_camera else r.SpotTargetNode, name, parent)
            made.tracks = self._tracks(number, node, ("position",))
        elif node.light is not None and self.scene.lights[node.light].type is LightType.AMBIENT:
            made = _Placed(r.AmbientNode, b"$AMBIENT$", None, self._tracks(number, node, ("color",)))
        elif node.camera is not None:
            made = self._camera(number, node, name, parent)
        elif node.light is not None:
            made = self._light(number, node, name, parent)
        elif node.mesh is not None:
            self._mesh(number, node, name, parent)
            return
        else:
            made = self._dummy(number, node, name, parent)
        self._hide(made, number, node)
        self.numbers[number] = len(self.placed)
        self.placed.append(made)

    def _tracks(self, number: int, node: Node, kinds: tuple[str, ...]) -> list[Chunk]:
        """Tracks in the format's order; those that place a node have a key at least."""
        own = self.fitted.get(number, {})
        rest = {"position": still_key("position", node.position), "scale": still_key("scale", node.scale)}
        rest["rotation"] = still_turn(node.rotation_xyzw)
        rest["roll"] = still_key("roll", self._still_roll(node))
        if node.camera is not None:
            rest["fov"] = still_key("fov", self.scene.cameras[node.camera].fov_degrees)
        if node.light is not None:
            light = self.scene.lights[node.light]
            rest["color"] = still_key("color", light.color)
            rest["hotspot"] = still_key("hotspot", light.hotspot_degrees or 0.0)
            rest["falloff"] = still_key("falloff", light.falloff_degrees or 0.0)
        chosen = [own.get(kind) or rest.get(kind) for kind in kinds]
        return [write_track(track, self.announced) for track in chosen if track is not None]

    def _still_roll(self, node: Node) -> float:
        if node.camera is not None:
            return self.scene.cameras[node.camera].roll_degrees
        return 0.0 if node.light is None else self.scene.lights[node.light].roll_degrees

    def _dummy(self, number: int, node: Node, name: bytes, parent: int | None) -> _Placed:
        if node.kind is not NodeKind.DUMMY:
            words = f"the {node.kind.value} became a dummy: nothing to see belongs to it"
            self.report.add(Outcome.BAKED, plain_path("nodes", node.name), words, extras=node.extras)
        tracks = self._tracks(number, node, _PLACING)
        return _Placed(r.ObjectNode, b"$$$DUMMY", parent, tracks, name, box=node.bounding_box)

    def _camera(self, number: int, node: Node, name: bytes, parent: int | None) -> _Placed:
        assert node.camera is not None
        camera = self.scene.cameras[node.camera]
        if camera.clip is not None:
            self.report.add(Outcome.DROPPED, plain_path("cameras", camera.name), "clip planes have no place")
        aim = self.aims[number]
        body = write_camera(camera, self.world[number, :3, 3], aim.place)
        self.objects.append(r.NamedObject(name, children=[body]))
        tracks = self._tracks(number, node, ("position", "fov", "roll"))
        if aim.roll is not None:
            tracks[-1] = write_track(aim.roll, False)
        return _Placed(r.CameraNode, name, parent, tracks)

    def _light(self, number: int, node: Node, name: bytes, parent: int | None) -> _Placed:
        assert node.light is not None
        light = self.scene.lights[node.light]
        aim = self.aims.get(number)
        if light.type is LightType.DIRECTIONAL:
            path = plain_path("lights", light.name)
            self.report.add(Outcome.BAKED, path, "the directional light became a spot light: the format has none")
        body = write_light(light, self.world[number, :3, 3], None if aim is None else aim.place, self.maps)
        self.objects.append(r.NamedObject(name, children=[body]))
        if aim is None:
            return _Placed(r.OmniNode, name, parent, self._tracks(number, node, ("position", "color")))
        kinds = ("position", "color", "hotspot", "falloff", "roll")
        return _Placed(r.SpotNode, name, parent, self._tracks(number, node, kinds))

    def _mesh(self, number: int, node: Node, name: bytes, parent: int | None) -> None:
        """The mesh's pieces, each an object with its node; all but the first hang on the first."""
        assert node.mesh is not None
        mesh, path = self.scene.meshes[node.mesh], plain_path("nodes", node.name)
        if node.skin is not None:
            self.report.add(Outcome.BAKED, f"{path}/skin", "the mesh stands still as it is at frame 0: there are no skins")
            name, parent = self._apart(number, node, name, parent), None
        elif np.any(node.pivot):
            self.report.add(Outcome.BAKED, f"{path}/pivot", "the mesh is moved instead", extras=node.extras)
        matrix, points = self._local_matrix(number)
        parts = pieces(mesh, _MOST)
        if len(parts) > 1:
            words = f"{len(mesh.positions)} vertices and {len(mesh.corners)} faces are too many for one mesh"
            self.report.add(Outcome.BAKED, path, f"{words}: {len(parts)} pieces")
        elif len(parts[0].vertices) > len(mesh.positions):
            doubled = len(parts[0].vertices) - len(mesh.positions)
            self.report.add(Outcome.BAKED, path, f"{doubled} vertices were doubled at the seams of the texture")
        for place, piece in enumerate(parts):
            own = name if place == 0 else self.names.claim(self.names.shown(name))
            body = write_mesh(mesh, piece, points, matrix, self.materials, reverse=bool(self.flipped[number]) and node.skin is None)
            if place == 0:
                still = node.skin is not None  # bones move it, and there are none here
                tracks = self._tracks(-1, Node(""), _PLACING) if still else self._tracks(number, node, _PLACING)
                made = _Placed(r.ObjectNode, own, parent, tracks)
                first = len(self.placed)
                self.numbers.setdefault(number, first)
                if node.morph is not None:
                    made.tracks += self._morph(number, node, own, matrix, parts)
            else:
                made = _Placed(r.ObjectNode, own, first, self._tracks(-1, Node(""), _PLACING))
            self._hide(made, number, node)
            self.objects.append(self._object(own, mesh, body, hidden=made.hidden and not _has_hide(made)))
            self.placed.append(made)

    def _apart(self, number: int, node: Node, name: bytes, parent: int | None) -> bytes:
        """A skinned mesh does not follow its own node: what hangs on that gets a dummy. The name of the mesh."""
        if not any(each.parent == number for each in self.scene.nodes):
            return name
        self.numbers[number] = len(self.placed)
        self.placed.append(self._dummy(number, node, self.names.claim(self.names.shown(name)), parent))
        return name

    def _local_matrix(self, number: int) -> tuple[Floats, Floats]:
        """4160 and the vertices to store. A flattened node has no inverse: its vertices stay in its own space."""
        matrix, points = self.world[number], self.points[number]
        if self.scene.nodes[number].skin is not None:
            return np.eye(4), points
        determinant = float(np.linalg.det(matrix[:3, :3]))
        if abs(determinant) > 1e-9 * float(np.abs(matrix[:3, :3]).max()) ** 3:
            if determinant < 0:  # a camera's child under a mirror: readers mirror X, and so do we
                local = (points - matrix[:3, 3]) @ np.linalg.inv(matrix[:3, :3]).T
                points = (local * (-1.0, 1.0, 1.0)) @ matrix[:3, :3].T + matrix[:3, 3]
            return matrix, points
        node = self.original.nodes[number]
        local = np.asarray(self.original.meshes[node.mesh or 0].positions, np.float64) - node.pivot
        return np.eye(4), local * (-1.0, 1.0, 1.0) if self.flipped[number] else local

    @staticmethod
    def _object(name: bytes, mesh: Mesh, body: r.Mesh, *, hidden: bool) -> r.NamedObject:
        flags: list[Chunk] = [r.ObjectHidden()] if hidden else []
        flags += [] if mesh.casts_shadows else [r.ObjectDoesNotCast()]
        flags += [] if mesh.receives_shadows else [r.ObjectReceivesNoShadow()]
        return r.NamedObject(name, children=[*flags, body])

    def _morph(self, number: int, node: Node, name: bytes, matrix: Floats, parts: list[Piece]) -> list[Chunk]:
        """The morph track; shapes that are not the mesh itself become hidden objects."""
        track = self.fitted.get(number, {}).get("morph")
        path = f"{plain_path('nodes', node.name)}/morph"
        if track is None or node.morph is None or node.mesh is None:
            return []
        mesh = self.scene.meshes[node.mesh]
        names = [name] * len(node.morph.names)
        made = None if len(parts) > 1 else write_morph_track(track, names, self.announced)
        if made is None:
            self.report.add(Outcome.DROPPED, path, "keys name one shape each, in a mesh of one piece")
            return []
        flip = (-1.0, 1.0, 1.0) if self.flipped[number] else (1.0, 1.0, 1.0)
        pivot = self.original.nodes[number].pivot
        for place, (word, shape) in enumerate(zip(node.morph.names, node.morph.positions, strict=True)):
            if np.allclose(shape, mesh.positions, rtol=1e-6, atol=1e-9):
                continue
            names[place] = self.names.claim(word)
            local = (np.asarray(shape, np.float64) - pivot) * flip
            points = local @ matrix[:3, :3].T + matrix[:3, 3]
            body = write_mesh(mesh, parts[0], points, matrix, [], reverse=bool(self.flipped[number]))
            self.objects.append(self._object(names[place], mesh, body, hidden=True))
        made = write_morph_track(track, names, self.announced)
        return [] if made is None else [made]

    def _hide(self, made: _Placed, number: int, node: Node) -> None:
        made.hidden = node.hidden
        for channel in self.scene.channels_of(number):
            if channel.track.kind == "visible":
                frames = np.rint(self.fitter.times(channel.track.times))
                hidden, track = write_hide_track(channel.track, frames)
                made.hidden = hidden
                if track is not None:
                    made.tracks.append(track)
                return

    def _place_new_target(self, number: int, aim: Aim) -> None:
        assert aim.position is not None
        is_camera = self.scene.nodes[number].camera is not None
        parent = None if aim.parent is None else self.numbers.get(aim.parent)
        kind = r.CameraTargetNode if is_camera else r.SpotTargetNode
        self.placed.append(_Placed(kind, self.claimed[number], parent, [write_track(aim.position, False)]))

    def _keyframer(self) -> r.Keyframer:
        begin, end = (float(value) for value in self.fitter.times([self.clip.start, self.clip.end]))
        first, last = (round(value) if math.isfinite(value) else 0 for value in (begin, end))
        if (first, last) != (begin, end):
            self.report.add(Outcome.APPROXIMATED, "/clips/segment", f"the active segment became {first} to {last}")
        head: list[Chunk] = [r.KeyframerHeader(5, _WRITER, last), r.Frames(first, last), r.CurrentTime(0)]
        return r.Keyframer(children=[*head, *(self._node(number, each) for number, each in enumerate(self.placed))])

    @staticmethod
    def _node(number: int, each: _Placed) -> r.Node:
        flags = _PRIMARY | (_HIDDEN if each.hidden else 0)
        ambient = each.kind is r.AmbientNode
        parent = -1 if each.parent is None else each.parent
        parts: list[Chunk] = [r.NodeId(-1 if ambient else number), r.NodeHeader(each.name, flags, 0, parent)]
        if each.instance is not None:
            parts.append(r.InstanceName(each.instance))
        if each.kind is r.ObjectNode:
            parts.append(r.Pivot((0.0, 0.0, 0.0)))
        if each.box is not None:
            low, high = each.box
            parts.append(r.BoundBox(tuple(map(float, low)), tuple(map(float, high))))
        return each.kind(children=[*parts, *each.tracks])


def _has_hide(made: _Placed) -> bool:
    return any(isinstance(track, r.HideTrack) for track in made.tracks)
