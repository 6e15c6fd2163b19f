"""``keyframer convert``: output files, messages, and files that are not touched."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest

import keyframer
from tests.cli.running import EXAMPLE, Run, check_schema, spawn
from tests.hostile.attacks import ATTACKS
from tests.oracles.gltf.sampler import Gltf


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "mill.3ds"
    shutil.copy(EXAMPLE, path)
    return path


def test_convert_one_file(run: Run, scene: Path) -> None:
    target = scene.with_suffix(".glb")
    ran = run("convert", scene, target)
    assert (ran.code, ran.out) == (0, "")
    assert "mill.glb: " in ran.err
    assert "; differs: " in ran.err
    gltf = Gltf(target.read_bytes())
    about = gltf.json["asset"]["extras"]["keyframer"]["source"]
    assert about["name"] == "mill.3ds"
    assert about["format"] == "3ds"
    assert about["sha256"] == hashlib.sha256(scene.read_bytes()).hexdigest()
    assert gltf.json["animations"]


def test_gltf_with_separate_buffer(run: Run, scene: Path, tmp_path: Path) -> None:
    assert run("convert", "-q", scene, tmp_path / "m.gltf").err == ""
    assert [re.sub(r"\.[0-9a-f]{12}\.", ".HASH.", name) for name in sorted(os.listdir(tmp_path))] == [
        "m.HASH.bin",
        "m.gltf",
        "mill.3ds",
    ]


def test_folder_keeps_its_tree_and_bad_files_are_one_record_each(run: Run, scene: Path, tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    shutil.copy(scene, tmp_path / "in" / "a.3ds")
    shutil.copy(scene, tmp_path / "in" / "deep" / "b.3ds")
    (tmp_path / "in" / "bad.3ds").write_bytes(b"not a scene")
    report = tmp_path / "losses.json"
    ran = run("convert", "-r", tmp_path / "in", tmp_path / "out", "--report", report)
    assert ran.code == 3
    outputs = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*"))
    assert outputs == ["a.glb", os.path.join("deep", "b.glb")]
    losses = json.loads(report.read_text())
    assert (losses["schema"], losses["schema_version"]) == ("keyframer.convert", 1)
    assert [("error" in record) for record in losses["files"]] == [False, True, False]
    check_schema("convert", losses)
    for record in losses["files"]:
        record.pop("file")
        if "error" not in record:
            check_schema("loss", record)


def test_suffix_as_output_writes_beside_each_input(run: Run, scene: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.3ds"
    shutil.copy(scene, other)
    assert run("convert", scene, other, ".glb").code == 0
    assert sorted(path.name for path in tmp_path.glob("*.glb")) == ["mill.glb", "other.glb"]


def test_options_are_applied_to_the_file(run: Run, scene: Path, tmp_path: Path) -> None:
    target = tmp_path / "m.glb"
    arguments = ("--core-only", "--unit", "cm", "--fps", "15", "--max-error", "1e-3", "--to", "gltf", "--keys", "cubic")
    assert run("convert", scene, target, *arguments).code == 0
    gltf = Gltf(target.read_bytes())
    assert gltf.json["asset"]["extras"]["keyframer"]["options"] == {
        "core_only": True,
        "max_error": 1e-3,
        "keys": "cubic",
        "unit": "cm",
        "fps": 15.0,
    }
    assert gltf.nodes[gltf.json["scenes"][0]["nodes"][0]]["scale"] == [0.01] * 3
    assert gltf.json["scenes"][0]["extras"]["keyframer"]["clips"][0]["rate"] == 15.0


def test_verbose_lists_every_loss(run: Run, scene: Path, tmp_path: Path) -> None:
    ran = run("convert", "-v", scene, tmp_path / "m.glb")
    assert "approximated: /nodes/" in ran.err
    assert "degree" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give at least one file"),
        (["x.3ds"], "give at least one file"),
        (["x.3ds", "-"], "--to must choose the format"),
        (["x.3ds", "-", "--to", "gltf", "--report", "-"], "stdout takes either the file or the report"),
        (["x.3ds", "y.3ds", "-", "--to", "gltf"], "stdout takes only one file"),
        (["x.3ds", "y.foo"], "no format has the extension '.foo'"),
        (["x.3ds", "y.glb", "--max-error", "0"], "not a number from 1e-08 to 1"),
        (["x.3ds", "y.glb", "--unit", "league"], "not a number from 1e-09 to 1e+09"),
        (["x.3ds", "y.glb", "--to", "obj"], "is not one of gltf"),
        (["x.3ds", "y.glb", "--dialect", "draco"], "gltf has no dialect 'draco' (it has: binary, text)"),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str], words: str) -> None:
    ran = run("convert", *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_existing_report_is_refused_before_any_work(run: Run, scene: Path, tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    report.write_text("old")
    assert run("convert", scene, tmp_path / "m.glb", "--report", report).code == 2
    assert sorted(os.listdir(tmp_path)) == ["mill.3ds", "r.json"]


def test_report_on_stdout(run: Run, scene: Path, tmp_path: Path) -> None:
    ran = run("convert", scene, tmp_path / "m.glb", "--report", "-")
    assert ran.code == 0
    (record,) = ran.json()["files"]
    assert record["file"] == str(scene)
    assert sorted(os.listdir(tmp_path)) == ["m.glb", "mill.3ds"]


def test_missing_images_are_one_line(run: Run, tmp_path: Path) -> None:
    """With their number and the searched folder; -v names them, and the summary counts them."""
    scene = keyframer.load(EXAMPLE)
    slots = ("texture1", "bump", "opacity", "self_illumination")
    for number, material in enumerate(scene.materials):
        for slot in slots:
            material.maps[slot] = keyframer.TextureMap(f"{number}{slot[:6]}.TGA")
    keyframer.save(scene, tmp_path / "many.3ds")
    ran = run("convert", tmp_path / "many.3ds", tmp_path / "many.glb")
    told = [line for line in ran.err.splitlines() if "found" in line]
    hint = f"(searched: {tmp_path}; see --texture-path, --texture-recursive)"
    assert told == [f"keyframer: {tmp_path / 'many.3ds'}: 12 images not found beside the file {hint}"]
    assert "many.glb: 12 images missing; " in ran.err
    assert "nothing lost" not in ran.err
    ran = run("convert", tmp_path / "many.3ds", tmp_path / "many.glb", "-f", "-v")
    assert all(f"{number}{slot[:6]}.TGA: not found" in ran.err for number in range(3) for slot in slots)
    (tmp_path / "maps").mkdir()
    ran = run("convert", tmp_path / "many.3ds", tmp_path / "many.u3d", "--texture-path", tmp_path / "maps")
    assert "not found" not in ran.err  # the names are kept; nothing was opened
    ran = run("convert", EXAMPLE, tmp_path / "mill.glb", "--texture-path", tmp_path / "maps")
    assert f"(searched: {EXAMPLE.parent}, {tmp_path / 'maps'}; see " in ran.err


def test_info_and_convert_count_the_same_missing_images(run: Run, tmp_path: Path) -> None:
    """Paths that are not followed are missing like all others, also those of maps that glTF does not use."""
    scene = keyframer.load(EXAMPLE)
    names = ("..\\maps\\a.tga", "C:\\maps\\b.tga", "gone.tga")
    slots = ("texture1", "reflection", "shininess")
    scene.materials[0].maps = {slot: keyframer.TextureMap(name) for slot, name in zip(slots, names, strict=True)}
    for material in scene.materials[1:]:
        material.maps = {}
    path = tmp_path / "a.3ds"
    keyframer.save(scene, path)
    report = tmp_path / "r.json"
    ran = run("convert", path, tmp_path / "a.glb", "--report", report)
    (told,) = [line for line in ran.err.splitlines() if "found" in line]
    assert told.startswith(f"keyframer: {path}: 3 images not found beside the file (searched: {tmp_path}; ")
    assert "a.glb: 3 images missing; " in ran.err
    assert "SEC_PATH" not in ran.err
    assert '"missing_images": 3,' in report.read_text()
    (summary,) = [record["summary"] for record in run("info", "--format", "json", path).json()["files"]]
    assert summary["missing_images"] == 3
    assert run("check", path).out.count("SEC_PATH_TRAVERSAL") == 1


def test_shortened_motion_is_in_the_summary(run: Run, tmp_path: Path) -> None:
    """Hundreds of nodes repeat a short cycle for ten million frames: more keys than the limit allows."""
    (tmp_path / "a.3ds").write_bytes(ATTACKS["loops_over_a_long_range"]()["a.3ds"])
    ran = run("convert", tmp_path / "a.3ds", tmp_path / "a.glb", "--report", tmp_path / "r.json")
    assert "lost: incomplete motion of 327 nodes; " in ran.err
    (record,) = json.loads((tmp_path / "r.json").read_text())["files"]
    assert record["counts"]["MOTION_INCOMPLETE"] == 653


@pytest.mark.parametrize("keys", ["linear", "cubic"])
def test_motion_too_fast_for_keys_is_in_the_summary_with_its_error(run: Run, tmp_path: Path, keys: str) -> None:
    """A rotation of 1e10 radians in 100 frames cannot be stored as keys."""
    (tmp_path / "a.3ds").write_bytes(ATTACKS["one_huge_turn"]()["a.3ds"])
    ran = run("convert", tmp_path / "a.3ds", tmp_path / "a.glb", "--keys", keys, "--report", tmp_path / "r.json")
    assert "lost: incomplete motion of Box; differs: " in ran.err
    (record,) = json.loads((tmp_path / "r.json").read_text())["files"]
    losses = {loss["outcome"]: loss for loss in record["losses"] if loss["path"] == "/nodes/Box/rotation"}
    assert losses["dropped"]["args"]["reason"] == "it changes faster than keys can follow"
    assert losses["approximated"]["error"]["value"] > 90


def test_progress_is_shown_only_on_terminals(scene: Path, tmp_path: Path) -> None:
    ran = spawn("convert", scene, tmp_path / "m.glb")
    assert ran.returncode == 0
    assert b"\x1b" not in ran.stderr
    assert b"\r" not in ran.stderr


def test_images_are_found_beside_the_file_and_in_texture_paths(run: Run, scene: Path, tmp_path: Path) -> None:
    from PIL import Image

    def images(*arguments: object) -> int:
        ran = run("convert", "-f", scene, tmp_path / "m.glb", "--report", tmp_path / "r.json", *arguments)
        assert ran.code == 0
        check_schema("convert", json.loads((tmp_path / "r.json").read_text()))
        return len(Gltf((tmp_path / "m.glb").read_bytes()).json.get("images", []))

    assert images() == 0
    (tmp_path / "maps" / "deep").mkdir(parents=True)
    Image.new("RGB", (4, 4), "grey").save(tmp_path / "maps" / "deep" / "stone.tga")
    assert images("--texture-path", tmp_path / "maps") == 0
    assert images("--texture-path", tmp_path / "maps", "--texture-recursive") == 1
    losses = json.loads((tmp_path / "r.json").read_text())["files"][0]["losses"]
    assert any("stone.tga, with another extension, in a subfolder" in str(loss.get("args")) for loss in losses)
    Image.new("RGB", (4, 4), "grey").save(scene.parent / "STONE.PNG")
    assert images() == 1
    assert images("--no-textures") == 0


def test_gltf_options_are_refused_for_other_formats(run: Run, scene: Path, tmp_path: Path) -> None:
    ran = run("convert", scene, tmp_path / "m.u3d", "--core-only")
    assert ran.code == 2
    assert "uto3d has no option 'core_only' (it has: dialect, encoding, max_error)" in ran.err


def test_output_to_stdout(scene: Path, tmp_path: Path) -> None:
    written = spawn("convert", scene, tmp_path / "a.glb", "--no-textures")
    ran = spawn("convert", scene, "-", "--to", "gltf", "--no-textures")
    assert (written.returncode, ran.returncode) == (0, 0)
    assert ran.stdout == (tmp_path / "a.glb").read_bytes()
    assert b"-> <stdout>: " in ran.stderr
    same = spawn("convert", "-", "-", "--to", "3ds", "-q", stdin=EXAMPLE.read_bytes())
    assert (same.stdout, same.stderr) == (EXAMPLE.read_bytes(), b"")


def test_several_files_are_not_written_to_stdout(scene: Path) -> None:
    ran = spawn("convert", scene, "-", "--to", "gltf", "--dialect", "text", "--no-textures")
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert b"this scene becomes several files in the format gltf: give a path" in ran.stderr
    assert ran.stderr.count(b"\n") == 1


def test_second_file_of_an_archive_is_not_written_to_stdout(tmp_path: Path) -> None:
    pack = tmp_path / "pack.zip"
    with zipfile.ZipFile(pack, "w") as archive:
        for name in ("a.3ds", "b.3ds"):
            archive.writestr(name, EXAMPLE.read_bytes())
    ran = spawn("convert", pack, "-", "--to", "3ds", "-q")
    assert (ran.returncode, ran.stdout) == (3, EXAMPLE.read_bytes())
    assert b"b.3ds: stdout takes only one file" in ran.stderr
