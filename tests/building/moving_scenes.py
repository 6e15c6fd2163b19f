"""Random moving scenes from a seed: whatever tracks, meshes, cameras and skins a scene can have, a few at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.rotation_forms import with_form
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Handedness,
    Light,
    LightType,
    Mesh,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
)

FRAMES = 30
_SPACES = (Space("z"), Space("y"), Space("y", Handedness.LEFT), Space("z", Handedness.LEFT))
_TETRAHEDRON = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])


@dataclass
class Motions:
    """What the tracks of one scene have in common, so that a failure has few causes."""

    random: np.random.Generator
    between: bool
    """keys between frames"""
    late: bool
    """tracks that begin after frame 0"""
    wraps: bool
    """repeated and looped tracks"""
    wide: bool
    """rotations of up to three turns from key to key"""
    jumps: bool
    """two keys at one time"""
    per_frame: float
    """units of time in a frame"""

    def times(self, most: int = 6) -> np.ndarray:
        count = int(self.random.integers(1, most))
        frames = np.sort(self.random.choice(np.arange(1, FRAMES), count, replace=False)).astype(float)
        if self.between:
            frames += np.round(self.random.uniform(-0.45, 0.45, count), 2)
        first = float(self.random.integers(1, 9)) if self.late and self.random.random() < 0.7 else 0.0
        frames = np.concatenate([[first], first + frames])
        if self.jumps and count > 2:
            frames[2] = frames[1]
        return frames * self.per_frame

    def track(self, kind: str, low: float, high: float, width: int) -> Track:
        times = self.times()
        values = np.round(self.random.uniform(low, high, (len(times), width)), 3)
        if self.random.random() < 0.3:
            values[-1] = values[0]
        shape = values if width > 1 else values[:, 0]
        return self._shaped(Track(kind, times, shape))

    def rotation(self, kind: str = "rotation") -> Track:
        times = self.times()
        axes = self.random.normal(size=(len(times), 3))
        axes /= np.sqrt((axes**2).sum(axis=1))[:, None]
        widest = 3 * math.tau if self.wide and kind == "rotation" else 2.8
        angles = self.random.uniform(-widest, widest, len(times))
        angles[0] = self.random.uniform(-2.5, 2.5)
        if self.random.random() < 0.4:
            axes[:] = axes[0]
        form = RotationForm.AXIS_ANGLE_RELATIVE
        track = self._shaped(Track(kind, times, np.column_stack([axes, angles]), form=form))
        forms = [RotationForm.QUATERNION_ABSOLUTE, RotationForm.AXIS_ANGLE_ABSOLUTE, RotationForm.QUATERNION_RELATIVE]
        if (not self.wide and self.random.random() < 0.5) or kind == "scale_axes":
            return with_form(track, forms[int(self.random.integers(2 if kind == "scale_axes" else 3))])
        return track

    def _shaped(self, track: Track) -> Track:
        """Return the track with an interpolation, a wrap and the numbers of TCB keys."""
        kinds = [Interpolation.TCB, Interpolation.TCB, Interpolation.LINEAR, Interpolation.STEP, Interpolation.BEZIER]
        track.interpolation = kinds[int(self.random.integers(len(kinds)))]
        if self.wraps and self.random.random() < 0.8:
            track.wrap = (Wrap.REPEAT, Wrap.LOOP)[int(self.random.integers(2))]
        count = len(track.times)
        if track.interpolation is Interpolation.TCB and self.random.random() < 0.6:
            for name in ("tension", "continuity", "bias"):
                setattr(track, name, np.round(self.random.uniform(-1, 1, count), 2))
        if track.interpolation in (Interpolation.TCB, Interpolation.LINEAR) and self.random.random() < 0.3:
            track.ease_to, track.ease_from = np.round(self.random.uniform(0, 1, (2, count)), 2)
        return track


def moving_scene(seed: int) -> Scene:
    """Return the scene of a seed: two to five nodes with meshes, and a camera, a light, a skin or none of them."""
    random = np.random.default_rng(seed)
    chance = random.random
    unit, rate = [("frame", 30.0), ("frame", 25.0), ("tick", 4800.0), ("second", 1.0)][int(random.integers(4))]
    per_frame = {"frame": 1.0, "tick": 160.0, "second": 1 / 30}[unit]
    motions = Motions(random, chance() < 0.4, chance() < 0.3, chance() < 0.5, chance() < 0.4, chance() < 0.2, per_frame)
    nodes: list[Node] = []
    meshes: list[Mesh] = []
    channels: list[Channel] = []
    mirrors, axes = chance() < 0.3, chance() < 0.2
    for number in range(int(random.integers(2, 5))):
        node = Node(f"n{number}", parent=None if number == 0 or chance() < 0.2 else int(random.integers(number)))
        node.position, node.rotation_xyzw = _vector(random, 4), _rotation(random)
        if chance() < 0.5:
            node.scale = np.round(random.uniform(0.4, 2, 3), 2)
        if mirrors:
            node.scale = np.asarray(node.scale) * random.choice([-1.0, 1.0], 3)
        if axes and chance() < 0.6:
            node.scale_axes_xyzw = _rotation(random)
            node.scale = np.asarray(node.scale) * np.array([1.0, 2.0, 0.5])
        if chance() < 0.3:
            node.pivot = _vector(random, 1)
        node.mesh = number
        meshes.append(Mesh(f"n{number}", np.round(random.uniform(-1, 1, (4, 3)), 3), _TETRAHEDRON))
        nodes.append(node)
        channels += [Channel(number, track) for track in _tracks(motions, node)]
    extra = int(random.integers(6))
    cameras, lights, skins = [], [], []
    if extra in (1, 2):
        node = Node("view", parent=None if chance() < 0.6 else 0, position=_vector(random, 6))
        node.rotation_xyzw = _rotation(random)
        target = None if chance() < 0.4 else len(nodes)
        if extra == 1:
            node.kind, node.camera = NodeKind.CAMERA, 0
            cameras.append(Camera("view", roll_degrees=float(random.integers(-40, 40))))
        else:
            node.kind, node.light = NodeKind.LIGHT, 0
            kind = LightType.SPOT if chance() < 0.7 else LightType.DIRECTIONAL
            lights.append(Light("view", kind, hotspot_degrees=30.0, falloff_degrees=40.0))
        node.target = None if target is None else target + 1
        nodes.append(node)
        viewer = len(nodes) - 1
        if target is not None:
            nodes.append(Node("view.Target", NodeKind.TARGET, position=_vector(random, 3) + np.array([0, 0, 9])))
            if chance() < 0.6:
                track = motions.track("position", -3, 3, 3)
                track.values += [0.0, 0.0, 9.0]
                channels.append(Channel(viewer + 1, track))
            if extra == 1 and chance() < 0.5:
                channels.append(Channel(viewer, motions.track("roll", -50, 50, 1)))
        elif chance() < 0.6:
            channels.append(Channel(viewer, motions.rotation()))
        if chance() < 0.7:
            channels.append(Channel(viewer, motions.track("position", -5, 5, 3)))
    start, end = 0.0, float(random.integers(20, 100)) if motions.wraps else float(random.integers(5, 50))
    if chance() < 0.3:
        start = float(random.integers(1, 5))
    clip = Clip("motion", channels, start * per_frame, end * per_frame, rate, unit, per_frame)
    scene = Scene(nodes, meshes, cameras=cameras, lights=lights, clips=[clip], space=_SPACES[int(random.integers(4))])
    if extra == 3:
        _add_skin(scene, motions, skins)
    return scene


def _tracks(motions: Motions, node: Node) -> list[Track]:
    tracks, chance = [], motions.random.random
    if chance() < 0.5:
        tracks.append(motions.track("position", -4, 4, 3))
    if chance() < 0.5:
        tracks.append(motions.rotation())
    if chance() < 0.3:
        track = motions.track("scale", 0.4, 2, 3)
        track.values *= np.sign(node.scale)
        tracks.append(track)
        if node.scale_axes_xyzw is not None and chance() < 0.5:
            tracks.append(motions.rotation("scale_axes"))
    return tracks


def _add_skin(scene: Scene, motions: Motions, skins: list[Skin]) -> None:
    """Add a mesh that follows two or three bones, whose bind pose is not their rest pose."""
    random = motions.random
    first = len(scene.nodes)
    count = int(random.integers(2, 4))
    for number in range(count):
        parent = None if number == 0 else first + number - 1
        bone = Node(f"bone{number}", NodeKind.BONE, parent, _vector(random, 2), _rotation(random))
        scene.nodes.append(bone)
        if number or random.random() < 0.5:
            scene.clips[0].channels.append(Channel(first + number, motions.rotation()))
    vertices = np.round(random.uniform(-3, 3, (8, 3)), 3)
    scene.meshes.append(Mesh("skin", vertices, np.array([[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 0]])))
    turns = np.array([_rotation(random) for _ in range(count)])
    places = np.array([_vector(random, 2) for _ in range(count)])
    if random.random() < 0.4:
        rest = Rig(Scene(nodes=scene.nodes)).world({}, 1)[0, first : first + count]
    else:
        rest = affine.compose(places, turns, np.ones(3))
    owners, joints, weights = [], [], []
    for vertex in range(len(vertices)):
        chosen = random.choice(count, int(random.integers(1, count + 1)), replace=False)
        shares = random.uniform(0.2, 1, len(chosen))
        owners += [vertex] * len(chosen)
        joints += chosen.tolist()
        weights += (shares / shares.sum()).tolist()
    joint_numbers = list(range(first, first + count))
    skin = Skin("skin", joint_numbers, affine.inverse(rest), np.array(owners), np.array(joints), np.array(weights))
    scene.skins.append(skin)
    scene.nodes.append(Node("skin", mesh=len(scene.meshes) - 1, skin=0))


def _vector(random: np.random.Generator, most: float) -> np.ndarray:
    return np.round(random.uniform(-most, most, 3), 3)


def _rotation(random: np.random.Generator) -> np.ndarray:
    quaternion = random.normal(size=4)
    return quaternion / np.sqrt((quaternion**2).sum())
