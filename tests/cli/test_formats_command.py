"""``keyframer formats``: the list is generated from the code."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from keyframer.formats import FORMATS
from tests.cli.running import Run, check_schema


def test_every_format_is_listed_in_every_style(run: Run) -> None:
    report = run("formats", "--format", "json").json()
    check_schema("formats", report)
    assert [row["id"] for row in report["formats"]] == [
        *(known.name for known in FORMATS),
        "gltf",
        "usd",
        "bvh",
        "mvr",
        "gdtf",
    ]
    lines = run("formats", "--format", "jsonl").out.splitlines()
    for line in lines:
        check_schema("formats", json.loads(line))
    rows = list(csv.DictReader(io.StringIO(run("formats", "--format", "csv").out)))
    assert len(lines) == len(rows) == len(FORMATS) + 5
    for style in ("pretty", "md"):
        out = run("formats", "--format", style).out
        assert all(known.name in out for known in FORMATS)


def test_listed_abilities_match_the_formats(run: Run) -> None:
    *listed, gltf, usd, bvh, show, fixture = run("formats", "--format", "json").json()["formats"]
    assert (gltf["id"], gltf["can"], gltf["extensions"]) == ("gltf", ["scene", "save"], [".glb", ".gltf"])
    assert (usd["id"], usd["can"]) == ("usd", ["save"])
    assert (bvh["id"], bvh["can"]) == ("bvh", ["save"])
    assert (show["id"], show["can"]) == ("mvr", ["scene", "rewrite"])  # a scene from elsewhere cannot become a show
    assert (fixture["id"], fixture["can"]) == ("gdtf", ["scene", "rewrite"])
    for row, known in zip(listed, FORMATS, strict=True):
        assert {"read", "write", "text"} <= set(row["can"])
        assert ("save" in row["can"]) == (known.bridge().writer() is not None)
        assert ("scene" in row["can"]) == (known.bridge() is not None)
        assert ("info" in row["can"]) == bool(known.tables)
        assert row["records"] == len(known.record_types())
        assert row["extensions"] == list(known.extensions)


def test_descriptions_for_other_programs_are_written_to_folders(run: Run, tmp_path: Path) -> None:
    outcome = run("formats", "--magic", tmp_path / "one", "--kaitai", tmp_path / "two", "--pronom", tmp_path / "one")
    assert outcome.code == 0
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert sorted(outcome.out.splitlines()) == [str(path) for path in written]
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"keyframer.magic", "keyframer-pronom.xml"}
    assert "threeds.ksy" in {path.name for path in (tmp_path / "two").iterdir()}


def test_descriptions_do_not_overwrite_files_unless_forced(run: Run, tmp_path: Path) -> None:
    existing = tmp_path / "keyframer.magic"
    existing.write_text("mine")
    outcome = run("formats", "--magic", tmp_path, "--pronom", tmp_path)
    assert outcome.code == 3
    assert outcome.err == f"keyframer: {existing} exists (-f overwrites it)\n"
    assert existing.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [existing]
    assert run("formats", "--magic", tmp_path, "-f").code == 0
    assert existing.read_text().startswith("# Signatures")


def test_a_folder_that_cannot_be_made_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = run("formats", "--hexpat", tmp_path / "file" / "inside")
    assert outcome.code == 3
    assert outcome.err == f"keyframer: {tmp_path / 'file' / 'inside'} cannot be written: Not a directory\n"
