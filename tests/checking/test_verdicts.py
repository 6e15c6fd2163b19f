"""The verdict: the same everywhere, in agreement with loading and salvage, and no warnings on files that are fine."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import keyframer
from keyframer.checking import VERDICTS
from keyframer.cli import main
from keyframer.exchange.opening import OpenedFile
from keyframer.inspecting.identity import identify
from keyframer.viewer import LoadedFile, ViewedFile
from tests.building import files as w
from tests.golden.make import FOLDER, LIMITS, format_of
from tests.samples import all_samples

GOLDEN = sorted(path for path in FOLDER.glob("*/*") if path.suffix != ".json")
BOX = w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2)))
FILES = {
    "clean": w.editor(BOX),
    "readable with problems": w.editor(BOX) + b"x",
    "damaged": w.editor(w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 9)))),
    "not readable": b"rubbish",
}


def loads(data: bytes, format: str, limits: keyframer.Limits | None, *, salvage: bool) -> bool:
    try:
        keyframer.load(data, format=format, limits=limits, salvage=salvage)
    except keyframer.FormatError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "path"),
    [*((format_of(path), path) for path in GOLDEN), *all_samples()],
    ids=lambda value: f"{value.parent.name}-{value.name}" if isinstance(value, Path) else value,
)
def test_verdict_agrees_with_loading_and_salvage(name: str, path: Path) -> None:
    data, limits = path.read_bytes(), LIMITS.get(path.parent.name)
    verdict = keyframer.check(data, format=name, limits=limits).verdict
    assert (verdict in ("clean", "readable with problems")) == loads(data, name, limits, salvage=False)
    assert (verdict == "not readable") != loads(data, name, limits, salvage=True)


@pytest.mark.parametrize("verdict", FILES)
def test_verdict_is_the_same_everywhere(verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.3ds"
    path.write_bytes(FILES[verdict])
    assert keyframer.check(path).verdict == verdict
    main(["check", str(path)])
    line = capsys.readouterr().out.splitlines()[0].removeprefix(f"{path}: ")
    assert line.partition(" (")[0] == verdict
    main(["batch", "check", str(path), "-o", str(tmp_path / "checked"), "-q"])
    (batch,) = (tmp_path / "checked").glob("*.json")
    (report,) = json.loads(batch.read_text())["files"]
    assert report["verdict"] == verdict
    assert main(["info", str(path)]) == (3 if verdict == "not readable" else 0)
    shown = capsys.readouterr().out
    main(["info", "--format", "csv", str(path)])
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["verdict"] == verdict
    if verdict == "not readable":
        return
    assert f"check      {line}\n" in shown
    main(["info", "--table", "overview", "--format", "json", str(path)])
    overview = json.loads(capsys.readouterr().out)["files"][0]["tables"]["overview"]
    assert {"what": "check", "value": line} in overview
    main(["batch", "info", str(path), "-o", str(tmp_path / "info"), "-q"])
    (info,) = (tmp_path / "info").glob("*.json")
    (record,) = json.loads(info.read_text())["files"]
    assert record["summary"]["verdict"] == verdict
    assert record["tables"].get("issues", []) == [
        {name: issue[name] for name in ("severity", "code", "offset", "path", "message")} for issue in report["issues"]
    ]


@pytest.mark.parametrize("verdict", FILES)
def test_verdict_in_the_viewer(verdict: str) -> None:
    opened = OpenedFile(FILES[verdict], name="a.3ds")

    def load() -> LoadedFile:
        loaded = LoadedFile(opened)
        try:
            loaded.scene = opened.scene()
        except keyframer.FormatError as error:
            loaded.failure = error
        return loaded

    assert json.loads(ViewedFile("a.3ds", load).scene())["verdict"] == verdict


def moved_box(*keys: tuple[int, float], matrix: bytes = b"", pivot: float = 0) -> bytes:
    """A box with keys of its position along X, a matrix of the mesh and a moved pivot."""
    track = w.track(0xB020, *(w.key(time, x, 0, 0) for time, x in keys))
    node = w.node(b"Box", 0, -1, w.chunk(0xB013, w.floats(pivot, 0, 0)), track)
    mesh = w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2)), matrix)
    return w.main(w.chunk(0x3D3D, mesh), w.chunk(0xB000, node))


STRETCHED = w.chunk(0x4160, w.floats(2, 0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 3))


def position(flags: int) -> bytes:
    return w.node(b"Box", 0, -1, w.track(0xB020, w.key(0, 0, 0, 0), flags=flags))


@pytest.mark.parametrize(
    ("data", "infos"),
    [
        pytest.param(w.main(w.chunk(0x3D3D, BOX), w.chunk(0xB000, position(0x440))), {}, id="track bit 10"),
        pytest.param(w.main(w.chunk(0x3D3D, BOX), w.chunk(0xB000, position(0x840))), {}, id="track bit 11"),
        pytest.param(
            w.editor(w.material(b"a long name of a material"), w.mesh(name=b"Cylinder001")),
            {"SEM_NAME_TOO_LONG": 2},
            id="long names",
        ),
        pytest.param(
            w.main(w.chunk(0x3D3D, BOX), w.chunk(0xB000, w.node(b"Group01", 0), w.node(b"Box", 1, 0))),
            {"LINK_UNRESOLVED_NAME": 1},
            id="a group without an object",
        ),
        pytest.param(
            moved_box((0, 9), (5, 10), matrix=STRETCHED), {"SCENE_REST_POSE": 1}, id="an animated file in another pose"
        ),
        pytest.param(moved_box((0, 0), pivot=3), {"SCENE_REST_POSE": 1}, id="a moved pivot"),
        pytest.param(moved_box((0, 9)), {"SCENE_REST_POSE": 1}, id="vertices in local space"),
    ],
)
def test_usual_files_are_clean(data: bytes, infos: dict[str, int]) -> None:
    report = keyframer.check(data)
    assert report.verdict == "clean"
    assert report.counts == infos


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(w.main(w.chunk(0x3D3D, BOX), w.chunk(0xB000, position(0x1000))), id="track bit 12"),
        pytest.param(w.editor(w.mesh(name=b"x" * 256)), id="a name of 256 bytes"),
        pytest.param(w.main(w.chunk(0x3D3D, BOX), w.chunk(0xB000, w.node(b"Nobody"))), id="a node without an object"),
        pytest.param(moved_box((0, 9), matrix=STRETCHED), id="a lost position"),
    ],
)
def test_unusual_files_are_not_clean(data: bytes) -> None:
    assert keyframer.check(data).verdict == "readable with problems"


@pytest.mark.parametrize("path", sorted((FOLDER / "IO_TEXT_MODE").glob("*.3ds")), ids=lambda path: path.name)
def test_text_mode_damage_is_named_as_by_identify(path: Path) -> None:
    data = path.read_bytes()
    (issue,) = (issue for issue in keyframer.check(path).issues if issue.code == "IO_TEXT_MODE")
    assert issue.message.startswith("damaged by a transfer in text mode: ")
    assert issue.message == identify(data[:4096], len(data), path.name, lambda: data).damage


def test_missing_file_has_no_offset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "info", "identify"):
        main([command, "--format", "json", str(tmp_path / "nothing.3ds")])
        record = json.loads(capsys.readouterr().out)["files"][0]
        (problem,) = record["issues"] if command == "check" else [record["error"]]
        assert (problem["code"], problem["offset"]) == ("IO_READ_FAILED", None)
    error = keyframer.FormatError("IO_READ_FAILED", 0, "/", "no such file")
    assert str(error) == "IO_READ_FAILED: no such file"
    assert str(keyframer.FormatError("STRUCT_SYNTAX", 0, "/", "odd")) == "STRUCT_SYNTAX at 0x0 in /: odd"


def test_schemas_and_the_page_know_the_verdicts() -> None:
    root = Path(__file__).resolve().parents[2]
    for name in ("check", "info"):
        schema = (root / "src/keyframer/inspecting/schemas" / f"{name}.json").read_text("utf-8")
        (listed,) = re.findall(r'"verdict": \{\s*"enum": (\[.*?\])', schema, re.DOTALL)
        assert json.loads(listed) == list(VERDICTS)
    (union,) = re.findall(r"export type Verdict = (.*);", (root / "web/src/types.ts").read_text("utf-8"))
    assert {word.strip('"') for word in union.split(" | ")} == set(VERDICTS)
    style = (root / "web/src/style.css").read_text("utf-8")
    assert all(f".verdict.{verdict.replace(' ', '-')}" in style for verdict in VERDICTS)
