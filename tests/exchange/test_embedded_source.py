"""`--embed-source`: a GLB gives its source file back byte for byte, as long as nothing in it was changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.exchange.gltf.conventions import content_hash
from keyframer.scene import Node, Scene
from tests.building.gltf import Json, glb, loaded, split_glb, triangle
from tests.building.gltf_scenes import SCENES
from tests.cli.running import EXAMPLE, Run
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.samples import FOLDER

SOURCES = [
    EXAMPLE,
    FOLDER / "3ds" / "tracks.3ds",
    FOLDER / "uto3d" / "maxscript.u3d",
]


def embedded(source: Path, target: Path, **options: object) -> keyframer.LossReport:
    return keyframer.convert(source, target, embed_source=True, **options)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_source_comes_back_byte_for_byte(source: Path, suffix: str, tmp_path: Path) -> None:
    report = embedded(source, tmp_path / f"a{suffix}")
    assert not [loss for loss in report if loss.code == "KEYS_RESAMPLED"]
    scene = keyframer.load(tmp_path / f"a{suffix}")
    assert len(scene.issues) == len(keyframer.load(source).issues)
    keyframer.convert(tmp_path / f"a{suffix}", tmp_path / f"back{source.suffix}")
    assert (tmp_path / f"back{source.suffix}").read_bytes() == source.read_bytes()


def test_companions_come_back_too(tmp_path: Path) -> None:
    wave, arm = FOLDER / "hale3d" / "wave-length.anim", FOLDER / "hale3d" / "arm-length.mdl"
    scene = keyframer.load(wave, model=arm)
    assert scene.meshes
    keyframer.save(scene, tmp_path / "a.glb", embed_source=True)
    back = keyframer.load(tmp_path / "a.glb")
    assert [len(mesh.positions) for mesh in back.meshes] == [len(mesh.positions) for mesh in scene.meshes]
    keyframer.save(back, tmp_path / "back.anim", format="hale3d")
    assert (tmp_path / "back.anim").read_bytes() == wave.read_bytes()
    assert (tmp_path / "back.mdl").read_bytes() == arm.read_bytes()


EDITS = ["a node", "a name", "a colour", "our own extras", "the generator", "the buffer", "the hash"]


def edits(root: Json, binary: bytes) -> dict[str, tuple[Json, bytes]]:
    def changed(change: object) -> tuple[Json, bytes]:
        copy = json.loads(json.dumps(root))
        change(copy)  # type: ignore[operator]
        return copy, binary

    middle = len(binary) // 2
    return {
        "a node": changed(lambda copy: copy["nodes"][1].update(translation=[1, 2, 3])),
        "a name": changed(lambda copy: copy["nodes"][1].update(name="other")),
        "a colour": changed(lambda copy: copy["materials"][0].update(doubleSided=True)),
        "our own extras": changed(lambda copy: copy["asset"]["extras"]["keyframer"].update(version="0")),
        "the generator": changed(lambda copy: copy["asset"].update(generator="another program")),
        "the buffer": (root, binary[:middle] + bytes([binary[middle] ^ 1]) + binary[middle + 1 :]),
        "the hash": changed(lambda copy: copy["asset"]["extras"]["keyframer"]["embedded"].update(sha256="0" * 64)),
    }


@pytest.mark.parametrize("name", EDITS)
def test_after_any_change_the_file_is_read_as_gltf(name: str, tmp_path: Path) -> None:
    embedded(EXAMPLE, tmp_path / "a.glb")
    root, binary = split_glb((tmp_path / "a.glb").read_bytes())
    scene = loaded(glb(*edits(root, binary)[name]))
    (issue,) = [issue for issue in scene.issues if issue.code == "SEM_SOURCE_OUTDATED"]
    assert EXAMPLE.name in issue.message or "source.3ds" in issue.message
    assert scene.origin is None
    if name == "a node":
        assert any(node.position.tolist() == [1, 2, 3] for node in scene.nodes)


def test_command_line_says_in_one_line_that_the_source_is_outdated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(capsys)
    assert run("convert", EXAMPLE, tmp_path / "a.glb", "--embed-source").code == 0
    assert run("convert", tmp_path / "a.glb", tmp_path / "same.3ds").code == 0
    assert (tmp_path / "same.3ds").read_bytes() == EXAMPLE.read_bytes()
    root, binary = split_glb((tmp_path / "a.glb").read_bytes())
    root["nodes"][1]["translation"] = [1, 2, 3]
    (tmp_path / "b.glb").write_bytes(glb(root, binary))
    checked = run("check", tmp_path / "b.glb")
    lines = [line for line in checked.out.splitlines() if "SEM_SOURCE_OUTDATED" in line]
    assert len(lines) == 1
    assert f"the content was changed after {EXAMPLE.name} was embedded" in lines[0]


BAD_EMBEDDINGS = {
    "unknown option": {"options": {"bogus": 1}},
    "value of another type": {"options": {"fps": "x"}},
    "value out of range": {"options": {"fps": 0}},
    "no files": {"files": []},
    "no content": {"files": [{"name": "a.3ds"}]},
    "other content": {"files": [{"name": "a.3ds", "bufferView": 0}]},
    "unknown format": {"format": "none"},
}


@pytest.mark.parametrize("name", BAD_EMBEDDINGS)
def test_bad_embedding_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    """The hash is that of the content, so anybody can change the embedding itself."""
    embedded(EXAMPLE, tmp_path / "a.glb")
    root, binary = split_glb((tmp_path / "a.glb").read_bytes())
    root["asset"]["extras"]["keyframer"]["embedded"] |= BAD_EMBEDDINGS[name]
    (tmp_path / "b.glb").write_bytes(glb(root, binary))
    with pytest.raises(keyframer.FormatError, match=r" at 0x\w+ in /"):
        keyframer.load(tmp_path / "b.glb")
    assert keyframer.check(tmp_path / "b.glb").verdict != "clean"


@pytest.mark.parametrize("files", ["without companions", "with another suffix"])
def test_embedding_opens_no_other_file(files: str, tmp_path: Path) -> None:
    wave, arm = FOLDER / "hale3d" / "wave-length.anim", FOLDER / "hale3d" / "arm-length.mdl"
    keyframer.save(keyframer.load(wave, model=arm), tmp_path / "a.glb", embed_source=True)
    root, binary = split_glb((tmp_path / "a.glb").read_bytes())
    content = root["asset"]["extras"]["keyframer"]["embedded"]
    content["options"] = {"model": str(arm), "animation": str(wave)}
    if files == "without companions":
        del content["files"][1:]
    else:
        content["files"][1]["suffix"] = ".bogus"
    (tmp_path / "b.glb").write_bytes(glb(root, binary))
    if files == "without companions":
        assert not keyframer.load(tmp_path / "b.glb").meshes
    else:
        with pytest.raises(keyframer.FormatError, match="companions and options"):
            keyframer.load(tmp_path / "b.glb")


def test_without_the_option_the_report_says_what_became_of_authored_keys(tmp_path: Path) -> None:
    report = keyframer.convert(EXAMPLE, tmp_path / "a.glb")
    (line,) = [loss for loss in report if loss.path.endswith("/keys")]
    assert (line.outcome.value, line.type.key) == ("baked", "KEYS_RESAMPLED:tracks")


@pytest.mark.parametrize(
    ("scene", "reason"),
    [(Scene(nodes=[Node("box")]), "loaded from a file"), (SCENES["static"](), "loaded from a file")],
)
def test_a_scene_without_a_file_is_refused(scene: Scene, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        keyframer.save(scene, tmp_path / "a.glb", embed_source=True)
    assert list(tmp_path.iterdir()) == []


def test_an_edited_scene_is_refused(tmp_path: Path) -> None:
    scene = keyframer.load(EXAMPLE)
    scene.nodes[0].name = "other"
    with pytest.raises(ValueError, match="changed after loading"):
        keyframer.save(scene, tmp_path / "a.glb", embed_source=True)


def test_embedded_glb_is_no_source(tmp_path: Path) -> None:
    """There is no GLB inside a GLB: an embedded file of another format than those with documents is refused."""
    embedded(EXAMPLE, tmp_path / "a.glb")
    scene = keyframer.load(tmp_path / "a.glb")
    assert scene.origin.document.format.name == "3ds"
    root, binary = split_glb((tmp_path / "a.glb").read_bytes())
    described = root["asset"]["extras"]["keyframer"]["embedded"]
    described["format"] = "gltf"
    described["sha256"] = content_hash(root, [binary[: root["buffers"][0]["byteLength"]]])
    with pytest.raises(keyframer.FormatError, match="unknown value gltf"):
        loaded(glb(root, binary))


@needs_node_tools
def test_validator_accepts_embedded_files(tmp_path: Path) -> None:
    for number, source in enumerate(SOURCES):
        embedded(source, tmp_path / f"{number}.glb")
    assert_valid([tmp_path / f"{number}.glb" for number in range(len(SOURCES))])


def test_3ds_to_glb_and_back_adds_no_node_and_turns_no_axes(tmp_path: Path) -> None:
    keyframer.convert(EXAMPLE, tmp_path / "a.glb")
    report = keyframer.convert(tmp_path / "a.glb", tmp_path / "a.3ds")
    assert "/space" not in [loss.path for loss in report]
    before, after = keyframer.load(EXAMPLE), keyframer.load(tmp_path / "a.3ds")
    assert [node.name for node in after.nodes] == [node.name for node in before.nodes]
    assert [node.parent for node in after.nodes] == [node.parent for node in before.nodes]
    assert [node.target for node in after.nodes] == [node.target for node in before.nodes]
    frames = np.arange(before.clips[0].start, before.clips[0].end + 1)
    worlds = [keyframer.pose(scene, frames=frames).world for scene in (before, after)]
    np.testing.assert_allclose(worlds[1], worlds[0], atol=5e-4 * np.abs(worlds[0][..., :3, 3]).max())


def test_turned_axes_are_in_the_report(tmp_path: Path) -> None:
    """A GLB of another program is Y up: 3D Studio is Z up."""
    root, binary = triangle()
    (tmp_path / "a.glb").write_bytes(glb(root, binary))
    report = keyframer.convert(tmp_path / "a.glb", tmp_path / "a.3ds")
    (line,) = [loss for loss in report if loss.code == "AXES_TURNED"]
    assert line.args == {"given": "Y up, right-handed", "written": "Z up, right-handed"}
    assert [node.name for node in keyframer.load(tmp_path / "a.3ds").nodes] == ["tri"]
