"""Opening files: the library, the commands, batch and the viewer agree, and each detects the format only once."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.cli import main
from keyframer.exchange import IMPORTERS
from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.formats import FORMATS
from tests.exchange.four_ways import agreed, converted, ways
from tests.samples import all_samples

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
SAMPLES = {path.name: path.read_bytes() for _, path in all_samples()}


@pytest.fixture
def detections(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each format and importer is asked to detect a file."""
    asked: Counter[str] = Counter()

    def count(kind: type[Any]) -> None:
        sniff = kind.sniff

        def counting(self: Any, *arguments: Any) -> Any:
            asked[self.name] += 1
            return sniff(self, *arguments)

        monkeypatch.setattr(kind, "sniff", counting)

    for kind in {type(known) for known in (*FORMATS, *IMPORTERS)}:
        count(kind)
    return asked


@pytest.mark.parametrize("kind", ["first.3ds", "wave.anim", "text.gltf"])
@pytest.mark.parametrize(
    "arguments",
    [["convert", "{}", "out.glb", "-q"], ["check", "{}"], ["info", "{}"], ["dump", "{}"], ["sample", "{}"]],
    ids=lambda arguments: arguments[0],
)
def test_command_detects_a_file_once(
    detections: Counter[str], arguments: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    detections.clear()
    main([argument.format(kind) for argument in arguments])
    assert set(detections.values()) == {1}, detections


def make(folder: Path) -> None:
    """Write inputs, one for each decision of opening."""
    (folder / "first.3ds").write_bytes(EXAMPLE.read_bytes())
    (folder / "wrong.anim").write_bytes(EXAMPLE.read_bytes())
    (folder / "none").write_bytes(EXAMPLE.read_bytes())
    (folder / "wave.anim").write_bytes(SAMPLES["wave-length.anim"])
    (folder / "alone.anim").write_bytes(SAMPLES["wave-length.anim"])
    (folder / "wave.mdl").write_bytes(SAMPLES["arm-length.mdl"])
    (folder / "empty.3ds").write_bytes(b"")
    (folder / "noise.3ds").write_bytes(b"\x00\x01 nothing of ours")
    with zipfile.ZipFile(folder / "pack.zip", "w") as archive:
        archive.writestr("inside/wave.anim", SAMPLES["wave-length.anim"])
        archive.writestr("inside/wave.mdl", SAMPLES["arm-length.mdl"])
        archive.writestr("mill.3ds", EXAMPLE.read_bytes())
    scene = keyframer.load(EXAMPLE)
    keyframer.save(scene, folder / "text.gltf")
    keyframer.save(scene, folder / "binary.glb")
    (folder / "gltf.3ds").write_bytes((folder / "binary.glb").read_bytes())


GOOD = {
    "first.3ds": (None, "3ds"),
    "wrong.anim": (None, "3ds"),
    "none": (None, "3ds"),
    "wave.anim": (None, "hale3d"),
    "alone.anim": (None, "hale3d"),
    "wave.mdl": (None, "hale3d"),
    "pack.zip!/mill.3ds": (None, "3ds"),
    "pack.zip!/inside/wave.anim": (None, "hale3d"),
    "text.gltf": (None, "gltf"),
    "binary.glb": (None, "gltf"),
    "gltf.3ds": (None, "gltf"),
    "first.3ds as itself": ("3ds", "3ds"),
    "binary.glb as itself": ("gltf", "gltf"),
}
BAD = {
    "empty.3ds": (None, None, "IO_EMPTY"),
    "noise.3ds": (None, None, "IO_UNRECOGNISED"),
    "first.3ds as glTF": ("gltf", "gltf", None),
    "first.3ds as Hale3D": ("hale3d", "hale3d", None),
    "empty.3ds as glTF": ("gltf", "gltf", "IO_EMPTY"),
}


@pytest.mark.parametrize("case", GOOD)
def test_all_ways_agree(case: str, tmp_path: Path) -> None:
    make(tmp_path)
    format, wanted = GOOD[case]
    name = str(tmp_path / case.partition(" as ")[0])
    result = agreed(ways(name, tmp_path, format))
    assert result["format"] == wanted
    assert isinstance(result["nodes"], list)
    assert result["nodes"]
    one, many = converted(name, tmp_path, format)
    assert one == many


@pytest.mark.parametrize("case", BAD)
def test_all_ways_refuse_with_the_same_code(case: str, tmp_path: Path) -> None:
    make(tmp_path)
    format, wanted, code = BAD[case]
    result = agreed(ways(str(tmp_path / case.partition(" as ")[0]), tmp_path, format))
    assert result["format"] == wanted
    assert isinstance(result["nodes"], str)
    assert code in (None, result["nodes"])
    assert result["issues"] == {result["nodes"]: 1}


def test_companion_beside_the_file_is_used_but_not_in_an_archive(tmp_path: Path) -> None:
    make(tmp_path)
    assert open_file(tmp_path / "wave.anim").scene().skins
    assert not open_file(tmp_path / "alone.anim").scene().skins
    given = open_file(tmp_path / "alone.anim", options={"model": tmp_path / "wave.mdl"})
    assert given.scene().skins
    assert not OpenedFile(SAMPLES["wave-length.anim"], name="pack.zip!/inside/wave.anim").scene().skins


def test_scene_is_built_once(tmp_path: Path) -> None:
    make(tmp_path)
    for name in ("first.3ds", "binary.glb"):
        opened = open_file(tmp_path / name)
        assert opened.known_reader is None
        scene = opened.scene()
        assert opened.scene(salvage=True) is scene
        assert opened.known_reader is opened.reader
        assert scene.folder == tmp_path or (scene.origin is not None and scene.origin.folder == tmp_path)


def test_salvaged_scene_is_refused_without_salvage() -> None:
    opened = OpenedFile(SAMPLES["cut.3ds"])
    salvaged = opened.scene(salvage=True)
    unsafe = salvaged.issues.first_unsafe()
    with pytest.raises(keyframer.FormatError) as refused:
        opened.scene()
    assert refused.value.code == unsafe.code


def test_given_format_detects_the_version() -> None:
    data = EXAMPLE.read_bytes()
    detected, chosen = OpenedFile(data), OpenedFile(data, format="3ds")
    assert detected.detection.version is not None
    assert chosen.detection.version == detected.detection.version
    assert OpenedFile(data, format="hale3d").detection.version is None


def test_unknown_format_is_refused_before_reading() -> None:
    with pytest.raises(ValueError, match=r"unknown format 'obj'.*3ds.*gltf"):
        OpenedFile(b"", format="obj")


def test_bytes_can_be_loaded() -> None:
    assert len(keyframer.load(EXAMPLE.read_bytes()).nodes) == len(keyframer.load(EXAMPLE).nodes)


def test_message_about_an_unknown_file_names_every_reader() -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.load(bytes(range(7, 90)))
    for reader in (*FORMATS, *IMPORTERS):
        assert reader.title in caught.value.message
