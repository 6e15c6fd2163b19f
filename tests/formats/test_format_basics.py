"""Code shared by all formats: options as text, detection results, mesh splitting, optional parts of a format."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.cli.formats import supported_features
from keyframer.formats import format_by_name
from keyframer.formats.contract import Format, options_from_text
from keyframer.formats.kit.declared_fields import FEATURES
from keyframer.formats.kit.mesh_writing import split_by_material, split_mesh
from keyframer.formats.kit.scene_reading import RecordPaths, Reporter, path_finder
from keyframer.formats.kit.summary_tables import Table
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, all_fields
from keyframer.formats.threeds import FORMAT
from keyframer.issues import IssueLog
from keyframer.scene import Mesh, Node, Scene
from tests.samples import SAVED

SAMPLES = Path(__file__).parents[1] / "samples"

# --- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("bool", "yes", True),
        ("bool", "TRUE", True),
        ("bool", "1", True),
        ("bool", "no", False),
        ("bool", "false", False),
        ("bool", "0", False),
        ("int", "12", 12),
        ("int | None", "-3", -3),
        ("float", "1e-3", 0.001),
        ("float | None", "24", 24.0),
        ("str", "12", "12"),
        ("", "anything", "anything"),
    ],
)
def test_option_text_is_converted_to_the_type_of_the_option(kind: str, text: str, value: object) -> None:
    pieces = options_from_text({"it": kind}, {"it": text})["it"]
    assert (pieces, type(pieces)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bool", "it must be true or false, not 'maybe'"),
        ("int", "it must be a whole number, not 'maybe'"),
        ("float | None", "it must be a number, not 'maybe'"),
    ],
)
def test_invalid_option_text_is_refused(kind: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        options_from_text({"it": kind}, {"it": "maybe"})


def test_options_that_are_not_text_are_unchanged() -> None:
    assert options_from_text({"it": "int"}, {"it": 2.5, "other": None}) == {"it": 2.5, "other": None}


@pytest.mark.parametrize("format", SAVED, ids=lambda format: format.name)
def test_undeclared_options_are_refused(format: keyframer.Format) -> None:
    with pytest.raises(ValueError, match=f"{format.name} has no option 'colour'"):
        format.from_scene(Scene([Node("box")]), {"colour": "red"})
    assert format.name in repr(format)


NAN, INF = float("nan"), float("inf")
RATES = [{"fps": 0.0}, {"fps": -1.0}, {"fps": NAN}, {"fps": INF}]
READING: dict[str, list[dict[str, object]]] = {
    "3ds/windmill.3ds": [{"geometry": "both"}, {"rotation_keys": "?"}, {"sign_flips": True}, {"encoding": "klingon"}],
    "uto3d/maxscript.u3d": [{"fov_keys": "turns"}, {"scale_position_keys": "maybe"}, {"geometry": "raw"}],
    "midtown/retail.anim": [{"euler_order": "XXY"}, {"euler_order": "yzx"}],
    "nodeanim/default_mixed.nanim": [{"time_unit": "hours"}, {"rotation_keys": "?"}, {"up": "w"}, {"handedness": "?"}],
    "ase/textured.ase": [{"rotation_keys": "maybe"}],
}
READING |= {name: READING[name] + RATES for name in READING if name.startswith(("3ds", "midtown", "nodeanim"))}
WRITING: dict[str, list[dict[str, object]]] = {
    "3ds": [*RATES, {"max_error": -1.0}],
    "uto3d": [{"dialect": "C"}, {"max_error": -1.0}],
    "hale3d": [{"file": "both"}, {"fps": 0}, {"fps": 1 << 32}, {"dialect": "morse"}],
    "midtown": [{"dialect": "arcade"}, {"euler_order": "XX"}, {"fps": 0.0}, {"max_error": -1.0}],
    "nodeanim": [
        *({"time_unit": "years"}, {"rotation_keys": "both"}, {"up": "w"}, {"handedness": "?"}, {"dialect": "middle"}),
    ],
    "ase": [{"max_error": -1.0}],
}
"""options with values that they cannot have"""


@pytest.mark.parametrize(("name", "option"), [(name, option) for name in READING for option in READING[name]])
def test_values_of_reading_options_are_checked(name: str, option: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(option))):
        keyframer.load(SAMPLES / name, **option)


@pytest.mark.parametrize(("name", "option"), [(name, option) for name in WRITING for option in WRITING[name]])
def test_values_of_writing_options_are_checked(name: str, option: dict[str, object]) -> None:
    scene = keyframer.load(SAMPLES / "3ds/windmill.3ds")
    with pytest.raises(ValueError, match="|".join(map(re.escape, [*option, str(*option.values())]))):
        format_by_name(name).from_scene(scene, option)


def test_repr_of_a_format() -> None:
    assert repr(FORMAT) == f"<Format 3ds: {FORMAT.title}>"


@pytest.mark.parametrize("known", SAVED, ids=lambda known: known.name)
def test_every_capability_is_a_feature_or_a_field_of_the_model(known: keyframer.Format) -> None:
    """Shadows are reported as a feature, and stored as a field."""
    fields = {word for part in REPORTED_PARTS for word in all_fields(part)}
    capabilities = known.scene_writer().capabilities
    assert capabilities.handled <= {*FEATURES, *fields, "meshes.casts_shadows"}
    assert not capabilities.supported & set(capabilities.reported), "stored, and reported as lost"


# --- surfaces -------------------------------------------------------------------------------------------------------


def strip(count: int, **parts: object) -> Mesh:
    """A strip of triangles with this number of vertices."""
    corners = np.array([[first, first + 1, first + 2] for first in range(count - 2)])
    return Mesh("strip", np.arange(3.0 * count).reshape(-1, 3), corners, **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [3, 4, 5, 7, 100])
def test_the_pieces_together_are_the_mesh(most: int) -> None:
    mesh = strip(10)
    pieces = split_mesh(mesh, most)
    assert len(pieces) == 1 if most == 100 else len(pieces) > 1
    assert max(len(piece.vertices) for piece in pieces) <= most
    assert max(len(piece.faces) for piece in pieces) <= most
    assert np.concatenate([piece.faces for piece in pieces]).tolist() == list(range(8))
    corners = np.concatenate([piece.vertices[piece.corners] for piece in pieces])
    assert corners.tolist() == mesh.corners.tolist()


def test_pieces_with_many_faces_on_few_vertices() -> None:
    mesh = Mesh("fan", np.eye(3), np.array([[0, 1, 2]] * 9))
    assert [len(piece.faces) for piece in split_mesh(mesh, 4)] == [4, 4, 1]


@pytest.mark.parametrize("count", [2, 4, 6], ids=["too few", "one each", "too many"])
def test_texture_coordinates_without_corners(count: int) -> None:
    """They belong to the vertices of the same index; missing ones are 0, excess ones are ignored."""
    mesh = strip(4, uv=np.arange(2.0 * count).reshape(-1, 2) + 1)
    (piece,) = split_mesh(mesh, 100)
    wanted = [[1.0, 2], [3, 4], [5, 6], [7, 8]][: min(count, 4)] + [[0.0, 0]] * max(4 - count, 0)
    assert piece.uv.tolist() == wanted


def test_texture_coordinates_in_another_order_need_no_seams() -> None:
    mesh = strip(4, uv=np.array([[9.0, 9], [1, 1], [2, 2], [3, 3]]), uv_corners=np.array([[3, 2, 1], [2, 1, 0]]))
    (piece,) = split_mesh(mesh, 100)
    assert (len(piece.vertices), piece.uv.tolist()) == (4, [[3, 3], [2, 2], [1, 1], [9, 9]])


def test_each_material_gives_a_piece() -> None:
    mesh = strip(5, face_materials=np.array([1, -1, 1]))
    pieces = split_by_material(mesh)
    assert [number for number, _ in pieces] == [-1, 1]
    assert [piece.faces.tolist() for _, piece in pieces] == [[1], [0, 2]]
    assert [piece.vertices.tolist() for _, piece in pieces] == [[1, 2, 3], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("materials", [None, np.array([0, 0, 0])])
def test_one_material_gives_one_piece(materials: object) -> None:
    ((number, piece),) = split_by_material(strip(5, face_materials=materials))
    assert (number, piece.faces.tolist()) == (-1 if materials is None else 0, [0, 1, 2])


# --- places ---------------------------------------------------------------------------------------------------------


def test_a_record_is_found_by_its_offset_and_by_identity() -> None:
    document = keyframer.read(SAMPLES / "3ds/windmill.3ds")
    find, places = path_finder(document), RecordPaths(document)
    innermost: dict[int, str] = {}
    for place, record in document.walk():
        assert places.path(record) == str(place) == document.path_of(record)
        assert record.offset is not None
        innermost[record.offset] = str(place)
    assert {offset: find(offset) for offset in innermost} == innermost
    assert find(1) is None


def test_a_record_of_another_document_has_no_path() -> None:
    document, other = (keyframer.read(SAMPLES / "3ds/windmill.3ds") for _ in range(2))
    for lookup in (RecordPaths(document).path, document.path_of):
        with pytest.raises(LookupError, match="is not part of this document"):
            lookup(other.records[0])


# --- optional parts of a format, and tables -------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [(), (1,), (1, 2, 3)])
def test_rows_must_have_a_cell_for_each_column(cells: tuple[int, ...]) -> None:
    table = Table("sizes", "Sizes", ("width", "height"))
    table.add(2, 3)
    with pytest.raises(ValueError, match=f"sizes: expected 2 cells, not {len(cells)}"):
        table.add(*cells)
    assert table.rows == [(2, 3)]


def test_a_format_without_scenes() -> None:
    class Bare(Format):  # in this module, which is not a package with a bridge
        name = "bare"

    bare = Bare()
    assert supported_features(bare) == ["read", "write", "text"]
    document = keyframer.read(SAMPLES / "3ds/windmill.3ds")
    reporter = Reporter(document, IssueLog())
    bare.apply_rules(document, None, reporter)
    assert not reporter.issues
    with pytest.raises(ValueError, match="bare files can be read, but not as scenes"):
        bare.to_scene(document, {})
    with pytest.raises(ValueError, match="scenes cannot be written as bare"):
        bare.from_scene(Scene([Node("box")]))


def test_a_format_without_a_merger_writes_a_new_file(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = type(FORMAT.scene_writer())
    monkeypatch.setattr(type(FORMAT.scene_bridge()), "writer", lambda self: writer())
    scene = keyframer.load(SAMPLES / "3ds/windmill.3ds")
    assert FORMAT.from_scene(scene).document is scene.origin.document  # not edited
    scene.nodes[0].name = "Renamed"
    written = FORMAT.from_scene(scene)
    assert any(loss.args.get("reason") == "documents of this format cannot be edited" for loss in written.report)
    assert keyframer.encode(written.document) != (SAMPLES / "3ds/windmill.3ds").read_bytes()


def test_a_bridge_that_cannot_be_imported_is_not_a_missing_bridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "format_with_a_broken_bridge"
    package.mkdir()
    (package / "__init__.py").write_text("import keyframer\n\nclass Odd(keyframer.Format):\n    pass\n")
    (package / "bridge.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_module(package.name).Odd().bridge()


def test_a_format_must_have_a_codec() -> None:
    with pytest.raises(ModuleNotFoundError, match="document"):
        Format().codec()


def test_walking_with_indices_and_with_places_gives_the_same_paths() -> None:
    document = keyframer.read(Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds")
    names: list[str] = []
    for record, parent, index in document.walk_indices():
        above = names[parent] if parent >= 0 else ""
        names.append(f"{above}/{record.segment}" + (f"[{index}]" if index or record.numbered else ""))
    assert names == [str(place) for place, _ in document.walk()]
    assert [record for record, _, _ in document.walk_indices()] == [record for _, record in document.walk()]


@pytest.mark.parametrize("format", keyframer.supported_formats(), ids=lambda format: format.name)
def test_a_format_says_whether_scenes_can_be_written(format: keyframer.Format) -> None:
    bridge = format.bridge()
    assert format.writes_scenes == (bridge is not None and bridge.writer() is not None)
