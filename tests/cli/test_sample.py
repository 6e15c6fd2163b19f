"""``keyframer sample``: positions of nodes over time, for every format, in every style."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.formats.nodeanim.document import new_document
from keyframer.formats.nodeanim.records import Node, NodeKeys
from keyframer.inspecting import samples as sampling
from keyframer.scene import Clip, Handedness, Scene, Space
from keyframer.scene import Node as SceneNode
from tests.building.hale3d import arm, wave
from tests.building.midtown import beta, channel, retail, walk
from tests.cli.running import EXAMPLE, Run, check_schema
from tests.cli.test_hostile_names import HOSTILE, UNSAFE


def sample(run: Run, *arguments: str | Path) -> dict[str, Any]:
    ran = run("sample", "--format", "json", "-q", *arguments)
    assert ran.code == 0, ran.err
    value: dict[str, Any] = ran.json()
    check_schema("sample", value)
    return value


def arrays_in(path: Path) -> dict[str, Any]:
    with np.load(path) as stored:
        return dict(stored)


def test_json_output_has_all_fields(run: Run) -> None:
    sampled = sample(run, EXAMPLE, "--frames", "0:10:5")
    assert list(sampled) == ["schema", "frames", "times", "axes", "nodes", "raw_channels"]
    assert sampled["schema"] == "keyframer.sample/1"
    assert sampled["frames"] == [0, 5, 10]
    assert sampled["times"] == pytest.approx([0, 1 / 6, 1 / 3])
    tower, rotor = sampled["nodes"][:2]
    assert [tower[key] for key in ("name", "id", "parent", "visible")] == ["Tower", 0, None, [True] * 3]
    assert (rotor["name"], rotor["parent"]) == ("Rotor", "Tower")
    pose = keyframer.pose(keyframer.load(EXAMPLE), frames=[0, 5, 10])
    np.testing.assert_allclose(np.array(rotor["world"]).reshape(3, 4, 4), pose.world[:, 1])
    assert rotor["world"][1][3] == pose.world[1, 1, 0, 3]  # row by row: the fourth number is x
    eye = next(node for node in sampled["nodes"] if node["name"] == "Camera")
    assert eye["fov_degrees"] == pose.camera_fov_degrees[:, 0].tolist()
    lamp = next(node for node in sampled["nodes"] if node["name"] == "Lamp")
    assert {"color", "multiplier", "hotspot_degrees", "falloff_degrees"} <= set(lamp)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0:10:5", [0, 5, 10]),
        ("0:9:5", [0, 5]),
        ("3.5,7", [3.5, 7]),
        ("0:2", [0, 1, 2]),
        ("0:0.3:0.1", [0, 0.1, 0.2, 0.3]),
        ("-2:0,8", [-2, -1, 0, 8]),
        ("1e1", [10]),
    ],
)
def test_lists_of_frames(text: str, wanted: list[float]) -> None:
    assert sampling.parse_frames(text) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "text", ["", "a", "1:", "1:2:3:4", "5:1", "0:1:0", "0:1:-1", "nan", "inf", "0:1e9:0.1", "1,,2"]
)
def test_invalid_lists_of_frames_are_refused(run: Run, text: str) -> None:
    with pytest.raises(ValueError):
        sampling.parse_frames(text)
    assert run("sample", EXAMPLE, f"--frames={text}").code == 2


def test_times_are_in_seconds(run: Run) -> None:
    by_time, by_frame = sample(run, EXAMPLE, "--times", "0.5,1"), sample(run, EXAMPLE, "--frames", "15,30")
    assert by_time == by_frame
    assert run("sample", EXAMPLE, "--times", "1", "--frames", "1").code == 2


def test_active_segment_is_sampled_by_default(run: Run) -> None:
    sampled = sample(run, EXAMPLE)
    assert sampled["frames"][0] == 0
    assert sampled["frames"][-1] == 100
    assert sampled["frames"] == list(range(101))


def test_selected_nodes(run: Run) -> None:
    sampled = sample(run, EXAMPLE, "--frames", "0", "--node", "Rotor", "--node", "Tower")
    assert [node["name"] for node in sampled["nodes"]] == ["Rotor", "Tower"]
    ran = run("sample", EXAMPLE, "--node", "Nobody")
    assert ran.code == 3
    assert ran.err == f"keyframer: {EXAMPLE}: no node is named 'Nobody'\n"
    assert not ran.out


def test_csv(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("sample", EXAMPLE, "--frames", "0,5", "--format", "csv").out)))
    columns = ["frame", "seconds", "node", "x", "y", "z", "qx", "qy", "qz", "qw", "sx", "sy", "sz", "visible"]
    assert list(rows[0]) == columns
    assert len(rows) == 2 * len(keyframer.load(EXAMPLE).nodes)
    world = keyframer.pose(keyframer.load(EXAMPLE), frames=[0, 5]).world
    assert [float(rows[3][axis]) for axis in "xyz"] == world[1, 1, :3, 3].tolist()
    assert rows[0]["visible"] == "yes"


def test_npz_needs_an_output(run: Run) -> None:
    ran = run("sample", EXAMPLE, "-o", "")
    assert (ran.code, ran.out) == (3, "")
    assert ": the name of an output must not be empty" in ran.err


def test_npz(run: Run, tmp_path: Path) -> None:
    assert run("sample", EXAMPLE, "--format", "npz").code == 2
    assert run("sample", EXAMPLE, "--format", "npz", "-o", "-").code == 2
    out = tmp_path / "out.npz"
    assert run("sample", EXAMPLE, "--frames", "0:4", "--format", "npz", "-o", out).code == 0
    arrays = arrays_in(out)
    assert sorted(arrays) == ["frames", "names", "times", "visible", "world"]
    np.testing.assert_array_equal(arrays["world"], keyframer.pose(keyframer.load(EXAMPLE), frames=range(5)).world)
    assert arrays["visible"].dtype == bool
    again = run("sample", EXAMPLE, "--format", "npz", "-o", out)
    assert again.code == 3
    assert "exists (-f overwrites it)" in again.err
    assert run("sample", EXAMPLE, "--format", "npz", "-o", out, "-f").code == 0


def test_raw_channels_are_in_the_output(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "walk.anim"
    strange = [[0.5, 0.25], [math.nan, 0.5], [0.5, 0.75]]
    path.write_bytes(beta(3, channel(walk(3, 2)), channel(strange, 0.0, 2)))
    sampled = sample(run, path, "--from", "midtown")
    assert sampled["raw_channels"] == [{"name": "channel 1", "values": [[0.5, 0.25], [None, 0.5], [0.5, 0.75]]}]
    out = tmp_path / "out.npz"
    assert run("sample", path, "--from", "midtown", "--format", "npz", "-o", out).code == 0
    np.testing.assert_array_equal(arrays_in(out)["raw_0"], strange)
    tables = run("info", path, "--from", "midtown", "--format", "json").json()["files"][0]["tables"]
    assert tables["raw_channels"] == [{"channel": "channel 1", "frames": 3, "floats": 2}]


@pytest.mark.parametrize(
    ("up", "hand", "place", "wanted"),
    [
        ("z", Handedness.RIGHT, (1, 2, 3), (1, 3, -2)),
        ("y", Handedness.RIGHT, (1, 2, 3), (1, 2, 3)),
        ("x", Handedness.RIGHT, (1, 2, 3), (-2, 1, 3)),
        ("y", Handedness.LEFT, (1, 2, 3), (1, 2, -3)),
        ("z", Handedness.LEFT, (1, 2, 3), (1, 3, 2)),
        ("x", Handedness.LEFT, (1, 2, 3), (-2, 1, -3)),
    ],
)
def test_axes_y_up(up: str, hand: Handedness, place: tuple[float, ...], wanted: tuple[float, ...]) -> None:
    """The up axis becomes Y, left-handed axes become right-handed, and no matrix is mirrored."""
    turn = np.array([0.1, 0.2, 0.3, 0.9])
    node = SceneNode("a", position=np.array(place, float), rotation_xyzw=turn)
    scene = Scene(nodes=[node], clips=[Clip()], space=Space(up, hand))
    world = sampling.Sample(scene, frames=[0], times=None, axes="y-up").world(0)[0]
    np.testing.assert_allclose(world[:3, 3], wanted)
    assert np.linalg.det(world[:3, :3]) == pytest.approx(1)
    height = {"x": 0, "y": 1, "z": 2}[up]
    assert world[1, 3] == place[height]


def test_axes_on_the_command_line(run: Run) -> None:
    original, turned = (sample(run, EXAMPLE, "--frames", "0", "--axes", axes) for axes in ("file", "y-up"))
    x, y, z = (original["nodes"][1]["world"][0][at] for at in (3, 7, 11))
    assert [turned["nodes"][1]["world"][0][at] for at in (3, 7, 11)] == pytest.approx([x, z, -y])
    assert original["axes"].startswith("Z up, right-handed")
    assert turned["axes"] == "y-up, right-handed"


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    (tmp_path / "wave.anim").write_bytes(wave())
    (tmp_path / "arm.mdl").write_bytes(arm())
    return tmp_path


def test_model_by_option_and_by_name(run: Run, pair: Path) -> None:
    animation, model = pair / "wave.anim", pair / "arm.mdl"
    assert len(sample(run, animation)["nodes"]) == 3
    assert len(sample(run, animation, "--model", model)["nodes"]) == 5
    assert len(sample(run, model, "--set", f"animation={animation}")["nodes"]) == 5
    model.rename(pair / "wave.mdl")
    assert len(sample(run, animation)["nodes"]) == 5
    assert len(run("info", animation, "--format", "json").json()["files"][0]["tables"]["skins"]) == 2


def test_model_that_does_not_match_is_refused(run: Run, pair: Path) -> None:
    (pair / "other.anim").write_bytes(wave()[:16] + b"\2" + wave()[17:])
    (pair / "short.anim").write_bytes(wave(names=(b"a", b"b", b"c")))
    ran = run("sample", pair / "short.anim", "--model", pair / "short.anim")
    assert ran.code == 3
    assert "LINK_SKELETON_MISMATCH" in ran.err
    ran = run("sample", pair / "arm.mdl", "--model", pair / "arm.mdl")
    assert ran.code == 2
    assert "this file is a model itself" in ran.err
    assert run("sample", pair / "wave.anim", "--model", pair / "none.mdl").code == 3


def test_skeleton_and_format_options(run: Run, tmp_path: Path) -> None:
    path, skeleton = tmp_path / "walk.anim", tmp_path / "man.skel"
    path.write_bytes(retail(walk(4, 2), 3.0))
    skeleton.write_text("bone hips { offset 0 1 0 bone chest { offset 0 0.5 0 } }")
    sampled = sample(
        run, path, "--skeleton", skeleton, "--fps", "15", "--set", "in_place=true", "--set", "euler-order=XYZ"
    )
    assert [node["name"] for node in sampled["nodes"]] == ["hips", "chest"]
    assert sampled["times"] == pytest.approx([0, 1 / 15, 2 / 15, 0.2])
    ahead = [matrix[11] for matrix in sampled["nodes"][0]["world"]]
    assert ahead == pytest.approx([-1.5 * n / 4 + 3.0 * n / 4 for n in range(4)], abs=1e-6)
    skeleton.rename(tmp_path / "walk.skel")
    assert sample(run, path)["nodes"][0]["name"] == "hips"


@pytest.mark.parametrize(
    ("pair_", "words"),
    [
        ("fps=fast", "fps must be a number, not 'fast'"),
        ("in_place=maybe", "in_place must be true or false, not 'maybe'"),
        ("euler_order=ABC", "euler_order must be an order of X, Y and Z"),
        ("geometry=raw", "midtown has no option 'geometry'"),
        ("nothing", "--set: expected NAME=VALUE, not 'nothing'"),
    ],
)
def test_wrong_options_are_wrong_usage(run: Run, tmp_path: Path, pair_: str, words: str) -> None:
    path = tmp_path / "walk.anim"
    path.write_bytes(retail(walk()))
    ran = run("sample", path, "--set", pair_)
    assert ran.code == 2
    assert words in ran.err
    assert not ran.out


def test_exit_codes(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.3ds"
    bad.write_bytes(b"rubbish")
    assert run("sample", bad).code == 3
    assert run("sample", tmp_path / "none.3ds").code == 3
    assert run("sample").code == 2
    assert run("sample", EXAMPLE, EXAMPLE).code == 2
    assert run("sample", EXAMPLE, "--format", "md").code == 2


def test_too_many_samples_are_refused_before_posing() -> None:
    scene = Scene(nodes=[SceneNode(str(number)) for number in range(1000)])
    with pytest.raises(FormatError, match=r"LIMIT_SAMPLES .* 16000000 samples requested"):
        sampling.Sample(scene, frames=list(range(1_000)), times=None)


def test_issues_are_printed_to_stderr(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "walk.anim"
    path.write_bytes(retail(walk()))
    ran = run("sample", path, "--format", "json")
    assert "SCENE_DEFAULT_RIG" in ran.err
    check_schema("sample", ran.json())
    assert run("sample", "-q", path, "--format", "json").err == ""


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_are_escaped(run: Run, tmp_path: Path, kind: str) -> None:
    name = HOSTILE[kind]
    keys = NodeKeys.make([0, 1], [[0, 0, 0], [1, 2, 3]])
    nodes = [Node(name, 4, translation_keys=keys), Node(name, 4, translation_keys=keys)]
    path = tmp_path / "hostile.nanim"
    path.write_bytes(keyframer.encode(new_document(*nodes, name=name, author=name)))
    for style in ("pretty", "csv", "json"):
        ran = run("sample", path, "--from", "nodeanim", "--frames", "0,1", "--format", style)
        assert ran.code == 0, ran.err
        assert not UNSAFE.search(ran.out + ran.err)
        assert len(ran.out) < 30_000
        if style == "csv":
            for row in csv.reader(io.StringIO(ran.out)):
                assert len(row) == 14
                assert not row[2].startswith(("=", "+", "@", "-"))
        if style == "json":
            check_schema("sample", ran.json())
    out = tmp_path / "out.npz"
    assert run("sample", path, "--from", "nodeanim", "--format", "npz", "-o", out).code == 0
    names = arrays_in(out)["names"]
    assert not any(UNSAFE.search(name) for name in names)
    assert names.dtype.itemsize <= 4 * 255
    for style in ("pretty", "json", "csv", "md"):
        shown = run("info", path, "--from", "nodeanim", "--format", style).out
        assert not UNSAFE.search(shown)


def test_node_is_selected_by_its_displayed_name(run: Run, tmp_path: Path) -> None:
    keys = NodeKeys.make([0, 1], [[0, 0, 0], [1, 2, 3]])
    path = tmp_path / "odd.nanim"
    path.write_bytes(keyframer.encode(new_document(Node(b"a\x1bb", 4, translation_keys=keys))))
    for name in ("a\x1bb", "a\\x1bb"):
        assert len(sample(run, path, "--from", "nodeanim", "--node", name)["nodes"]) == 1
