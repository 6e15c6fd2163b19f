"""VUE documents as scenes: objects with one matrix for each frame, lights, and the camera.

There are no meshes: a matrix takes the vertices that 3D Studio stores for the object of that name to the frame. An
object that a frame does not name is hidden in it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_KEYS_NOT_INCREASING, DATA_NON_FINITE
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.bridge import Bridge, KeyLocation, SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import check_name
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.vue.document import Command, Frame
from keyframer.maths import affine
from keyframer.scene import Camera, Channel, Clip, Light, LightType, Node, NodeKind, Scene
from keyframer.scene.clip import FASTEST
from keyframer.text import decode_name
from keyframer.wire.record import Record

_FOV_OF_LENS = 2400.0
"""degrees times millimetres"""
_QUATERNION = RotationForm.QUATERNION_ABSOLUTE


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading."""

    fps: float = 30.0
    """frames per second, which the format does not store"""

    def __post_init__(self) -> None:
        if not 0 < self.fps <= FASTEST:
            raise ValueError(f"fps must be positive and at most {FASTEST:g}, not {self.fps}")


class VueBridge(Bridge[Options]):
    options = Options

    def read(self, document: Document, options: Options) -> Scene:
        scene = Scene(source_format="vue", clips=[Clip(rate=options.fps)])
        _Reader(scene, document).read()
        return scene

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        seen: set[bytes] = set()
        for command in document.find(Command):
            if command.name and command.name not in seen:
                seen.add(command.name)
                check_name(reporter, command, "name", command.name)
            if not np.isfinite(command.values).all():
                count = int(np.count_nonzero(~np.isfinite(command.values)))
                first = int(np.argmin(np.isfinite(command.values)))
                reporter.report(DATA_NON_FINITE, command, f"values[{first}]", count=count, index=first)
        frames = [(frame.number, frame) for frame in document.find(Frame)]
        for (before, _), (number, frame) in pairwise(frames):
            if number <= before:
                reporter.report(DATA_KEYS_NOT_INCREASING, frame, "number", index=0, time=number)
                break

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.vue.writing import Writer

        return Writer()

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        return None  # the values of a line of text have no separate locations


class _Reader:
    """Collects what each name does in which frame. A frame that comes again replaces the one before."""

    def __init__(self, scene: Scene, document: Document) -> None:
        self.scene = scene
        self.reporter = Reporter(document, scene.issues)
        self.names = UniqueNames()
        frames = {frame.number: frame for frame in document.find(Frame)}
        self.frames = np.array(sorted(frames), np.float64)
        self.found: dict[tuple[bytes, bytes, int], dict[int, Command]] = {}
        """commands by kind, name and number of the instance, then by the place of the frame"""
        for place, number in enumerate(sorted(frames)):
            before: Counter[tuple[bytes, bytes]] = Counter()
            for command in frames[number].children:
                if isinstance(command, Command) and np.isfinite(command.values).all():
                    kind = b"transform" if command.keyword == b"morph" else command.keyword
                    self.found.setdefault((kind, command.name, before[kind, command.name]), {})[place] = command
                    before[kind, command.name] += 1

    def read(self) -> None:
        clip = self.scene.clips[0]
        if len(self.frames):
            clip.start, clip.end = float(self.frames[0]), float(self.frames[-1])
        for (kind, name, _), commands in self.found.items():
            places = np.array(sorted(commands))
            rows = np.array([commands[place].values[-12:] for place in places]) if kind == b"transform" else None
            first = commands[int(places[0])]
            if rows is not None:
                self._object(name, first, places, rows)
            elif kind in (b"light", b"spotlight", b"camera"):
                width = min(len(command.values) for command in commands.values())
                numbers = np.array([commands[place].values[:width] for place in places])
                self._aimed(kind, name, first, places, numbers)
        views = sorted({kind.decode() for kind, _, _ in self.found} - {"transform", "light", "spotlight", "camera"})
        if views:
            clip.extras["vue"] = {"view": ", ".join(views)}

    def _object(self, name: bytes, first: Command, places: Any, rows: Floats) -> None:
        matrices = np.tile(np.eye(4), (len(rows), 1, 1))
        matrices[:, :3, :3] = rows[:, :9].reshape(-1, 3, 3).transpose(0, 2, 1)
        matrices[:, :3, 3] = rows[:, 9:]
        positions, rotations, scales, axes, sheared = affine.decompose_with_axes(matrices)
        if sheared.any():
            positions, rotations, scales, axes = affine.decompose_sheared(matrices)
        node = Node(self.names.claim(decode_name(name)), NodeKind.DUMMY, raw_name=name)
        number = self._add(node, first)
        node.position, node.rotation_xyzw, node.scale = positions[0], rotations[0], scales[0]
        if sheared.any():
            node.scale_axes_xyzw = axes[0]
            self._track(number, "scale_axes", places, axes, first, _QUATERNION)
        self._track(number, "position", places, positions, first)
        self._track(number, "rotation", places, rotations, first, _QUATERNION)
        self._track(number, "scale", places, scales, first)
        if len(places) < len(self.frames):
            shown = np.zeros(len(self.frames))
            shown[places] = 1.0
            track = Track("visible", self.frames, shown, Interpolation.STEP)
            self.reporter.mark(track, "vue", first)
            self.scene.clips[0].channels.append(Channel(number, track))

    def _aimed(self, kind: bytes, name: bytes, first: Command, places: Any, rows: Floats) -> None:
        """Add a light or a camera, and its target."""
        scene = self.scene
        title = self.names.claim(decode_name(name) or kind.decode())
        node = Node(title, NodeKind.CAMERA if kind == b"camera" else NodeKind.LIGHT, raw_name=name or kind)
        node.position = rows[0, :3].copy()
        number = self._add(node, first)
        self._track(number, "position", places, rows[:, :3], first)
        if kind != b"light":
            target = Node(self.names.claim(f"{title}.target"), NodeKind.TARGET, raw_name=name or kind)
            target.position = rows[0, 3:6].copy()
            node.target = self._add(target, first)
            self._track(node.target, "position", places, rows[:, 3:6], first)
        if kind == b"camera":
            fov = np.clip(_FOV_OF_LENS / np.maximum(rows[:, 7], 1e-6), 1e-3, 170.0)
            scene.cameras.append(Camera(title, float(fov[0]), float(rows[0, 6])))
            node.camera = len(scene.cameras) - 1
            self._track(number, "fov", places, fov, first)
            self._track(number, "roll", places, rows[:, 6], first)
            return
        color = rows[:, 3:6] if kind == b"light" else rows[:, 6:9]
        light = Light(title, LightType.OMNI if kind == b"light" else LightType.SPOT)
        light.color = tuple(color[0].tolist())
        node.light = len(scene.lights)
        scene.lights.append(light)
        self._track(number, "color", places, color, first)
        if kind == b"spotlight":
            light.hotspot_degrees, light.falloff_degrees = float(rows[0, 9]), float(rows[0, 10])
            self._track(number, "hotspot", places, rows[:, 9], first)
            self._track(number, "falloff", places, rows[:, 10], first)

    def _add(self, node: Node, command: Command) -> int:
        self.reporter.mark(node, "vue", command)
        self.scene.nodes.append(node)
        return len(self.scene.nodes) - 1

    def _track(
        self, node: int, kind: str, places: Any, values: Floats, command: Command, form: Any = RotationForm.NONE
    ) -> None:
        """Add a track if a value changes."""
        if not np.ptp(values, axis=0).any():
            return
        track = Track(kind, self.frames[places], values, Interpolation.LINEAR, form=form)
        self.reporter.mark(track, "vue", command)
        self.scene.clips[0].channels.append(Channel(node, track))


BRIDGE = VueBridge()
