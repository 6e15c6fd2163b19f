"""Edits of scenes: their effect on the motion; none changes its input."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import editing
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.formats._matching import Comparison
from keyframer.scene import Channel, Clip, Handedness, Node, NodeKind, Scene
from tests.building.random_scenes import spinning
from tests.building.scenes import one_node

SAMPLES = Path(__file__).parents[1] / "samples"


def windmill() -> Scene:
    return keyframer.load(SAMPLES / "3ds/windmill.3ds")


EDITS: dict[str, Callable[[Scene], Scene]] = {
    "choose": lambda scene: editing.choose_nodes(scene, ["Sail*"]),
    "cut": lambda scene: editing.cut(scene, 10, 50),
    "move": lambda scene: editing.move(scene, "Rotor", (0, 0, 10)),
    "rate": lambda scene: editing.change_rate(scene, 24),
    "scale": lambda scene: editing.scale(scene, 2.5),
    "axes": lambda scene: editing.change_axes(scene, up="y", handedness="left"),
    "reverse": editing.reverse,
    "merge": lambda scene: editing.merge(scene, windmill()),
}


@pytest.mark.parametrize("name", EDITS)
def test_input_is_not_changed(name: str) -> None:
    scene = windmill()
    scene.origin = None
    before = copy.deepcopy(scene)
    result = EDITS[name](scene)
    assert result is not scene
    assert Comparison().scenes(before, scene) == []


def world(scene: Scene, seconds: np.ndarray[tuple[int], np.dtype[np.float64]]) -> dict[str, np.ndarray]:  # type: ignore[type-arg]
    posed = keyframer.pose(scene, seconds)
    return {node.name: posed.world[:, number] for number, node in enumerate(scene.nodes)}


SECONDS = np.linspace(0.0, 100 / 30, 41)


def test_selected_nodes_keep_their_motion() -> None:
    scene = windmill()
    chosen = editing.choose_nodes(scene, ["Sail1", "Camera"])
    assert {node.name for node in chosen.nodes} == {"Tower", "Rotor", "Sail1", "Camera", "Camera.target"}
    assert [mesh.name for mesh in chosen.meshes] == ["Sail1"]
    ours, theirs = world(scene, SECONDS), world(chosen, SECONDS)
    for name, matrices in theirs.items():
        assert np.allclose(matrices, ours[name]), name
    assert len(editing.choose_nodes(scene, ["Rotor"]).meshes) == 4
    assert len(editing.choose_nodes(scene, ["Rotor"], with_children=False).nodes) == 2
    with pytest.raises(LookupError, match="nobody"):
        editing.choose_nodes(scene, ["nobody"])


def test_cut_plays_the_selected_range() -> None:
    scene = windmill()
    cut_scene = editing.cut(scene, 10, 70)
    assert (cut_scene.clips[0].start, cut_scene.clips[0].end) == (0.0, 60.0)
    frames = np.arange(61.0)
    ours, theirs = keyframer.pose(scene, frames=frames + 10).world, keyframer.pose(cut_scene, frames=frames).world
    assert np.abs(ours - theirs).max() < 0.02  # the mill is 100 units high
    assert all(
        (channel.track.times >= 0).all() and (channel.track.times <= 60).all()
        for channel in cut_scene.clips[0].channels
        if channel.track.kind != "visible"
    )
    with pytest.raises(ValueError, match="not a range"):
        editing.cut(scene, 5, 5)


def test_cut_keeps_frames_and_keys_inside_the_range() -> None:
    keys = Track("position", np.array([20.0, 30.0]), np.eye(3)[:2], Interpolation.TCB, bias=np.array([0.5, 0.0]))
    frames = Track.sampled("scale", np.arange(150.0).reshape(50, 3))
    clip = Clip(channels=[Channel(0, keys), Channel(0, frames)], end=49.0)
    cut_scene = editing.cut(Scene(nodes=[Node("box")], clips=[clip]), 15, 35)
    first, second = (channel.track for channel in cut_scene.clips[0].channels)
    assert first.times.tolist() == [5.0, 15.0]
    assert first.bias is keys.bias
    assert second.times.tolist() == list(range(21))
    assert np.array_equal(second.values, frames.values[15:36])


@pytest.mark.parametrize("rate", [24.0, 60.0, 29.97])
def test_change_of_rate_keeps_the_duration(rate: float) -> None:
    scene = windmill()
    resampled = editing.change_rate(scene, rate)
    assert resampled.clips[0].frames_per_second == rate
    ours, theirs = world(scene, SECONDS), world(resampled, SECONDS)
    assert max(np.abs(ours[name] - theirs[name]).max() for name in ours) < 1e-6


def test_sampled_frames_are_resampled_at_another_rate() -> None:
    track = Track.sampled("position", np.arange(93.0).reshape(31, 3))
    scene = one_node(track, end=30.0)
    resampled = editing.change_rate(scene, 24).clips[0].channels[0].track
    assert resampled.times.tolist() == list(range(25))
    assert np.allclose(resampled.values[:, 0], np.arange(25) * 3 * 30 / 24)


def test_move_is_that_of_the_scene() -> None:
    scene = windmill()
    moved = editing.move(scene, "Rotor", (0, 0, 10))
    scene.move("Rotor", by=(0, 0, 10))
    assert np.array_equal(keyframer.pose(moved, SECONDS).world, keyframer.pose(scene, SECONDS).world)


def test_scale_changes_only_lengths() -> None:
    scene = windmill()
    scaled = editing.scale(scene, 0.5)
    ours, theirs = keyframer.pose(scene, SECONDS), keyframer.pose(scaled, SECONDS)
    assert np.allclose(theirs.world[..., :3, 3], ours.world[..., :3, 3] * 0.5)
    assert np.allclose(theirs.world[..., :3, :3], ours.world[..., :3, :3])
    assert np.allclose(theirs.vertices(0), ours.vertices(0) * 0.5)
    assert scaled.space == scene.space
    with pytest.raises(ValueError, match="positive"):
        editing.scale(scene, 0)


def test_change_of_axes_transforms_the_vertices() -> None:
    scene = windmill()
    turned = editing.change_axes(scene, up="y")
    assert np.allclose(
        keyframer.pose(turned, SECONDS).vertices(2),
        keyframer.pose(scene, SECONDS).vertices(2)[..., [0, 2, 1]] * (1, 1, -1),
    )
    left = editing.change_axes(scene, handedness=Handedness.LEFT)
    assert np.allclose(
        keyframer.pose(left, SECONDS).vertices(2), keyframer.pose(scene, SECONDS).vertices(2) * (1, -1, 1)
    )
    # A camera looks at the same thing: its frame stays X right, Y up, -Z forward.
    number = next(i for i, node in enumerate(scene.nodes) if node.camera is not None)
    ours, theirs = keyframer.pose(scene, SECONDS).world[:, number], keyframer.pose(turned, SECONDS).world[:, number]
    assert np.allclose(theirs[:, :3, 2], ours[:, [0, 2, 1], 2] * (1, 1, -1))


@pytest.mark.parametrize("interpolation", [Interpolation.TCB, Interpolation.LINEAR])
def test_reversed_motion(interpolation: Interpolation) -> None:
    rng = np.random.default_rng(7)
    shapes = {name: rng.uniform(-1, 1, 4) for name in ("tension", "continuity", "bias")}
    eases = {name: rng.uniform(0, 1, 4) for name in ("ease_to", "ease_from")}
    times = np.array([0.0, 7, 11, 40])
    places = Track("position", times, rng.normal(size=(4, 3)), interpolation, **shapes, **eases)
    turns = Track(
        "rotation",
        times,
        np.column_stack([rng.normal(size=(4, 3)), [0.5, 2.0, -7.0, 3.0]]),
        interpolation,
        form=RotationForm.AXIS_ANGLE_RELATIVE,
        **shapes,
        **eases,
    )
    clip = Clip(channels=[Channel(0, places), Channel(0, turns)], end=40.0)
    scene = Scene(nodes=[Node("box")], clips=[clip])
    frames = np.linspace(0, 40, 161)
    ours = keyframer.pose(scene, frames=40 - frames).world
    assert np.allclose(keyframer.pose(editing.reverse(scene), frames=frames).world, ours, atol=1e-9)
    twice = editing.reverse(editing.reverse(scene))
    assert np.allclose(
        keyframer.pose(twice, frames=frames).world, keyframer.pose(scene, frames=frames).world, atol=1e-9
    )


def test_reversed_repeat_and_visibility() -> None:
    scene = spinning(2.0, wrap=Wrap.REPEAT)
    scene.clips[0].end = 100.0
    visible = Track("visible", np.array([-1.0, 20, 50]), np.array([1.0, 0, 1]), Interpolation.STEP)
    scene.clips[0].channels.append(Channel(0, visible))
    reversed_scene = editing.reverse(scene)
    frames = np.arange(0.5, 100.0)
    ours, theirs = keyframer.pose(scene, frames=100 - frames), keyframer.pose(reversed_scene, frames=frames)
    assert (ours.visible == theirs.visible).all()
    whole = np.arange(0.0, 101.0)
    apart = np.abs(keyframer.pose(scene, frames=100 - whole).world - keyframer.pose(reversed_scene, frames=whole).world)
    assert (
        np.sort(apart.max(axis=(1, 2, 3)))[:-2].max() < 1e-3
    )  # where a repetition begins, the values before and after differ


def test_clip_is_merged_with_the_skeleton_of_another_file() -> None:
    clip = keyframer.load(SAMPLES / "midtown/retail.anim", format="midtown")
    bones = [Node(node.name.upper(), NodeKind.BONE, node.parent) for node in clip.nodes]
    moved = [Node(node.name, node.kind, None if node.parent is None else node.parent + 1) for node in bones]
    model = Scene(nodes=[Node("extra"), *moved])
    merged = editing.merge(clip, model)
    assert len(merged.clips[0].channels) == len(clip.clips[0].channels)
    assert merged.space == model.space
    number = next(i for i, node in enumerate(merged.nodes) if node.name == "ROOT")
    ours = keyframer.pose(clip, frames=[0.0, 2.0]).world[:, 0, :3, 3]
    assert np.allclose(
        keyframer.pose(merged, frames=[0.0, 2.0]).world[:, number, :3, 3], ours[:, [0, 2, 1]] * (1, -1, 1)
    )
    with pytest.raises(ValueError, match="no clip has a track"):
        editing.merge(clip, Scene(nodes=[Node("nobody")]))
    assert editing.merge(clip, Scene(nodes=bones), by="order").clips[0].channels
