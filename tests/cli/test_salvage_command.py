"""``keyframer salvage``: the clean file, its map and its page, files inside other files, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLE, Run
from tests.samples import FOLDER


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Write the example with a sector of zeros."""
    path = tmp_path / "damaged.3ds"
    data = EXAMPLE.read_bytes()
    path.write_bytes(data[:1024] + bytes(512) + data[1536:])
    return path


def test_clean_file_map_and_page(run: Run, damaged: Path, tmp_path: Path) -> None:
    source, clean = damaged.read_bytes(), tmp_path / "clean.3ds"
    ran = run("salvage", damaged, "-o", clean, "--map", tmp_path / "map.json", "--page", tmp_path / "map.html")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[0].startswith(f"keyframer: {damaged}: {len(source)} bytes: ")
    assert damaged.read_bytes() == source
    assert run("check", clean, "--fail-on", "error").code == 0
    found = json.loads((tmp_path / "map.json").read_text())
    assert (found["schema"], found["format"], found["size"]) == ("keyframer.salvage", "3ds", len(source))
    assert sum(found["bytes"].values()) == len(source)
    assert [span["start"] for span in found["spans"][1:]] == [span["end"] for span in found["spans"][:-1]]
    dropped = [span for span in found["spans"] if span["state"] == "dropped"]
    assert any(span["start"] < 1536 and span["end"] > 1024 for span in dropped)
    assert all(span["code"] and span["reason"] for span in dropped)
    page = (tmp_path / "map.html").read_text()
    assert "dropped" in page
    assert '<div class="rows"><table>' in page
    assert ".rows { overflow-x: auto }" in page  # a wide table scrolls inside, also on a narrow screen
    assert "http://" not in page
    assert "https://" not in page
    assert "<script" not in page


def test_names_are_escaped_in_the_page(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "<script>alert(1)<svg>.3ds"
    source.write_bytes(EXAMPLE.read_bytes()[:-1])
    assert run("salvage", source, "-o", tmp_path / "c.3ds", "--page", tmp_path / "map.html").code == 1
    assert "<script>" not in (tmp_path / "map.html").read_text()


def test_good_file_stays_as_it_is(run: Run, tmp_path: Path) -> None:
    ran = run("salvage", EXAMPLE, "-o", tmp_path / "same.3ds")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (tmp_path / "same.3ds").read_bytes() == EXAMPLE.read_bytes()


def test_several_files_need_a_folder_and_suffixes(run: Run, damaged: Path, tmp_path: Path) -> None:
    assert run("salvage", damaged, EXAMPLE, "-o", tmp_path / "out", "--map", "map.json").code == 2
    assert run("salvage", damaged, EXAMPLE, "-o", tmp_path / "out", "--map", ".map.json").code == 1
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["damaged.3ds", "damaged.map.json", "windmill.3ds", "windmill.map.json"]


def test_source_and_existing_files_are_never_replaced(run: Run, damaged: Path, tmp_path: Path) -> None:
    source = damaged.read_bytes()
    assert run("salvage", damaged, "-o", damaged, "-f").code == 3
    assert run("salvage", damaged, "-o", tmp_path / "c.3ds", "--map", damaged, "-f").code == 3
    assert damaged.read_bytes() == source
    (tmp_path / "there.3ds").write_bytes(b"mine")
    assert run("salvage", damaged, "-o", tmp_path / "there.3ds").code == 3
    assert (tmp_path / "there.3ds").read_bytes() == b"mine"


def test_nothing_to_salvage_is_one_line(run: Run, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.3ds"
    nothing.write_bytes(b"\0" * 3000)
    ran = run("salvage", nothing, "-o", tmp_path / "c.3ds")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (3, "", 1)
    assert not (tmp_path / "c.3ds").exists()


def test_carve(run: Run, tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(512) + EXAMPLE.read_bytes() + bytes(700))
    ran = run("salvage", "--carve", image, "-o", tmp_path / "found")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, f"keyframer: {image}: 1 file found")
    assert (tmp_path / "found" / "disk-0x200.3ds").read_bytes() == EXAMPLE.read_bytes()
    assert run("salvage", "--carve", image, "-o", tmp_path / "other", "--map", "m.json").code == 2


@pytest.mark.parametrize(
    "name", ["hale3d/arm-length.mdl", "3ds/library.mli", "3ds/project.prj", "hale3d/wave-length.anim"]
)
def test_carved_files_get_the_extension_of_their_signature(run: Run, tmp_path: Path, name: str) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(512) + (FOLDER / name).read_bytes() + bytes(700))
    assert run("salvage", "--carve", image, "-o", tmp_path / "found").code == 0
    assert [path.suffix for path in (tmp_path / "found").iterdir()] == [Path(name).suffix]
