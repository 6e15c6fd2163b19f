"""Every real file as GLB: Khronos' validator has nothing to say, and what moves, moves as the scene does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import Scene
from tests.corpus import needs_corpus, threeds_files
from tests.exchange.players import cases_of, in_sampler, in_three, troubles
from tests.exchange.truth import (
    ALLOWED_INFOS,
    glb_of,
    largest_differences,
    moments,
    needs_node_tools,
    node_lines,
)
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
        (case,) = cases_of([(path.name, scene)])
        assert troubles(case, in_sampler(case, seconds)) == []
    assert checked > 0


@needs_node_tools
def test_three_js_reaches_the_same_places(tmp_path: Path) -> None:
    scenes = [(path.name, strict_scene(path)) for path in threeds_files()]
    wanted = [(name, scene) for name, scene in scenes if scene is not None and is_animated(scene)]
    found = list(in_three(cases_of(wanted), tmp_path, 8))
    assert len(found) > 40
    assert [said for case, difference in found for said in troubles(case, difference)] == []
