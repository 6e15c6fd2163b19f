"""``keyframer formats``: the list is generated from the code."""

from __future__ import annotations

import csv
import io
import json

from keyframer.formats import FORMATS
from tests.cli.running import Run, check_schema


def test_every_format_is_listed_in_every_style(run: Run) -> None:
    report = run("formats", "--format", "json").json()
    check_schema("formats", report)
    assert [row["id"] for row in report["formats"]] == [*(known.name for known in FORMATS), "gltf", "mvr", "gdtf"]
    lines = run("formats", "--format", "jsonl").out.splitlines()
    for line in lines:
        check_schema("formats", json.loads(line))
    rows = list(csv.DictReader(io.StringIO(run("formats", "--format", "csv").out)))
    assert len(lines) == len(rows) == len(FORMATS) + 3
    for style in ("pretty", "md"):
        out = run("formats", "--format", style).out
        assert all(known.name in out for known in FORMATS)


def test_listed_abilities_match_the_formats(run: Run) -> None:
    *listed, gltf, show, fixture = run("formats", "--format", "json").json()["formats"]
    assert (gltf["id"], gltf["can"], gltf["extensions"]) == ("gltf", ["scene", "save"], [".glb", ".gltf"])
    assert (show["id"], show["can"]) == ("mvr", ["scene", "rewrite"])  # a scene from elsewhere cannot become a show
    assert (fixture["id"], fixture["can"]) == ("gdtf", ["scene", "rewrite"])
    for row, known in zip(listed, FORMATS, strict=True):
        assert {"read", "write", "text"} <= set(row["can"])
        assert ("save" in row["can"]) == (known.bridge().writer() is not None)
        assert ("scene" in row["can"]) == (known.bridge() is not None)
        assert ("info" in row["can"]) == bool(known.tables)
        assert row["records"] == len(known.record_types())
        assert row["extensions"] == list(known.extensions)
