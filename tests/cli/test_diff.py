"""``keyframer diff``: exit codes, styles, the schema, plots, other formats."""

from __future__ import annotations

import csv
import io
import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds.records import MapName, NodeHeader, PositionTrack
from tests.cli.running import EXAMPLE, STYLES, Run, check_schema
from tests.cli.test_hostile_names import UNSAFE
from tests.samples import sample_files


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """Write the example with another image name."""
    document = keyframer.read(EXAMPLE)
    next(document.find(MapName)).name = b"BRICK.PNG"
    path = tmp_path / "edited.3ds"
    path.write_bytes(keyframer.encode(document))
    return path


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """Write the example with its tower moved five units along x."""
    document = keyframer.read(EXAMPLE)
    track = next(document.find(PositionTrack))
    values = np.array(track.keys.value)
    values[:, 0] += 5
    track.keys = track.keys.replace(value=values)
    path = tmp_path / "moved.3ds"
    path.write_bytes(keyframer.encode(document))
    return path


def test_identical_files(run: Run) -> None:
    ran = run("diff", EXAMPLE, EXAMPLE)
    assert ran.code == 0
    assert "structure (records): equal" in ran.out
    assert "0 of 12 nodes different" in ran.out


def test_changed_file(run: Run, edited: Path) -> None:
    ran = run("diff", EXAMPLE, edited)
    assert ran.code == 1
    assert "/4d4d/3d3d/afff[0]/a200/a300 MapName" in ran.out
    assert "BRICK.PNG" in ran.out
    assert run("diff", EXAMPLE, edited, "--what", "motion").code == 0
    assert run("diff", EXAMPLE, edited, "--what", "structure").code == 1


def test_motion(run: Run, moved: Path) -> None:
    report = run("diff", EXAMPLE, moved, "--format", "json").json()
    check_schema("diff", report)
    (record,) = report["comparisons"]
    assert not record["same"]
    nodes = {node["name"]: node for node in record["motion"]["nodes"]}
    assert nodes["Tower"]["different"]
    assert nodes["Tower"]["position"] == {"largest": pytest.approx(5.0), "mean": pytest.approx(5.0), "at": 0.0}
    assert nodes["Sail1"]["position"]["largest"] == pytest.approx(5.0)  # moved with its parent
    assert not nodes["Camera"]["different"]
    assert run("diff", EXAMPLE, moved, "--what", "motion", "--tolerance", "5.001").code == 0
    assert run("diff", EXAMPLE, moved, "--what", "motion", "--tolerance", "4.999").code == 1


@pytest.fixture
def rotated(tmp_path: Path) -> tuple[Path, Path]:
    """The paths of two scenes; in the second, a node is rotated by half a degree about its origin."""
    half = math.radians(0.5) / 2
    paths = (tmp_path / "still.glb", tmp_path / "rotated.glb")
    for path, quaternion in zip(paths, ([0, 0, 0, 1], [0, 0, math.sin(half), math.cos(half)]), strict=True):
        node = keyframer.Node("Dummy", keyframer.NodeKind.DUMMY, rotation_xyzw=np.array(quaternion))
        keyframer.save(keyframer.Scene(nodes=[node]), path)
    return paths


def test_tolerance_of_rotations(run: Run, rotated: tuple[Path, Path]) -> None:
    def code(*options: str) -> int:
        return run("diff", *rotated, "--what", "motion", *options).code

    assert code() == 1
    assert code("--tolerance", "1000") == 1  # a distance does not excuse a rotation
    assert code("--tolerance-degrees", "0.499") == 1
    assert code("--tolerance-degrees", "0.501") == 0


@pytest.mark.parametrize("style", STYLES)
def test_styles(run: Run, edited: Path, style: str) -> None:
    ran = run("diff", EXAMPLE, edited, "--format", style)
    assert ran.code == 1
    assert "BRICK" in ran.out
    if style in ("json", "jsonl"):
        check_schema("diff", json.loads(ran.out))
    if style == "csv":
        rows = list(csv.reader(io.StringIO(ran.out)))
        assert rows[0] == ["section", "kind", "path", "field", "a", "b", "largest", "mean"]
        assert {len(row) for row in rows} == {8}


def test_files_of_different_formats(run: Run) -> None:
    other = next(path for path in sample_files("uto3d") if path.name == "maxscript.u3d")
    ran = run("diff", EXAMPLE, other, "--format", "json")
    assert ran.code == 1
    (record,) = ran.json()["comparisons"]
    check_schema("diff", ran.json())
    assert record["formats"] == ["3ds", "uto3d"]
    assert record["structure"]["level"] == "scene"
    paths = {change["path_a"] for change in record["structure"]["changes"]}
    assert "/nodes/Tower" in paths
    assert "Tower" in record["motion"]["only_a"]


@pytest.mark.parametrize("name", ["p.svg", "p.png"])
def test_plots(run: Run, moved: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert run("diff", EXAMPLE, moved, "--plot", out).code == 1
    if name.endswith("svg"):
        texts = [element.text for element in ET.parse(out).getroot().iter("{http://www.w3.org/2000/svg}text")]
        assert "difference of position" in texts
        assert "Tower" in texts
    again = run("diff", EXAMPLE, moved, "--plot", out)
    assert again.code == 3
    assert "exists" in again.err
    assert run("diff", EXAMPLE, moved, "--plot", out, "-f").code == 1
    assert run("diff", EXAMPLE, EXAMPLE, "--plot", out, "-f").code == 0
    assert run("diff", EXAMPLE, moved, "--plot", out, "-f", "--what", "structure").code == 3


def test_unreadable_files_are_reported(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.3ds"
    bad.write_bytes(b"rubbish")
    for pair in ((EXAMPLE, bad), (bad, EXAMPLE), (EXAMPLE, tmp_path / "none.3ds")):
        ran = run("diff", *pair, "--format", "json")
        assert ran.code == 3
        check_schema("diff", ran.json())
        assert "error" in ran.json()["comparisons"][0]


def test_records_are_compared_if_a_scene_cannot_be_built(run: Run, tmp_path: Path) -> None:
    cut = tmp_path / "cut.3ds"
    cut.write_bytes(EXAMPLE.read_bytes()[:-100])
    ran = run("diff", EXAMPLE, cut)
    assert ran.code == 1
    assert "the scenes are not compared" in ran.err
    assert run("diff", cut, cut).code == 3  # the same records, but the motion cannot be compared
    assert run("diff", cut, cut, "--what", "structure").code == 0
    assert run("diff", cut, cut, "--salvage").code == 0


@pytest.mark.parametrize(
    "arguments",
    [[], [EXAMPLE], [EXAMPLE, EXAMPLE, EXAMPLE], [EXAMPLE, EXAMPLE, "--tolerance", "-1"],
     [EXAMPLE, EXAMPLE, "--tolerance", "nan"], [EXAMPLE, EXAMPLE, "--plot", "x.gif"]],
)  # fmt: skip
def test_wrong_usage(run: Run, arguments: list[str | Path]) -> None:
    assert run("diff", *arguments).code == 2


@pytest.mark.parametrize("style", STYLES)
def test_hostile_names_are_escaped(run: Run, tmp_path: Path, style: str) -> None:
    document = keyframer.read(EXAMPLE)
    for header in document.find(NodeHeader):
        header.name = b"=cmd|\x1b[31m<script>\xe2\x80\xae" + header.name[:4]
    path = tmp_path / "a.3ds"
    path.write_bytes(keyframer.encode(document))
    ran = run("diff", EXAMPLE, path, "--format", style, "--plot", tmp_path / "p.svg")
    assert ran.code == 1
    assert not UNSAFE.search(ran.out + ran.err)
    if style == "csv":
        assert not any(cell.startswith("=") for row in csv.reader(io.StringIO(ran.out)) for cell in row)
    assert "<script" not in (tmp_path / "p.svg").read_text()


def test_motion_beyond_the_limit_is_not_compared(run: Run) -> None:
    ran = run("diff", EXAMPLE, EXAMPLE, "--limit", "samples=50", "--format", "json")
    assert ran.code == 3
    assert "the scenes are not compared: LIMIT_SAMPLES" in ran.err
    (comparison,) = ran.json()["comparisons"]
    assert comparison["structure"]["changes"] == []
    assert comparison["motion"] is None
