"""Save as: every format that can be written, as the command writes it, with its losses; text, tables, and recovery."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.exchange import EXPORTERS
from keyframer.limits import Limits
from keyframer.scene.loss_report import CannotWrite
from keyframer.viewer.dropped_files import BadDrop, DroppedFile, TooLarge, view_dropped
from keyframer.viewer.resources import Resources
from keyframer.viewer.viewed_file import ViewedFile
from tests.cli.running import Run
from tests.viewer.opening import EXAMPLE, FILES, SAMPLES, viewed
from tests.viewer.test_opening import body_of

CUT = SAMPLES / "3ds/cut.3ds"


def json_at(resources: Resources, path: str) -> Any:
    resource = resources.get(path)
    return json.loads(resource[1])


def choice(resources: Resources, ending: str, file: int = 0) -> int:
    """Return the number of the first choice with this extension."""
    saves = json_at(resources, f"/data/{file}/scene")["saves"]
    return int(next(each["number"] for each in saves if each["ending"] == ending))


def saved(resources: Resources, ending: str, file: int = 0) -> tuple[str, bytes, Any]:
    """Return name, content and losses of a saved file."""
    number = choice(resources, ending, file)
    report, content = json_at(resources, f"/data/{file}/report/{number}"), resources.get(f"/data/{file}/save/{number}")
    assert content[0] == "application/octet-stream"
    assert report["size"] == len(content[1])
    return report["name"], content[1], report["losses"]


def test_model_is_that_of_the_convert_command(run: Run, tmp_path: Path) -> None:
    name, data, losses = saved(Resources(viewed(EXAMPLE)), ".glb")
    assert name == "windmill.glb"
    done = run("convert", EXAMPLE, tmp_path / "windmill.glb", "--report", tmp_path / "losses.json")
    assert done.code == 0
    assert data == (tmp_path / "windmill.glb").read_bytes()
    (wanted,) = json.loads((tmp_path / "losses.json").read_text())["files"]
    assert sum(each["count"] for each in losses["losses"]) == len(
        [loss for loss in wanted["losses"] if loss["outcome"] != "exact"]
    )


@pytest.mark.parametrize("path", FILES[:-1], ids=lambda path: path.name)
def test_file_saved_in_its_own_format_is_the_same_file(path: Path) -> None:
    """If several formats share the extension, one of the choices is that of the file."""
    resources = Resources(viewed(path))
    saves = json_at(resources, "/data/0/scene")["saves"]
    contents = []
    for each in saves:
        if each["ending"] == path.suffix:
            try:
                content = resources.get(f"/data/0/save/{each['number']}")
            except CannotWrite:
                continue
            contents.append(content[1])
    assert path.read_bytes() in contents


def test_every_format_that_can_be_written_is_offered() -> None:
    saves = json_at(Resources(viewed(EXAMPLE)), "/data/0/scene")["saves"]
    wanted = {(each.title, each.extension(None)) for each in EXPORTERS if each.takes_any_scene}
    assert wanted <= {(each["title"], each["ending"]) for each in saves}
    assert [each["ending"] for each in saves][:2] == [".glb", ".gltf"]
    assert [each["ending"] for each in saves][-2:] == [".json", ".csv"]


def test_several_files_become_one_archive() -> None:
    name, data, _ = saved(Resources(viewed(EXAMPLE)), ".gltf")
    assert name == "windmill.gltf.zip"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        root = json.loads(archive.read("windmill.gltf"))
        assert len(archive.read(root["buffers"][0]["uri"])) == root["buffers"][0]["byteLength"]
    assert "windmill.gltf" in names


def test_text_is_that_of_the_dump_command_and_table_that_of_the_sample_command(run: Run) -> None:
    resources = Resources(viewed(EXAMPLE))
    assert saved(resources, ".json")[1].decode() == run("dump", EXAMPLE).out
    name, data, losses = saved(resources, ".csv")
    assert (name, losses) == ("windmill.csv", None)
    assert data.decode() == run("sample", EXAMPLE, "--format", "csv").out
    assert len(list(csv.reader(io.StringIO(data.decode())))) > 100


def test_saving_again_and_again_stays_within_the_limits() -> None:
    """Every save has a budget of its own; the tracks of the windmill need 30 keys in this format."""
    (file,) = view_dropped([DroppedFile("a.3ds", EXAMPLE.read_bytes())], Limits(keys=2_000))
    resources = Resources([file])
    for _ in range(3):
        for ending in (".u3d", ".glb"):
            saved(resources, ending)


@pytest.mark.parametrize("path", ["/data/0/save/999", "/data/1/save/0", "/data/0/report/999", "/data/0/save"])
def test_unknown_choices_are_not_found(path: str) -> None:
    assert Resources(viewed(EXAMPLE)).get(path) is None


def test_file_without_a_scene_is_saved_only_as_text() -> None:
    resources = Resources(viewed(CUT))
    assert json_at(resources, "/data/0/scene")["failure"] is not None
    assert [each["ending"] for each in json_at(resources, "/data/0/scene")["saves"]] == [".json"]
    assert resources.get("/data/0/save/0") is None


@pytest.mark.parametrize("name", ["../../x.3ds", "a\0b.3ds", "\u202e.3ds", ".3ds", "x" * 500 + ".3ds", "con?.3ds"])
def test_names_of_saved_files_are_safe(name: str) -> None:
    (file,) = view_dropped([DroppedFile(name, EXAMPLE.read_bytes())], Limits())
    stem, ending = saved(Resources([file]), ".csv")[0].rsplit(".", 1)
    assert ending == "csv"
    assert 0 < len(stem) <= 80
    assert not set(stem) & set("/\\\0?\u202e")


def test_recovered_file_is_that_of_salvage() -> None:
    resources = Resources(viewed(CUT))
    answer = json.loads(resources.post("/recover/0", b""))
    assert answer["opened"] == [1]
    assert answer["files"][1]["name"].endswith("cut.3ds (recovered)")
    scene = json_at(resources, "/data/1/scene")
    wanted = keyframer.load(CUT, salvage=True)
    assert scene["failure"] is None
    assert scene["verdict"] == "damaged"
    assert len(scene["nodes"]) == len(wanted.nodes) > 0
    losses = saved(resources, ".glb", 1)[2]
    assert "READING_LEFT_OUT:salvage" in {item["code"] for each in losses["losses"] for item in each["listed"]}
    assert losses["losses"][0]["words"] == "lost"


def test_nothing_to_recover() -> None:
    resources = Resources(view_dropped([DroppedFile("a.3ds", b"text")], Limits()))
    with pytest.raises(keyframer.FormatError):
        resources.post("/recover/0", b"")
    with pytest.raises(BadDrop):
        resources.post("/recover/7", b"")
    assert len(resources.files) == 1


def zipped(*files: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return stream.getvalue()


def test_zip_archive_stands_for_its_members() -> None:
    archive = zipped(("models/", b""), ("models/mill.3ds", EXAMPLE.read_bytes()), ("readme.txt", b"old"))
    (file,) = view_dropped([DroppedFile("all.zip", archive)], Limits())
    assert file.name == "all.zip/models/mill.3ds"
    assert file.loaded.data == EXAMPLE.read_bytes()


@pytest.mark.parametrize("damage", ["cut", "bomb"])
def test_bad_archives_are_refused_in_one_line(damage: str) -> None:
    archive = zipped(("a.3ds", bytes(1 << 22)))
    data = archive[:-30] if damage == "cut" else archive
    with pytest.raises(BadDrop) as error:
        view_dropped([DroppedFile("all.zip", data)], Limits(file_size=1 << 20 if damage == "bomb" else 1 << 30))
    assert str(error.value).startswith("too large" if damage == "bomb" else "all.zip: ")
    assert "\n" not in str(error.value)


def test_room_for_opened_files_is_limited() -> None:
    data = EXAMPLE.read_bytes()
    resources = Resources([], Limits(file_size=2 * len(data)))
    for _ in range(2):
        resources.post("/open", body_of(("a.3ds", data)))
    with pytest.raises(TooLarge):
        resources.post("/open", body_of(("a.3ds", data)))
    assert len(resources.files) == 2


def test_files_that_need_too_much_memory_give_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: ViewedFile) -> bytes:
        raise MemoryError

    data = EXAMPLE.read_bytes()
    resources = Resources([], Limits(file_size=4 * len(data)))
    for _ in range(2):
        resources.post("/open", body_of(("a.3ds", data), ("b.3ds", data)))
    resources.post("/recover/1", b"")
    assert resources.room == 0
    with monkeypatch.context() as patch:
        patch.setattr(ViewedFile, "model", fail)
        with pytest.raises(MemoryError):
            resources.get("/data/0/model")
    assert resources.room == 2 * len(data)
    for number, is_closed in enumerate([True, True, False, False, True]):
        content = resources.get(f"/data/{number}/scene")
        assert (b"there is not enough memory" in content[1]) is is_closed
    for path in ("/close/3", "/close/3", "/data/9/scene"):  # a new worker is told what the last one could not hold
        resources.post(path, b"") if "close" in path else resources.get(path)
    assert resources.room == 4 * len(data)
    resources.post("/open", body_of(("a.3ds", data)))
    assert len(resources.files) == 6
