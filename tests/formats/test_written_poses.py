"""What a writer wrote poses as its report says: the law of `tests.building.written_poses` for single cases, random
scenes, samples and real files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.formats import FORMATS
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.scene import Channel, Clip, Light, LightType, Mesh, Node, NodeKind, Scene, Skin
from tests.building.moving_scenes import moving_scene
from tests.building.written_poses import unreported, write_and_read
from tests.corpus import CORPUS, needs_corpus
from tests.samples import all_samples
from tests.slow import SLOW

WRITTEN = [known.name for known in FORMATS if (bridge := known.bridge()) is not None and bridge.writer() is not None]
LINEAR, TCB, STEP = Interpolation.LINEAR, Interpolation.TCB, Interpolation.STEP
RELATIVE, ABSOLUTE = RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.QUATERNION_ABSOLUTE
HALF_TURN = [math.sin(0.6), 0.0, 0.0, math.cos(0.6)]


def mesh(name: str) -> Mesh:
    points = np.array([[0.0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1]])
    return Mesh(name, points, np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]))


def boxes(*tracks: Track, end: float, nodes: int = 1, **first: object) -> Scene:
    """A chain of nodes with meshes; the tracks belong to the last one."""
    chain = [
        Node(f"n{i}", parent=i - 1 if i else None, mesh=i, position=np.array([2.0 * i, 0, 0])) for i in range(nodes)
    ]
    for name, value in first.items():
        setattr(chain[0], name, value)
    channels = [Channel(nodes - 1, track) for track in tracks]
    return Scene(chain, [mesh(f"n{i}") for i in range(nodes)], clips=[Clip(channels=channels, end=end)])


def spin(times: list[float], angle: float, wrap: Wrap = Wrap.SINGLE, interpolation: Interpolation = TCB) -> Track:
    values = np.array([[0.0, 0.0, 1.0, 0.0], *[[0.0, 0.0, 1.0, angle]] * (len(times) - 1)])
    return Track("rotation", np.array(times), values, interpolation, wrap, RELATIVE)


def slide(times: list[float], wrap: Wrap = Wrap.SINGLE, interpolation: Interpolation = TCB) -> Track:
    values = np.array([[4.0 * i, (i % 2) * 3.0, 0.0] for i in range(len(times))])
    return Track("position", np.array(times), values, interpolation, wrap)


def skinned() -> Scene:
    """Two joints for each vertex, which rest in another pose than the one they were bound in."""
    bones = [Node("low", NodeKind.BONE), Node("high", NodeKind.BONE, 0, np.array([0.0, 2, 0]), np.array(HALF_TURN))]
    bound = Rig(Scene([bones[0], Node("high", NodeKind.BONE, 0, np.array([0.0, 2, 0]))])).world({}, 1)[0]
    points = np.array([[0.0, 0, 0], [0, 2, 0], [0, 4, 1], [1, 4, 0]])
    weights = np.tile([0.5, 0.5], 4)
    owners, joints = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    skin = Skin("skin", [0, 1], affine.inverse(bound), owners, joints, weights)
    channels = [Channel(1, spin([0.0, 10, 30], 0.7, interpolation=LINEAR))]
    shape = Mesh("skin", points, np.array([[0, 1, 2], [1, 2, 3]]))
    return Scene([*bones, Node("skin", mesh=0, skin=0)], [shape], skins=[skin], clips=[Clip(channels=channels, end=30)])


def moving_spot() -> Scene:
    light = Light("spot", LightType.SPOT, hotspot_degrees=30, falloff_degrees=40)
    node = Node("spot", NodeKind.LIGHT, light=0)
    tracks = [spin([0, 10, 20], 0.6, interpolation=LINEAR), slide([0, 10, 20], interpolation=LINEAR)]
    channels = [Channel(0, track) for track in tracks]
    return Scene([node, Node("box", mesh=0)], [mesh("box")], lights=[light], clips=[Clip(channels=channels, end=20)])


def aimed_below_a_stretched_node() -> Scene:
    scene = boxes(spin([0, 12, 20], 0.8), end=20, scale=np.array([0.6, 0.9, 1.4]))
    spot = Node("spot", NodeKind.LIGHT, 0, np.array([1.0, 2, 3]), light=0, target=2)
    scene.nodes += [spot, Node("spot.Target", NodeKind.TARGET, position=np.array([3.0, 0, 7]))]
    scene.lights.append(Light("spot", LightType.SPOT, hotspot_degrees=30, falloff_degrees=40))
    return scene


def many_loops() -> Scene:
    """Short loops in a long clip."""
    nodes = [Node(f"n{i}", mesh=0, position=np.array([i, 0.0, 0])) for i in range(8)]
    channels = [Channel(i, spin([0.0, 1.5, 3, 4], 0.5, Wrap.LOOP)) for i in range(8)]
    return Scene(nodes, [mesh("box")], clips=[Clip(channels=channels, end=150_000)])


def sheared_child() -> Scene:
    """The child of a mirrored node with scale axes."""
    axes = np.array([0.3, 0.2, 0.1, 0.9])
    scene = boxes(spin([0, 10, 20], 0.7), end=20, nodes=2, scale=np.array([-1.0, 2, 0.5]))
    scene.nodes[0].scale_axes_xyzw = axes / np.linalg.norm(axes)
    return scene


def late_samples() -> Track:
    half_angles = np.linspace(0.5, 0.8, 11)
    turns = np.column_stack([np.sin(half_angles), np.zeros((11, 2)), np.cos(half_angles)])
    return Track.sampled("rotation", turns, start=5.0, form=ABSOLUTE)


def stretched(*signs: float) -> Track:
    values = np.array([[1.0, 1, 1], [2, 0.5, 1], [1, 1, 3]]) * signs
    return Track("scale", np.array([0.0, 10, 20]), values, LINEAR)


def in_seconds(scene: Scene) -> Scene:
    """The scene with times in seconds, 30 frames each, whose multiples are rounded."""
    (clip,) = scene.clips
    for channel in clip.channels:
        channel.track.times = channel.track.times / 30
    clip.end, clip.rate, clip.unit, clip.units_per_frame = clip.end / 30, 1.0, "second", 1 / 30
    return scene


CASES = {
    "ase: two keys that repeat": ("ase", boxes(slide([0, 10], Wrap.REPEAT, LINEAR), end=40)),
    "ase: two keys that loop": ("ase", boxes(spin([0, 10], 1.5, Wrap.LOOP, LINEAR), end=40)),
    "ase: skin that rests elsewhere": ("ase", skinned()),
    "u3d: full turns that repeat": ("uto3d", boxes(spin([0, 15, 30], 2.5 * math.tau, Wrap.REPEAT), end=30)),
    "u3d: moving spot without a target": ("uto3d", moving_spot()),
    "u3d: many short loops": ("uto3d", many_loops()),
    "nodeanim: many short loops": ("nodeanim", many_loops()),
    "nodeanim: a loop in seconds": (
        "nodeanim",
        in_seconds(boxes(slide([3, 8, 13, 15, 21, 26], Wrap.LOOP), end=86)),
    ),
    "ase: three negative axes and a rotation": ("ase", boxes(spin([0, 10], 1.0), end=20, scale=-np.ones(3))),
    "ase: two negative axes and a scale": (
        "ase",
        boxes(stretched(-1, -1, 1), end=20, scale=np.array([-1.0, -1, 1])),
    ),
    "ase: sampled rotation that begins late": ("ase", boxes(late_samples(), end=20)),
    "ase: aimed below a stretched node": ("ase", aimed_below_a_stretched_node()),
    "b3d: steps": ("b3d", boxes(slide([0, 4, 5, 12], interpolation=STEP), end=20)),
    "b3d: a seam": ("b3d", boxes(slide([0, 5, 9], Wrap.REPEAT), end=30)),
    "gltf: steps that repeat": ("gltf", in_seconds(boxes(slide([0, 4, 22], Wrap.REPEAT, STEP), end=73))),
    "gltf: lines that loop": ("gltf", in_seconds(boxes(slide([0, 1, 2, 7, 8], Wrap.LOOP, LINEAR), end=73))),
    "gltf: a turn too fast for its keys": ("gltf", boxes(spin([0, 1, 7, 9], -7.27), end=33)),
    "3ds: mirror with scale axes": ("3ds", sheared_child()),
    "3ds: repeated keys between frames": ("3ds", boxes(slide([0, 4.6, 9.7], Wrap.REPEAT), end=60)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_case_that_once_broke_the_law(case: str, tmp_path: Path) -> None:
    format, scene = CASES[case]
    assert unreported(scene, format, tmp_path) == []


@pytest.mark.parametrize("interpolation", [STEP, LINEAR, TCB])
@pytest.mark.parametrize("keys", [[0, 4, 22], [0, 12, 23, 28], [3, 6]])
def test_repeated_keys_are_not_called_wrong_where_their_times_are_rounded(
    keys: list[float], interpolation: Interpolation, tmp_path: Path
) -> None:
    """At a seam, a multiple of the period in seconds, the scene may show one side, and the written keys the other."""
    scene = in_seconds(boxes(slide(keys, Wrap.REPEAT, interpolation), end=28 * 7))
    report = write_and_read(scene, "nodeanim", tmp_path)[1]
    (loss,) = [loss for loss in report if loss.path == "/nodes/n0/position" and loss.unit == "scene unit"]
    assert loss.error is not None
    assert loss.error < 0.01


OPTIONS: dict[str, list[dict[str, object]]] = {
    "3ds": [{}, {"fps": 25.0}, {"find_rate": True, "max_error": 1e-3}],
    "uto3d": [{}, {"dialect": "A"}, {"dialect": "literal", "max_error": 1e-3}],
    "nodeanim": [
        {},
        {"time_unit": "seconds"},
        {"rotation_keys": "absolute", "up": "y", "handedness": "left"},
        {"time_unit": "frames", "rotation_keys": "relative"},
    ],
    "ase": [{}, {"keys": True}, {"keys": True, "max_error": 1e-3}],
    "hale3d": [{}, {"file": "model"}, {"fps": 60}],
    "midtown": [{}, {"dialect": "beta", "fps": 60.0}, {"euler_order": "XYZ", "dialect": "old"}],
    "gltf": [{}, {"keys": "cubic"}, {"keys": "frames"}],
    "b3d": [{}, {"fps": 60.0}, {"max_error": 1e-3}],
}
"""options for writing, one after the other for the random scenes; other formats are written with the defaults"""


@pytest.mark.parametrize("seed", range(100 if SLOW else 6))
@pytest.mark.parametrize("format", [*WRITTEN, "gltf"])
def test_random_scenes(format: str, seed: int, tmp_path: Path) -> None:
    chosen = OPTIONS.get(format, [{}])
    options = chosen[seed % len(chosen)]
    assert unreported(moving_scene(seed), format, tmp_path, **options) == []


def samples_for_each_format() -> list[tuple[Path, str]]:
    """Pairs of a sample and a format that is not its own; by default not of all formats."""
    chosen = [each for each in all_samples() if each[0] in ("3ds", "ase", "uto3d") or SLOW]
    chosen = [each for each in chosen if each[1].name != "signalling_nans.3ds"]
    return [(path, format) for own, path in chosen for format in (*WRITTEN, "gltf") if format != own]


@pytest.mark.parametrize(("path", "format"), samples_for_each_format(), ids=lambda value: getattr(value, "name", value))
def test_samples(path: Path, format: str, tmp_path: Path) -> None:
    assert unreported(keyframer.load(path, salvage=True), format, tmp_path) == []


@needs_corpus
@pytest.mark.parametrize("name", ["secondreality/CITY.3DS", "hale3d/bob_lamp_update.anim"])
def test_real_files_as_ase(name: str, tmp_path: Path) -> None:
    """A helicopter whose rotor is two keys that repeat; a figure whose bones were bound in another pose."""
    assert unreported(keyframer.load(CORPUS / name), "ase", tmp_path) == []
