"""Every real file as GLB: Khronos' validator has nothing to say, and what moves, moves as the scene does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import Scene
from tests.corpus import needs_corpus, threeds_files
from tests.exchange.truth import (
    ALLOWED_INFOS,
    between_jumps,
    frames_of,
    glb_of,
    head,
    key_seconds,
    largest_differences,
    moments,
    needs_node_tools,
    node_lines,
    to_file_axes,
)
from tests.oracles.gltf.sampler import Gltf

pytestmark = needs_corpus

GROUPS = 8
TEN = (
    "blitz-research__blitz3d__mak_robotic.3DS",
    "assimp__assimp__CameraRollAnimWithChildObject.3ds",
    "blitz-research__blitz3d__skull.3ds",
    "joric__j3de__01-2ndreal.3DS",
    "jumalauta__3-640e050a.3ds",
    "jumalauta__3.3ds",
    "jumalauta__kaari.3ds",
    "jumalauta__kaihdin.3ds",
    "jumalauta__sotilas.3ds",
    "blitz-research__blitz3d__claw.3DS",
)


def strict_scene(path: Path) -> Scene | None:
    try:
        return keyframer.load(path)
    except keyframer.FormatError:
        return None


def is_animated(scene: Scene) -> bool:
    return any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)


@needs_node_tools
@pytest.mark.parametrize("group", range(GROUPS))
def test_the_validator_finds_no_errors_and_no_warnings(group: int, tmp_path: Path) -> None:
    written = []
    for path in threeds_files()[group::GROUPS]:
        scene = strict_scene(path)
        if scene is not None:
            written.append(tmp_path / f"{path.name}.glb")
            written[-1].write_bytes(glb_of(scene)[0])
    reports = [json.loads(line) for line in node_lines("validate.mjs", [str(path) for path in written])]
    assert len(reports) == len(written) > 0
    bad = {
        f"{Path(report['file']).name}: {message['code']}: {message['message']}"
        for report in reports
        for message in report["messages"]
        if message["severity"] < 2 or message["code"] not in ALLOWED_INFOS
    }
    assert bad == set()
    assert sum(report["errors"] + report["warnings"] for report in reports) == 0


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_moves_moves_as_the_scene_does(group: int) -> None:
    generator = np.random.default_rng(group)
    checked = 0
    for path in threeds_files()[group::GROUPS]:
        scene = strict_scene(path)
        if scene is None or not is_animated(scene):
            continue
        data, report = glb_of(scene)
        gltf = Gltf(data)
        if "animations" not in gltf.json:
            continue
        checked += 1
        allowed = 1e-4 * report.measured["size"]
        seconds = moments(gltf, generator, 150)
        origins, shapes = largest_differences(scene, gltf, seconds, vertices=6)
        assert origins <= allowed, path.name
        assert shapes <= allowed, path.name
        assert report.measured["world_error"] <= allowed, path.name
        worst = [loss.error for loss in report if loss.unit == "degree" and loss.error is not None]
        assert max(worst, default=0.0) <= 0.0101, path.name
    assert checked > 0


@needs_node_tools
def test_three_js_reaches_the_same_places(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    by_name = {path.name: path for path in threeds_files()}
    scenes: dict[str, tuple[Scene, Gltf, np.ndarray, float]] = {}
    lines = []
    for name in TEN:
        scene = keyframer.load(by_name[name])
        data, report = glb_of(scene)
        target = tmp_path / f"{name}.glb"
        target.write_bytes(data)
        gltf = Gltf(data)
        # three keeps key times in single precision too, but adds up real time: stay clear of the jumps themselves
        seconds = np.concatenate([key_seconds(gltf)[:20] + 1e-4, generator.uniform(0, key_seconds(gltf)[-1], 30)])
        seconds = between_jumps(gltf, seconds)
        scenes[str(target)] = scene, gltf, seconds, report.measured["size"]
        lines.append(json.dumps({"file": str(target), "seconds": seconds.tolist()}))
    for line in node_lines("play.mjs", lines):
        answer = json.loads(line)
        scene, gltf, seconds, size = scenes[answer["file"]]
        pose = keyframer.pose(scene, frames=frames_of(gltf, scene, seconds))
        places = np.array(answer["places"])
        turn = to_file_axes(scene)[:3, :3]
        for number in range(len(scene.nodes)):
            wanted = pose.world[:, number, :3, 3] @ turn.T
            there = places[:, head(gltf, scene, number)]
            assert np.abs(there - wanted).max() <= 1e-4 * size, (answer["file"], scene.nodes[number].name)
