"""glTF for Luanti: files break none of its rules, each rule is noticed in a file that breaks it, and motion is kept."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer import Channel, Clip, Material, Mesh, Node, RotationForm, Scene, TextureMap, Track
from keyframer.exchange.gltf.profiles import findings
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Camera, Morph, Space
from tests.cli.running import EXAMPLE, Run
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.samples import sample_files

Json = dict[str, Any]


def written(scene: Scene, folder: Path, **options: Any) -> Json:
    path = folder / "out.glb"
    keyframer.save(scene, path, profile="luanti", overwrite=True, **options)
    return json_of(path)


def json_of(path: Path) -> Json:
    data = path.read_bytes()
    return json.loads(data[20 : 20 + struct.unpack_from("<I", data, 12)[0]])  # type: ignore[no-any-return]


def two_clips() -> Scene:
    """A node that slides in one clip and turns in the other, with a texture, a camera and a morph."""
    slide = Track("position", [0, 10, 20], [(0, 0, 0), (5, 0, 0), (0, 3, 0)])
    turn = Track("rotation", [0, 30], [(0, 0, 0, 1), (0, 0, 1, 0)], form=RotationForm.QUATERNION_ABSOLUTE)
    mesh = Mesh("Box", [(0, 0, 0), (2, 0, 0), (0, 2, 0)], [(0, 1, 2)], uv=[(0, 0), (1, 0), (0, 1)], face_materials=[0])
    shape = Morph(["base", "other"], [mesh.positions, np.asarray(mesh.positions) * 2])
    nodes = [Node("Box", mesh=0, position=[1, 2, 3]), Node("Eye", camera=0), Node("Soft", mesh=0, morph=shape)]
    weights = Track("morph", [0, 10], [(1, 0), (0, 1)])
    clips = [Clip("slide", [Channel(0, slide), Channel(2, weights)], 0, 20), Clip("turn", [Channel(0, turn)], 0, 30)]
    material = Material("skin", maps={"texture1": TextureMap("skin.png")})
    return Scene(nodes=nodes, meshes=[mesh], materials=[material], cameras=[Camera("Eye")], clips=clips)


def test_the_file_has_only_what_luanti_takes(tmp_path: Path) -> None:
    root = written(two_clips(), tmp_path)
    assert list(findings(root)) == []
    assert not root.keys() & {"extensionsUsed", "extensionsRequired", "images", "cameras"}
    assert [texture["name"] for texture in root["textures"]] == ["skin.png"]
    assert root["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["index"] == 0
    assert len(root["animations"]) == 1
    assert {sampler.get("interpolation", "LINEAR") for sampler in root["animations"][0]["samplers"]} <= {
        "LINEAR",
        "STEP",
    }
    assert "TEXCOORD_0" in root["meshes"][0]["primitives"][0]["attributes"]


def test_names_keep_their_spaces(tmp_path: Path) -> None:
    """Lua addresses bones by name, and real models have ``hand.l `` with a space."""
    nodes = [Node("hand.l "), Node("  "), Node("hand.l", mesh=0)]
    space = Space("y")
    root = written(
        Scene(space=space, nodes=nodes, meshes=[Mesh("A", [(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])]), tmp_path
    )
    assert [node["name"] for node in root["nodes"]] == ["hand.l ", "object", "hand.l"]
    assert keyframer.load(tmp_path / "out.glb").nodes[0].name == "hand.l "


def test_clips_follow_each_other_on_one_timeline(tmp_path: Path) -> None:
    """Where the report says, the only animation plays each clip."""
    scene = two_clips()
    report = keyframer.save(scene, tmp_path / "out.glb", profile="luanti")
    sections = {loss.path: loss.args for loss in report if loss.code == "CLIP_SECTION"}
    assert list(sections) == ["/clips/slide", "/clips/turn"]
    found = keyframer.load(tmp_path / "out.glb")
    for number, section in enumerate(sections.values()):
        seconds = np.linspace(0.0, section["end"] - section["begin"], 7)
        wanted = keyframer.pose(scene, seconds, clip=number).world[:, 0]
        played = keyframer.pose(found, seconds + section["begin"]).world[:, found.find("Box")]
        assert np.allclose(played, wanted, atol=1e-3)
    assert [round(section["end"] - section["begin"], 4) for section in sections.values()] == [0.6667, 1.0]


def test_sequences_of_a_model_are_ranges_in_seconds(tmp_path: Path) -> None:
    (path,) = (path for path in sample_files("b3d") if path.name == "layered.b3d")
    sequences = [each for clip in keyframer.load(path).clips for each in clip.extras["b3d"].get("sequences", ())]
    report = keyframer.save(keyframer.load(path), tmp_path / "out.glb", profile="luanti")
    assert len([loss for loss in report if loss.code == "CLIP_SECTION"]) == len(sequences)


BREAKS: dict[str, tuple[Callable[[Json], Any], bool, str]] = {
    "extension": (lambda root: root.update(extensionsRequired=["KHR_x"]), True, "it requires KHR_x"),
    "nodes": (lambda root: root.pop("nodes"), True, "it has no nodes"),
    "cubic": (
        lambda root: root["animations"][0]["samplers"][0].update(interpolation="CUBICSPLINE"),
        True,
        "CUBICSPLINE",
    ),
    "pointer": (lambda root: root["animations"][0]["channels"][0]["target"].pop("node"), True, "has no node"),
    "weights": (lambda root: root["animations"][0]["channels"][0]["target"].update(path="weights"), True, "morph"),
    "vertices": (lambda root: root["accessors"][_positions(root)].update(count=70_000), True, "70000 vertices"),
    "packed positions": (lambda root: root["accessors"][_positions(root)].update(componentType=5122), True, "POSITION"),
    "images": (lambda root: root.update(images=[{"uri": "a.png"}]), False, "images are supplied"),
    "cameras": (lambda root: root.update(cameras=[{"type": "perspective"}]), False, "no cameras"),
    "animations": (lambda root: root["animations"].append(root["animations"][0]), False, "only one animation"),
    "targets": (lambda root: root["meshes"][0]["primitives"][0].update(targets=[{}]), False, "no morph targets"),
    "matrix": (lambda root: _animated(root).update(matrix=[1.0] * 16), False, "has a matrix"),
}


def _positions(root: Json) -> int:
    return int(root["meshes"][0]["primitives"][0]["attributes"]["POSITION"])


def _sampler(root: Json) -> Json:
    return root["animations"][0]["samplers"][0]  # type: ignore[no-any-return]


def _animated(root: Json) -> Json:
    return root["nodes"][root["animations"][0]["channels"][0]["target"]["node"]]  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", BREAKS)
def test_each_rule_is_noticed(name: str, tmp_path: Path) -> None:
    change, is_refused, words = BREAKS[name]
    root = written(two_clips(), tmp_path)
    change(root)
    found = list(findings(root))
    assert any(each.is_refused == is_refused and words in each.reason for each in found), found


def test_check_names_what_luanti_refuses(run: Run, tmp_path: Path) -> None:
    ours, others = tmp_path / "luanti.glb", tmp_path / "usual.glb"
    assert run("convert", EXAMPLE, ours, "--profile", "luanti").code == 0
    assert run("convert", EXAMPLE, others).code == 0
    assert (run("check", ours, "--profile", "luanti").out).endswith(": clean\n")
    refused = run("check", others, "--profile", "luanti", "--format", "json")
    counts = json.loads(refused.out)["files"][0]["counts"]
    assert (refused.code, counts["PROFILE_REFUSED"], counts["PROFILE_IGNORED"]) == (1, 3, 2)
    assert run("check", others).out.endswith(": clean\n")
    wrong = run("check", EXAMPLE, "--profile", "luanti")
    assert (wrong.code, "known only for glTF 2.0" in wrong.err) == (2, True)


def test_cubic_keys_and_large_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Luanti plays no cubic keys"):
        keyframer.save(two_clips(), tmp_path / "out.glb", profile="luanti", keys="cubic")
    points, corners = np.random.default_rng(1).random((70_000, 3)), np.arange(69_999).reshape(-1, 3)
    large = Scene(nodes=[Node("A", mesh=0)], meshes=[Mesh("A", points, corners)])
    with pytest.raises(ValueError, match="Luanti would refuse the file: /meshes/0/primitives/0: 69999 vertices"):
        keyframer.save(large, tmp_path / "big.glb", profile="luanti")
    assert not (tmp_path / "big.glb").exists()


@needs_corpus
@needs_node_tools
def test_real_models_keep_their_motion(tmp_path: Path) -> None:
    """All models of Blitz3D and Luanti: Khronos' validator finds nothing, and the pose is that of the model."""
    files = sorted((CORPUS / "b3d").glob("*.b3d"))
    outs = []
    for number, path in enumerate(files):
        scene = keyframer.load(path)
        outs.append(tmp_path / f"{number}.glb")
        keyframer.save(scene, outs[-1], profile="luanti")
        assert list(findings(json_of(outs[-1]))) == [], path.name
        found = keyframer.load(outs[-1])
        assert len(found.clips) <= 1
        seconds = np.linspace(0.0, 1.0, 3) if scene.clips and found.clips else [0.0]
        wanted = keyframer.pose(in_space(scene, found.space), seconds).world
        played = keyframer.pose(found, seconds).world
        size = max(1.0, float(np.abs(wanted[:, :, :3, 3]).max()))
        places = {node.name: number for number, node in enumerate(scene.nodes)}
        compared = [(number, places[node.name]) for number, node in enumerate(found.nodes) if node.name in places]
        assert len(compared) == len(scene.nodes), path.name
        for number, place in compared:
            assert np.abs(played[:, number, :3, 3] - wanted[:, place, :3, 3]).max() < 1e-3 * size, path.name
    assert len(outs) > 50
    assert_valid(outs)
