"""``keyframer info``: tables of the document, in every style, for every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.inspecting import TABLES as TITLES
from keyframer.inspecting import table_names
from tests.cli.running import EXAMPLE, STYLES, Run, check_schema
from tests.corpus import CORPUS, needs_corpus
from tests.samples import all_samples

TABLES = ["overview", "objects", "maps", "nodes", "tracks", "records"]
TABLES += ["scene", "tree", "curves", "meshes", "materials", "images", "textures", "cameras", "lights"]  # what it means


def test_tables_of_a_scene(run: Run) -> None:
    report = run("info", "--format", "json", EXAMPLE).json()
    check_schema("info", report)
    tables = report["files"][0]["tables"]
    assert list(tables) == TABLES
    overview = {row["what"]: row["value"] for row in tables["overview"]}
    assert overview["version"] == 3
    assert overview["written by"] == "WINDMILL"
    assert overview["active segment"] == "0..100"
    assert tables["objects"][0] == {
        "name": "Tower", "kind": "mesh", "vertices": 78, "faces": 90, "uv": 78, "materials": "STONE",
    }  # fmt: skip
    assert tables["maps"] == [{"material": "STONE", "slot": "TextureMap1", "file": "STONE.PNG"}]
    assert [(row["name"], row["depth"]) for row in tables["nodes"][:4]] == [
        ("Tower", 0), ("$$$DUMMY.Rotor", 1), ("Sail1", 2), ("Sail2", 2),
    ]  # fmt: skip
    turn = next(row for row in tables["tracks"] if row["node"] == "$$$DUMMY.Rotor" and row["track"] == "rotation")
    assert (turn["keys"], turn["first"], turn["last"], turn["wrap"]) == (3, 0, 60, "repeat")
    assert {"segment": "4110", "record": "PointArray", "count": 6} in tables["records"]


def test_unknown_chunks_raw_records_and_trailing_bytes_are_listed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.3ds"
    data = bytearray(EXAMPLE.read_bytes())
    data[0x16:0x18] = b"\x99\x99"  # the mesh version becomes an unknown chunk
    path.write_bytes(data + b"behind the end")
    tables = run("info", "--format", "json", path).json()["files"][0]["tables"]
    assert tables["raw"][0] == {
        "path": "/4d4d/3d3d/9999",
        "offset": 0x16,
        "bytes": 4,
        "what": "RawChunk: STRUCT_UNKNOWN_CHUNK",
    }
    assert tables["raw"][-1]["bytes"] == 14
    assert {issue["code"] for issue in tables["issues"]} == {"STRUCT_UNKNOWN_CHUNK", "STRUCT_TRAILING_DATA"}
    assert "  0x16 " in run("info", "--all", path).out


def test_plain_text_is_aligned_and_repeatable(run: Run) -> None:
    everything = run("info", "--all", EXAMPLE).out
    assert everything == run("info", "--all", EXAMPLE).out
    assert "\n  Tower          object   0  Tower\n" in everything
    assert "\n  Tower             object          0               3     3  0..0\n" in everything
    assert "\x1b" not in everything


def test_selected_tables(run: Run) -> None:
    out = run("info", "--table", "nodes", EXAMPLE).out
    assert "Nodes (12)" in out
    assert "Objects" not in out
    assert (
        run("info", "--table", "nodes,objects", EXAMPLE).out
        == run("info", "--table", "nodes", EXAMPLE, "--table", "objects").out
    )


def test_unknown_and_missing_tables_are_reported(run: Run) -> None:
    ran = run("info", "--table", "objekts", EXAMPLE)
    assert ran.code == 2
    assert "unknown table 'objekts'; did you mean 'objects'?" in ran.err
    ran = run("info", "--table", "skins", EXAMPLE)
    assert ran.code == 0
    assert f"{EXAMPLE}: no table 'skins' (available: overview, objects, " in ran.err
    assert run("batch", "info", EXAMPLE, "-o", "x", "--table", "objekts").code == 2


def test_help_names_the_tables(run: Run) -> None:
    words = run("info", "--help").out
    assert all(name in words for name in table_names())


@pytest.mark.parametrize(("name", "path"), all_samples(), ids=lambda value: getattr(value, "name", value))
def test_every_table_is_declared(run: Run, name: str, path: Path) -> None:
    tables = run("info", "--format", "json", path).json()["files"][0]["tables"]
    assert set(tables) <= {*TITLES, *format_by_name(name).tables}


def test_materials_have_the_values_of_the_file(run: Run) -> None:
    """The percentages and colours that the records of the example hold."""
    rows = run("info", "--table", "materials", "--format", "json", EXAMPLE).json()["files"][0]["tables"]["materials"]
    assert rows[0] == {
        "material": "STONE", "diffuse": "0.588 0.549 0.51", "ambient": "0.196 0.18 0.169",
        "specular": "0.902 0.902 0.902", "shininess": 0.25, "shininess strength": None, "transparency": 0.0,
        "self-illumination": 0.0, "two-sided": False, "shading": "phong", "maps": "texture1 STONE.PNG",
    }  # fmt: skip
    assert [row["material"] for row in rows] == ["STONE", "CLOTH", "BRASS"]


def test_materials_state_transparency_and_sides(run: Run, tmp_path: Path) -> None:
    glass = keyframer.Material("Glass", diffuse=(0.25, 0.5, 1.0), transparency=0.75, two_sided=True)
    box = keyframer.Mesh("Box", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], face_materials=[0])
    scene = keyframer.Scene(nodes=[keyframer.Node("Box", mesh=0)], meshes=[box], materials=[glass])
    keyframer.save(scene, tmp_path / "glass.3ds")
    out = run("info", "--table", "materials", "--format", "csv", tmp_path / "glass.3ds").out
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["diffuse"] == "0.25 0.5 1"
    assert (row["transparency"], row["two-sided"], row["maps"]) == ("0.75", "yes", "")


def test_one_table_as_csv_has_its_own_columns_for_all_files(run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "copy.3ds"
    copy.write_bytes(EXAMPLE.read_bytes())
    rows = list(csv.DictReader(io.StringIO(run("info", "--table", "nodes", "--format", "csv", EXAMPLE, copy).out)))
    assert [row["file"] for row in rows] == [str(EXAMPLE)] * 12 + [str(copy)] * 12
    assert rows[0] == {**rows[12], "file": str(EXAMPLE)}
    assert rows[0]["name"] == "Tower"
    assert rows[0]["kind"] == "object"


class TestSummary:
    def test_summary_fits_one_screen(self, run: Run) -> None:
        assert run("info", EXAMPLE).out.splitlines() == [
            str(EXAMPLE),
            "  format      3D Studio (3ds), version 3",
            "  size        7,948 bytes",
            "  written by  WINDMILL",
            "  length      3.333 s: frames 0 to 100, 30 per second",
            "  nodes       12, 5 of them animated",
            "  meshes      6 with 150 triangles",
            "  cameras     1",
            "  lights      2",
            "  materials   3",
            "  images      1, 1 missing: STONE.PNG",
            "  check       clean",
        ]

    def test_verdict_matches_check(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "odd.3ds"
        path.write_bytes(EXAMPLE.read_bytes() + b"behind the end")
        checked = run("check", "--format", "json", path).json()["files"][0]
        summary = run("info", "--format", "json", path).json()["files"][0]["summary"]
        assert summary["verdict"] == checked["verdict"] == "readable with problems"
        assert (summary["errors"], summary["warnings"]) == (checked["errors"], checked["warnings"]) != (0, 0)
        assert f"check       readable with problems ({checked['warnings']} warning" in run("info", path).out

    def test_csv_has_one_row_for_each_file(self, run: Run, tmp_path: Path) -> None:
        target = tmp_path / "a.glb"
        assert run("convert", EXAMPLE, target, "--no-textures").code == 0
        out = run("info", "--format", "csv", EXAMPLE, target, tmp_path / "none.3ds").out
        rows = list(csv.DictReader(io.StringIO(out)))
        assert [row["file"] for row in rows] == [str(EXAMPLE), str(target), str(tmp_path / "none.3ds")]
        first, second, third = rows
        assert (first["format"], first["nodes"], first["animated_nodes"], first["triangles"]) == (
            "3ds",
            "12",
            "5",
            "150",
        )
        assert (first["first_frame"], first["last_frame"], first["frames_per_second"]) == ("0", "100", "30")
        assert (first["images"], first["missing_images"], first["verdict"]) == ("1", "1", "clean")
        assert (second["format"], second["triangles"]) == ("gltf", "150")
        assert third["format"] == ""
        assert "no such file" in third["error"].lower()

    @pytest.mark.parametrize(("name", "path"), all_samples(), ids=lambda value: getattr(value, "name", value))
    def test_counts_match_the_scene(self, run: Run, name: str, path: Path) -> None:
        summary = run("info", "--format", "json", path).json()["files"][0]["summary"]
        scene = keyframer.load(path, salvage=True)
        assert summary["format"] == name
        assert summary["nodes"] == len(scene.nodes)
        assert summary["meshes"] == len(scene.meshes)
        assert summary["triangles"] == sum(len(mesh.corners) for mesh in scene.meshes)
        assert summary["size"] == path.stat().st_size

    def test_batch_has_the_same_summary(self, run: Run, tmp_path: Path) -> None:
        assert run("batch", "info", EXAMPLE, "-o", tmp_path, "-j", "1").code == 0
        (path,) = tmp_path.rglob("*.json")
        report = json.loads(path.read_text())
        check_schema("info", report)
        single = run("info", "--format", "json", EXAMPLE).json()["files"][0]
        assert report["files"][0]["summary"] == single["summary"]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_words_are_not_broken_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    import sys

    plain = run("info", "--all", EXAMPLE).out
    words = set(plain.split())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in ([], ["--all"]):
        out = run("info", *arguments, EXAMPLE).out.replace("\x1b[1m", "").replace("\x1b[0m", "")
        lines = out.replace(str(EXAMPLE), "").splitlines()
        if columns >= 80:
            assert max(map(len, lines)) <= columns
        if arguments:
            assert set(out.split()) <= words


def test_csv_and_markdown(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("info", "--all", "--format", "csv", EXAMPLE).out)))
    assert {row["table"] for row in rows} == set(TABLES)
    assert {"file": str(EXAMPLE), "table": "objects", "row": "0", "column": "vertices", "value": "78"} in rows
    assert "| length | 3.333 s" in run("info", "--format", "md", EXAMPLE).out
    out = run("info", "--all", "--format", "md", EXAMPLE).out
    assert "### Objects" in out
    assert "| Tower | mesh | 78 | 90 | 78 | STONE |" in out


@pytest.mark.parametrize("style", STYLES)
def test_unreadable_file_is_one_record(run: Run, tmp_path: Path, style: str) -> None:
    bad = tmp_path / "bad.3ds"
    bad.write_bytes(b"rubbish")
    ran = run("info", "--format", style, bad, EXAMPLE)
    assert ran.code == 3
    assert ran.err == f"keyframer: {bad}: IO_UNRECOGNISED at 0x0 in /: this is a text file\n"
    assert "3D Studio" in ran.out
    assert style == "pretty" or "IO_UNRECOGNISED" in ran.out.replace("\\_", "_")


def test_failures_are_records_in_json(run: Run, tmp_path: Path) -> None:
    report = run("info", "--format", "json", tmp_path / "none", EXAMPLE).json()
    check_schema("info", report)
    assert report["files"][0]["error"]["code"] == "IO_READ_FAILED"
    lines = run("info", "--format", "jsonl", tmp_path / "none", EXAMPLE).out.splitlines()
    for line in lines:
        check_schema("info", json.loads(line))
    assert len(lines) == 2


def test_format_can_be_given(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "scene"
    path.write_bytes(EXAMPLE.read_bytes())
    assert run("info", "--from", "3ds", path).code == 0
    assert run("info", "--from", "nothing", path).code == 2


def test_code_pages(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "names.3ds"
    path.write_bytes(EXAMPLE.read_bytes().replace(b"Tower\0", b"T\x94wer\0"))
    assert "Töwer" in run("info", "--all", "--encoding", "cp437", path).out
    assert "T”wer" in run("info", "--all", path).out
    assert run("info", "--encoding", "klingon", path).code == 2


def test_colours_are_shown_only_on_terminals_that_want_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    plain = run("info", EXAMPLE).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run("info", "--no-color", EXAMPLE).out == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("info", EXAMPLE).out == plain
    monkeypatch.delenv("NO_COLOR")
    pretty = run("info", EXAMPLE).out
    assert pretty != plain
    assert "3D Studio" in pretty


@needs_corpus
def test_raw_records_of_a_real_file(run: Run) -> None:
    tables = run("info", "--format", "json", CORPUS / "3ds" / "assimp__assimp__fels.3ds").json()["files"][0]["tables"]
    assert any(row["bytes"] == 756 for row in tables["raw"])
