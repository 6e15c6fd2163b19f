"""``info``, ``sample``, ``check``, ``identify`` and ``convert`` on glTF files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import keyframer
from tests.cli.running import Run
from tests.exchange.reading.making import glb, triangle
from tests.exchange.scenes import SCENES
from tests.exchange.truth import glb_of


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    path = tmp_path / "moving.glb"
    path.write_bytes(glb_of(SCENES["splines"]())[0])
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    root, binary = triangle()
    root["accessors"][0]["count"] = 99
    path = tmp_path / "broken.glb"
    path.write_bytes(glb(root, binary))
    return path


def test_info(run: Run, moving: Path, broken: Path) -> None:
    ran = run("info", "--format", "json", moving)
    assert ran.code == 0
    found = json.loads(ran.out)["files"][0]
    assert found["format"] == "gltf"
    assert [row["node"] for row in found["tables"]["tree"]] == ["base", "arm", "hand"]
    assert "tcb" in json.dumps(found["tables"]["curves"])
    assert run("info", moving).code == 0
    ran = run("info", broken)
    assert ran.code == 3
    assert "STRUCT_COUNT_EXCEEDS_DATA at 0x0 in /accessors[0]/count" in ran.err


def test_sample(run: Run, moving: Path) -> None:
    ran = run("sample", moving, "--frames", "0,12", "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)
    assert run("sample", moving, "--frames", "0", "--set", "geometry=raw").code == 2


def test_check(run: Run, moving: Path, broken: Path) -> None:
    ran = run("check", "--format", "json", moving, broken)
    assert ran.code == 1
    good, bad = json.loads(ran.out)["files"]
    assert (good["verdict"], good["format"]) == ("clean", "gltf")
    assert (bad["verdict"], bad["format"]) == ("not readable", "gltf")
    assert bad["issues"][0]["path"] == "/accessors[0]/count"
    assert keyframer.check(moving).verdict == "clean"
    assert keyframer.check(broken).verdict == "not readable"
    assert keyframer.check(broken.read_bytes(), format="gltf").verdict == "not readable"


def test_identify(run: Run, moving: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.gltf"
    text.write_text(json.dumps(triangle()[0]))
    ran = run("identify", moving, text)
    assert ran.code == 0
    first, second = ran.out.splitlines()
    assert "glTF 2.0 (gltf); certain: binary glTF by its first bytes; it can be loaded" in first
    assert "not kept byte for byte" in second


def test_documents_are_not_made_of_glTF(moving: Path) -> None:
    with pytest.raises(keyframer.FormatError, match="can be loaded, but not kept byte for byte"):
        keyframer.read(moving)


def test_convert_there_and_back(run: Run, moving: Path, tmp_path: Path) -> None:
    assert run("convert", moving, tmp_path / "again.glb").code == 0
    again = keyframer.load(tmp_path / "again.glb")
    assert len(again.clips[0].channels) == 5
