"""``keyframer salvage``: the clean file, its map and its page, files inside other files, and exit codes."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from pathlib import Path

import pytest

import keyframer
from tests.building import files as w
from tests.cli.running import EXAMPLE, Run, check_schema, spawn
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
    check_schema("salvage", found)
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


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--map", "clean.3ds"], "clean.3ds cannot be the clean file and a map"),
        (["--map", "./clean.3ds", "-f"], "clean.3ds cannot be the clean file and a map"),
        (["--map", "m", "--page", "m"], "m cannot be the clean file and a map, or two maps"),
        (["--map", "map.json", "--page", "there.html"], "there.html exists (-f overwrites it)"),
        (["--page", "map.html", "--map", "folder"], "folder is a folder"),
    ],
)
def test_all_outputs_are_written_or_none(
    run: Run, damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.html").write_bytes(b"mine")
    ran = run("salvage", damaged, "-o", "clean.3ds", *more)
    assert (ran.code, len(ran.err.splitlines())) == (3, 1)
    assert line in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.3ds", "folder", "there.html"]


@pytest.mark.parametrize(("option", "begin"), [("--map", "{"), ("--page", "<!doctype html>")])
def test_a_map_on_stdout(
    run: Run, damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, begin: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("salvage", damaged, "-o", "clean.3ds", option, "-")
    assert ran.code == 1
    assert ran.out.startswith(begin)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean.3ds", "damaged.3ds"]
    ran = run("salvage", damaged, "-o", "-", option, "-")
    assert (ran.code, ran.out) == (2, "")
    assert "stdout takes only one of the clean file, the map and the page" in ran.err


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


def test_inputs_of_one_name_do_not_share_carved_files(run: Run, tmp_path: Path) -> None:
    images = [tmp_path / name for name in ("disk.img", "disk.bin", "other/DISK.img")]
    for number, image in enumerate(images):
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(bytes(512) + EXAMPLE.read_bytes() + bytes([number]) * 700)
    out = tmp_path / "found"
    assert run("salvage", "--carve", *images, "-o", out).code == 0
    assert sorted(path.name for path in out.iterdir()) == ["DISK.3-0x200.3ds", "disk-0x200.3ds", "disk.2-0x200.3ds"]


def test_an_existing_file_does_not_stop_the_search(run: Run, tmp_path: Path) -> None:
    image, out = tmp_path / "disk.img", tmp_path / "found"
    image.write_bytes(EXAMPLE.read_bytes() + bytes(512) + (FOLDER / "hale3d/arm-length.mdl").read_bytes())
    out.mkdir()
    (out / "disk-0x0.3ds").write_bytes(b"mine")
    ran = run("salvage", "--carve", image, "-o", out)
    assert (ran.code, ran.err.count("exists (-f overwrites it)")) == (3, 1)
    assert (out / "disk-0x0.3ds").read_bytes() == b"mine"
    assert [path.suffix for path in sorted(out.iterdir())] == [".3ds", ".mdl"]


@pytest.mark.parametrize(
    "name", ["hale3d/arm-length.mdl", "3ds/library.mli", "3ds/project.prj", "hale3d/wave-length.anim"]
)
def test_carved_files_get_the_extension_of_their_signature(run: Run, tmp_path: Path, name: str) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(512) + (FOLDER / name).read_bytes() + bytes(700))
    assert run("salvage", "--carve", image, "-o", tmp_path / "found").code == 0
    assert [path.suffix for path in (tmp_path / "found").iterdir()] == [Path(name).suffix]


def fifteen_objects() -> tuple[bytes, list[int]]:
    """Return a file of 15 objects and their keyframer, and where each object and then each node ends."""
    names = [b"box%02d" % number for number in range(15)]
    objects = [w.mesh(w.points(*[(1.0, 2.0, 3.0)] * 9), w.faces((0, 1, 2)), name=name) for name in names]
    nodes = [w.node(name, number, -1, w.track(0xB020, w.key(0, 1, 2, 3))) for number, name in enumerate(names)]
    data = w.main(w.chunk(0x3D3D, *objects), w.chunk(0xB000, *nodes))
    return data, [data.index(part) + len(part) for part in (*objects, *nodes)]


@pytest.mark.parametrize(
    ("whole", "words"),
    [
        (7, "no keyframer, 7 objects left"),
        (14, "no keyframer, 14 objects left"),
        (15 + 4, "motion left for 4 of 15 objects"),
    ],
)
def test_missing_end_is_told_and_grey_in_the_map(run: Run, tmp_path: Path, whole: int, words: str) -> None:
    """The file states its length. The part behind its end is as wide in the map as it was in the file."""
    data, ends = fifteen_objects()
    path, size = tmp_path / "cut.3ds", ends[whole - 1] + 3
    path.write_bytes(data[:size])
    ran = run("salvage", path, "-o", tmp_path / "c.3ds", "--map", tmp_path / "m.json", "--page", tmp_path / "m.html")
    line = f"{round(100 - 100 * size / len(data))} % is missing: {words}"
    assert ran.err.splitlines()[0] == f"keyframer: {path}: {line}"
    found = json.loads((tmp_path / "m.json").read_text())
    check_schema("salvage", found)
    assert found["missing"] == {"size": len(data) - size, "parts": words}
    page = (tmp_path / "m.html").read_text()
    assert line in page
    (grey,) = re.findall(r'<rect x="(\d+)" width="(\d+)" height="1" fill="#b4b4b4">', page)
    assert abs(int(grey[0]) - 1000 * size / len(data)) <= 2
    assert int(grey[0]) + int(grey[1]) == 1000
    assert run("check", tmp_path / "c.3ds").code == 0


def test_lost_objects_are_counted_by_their_nodes(run: Run, tmp_path: Path) -> None:
    """The keyframer is whole, and its last node is cut: 12 of the objects that it names are not in the file."""
    data, ends = fifteen_objects()
    objects = data[22 : ends[14]]
    few = data[22 : ends[2]]
    cut = data.replace(objects, few)[:-4]
    path = tmp_path / "few.3ds"
    path.write_bytes(
        cut[:2] + (len(cut) + 4).to_bytes(4, "little") + cut[6:18] + (6 + len(few)).to_bytes(4, "little") + cut[22:]
    )
    assert "3 of 15 objects left" in run("salvage", path, "-o", tmp_path / "c.3ds").err


@pytest.mark.parametrize("length", [0, 5, 4603, 0x7FFFFFFF])
def test_wrong_length_of_a_whole_file_is_no_missing_end(run: Run, tmp_path: Path, length: int) -> None:
    data = EXAMPLE.read_bytes()
    path = tmp_path / "length.3ds"
    path.write_bytes(data[:2] + length.to_bytes(4, "little") + data[6:])
    assert "missing" not in run("salvage", path, "-o", tmp_path / "c.3ds").err


def test_sector_of_zeros_inside_a_table_is_noticed(run: Run, tmp_path: Path) -> None:
    """65 of 541 faces become 0, 0, 0: the structure is whole, so the file is kept as it is."""
    faces = [(n, n + 1, n + 2) for n in range(541)]
    points = [(float(n), 1.0, 0.0) for n in range(543)]
    data = bytearray(w.editor(w.mesh(w.points(*points), w.faces(*faces))))
    start = data.index(struct.pack("<8H", *faces[200], 7, *faces[201], 7))
    data[start : start + 65 * 8] = bytes(65 * 8)
    path = tmp_path / "zeros.3ds"
    path.write_bytes(data)
    ran = run("salvage", path, "-o", tmp_path / "c.3ds")
    assert ran.code == 0
    assert "DATA_ZERO_ROWS" in ran.err
    checked = run("check", path)
    assert "/4120/faces[200]: rows 200 to 264 of 541 are zero" in checked.out


def test_a_failure_is_not_hidden_by_a_later_file(run: Run, damaged: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.3ds"
    bad.write_bytes(b"nothing")
    assert run("salvage", bad, damaged, "-o", tmp_path / "out").code == 3
    assert (tmp_path / "out" / "damaged.3ds").exists()


def test_stdout_takes_one_file(damaged: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        for name in ("a.3ds", "b.3ds"):
            archive.writestr(name, damaged.read_bytes())
    ran = spawn("salvage", tmp_path / "two.zip", "-o", "-")
    assert ran.returncode == 3
    assert ran.stdout == keyframer.salvage(damaged).data
    assert b"b.3ds: stdout takes only one file" in ran.stderr
