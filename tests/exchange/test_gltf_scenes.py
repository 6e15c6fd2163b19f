"""Scenes built in Python: geometry and motion of the exported files, played by the independent sampler."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import CurveBank, Interpolation, Track, Wrap
from keyframer.limits import Budget, Limits
from keyframer.scene import Camera, Channel, Clip, Mesh, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from tests.building.gltf_scenes import SCENES, cube, moved, tcb, turning
from tests.exchange.truth import (
    assert_valid,
    geometry,
    glb_of,
    gltf_node_of,
    key_seconds,
    largest_differences,
    moments,
    needs_node_tools,
    settings_of,
    to_file_axes,
)
from tests.oracles.gltf.sampler import Gltf

HEALTHY = [name for name in SCENES if name not in ("sick", "nothing")]


@needs_node_tools
def test_validator_finds_no_errors_and_no_warnings(tmp_path: Path) -> None:
    paths = []
    for name, make in SCENES.items():
        for core_only in (False, True):
            paths.append(tmp_path / f"{name}{'-core' if core_only else ''}.glb")
            paths[-1].write_bytes(glb_of(make(), core_only=core_only)[0])
    assert_valid(paths)


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("options", [{}, {"core_only": True, "unit": "cm"}], ids=["plain", "core, cm"])
def test_nodes_are_where_the_pose_has_them(name: str, options: dict[str, object]) -> None:
    scene = SCENES[name]()
    data, report = glb_of(scene, **options)
    gltf = Gltf(data)
    unit = 0.01 if options else 1.0
    for clip in range(max(len(scene.clips), 1)):
        seconds = np.zeros(1)
        if scene.clips:
            seconds = moments(gltf, np.random.default_rng(7), animation=clip)
        origins, shapes = largest_differences(scene, gltf, seconds, clip=clip, unit=unit)
        assert origins <= 1e-4 * report.measured["size"]
        assert shapes <= 1e-4 * report.measured["size"]


@pytest.mark.parametrize(
    ("unit", "metres"), [("mm", 0.001), ("cm", 0.01), ("m", 1.0), ("km", 1000.0), ("inch", 0.0254), ("foot", 0.3048)]
)
def test_named_units_are_written_in_metres(unit: str, metres: float) -> None:
    """The international inch is 25.4 mm and the foot has twelve of them, exactly, since 1959."""
    scene = Scene(nodes=[Node("a", position=np.array([3.0, 0.0, 0.0]), mesh=0)], meshes=[cube()])
    gltf = Gltf(glb_of(scene, unit=unit)[0])
    world = gltf.worlds(np.zeros(1))[0, gltf_node_of(gltf, scene, 0)]
    assert world[:3, 3].tolist() == pytest.approx([3.0 * metres, 0.0, 0.0], rel=1e-6)


def test_times_of_samplers_have_their_extremes() -> None:
    """glTF requires ``min`` and ``max`` of the input of every sampler; players take the duration from them."""
    several_keys = 0
    for name in HEALTHY:
        gltf = Gltf(glb_of(SCENES[name]())[0])
        samplers = [sampler for animation in gltf.json.get("animations", []) for sampler in animation["samplers"]]
        for accessor in {sampler["input"] for sampler in samplers}:
            times = gltf.accessor(accessor)
            declared = gltf.json["accessors"][accessor]
            assert (declared["min"], declared["max"]) == ([times.min()], [times.max()]), name
            several_keys += times.min() < times.max()
    assert several_keys > len(HEALTHY) // 2


@pytest.mark.parametrize("name", HEALTHY)
def test_same_scene_gives_the_same_bytes(name: str) -> None:
    assert glb_of(SCENES[name]())[0] == glb_of(SCENES[name]())[0]


def test_notes_and_bounds_are_short() -> None:
    """Matrices have the digits of single precision, masks the bits that they need, and longer ones are packed."""
    mesh = cube(smoothing=np.array([1, 2] * 6, np.uint32), edges=np.full(12, 7, np.uint8))
    mesh.axes = np.array(np.eye(4) * 0.1, np.float32).astype(float)
    mesh.positions = (np.sign(mesh.positions) * 0.1).astype(np.float32)
    many = cube()
    many.corners = np.tile(many.corners, (20, 1))
    many.smoothing = np.ones(240, np.uint32)
    text = Gltf(glb_of(Scene([Node("a", mesh=0), Node("b", mesh=1)], [mesh, many]))[0]).json
    notes, packed = (entry["extras"]["keyframer"] for entry in text["meshes"])
    assert notes["axes"] == [[0.1, 0, 0, 0], [0, 0.1, 0, 0], [0, 0, 0.1, 0], [0, 0, 0, 0.1]]
    assert notes["smoothing"] == [1, 2] * 6
    assert (packed["smoothing"]["dtype"], packed["smoothing"]["shape"]) == ("|u1", [240])
    bounds = text["accessors"][text["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    assert all(len(str(number)) <= 4 for number in (*bounds["min"], *bounds["max"]))


def test_non_finite_numbers_are_written_neither_in_json_nor_in_buffers() -> None:
    data, report = glb_of(SCENES["sick"]())
    gltf = Gltf(data)  # refuses NaN and Infinity in the text
    for number in range(len(gltf.json["accessors"])):
        gltf.accessor(number)  # and in floats
    assert report.count(Outcome.DROPPED) >= 2
    json.dumps(report.as_dict(), allow_nan=False)


def test_core_only_uses_no_extension() -> None:
    for make in SCENES.values():
        text = Gltf(glb_of(make(), core_only=True)[0]).json
        assert "extensionsUsed" not in text
        assert "KHR_" not in json.dumps(text)


def test_no_extension_is_ever_required() -> None:
    used = set()
    for make in SCENES.values():
        text = Gltf(glb_of(make())[0]).json
        assert "extensionsRequired" not in text
        used |= set(text.get("extensionsUsed", ()))
    assert used == {"KHR_animation_pointer", "KHR_lights_punctual", "KHR_node_visibility"}


def _samplers(gltf: Gltf, node: str, path: str) -> tuple[str, np.ndarray]:
    animation = gltf.json["animations"][0]
    for channel in animation["channels"]:
        if channel["target"].get("node") == gltf.named(node) and channel["target"]["path"] == path:
            sampler = animation["samplers"][channel["sampler"]]
            return sampler.get("interpolation", "LINEAR"), gltf.accessor(sampler["input"])[:, 0]
    raise LookupError(f"nothing moves {path} of {node}")


def test_tcb_without_ease_becomes_cubic_with_the_same_keys() -> None:
    data, report = glb_of(SCENES["splines"](), keys="cubic")
    gltf = Gltf(data)
    for node, path, frames in (("base", "translation", [0, 7, 20, 30]), ("arm", "scale", [0, 15, 30])):
        mode, times = _samplers(gltf, node, path)
        assert mode == "CUBICSPLINE"
        np.testing.assert_allclose(times * 30, frames, rtol=1e-6)
    lost = [(loss.type.key, loss.args) for loss in report if loss.path.endswith("/keys")]
    assert lost == [("KEYS_RESAMPLED:tracks", {"count": 5})]  # cubic keys have no tension


def test_curves_that_are_not_cubic_are_sampled_and_the_error_is_reported() -> None:
    scene = SCENES["eased"]()
    for max_error, keys in itertools.product((1e-3, 1e-4, 1e-5), ("cubic", "linear")):
        data, report = glb_of(scene, max_error=max_error, keys=keys)
        sampled = report.of(Outcome.APPROXIMATED)
        assert {loss.path for loss in sampled} == {"/nodes/box/position", "/nodes/box/rotation"}
        for loss in sampled:
            assert loss.error is not None
            allowed = 100 * max_error if loss.unit == "degree" else max_error * report.measured["size"]
            assert 0 < loss.error <= allowed
        assert report.measured["world_error"] <= max_error * report.measured["size"]
        mode, times = _samplers(Gltf(data), "box", "rotation")
        assert mode == "LINEAR"
        np.testing.assert_allclose(times[[0, -1]], [0.0, 1.0])


def test_rotations_and_repeated_tracks_are_linear_among_cubic_keys() -> None:
    """No cubic of quaternions is a TCB rotation, and repeated tracks have no keys of their own to keep."""
    assert _samplers(Gltf(glb_of(SCENES["splines"](), keys="cubic")[0]), "arm", "rotation")[0] == "LINEAR"
    assert _samplers(Gltf(glb_of(SCENES["wrapped"](), keys="cubic")[0]), "loop", "translation")[0] == "LINEAR"


def test_motion_that_repeats_until_the_last_frame_ends_with_its_last_value() -> None:
    """It would start again there, and a player that stops at the end would show the first value."""
    track = Track("position", [0, 10], [(0, 0, 0), (4, 0, 0)], Interpolation.LINEAR, Wrap.REPEAT)
    scene = Scene([Node("box", mesh=0)], [cube()], clips=[moved((0, track), end=20.0)])
    gltf = Gltf(glb_of(scene)[0])
    ((sampler,),) = (animation["samplers"] for animation in gltf.json["animations"])
    times, places = gltf.accessor(sampler["input"])[:, 0], gltf.accessor(sampler["output"])
    np.testing.assert_allclose(times[[0, -1]] * 30, [0, 20], rtol=1e-6)
    np.testing.assert_allclose(places[[0, -1]], [(0, 0, 0), (4, 0, 0)], atol=1e-5)
    assert np.isclose(places[np.isclose(times * 30, 10), 0], 0, atol=1e-5).any()  # between, it starts again


def test_keys_that_their_neighbours_give_are_removed() -> None:
    """With tension 1 the node rests from frame 10 to 25."""
    points = [(0, 0, 0), (4, 0, 0), (4, 0, 0), (9, 0, 0)]
    track = tcb("position", [0, 10, 25, 60], points, tension=[1, 1, 1, 1])
    scene = Scene([Node("box", mesh=0)], [cube()], clips=[moved((0, track), end=60.0)])
    frames = _samplers(Gltf(glb_of(scene)[0]), "box", "translation")[1].astype(float) * 30
    assert np.round(frames[(frames > 9.99) & (frames < 25.01)], 4).tolist() == [10, 25]
    assert len(frames) > 20  # it accelerates and slows down before and after that


def test_keys_are_hardly_more_than_the_error_requires() -> None:
    """With tension 1, u = t / T runs from 0 to 1 as D (3 u^2 - 2 u^3). Linear keys within the error e need the integral
    of sqrt(|x''| / 8 e), that is sqrt(6 D / 8 e) times that of sqrt(|1 - 2 u|), which is 2/3.
    """
    track = tcb("position", [0, 2000], [(0, 0, 0), (100, 0, 0)], tension=[1, 1])
    data, report = glb_of(Scene([Node("box", mesh=0)], [cube()], clips=[moved((0, track), end=2000.0)]))
    allowed = 0.5e-4 * report.measured["size"]
    least = 2 / 3 * np.sqrt(6 * 100 / (8 * allowed))
    assert least < len(_samplers(Gltf(data), "box", "translation")[1]) < 1.15 * least


def test_tracks_of_many_nodes_are_sampled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes longer than sampling a short track, so the number of calls must not grow with that of nodes."""
    calls = []
    evaluate = CurveBank.evaluate_pairs

    def counted(self: CurveBank, *given: Any) -> Any:
        calls.append(len(given[0]))
        return evaluate(self, *given)

    monkeypatch.setattr(CurveBank, "evaluate_pairs", counted)
    for nodes in (20, 200):
        calls.clear()
        turns = [turning([0, 20, 40], [(0, 0, 1, 0.0), (0, 1, 1, 30.0), (1, 0, 0, 40.0)]) for _ in range(nodes)]
        clip = moved(*enumerate(turns), end=40.0)
        glb_of(Scene([Node(f"box{number}") for number in range(nodes)], clips=[clip]))
        assert sum(calls) > 40 * nodes
        assert len(calls) < 20


def _random_moves(nodes: int, keys: int) -> Scene:
    """Return nodes with TCB keys at random places, on every frame."""
    rng = np.random.default_rng(5)
    tracks = [tcb("position", np.arange(keys), rng.uniform(-100, 100, (keys, 3))) for _ in range(nodes)]
    return Scene([Node(f"box{n}") for n in range(nodes)], clips=[moved(*enumerate(tracks), end=keys - 1.0)])


@pytest.mark.parametrize(("nodes", "keys"), [(1, 20_000), (400, 50)])
def test_memory_of_an_export_is_bounded_by_its_result(nodes: int, keys: int) -> None:
    """Of very many keys only some are sampled at once, and only those are measured that the measured times need."""
    scene = _random_moves(nodes, keys)
    with Budget(Limits(keys=10**7, samples=10**10)).opened():
        tracemalloc.start()
        size = len(glb_of(scene)[0])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size > 16 * 30 * nodes * keys  # each random key needs many others
    assert peak < 15 * size


def test_keys_that_are_limited_are_spread_over_the_whole_motion() -> None:
    scene = _random_moves(1, 20_000)
    with Budget(Limits(keys=500_000)).opened():  # of which one motion may have a tenth
        data, report = glb_of(scene)
    assert any("LIMIT_KEYS" in str(loss.args.get("reason")) for loss in report.of(Outcome.DROPPED))
    seconds = _samplers(Gltf(data), "box0", "translation")[1].astype(float)
    assert 40_000 < len(seconds) <= 50_000
    quarters = np.histogram(seconds, 4, (0, 20_000 / 30))[0]
    assert quarters.min() > 0.6 * quarters.max()  # a gap gets a whole number of keys


def _modes(gltf: Gltf) -> set[str]:
    return {
        sampler.get("interpolation", "LINEAR")
        for clip in gltf.json.get("animations", ())
        for sampler in clip["samplers"]
    }


@pytest.mark.parametrize("name", [name for name in HEALTHY if name != "static"])
def test_keys_are_linear_by_default(name: str) -> None:
    assert _modes(Gltf(glb_of(SCENES[name]())[0])) <= {"LINEAR", "STEP"}
    assert _modes(Gltf(glb_of(SCENES[name](), keys="frames")[0])) <= {"LINEAR", "STEP"}


def test_linear_keys_are_on_frames_if_that_is_exact_enough() -> None:
    gltf = Gltf(glb_of(SCENES["splines"](), max_error=4e-3)[0])
    times = _samplers(gltf, "base", "translation")[1].astype(float) * 30
    assert {0, 7, 20, 30} <= set(np.rint(times).tolist())  # authored keys stay keys
    assert 6 < len(times) < 31
    np.testing.assert_allclose(times, np.rint(times), atol=1e-5)
    closer = _samplers(Gltf(glb_of(SCENES["splines"]())[0]), "base", "rotation")[1].astype(float) * 30
    assert len(closer) > 31  # and between frames where it is not


def test_sampled_frames_become_one_key_each() -> None:
    gltf = Gltf(glb_of(SCENES["splines"](), keys="frames")[0])
    for sampler in gltf.json["animations"][0]["samplers"]:
        np.testing.assert_allclose(gltf.accessor(sampler["input"])[:, 0] * 30, np.arange(31), atol=1e-5)
    assert len({sampler["input"] for sampler in gltf.json["animations"][0]["samplers"]}) == 1
    worlds = gltf.worlds(np.arange(31) / 30)
    pose = keyframer.pose(SCENES["splines"](), frames=np.arange(31))
    wanted = pose.world[:, :, :3, 3] @ to_file_axes(SCENES["splines"]())[:3, :3].T
    np.testing.assert_allclose(worlds[:, 1:4, :3, 3], wanted, atol=1e-4)


def test_linear_rotations_are_exact_for_componentwise_interpolation() -> None:
    """Blender interpolates components: `splines` rotates by up to 430 degrees between keys."""
    scene = SCENES["splines"]()
    gltf = Gltf(glb_of(scene)[0])
    channels = {
        (c["target"].get("node"), c["target"]["path"]): c["sampler"] for c in gltf.json["animations"][0]["channels"]
    }
    for node, track in ((1, scene.clips[0].channels[2].track), (2, scene.clips[0].channels[3].track)):
        sampler = gltf.json["animations"][0]["samplers"][channels[gltf_node_of(gltf, scene, node), "rotation"]]
        times, values = gltf.accessor(sampler["input"])[:, 0].astype(float), gltf.accessor(sampler["output"])
        assert np.all(np.sum(values[1:] * values[:-1], axis=1) > 0)
        seconds = np.linspace(times[0], times[-1], 4000)
        shown = np.stack([np.interp(seconds, times, column) for column in values.T], axis=1)
        wanted = keyframer.compile_track(track)(seconds * 30)
        cosine = np.abs(np.sum(shown * wanted, axis=1)) / np.linalg.norm(shown, axis=1)
        assert np.degrees(2 * np.arccos(np.clip(cosine, -1, 1))).max() <= 0.0102


def test_jump_stays_a_jump_in_blender() -> None:
    """LINEAR has no jumps, so it is two keys; they must be 0.01 of Blender's frames apart, or Blender merges them."""
    gltf = Gltf(glb_of(SCENES["jumping"]())[0])
    times = _samplers(gltf, "cut", "translation")[1].astype(float)
    gaps = np.diff(times)
    assert np.count_nonzero(gaps < 1e-3) == 3
    assert gaps.min() * 24 > 0.01
    assert np.isin(np.float32([5 / 30, 12 / 30, 30 / 30]), times.astype(np.float32)).all()


def test_very_long_clips_get_keys_only_where_needed() -> None:
    track = tcb("position", [0, 10, 9e6], [(0, 0, 0), (1, 2, 0), (5, 0, 0)])
    scene = Scene(nodes=[Node("box", mesh=0)], meshes=[cube()], clips=[moved((0, track), end=9e6)])
    data, report = glb_of(scene, keys="frames")
    assert len(_samplers(Gltf(data), "box", "translation")[1]) < 2000
    assert any(loss.type.key == "MOTION_SAMPLED:too many frames" for loss in report)


def test_large_linear_rotations_are_split() -> None:
    gltf = Gltf(glb_of(SCENES["straight"]())[0])
    mode, times = _samplers(gltf, "wheel", "rotation")
    assert mode == "LINEAR"
    assert len(times) > 6
    assert {0.0, np.float32(10 / 30), 1.0} <= set(times)


def test_clip_lasts_as_long_as_its_segment() -> None:
    gltf = Gltf(glb_of(SCENES["wrapped"]())[0])
    assert key_seconds(gltf)[-1] == pytest.approx(39 / 30)  # from frame -5, where keys begin, to frame 34
    about = gltf.json["scenes"][0]["extras"]["keyframer"]["clips"][0]
    assert (about["start"], about["end"], about["origin"]) == (0.0, 34.0, -5.0)


def test_frame_rate_can_be_chosen() -> None:
    gltf = Gltf(glb_of(SCENES["splines"](), fps=15.0)[0])
    assert key_seconds(gltf)[-1] == pytest.approx(2.0)


def test_nothing_that_the_file_shows_is_in_extras_too() -> None:
    """A second version could contradict what other programs change."""
    for make in SCENES.values():
        root = Gltf(glb_of(make())[0]).json
        parts = [*root.get("nodes", ()), *root.get("materials", ()), *root.get("cameras", ())]
        parts += root.get("extensions", {}).get("KHR_lights_punctual", {}).get("lights", [])
        for part in parts:
            ours = part.get("extras", {}).get("keyframer", {})
            assert not {"tracks", "position", "scale_axes_xyzw", "fov_degrees", "color", "transparency"} & ours.keys()
            assert "diffuse" not in ours or "baseColorTexture" in part["pbrMetallicRoughness"]


@pytest.mark.parametrize("name", ["looking", "hidden"])
def test_pointers_are_in_an_animation_of_their_own(name: str) -> None:
    """VTK drops a whole animation because of one channel that it does not know."""
    gltf = Gltf(glb_of(SCENES[name]())[0])
    motion, settings = gltf.json["animations"]
    assert settings["name"] == f"{motion['name']} settings"
    assert settings["extras"] == {"keyframer": {"settings_of": motion["name"]}}
    paths = [{channel["target"]["path"] for channel in animation["channels"]} for animation in (motion, settings)]
    assert "pointer" not in paths[0]
    assert paths[1] == {"pointer"}
    ends = [
        max(float(gltf.accessor(sampler["input"])[-1, 0]) for sampler in animation["samplers"])
        for animation in (motion, settings)
    ]
    assert ends == [pytest.approx(1.0)] * 2  # as long as the clip, so that loops stay together


def test_a_clip_with_pointers_only_is_one_animation() -> None:
    scene = SCENES["looking"]()
    (clip,) = scene.clips
    clip.name = "zoom"
    clip.channels = [channel for channel in clip.channels if channel.track.kind == "fov"]
    (animation,) = Gltf(glb_of(scene)[0]).json["animations"]
    assert animation["name"] == "zoom"
    assert {channel["target"]["path"] for channel in animation["channels"]} == {"pointer"}


def test_names_of_animations_are_unique() -> None:
    scene = SCENES["looking"]()
    scene.clips = [
        Clip(name, list(scene.clips[0].channels), start=0, end=30) for name in ("walk", "walk", "walk settings")
    ]
    animations = Gltf(glb_of(scene)[0]).json["animations"]
    assert len({animation["name"] for animation in animations}) == len(animations) == 6


def test_geometry_that_appears_is_hidden_by_its_scale_only() -> None:
    """Babylon.js never shows a node that KHR_node_visibility hides at the start."""
    scene = SCENES["hidden"]()
    track = next(channel.track for channel in scene.clips[0].channels if channel.track.kind == "visible")
    track.values = 1.0 - track.values
    gltf = Gltf(glb_of(scene)[0])
    blinks = gltf.nodes[geometry(gltf, gltf_node_of(gltf, scene, 2))]
    assert blinks["extensions"]["KHR_node_visibility"] == {"visible": True}
    assert blinks["scale"] == [0, 0, 0]


def test_hidden_geometry_has_scale_zero_and_children_stay_visible() -> None:
    gltf = Gltf(glb_of(SCENES["hidden"]())[0])
    scene = SCENES["hidden"]()
    seconds = np.array([0.0, 6 / 30, 10 / 30, 25 / 30])
    worlds = gltf.worlds(seconds)
    always = geometry(gltf, gltf_node_of(gltf, scene, 0))
    assert gltf.nodes[always]["extensions"]["KHR_node_visibility"] == {"visible": False}
    assert np.abs(worlds[:, always, :3, :3]).max() == 0
    assert np.abs(np.linalg.det(worlds[:, gltf_node_of(gltf, scene, 1), :3, :3])) == pytest.approx(np.ones(4))
    blinks = geometry(gltf, gltf_node_of(gltf, scene, 2))
    shown = [1, 0, 1, 0]
    assert np.linalg.det(worlds[:, blinks, :3, :3]) == pytest.approx(np.array(shown, float))
    pointer = f"/nodes/{blinks}/extensions/KHR_node_visibility/visible"
    animation = gltf.json["animations"][settings_of(gltf, 0)]
    outcomes = [
        gltf.sampled(animation["samplers"][channel["sampler"]], seconds, "visible")[:, 0].tolist()
        for channel in animation["channels"]
        if channel["target"].get("extensions", {}).get("KHR_animation_pointer", {}).get("pointer") == pointer
    ]
    assert outcomes == [shown]


@pytest.mark.parametrize("core_only", [False, True])
def test_outcome_of_visibility_keys(core_only: bool) -> None:
    """A skinned mesh cannot be hidden by its scale."""
    blink = Track("visible", np.array([0.0, 5, 9]), np.array([1.0, 0, 1]), Interpolation.STEP)
    scene = SCENES["skinned"]()
    scene.clips[0].channels.append(Channel(2, blink))
    losses = [*glb_of(SCENES["hidden"](), core_only=core_only)[1], *glb_of(scene, core_only=core_only)[1]]
    assert [(loss.path, loss.outcome, loss.type.key) for loss in losses if loss.path.endswith("/visible")] == [
        ("/nodes/blinks/visible", Outcome.EXACT, "MOTION_WRITTEN:hidden"),
        ("/nodes/bone/visible", Outcome.DROPPED, "TRACK_WITHOUT_EFFECT:no geometry"),
        ("/nodes/skin/visible", Outcome.APPROXIMATED, "HIDING_LIMITED"),
    ]


def test_target_without_a_node_is_reported_in_extras() -> None:
    scene = Scene([Node("eye", NodeKind.CAMERA, camera=0)], cameras=[Camera("eye", target=(0.0, 5.0, 0.0))])
    data, report = glb_of(scene)
    assert Gltf(data).json["cameras"][0]["extras"]["keyframer"]["target"] == [0.0, 5.0, 0.0]
    (loss,) = [loss for loss in report if loss.path == "/nodes/eye/target"]
    assert (loss.type.key, loss.args) == ("AIM_BAKED:rotation", {"target": "kept in extras"})


def test_keys_that_are_limited_but_not_repeated_are_reported_as_less_exact() -> None:
    """The track ends before the clip, and would need some 2,000 keys."""
    turn = turning([0, 1000], [(0, 0, 1, 0.0), (0, 0, 1, 300.0)])
    scene = Scene([Node("box")], clips=[moved((0, turn), end=2000.0)])
    with Budget(Limits(keys=3000)).opened():
        _, report = glb_of(scene)
    (loss,) = [loss for loss in report.of(Outcome.DROPPED) if loss.path == "/nodes/box/rotation"]
    assert (loss.code, loss.args) == ("MOTION_INCOMPLETE", {"reason": "less exact than requested (LIMIT_KEYS)"})
    assert not any(loss.code == "MOTION_INCOMPLETE" for loss in glb_of(scene)[1])


def test_fields_of_view_are_vertical() -> None:
    gltf = Gltf(glb_of(SCENES["looking"]())[0])
    lens = gltf.json["cameras"][0]["perspective"]
    assert lens["aspectRatio"] == pytest.approx(4 / 3)
    horizontal = 2 * np.arctan(np.tan(lens["yfov"] / 2) * lens["aspectRatio"])
    assert np.degrees(horizontal) == pytest.approx(60)


def test_nodes_with_targets_look_along_their_minus_z() -> None:
    scene = SCENES["looking"]()
    gltf = Gltf(glb_of(scene)[0])
    worlds = gltf.worlds(np.linspace(0, 1, 40))
    goal = worlds[:, gltf_node_of(gltf, scene, 5), :3, 3]
    for number in (2, 3, 4):
        place = worlds[:, gltf_node_of(gltf, scene, number)]
        ahead = -place[:, :3, 2] / np.linalg.norm(place[:, :3, 2], axis=1)[:, None]
        towards = goal - place[:, :3, 3]
        towards /= np.linalg.norm(towards, axis=1)[:, None]
        assert np.degrees(np.arccos(np.clip(np.sum(ahead * towards, axis=1), -1, 1))).max() < 0.02


@pytest.mark.parametrize("x", [1e35, 3.0])
def test_size_of_a_scene_with_many_nodes(x: float) -> None:
    """Nodes are measured in blocks, and a block may contain no node with a usable position."""
    mesh = Mesh("m", np.eye(3, dtype=np.float32), np.array([[0, 1, 2]]))
    nodes = [Node(f"n{number}", mesh=0, position=np.array([x, 0.0, 0.0])) for number in range(1100)]
    data, report = glb_of(Scene(nodes, [mesh]))
    assert len(Gltf(data).json["nodes"]) >= 1100
    assert report.measured["size"] == pytest.approx(np.sqrt(3.0) if x == 3.0 else 1.0)


def test_extras_of_any_type_become_json() -> None:
    """Most are converted while JSON is written; numbers and keys that JSON does not support are converted before."""
    usual = {"bytes": b"\x01\xff", "array": np.arange(3, dtype=np.float32), "one": np.float32(0.5), "set": {3, 1}}
    odd = {"nan": float("nan"), "rows": np.array([[1.0, np.inf]]), "deep": {(1, 2): np.int16(7)}}
    written = {"bytes": "01ff", "array": [0.0, 1.0, 2.0], "one": 0.5, "set": [1, 3]}
    for value, wanted in (
        (usual, written),
        ({**usual, **odd}, {**written, "nan": None, "rows": [[1.0, None]], "deep": {"(1, 2)": 7}}),
    ):
        scene = Scene([Node("n", extras={"other": value})])
        node = next(candidate for candidate in Gltf(glb_of(scene)[0]).json["nodes"] if candidate["name"] == "n")
        assert node["extras"]["keyframer"]["extras"]["other"] == wanted


def test_arrays_with_equal_checksums_are_shared_only_if_their_bytes_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyframer.exchange.gltf.write.asset.crc32", lambda _: 0)
    corners = np.array([[0, 1, 2]])
    shapes = [np.eye(3, dtype=np.float32), 2 * np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)]
    meshes = [Mesh(f"m{number}", shape, corners) for number, shape in enumerate(shapes)]
    gltf = Gltf(glb_of(Scene([Node(f"n{number}", mesh=number) for number in range(3)], meshes))[0])
    places = [mesh["primitives"][0]["attributes"]["POSITION"] for mesh in gltf.json["meshes"]]
    for place, shape in zip(places, shapes, strict=True):
        assert sorted(map(tuple, gltf.accessor(place).tolist())) == sorted(map(tuple, shape.tolist()))
    assert places[0] == places[2] != places[1]


def test_cut_within_a_frame_is_not_reported_as_shortened_motion() -> None:
    """Cameras of real films have such cuts: keys half a millisecond apart are close enough. Their error is stated, a
    jump is not an error."""
    times = [0.0, 84.0, 85.0, 200.0, 200.0, 300.0]
    values = [(0, 0, 0), (10, 0, 0), (2000, 900, 0), (2100, 900, 0), (0, 50, 1500), (0, 60, 1500)]
    track = Track("position", times, values, Interpolation.TCB, tension=np.ones(6))
    scene = Scene([Node("box", mesh=0)], [cube()], clips=[Clip(channels=[Channel(0, track)], end=300.0)])
    _, report = glb_of(scene)
    (loss,) = (loss for loss in report if loss.path == "/nodes/box/position")
    assert loss.outcome is Outcome.APPROXIMATED
    assert loss.error is not None
    assert 1e-4 * report.measured["size"] < loss.error < 1e-3 * report.measured["size"]
    assert "cut_short" not in report.measured
