"""Clips as F-curves: exact at every frame, with few keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Camera, Channel, Clip, Interpolation, Node, NodeKind, RotationForm, Scene, Track, Wrap
from keyframer.exchange.fcurves import ClipCurves, DerivedProperty, FCurves, clip_curves, initial_transforms

ROOT = Path(__file__).resolve().parents[2]
FRAMES = np.arange(0.0, 61.0)


def scene_with(*tracks: Track, rate: float = 30.0, end: float = 60.0, **node: object) -> Scene:
    channels = [Channel(0, track) for track in tracks]
    return Scene(nodes=[Node("Box", **node)], clips=[Clip("clip", channels, 0.0, end, rate)])  # type: ignore[arg-type]


def only_curves(clip: ClipCurves) -> FCurves:
    (curves,) = clip.curves
    return curves


def turning(times: list[float], degrees: list[float], **more: object) -> Track:
    values = [(0.0, 0.0, 1.0, np.radians(angle)) for angle in degrees]
    form = RotationForm.AXIS_ANGLE_RELATIVE
    return Track("rotation", times, values, Interpolation.TCB, form=form, **more)  # type: ignore[arg-type]


def largest_angle(found: np.ndarray, wanted: np.ndarray) -> float:
    dots = np.abs(np.sum(found * wanted, axis=1)) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    return float(np.degrees(2 * np.arccos(np.clip(dots, 0, 1))).max())


def test_tcb_positions_keep_their_keys() -> None:
    track = Track("position", [0, 20, 60], [(0, 0, 0), (5, 1, 0), (0, 9, 3)], Interpolation.TCB, tension=[0, 0.5, 0])
    curves = only_curves(clip_curves(scene_with(track), 0))
    assert (curves.how, curves.mode, curves.frames.tolist()) == ("exact", "CUBICSPLINE", [0, 20, 60])
    wanted = keyframer.compile_track(track)(FRAMES)
    assert np.abs(curves.at(FRAMES) - wanted).max() < 1e-9


def test_eased_positions_are_fitted_within_the_error() -> None:
    eased = {"ease_to": [0, 0.7, 0], "ease_from": [0.5, 0, 0]}
    track = Track("position", [0, 20, 60], [(0, 0, 0), (5, 1, 0), (0, 9, 3)], Interpolation.TCB, **eased)  # type: ignore[arg-type]
    curves = only_curves(clip_curves(scene_with(track), 0))
    assert curves.how == "fitted"
    assert 3 < len(curves.frames) < 61
    off = np.abs(curves.at(FRAMES) - keyframer.compile_track(track)(FRAMES)).max()
    assert off <= 1e-4 * 11  # the size of the scene is the length of the path of its only node


def test_full_revolutions_are_kept_with_few_keys() -> None:
    track = turning([0, 30, 60], [0, 180, 180], wrap=Wrap.REPEAT)
    curves = only_curves(clip_curves(scene_with(track, end=120.0), 0))
    frames = np.arange(0.0, 121.0)
    assert curves.how == "fitted"
    assert len(curves.frames) < 40
    assert largest_angle(curves.at(frames), keyframer.compile_track(track)(frames)) < 0.01


def test_linear_rotations_become_cubic() -> None:
    """Between two keys far apart, a program that interpolates components would be early, then late."""
    values = [(0, 0, 0, 1), (0, 0, np.sin(np.radians(80)), np.cos(np.radians(80)))]
    form = RotationForm.QUATERNION_ABSOLUTE
    track = Track("rotation", [0, 60], values, Interpolation.LINEAR, form=form)
    curves = only_curves(clip_curves(scene_with(track), 0))
    assert (curves.how, curves.mode) == ("fitted", "CUBICSPLINE")
    assert largest_angle(curves.at(FRAMES), keyframer.compile_track(track)(FRAMES)) < 0.01


def test_fast_turns_are_right_between_frames() -> None:
    """Such turns need more keys than there are frames."""
    track = turning([0, 2, 4, 6, 8], [0, 150, -170, 160, 20])
    curves = only_curves(clip_curves(scene_with(track, end=8.0), 0))
    times = np.linspace(0.0, 8.0, 161)
    assert curves.how == "fitted"
    assert 9 < len(curves.frames) < 72
    assert largest_angle(curves.at(times), keyframer.compile_track(track)(times)) < 0.01


def test_linear_rotations_with_a_key_on_every_frame_are_right_between_frames() -> None:
    angles = np.radians([0, 20, 50, 30, -5])
    values = np.column_stack([np.zeros((5, 2)), np.sin(angles), np.cos(angles)])
    track = Track("rotation", np.arange(5.0), values, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)
    curves = only_curves(clip_curves(scene_with(track, end=4.0), 0))
    times = np.linspace(0.0, 4.0, 81)
    exact = np.interp(times, np.arange(5.0), angles)  # about one axis, at constant speed from key to key
    wanted = np.column_stack([np.zeros((81, 2)), np.sin(exact), np.cos(exact)])
    assert largest_angle(curves.at(times), wanted) < 0.01


def test_jump_is_exact_at_the_frames_beside_it() -> None:
    track = Track("position", [0, 30, 30, 60], [(0, 0, 0), (1, 0, 0), (5, 0, 0), (6, 0, 0)], Interpolation.LINEAR)
    curves = only_curves(clip_curves(scene_with(track), 0))
    assert len(np.unique(curves.frames)) == len(curves.frames)
    assert np.abs(curves.at(FRAMES) - keyframer.compile_track(track)(FRAMES)).max() < 1e-3


def test_baking_sets_a_key_on_every_frame() -> None:
    track = Track("position", [0, 60], [(0, 0, 0), (6, 0, 0)], Interpolation.TCB)
    curves = only_curves(clip_curves(scene_with(track), 0, bake=True))
    assert (curves.how, curves.mode, len(curves.frames)) == ("sampled", "LINEAR", 61)


def test_another_rate_moves_keys_and_keeps_seconds() -> None:
    track = Track("position", [0, 60], [(0, 0, 0), (6, 0, 0)], Interpolation.TCB)
    clip = clip_curves(scene_with(track), 0, fps=24.0)
    assert (clip.fps, clip.last) == (24.0, pytest.approx(48.0))
    assert only_curves(clip).frames.tolist() == [0.0, 48.0]
    assert np.allclose(only_curves(clip).at(np.array([24.0])), keyframer.compile_track(track)([30.0]))


def test_visibility_steps_between_0_and_1() -> None:
    curves = only_curves(clip_curves(scene_with(Track("visible", [0, 10, 20], [1, 0, 1], Interpolation.STEP)), 0))
    assert curves.mode == "STEP"
    assert curves.at(np.array([0.0, 9.0, 10.0, 19.0, 20.0]))[:, 0].tolist() == [1, 1, 0, 0, 1]


def test_derived_properties_follow_their_tracks() -> None:
    scene = scene_with(Track("fov", [0, 60], [30, 60], Interpolation.LINEAR), kind=NodeKind.CAMERA, camera=0)
    scene.cameras.append(Camera("eye"))
    rule = DerivedProperty("lens", ("fov",), lambda _, degrees: 18.0 / np.tan(np.radians(degrees) / 2), 1e-3)
    curves = only_curves(clip_curves(scene, 0, derived=[rule]))
    assert (curves.name, curves.how) == ("lens", "fitted")
    wanted = 18.0 / np.tan(np.radians(30 + 0.5 * FRAMES) / 2)
    assert np.abs(curves.at(FRAMES)[:, 0] - wanted).max() < 2e-3


def test_node_with_a_target_gets_the_rotation_of_the_pose() -> None:
    scene = keyframer.load(ROOT / "examples" / "windmill.3ds")
    number = scene.find("Camera")
    curves = next(c for c in clip_curves(scene, 0).curves if (c.node, c.name) == (number, "rotation"))
    pose = keyframer.pose(scene, frames=np.arange(101.0))
    from keyframer.maths import quat

    assert largest_angle(curves.at(np.arange(101.0)), quat.from_matrix3(pose.world[:, number, :3, :3])) < 0.01
    place = initial_transforms(scene)[number]
    assert np.allclose(quat.to_matrix3(place.rotation_xyzw), pose.world[0, number, :3, :3], atol=1e-6)


def test_static_nodes_have_no_curves() -> None:
    track = Track("position", [0, 60], [(1, 2, 3), (1, 2, 3)], Interpolation.TCB)
    scene = scene_with(track)
    assert clip_curves(scene, 0).curves == []
    assert initial_transforms(scene)[0].position.tolist() == [1, 2, 3]
