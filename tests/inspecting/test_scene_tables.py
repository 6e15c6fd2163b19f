"""Tables of a scene: for every format, and for scenes built by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.checking import check_opened
from keyframer.curves import Interpolation, Track
from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.formats.kit.summary_tables import Table
from keyframer.inspecting.document_tables import file_tables, use_encoding
from keyframer.inspecting.scene_tables import scene_tables, tree_order
from keyframer.inspecting.tables import json_rows
from keyframer.scene import Camera, Channel, Clip, Light, LightType, Material, Mesh, Node, RawChannel, Scene, Skin
from keyframer.scene import TextureMap as Image
from tests.building import uto3d
from tests.building.hale3d import arm, wave
from tests.building.midtown import retail, walk
from tests.samples import all_samples, sample_files

Rows = list[dict[str, object]]


def tables(scene: Scene) -> dict[str, Rows]:
    return {table.name: json_rows(table) for table in scene_tables(scene)}  # type: ignore[misc]


def tables_of_file(data: bytes, format: str, path: Path | None = None) -> dict[str, Rows]:
    opened = OpenedFile(data, format=format, path=path)
    return {table.name: json_rows(table) for table in tables_of(opened)}  # type: ignore[misc]


def tables_of(opened: OpenedFile) -> list[Table]:
    checked = check_opened(opened)
    return [*file_tables(opened, checked.verdict, checked.issues)]


def every_feature() -> Scene:
    scene = Scene(title="t", author="a", copyright="c")
    scene.materials = [Material("red", diffuse=(1, 0, 0), maps={"bump": Image("b.png", amount=0.5)})]
    mesh = Mesh("box", np.zeros((3, 3)), np.array([[0, 1, 2]]), uv=np.zeros((3, 2)))
    mesh.face_materials = np.array([0])
    scene.meshes = [mesh, Mesh("bare", np.zeros((0, 3)), np.zeros((0, 3), int))]
    scene.cameras = [Camera("eye", 60, clip=(1, 100))]
    scene.lights = [Light("lamp", LightType.SPOT, hotspot_degrees=20, falloff_degrees=40)]
    scene.nodes = [
        Node("leaf", parent=2, mesh=0),
        Node("eye", camera=0, target=0),
        Node("root", pivot=np.array([1.0, 0, 0]), hidden=True, file_id=7),
    ]
    turn = Track("position", [0, 9], np.zeros((2, 3)), Interpolation.TCB, tension=np.array([0.5, 0]))
    clip = Clip("walk", [Channel(0, turn), Channel(1, Track("fov", [], []))], 0, 30)
    clip.bounds = np.zeros((31, 2, 3))
    clip.raw_channels = [RawChannel("odd", np.zeros((4, 2)))]
    scene.clips = [clip]
    scene.skins = [Skin("skin", [0], np.eye(4)[None], np.array([0]), np.array([0]), np.array([1.0]), rigid=True)]
    return scene


def test_every_table_of_a_scene_built_by_hand() -> None:
    scene_tables = tables(every_feature())
    about = {row["what"]: row["value"] for row in scene_tables["scene"]}
    assert about["axes"] == "Z up, right-handed, unknown unit"
    assert (about["title"], about["author"], about["copyright"], about["clip"]) == ("t", "a", "c", "walk")
    assert about["time"] == "frames 0 to 30 (1 s at 30 frames per second)"
    assert about["channels"] == "2 with 2 keys"
    assert about["bounding boxes"] == "one per frame, 31 frames"
    assert [(row["node"], row["depth"]) for row in scene_tables["tree"]] == [("eye", 0), ("root", 0), ("leaf", 1)]
    assert scene_tables["tree"][0]["looks at"] == "leaf"
    assert (scene_tables["tree"][1]["id"], scene_tables["tree"][1]["pivot"], scene_tables["tree"][1]["hidden"]) == (
        7,
        "1 0 0",
        True,
    )
    assert (scene_tables["tree"][2]["mesh"], scene_tables["tree"][2]["moves"]) == ("box", "position")
    moving, empty = scene_tables["curves"]
    assert (moving["keys"], moving["first"], moving["last"], moving["interpolation"]) == (2, 0, 9, "tcb")
    assert (moving["wrap"], moving["shaped by"]) == ("single", "tension")
    assert (empty["keys"], empty["first"]) == (0, None)
    assert scene_tables["meshes"][0]["materials"] == "red"
    assert scene_tables["materials"][0]["diffuse"] == "1 0 0"
    assert scene_tables["images"][0]["file"] == "b.png"
    assert scene_tables["cameras"][0]["ranges"] == "1, 100"
    assert scene_tables["lights"][0]["hotspot, falloff"] == "20, 40"
    assert scene_tables["skins"] == [{"skin": "skin", "joints": 1, "influences": 1, "kind": "rigid"}]
    assert scene_tables["raw_channels"] == [{"channel": "odd", "frames": 4, "floats": 2}]


def test_empty_scene_has_only_axes() -> None:
    assert list(tables(Scene())) == ["scene"]


def test_deep_tree_needs_no_recursion() -> None:
    scene = Scene(nodes=[Node(str(number), parent=number - 1 if number else None) for number in range(30_000)])
    assert [depth for _, depth in tree_order(scene)][-1] == 29_999


@pytest.mark.parametrize(("name", "path"), all_samples(), ids=lambda value: getattr(value, "name", value))
def test_every_sample(name: str, path: Path) -> None:
    sample_tables = {table.name: table for table in tables_of(open_file(path))}
    assert "scene" in sample_tables
    scene = keyframer.load(path, salvage=True)
    assert len(sample_tables["tree"].rows if "tree" in sample_tables else []) == len(scene.nodes)
    assert len(sample_tables["curves"].rows if "curves" in sample_tables else []) == sum(
        len(c.channels) for c in scene.clips
    )


def test_samples_cover_every_table() -> None:
    seen: set[str] = set()
    for _, path in all_samples():
        seen |= {table.name for table in tables_of(open_file(path))}
    wanted = {"scene", "tree", "curves", "meshes", "materials", "images", "cameras", "lights", "skins", "raw_channels"}
    assert wanted <= seen


def test_issues_of_building_the_scene_are_listed() -> None:
    file_rows = tables_of_file(retail(walk()), "midtown")
    assert [row["code"] for row in file_rows["issues"]] == ["SCENE_DEFAULT_RIG"]


def test_companions_beside_the_file_are_used(tmp_path: Path) -> None:
    (tmp_path / "x.mdl").write_bytes(arm())
    assert "skins" not in tables_of_file(wave(), "hale3d")
    assert len(tables_of_file(wave(), "hale3d", tmp_path / "x.anim")["skins"]) == 2


def test_names_in_another_code_page() -> None:
    data = uto3d.write(uto3d.Scene(meshes=[uto3d.mesh(b"T\x94wer", 10)]), uto3d.B)
    for encoding, wanted in ((None, "T”wer"), ("cp437", "Töwer")):
        opened = OpenedFile(data)
        use_encoding(opened, encoding)
        tree = next(table for table in tables_of(opened) if table.name == "tree")
        assert tree.rows[0][0] == wanted
    midtown = open_file(sample_files("midtown")[0])  # has no names, and no such option
    use_encoding(midtown, "cp437")
    assert tables_of(midtown)
