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
from tools.assimp_scenes import AssimpScene
from tools.make_conformance import EVIDENCE, write
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
    assert league.compare(expected, still).words.startswith("nothing moves, right at frame 0; Box is off by ")


def test_a_reader_that_never_moves_is_wrong_though_its_first_key_is_right(pack: Path) -> None:
    values = values_of(pack, "hale3d/wave-length.anim")
    still = [{**node, "world": [node["world"][0]] * 8} for node in values["nodes"]]
    score = league.compare(values, {"nodes": still})
    assert (score.outcome, score.words.split(";")[0]) == ("wrong", "nothing moves, right at frame 0")


def test_places_of_hidden_nodes_do_not_count(pack: Path) -> None:
    values = values_of(pack, "3ds/hide.3ds")
    hidden = [frame for frame, shown in zip(values["frames"], values["nodes"][0]["visible"], strict=True) if not shown]
    assert 0 < len(hidden) < len(values["frames"])
    for names in ("Box", "other name"):
        answer = moved(values, hidden, values["size"])
        answer["nodes"][0]["name"] = names
        assert league.compare(values, answer).outcome == "right"
    assert league.compare(values, moved(values, [values["frames"][0]], values["size"])).outcome == "wrong"
    matrices = {"nodes": [{"name": "Box", "world": copy.deepcopy(values["nodes"][0]["world"])}]}
    for index in (values["frames"].index(frame) for frame in hidden):
        matrices["nodes"][0]["world"][index][3] += values["size"]
    assert league.compare(values, matrices).outcome == "right"


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
    (small / "ase").mkdir()
    for path in (pack / "ase").glob("morphing.ase*"):
        shutil.copy(path, small / "ase")
    assert "ase/morphing.ase" in subprocess.run([*command, "--reader", reader], capture_output=True, text=True).stdout
    some = subprocess.run([*command, "--reader", reader, "--formats", "3ds"], capture_output=True, text=True)
    assert some.stdout == done.stdout
    unknown = subprocess.run([*command, "--reader", reader, "--formats", "3ds", "max"], capture_output=True, text=True)
    assert (unknown.returncode, unknown.stdout, "small/max" in unknown.stderr) == (2, "", True)
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
    read = league_readers.assimp_reader("assimp")
    outcomes = {}
    for name in ("3ds/still.3ds", "3ds/position.3ds", "3ds/rotation.3ds", "md5/wave.md5anim", "b3d/swaying.b3d"):
        values = values_of(pack, name)
        outcomes[name] = league.compare(values, read(pack / name, values["frames"], values["times"])).outcome
    assert list(outcomes.values()) == ["right", "at keys", "wrong", "right", "right"]
    with pytest.raises(league_readers.Refused):
        read(pack / "midtown/retail.anim", [0.0], [0.0])


def test_a_channel_of_assimp_begins_at_its_first_key() -> None:
    """``aiAnimBehaviour_DEFAULT``: before it, the node has its own transformation."""
    turned = [0.0, -1.0, 0.0, 5.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    channel = {
        "name": "Box",
        "positionkeys": [[10, [0, 0, 0]], [20, [0, 8, 0]]],
        "rotationkeys": [[10, [1, 0, 0, 0]]],
        "scalingkeys": [[10, [1, 1, 1]]],
    }
    root = {"name": "<Root>", "children": [{"name": "Box", "transformation": turned}]}
    scene = AssimpScene({"rootnode": root, "animations": [{"channels": [channel]}]}, mirrored=False)
    worlds = [[matrix.ravel().tolist() for _, matrix in scene.nodes(time)] for time in (9.0, 15.0, 30.0)]
    still = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 4.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert worlds == [[turned], [still], [[8.0 if value == 4.0 else value for value in still]]]


def test_irrlicht_shows_the_files_of_blitz3d_in_the_same_places(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values of these files rest on it (`tools.make_conformance`)."""
    irrlicht = league_readers.READERS["Irrlicht"]
    if irrlicht.version() is None:
        pytest.skip(f"Irrlicht is not installed ({irrlicht.needs})")
    irrlicht.prepare(tmp_path)
    monkeypatch.setenv("LEAGUE_FOLDER", str(tmp_path))
    names = ["b3d/layered.b3d", "b3d/swaying.b3d"]
    assert [name for name, source in EVIDENCE.items() if source.startswith("Irrlicht")] == names
    for name in names:
        values = values_of(pack, name)
        answer = irrlicht.read(pack / name, values["frames"], values["times"])
        assert league.compare(values, answer).outcome == "right"


def test_the_page_counts_outcomes_and_says_what_rests_on_our_own_reading() -> None:
    outcomes = {"3ds/a": "right", "3ds/b": "wrong", "ase/c": "right", "ase/d": "refused", "md5/e": "refused"}
    scores = {"VTK": [league.Score(file, outcome, 0.0, "Box is off") for file, outcome in outcomes.items()]}
    text = page({"VTK": "1.2"}, scores, dict.fromkeys(outcomes) | {"3ds/a": "lib3ds, which agrees"}, "2001-02-03")
    assert "| VTK | 1.2 | 1 | 0 | 1 | 0 | 0 | ase 1 of 2 |" in text
    assert "| `3ds/a` | lib3ds | right |" in text
    assert "| `3ds/b` | own reading | wrong |" in text
    assert "* `3ds/b`, VTK: Box is off" in text
    assert "those of the 2 `.3ds` files" in text
    assert "Panda3D was not installed (PyPI: panda3d)." in text
    assert "VTK was not installed" not in text
    assert "2001-02-03" in text
