"""The league of importers: answers get the score that they deserve, and readers are started as it promises."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools import league, league_readers
from tools.make_conformance import write
from tools.make_league import page

READER = """
import json, os, signal, sys
expected = json.load(open(sys.argv[1] + ".expected.json"))
name = os.path.basename(sys.argv[1])
if name == "pivot.3ds":
    sys.exit("no pivots here")
if name == "loop.3ds":
    os.kill(os.getpid(), signal.SIGABRT)
nodes = [{"name": "Box", "vertices": expected["nodes"][0]["vertices"]}]
json.dump({"nodes": nodes}, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pack")
    write(folder / "pack.zip")
    with zipfile.ZipFile(folder / "pack.zip") as archive:
        archive.extractall(folder)
    return folder / "conformance"


@pytest.fixture
def expected(pack: Path) -> dict[str, Any]:
    return values_of(pack, "3ds/position.3ds")


def values_of(pack: Path, name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((pack / f"{name}.expected.json").read_text("utf-8"))
    return values


def moved(values: dict[str, Any], frames: list[float], by: float) -> dict[str, Any]:
    """Return the values as an answer whose vertices are somewhere else at some frames."""
    answer = copy.deepcopy(values)
    for node in answer["nodes"]:
        for frame, points in zip(values["frames"], node["vertices"], strict=True):
            for point in points:
                point[0] += by * (frame in frames)
    return answer


def test_the_expected_values_are_right(pack: Path) -> None:
    for path in pack.rglob("*.expected.json"):
        values = json.loads(path.read_text("utf-8"))
        assert league.compare(values, values)[1:] == ("right", 0.0, ""), path


def test_corners_in_any_order_and_other_names_are_right(expected: dict[str, Any]) -> None:
    answer = copy.deepcopy(expected)
    answer["nodes"][0]["name"] = "Box.001"
    for points in answer["nodes"][0]["vertices"]:
        points[:] = points[::-1] + points
    score = league.compare(expected, answer)
    assert (score.outcome, score.words) == ("right", "nodes not there: Box")


def test_between_keys_and_everywhere(expected: dict[str, Any]) -> None:
    size = expected["size"]
    assert league.compare(expected, moved(expected, [5, 25], size * 0.0009)).outcome == "right"
    between = league.compare(expected, moved(expected, [5, 25], size * 0.5))
    assert (between.outcome, between.error) == ("at keys", pytest.approx(0.5, rel=0.2))
    assert between.words.startswith("Box is off by ")
    assert league.compare(expected, moved(expected, [10], size)).outcome == "wrong"
    still = {"nodes": [{"name": "Box", "vertices": [expected["nodes"][0]["vertices"][0]] * 8}]}
    assert league.compare(expected, still).words.startswith("nothing moves; Box is off by ")


def test_a_reader_that_never_moves_is_wrong_though_its_first_key_is_right(pack: Path) -> None:
    values = values_of(pack, "hale3d/wave-length.anim")
    still = [{**node, "world": [node["world"][0]] * 8} for node in values["nodes"]]
    score = league.compare(values, {"nodes": still})
    assert (score.outcome, score.words.split(";")[0]) == ("wrong", "nothing moves")


def test_matrices_decide_where_there_are_no_vertices(pack: Path, expected: dict[str, Any]) -> None:
    answer = {"nodes": [{"name": "Box", "world": expected["nodes"][0]["world"]}]}
    assert league.compare(expected, answer).outcome == "right"
    turned = copy.deepcopy(answer)
    for matrix in turned["nodes"][0]["world"]:
        matrix[0] *= -1
    assert league.compare(expected, turned).outcome == "wrong"
    camera = values_of(pack, "3ds/camera.3ds")
    eye = copy.deepcopy(camera)
    for matrix in eye["nodes"][0]["world"]:
        matrix[0] += 1  # programs disagree about where a camera looks in its own axes
    assert league.compare(camera, eye).outcome == "right"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([], "does not have the form"),
        ({"nodes": [{"name": "Box", "vertices": [[[0, 0, 0]]]}]}, "needs vertices at 8 frames"),
        ({"nodes": [{"name": "Box", "world": [[1, 0]] * 8}]}, "needs 8 matrices of 16 numbers"),
        ({"nodes": [{"name": "Box", "world": [[float("nan")] * 16] * 8}]}, "off by inf"),
        ({"nodes": [{"name": "Box", "vertices": [[[float("nan")] * 3]] * 8}]}, "off by inf"),
        ({"nodes": []}, "nothing of the scene is there; nodes not there: Box"),
    ],
)
def test_answers_of_another_form_are_wrong(expected: dict[str, Any], answer: Any, words: str) -> None:
    score = league.compare(expected, answer)
    assert score.outcome == "wrong"
    assert words in score.words


def test_lost_materials_are_reported(pack: Path) -> None:
    values = values_of(pack, "ase/textured.ase")
    assert "materials not there: blue, red" in league.compare(values, {**values, "materials": []}).words


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_the_script_of_the_pack_runs_a_reader(pack: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    (small / "3ds").mkdir(parents=True)
    for name in ("position", "pivot", "loop"):
        for path in (pack / "3ds").glob(f"{name}.3ds*"):
            shutil.copy(path, small / "3ds")
    shutil.copy(pack / "league.py", small)
    (tmp_path / "reader.py").write_text(READER, "utf-8")
    command = [sys.executable, "-I", str(small / "league.py")]  # isolated: it needs nothing but Python
    reader = f"'{sys.executable}' '{tmp_path / 'reader.py'}' {{file}} {{out}}"
    done = subprocess.run([*command, "--reader", reader], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "crashed  3ds/loop.3ds: ended by signal 6",
        "refused  3ds/pivot.3ds: no pivots here",
        "right    3ds/position.3ds",
        "1 right, 0 at keys, 0 wrong, 1 refused, 1 crashed",
    ]
    assert done.returncode == 1
    one = str(small / "3ds" / "position.3ds.expected.json")
    assert subprocess.run([*command, "--compare", one, one], capture_output=True, check=False).returncode == 0
    missing = subprocess.run([*command, "--reader", "no-such-reader"], capture_output=True, text=True, check=False)
    assert (missing.returncode, "the reader does not start" in missing.stderr) == (2, True)


def test_our_own_reader_is_right(pack: Path) -> None:
    for name in ("3ds/windmill.3ds", "b3d/swaying.b3d", "midtown/retail.anim"):
        values = values_of(pack, name)
        answer = league_readers.keyframer_reader(pack / name, values["frames"], values["times"])
        assert league.compare(values, answer).outcome == "right"


@pytest.mark.skipif(shutil.which("assimp") is None, reason="assimp is not installed (Debian: assimp-utils)")
def test_assimp_is_right_at_keys_only(pack: Path) -> None:
    outcomes = {}
    for name in ("3ds/still.3ds", "3ds/position.3ds", "3ds/rotation.3ds", "md5/wave.md5anim"):
        values = values_of(pack, name)
        answer = league_readers.assimp_reader(pack / name, values["frames"], values["times"])
        outcomes[name] = league.compare(values, answer).outcome
    assert list(outcomes.values()) == ["right", "at keys", "wrong", "right"]
    with pytest.raises(league_readers.Refused):
        league_readers.assimp_reader(pack / "midtown/retail.anim", [0.0], [0.0])


def test_the_page_counts_outcomes_and_says_what_rests_on_our_own_reading() -> None:
    scores = {"One": [league.Score("a", "right", 0.0, ""), league.Score("b", "wrong", 1.0, "Box is off")]}
    text = page({"One": "1.2"}, scores, {"a": "lib3ds, which agrees", "b": None}, "2001-02-03")
    assert "| One | 1.2 | 1 | 0 | 1 | 0 | 0 |" in text
    assert "| `a` | lib3ds | right |" in text
    assert "| `b` | own reading | wrong |" in text
    assert "* `b`, One: Box is off" in text
    assert "2001-02-03" in text
