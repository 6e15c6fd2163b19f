"""Shapes and lofts: those of a real project, which is public domain (`tests/truth`), and those of our samples."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import keyframer
from keyframer.cli import main
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import BRIDGE
from tests.building.files import chunk
from tests.samples import FOLDER

REAL = Path(__file__).parents[2] / "truth/secondreality/U2A.PRJ"


def sections() -> dict[int, bytes]:
    """The chunks of the project by their ids, found by their lengths alone."""
    data, at, found = REAL.read_bytes(), 6, {}
    while at < len(data):
        number, length = struct.unpack_from("<HI", data, at)
        found[number] = data[at : at + length]
        at += length
    return found


def table(data: bytes | Path) -> list[tuple[object, ...]]:
    """The table of shapes that `info` shows."""
    document = keyframer.read(data) if isinstance(data, Path) else keyframer.decode(data)
    tables = BRIDGE.summarise(document)
    (found,) = (table for table in tables if table.name == "shapes")
    return [tuple(row) for row in found.rows]


def test_real_shapes_are_closed_rectangles() -> None:
    """The city of the demo was drawn as rectangles on the grid: vertices 38 bytes apart, with straight sides."""
    shaper = sections()[0x2D2D]
    document = keyframer.decode(shaper)
    assert keyframer.encode(document) == shaper
    assert not list(document.issues)
    polygons = list(document.find(r.Polygon2D))
    assert len(polygons) == 29
    for polygon in polygons:
        (a, b, c, d) = (struct.unpack_from("<2f", shaper, polygon.offset + 8 + 38 * corner) for corner in range(4))
        assert polygon.vertices["point"][:, :2].tolist() == [list(corner) for corner in (a, b, c, d)]
        assert (a[1], b[0], c[1], d[0]) == (b[1], c[0], d[1], a[0])
        assert all(value % 10 == 0 for corner in (a, b, c, d) for value in corner)
        assert polygon.vertices["flags"].tolist() == [0x300, 0x100, 0x100, 0x103]
    assert table(shaper) == [("polygon", None, 1, 1, 4, True)] * 29


def test_a_real_loft() -> None:
    lofter = sections()[0x2D3D]
    document = keyframer.decode(lofter)
    assert keyframer.encode(document) == lofter
    assert not list(document.issues)
    assert table(lofter) == [("path", None, 1, 0, 2, True), ("shape", 0, 1, 1, 8, True)]
    path = document.first(r.LoftPath)
    assert path is not None
    assert path.vertices["point"].tolist() == [[0, 0, 0], [0, 2200, 0]]
    twist = document.first(r.TwistDeformation)
    assert twist is not None
    assert {type(part).__name__ for part in twist.children} == {"DeformationX", "DeformationLimit"}
    assert twist.children[0].vertices[:, :2].tolist() == [[180, 0], [180, 360]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("number", "pronom"), [(0x2D2D, "x-fmt/102"), (0x2D3D, "fmt/1830")])
def test_real_sections_are_recognised_as_files(number: int, pronom: str) -> None:
    data = sections()[number]
    match = keyframer.detect(data)
    assert match.format is not None
    assert (match.format.name, match.score, match.format.pronom_of(data)) == ("3ds", 1.0, pronom)


def test_samples_are_listed() -> None:
    assert table(FOLDER / "3ds/shapes.shp") == [("polygon", None, 1, 1, 3, True), ("polygon", None, 1, 0, 2, False)]
    assert table(FOLDER / "3ds/loft.lft") == [
        ("path", None, 1, 0, 2, True),
        ("shape", 0, 1, 1, 4, True),
        ("shape", 6, 2, 2, 6, True),
    ]


def test_the_unit_of_a_project_is_that_of_its_editor() -> None:
    """The shaper and the lofter of a project have units of their own, before that of the editor."""

    def unit(value: float) -> bytes:
        return chunk(0x0100, struct.pack("<f", value))

    data = chunk(
        0xC23D,
        chunk(0x0002, struct.pack("<I", 4)),
        chunk(0x2D2D, unit(2)),
        chunk(0x2D3D, unit(3)),
        chunk(0x3D3D, unit(4)),
    )
    tables = BRIDGE.summarise(keyframer.decode(data))
    assert ("master scale", 4.0) in [tuple(row) for row in next(iter(tables)).rows]
    assert keyframer.load(data).space.metres_per_unit == pytest.approx(4 * 0.0254)


def test_non_finite_points_are_reported() -> None:
    data = (FOLDER / "3ds/shapes.shp").read_bytes()
    at = data.index(struct.pack("<2f", 1, 2))
    issues = keyframer.check(data[:at] + struct.pack("<f", float("nan")) + data[at + 4 :]).issues
    assert [(issue.code, issue.path) for issue in issues] == [("DATA_NON_FINITE", "/2d2d/5000[0]/vertices[2]")]


@pytest.mark.parametrize(
    ("target", "words"), [("x.glb", "nothing lost; kept as notes: all content"), ("x.usda", "lost: all content")]
)
def test_conversion_of_curves_alone_says_that_nothing_is_visible(target: str, words: str, tmp_path: Path) -> None:
    report = keyframer.convert(FOLDER / "3ds/loft.lft", tmp_path / target)
    assert report.summary() == words
    assert [loss.type.code for loss in report.losses].count("SCENE_EMPTY") == 1
    assert "SCENE_EMPTY" not in keyframer.convert(FOLDER / "3ds/loft.lft", tmp_path / "same.lft").counts()


def test_summary_counts_curves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(FOLDER / "3ds/loft.lft")]) == 0
    assert re.search(r"^  shapes +3$", capsys.readouterr().out, re.MULTILINE)
