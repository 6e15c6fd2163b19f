"""Every real file as GLB: Khronos' validator accepts it, nodes move as in the scene, and lights keep their strength
when the file is loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import keyframer
from keyframer.scene import LightType, Scene
from keyframer.scene.loss_report import LossReport
from tests.corpus import animation_files, more_animation_files, needs_corpus
from tests.exchange.players import cases, in_sampler, in_three, troubles
from tests.exchange.test_gltf_lights import without_our_extras
from tests.exchange.truth import assert_valid, glb_of, largest_differences, moments, needs_node_tools
from tests.exchange.vertex_players import Player, in_babylon, in_vtk, needs_babylon, needs_vtk
from tests.oracles.gltf.sampler import Gltf

pytestmark = needs_corpus

GROUPS = 8


def strict_scene(path: Path) -> Scene | None:
    try:
        return keyframer.load(path)
    except keyframer.FormatError:
        return None


def is_animated(scene: Scene) -> bool:
    return any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)


class Exported(NamedTuple):
    name: str
    scene: Scene
    data: bytes
    report: LossReport


@pytest.fixture(scope="module", params=range(GROUPS))
def exports(request: pytest.FixtureRequest) -> list[Exported]:
    """Export a part of the loadable files once for all tests, because this takes most of the time."""
    files = [*animation_files(), *more_animation_files()][request.param :: GROUPS]
    scenes = [(path.name, strict_scene(path)) for path in files]
    return [Exported(name, scene, *glb_of(scene)) for name, scene in scenes if scene is not None]


@needs_node_tools
def test_validator_finds_no_errors_and_no_warnings(exports: list[Exported], tmp_path: Path) -> None:
    for exported in exports:
        (tmp_path / f"{exported.name}.glb").write_bytes(exported.data)
    paths = list(tmp_path.iterdir())
    assert len(paths) == len(exports)
    assert_valid(paths)


FAST = {"joric__j3de__1.3ds": 0.03, "CITY.3DS": 3.6, "majiccode__OldSkool__DEMO1.3DS": 0.33}
"""files with motion that keys half a millisecond apart do not quite follow, and the largest error in degrees: an object
of DEMO1.3DS turns by 424 degrees from one frame to the next, the aimed camera of CITY.3DS passes its target"""


def test_animation_matches_the_pose(exports: list[Exported]) -> None:
    generator = np.random.default_rng(7)
    checked = 0
    for name, scene, data, report in exports:
        gltf = Gltf(data)
        if not is_animated(scene) or "animations" not in gltf.json:
            continue
        checked += 1
        allowed = 1e-4 * report.measured["size"]
        seconds = moments(gltf, generator, 150)
        origins, shapes = largest_differences(scene, gltf, seconds, vertices=6)
        assert origins <= allowed, name
        assert shapes <= allowed, name
        # the cameras of two files cut to another place from one frame to the next, in curves
        assert report.measured["world_error"] <= allowed * (2.5 if name in FAST else 1), name
        worst = [loss.error for loss in report if loss.unit == "degree" and loss.error is not None]
        assert max(worst, default=0.0) <= FAST.get(name, 0.0101), name
        (case,) = cases(name, scene, data, report)
        assert troubles(case, in_sampler(case, seconds)) == []
    assert checked > 0


@needs_node_tools
def test_three_js_plays_the_same_animation(exports: list[Exported], tmp_path: Path) -> None:
    moving = [case for exported in exports if is_animated(exported.scene) for case in cases(*exported)]
    compared = list(in_three(moving, tmp_path, 8))
    assert len(compared) > 4
    assert [trouble for case, difference in compared for trouble in troubles(case, difference)] == []


@pytest.mark.parametrize("play", [pytest.param(in_babylon, marks=needs_babylon), pytest.param(in_vtk, marks=needs_vtk)])
def test_other_players_draw_the_pose(exports: list[Exported], play: Player, tmp_path: Path) -> None:
    """Vertices and visibility at ten times, in Babylon.js and VTK."""
    moving = [case for exported in exports if is_animated(exported.scene) for case in cases(*exported)]
    compared = [*play(moving, tmp_path)]
    assert len(compared) > 4
    assert [difference for _, differences in compared for difference in differences] == []


def test_lights_are_restored_within_one_percent(exports: list[Exported]) -> None:
    count = 0
    for name, scene, data, _ in exports:
        kept = [light for light in scene.lights if light.type is not LightType.AMBIENT]
        held = {node.light for node in scene.nodes}
        if not kept or not scene.nodes:
            continue
        for number, (light, back) in enumerate(zip(kept, without_our_extras(data).lights, strict=True)):
            if scene.lights.index(light) in held:
                wanted = light.multiplier * light.on
                assert back.multiplier == pytest.approx(wanted, rel=0.01), (name, number)
                count += 1
    assert count > 8
