"""Every command accepts a show or a fixture as one input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from keyframer.cli import main
from tests.stage.archives import (
    MOVING_HEAD_GEOMETRIES,
    MOVING_HEAD_MODELS,
    MOVING_HEAD_MODES,
    fixture,
    moving_head,
    scene_object,
    show,
)

ROOT = Path(__file__).resolve().parents[2]
SHOW = str(ROOT / "examples" / "stage.mvr")


@pytest.fixture
def spot(tmp_path: Path) -> str:
    path = tmp_path / "spot.gdtf"
    path.write_bytes(moving_head())
    return str(path)


def stdout_of(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(list(words)) == code
    return capsys.readouterr().out


def test_identify_and_formats(capsys: pytest.CaptureFixture[str], spot: str) -> None:
    assert "MVR show (mvr)" in stdout_of(capsys, "identify", SHOW)
    assert "GDTF fixture (gdtf)" in stdout_of(capsys, "identify", spot)
    listed = stdout_of(capsys, "formats")
    assert "MVR show" in listed
    assert "GDTF fixture" in listed


def test_info_states_the_unit_and_its_source(capsys: pytest.CaptureFixture[str], spot: str) -> None:
    assert "0.001 m (MVR uses millimetres)" in stdout_of(capsys, "info", SHOW, "--table", "scene")
    assert "GDTF states the dimensions of models in metres" in stdout_of(capsys, "info", spot, "--table", "scene")
    windmill = str(ROOT / "examples" / "windmill.3ds")
    assert "master scale" in stdout_of(capsys, "info", windmill, "--table", "scene")


def test_example_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert "clean" in stdout_of(capsys, "check", SHOW)


def test_sample(capsys: pytest.CaptureFixture[str], spot: str) -> None:
    rows = json.loads(stdout_of(capsys, "sample", spot, "--frames", "0", "--node", "Head", "--format", "json"))
    assert "Head" in json.dumps(rows)


@pytest.mark.parametrize("target", [".glb", ".3ds", ".u3d"])
def test_convert(capsys: pytest.CaptureFixture[str], tmp_path: Path, target: str) -> None:
    stdout_of(capsys, "convert", SHOW, str(tmp_path / f"out{target}"))
    assert (
        "clean" in stdout_of(capsys, "check", "-q", "--fail-on", "error", str(tmp_path / f"out{target}"))
        or target != ".glb"
    )


def test_convert_models(capsys: pytest.CaptureFixture[str], tmp_path: Path, spot: str) -> None:
    stdout_of(
        capsys,
        "convert",
        SHOW,
        str(tmp_path / "new.mvr"),
        "--models",
        "gltf",
        "--report",
        str(tmp_path / "report.json"),
    )
    names = ZipFile(tmp_path / "new.mvr").namelist()
    assert names[1:4] == ["floor.glb", "wall.glb", "truss.glb"]
    report = (tmp_path / "report.json").read_text()
    assert all(f"/models/{name}.3ds" in report for name in ("floor", "wall", "truss"))
    stdout_of(capsys, "convert", spot, str(tmp_path / "new.gdtf"), "--models", "gltf", "--replace")
    assert ZipFile(tmp_path / "new.gdtf").namelist() == ["description.xml", "models/gltf/head.glb"]


def test_other_files_cannot_be_converted_to_a_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    windmill = str(ROOT / "examples" / "windmill.3ds")
    assert main(["convert", windmill, str(tmp_path / "new.mvr")]) != 0
    error = capsys.readouterr().err
    assert "only a show or fixture that was read from an archive" in error
    assert not (tmp_path / "new.mvr").exists()


def test_model_inside_a_show_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "3D Studio" in stdout_of(capsys, "identify", f"{SHOW}!/truss.3ds")


def test_ordinary_archive_is_read_as_its_members(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with ZipFile(tmp_path / "models.zip", "w") as archive:
        archive.writestr("a.3ds", ZipFile(SHOW).read("truss.3ds"))
    assert "models.zip!/a.3ds" in stdout_of(capsys, "identify", str(tmp_path / "models.zip"))


def test_show_with_another_extension_is_detected_by_its_description(tmp_path: Path) -> None:
    import keyframer

    path = tmp_path / "show.bin"
    path.write_bytes(Path(SHOW).read_bytes())
    assert keyframer.load(path).source_format == "mvr"


def test_thumbnail_page_and_diff(capsys: pytest.CaptureFixture[str], tmp_path: Path, spot: str) -> None:
    stdout_of(capsys, "thumbnail", spot, "-o", str(tmp_path / "spot.png"))
    assert (tmp_path / "spot.png").read_bytes()[:4] == b"\x89PNG"
    stdout_of(capsys, "diff", SHOW, SHOW)
    other = tmp_path / "other.mvr"
    other.write_bytes(show(scene_object("")))
    stdout_of(capsys, "diff", SHOW, str(other), code=1)


def test_batch_reads_a_show_as_one_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stdout_of(
        capsys,
        "batch",
        "convert",
        SHOW,
        "-o",
        str(tmp_path / "out"),
        "--to",
        "mvr",
        "--models",
        "gltf",
        "-j",
        "1",
        "-q",
    )
    (written,) = (tmp_path / "out").glob("*.mvr")
    assert "truss.glb" in ZipFile(io.BytesIO(written.read_bytes())).namelist()


def test_fixtures_are_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Number, name, type, mode, address in both notations, and position in millimetres; also as rows of CSV."""
    words = "<GDTFSpec>Maker@Spot.gdtf</GDTFSpec><GDTFMode>Two</GDTFMode><FixtureID>7</FixtureID>"
    first = "<Addresses><Address break='0'>513</Address><Address break='1'>3.17</Address></Addresses>"
    placed = "<Matrix>{1,0,0}{0,1,0}{0,0,1}{-1000,250.5,4000}</Matrix>"
    none = "<Addresses><Address break='0'>0</Address><Address break='1'>0</Address></Addresses>"  # not patched
    inner = f"<Fixture name='Spot' uuid='b'>{placed}{words}{none}</Fixture>"
    group = f"<GroupObject name='G' uuid='g'>{placed}<ChildList>{inner}</ChildList></GroupObject>"
    path = tmp_path / "show.mvr"
    path.write_bytes(show(f"<Fixture name='Spot' uuid='a'>{placed}{words}{first}</Fixture>{group}"))
    out = stdout_of(capsys, "info", str(path), "--table", "fixtures", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    expected = {"file": str(path), "number": "7", "name": "Spot", "type": "Maker@Spot", "mode": "Two"}
    expected |= {"address": "513, 1041", "universe.channel": "2.1, 3.17", "x": "-1000", "y": "250.5", "z": "4000"}
    assert rows[0] == expected
    other = {"address": "", "universe.channel": "", "x": "-2000", "y": "501", "z": "8000"}
    assert rows[1] == expected | other
    assert "Fixtures (2)" in stdout_of(capsys, "info", str(path), "--table", "fixtures")
    assert "\n  fixtures   2\n" in stdout_of(capsys, "info", str(path))


def test_info_of_a_fixture_has_its_modes_and_takes_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spot = str(tmp_path / "spot.gdtf")
    second = MOVING_HEAD_MODES.replace("Default", "Head only").replace('Geometry="Base"', 'Geometry="Lamp"')
    lamp = "<Geometry Name='Lamp' Model='Yoke' Position='{1,0,0,0}{0,1,0,0}{0,0,1,0}{0,0,0,1}'/>"
    modes_of_file = MOVING_HEAD_MODES + second
    data = fixture(MOVING_HEAD_MODELS, MOVING_HEAD_GEOMETRIES + lamp, modes=modes_of_file)
    Path(spot).write_bytes(data)

    def tables(*words: str) -> dict[str, list[dict[str, object]]]:
        return json.loads(stdout_of(capsys, "info", spot, "--format", "json", *words))["files"][0]["tables"]

    modes = [row["mode"] for row in tables()["modes"]]
    assert modes == ["Default", "Head only"]
    for mode, root in zip(modes, ("Base", "Lamp"), strict=True):
        told = tables("--set", f"mode={mode}")
        assert told["tree"][0]["node"] == root
        assert told["fixtures"][0]["mode"] == mode
        assert [row["mode"] for row in told["modes"] if row["chosen"]] == [mode]
    assert main(["info", spot, "--set", "mode=Fifth"]) == 3
    assert f"has no mode 'Fifth' (available: {', '.join(map(str, modes))})" in capsys.readouterr().err
