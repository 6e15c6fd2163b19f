"""Damaged files: a refusal says what could be salvaged; ``--salvage`` reports what it left out, with exit code 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import EXAMPLE, Run


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """Write the first part of the example: five objects, the last without its vertices, and no keyframer section."""
    path = tmp_path / "cut.3ds"
    path.write_bytes(EXAMPLE.read_bytes()[:5160])
    return path


def commands(cut: Path) -> list[list[object]]:
    return [
        ["convert", cut, cut.with_suffix(".glb")],
        ["convert", cut, cut.with_name("anew.3ds")],
        ["thumbnail", cut, "-o", cut.with_suffix(".png")],
        ["sample", cut],
        ["plot", cut, "--motion", "--node", "Tower", "-o", cut.with_suffix(".svg")],
    ]


@pytest.mark.parametrize("number", range(5))
def test_refusal_is_one_line_that_says_what_can_be_salvaged(run: Run, cut: Path, number: int) -> None:
    ran = run(*commands(cut)[number])
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines() == [
        f"keyframer: {cut}: STRUCT_TRUNCATED at 0x2 in /4d4d: expected 7948 bytes, 5160 remaining; "
        "--salvage recovers 5 nodes, 5 meshes, 3 materials"
    ]


@pytest.mark.parametrize("number", range(5))
def test_salvage_reports_what_it_left_out(run: Run, cut: Path, number: int) -> None:
    before = cut.read_bytes()
    ran = run(*commands(cut)[number], "--salvage")
    assert ran.code == 1
    reported = [line for line in ran.err.splitlines() if ": left out: " in line]
    assert [line.split(": left out: ")[1].split(" at ")[0] for line in reported] == [
        "STRUCT_TRUNCATED",
        "STRUCT_COUNT_EXCEEDS_DATA",
    ]
    assert cut.read_bytes() == before


def test_salvage_reports_nothing_for_valid_files(run: Run, tmp_path: Path) -> None:
    ran = run("convert", EXAMPLE, tmp_path / "a.glb", "--salvage")
    assert ran.code == 0
    assert "left out" not in ran.err


def test_salvaged_file_is_clean(run: Run, cut: Path) -> None:
    anew = cut.with_name("anew.3ds")
    assert run("convert", cut, anew, "--salvage").code == 1
    assert run("check", anew).code == 0


def test_many_damaged_parts_are_counted(run: Run, tmp_path: Path) -> None:
    """Every face of a mesh refers to a vertex that does not exist."""
    source = bytearray(EXAMPLE.read_bytes())
    at = source.index(b"\x20\x41") + 6  # 4120: faces of Tower
    count = int.from_bytes(source[at : at + 2], "little")
    for face in range(count):
        source[at + 2 + 8 * face : at + 4 + 8 * face] = b"\xff\xff"
    bad = tmp_path / "bad.3ds"
    bad.write_bytes(source)
    ran = run("convert", bad, tmp_path / "a.glb", "--salvage")
    assert ran.code == 1
    reported = [line for line in ran.err.splitlines() if ": left out: " in line]
    assert len(reported) == 6
    assert reported[-1].endswith(f"left out: {count - 5} more (keyframer check lists them)")
