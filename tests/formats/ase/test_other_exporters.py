"""ASE files of other exporters than that of 3ds Max: nothing of a healthy file is lost, and no problem is reported."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.checking import check
from keyframer.formats.ase import records as r
from keyframer.inspecting.text_build import build_bytes
from keyframer.issues import Severity
from keyframer.scene import NodeKind, Scene
from tests.building.editing import dump_text
from tests.corpus import CORPUS, needs_corpus

QUAKE = sorted((CORPUS / "ase-quake").glob("*")) if (CORPUS / "ase-quake").is_dir() else []

SQUARE = """*MESH_VERTEX_LIST	{
*MESH_VERTEX	0	0	0	0
*MESH_VERTEX	1	1	0	0
*MESH_VERTEX	2	1	1	0
*MESH_VERTEX	3	0	1	0
}
"""
FACES = """*MESH_FACE_LIST {
*MESH_FACE 0: A: 0 B: 1 C: 2 AB: 1 BC: 1 CA: 0 *MESH_SMOOTHING 1 *MESH_MTLID 0
*MESH_FACE 1: A: 0 B: 2 C: 3 AB: 0 BC: 1 CA: 1 *MESH_SMOOTHING 2 *MESH_MTLID 0
}
"""
TWO = [[0, 1, 2], [0, 2, 3]]


def file(mesh: str, name: str = "square", before: str = "", after: str = "") -> bytes:
    """Return a file with one object; ``after`` follows its mesh."""
    text = f'*3DSMAX_ASCIIEXPORT\t200\n{before}*GEOMOBJECT\t{{\n*NODE_NAME\t"{name}"\n*MESH\t{{\n{mesh}}}\n{after}}}\n'
    return text.encode("latin-1")


def read_clean(data: bytes) -> Scene:
    """Return the scene of a file; requires that its bytes are kept, and that at most infos are reported."""
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    assert build_bytes(dump_text(document))[1] == data
    report = check(data)
    assert report.verdict == "clean", report
    return keyframer.load(data)


@pytest.mark.parametrize(
    "faces",
    [
        pytest.param(
            "*MESH_FACE\t0\tA:\t0\tB:\t1\tC:\t2\tAB:\t1\tBC:\t1\tCA:\t1\t*MESH_SMOOTHING\t0\t*MESH_MTLID\t0\r\n"
            "*MESH_FACE\t1\tA:\t0\tB:\t2\tC:\t3\tAB:\t1\tBC:\t1\tCA:\t1\t*MESH_SMOOTHING\t0\t*MESH_MTLID\t0\r\n",
            id="no colon",
        ),
        pytest.param("*MESH_FACE 0 A: 0 B: 1 C: 2\n*MESH_FACE 1 A: 0 B: 2 C: 3\n", id="no colon, no edges"),
        pytest.param(
            "*MESH_FACE 0: A: 0 B: 1 C: 2 *MESH_MTLID -1\n*MESH_FACE 1: A: 0 B: 2 C: 3 *MESH_MTLID -1\n",
            id="no edges, no material",
        ),
        pytest.param(
            "*MESH_FACE 0: A: 0 B: 1 C: 2 AB: 0 BC: 0 CA: 0 *MESH_SMOOTHING *MESH_MTLID 4294967295\n"
            "*MESH_FACE 1: A: 0 B: 2 C: 3 AB: 0 BC: 0 CA: 0 *MESH_SMOOTHING 1, 2 *MESH_MTLID 4294967295\n",
            id="groups in every form, an unsigned material",
        ),
        pytest.param(
            "*MESH_FACE 0: A: 0 B: 1 C: 2 AB: 0 BC: 0 CA: 0 *MESH_SMOOTHING 57 *MESH_MTLID 0\n"
            "*MESH_FACE 1: A: 0 B: 2 C: 3 AB: 0 BC: 0 CA: 0 *MESH_SMOOTHING 3 *MESH_MTLID 0\n",
            id="more than 32 smoothing groups",
        ),
    ],
)
def test_rows_of_faces(faces: str) -> None:
    scene = read_clean(file(f"{SQUARE}*MESH_FACE_LIST\t{{\n{faces}}}\n"))
    assert scene.meshes[0].corners.tolist() == TWO


def test_smoothing_groups_beyond_32_stay_different() -> None:
    faces = FACES.replace("SMOOTHING 1 ", "SMOOTHING 57 ").replace("SMOOTHING 2 ", "SMOOTHING 58 ")
    assert read_clean(file(SQUARE + faces)).meshes[0].smoothing.tolist() == [1 << 24, 1 << 25]


FACE_NORMALS = "*MESH_FACENORMAL\t0\t0\t0\t1\n*MESH_FACENORMAL\t1\t0\t0\t-1\n"
VERTEX_NORMALS = "".join(f"*MESH_VERTEXNORMAL\t{number}\t1\t0\t{number}\n" for number in range(4))


@pytest.mark.parametrize(
    ("normals", "faces", "vertices"),
    [
        (FACE_NORMALS + VERTEX_NORMALS, 2, 4),
        (VERTEX_NORMALS + FACE_NORMALS, 2, 4),
        (FACE_NORMALS, 2, 0),
        (VERTEX_NORMALS, 0, 4),
        ("", 0, 0),
    ],
)
def test_normals_in_any_order(normals: str, faces: int, vertices: int) -> None:
    data = file(f"{SQUARE}*MESH_NORMALS {{ \n{normals}}}\n{FACES}")
    assert read_clean(data).meshes[0].corners.tolist() == TWO
    assert not check(data).issues.count(Severity.INFO)
    document = keyframer.decode(data)
    table = document.first(r.Normals)
    assert (table.index.tolist(), table.corners.tolist()) == (list(range(faces)), list(range(vertices)))
    assert table.normals[:, 2].tolist() == [1, -1][:faces]
    assert table.corner_normals.tolist() == [[1, 0, number] for number in range(vertices)]
    if faces:
        table.normals = table.normals * 2.0
        edited = keyframer.decode(keyframer.encode(document)).first(r.Normals)
        assert edited.normals[:, 2].tolist() == [2, -2]
        assert edited.corner_normals.tolist() == table.corner_normals.tolist()


@pytest.mark.parametrize(
    "normals", ["*MESH_FACENORMAL 0\n*MESH_VERTEXNORMAL 0 0 0 1\n", "*MESH_FACENORMAL 0 a b c\n", "*OTHER { 1 }\n"]
)
def test_odd_normals_are_an_info_and_cost_nothing(normals: str) -> None:
    data = file(f"{SQUARE}*MESH_NORMALS {{\n{normals}}}\n{FACES}")
    assert keyframer.load(data).meshes[0].corners.tolist() == TWO
    assert keyframer.encode(keyframer.decode(data)) == data
    report = check(data)
    found = [issue for issue in report.issues if issue.path.endswith("mesh_normals")]
    assert [(issue.code, issue.severity) for issue in found] == [("STRUCT_SYNTAX", Severity.INFO)]


def test_texture_coordinates_without_w_and_colours_with_opacity() -> None:
    tables = (
        "*MESH_NUMTVERTEX 3\n*MESH_TVERTLIST {\n*MESH_TVERT 0 0.5 0.25\n*MESH_TVERT 1 1 0\n*MESH_TVERT 2 0 1\n}\n"
        "*MESH_NUMTVFACES 2\n*MESH_TFACELIST {\n*MESH_TFACE 0 0 1 2\n*MESH_TFACE 1 0 2 1\n}\n"
        "*MESH_NUMCVERTEX 1\n*MESH_CVERTLIST {\n*MESH_VERTCOL 0 0.5 1 0 0.75\n}\n"
        "*MESH_NUMCVFACES 2\n*MESH_CFACELIST {\n*MESH_CFACE 0 0 0 0\n*MESH_CFACE 1 0 0 0\n}\n"
    )
    mesh = read_clean(file(SQUARE + FACES + tables)).meshes[0]
    assert mesh.uv.tolist() == [[0.5, 0.25], [1, 0], [0, 1]]
    assert mesh.uv_corners.tolist() == [[0, 1, 2], [0, 2, 1]]
    assert mesh.colors.tolist() == [[0.5, 1, 0]]


@pytest.mark.parametrize("word", ["nan", "-nan", "nan(ind)", "-nan(ind)", "inf", "-inf", "-1.#IND00", "1.#QNAN"])
def test_numbers_that_are_not_finite_do_not_cost_the_mesh(word: str) -> None:
    """C prints the texture coordinates of degenerate faces in these forms."""
    tables = (
        f"*MESH_NUMTVERTEX 2\n*MESH_TVERTLIST {{\n*MESH_TVERT 0 {word} 0.25 0\n*MESH_TVERT 1 1 0 0\n}}\n"
        "*MESH_NUMTVFACES 2\n*MESH_TFACELIST {\n*MESH_TFACE 0 0 1 1\n*MESH_TFACE 1 0 1 1\n}\n"
    )
    data = file(SQUARE + FACES + tables)
    assert keyframer.encode(keyframer.decode(data)) == data
    assert [issue.code for issue in check(data).issues] == ["DATA_NON_FINITE"]
    mesh = keyframer.load(data).meshes[0]
    assert mesh.corners.tolist() == TWO
    assert np.isfinite(mesh.uv).all()
    assert mesh.uv[1].tolist() == [1, 0]


def test_optional_blocks_may_be_missing_or_empty() -> None:
    """No scene, no transform, no materials for a reference; quoted numbers; objects without content."""
    empty = '*GEOMOBJECT {\n}\n*GEOMOBJECT {\n*NODE_NAME "empty"\n*MESH {\n*MESH_NUMVERTEX 0\n*MESH_NUMFACES 0\n}\n}\n'
    scene = read_clean(file(SQUARE + FACES, before=empty, after="*MATERIAL_REF 0\n"))
    assert [len(mesh.corners) for mesh in scene.meshes] == [2]
    material = '*MATERIAL_LIST {\n*MATERIAL_COUNT 1\n*MATERIAL 0 {\n*MATERIAL_NAME "a"\n*MATERIAL_SHINE "1"\n'
    image = '*MAP_DIFFUSE {\n*MAP_AMOUNT "1"\n*BITMAP "..\\textures\\x.tga"\n}\n}\n}\n'
    scene = read_clean(file(SQUARE + FACES, before=material + image, after="*MATERIAL_REF 0\n"))
    assert scene.materials[0].maps["texture1"].file_name == "..\\textures\\x.tga"
    assert scene.materials[0].maps["texture1"].amount == 1


def test_paths_out_of_the_folder_are_a_caution() -> None:
    paths = ["..\\textures\\x.tga", "/noshader", "C:\\maps\\x.tga", "\\\\base\\x.tga"]
    image = "".join(f'*MAP_DIFFUSE {{\n*BITMAP "{path}"\n}}\n' for path in paths)
    data = file(SQUARE + FACES, before=f"*MATERIAL_LIST {{\n*MATERIAL 0 {{\n{image}}}\n}}\n")
    read_clean(data)
    assert [issue.code.removeprefix("SEC_PATH_") for issue in check(data).issues] == [
        "TRAVERSAL", "ABSOLUTE", "ABSOLUTE", "UNC"
    ]  # fmt: skip


def group(name: str, *content: str) -> str:
    return f'*GROUP "{name}" {{\n{"".join(content)}}}\n'


def member(name: str, parent: str | None, x: int = 0, kind: str = "GEOMOBJECT") -> str:
    link = "" if parent is None else f'*NODE_PARENT "{parent}"\n'
    mesh = f"*MESH {{\n{SQUARE}{FACES}}}\n" if kind == "GEOMOBJECT" else ""
    return f'*{kind} {{\n*NODE_NAME "{name}"\n{link}*NODE_TM {{\n*TM_ROW3 {x} 0 0\n}}\n{mesh}}}\n'


def tree(scene: Scene) -> dict[str, str | None]:
    return {node.name: None if node.parent is None else scene.nodes[node.parent].name for node in scene.nodes}


HEAD = "*3DSMAX_ASCIIEXPORT 200\n"
GROUPED = group(
    "Fan", member("hub", "Fan", 1), group("Blades", member("left", "Blades", 2), member("right", None, 3))
) + member("floor", None)


def test_groups_are_nodes() -> None:
    """A group without an object of its own is a dummy at the origin, and the parent of what is in it."""
    scene = read_clean((HEAD + GROUPED).encode())
    assert tree(scene) == {
        "Fan": None, "hub": "Fan", "Blades": "Fan", "left": "Blades", "right": "Blades", "floor": None
    }  # fmt: skip
    assert [node.name for node in scene.nodes if node.kind is NodeKind.DUMMY] == ["Fan", "Blades"]
    places = keyframer.pose(scene, frames=[0]).world[0, :, 0, 3]
    assert dict(zip(tree(scene), places.tolist(), strict=True)) == {
        "Fan": 0, "hub": 1, "Blades": 0, "left": 2, "right": 3, "floor": 0
    }  # fmt: skip


def test_a_helper_object_with_the_name_of_a_group_is_its_node() -> None:
    text = group("G", member("G", None, 5, "HELPEROBJECT"), member("a", "G", 6), member("b", None, 7))
    scene = read_clean((HEAD + text).encode())
    assert tree(scene) == {"G": None, "a": "G", "b": "G"}
    np.testing.assert_allclose(scene.nodes[2].position, [2, 0, 0])


def test_groups_with_the_same_name_as_each_other_or_a_member() -> None:
    text = group("G", member("a", "G")) + group("G", member("b", "G"), member("G", "G"))
    scene = keyframer.load((HEAD + text).encode())
    names = [node.name for node in scene.nodes]
    assert [names[node.parent] if node.parent is not None else None for node in scene.nodes] == [
        None, names[0], None, names[2], names[2]
    ]  # fmt: skip


def test_edits_keep_groups(tmp_path: Path) -> None:
    data = (HEAD + GROUPED).encode()
    scene = keyframer.load(data)
    scene.nodes[3].position = np.array([9.0, 0, 0])
    keyframer.save(scene, tmp_path / "moved.ase")
    moved = (tmp_path / "moved.ase").read_bytes()
    assert tree(keyframer.load(moved)) == tree(scene)
    assert keyframer.pose(moved, frames=[0]).world[0, 3, 0, 3] == 9
    before, after = data.decode().splitlines(), moved.decode().splitlines()
    assert len(set(before) - set(after)) <= 5, "only the object that moved is written"
    assert re.findall("GROUP.*", moved.decode()) == re.findall("GROUP.*", data.decode())


@pytest.mark.parametrize("edit", ["move", "rename", "leave", "remove"])
def test_edits_of_groups_are_never_lost(tmp_path: Path, edit: str) -> None:
    scene = keyframer.load((HEAD + GROUPED).encode())
    blades, right = scene.nodes[2], scene.nodes[4]
    if edit == "move":
        blades.position = np.array([10.0, 0, 0])
    elif edit == "rename":
        blades.name = "Sails"
    elif edit == "leave":
        right.parent = None
    else:
        for node in scene.nodes[3:5]:
            node.parent = 0
        del scene.nodes[2]
    wanted = tree(scene), keyframer.pose(scene, frames=[0]).world[0, :, 0, 3]
    keyframer.save(scene, tmp_path / "edited.ase")
    edited = keyframer.load(tmp_path / "edited.ase")
    assert tree(edited) == wanted[0]
    places = dict(zip(tree(edited), keyframer.pose(edited, frames=[0]).world[0, :, 0, 3].tolist(), strict=True))
    assert places == pytest.approx(dict(zip(wanted[0], wanted[1].tolist(), strict=True)))


@needs_corpus
@pytest.mark.parametrize("path", QUAKE, ids=lambda path: path.name)
def test_files_of_a_game(path: Path) -> None:
    """23 files, most by Q3Map2: all faces of the text are in the scene, and every parent is found."""
    data = path.read_bytes()
    scene = read_clean(data)
    assert sum(len(mesh.corners) for mesh in scene.meshes) == len(re.findall(rb"\*MESH_FACE\s", data)) > 0
