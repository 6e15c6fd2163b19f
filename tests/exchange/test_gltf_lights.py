"""Lights keep their strength in other programs, and when loaded again without extras."""

from __future__ import annotations

import copy
import io
import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.scene import Channel, Clip, LightType, Node, Scene
from keyframer.scene.loss_report import Outcome
from tests.building.gltf import glb, split_glb
from tests.building.gltf_scenes import cube
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.lit import CORPUS_FILES, Ball, ball, lamps
from tests.exchange.players import PYTHON, needs_blender
from tests.exchange.truth import ORACLES, glb_of, needs_node_tools, node_lines
from tests.oracles.gltf.pictures import open_painter, why_no_pictures

NO_PICTURES = why_no_pictures()


def without_extras(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_extras(item) for key, item in value.items() if key != "extras"}
    return [without_extras(item) for item in value] if isinstance(value, list) else value


def returned(scene: Scene, **options: Any) -> Scene:
    return without_our_extras(glb_of(scene, **options)[0])


def without_our_extras(data: bytes) -> Scene:
    """Return the scene loaded from a file whose extras another program removed."""
    root, binary = split_glb(data)
    return keyframer.load(io.BytesIO(glb(without_extras(root), binary)))


def test_sun_of_strength_1_is_restored() -> None:
    sun, spot, day = returned(lamps()).lights
    assert sun.multiplier == pytest.approx(1.0, rel=1e-4)
    assert spot.multiplier == pytest.approx(0.7, rel=1e-4)
    assert day.multiplier == pytest.approx(0.2, rel=1e-4)
    assert (sun.type, spot.type, day.type) == (LightType.OMNI, LightType.SPOT, LightType.DIRECTIONAL)
    assert spot.color == pytest.approx((0.9, 0.6, 0.3), abs=1e-4)
    assert (spot.hotspot_degrees, spot.falloff_degrees) == pytest.approx((40.0, 60.0))


def test_only_lights_that_dim_otherwise_are_approximated() -> None:
    scene = lamps()
    scene.lights[1].attenuated, scene.lights[2].attenuated = True, True
    report = glb_of(scene)[1]
    paths = {f"/lights/{light.name}" for light in scene.lights}
    losses = [loss for loss in report if loss.path in paths]
    assert {(loss.outcome, loss.type.key) for loss in losses} == {(Outcome.APPROXIMATED, "LIGHT_CHANGED:dimming")}
    assert {loss.path: loss.args["difference"] for loss in losses} == {
        "/lights/Sun": "dims with the square of the distance; the original light does not dim",
        "/lights/Spot": "dims with the square of the distance; the original light dims between its two ranges",
        "/lights/Day": "does not dim: this format has no ranges of directional lights",
    }


def _with_unit(scene: Scene) -> Scene:
    return replace(scene, space=replace(scene.space, metres_per_unit=0.0254))


def _with_hidden_things(scene: Scene) -> Scene:
    far = Node("hidden", mesh=0, hidden=True, position=np.array([9000.0, 0.0, 0.0]))
    flat = Node("flat", mesh=0, scale=np.zeros(3), position=np.array([0.0, 9000.0, 0.0]))
    return replace(scene, nodes=[*scene.nodes, far, flat])


def _with_unused_vertices(scene: Scene) -> Scene:
    mesh = cube()
    mesh.positions = np.concatenate([np.asarray(mesh.positions), [[500.0, 0.0, 0.0]]])
    return replace(scene, meshes=[mesh])


def _with_motion(scene: Scene) -> Scene:
    away = Track("position", np.array([0.0, 30.0]), np.array([[1.0, 2, 3], [9000.0, 0, 0]]), Interpolation.LINEAR)
    bright = Track("multiplier", np.array([0.0, 30.0]), np.array([1.0, 0.25]), Interpolation.LINEAR)
    return replace(scene, clips=[Clip(end=30.0, channels=[Channel(0, away), Channel(1, bright)])])


@pytest.mark.parametrize("change", [_with_unit, _with_hidden_things, _with_unused_vertices, _with_motion])
def test_lights_of_all_kinds_of_scenes_are_restored(change: Any) -> None:
    options = {"unit": "file"} if change is _with_unit else {}
    back = returned(change(lamps()), **options)
    assert [light.multiplier for light in back.lights] == pytest.approx([1.0, 0.7, 0.2], rel=1e-3)
    moved = [channel.track for clip in back.clips for channel in clip.channels if channel.track.kind == "multiplier"]
    if change is _with_motion:
        (track,) = moved
        assert (float(track.values[0].item()), float(track.values[-1].item())) == pytest.approx((1.0, 0.25), rel=1e-3)


@needs_corpus
@pytest.mark.parametrize("name", CORPUS_FILES)
def test_lights_of_real_files_are_restored_without_extras(name: str) -> None:
    scene = keyframer.load(CORPUS / "3ds" / name)
    still = {(channel.node, channel.track.kind): channel.track.values for channel in scene.clips[0].channels}
    back = returned(scene)
    restored = {node.name: back.lights[node.light] for node in back.nodes if node.light is not None}
    lights = [(number, node) for number, node in enumerate(scene.nodes) if node.light is not None]
    shining = [(number, node) for number, node in lights if scene.lights[node.light].type is not LightType.AMBIENT]
    assert shining
    for number, node in shining:
        light = scene.lights[node.light]
        multiplier = float(still.get((number, "multiplier"), np.array([light.multiplier])).flat[0])
        color = np.array(still.get((number, "color"), np.array([light.color])))[0]
        light_back = restored[node.name]
        assert light_back.multiplier * np.array(light_back.color) == pytest.approx(
            multiplier * color, rel=0.01, abs=1e-4
        )


def test_single_keys_of_lights_are_in_core_gltf() -> None:
    """A track with one key overrides the value of the light."""
    scene = lamps()
    still = {"color": [[0.2, 0.4, 0.6]], "multiplier": [0.5], "hotspot": [20.0], "falloff": [30.0]}
    tracks = [Track(kind, np.zeros(1), np.array(value), Interpolation.TCB) for kind, value in still.items()]
    scene.clips = [Clip(end=30.0, channels=[Channel(2, track) for track in tracks])]
    plain = copy.deepcopy(scene)
    plain.clips = []
    plain.lights[1] = replace(
        plain.lights[1], color=(0.2, 0.4, 0.6), multiplier=0.5, hotspot_degrees=20.0, falloff_degrees=30.0
    )
    exported, wanted = (
        split_glb(glb_of(source)[0])[0]["extensions"]["KHR_lights_punctual"]["lights"][1] for source in (scene, plain)
    )
    assert without_extras(exported) == without_extras(wanted)
    assert exported["spot"]["outerConeAngle"] == pytest.approx(np.radians(15.0))


def test_animated_light_brighter_than_white_keeps_its_strength() -> None:
    scene = lamps()
    scene.lights[0].color = (2.0, 2.0, 2.0)
    dimmed = Track("multiplier", np.array([0.0, 30.0]), np.array([1.0, 0.5]), Interpolation.LINEAR)
    scene.clips = [Clip(end=30.0, channels=[Channel(1, dimmed)])]
    (light, *_) = returned(scene).lights
    assert light.multiplier == pytest.approx(2.0, rel=1e-3)
    (track,) = (channel.track for channel in returned(scene).clips[0].channels if channel.track.kind == "multiplier")
    assert float(track.values[0].item()) == pytest.approx(2.0, rel=1e-3)


@pytest.fixture(scope="module")
def balls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ball]:
    """Return spheres in a scene of our own, and in real ones if there is a corpus."""
    folder = tmp_path_factory.mktemp("lit")
    spheres = {"made": ball(lamps(), folder, "made")}
    for name in CORPUS_FILES if CORPUS.is_dir() else ():
        spheres[name] = ball(keyframer.load(CORPUS / "3ds" / name), folder, name)
    return spheres


def _assert_as_bright(balls: dict[str, Ball], shown: dict[str, float]) -> None:
    """Assert brightness within a factor of two of our thumbnails, with default lights and with the lights of the
    file."""
    for name, sphere in balls.items():
        for thumbnail in sphere.thumbnails.values():
            assert thumbnail / 2 < shown[name] < 2 * thumbnail, (name, sphere.thumbnails, shown[name])


@pytest.mark.skipif(NO_PICTURES is not None, reason=NO_PICTURES or "")
def test_three_shows_lights_as_bright_as_our_thumbnails(balls: dict[str, Ball]) -> None:
    with open_painter() as painter:
        shown = {
            name: painter.lit_sphere(sphere.path, sphere.centre, sphere.radius, sphere.eye)
            for name, sphere in balls.items()
        }
        assert not painter.troubles
    _assert_as_bright(balls, shown)


@needs_blender
def test_blender_shows_lights_as_bright_as_our_thumbnails(balls: dict[str, Ball], tmp_path: Path) -> None:
    """Both with *Lighting Mode: Unitless* of its importer, and with *Standard*, its default, which divides every light
    by 683 lumens a watt, at an exposure that compensates for it."""
    modes = [(name, mode, stops) for mode, stops in (("COMPAT", 0.0), ("SPEC", math.log2(683))) for name in balls]
    modes.append(("made", "SPEC", 0.0))
    requests, answers = tmp_path / "requests", tmp_path / "answers"
    lines = ({**balls[name].request(mode), "exposure": stops} for name, mode, stops in modes)
    requests.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [str(PYTHON), str(ORACLES / "blender" / "light.py"), str(requests), str(answers)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    shown = dict(zip(modes, map(float, answers.read_text().split()), strict=True))
    for mode, stops in (("COMPAT", 0.0), ("SPEC", math.log2(683))):
        _assert_as_bright(balls, {name: shown[name, mode, stops] for name in balls})
    assert shown["made", "SPEC", 0.0] < shown["made", "COMPAT", 0.0] / 50  # what docs/gltf.md warns of


@needs_node_tools
def test_no_valid_light_is_equally_bright_in_three_and_blender_by_default(tmp_path: Path) -> None:
    """Blender's default divides only the intensity. Colours, which it leaves unchanged, must not exceed 1: a file with
    the strength in the colour would be as bright in both programs, but is not valid."""
    root, binary = split_glb(glb_of(lamps())[0])
    light = root["extensions"]["KHR_lights_punctual"]["lights"][0]
    light["color"] = [light.pop("intensity")] * 3
    (tmp_path / "colored.glb").write_bytes(glb(root, binary))
    (report,) = map(json.loads, node_lines("validate.mjs", [str(tmp_path / "colored.glb")]))
    (error,) = (message for message in report["messages"] if message["severity"] == 0)
    assert (error["code"], error["pointer"]) == (
        "VALUE_NOT_IN_RANGE",
        "/extensions/KHR_lights_punctual/lights/0/color/0",
    )
