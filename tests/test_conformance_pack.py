"""The conformance pack: it covers the features, is the same in every run, and some values are checked by hand."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.make_conformance import FRAMES, ROOT, cases, write

import keyframer
from keyframer.catalogue import CATALOGUE
from keyframer.formats import FORMATS
from keyframer.formats.threeds.records import Track
from tests.golden.make import FOLDER as GOLDEN
from tests.golden.make import NOT_BY_A_FILE, format_of

TURN = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""a quarter turn about Z, clockwise seen from above"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("pack") / "pack.zip"
    write(path)
    with zipfile.ZipFile(path) as archive:
        return {name.removeprefix("conformance/"): archive.read(name) for name in archive.namelist()}


def _expected(pack: dict[str, bytes], name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(pack[f"{name}.expected.json"])
    return values


def _world(pack: dict[str, bytes], name: str, node: str, frame: float) -> Any:
    values = _expected(pack, name)
    found = next(entry for entry in values["nodes"] if entry["name"] == node)
    return np.reshape(found["world"][values["frames"].index(frame)], (4, 4))


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        write(tmp_path / name)
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_every_file_has_its_values(pack: dict[str, bytes]) -> None:
    assert pack["README.txt"]
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)
    expected = {f"{name}.expected.json" for name in names}
    others = {name for name in pack if not name.startswith("issues/")}
    assert others == {"README.txt", "league.py", "issues.json", *names, *expected}
    for case in cases():
        values = _expected(pack, case.name)
        assert values["about"].endswith(".")
        assert values["frames"] == FRAMES
        assert all(len(node["world"]) == len(FRAMES) for node in values["nodes"])


def test_the_documentation_states_the_number_of_files() -> None:
    page = (ROOT / "docs" / "conformance.md").read_text("utf-8")
    assert f"`build/conformance.zip`: {len(cases())} small files" in page


def test_every_format_and_every_kind_of_track_is_there(pack: dict[str, bytes]) -> None:
    assert {name.split("/")[0] for name in pack if "/" in name} == {"issues", *(known.name for known in FORMATS)}
    own = [keyframer.decode(case.data) for case in cases() if case.name.startswith("3ds/")]
    stored = [track for document in own for track in document.find(Track)]
    assert {type(track) for track in stored} == set(Track.__subclasses__())
    assert {track.flags & 3 for track in stored} >= {0, 2, 3}
    columns = {name for track in stored for name in track.keys.columns()}  # type: ignore[attr-defined]
    assert columns >= {"tension", "continuity", "bias", "ease_to", "ease_from"}


def test_the_readme_explains_every_field_and_lists_every_file(pack: dict[str, bytes]) -> None:
    readme = pack["README.txt"].decode()
    words = set(re.findall(r"[\w.]+", readme))
    for case in cases():
        values = _expected(pack, case.name)
        fields = {*values, *(field for node in values["nodes"] for field in node), *_morph_fields(values)}
        assert fields <= words, case.name
        assert {node["kind"] for node in values["nodes"]} <= words
        assert f"{case.name}: {case.about}" in readme
    assert keyframer.__version__ in readme


def _morph_fields(values: dict[str, Any]) -> set[str]:
    return {field for node in values["nodes"] for field in node.get("morph", ())}


def test_parents_are_indices_and_times_follow_from_the_frame_rate(pack: dict[str, bytes]) -> None:
    for case in cases():
        values = _expected(pack, case.name)
        for node in values["nodes"]:
            parent = None if node["parent_index"] is None else values["nodes"][node["parent_index"]]["name"]
            assert node["parent"] == parent
        if values["frame_rate"] is not None:
            assert values["times"] == pytest.approx([frame / values["frame_rate"] for frame in FRAMES], rel=1e-6)


def test_what_the_lines_of_cameras_and_lights_promise_is_there(pack: dict[str, bytes]) -> None:
    eye = _expected(pack, "3ds/camera.3ds")["nodes"][0]
    assert (eye["fov_degrees"][0], eye["fov_degrees"][4]) == pytest.approx((45, 30))
    lamp = _expected(pack, "3ds/spot.3ds")["nodes"][0]
    assert [lamp[field][4] for field in ("color", "hotspot_degrees", "falloff_degrees")] == [[1, 0, 0], 10, 20]
    tracks = _expected(pack, "3ds/tracks.3ds")["nodes"]
    animated = {node["kind"] for node in tracks if len({str(matrix) for matrix in node["world"]}) > 1}
    assert animated == {"dummy"}
    assert not any("fov_degrees" in node or "color" in node for node in tracks)


def test_axes_size_and_frames_with_keys_are_data(pack: dict[str, bytes]) -> None:
    values = _expected(pack, "3ds/windmill.3ds")
    assert values["axes"] == {
        "up": "z",
        "handedness": "right",
        "metres_per_unit": 0.0254,
        "to_y_up": [1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1],
    }
    left = _expected(pack, "b3d/swaying.b3d")["axes"]
    assert (left["up"], left["handedness"]) == ("y", "left")
    assert np.linalg.det(np.reshape(left["to_y_up"], (4, 4))) == pytest.approx(-1)
    position = _expected(pack, "3ds/position.3ds")
    assert position["key_frames"] == [0, 10, 20, 30]
    assert position["size"] == pytest.approx(np.ptp(np.reshape(position["nodes"][0]["vertices"], (-1, 3)), 0).max())
    assert all(_expected(pack, case.name)["size"] > 0 for case in cases())


def test_matrices_have_a_line_each(pack: dict[str, bytes]) -> None:
    lines = [line.strip(" ,") for line in pack["3ds/windmill.3ds.expected.json"].decode().splitlines()]
    assert sum(len(json.loads(line)) == 16 for line in lines if re.fullmatch(r"\[[-\d., e]+\]", line)) >= len(FRAMES)
    assert not any(re.fullmatch(r"-?[\d.]+", line) for line in lines)


def test_every_code_of_a_file_has_a_file_with_it_and_one_without(pack: dict[str, bytes]) -> None:
    entries = json.loads(pack["issues.json"])
    assert {entry["code"] for entry in entries} == set(CATALOGUE) - set(NOT_BY_A_FILE)
    places = {(entry["code"], entry["format"]) for entry in entries}
    assert len(places) == len(entries)
    golden = {(path.parent.name, format_of(path)) for path in GOLDEN.glob("*/*") if path.suffix != ".json"}
    assert golden <= places
    assert {entry["format"] for entry in entries} == {known.name for known in FORMATS}
    assert {name for name in pack if name.startswith("issues/")} == {
        entry[which]["file"] for entry in entries for which in ("with", "without")
    }
    for entry in entries:
        limits = keyframer.Limits(**entry.get("limits", {}))
        for which in ("with", "without"):
            stated = entry[which]
            report = keyframer.check(pack[stated["file"]], format=entry["format"], limits=limits)
            assert (report.verdict, dict(report.counts)) == (stated["verdict"], stated["codes"]), stated["file"]
            assert (entry["code"] in stated["codes"]) == (which == "with")


def test_files_of_codes_are_not_larger_than_golden_files(pack: dict[str, bytes]) -> None:
    sizes = {
        (entry["code"], entry["format"]): len(pack[entry["with"]["file"]]) for entry in json.loads(pack["issues.json"])
    }
    for path in GOLDEN.glob("*/*"):
        if path.suffix != ".json":
            assert sizes[path.parent.name, format_of(path)] <= path.stat().st_size


def test_position_goes_through_its_keys(pack: dict[str, bytes]) -> None:
    for frame, place in ((0.0, (0, 0, 0)), (10.0, (10, 0, 0)), (20.0, (10, 10, 0)), (30.0, (0, 10, 5))):
        assert _world(pack, "3ds/position.3ds", "Box", frame)[:3, 3] == pytest.approx(place)
    assert _world(pack, "3ds/position.3ds", "Box", 45.0)[:3, 3] == pytest.approx((0, 10, 5))  # holds its last value


def test_angles_are_clockwise_and_go_the_long_way(pack: dict[str, bytes]) -> None:
    assert _world(pack, "3ds/rotation.3ds", "Box", 10.0)[:3, :3] == pytest.approx(TURN, abs=1e-6)
    root = np.sqrt(0.5)
    tilt = np.array([[1.0, 0.0, 0.0], [0.0, root, root], [0.0, -root, root]])  # 45 degrees clockwise about X
    assert _world(pack, "3ds/rotation.3ds", "Box", 30.0)[:3, :3] == pytest.approx(tilt @ TURN, abs=1e-6)
    half = _world(pack, "3ds/rotation_two_turns.3ds", "Box", 15.0)  # half of two turns: one turn
    assert half[:3, :3] == pytest.approx(np.eye(3), abs=1e-5)
    quarter = _world(pack, "3ds/rotation_270.3ds", "Box", 20.0)
    assert quarter[:3, :3] == pytest.approx(TURN.T, abs=1e-6)  # 270 degrees clockwise: 90 anticlockwise


def test_the_pivot_stays_in_its_place(pack: dict[str, bytes]) -> None:
    box = _expected(pack, "3ds/pivot.3ds")["nodes"][0]
    for vertices in box["vertices"]:  # its second vertex is the pivot
        assert vertices[1] == pytest.approx((0, 0, 0), abs=1e-6)


def test_a_child_follows_its_parent(pack: dict[str, bytes]) -> None:
    base, arm = (_world(pack, "3ds/hierarchy.3ds", name, 10.0) for name in ("Base", "Arm"))
    assert base[:3, 3] == pytest.approx((10, 0, 0))
    assert arm[:3, 3] == pytest.approx((10, -3, 0), abs=1e-6)  # three units along the turned X axis
    assert arm[:3, :3] == pytest.approx(TURN @ TURN, abs=1e-6)


def test_repetition_visibility_and_morphs(pack: dict[str, bytes]) -> None:
    same = [_world(pack, "3ds/repeat.3ds", "Box", frame)[:3, 3] for frame in (5.0, 15.0, 25.0, 45.0)]
    assert all(place == pytest.approx((5, 0, 0)) for place in same)
    assert _expected(pack, "3ds/hide.3ds")["nodes"][0]["visible"] == [True, True, False, False, *[True] * 4]
    first, *_, last = _expected(pack, "3ds/morph.3ds")["nodes"][0]["vertices"]
    assert last == pytest.approx(2 * np.array(first))
