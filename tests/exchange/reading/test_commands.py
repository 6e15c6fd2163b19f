"""``info``, ``sample``, ``check``, ``identify`` and ``convert`` on glTF files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import keyframer
from tests.building.gltf import glb, triangle
from tests.building.gltf_scenes import SCENES
from tests.cli.running import EXAMPLE, Run, check_schema
from tests.exchange.truth import glb_of


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
    record = json.loads(ran.out)["files"][0]
    assert record["format"] == "gltf"
    assert [row["node"] for row in record["tables"]["tree"]] == ["base", "arm", "hand"]
    assert "linear" in json.dumps(record["tables"]["curves"])
    assert run("info", moving).code == 0
    ran = run("info", "--format", "json", broken)
    assert ran.code == 0
    issue = ran.json()["files"][0]["tables"]["issues"][0]
    assert (issue["code"], issue["path"]) == ("STRUCT_COUNT_EXCEEDS_DATA", "/accessors[0]/count")
    assert broken.read_bytes()[issue["offset"] :].startswith(b"99")
    ran = run("sample", broken, "--frames", "0")
    assert ran.code == 3
    line = f"STRUCT_COUNT_EXCEEDS_DATA at {issue['offset']:#x} in /accessors[0]/count: the count claims 99"
    assert line in ran.err
    assert len(ran.err.splitlines()) == 1
    ran = run("sample", "--salvage", broken, "--frames", "0")
    assert ran.code == 1


def test_check(run: Run, moving: Path, broken: Path) -> None:
    ran = run("check", "--format", "json", moving, broken)
    assert ran.code == 1
    good, bad = json.loads(ran.out)["files"]
    assert (good["verdict"], good["format"]) == ("clean", "gltf")
    assert (bad["verdict"], bad["format"]) == ("damaged", "gltf")
    assert bad["issues"][0]["path"] == "/accessors[0]/count"
    assert keyframer.check(moving).verdict == "clean"
    assert keyframer.check(broken).verdict == "damaged"
    assert keyframer.check(broken.read_bytes(), format="gltf").verdict == "damaged"
    assert keyframer.check(broken.read_bytes()[:50]).verdict == "not readable"


def test_identify(run: Run, moving: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.gltf"
    text.write_text(json.dumps(triangle()[0]))
    ran = run("identify", moving, text)
    assert ran.code == 0
    first, second = ran.out.splitlines()
    assert "glTF 2.0 (gltf); certain: binary glTF by its first bytes; it can be loaded" in first
    assert "not kept byte for byte" in second


def test_gltf_cannot_be_read_as_a_document(moving: Path) -> None:
    with pytest.raises(keyframer.FormatError, match="can be loaded, but not kept byte for byte"):
        keyframer.read(moving)


def test_diff_of_two_gltf_files(run: Run, moving: Path, tmp_path: Path) -> None:
    ran = run("diff", moving, moving, "--format", "json")
    assert ran.code == 0
    check_schema("diff", ran.json())
    root, binary = triangle()
    (tmp_path / "a.glb").write_bytes(glb(root, binary))
    root["nodes"][0] |= {"translation": [3, 0, 4], "name": "other"}
    root["extras"] = {"note": 1}
    (tmp_path / "b.glb").write_bytes(glb(root, binary[:4] + b"\0\0\x80\x3f" + binary[8:]))
    ran = run("diff", tmp_path / "a.glb", tmp_path / "b.glb", "--format", "json")
    assert ran.code == 1
    check_schema("diff", ran.json())
    comparison = ran.json()["comparisons"][0]
    assert (comparison["formats"], comparison["structure"]["level"]) == (["gltf", "gltf"], "values")
    changes = [(change["kind"], change["path_a"], change["path_b"]) for change in comparison["structure"]["changes"]]
    assert changes == [
        ("changed", "/nodes[0]/name", "/nodes[0]/name"),
        ("added", None, "/nodes[0]/translation"),
        ("added", None, "/extras"),
        ("changed", "/bufferViews[0]", "/bufferViews[0]"),
    ]
    assert comparison["structure"]["changes"][3]["fields"][0]["entries"] == 2
    assert "values of the JSON" in run("diff", tmp_path / "a.glb", tmp_path / "b.glb").out
    root["extras"] = {"note": 10**400, "flag": True, "numbers": [10**400, 1]}
    (tmp_path / "c.glb").write_bytes(glb(root, binary))
    for style in ("json", "csv", "pretty"):
        assert run("diff", tmp_path / "b.glb", tmp_path / "c.glb", "--format", style).code == 1


def test_diff_of_a_file_and_its_gltf_export(run: Run, tmp_path: Path) -> None:
    """Without --embed-source, keys and materials differ, and the motion is the same within the tolerance."""
    for options, same in ((["--embed-source"], True), ([], False)):
        assert run("convert", "-qf", EXAMPLE, tmp_path / "w.glb", *options).code == 0
        ran = run("diff", EXAMPLE, tmp_path / "w.glb", "--format", "json")
        assert ran.code == (0 if same else 1)
        comparison = ran.json()["comparisons"][0]
        assert (comparison["formats"], comparison["structure"]["level"]) == (["3ds", "gltf"], "scene")
        assert comparison["same"] == same
    assert comparison["motion"]["times"] > 50


def test_format_can_be_given(run: Run, moving: Path, tmp_path: Path) -> None:
    nameless = tmp_path / "nameless.dat"
    nameless.write_bytes(b'{"\\u0061sset": {"version": "2.0"}, "nodes": [{"name": "a"}]}')
    assert run("info", nameless).code == 3
    assert run("info", "--from", "gltf", nameless).code == 0
    assert run("check", "--from", "gltf", nameless).code == 0
    assert run("sample", "--from", "gltf", nameless, "--frames", "0").code == 0
    assert run("convert", "--from", "gltf", nameless, tmp_path / "out.glb").code == 0
    ran = run("dump", "--from", "gltf", moving)
    assert ran.code == 3
    assert "gltf has no document" in ran.err
    ran = run("info", "--from", "3ds", moving)
    assert ran.code == 3


def test_folders(run: Run, moving: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.glb").write_bytes(moving.read_bytes())
    (folder / "b.3ds").write_bytes(EXAMPLE.read_bytes())
    assert len(run("identify", "-r", folder).out.splitlines()) == 2
    assert len(run("check", "-r", "--format", "json", folder).json()["files"]) == 2
    assert len(run("info", "-r", "--format", "json", folder).json()["files"]) == 2
    assert run("convert", "-r", folder, tmp_path / "old", "--to", "3ds").code == 0
    assert sorted(path.name for path in (tmp_path / "old").iterdir()) == ["a.3ds", "b.3ds"]
    for _ in range(2):  # an output beside its input is not an input
        assert run("convert", "-r", "-f", folder, ".glb").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a.glb", "b.3ds", "b.glb"]
    assert (folder / "a.glb").read_bytes() == moving.read_bytes()
    assert run("dump", "-r", folder, "-o", tmp_path / "texts").code == 0


def test_check_reports_unsafe_names(run: Run, tmp_path: Path) -> None:
    root, binary = triangle()
    root["nodes"][0]["name"] = "<script>\u202e"
    root["nodes"].append({"name": "=cmd()"})
    root["scenes"][0]["nodes"].append(1)
    root["meshes"][0]["name"] = "ü" * 200
    root["images"] = [{"uri": uri} for uri in ("..%2fsecret.png", "http://a/b.png", "fine%20one.png", "data:,")]
    (tmp_path / "odd.glb").write_bytes(glb(root, binary))
    issues = run("check", tmp_path / "odd.glb", "--format", "json").json()["files"][0]["issues"]
    assert {(issue["code"], issue["path"]) for issue in issues} == {
        ("SEC_NAME_MARKUP", "/nodes[0]/name"),
        ("SEC_NAME_BIDI", "/nodes[0]/name"),
        ("SEC_NAME_FORMULA", "/nodes[1]/name"),
        ("SEM_NAME_TOO_LONG", "/meshes[0]/name"),
        ("SEC_PATH_TRAVERSAL", "/images[0]/uri"),
        ("SEC_PATH_URL", "/images[1]/uri"),
    }
    assert "a name has 400 bytes, more than 255" in {issue["message"] for issue in issues}
    data = (tmp_path / "odd.glb").read_bytes()
    for issue in issues:
        assert data[issue["offset"] : issue["offset"] + 1] == b'"', issue
    assert run("check", tmp_path / "odd.glb").code == 0  # unusual, not unsafe
