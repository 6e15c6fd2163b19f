"""`keyframer.save`: which files are written, when none is, and the loss report."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.exchange.gltf.conventions import json_value, packed
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import PART_WRITTEN
from tests.building.gltf_scenes import SCENES
from tests.cli.running import check_schema
from tests.exchange.truth import largest_differences, moments
from tests.oracles.gltf.sampler import Gltf


def test_gltf_and_buffer(tmp_path: Path) -> None:
    scene = SCENES["splines"]()
    path = tmp_path / "a b.gltf"
    report = keyframer.save(scene, path)
    binary = buffer_of(tmp_path, "a b")
    assert sorted(os.listdir(tmp_path)) == [binary.name, "a b.gltf"]
    assert report.written == [str(path), str(binary)]
    text = json.loads(path.read_text("utf-8"))
    assert text["buffers"][0]["uri"] == binary.name.replace(" ", "%20")
    text["buffers"][0]["uri"] = binary.name
    gltf = Gltf(json.dumps(text).encode(), tmp_path)
    seconds = moments(gltf, np.random.default_rng(1))
    assert max(largest_differences(scene, gltf, seconds)) < 1e-4 * report.measured["size"]


def buffer_of(folder: Path, stem: str) -> Path:
    """Return the only buffer file in a folder; its name contains the hash of its content."""
    (binary,) = folder.glob("*.bin")
    assert binary.name == f"{stem}.{hashlib.sha256(binary.read_bytes()).hexdigest()[:12]}.bin"
    return binary


def test_dialect_and_format_decide_without_an_extension(tmp_path: Path) -> None:
    keyframer.save(SCENES["static"](), tmp_path / "x", format="gltf")
    assert (tmp_path / "x").read_bytes()[:4] == b"glTF"
    keyframer.save(SCENES["static"](), tmp_path / "y.glb", dialect="text")
    assert (tmp_path / "y.glb").read_bytes()[:1] == b"{"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "a.xyz"}, "no format has the extension '.xyz'"),
        ({"path": "a.glb", "format": "obj"}, "cannot write 'obj'"),
        ({"path": "a.glb", "dialect": "draco"}, "no dialect 'draco'"),
        ({"path": "a.glb", "max_error": 0.0}, "max_error must be positive"),
        ({"path": "a.glb", "max_error": float("nan")}, "max_error must be positive"),
        ({"path": "a.glb", "unit": "league"}, "one of mm, cm"),
        ({"path": "a.glb", "unit": -1.0}, "unit must be positive"),
        ({"path": "a.glb", "fps": 0.0}, "fps must be positive"),
        ({"path": "a.glb", "colour": 1}, "no option 'colour'"),
    ],
)
def test_wrong_usage_is_reported_and_writes_nothing(tmp_path: Path, arguments: dict[str, object], words: str) -> None:
    path = tmp_path / str(arguments.pop("path"))
    with pytest.raises(ValueError) as caught:
        keyframer.save(SCENES["static"](), path, **arguments)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.glb", "a.gltf"])
def test_existing_files_are_not_overwritten_by_default(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(FileExistsError):
        keyframer.save(SCENES["static"](), tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"old"
    keyframer.save(SCENES["static"](), tmp_path / name, overwrite=True)
    assert (tmp_path / name).read_bytes() != b"old"


def test_foreign_buffers_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"of somebody else")
    (tmp_path / "a.0123456789ab.bin").write_bytes(b"not what the name says")
    keyframer.save(SCENES["static"](), tmp_path / "a.gltf")
    keyframer.save(SCENES["splines"](), tmp_path / "a.gltf", overwrite=True)
    assert (tmp_path / "a.bin").read_bytes() == b"of somebody else"
    assert (tmp_path / "a.0123456789ab.bin").read_bytes() == b"not what the name says"
    assert len(os.listdir(tmp_path)) == 4


def test_existing_buffer_with_the_same_content_is_reused(tmp_path: Path) -> None:
    keyframer.save(SCENES["static"](), tmp_path / "a.gltf")
    before = buffer_of(tmp_path, "a").stat().st_ino
    (tmp_path / "a.gltf").unlink()
    keyframer.save(SCENES["static"](), tmp_path / "a.gltf")
    assert buffer_of(tmp_path, "a").stat().st_ino == before


def test_damaged_buffers_are_repaired(tmp_path: Path) -> None:
    keyframer.save(SCENES["static"](), tmp_path / "a.gltf")
    buffer_of(tmp_path, "a").write_bytes(b"damaged")
    keyframer.save(SCENES["static"](), tmp_path / "a.gltf", overwrite=True)
    buffer_of(tmp_path, "a")


@pytest.mark.parametrize("copied", [False, True])
def test_old_buffers_are_removed_if_no_file_uses_them(tmp_path: Path, copied: bool) -> None:
    keyframer.save(SCENES["static"](), tmp_path / "a.gltf")
    old = buffer_of(tmp_path, "a")
    if copied:
        (tmp_path / "copy.gltf").write_bytes((tmp_path / "a.gltf").read_bytes())
    keyframer.save(SCENES["splines"](), tmp_path / "a.gltf", overwrite=True)
    assert old.exists() == copied
    if not copied:
        buffer_of(tmp_path, "a")
    keyframer.load(tmp_path / "a.gltf")


def test_buffer_of_a_long_name_gets_a_shorter_name(tmp_path: Path) -> None:
    name = "ä" * 125 + ".gltf"
    keyframer.save(SCENES["static"](), tmp_path / name)
    (binary,) = tmp_path.glob("*.bin")
    assert len(os.fsencode(binary.name)) in (254, 255)
    keyframer.load(tmp_path / name)


def test_provenance_and_copyright(tmp_path: Path) -> None:
    scene = SCENES["static"]()
    scene.copyright, scene.title, scene.source_format = "(c) 1996 Somebody", "Demo", "3ds"
    source = {"name": "demo.3ds", "sha256": "00" * 32, "version": "3"}
    keyframer.save(scene, tmp_path / "a.glb", source=source, unit="cm", core_only=True)
    asset = Gltf((tmp_path / "a.glb").read_bytes()).json["asset"]
    assert asset["copyright"] == "(c) 1996 Somebody"
    assert asset["version"] == "2.0"
    about = asset["extras"]["keyframer"]
    assert about["source"] == {**source, "format": "3ds"}
    assert about["version"] == keyframer.__version__
    assert about["options"] == {"core_only": True, "max_error": 1e-4, "keys": "linear", "unit": "cm"}


@pytest.mark.parametrize("name", sorted(SCENES))
def test_report_follows_its_schema(name: str, tmp_path: Path) -> None:
    report = keyframer.save(SCENES[name](), tmp_path / "a.glb", source={"name": "x"})
    plain_report = report.as_dict()
    check_schema("loss", json.loads(json.dumps(plain_report, allow_nan=False)))
    assert sum(plain_report["summary"].values()) == len(report)
    assert report.summary() in repr(report)


def test_report_gives_the_source_in_the_file() -> None:
    report = LossReport("gltf")
    report.add(PART_WRITTEN["part"], "/a", extras={"3ds": {"offset": 12, "path": "/4d4d"}})
    report.add(PART_WRITTEN["part"], "/b", extras={"3ds": {"flags": 1}})
    assert report.losses[0].as_dict()["source"] == {"path": "/4d4d", "offset": 12}
    assert "source" not in report.losses[1].as_dict()


def test_long_arrays_are_packed_and_restored() -> None:
    import base64
    import zlib

    array = np.arange(1000, dtype=">u4").reshape(10, 100)
    entry = json.loads(json.dumps(json_value(array)))
    assert entry == packed(array)
    data = zlib.decompress(base64.b64decode(entry["zlib"]))
    np.testing.assert_array_equal(np.frombuffer(data, entry["dtype"]).reshape(entry["shape"]), array)
    assert json_value({"a": (float("nan"), b"\x01", {3, 1})}) == {"a": [None, "01", [1, 3]]}
