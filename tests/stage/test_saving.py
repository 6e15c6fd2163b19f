"""Archives are written again with their models as glTF and without other changes."""

from __future__ import annotations

import io
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import numpy as np
import pytest

import keyframer
from tests.stage.archives import model, moving_head, pack, scene_object, show
from tests.stage.boxes import boxes, glb_json, glb_points

SHOW = show(
    scene_object('<Geometry3D fileName="box.3ds"/>', "{0,1,0}{-1,0,0}{0,0,1}{1000,2000,3000}")
    + scene_object("<Geometry3D  fileName='box' />")
    + scene_object('<Geometry3D fileName="other.glb"/>'),
    {"box.3ds": model(".3ds"), "other.glb": model(".glb"), "notes.txt": "kept as it is"},
)


def rewrite(data: bytes, tmp_path: Path, ending: str, **options: object) -> tuple[bytes, keyframer.LossReport]:
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    source.write_bytes(data)
    report = keyframer.save(keyframer.load(source), target, **options)
    return target.read_bytes(), report


def names(data: bytes) -> list[str]:
    return ZipFile(io.BytesIO(data)).namelist()


def test_references_follow_the_models(tmp_path: Path) -> None:
    written, _ = rewrite(SHOW, tmp_path, ".mvr", models="gltf")
    assert names(written) == ["GeneralSceneDescription.xml", "box.glb", "other.glb", "notes.txt"]
    old = ZipFile(io.BytesIO(SHOW)).read("GeneralSceneDescription.xml")
    new = ZipFile(io.BytesIO(written)).read("GeneralSceneDescription.xml")
    expected = old.replace(b'fileName="box.3ds"', b'fileName="box.glb"').replace(b"'box'", b'"box.glb"')
    assert new == expected


def test_model_whose_name_is_only_an_extension_is_converted(tmp_path: Path) -> None:
    data = show(scene_object('<Geometry3D fileName=".3ds"/>'), {".3ds": model(".3ds")})
    assert len(boxes(keyframer.load(data))) == 1
    written, _ = rewrite(data, tmp_path, ".mvr", models="gltf")
    assert names(written) == ["GeneralSceneDescription.xml", ".3ds.glb"]
    assert b'fileName=".3ds.glb"' in ZipFile(io.BytesIO(written)).read("GeneralSceneDescription.xml")
    before, after = boxes(keyframer.load(data)), boxes(keyframer.load(written))
    assert np.array(after) == pytest.approx(np.array(before), abs=0.1)


def test_model_is_in_metres_with_y_up(tmp_path: Path) -> None:
    written, _ = rewrite(SHOW, tmp_path, ".mvr", models="gltf")
    points = glb_points(ZipFile(io.BytesIO(written)).read("box.glb"))
    assert points.min(axis=0) == pytest.approx([0, 0, -0.2], abs=1e-6)
    assert points.max(axis=0) == pytest.approx([0.1, 0.3, 0], abs=1e-6)


def test_show_has_the_same_boxes_before_and_after(tmp_path: Path) -> None:
    written, _ = rewrite(SHOW, tmp_path, ".mvr", models="gltf")
    before, after = boxes(keyframer.load(SHOW)), boxes(keyframer.load(written))
    assert len(before) == len(after) == 3
    assert np.array(before) == pytest.approx(np.array(after), abs=0.1)


def test_unchanged_members_keep_their_bytes_date_and_order(tmp_path: Path) -> None:
    written, _ = rewrite(SHOW, tmp_path, ".mvr", models="gltf")
    old, new = ZipFile(io.BytesIO(SHOW)), ZipFile(io.BytesIO(written))
    assert new.testzip() is None
    for name in ("other.glb", "notes.txt"):
        before, after = old.getinfo(name), new.getinfo(name)
        assert packed(SHOW, before.header_offset, before.compress_size) == packed(
            written, after.header_offset, after.compress_size
        )
        assert (before.date_time, before.compress_type, before.CRC) == (after.date_time, after.compress_type, after.CRC)
    assert new.getinfo("box.glb").date_time == old.getinfo("box.3ds").date_time


def packed(data: bytes, offset: int, size: int) -> bytes:
    """Return the compressed content of a member after its local header."""
    names_and_extras = int.from_bytes(data[offset + 26 : offset + 28], "little")
    names_and_extras += int.from_bytes(data[offset + 28 : offset + 30], "little")
    start = offset + 30 + names_and_extras
    return data[start : start + size]


def test_archive_with_unchanged_models_is_identical(tmp_path: Path) -> None:
    written, _ = rewrite(SHOW, tmp_path, ".mvr")
    assert written == SHOW


@pytest.mark.parametrize("method", [ZIP_STORED, ZIP_DEFLATED])
def test_new_members_have_the_compression_of_the_old_ones(tmp_path: Path, method: int) -> None:
    archive = ZipFile(io.BytesIO(SHOW))
    data = pack({name: archive.read(name) for name in archive.namelist()}, method)
    written, _ = rewrite(data, tmp_path, ".mvr", models="gltf")
    assert {member.compress_type for member in ZipFile(io.BytesIO(written)).infolist()} == {method}


@pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
def test_copied_members_with_other_compression_are_readable(tmp_path: Path, method: int) -> None:
    archive = ZipFile(io.BytesIO(SHOW))
    data = pack({name: archive.read(name) for name in archive.namelist()}, **{"notes.txt": method})
    written, _ = rewrite(data, tmp_path, ".mvr", models="gltf")
    with ZipFile(io.BytesIO(written)) as copied:
        assert copied.testzip() is None
        assert copied.read("notes.txt") == b"kept as it is"


def test_member_whose_header_contradicts_the_directory_is_not_copied(tmp_path: Path) -> None:
    """Readers use the directory, but copies would use the header."""
    with pytest.raises(keyframer.FormatError, match="the header of this member cannot be copied"):
        rewrite(SHOW.replace(b"notes.txt", b"notes.bin", 1), tmp_path, ".mvr", models="gltf")


def test_new_name_does_not_collide_with_an_old_one(tmp_path: Path) -> None:
    members = {"box.3ds": model(".3ds"), "BOX.glb": model(".glb")}
    both = scene_object('<Geometry3D fileName="box.3ds"/><Geometry3D fileName="BOX.glb"/>')
    written, _ = rewrite(show(both, members), tmp_path, ".mvr", models="gltf")
    assert names(written)[1:] == ["box-2.glb", "BOX.glb"]


def test_fixture_gets_new_models_beside_the_old_ones_or_instead(tmp_path: Path) -> None:
    data = moving_head()
    beside, report = rewrite(data, tmp_path, ".gdtf", models="gltf")
    assert names(beside) == ["description.xml", "models/3ds/head.3ds", "models/gltf/head.glb"]
    assert [loss.args for loss in report if loss.type.key == "PART_WRITTEN:members"] == [{"count": 2}]
    (tmp_path / "out.gdtf").unlink()
    instead, report = rewrite(data, tmp_path, ".gdtf", models="gltf", replace=True)
    assert names(instead) == ["description.xml", "models/gltf/head.glb"]
    assert [loss.args for loss in report if loss.type.key == "PART_WRITTEN:members"] == [{"count": 1}]
    for written in (beside, instead):
        assert np.array(boxes(keyframer.load(written))) == pytest.approx(
            np.array(boxes(keyframer.load(data))), abs=1e-4
        )


def test_gltf_in_a_fixture_has_no_extension_no_animation_and_floats(tmp_path: Path) -> None:
    written, _ = rewrite(moving_head(), tmp_path, ".gdtf", models="gltf")
    root = glb_json(ZipFile(io.BytesIO(written)).read("models/gltf/head.glb"))
    assert not root.keys() & {"extensionsUsed", "extensionsRequired", "animations"}
    attributes = {
        number for mesh in root["meshes"] for part in mesh["primitives"] for number in part["attributes"].values()
    }
    assert {root["accessors"][number]["componentType"] for number in attributes} == {5126}


def test_report_names_each_model(tmp_path: Path) -> None:
    _, report = rewrite(SHOW, tmp_path, ".mvr", models="gltf")
    assert any(loss.path.startswith("/models/box.3ds") for loss in report)


def test_damaged_model_is_kept_and_reported(tmp_path: Path) -> None:
    members = {"box.3ds": model(".3ds"), "bad.3ds": b"MM" + b"\xff" * 50}
    data = show(scene_object('<Geometry3D fileName="box.3ds"/><Geometry3D fileName="bad.3ds"/>'), members)
    source, target = tmp_path / "in.mvr", tmp_path / "out.mvr"
    source.write_bytes(data)
    report = keyframer.save(keyframer.load(source, salvage=True), target, models="gltf")
    assert names(target.read_bytes()) == ["GeneralSceneDescription.xml", "box.glb", "bad.3ds"]
    assert "/models/bad.3ds" in [loss.path for loss in report if loss.outcome.value == "dropped"]


def test_only_an_unchanged_scene_of_an_archive_can_be_saved(tmp_path: Path) -> None:
    scene = keyframer.load(SHOW)
    scene.nodes[0].position = np.array([1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="changed"):
        keyframer.save(scene, tmp_path / "out.mvr")
    sheared = keyframer.load(SHOW)
    sheared.nodes[0].scale_axes_xyzw = np.array([0.6, 0.0, 0.0, 0.8])
    with pytest.raises(ValueError, match="changed"):
        keyframer.save(sheared, tmp_path / "out.mvr")
    with pytest.raises(ValueError, match="read from an archive"):
        keyframer.save(keyframer.Scene(), tmp_path / "out.mvr")
    with pytest.raises(ValueError, match=r"must end with \.mvr"):
        keyframer.save(keyframer.load(SHOW), tmp_path / "out.gdtf")
    with pytest.raises(ValueError, match=r"mvr has no dialect 'A' \(it has none\)"):
        keyframer.save(keyframer.load(SHOW), tmp_path / "out.mvr", dialect="A")
    assert not list(tmp_path.iterdir())
