"""``keyframer convert`` between the original formats, with scene operations."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.editing import change_axes
from tests.cli.running import EXAMPLE, Run, check_schema

SAMPLES = Path(__file__).parents[1] / "samples"
TARGETS = {"3ds": ".3ds", "uto3d": ".u3d", "hale3d": ".anim", "midtown": ".anim", "nodeanim": ".nanim"}
SOURCES = {
    "3ds": SAMPLES / "3ds/windmill.3ds",
    "uto3d": SAMPLES / "uto3d/maxscript.u3d",
    "hale3d": SAMPLES / "hale3d/wave-nul-ended.anim",
    "midtown": SAMPLES / "midtown/retail.anim",
    "nodeanim": SAMPLES / "nodeanim/default_mixed.nanim",
}
REFUSED = {("uto3d", "midtown")}
"""only a camera's field of view and a mesh without bones change there"""


@pytest.mark.parametrize("target", [*TARGETS, "gltf"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_pair(run: Run, source: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / ("out" + {**TARGETS, "gltf": ".glb"}[target])
    report = tmp_path / "report.json"
    ran = run("convert", SOURCES[source], path, "--to", target, "--report", report)
    if (source, target) in REFUSED:
        assert ran.code == 3
        assert "no bone or object rotates" in ran.err
        return
    assert ran.code == 0, ran.err
    losses = json.loads(report.read_text())
    check_schema("convert", losses)
    assert losses["files"][0]["target"] == target
    if target != "gltf":
        assert run("check", path, "--from", target).code == 0
    if source == target:
        assert path.read_bytes() == SOURCES[source].read_bytes()


def test_anim_extension_needs_to(run: Run, tmp_path: Path) -> None:
    ran = run("convert", EXAMPLE, tmp_path / "x.anim")
    assert ran.code == 3
    assert "hale3d or midtown" in ran.err
    assert "--to chooses the format" in ran.err
    assert not (tmp_path / "x.anim").exists()


@pytest.mark.parametrize("format", ["hale3d", "midtown"])
def test_anim_to_anim_takes_the_format_of_the_source(run: Run, format: str, tmp_path: Path) -> None:
    assert run("convert", SOURCES[format], tmp_path / "x.anim").code == 0
    assert (tmp_path / "x.anim").read_bytes() == SOURCES[format].read_bytes()
    refused = run("convert", SOURCES[format], tmp_path / "z.anim", "--write", "find_rate=true")
    assert f"{format} has no option 'find_rate'" in refused.err
    keyframer.save(keyframer.load(SOURCES[format]), tmp_path / "y.anim")
    assert (tmp_path / "y.anim").read_bytes() == SOURCES[format].read_bytes()


def test_outputs_in_folders_get_the_extension_of_the_format(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    shutil.copy(EXAMPLE, tmp_path / "in/a.3ds")
    assert run("convert", "-r", tmp_path / "in", tmp_path / "out", "--to", "uto3d", "--dialect", "A").code == 0
    assert keyframer.load(tmp_path / "out/a.u3d").nodes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.u3d", "--dialect", "C"], "uto3d has no dialect 'C' (it has: B, A, literal)"),
        (["x.3ds", "--dialect", "A"], "3ds has no dialect 'A' (it has none)"),
        (["x.nanim", "--dialect", "odd"], "is not a dialect"),
        (["x.3ds", "--cut", "10"], "--cut needs active, or two frames"),
        (["x.3ds", "--cut", "40:10"], "the earlier first"),
        (["x.3ds", "--move", "Rotor=1,2"], "--move: expected NAME=X,Y,Z with three numbers, not 'Rotor=1,2'"),
        (["x.3ds", "--move", "1,2,3"], "expected NAME=X,Y,Z"),
        (["x.3ds", "--move", "Rotor=1,2,nan"], "expected NAME=X,Y,Z"),
        (["x.3ds", "--scale", "0"], "'0' is not a number from 1e-09 to 1e+09"),
        (["x.3ds", "--rate", "-1"], "'-1' is not a number from 0.001 to 100000"),
        (["x.3ds", "--write", "fps"], "--write: expected NAME=VALUE"),
        (["x.3ds", "--write", "colour=red"], "3ds has no option 'colour'"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], words: str, tmp_path: Path) -> None:
    ran = run("convert", EXAMPLE, tmp_path / arguments[0], *arguments[1:])
    assert ran.code == 2
    assert words in ran.err


@pytest.mark.parametrize(
    ("words", "code"), [(["--node", "nobody"], 3), (["--move", "nobody=0,0,1"], 3), (["--core-only"], 2)]
)
def test_impossible_operations_fail_without_output(run: Run, words: list[str], code: int, tmp_path: Path) -> None:
    ran = run("convert", EXAMPLE, tmp_path / "x.3ds", *words)
    assert ran.code == code, ran.err
    assert not (tmp_path / "x.3ds").exists()


def test_output_with_the_extension_of_its_companion_is_refused(run: Run, tmp_path: Path) -> None:
    ran = run("convert", EXAMPLE, tmp_path / "x.mdl", "--write", "file=animation")
    assert ran.code == 3
    assert "x.mdl is also the name of the companion: use another extension for the output" in ran.err
    assert not list(tmp_path.iterdir())


def test_operations_are_applied_while_converting(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "part.3ds"
    words = ["--node", "Rotor", "--cut", "10:50", "--reverse", "--scale", "2", "--axes", "y-up"]
    assert run("convert", EXAMPLE, path, *words).code == 0
    converted, source = keyframer.load(path), keyframer.load(EXAMPLE)
    assert {node.name for node in converted.nodes} == {"Tower", "Rotor", "Sail1", "Sail2", "Sail3", "Sail4"}
    assert converted.clips[0].end == 40.0
    number = [node.name for node in converted.nodes].index("Sail2")
    converted_positions = keyframer.pose(converted, frames=[0.0, 13.0]).world[:, number, :3, 3]
    here = keyframer.pose(source, frames=[50.0, 37.0]).world
    mine = here[:, [node.name for node in source.nodes].index("Sail2"), :3, 3]
    assert np.allclose(converted_positions, mine[:, [0, 2, 1]] * [2, 2, -2], atol=0.05)  # Y up: (x, z, -y)


@pytest.mark.parametrize(
    ("axes", "name", "turned"),
    [
        ("y-up", "x.3ds", True),  # stored as (x, z, -y), which loading then takes for Z up
        ("z-up", "x.3ds", False),
        ("y-up", "x.glb", False),
        ("z-up", "x.glb", True),
        ("y-up-left", "x.u3d", False),
        ("z-up", "x.anim", False),
        ("z-up", "x.nanim", False),
    ],
)
def test_axes_option_sets_the_axes_of_the_file(run: Run, tmp_path: Path, axes: str, name: str, turned: bool) -> None:
    """The format's usual axes change nothing; other axes turn the numbers in the file."""
    plain, asked = tmp_path / f"plain-{name}", tmp_path / f"asked-{name}"
    extra = ["--to", "hale3d"] if name == "x.anim" else []
    assert run("convert", EXAMPLE, plain, *extra).code == 0
    assert run("convert", EXAMPLE, asked, *extra, "--axes", axes).code == 0
    options = {"format": "hale3d"} if extra else {}
    first, second = keyframer.load(plain, **options), keyframer.load(asked, **options)
    if name == "x.glb":  # its extras keep the axes of the scene; other programs see Y up
        first, second = (change_axes(scene, up="y") for scene in (first, second))
    before, after = (keyframer.pose(scene, frames=[30.0]).world[0, :, :3, 3] for scene in (first, second))
    assert first.space == second.space
    if not turned:
        assert np.array_equal(before, after)
    else:
        signs = [1, 1, -1] if axes == "y-up" else [1, -1, 1]
        objects = [n for n, node in enumerate(first.nodes) if node.mesh is not None]
        assert len(objects) > 4
        assert np.allclose(after[objects], before[objects][:, [0, 2, 1]] * signs, atol=1e-3)


def losses_at(report: Path, path: str) -> list[dict[str, Any]]:
    """Return the entries of a report about one part."""
    (record,) = json.loads(report.read_text())["files"]
    return [loss for loss in record["losses"] if loss["path"] == path]


def test_scale_multiplies_lengths_and_leaves_the_unit(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ran = run("convert", EXAMPLE, tmp_path / "x.3ds", "--scale", "2", "--report", report)
    assert ran.code == 0
    (scaled,) = losses_at(report, "/space")
    assert (scaled["code"], scaled["case"]) == ("LENGTHS_CONVERTED", "scaled")
    assert scaled["args"] == {"factor": 2, "kept": "a unit is still 0.0254 m"}
    assert scaled["detail"] in ran.err
    given, made = keyframer.load(EXAMPLE), keyframer.load(tmp_path / "x.3ds")
    assert made.space == given.space
    ours, theirs = (keyframer.pose(scene, frames=[7.0]).world[0, :, :3, 3] for scene in (given, made))
    np.testing.assert_allclose(theirs, 2 * ours, atol=1e-3)
    losses = json.loads(report.read_text())["files"][0]["losses"]
    assert ("/space", "baked") in {(loss["path"], loss["outcome"]) for loss in losses}
    assert "nothing lost" in ran.err  # vertices, keys and matrices are all exactly doubled


def test_move_moves_a_node_with_its_motion(run: Run, tmp_path: Path) -> None:
    moves = ["--move", "Rotor=0,0,10", "--move", "Camera=1e1,-2,0.5"]
    for name in ("x.3ds", "x.glb"):
        ran = run("convert", EXAMPLE, tmp_path / name, *moves)
        assert (ran.code, "; lost: " in ran.err or ": lost: " in ran.err) == (0, False)
        given, made = keyframer.load(EXAMPLE), keyframer.load(tmp_path / name)
        for node, by in (("Rotor", (0, 0, 10)), ("Sail3", (0, 0, 10)), ("Camera", (10, -2, 0.5)), ("Tower", (0, 0, 0))):
            ours, theirs = (keyframer.pose(s, frames=[0, 7, 30]).world[:, s.find(node), :3, 3] for s in (given, made))
            np.testing.assert_allclose(theirs, ours + by, atol=0.05)


def test_a_cut_beyond_the_clip_is_limited_to_it(run: Run, tmp_path: Path) -> None:
    ran = run("convert", EXAMPLE, tmp_path / "x.3ds", "--cut", "40:5000", "--report", tmp_path / "cut.json")
    assert ran.code == 0
    (cut,) = losses_at(tmp_path / "cut.json", "/clips/cut")
    assert (cut["code"], cut["case"]) == ("CLIP_RANGE_CHANGED", "cut")
    assert cut["args"] == {"begin": 0, "end": 100, "first": 40, "last": 100}
    assert cut["detail"] in ran.err
    assert keyframer.load(tmp_path / "x.3ds").clips[0].end == 60
    outside = run("convert", EXAMPLE, tmp_path / "y.3ds", "--cut", "400:500")
    assert (outside.code, "frames 400 to 500 are outside the clip" in outside.err) == (3, True)
    run("convert", EXAMPLE, tmp_path / "z.3ds", "--cut", "0:100", "--report", tmp_path / "whole.json")
    assert losses_at(tmp_path / "whole.json", "/clips/cut") == []


@pytest.mark.parametrize("target", ["3ds", "midtown"])
@pytest.mark.parametrize("source", ["3ds", "midtown", "nodeanim"])
def test_a_rate_that_the_format_cannot_store_is_reported(run: Run, source: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / ("out" + TARGETS[target])
    ran = run("convert", SOURCES[source], path, "--to", target, "--rate", "15", "-v")
    assert ran.code == 0, ran.err
    told = [words for words in ran.err.splitlines() if "/clips/rate: " in words]
    assert len(told) == 1
    assert "30" in told[0]
    assert "15" in told[0]
    one, other = keyframer.load(SOURCES[source]), keyframer.load(path)
    duration = [scene.clips[0].end / scene.clips[0].rate for scene in (one, other)]
    assert duration[0] == pytest.approx(duration[1], abs=1 / 15)
    if source == target == "3ds":
        poses = [keyframer.pose(scene, np.linspace(0, 0.5, 6)).world for scene in (one, other)]
        np.testing.assert_allclose(*poses, atol=1e-6)


def test_rate_and_writing_options(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "slow.3ds"
    assert run("convert", EXAMPLE, path, "--fps", "15", "--write", "fps=15").code == 0
    assert keyframer.load(path, fps=15.0).clips[0].end == 100.0
    hale = tmp_path / "slow.anim"
    assert run("convert", EXAMPLE, hale, "--to", "hale3d", "--rate", "10", "--write", "companion=no").code == 0
    assert keyframer.load(hale, format="hale3d").clips[0].rate == 10.0
    assert not (tmp_path / "slow.mdl").exists()


def test_merging_files(run: Run, tmp_path: Path) -> None:
    keys = tmp_path / "keys.nanim"
    assert run("convert", EXAMPLE, keys).code == 0
    path = tmp_path / "merged.3ds"
    assert run("convert", keys, path, "--merge", EXAMPLE).code == 0
    merged = keyframer.load(path)
    assert len(merged.meshes) == 6
    frames = np.arange(0.0, 60.0, 7)
    source = keyframer.load(EXAMPLE)
    theirs, ours = keyframer.pose(merged, frames=frames), keyframer.pose(source, frames=frames)
    for name in ("Sail1", "Cock"):
        number = [node.name for node in merged.nodes].index(name)
        mine = [node.name for node in source.nodes].index(name)
        assert np.allclose(theirs.world[:, number], ours.world[:, mine], atol=2e-3), name
