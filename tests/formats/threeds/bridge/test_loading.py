"""keyframer.load: strict by default, salvage on request, with located errors."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk
from keyframer.issues import Severity
from tests.building import threeds_records as make
from tests.corpus import CORPUS, needs_corpus
from tests.samples import FOLDER, unhex


def broken_faces() -> bytes:
    box = make.mesh("Box")
    next(child for child in box.children[0].children if isinstance(child, r.FaceArray)).faces = np.array(
        [[0, 1, 2, 7], [0, 1, 3, 7]], np.uint16
    )
    return make.file_bytes([box], [make.node("object", "Box", 0)])


def broken_group() -> bytes:
    box = make.mesh("Box")
    faces = next(child for child in box.children[0].children if isinstance(child, r.FaceArray))
    faces.children = [r.MaterialGroup(material=b"red", faces=np.array([0, 5], np.uint16))]
    paint = r.Material(children=[r.MaterialName(name=b"red")])
    return make.file_bytes([paint, box], [])


def file_of_nodes(*nodes: Chunk) -> bytes:
    return make.file_bytes([], nodes)


def file_of_parents(*pairs: tuple[int, int]) -> bytes:
    return file_of_nodes(*(make.node("object", f"N{i}", i, parent=parent) for i, parent in pairs))


BROKEN = {
    "a face with a missing vertex": (
        broken_faces(),
        "LINK_INDEX_OUT_OF_RANGE",
        "/4d4d/3d3d/4000[0]/4100/4120/faces[1]",
    ),
    "a material group with a missing face": (
        broken_group(),
        "LINK_INDEX_OUT_OF_RANGE",
        "/4d4d/3d3d/4000[0]/4100/4120/4130[0]/faces[1]",
    ),
    "its own parent": (file_of_parents((0, 0)), "LINK_PARENT_CYCLE", "/4d4d/b000/b002[0]/b010"),
    "a cycle of three": (file_of_parents((0, 1), (1, 2), (2, 0)), "LINK_PARENT_CYCLE", "/4d4d/b000/b002[2]/b010"),
    "an ambiguous parent": (
        file_of_nodes(make.node("object", "A", 5), make.node("object", "B", 5), make.node("object", "C", 6, parent=5)),
        "LINK_DUPLICATE_ID",
        "/4d4d/b000/b002[1]",
    ),
    "a repeated track": (
        file_of_nodes(make.node("object", "A", 0, *[make.track("position", [0], [[i, 0, 0]]) for i in (1, 2)])),
        "STRUCT_DUPLICATE_CHUNK",
        "/4d4d/b000/b002[0]/b020[1]",
    ),
    "truncated": (file_of_parents((0, -1))[:-3], "STRUCT_TRUNCATED", "/4d4d"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_unsafe_files_raise_an_error_with_code_offset_and_path(what: str) -> None:
    data, code, path = BROKEN[what]
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.load(BytesIO(data))
    assert (caught.value.code, caught.value.path) == (code, path)
    assert 0 <= caught.value.offset < len(data)


@pytest.mark.parametrize("what", BROKEN)
def test_salvage_leaves_out_unsafe_parts_and_lists_them(what: str) -> None:
    data, code, path = BROKEN[what]
    scene = keyframer.load(BytesIO(data), salvage=True)
    assert (code, path) in [(issue.code, issue.path) for issue in scene.issues]
    assert np.isfinite(keyframer.pose(scene, frames=[0, 1]).world).all()
    for mesh in scene.meshes:
        assert (mesh.corners < len(mesh.positions)).all()


def test_salvage_of_a_valid_file_changes_nothing() -> None:
    data = make.file_bytes(
        [make.mesh("Box")], [make.node("object", "Box", 0, make.track("position", [0], [[1, 2, 3]]))]
    )
    strict, lenient = keyframer.load(BytesIO(data)), keyframer.load(BytesIO(data), salvage=True)
    assert np.array_equal(strict.meshes[0].positions, lenient.meshes[0].positions)
    assert len(strict.issues) == len(lenient.issues)


def test_a_duplicate_id_that_is_not_referenced_is_only_a_warning() -> None:
    scene = keyframer.load(BytesIO(file_of_nodes(make.node("object", "A", 5), make.node("object", "B", 5))))
    assert scene.issues.counts["LINK_DUPLICATE_ID"] == 1
    assert scene.issues.first_unsafe() is None


def test_a_node_with_a_missing_parent_is_a_root() -> None:
    """Ids from 2 on, as the writer A3DSCENE numbers nodes."""
    data = unhex("""
        4d 4d 4a 00 00 00
        00 b0 44 00 00 00
          02 b0 1f 00 00 00
            30 b0 08 00 00 00  02 00                             # id 2
            10 b0 11 00 00 00  43 75 62 65 00  00 40  00 00  01 00   # "Cube", parent 1: missing
          02 b0 1f 00 00 00
            30 b0 08 00 00 00  03 00                             # id 3
            10 b0 11 00 00 00  42 61 6c 6c 00  00 40  00 00  02 00   # "Ball", parent 2
    """)
    scene = keyframer.load(BytesIO(data))
    assert [(node.name, node.parent) for node in scene.nodes] == [("Cube", None), ("Ball", 0)]
    assert [str(issue) for issue in scene.issues if issue.severity is not Severity.INFO] == [
        "warning: LINK_PARENT_MISSING at 0x1a in /4d4d/b000/b002[0]/b010/parent: the parent 1 of 'Cube' does not exist"
    ]
    assert keyframer.encode(keyframer.decode(data)) == data


def test_a_version_of_two_bytes_is_a_warning() -> None:
    data = unhex("""
        4d 4d 0e 00 00 00
        02 00 08 00 00 00  03 00  # version 3, in two bytes instead of four
    """)
    scene = keyframer.load(BytesIO(data))
    assert [(issue.code, issue.severity) for issue in scene.issues if issue.code.startswith("STRUCT_")] == [
        ("STRUCT_CHUNK_TOO_SMALL", Severity.WARNING)
    ]
    assert keyframer.encode(keyframer.decode(data)) == data


@needs_corpus
@pytest.mark.parametrize("maker", ["EgisCorp", "heliostate"])
def test_real_files_with_such_oddities_load(maker: str) -> None:
    (path,) = (CORPUS / "wild").glob(f"{maker}__*.3ds")
    scene = keyframer.load(path)
    assert scene.issues.first_unsafe() is None
    assert any(len(mesh.positions) for mesh in scene.meshes)
    assert keyframer.encode(keyframer.read(path)) == path.read_bytes()


def test_a_target_that_is_a_child_of_its_camera() -> None:
    """It is ignored: the camera is aimed at the stored point and keeps its parent."""
    scene = make.load(
        [make.camera("Cam", (0, -5, 0), (0, 0, 0))],
        [
            make.node("object", "$$$DUMMY", 0, make.track("position", [0], [[0, 0, 2]])),
            make.node("camera", "Cam", 1, make.track("position", [0], [[0, -5, -2]]), parent=0),
            make.node("camera target", "Cam", 2, parent=1),
        ],
    )
    assert scene.issues.counts["LINK_TARGET_CYCLE"] == 1
    assert scene.nodes[1].parent == 0
    assert scene.nodes[1].target is None
    world = keyframer.pose(scene, frames=[0]).world[0, 1]
    np.testing.assert_allclose(world[:3, 2], [0, -1, 0], atol=1e-12)  # its back


def test_paths_streams_and_named_formats(tmp_path: Path) -> None:
    path = FOLDER / "3ds" / "windmill.3ds"
    as_text, as_path = keyframer.load(str(path)), keyframer.load(path)
    with open(path, "rb") as stream:
        as_stream = keyframer.load(stream, format="3ds")
    names = [node.name for node in as_path.nodes]
    assert names == [node.name for node in as_text.nodes] == [node.name for node in as_stream.nodes]
    assert as_path.source_format == "3ds"
    with pytest.raises(ValueError, match="unknown format"):
        keyframer.load(path, format="4ds")
    with pytest.raises(OSError, match="nowhere"):
        keyframer.load(tmp_path / "nowhere.3ds")
    with pytest.raises(keyframer.FormatError, match=r"^IO_EMPTY\b"):
        keyframer.load(BytesIO(b""))
    with pytest.raises(keyframer.FormatError, match=r"^IO_UNRECOGNISED\b"):
        keyframer.load(BytesIO(b"MZ" + bytes(90)))


def test_frames_per_second_is_an_option() -> None:
    data = file_of_nodes(make.node("object", "A", 0, make.track("position", [0, 50], [[0, 0, 0], [50, 0, 0]])))
    for fps in (30.0, 25.0, 23.976):
        scene = keyframer.load(BytesIO(data), fps=fps)
        assert scene.clips[0].rate == fps
        assert keyframer.pose(scene, [1.0]).world[0, 0, 0, 3] == pytest.approx(fps)


def test_names_are_unique_and_their_original_bytes_are_kept() -> None:
    data = file_of_nodes(*(make.node("object", "Box", i) for i in range(3)))
    scene = keyframer.load(BytesIO(data.replace(b"Box\0\0@", b"B\xf6x\0\0@")))
    assert [node.name for node in scene.nodes] == ["B\xf6x", "B\xf6x.2", "B\xf6x.3"]
    assert {node.raw_name for node in scene.nodes} == {b"B\xf6x"}
    other = keyframer.load(BytesIO(data.replace(b"Box\0\0@", b"B\xf6x\0\0@")), encoding="cp437")
    assert other.nodes[0].name == "B\xf7x"


def test_warnings_do_not_raise_and_are_listed() -> None:
    nan = float("nan")
    scene = make.load(
        [make.camera("Cam", (nan, 0, 1), (0, nan, 0), bank=nan), make.mesh("Box", [[nan, 0, 0], [1, 0, 0], [0, 1, 0]])],
        [
            make.node("camera", "Cam", 0),
            make.node("object", "Box", 1, make.track("position", [5, 0], [[1, nan, 3], [1e30, 0, 0]])),
            make.node("object", "C", 2, make.track("rotation", [0, 20_000_000], [[1, 0, 0, 0], [0, 0, 0, 1]])),
            make.node("object", "D", 3, make.track("scale", [0], [[1, 1, 1]], tension=[7.0])),
            make.node("object", "E", 4, r.Pivot(pivot=(nan, 0.0, 0.0))),
        ],
    )
    issues = {(issue.code, issue.path) for issue in scene.issues}
    assert issues >= {
        ("DATA_NON_FINITE", "/4d4d/3d3d/4000[0]/4700/position"),
        ("DATA_NON_FINITE", "/4d4d/3d3d/4000[0]/4700/target"),
        ("DATA_NON_FINITE", "/4d4d/3d3d/4000[0]/4700/bank"),
        ("DATA_NON_FINITE", "/4d4d/3d3d/4000[1]/4100/4110/points"),
        ("DATA_NON_FINITE", "/4d4d/b000/b002[0]/b020/keys[0]"),
        ("DATA_KEYS_NOT_INCREASING", "/4d4d/b000/b002[0]/b020/keys[1]"),
        ("DATA_VALUE_HUGE", "/4d4d/b000/b002[0]/b020/keys[1]"),
        ("DATA_ZERO_AXIS", "/4d4d/b000/b002[1]/b021/keys[0]"),
        ("DATA_TIME_HUGE", "/4d4d/b000/b002[1]/b021/keys[1]"),
        ("DATA_TCB_OUT_OF_RANGE", "/4d4d/b000/b002[2]/b022/keys[0]"),
        ("DATA_NON_FINITE", "/4d4d/b000/b002[3]/b013/pivot"),
    }
    posed = keyframer.pose(scene, frames=[-1, 0, 2.5, 5, 1e7])
    assert np.isfinite(posed.world).all()
    for number in range(len(scene.nodes)):
        assert np.isfinite(posed.vertices(number)).all()
