"""`keyframer.check`: arguments, passes, verdicts, counts and limits; it never raises `FormatError`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import keyframer
from keyframer.catalogue import CATALOGUE
from keyframer.checking import PASSES, VERDICTS, pass_of, report_record, unlisted
from keyframer.cli.formats import supported_features
from keyframer.formats import FORMATS
from keyframer.formats.kit.scene_reading import scene_of
from tests.building import files as w
from tests.building import midtown as clips
from tests.samples import all_samples

WITH_ISSUES = w.main(
    w.chunk(
        0x3D3D,
        w.chunk(0x7777),
        w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 9)), name=b"<b>"),
        w.chunk(0x2200, w.floats(float("nan"), 0, 0, 0)),
    ),
    w.chunk(0xB000, w.node(b"<b>", 0, 5)),
)


def test_clean_file() -> None:
    report = keyframer.check(w.editor(w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2)))))
    assert report.verdict == "clean"
    assert report.format.name == "3ds"
    assert (report.counts, report.truncated, list(report.issues)) == ({}, False, [])
    assert str(report) == "clean"


def test_issues_are_in_order_of_passes_and_paths() -> None:
    report = keyframer.check(WITH_ISSUES)
    assert report.verdict == "damaged"
    assert [(issue.code, issue.path) for issue in report.issues] == [
        ("STRUCT_UNKNOWN_CHUNK", "/4d4d/3d3d/7777"),
        ("LINK_INDEX_OUT_OF_RANGE", "/4d4d/3d3d/4000[0]/4100/4120/faces[0]"),
        ("LINK_PARENT_MISSING", "/4d4d/b000/b002[0]/b010/parent"),
        ("SEC_NAME_MARKUP", "/4d4d/3d3d/4000[0]/name"),
        ("DATA_NON_FINITE", "/4d4d/3d3d/2200/near"),
        ("SEC_NAME_MARKUP", "/4d4d/b000/b002[0]/b010/name"),
    ]
    assert (report.count("error"), report.count("warning"), report.count("info")) == (1, 4, 1)


@pytest.mark.parametrize("kind", ["path", "text path", "stream", "bytes", "document"])
def test_check_accepts_paths_streams_bytes_and_documents(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.3ds"
    path.write_bytes(WITH_ISSUES)
    source = {
        "path": path,
        "text path": str(path),
        "stream": io.BytesIO(WITH_ISSUES),
        "bytes": WITH_ISSUES,
        "document": keyframer.decode(WITH_ISSUES),
    }[kind]
    report = keyframer.check(source)  # type: ignore[arg-type]
    assert report.counts == keyframer.check(WITH_ISSUES).counts
    assert report.size == (None if kind == "document" else len(WITH_ISSUES))


@pytest.mark.parametrize(
    ("data", "code"), [(b"", "IO_EMPTY"), (b"rubbish", "IO_UNRECOGNISED"), (w.editor() + b"x", "STRUCT_TRAILING_DATA")]
)
def test_unreadable_data_is_reported(data: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.3ds"
    path.write_bytes(data)
    report = keyframer.check(path)
    assert report.issues[0].code == code
    assert report.verdict == ("not readable" if code.startswith("IO_") else "readable with problems")
    assert (report.count("error") == 1) == code.startswith("IO_")


def test_errors_of_the_system_are_reported(tmp_path: Path) -> None:
    report = keyframer.check(tmp_path / "nothing.3ds")
    assert (report.verdict, report.format, report.size) == ("not readable", None, None)
    assert str(report.issues[0]) == "error: IO_READ_FAILED: no such file"
    assert report_record(report, "nothing.3ds")["issues"][0]["offset"] is None  # type: ignore[index]
    assert keyframer.check(tmp_path).verdict == "not readable"


def test_format_can_be_given() -> None:
    report = keyframer.check(b"MM" + bytes(30), format="uto3d")
    assert report.issues[0].code == "IO_UNRECOGNISED"
    assert report.format.name == "uto3d"
    with pytest.raises(ValueError, match="unknown format"):
        keyframer.check(b"x", format="klingon")


def test_limits_can_be_given() -> None:
    report = keyframer.check(WITH_ISSUES, limits=keyframer.Limits(file_size=10))
    assert [issue.code for issue in report.issues] == ["LIMIT_FILE_SIZE"]
    few = keyframer.check(w.editor(w.chunk(0x7777) * 50), limits=keyframer.Limits(issues_per_code=3))
    assert len(few.issues) == 3
    assert few.counts == {"STRUCT_UNKNOWN_CHUNK": 50}


def test_issues_beyond_the_limit_are_counted() -> None:
    data = w.editor(*[w.mesh(w.points(*w.TRIANGLE), w.faces((7, 8, 9)), name=b"m%d" % n) for n in range(50)])
    report = keyframer.check(data)
    assert report.truncated
    assert report.counts == {"LINK_INDEX_OUT_OF_RANGE": 50}
    assert report.count("error") == 50
    assert len(report.issues) == 20
    assert unlisted(report) == {"LINK_INDEX_OUT_OF_RANGE": 30}


def test_only_and_ignore() -> None:
    report = keyframer.check(WITH_ISSUES)
    assert report.restricted(only=["LINK_"]).counts == {"LINK_INDEX_OUT_OF_RANGE": 1, "LINK_PARENT_MISSING": 1}
    quiet = report.restricted(ignore=["LINK_", "SEC_NAME_MARKUP", "DATA_"])
    assert quiet.counts == {"STRUCT_UNKNOWN_CHUNK": 1}
    assert quiet.verdict == "damaged"  # loading still refuses the file
    assert quiet.issues.first_unsafe() is None
    assert report.restricted().counts == report.counts
    assert keyframer.check(b"").restricted(ignore=["IO_"]).verdict == "not readable"
    many = keyframer.check(w.editor(w.chunk(0x7777) * 50)).restricted(only=["STRUCT_"])
    assert (many.counts, many.truncated) == ({"STRUCT_UNKNOWN_CHUNK": 50}, True)


def test_every_code_belongs_to_a_pass() -> None:
    assert {pass_of(code) for code in CATALOGUE} == set(PASSES)
    assert list(VERDICTS) == ["not readable", "damaged", "readable with problems", "clean"]


def test_every_format_has_rules() -> None:
    assert all("checks" in supported_features(known) for known in FORMATS)


@pytest.mark.parametrize(("name", "path"), all_samples(), ids=[f"{name}-{path.name}" for name, path in all_samples()])
def test_check_and_load_agree(name: str, path: Path) -> None:
    """Load refuses what check calls unsafe, and the same file gets the same report every time."""
    document = keyframer.read(path)
    report = keyframer.check(path)
    assert str(report) == str(keyframer.check(path))
    assert str(keyframer.check(path.read_bytes())) == str(keyframer.check(document))  # without companions
    unsafe = report.issues.first_unsafe()
    if unsafe is None:
        scene_of(document)
    else:
        with pytest.raises(keyframer.FormatError):
            scene_of(document)


def test_clip_is_checked_with_the_skeleton_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "walk.anim"
    path.write_bytes(clips.retail(clips.walk(4, 2)))
    alone = keyframer.check(path).counts
    assert alone["SCENE_DEFAULT_RIG"]
    skeleton = path.with_suffix(".skel")
    skeleton.write_text("bone hips { offset 0 1 0 bone chest { offset 0 0.5 0 } }")
    assert "SCENE_DEFAULT_RIG" not in keyframer.check(path).counts
    assert [node.name for node in keyframer.load(path).nodes] == ["hips", "chest"]
    skeleton.write_text("bone hips { offset 0 1 0 }")
    (issue,) = (issue for issue in keyframer.check(path).issues if issue.code == "LINK_SKELETON_MISMATCH")
    assert "2 bones, the skeleton has 1" in issue.message
    assert keyframer.check(path.read_bytes()).counts == alone


def test_unreadable_skeleton_is_a_warning_of_its_clip(tmp_path: Path) -> None:
    path = tmp_path / "walk.anim"
    path.write_bytes(clips.retail(clips.walk(4, 2)))
    path.with_suffix(".skel").write_text("no skeleton")
    for issues in (keyframer.check(path).issues, keyframer.load(path).issues):
        (issue,) = (issue for issue in issues if issue.code == "LINK_SKELETON_MISMATCH")
        assert issue.severity.label == "warning"
        assert "STRUCT_SYNTAX at 0x0" in issue.message
