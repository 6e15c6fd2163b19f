"""Random scenes with extreme values, saved to every target: the files pass `check` without errors and load again.

`tests/fuzz/test_fuzz.py` does the same with every sample.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.formats import detect
from keyframer.formats.midtown.skeleton import read_skeleton
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Fog,
    Handedness,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
    TextureMap,
)
from tests.building.scenes import as_read_from_a_file
from tests.cli.running import EXAMPLE
from tests.slow import SLOW

TARGETS = {
    "3ds": ("3ds", ".3ds"),
    "uto3d": ("uto3d", ".u3d"),
    "hale3d": ("hale3d", ".anim"),
    "midtown": ("midtown", ".anim"),
    "nodeanim": ("nodeanim", ".nanim"),
    "ase": ("ase", ".ase"),
    "glb": ("gltf", ".glb"),
    "gltf": ("gltf", ".gltf"),
}
MODELS = {suffix for _, suffix in TARGETS.values()} | {".mdl"}


def errors(path: Path) -> set[str]:
    """Return the codes of the errors that `check` finds."""
    issues = keyframer.check(path).issues
    return {issue.code for issue in issues if issue.severity is keyframer.Severity.ERROR}


def reread(scene: Scene, folder: Path) -> int:
    """Write a scene to every target, detect, check and load the written files; return how many there were."""
    written = 0
    for target, (format, suffix) in TARGETS.items():
        place = folder / target
        place.mkdir()
        refusal = None
        try:
            keyframer.save(scene, place / f"out{suffix}", format=format)
        except ValueError:
            refusal = "refused in one line"
        except keyframer.FormatError as error:
            refusal = error.code
        if refusal is not None:
            assert refusal == "refused in one line" or refusal.startswith("LIMIT_"), (target, refusal)
            assert list(place.iterdir()) == [], target
            continue
        for path in sorted(place.iterdir()):
            if path.suffix in MODELS:
                assert errors(path) == set(), (target, path.name)
                assert format in ("gltf", keyframer.load(path).source_format)  # our glTF names its original format
                written += 1
            elif path.suffix == ".skel":  # loaded as the skeleton of a clip; without one it is text
                assert read_skeleton(path.read_bytes()).bones
    return written


NUMBERS = (0.0, -0.0, 1e-40, 1e30, -1e30, 3e38, float("nan"), float("inf"), 1e10, -1.0, 0.5, 7.0)


NAMES = ("", "Box", "Box", "a\0b", "Größe", "雪" * 12, "x" * 300, "$$$DUMMY", "../up", "a b{c}", "\x1b[0m")


class RandomScenes:
    """Builds scenes with every kind of part, with extreme numbers and unusual names."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.odd = seed % 3 == 0

    def pick(self, *choices: object) -> object:
        return choices[int(self.chance.integers(len(choices)))]

    def vector(self, size: float = 5.0) -> np.ndarray:
        vector = self.chance.uniform(-size, size, 3)
        if self.odd and self.chance.random() < 0.05:
            vector[int(self.chance.integers(3))] = NUMBERS[int(self.chance.integers(len(NUMBERS)))]
        return vector

    def number(self, low: float, high: float) -> float:
        if self.odd and self.chance.random() < 0.05:
            return NUMBERS[int(self.chance.integers(len(NUMBERS)))]
        return float(self.chance.uniform(low, high))

    def name(self) -> str:
        return NAMES[int(self.chance.integers(len(NAMES)))]

    def scene(self) -> Scene:
        count = int(self.chance.integers(1, 9))
        scene = Scene(title=self.name(), author=self.name())
        scene.space = Space(str(self.pick("x", "y", "z")), Handedness(self.pick("left", "right")))
        scene.materials = [self.material() for _ in range(int(self.chance.integers(4)))]
        scene.meshes = [self.mesh(len(scene.materials)) for _ in range(int(self.chance.integers(1, 4)))]
        for _ in range(2):
            scene.cameras.append(Camera(self.name(), fov_degrees=self.number(1, 170), roll_degrees=self.number(-9, 9)))
            kind = list(LightType)[int(self.chance.integers(len(LightType)))]
            light = Light(self.name(), kind, multiplier=self.number(0, 9))
            light.falloff_degrees, light.target = self.number(1, 170), tuple(self.vector())
            scene.lights.append(light)
        if self.chance.random() < 0.3:
            scene.environment.fog = Fog(self.number(0, 9), 0.0, self.number(9, 99), 1.0, (0.5, 0.5, 0.5))
        scene.nodes = [self.node(scene, number, count) for number in range(count)]
        for node in scene.nodes:
            if node.mesh is not None and self.chance.random() < 0.5:
                node.skin = len(scene.skins)
                scene.skins.append(self.skin(len(scene.meshes[node.mesh].positions), count))
        scene.clips = [self.clip(count) for _ in range(int(self.chance.integers(3)))]
        return scene

    def material(self) -> Material:
        material = Material(self.name(), diffuse=(self.number(0, 1), self.number(0, 1), self.number(0, 1)))
        material.transparency, material.shininess = self.number(0, 1), self.number(0, 1)
        if self.chance.random() < 0.5:
            material.maps["texture1"] = TextureMap(self.name(), amount=self.number(0, 1))
        return material

    def mesh(self, materials: int) -> Mesh:
        count, faces = int(self.chance.integers(3, 12)), int(self.chance.integers(0, 9))
        positions = np.array([self.vector() for _ in range(count)])
        mesh = Mesh(self.name(), positions, self.chance.integers(0, count, (faces, 3)))
        if self.chance.random() < 0.5:
            mesh.uv, mesh.uv_corners = self.chance.uniform(-2, 2, (5, 2)), self.chance.integers(0, 5, (faces, 3))
        if self.chance.random() < 0.3:
            mesh.colors = self.chance.uniform(0, 1, (count, 3))
        if self.chance.random() < 0.5:
            mesh.smoothing = self.chance.integers(0, 1 << 31, faces)
        if materials and self.chance.random() < 0.7:
            mesh.face_materials = self.chance.integers(-1, materials, faces)
        return mesh

    def node(self, scene: Scene, number: int, count: int) -> Node:
        node = Node(f"{self.name()}{number}", NodeKind.DUMMY, position=self.vector(), scale=self.vector(2.0))
        node.rotation_xyzw = self.chance.normal(size=4)
        node.rotation_xyzw /= np.linalg.norm(node.rotation_xyzw)
        node.parent = int(self.chance.integers(count)) if self.chance.random() < 0.6 else None  # cycles too
        node.hidden = bool(self.chance.random() < 0.2)
        match int(self.chance.integers(6)):
            case 0 | 1:
                node.kind, node.mesh = NodeKind.OBJECT, int(self.chance.integers(len(scene.meshes)))
                if self.chance.random() < 0.3:
                    base = scene.meshes[node.mesh].positions
                    node.morph = Morph(["a", "b"], [base, base * 1.5])
                if self.chance.random() < 0.3:
                    node.pivot = self.vector()
            case 2:
                node.kind, node.camera = NodeKind.CAMERA, int(self.chance.integers(2))
            case 3:
                node.kind, node.light = NodeKind.LIGHT, int(self.chance.integers(2))
            case 4:
                node.kind = NodeKind.BONE
            case _:
                node.kind = NodeKind(self.pick("object", "dummy", "target"))
        if node.kind in (NodeKind.CAMERA, NodeKind.LIGHT) and self.chance.random() < 0.5:
            node.target = int(self.chance.integers(count))
        return node

    def skin(self, vertices: int, nodes: int) -> Skin:
        """Return a skin whose joints may be any nodes: cameras, meshes, the skinned node itself."""
        joints = self.chance.integers(0, nodes, int(self.chance.integers(1, 4))).tolist()
        influences = int(self.chance.integers(1, 2 * vertices))
        bind = np.tile(np.eye(4), (len(joints), 1, 1))
        bind[:, :3, 3] = self.chance.uniform(-2, 2, (len(joints), 3))
        owners = np.sort(self.chance.integers(0, vertices, influences))
        weights = self.chance.uniform(0, 1, influences).round(1)
        skin = Skin("skin", joints, bind, owners, self.chance.integers(0, len(joints), influences), weights)
        if self.chance.random() < 0.3:
            skin.positions = self.chance.uniform(-2, 2, (influences, 3))
        return skin

    def clip(self, nodes: int) -> Clip:
        bases = (("frame", 30.0, 1.0), ("tick", 4800.0, 160.0), ("second", 1.0, 1 / 30), ("frame", 15.0, 1.0))
        unit, rate, step = bases[int(self.chance.integers(len(bases)))]
        chosen = self.chance.integers(0, nodes, int(self.chance.integers(2 * nodes)))
        channels = [Channel(node, self.track(step)) for node in chosen.tolist()]
        return Clip(self.name(), channels, end=60 * step, rate=rate, unit=unit, units_per_frame=step)

    def track(self, step: float) -> Track:
        count = int(self.chance.integers(1, 6))
        times = np.sort(self.chance.integers(0, 60, count)) * step  # some twice
        if self.chance.random() < 0.2:
            times = times + 0.3 * step
        kind = str(self.pick("position", "rotation", "rotation", "scale", "fov", "roll", "visible", "color", "morph"))
        hows = (Interpolation.TCB, Interpolation.LINEAR, Interpolation.STEP, Interpolation.BEZIER)
        how = hows[int(self.chance.integers(len(hows)))]
        wrap = list(Wrap)[int(self.chance.integers(len(Wrap)))]
        if kind == "rotation":
            form = list(RotationForm)[int(self.chance.integers(1, len(RotationForm)))]
            values = np.column_stack([self.chance.normal(size=(count, 3)), self.chance.uniform(-9, 9, count)])
            return Track(kind, times, values, how, wrap, form)
        width = {"position": 3, "scale": 3, "color": 3, "morph": 2}.get(kind)
        values = np.array([self.vector() for _ in range(count)])[:, : width or 1]
        return Track(kind, times, values if width else values[:, 0], how, wrap)


@pytest.mark.parametrize("seed", range(500) if SLOW else [*range(10), 43, 83, 98, 164, 489])
def test_random_scenes_can_be_reread(seed: int, tmp_path: Path) -> None:
    written = reread(RandomScenes(seed).scene(), tmp_path)
    assert written >= 4  # 3ds, U3D and both kinds of glTF store everything, Hale3D only a part


PLACES = ("node", "vertex", "key", "time", "start", "end", "camera", "light", "material", "colour")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", PLACES)
@as_read_from_a_file()
def test_non_finite_number_in_a_scene(place: str, number: float, tmp_path: Path) -> None:
    """In any part of a scene: the written file is valid, or nothing is written; there are no warnings (they are
    errors)."""
    scene = keyframer.load(EXAMPLE)
    scene.origin = None
    moving = next(channel for channel in scene.clips[0].channels if len(channel.track.times) > 1)
    if place == "node":
        scene.nodes[0].position = np.array([number, 0.0, 0.0])
        scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.node]  # it is in effect
    elif place == "vertex":
        scene.meshes[0].positions = np.where(np.eye(len(scene.meshes[0].positions), 3), number, 1.0)
    elif place in ("key", "time"):
        changed = {name: np.array(getattr(moving.track, name), np.float64) for name in ("times", "values")}
        changed["times" if place == "time" else "values"][-1] = number
        moving.track = replace(moving.track, **changed)
    elif place in ("start", "end"):
        setattr(scene.clips[0], place, number)
    elif place == "camera":
        scene.cameras.append(Camera("eye", fov_degrees=number))
        scene.nodes.append(Node("eye", NodeKind.CAMERA, camera=len(scene.cameras) - 1))
    elif place == "light":
        scene.lights.append(Light("sun", LightType.SPOT, multiplier=number))
        scene.nodes.append(Node("sun", NodeKind.LIGHT, light=len(scene.lights) - 1))
    elif place == "colour":
        scene.materials[0].diffuse = (number, 0.5, 0.5)
    else:
        scene.materials[0].shininess = number
    assert reread(scene, tmp_path) >= 3


def test_keys_closer_than_single_precision_seconds(tmp_path: Path) -> None:
    """glTF stores seconds in 32 bits: two keys get the same time. Frames this far away are not written."""
    times = np.array([0.0, 1e9, 1e9 + 1])
    track = Track("position", times, np.eye(3), Interpolation.LINEAR, flags=np.array([1, 2, 3]))
    scene = Scene([Node("far", NodeKind.BONE)], clips=[Clip(channels=[Channel(0, track)], end=1e9 + 1)])
    keyframer.save(scene, tmp_path / "far.glb")
    assert errors(tmp_path / "far.glb") == set()
    (clip,) = keyframer.load(tmp_path / "far.glb").clips
    assert (clip.channels, clip.end) == ([], 1e9 + 1)


def test_fog_with_a_non_finite_number(tmp_path: Path) -> None:
    scene = Scene([Node("box")])
    scene.environment.fog = Fog(float("nan"), 0.0, 5.0, 1.0, (1.0, 1.0, 1.0))
    keyframer.save(scene, tmp_path / "fog.glb")
    assert errors(tmp_path / "fog.glb") == set()
    fog = keyframer.load(tmp_path / "fog.glb").environment.fog
    assert (fog.near, fog.far) == (0.0, 5.0)


@pytest.mark.parametrize("rate", [1e-12, 0.0, 1e6, 4e9])
def test_meaningless_frame_rates(rate: float, tmp_path: Path) -> None:
    track = Track("position", np.array([0.0, 3.0]), np.eye(3)[:2], Interpolation.LINEAR)
    with as_read_from_a_file():
        clip = Clip(channels=[Channel(0, track)], end=3.0, rate=rate)
    scene = Scene([Node("box", NodeKind.BONE)], clips=[clip])
    assert reread(scene, tmp_path) >= 2  # if 3 units are 100,000 years, there are too many frames


def test_joints_become_bones_in_u3d(tmp_path: Path) -> None:
    """In glTF any node can be a joint: a node that is not a bone becomes one, or gets one."""
    turns = np.array([[0, 0, 1, 0.0], [0, 0, 1, 1.5]])
    track = Track("rotation", np.array([0.0, 30.0]), turns, form=RotationForm.AXIS_ANGLE_RELATIVE)
    mesh = Mesh("sheet", np.array([[1.0, 0, 0], [2, 0, 0], [1, 1, 0], [3, 1, 0]]), np.array([[0, 1, 2], [1, 2, 3]]))
    nodes = [Node("plain"), Node("seen", mesh=0, parent=0), Node("sheet", mesh=0, skin=0)]
    inverse = np.tile(np.eye(4), (2, 1, 1))
    skin = Skin("skin", [0, 1], inverse, np.arange(4), np.array([0, 1, 0, 1]), np.ones(4))
    scene = Scene(nodes, [mesh], skins=[skin], clips=[Clip(channels=[Channel(0, track), Channel(1, track)], end=30.0)])
    keyframer.save(scene, tmp_path / "made.u3d")
    assert errors(tmp_path / "made.u3d") == set()
    reloaded = keyframer.load(tmp_path / "made.u3d")
    assert {reloaded.nodes[joint].kind for joint in reloaded.skins[0].joints} == {NodeKind.BONE}
    seconds = np.linspace(0, 1, 7)
    ours = keyframer.pose(scene, times=seconds).vertices(2)
    place = [node.name for node in reloaded.nodes].index("sheet")
    theirs = keyframer.pose(reloaded, times=seconds).vertices(place)
    assert np.allclose(theirs[..., [0, 2, 1]], ours, atol=1e-3)


def test_large_midtown_clips_are_detected(tmp_path: Path) -> None:
    """More bones than any figure has, and kilometres from the origin: the file has no signature, but its size
    matches."""
    nodes = [Node(f"b{number}", NodeKind.BONE, None if number == 0 else 0) for number in range(1500)]
    track = Track("position", np.array([0.0, 3.0]), np.array([[0.0, 2e7, 0], [1e-40, 3e7, 0]]), Interpolation.LINEAR)
    scene = Scene(nodes, clips=[Clip(channels=[Channel(0, track)], end=3.0)])
    keyframer.save(scene, tmp_path / "made.anim", format="midtown")
    detected = detect((tmp_path / "made.anim").read_bytes(), name="made.anim").format
    assert detected.name == "midtown"
