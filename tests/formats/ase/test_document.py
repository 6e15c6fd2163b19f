"""The ASE document: original text, typed values, tables of numbers, and edits."""

from __future__ import annotations

import json

import numpy as np
import pytest

import keyframer
from keyframer.formats.ase import records as r
from keyframer.formats.ase.document import Dialect
from keyframer.inspecting.text_build import build_bytes
from tests.building import files as w
from tests.building.editing import dump_text
from tests.corpus import CORPUS, needs_corpus
from tests.samples import FOLDER

SAMPLES = FOLDER / "ase"
REAL = sorted((CORPUS / "ase").glob("*")) if (CORPUS / "ase").is_dir() else []


def lines(document: keyframer.Document) -> dict[bytes, tuple[object, ...]]:
    return {line.keyword: line.values for line in document.find(r.Line)}


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("textured.ase", Dialect()),
        ("utf8_mark.ase", Dialect("utf-8", mark=True)),
        ("cp1252_crlf.ase", Dialect("cp1252", newline="\r\n")),
        ("utf16_le.ase", Dialect("utf-16-le", newline="\r\n")),
        ("utf16_be_mark.ase", Dialect("utf-16-be", mark=True)),
    ],
)
def test_encodings(name: str, dialect: Dialect) -> None:
    data = (SAMPLES / name).read_bytes()
    document = keyframer.decode(data)
    assert document.dialect == dialect
    if name != "textured.ase":
        assert keyframer.load(SAMPLES / name).nodes[0].name == "Fähre"
    # the first record begins after the byte order mark
    assert document.records[0].offset == {True: 3 if "utf8" in name else 2, False: 0}[dialect.mark]
    last = list(document.find(r.Line))[-1]
    assert last.offset is not None
    star = "*".encode(dialect.encoding)
    assert data[last.offset : last.offset + len(star)] == star


def test_values_have_the_types_of_their_keywords() -> None:
    values = lines(keyframer.read(SAMPLES / "textured.ase"))
    assert values[b"3DSMAX_ASCIIEXPORT"] == (200,)
    assert values[b"SCENE_FILENAME"] == (b"made.max",)
    assert values[b"SCENE_BACKGROUND_STATIC"] == (0.0, 0.0, 0.5)
    assert values[b"MATERIAL_SHADING"] == (b"Phong",)
    assert values[b"MATERIAL_TWOSIDED"] == ()


def test_unusual_text_is_parsed_and_kept() -> None:
    document = keyframer.read(SAMPLES / "odd.ase")
    values = lines(document)
    assert values[b"SCENE_FIRSTFRAME"] == (0,)  # +0
    assert values[b"SCENE_LASTFRAME"] == (1,)  # 1.0
    assert values[b"NODE_NAME"] == (b"bare",)
    assert values[b"TM_ROW3"] == (10.0, 0.5, -0.25)  # 1e1 .5 -0,25
    assert values[b"SCENE_MOOD"] == ()
    unknown = next(line for line in document.find(r.Line) if line.keyword == b"SCENE_MOOD")
    assert unknown.text == ' "cheerful { * }" 7'
    vertices = document.first(r.VertexList)
    np.testing.assert_array_equal(vertices.values, [[0.5, 1.0, -0.5], [np.nan, np.nan, np.inf], [100.0, 0.2, 0.0]])
    assert [record.data for record in document.find(r.RawText)] == [b"// a remark that is no keyword", b"1 2 3"]


def test_tables() -> None:
    document = keyframer.read(SAMPLES / "textured.ase")
    faces = document.first(r.FaceList)
    assert faces.corners.tolist() == [[0, 1, 2]]
    assert faces.edges.tolist() == [[1, 0, 1]]
    assert faces.smoothing.tolist() == [0b101]  # groups 1 and 3
    assert faces.materials.tolist() == [1]
    normals = document.first(r.Normals)
    assert normals.normals.tolist() == [[0.0, 0.0, 1.0]]
    assert normals.corners.tolist() == [0, 1, 2]
    keys = [keys for keys in document.find(r.Keys) if keys.keyword == b"CONTROL_POS_TRACK"]
    assert keys[0].times.tolist() == [0, 160, 640]
    assert keys[0].values[:, 0].tolist() == [10.0, 11.0, 12.0]


def test_only_edited_lines_change() -> None:
    data = (SAMPLES / "textured.ase").read_bytes()
    document = keyframer.decode(data)
    line = next(line for line in document.find(r.Line) if line.keyword == b"SCENE_LASTFRAME")
    line.values = (99,)
    vertices = document.first(r.VertexList)
    moved = vertices.values.copy()
    moved[1, 2] = 0.123456
    vertices.values = moved
    edited = keyframer.encode(document).decode()
    assert edited == data.decode().replace("LASTFRAME 4", "LASTFRAME 99").replace(
        "   1\t11.0000\t0.0000\t0.0000", "   1\t11.0000\t0.0000\t0.123456"
    )


def test_edits_in_utf_16_are_written_in_utf_16() -> None:
    data = (SAMPLES / "utf16_le.ase").read_bytes()
    document = keyframer.decode(data)
    line = next(line for line in document.find(r.Line) if line.keyword == b"NODE_NAME")
    line.values = (b"Boot",)
    assert keyframer.encode(document) == data.decode("utf-16-le").replace('"Fähre"', '"Boot"', 1).encode("utf-16-le")


@pytest.mark.parametrize(
    ("keyword", "values"),
    [
        (b"NODE_NAME", (b'a"b',)),
        (b"NODE_NAME", (7,)),
        (b"TM_POS", (1.0, 2.0)),
        (b"SCENE_FIRSTFRAME", (1.5,)),
        (b"NO SUCH", ()),
    ],
)
def test_values_that_cannot_be_written_are_refused(keyword: bytes, values: tuple[float | bytes, ...]) -> None:
    document = keyframer.decode(w.ase())
    document.records.append(r.Line(keyword, values))
    with pytest.raises(ValueError, match=r"expected|not"):
        keyframer.encode(document)


def test_new_documents_are_formatted_like_those_of_3ds_max() -> None:
    scene = r.BLOCK_TYPES[b"SCENE"]()
    scene.children = [r.Line(b"SCENE_FRAMESPEED", (30,)), r.Line(b"SCENE_AMBIENT_STATIC", (0.5, 0.0, 1 / 3))]
    keys = r.Keys(b"CONTROL_BEZIER_POS_KEY")
    document = keyframer.decode(w.ase())
    document.records, document.dialect = [r.Line(b"3DSMAX_ASCIIEXPORT", (200,)), scene], None
    expected = "*3DSMAX_ASCIIEXPORT 200\n*SCENE {\n\t*SCENE_FRAMESPEED 30\n"
    expected += "\t*SCENE_AMBIENT_STATIC 0.5000\t0.0000\t0.3333333333333333\n}\n"
    assert keyframer.encode(document).decode() == expected
    document.records.append(keys)
    with pytest.raises(ValueError, match="controller"):
        keyframer.encode(document)


def test_a_table_of_3ds_max_is_dumped_as_numbers_only() -> None:
    value = json.loads(dump_text(keyframer.read(SAMPLES / "textured.ase")))
    stack, bodies = list(value["records"]), []
    while stack:
        record = stack.pop()
        stack += record.get("children", [])
        bodies += [record["fields"]["body"]] if "body" in record.get("fields", {}) else []
    assert len(bodies) == 9
    assert set(bodies) == {None}


@needs_corpus
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_files_of_3ds_max(path) -> None:  # type: ignore[no-untyped-def]
    """They decode without loss and without issues, and almost all lines are formatted as we format them."""
    data = path.read_bytes()
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    assert not len(document.issues)
    assert build_bytes(dump_text(document))[1] == data
    other = [record for record in document.find(r.Line) if record.text is not None]
    assert [record.keyword for record in other] == [b"3DSMAX_ASCIIEXPORT"]  # a tab instead of a space
    for table in document.find(r.Table):
        table.body = None
    assert keyframer.encode(document) == data


def test_a_repeated_value_is_described_with_the_values_before_it() -> None:
    document = keyframer.decode(w.ase_object("*MESH_BONE_VERTEX 0 1 2"))
    (issue,) = document.issues
    assert issue.code == "STRUCT_SYNTAX"
    assert "expected whole number, 3 or more numbers (number and position of a vertex" in issue.message


def test_a_broken_table_is_kept_line_by_line() -> None:
    data = w.ase_object("*MESH {\n*MESH_VERTEX_LIST {\n*MESH_VERTEX 0 1 2 3\n*MESH_VERTEX 1 1 2\n}\n}")
    document = keyframer.decode(data)
    (issue,) = document.issues
    assert (issue.code, issue.path) == ("STRUCT_SYNTAX", "/geomobject[0]/mesh/mesh_vertex_list")
    assert issue.offset == data.index(b"*MESH_VERTEX_LIST")
    assert [line.text for line in document.find(r.Line) if line.keyword == b"MESH_VERTEX"] == [" 0 1 2 3", " 1 1 2"]
    assert keyframer.encode(document) == data
