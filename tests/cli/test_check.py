"""``keyframer check``: verdicts and findings in every style, exit codes, ``--fail-on`` and ``--ignore``."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from tests.building import files as w
from tests.building import midtown as clips
from tests.cli.running import EXAMPLE, STYLES, Run, check_schema

WARNING = w.editor(w.mesh(name=b"<b>"))
INFO = w.editor(w.mesh(name=b""))
ERROR = w.editor(w.mesh(w.faces((0, 1, 2))))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name, data in (("warning", WARNING), ("info", INFO), ("error", ERROR), ("rubbish", b"rubbish")):
        paths[name] = tmp_path / f"{name}.3ds"
        paths[name].write_bytes(data)
    return paths


def test_clean_file(run: Run) -> None:
    ran = run("check", EXAMPLE)
    assert (ran.code, ran.out, ran.err) == (0, f"{EXAMPLE}: clean\n", "")


def test_findings_have_a_location(run: Run, files: dict[str, Path]) -> None:
    ran = run("check", files["error"])
    assert ran.code == 1
    assert ran.out == (
        f"{files['error']}: damaged (1 error)\n"
        "  error: LINK_INDEX_OUT_OF_RANGE at 0x26 in /4d4d/3d3d/4000[0]/4100/4120/faces[0]: "
        "face 0 refers to vertex 2, which does not exist (count: 0)\n"
    )


@pytest.mark.parametrize(
    ("name", "fail_on", "code"),
    [
        *(("error", "error", 1), ("error", "warning", 1), ("error", "info", 1)),
        *(("warning", "error", 0), ("warning", "warning", 1), ("warning", "info", 1)),
        *(("info", "error", 0), ("info", "warning", 0), ("info", "info", 1)),
        *(("rubbish", "error", 1), ("rubbish", "info", 1)),
    ],
)
def test_fail_on_decides_the_exit_code(run: Run, files: dict[str, Path], name: str, fail_on: str, code: int) -> None:
    for style in STYLES:
        assert run("check", "--format", style, "--fail-on", fail_on, files[name]).code == code


def test_only_and_ignore(run: Run, files: dict[str, Path]) -> None:
    assert run("check", "--ignore", "LINK_", files["error"]).code == 0
    assert run("check", "--only", "SEC_", files["error"]).out == f"{files['error']}: damaged\n"
    assert run("check", "--only", "LINK_INDEX_OUT_OF_RANGE", files["error"]).code == 1
    assert run("check", "--ignore", "IO_", files["rubbish"]).code == 1  # a file that cannot be read never passes
    for wrong in ("NOTHING", ""):
        ran = run("check", "--ignore", wrong, files["error"])
        assert ran.code == 2
        assert "docs/issues.md" in ran.err


def test_many_files(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    ran = run("check", "-r", tmp_path, tmp_path / "nothing")
    assert ran.code == 1
    assert ran.err == "keyframer: 5 files checked, 3 failed (--fail-on error)\n"
    assert "nothing: not readable (1 error)\n  error: no such file\n" in ran.out
    assert run("check", "-q", "-r", tmp_path).err == ""


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        (("--only", "damaged"), ["error"]),
        (("--only", "problems"), ["warning"]),
        (("--only", "unreadable"), ["rubbish"]),
        (("--only", "damaged", "--only", "unreadable"), ["error", "rubbish"]),
        (("--severity", "error"), ["error", "rubbish"]),
        (("--severity", "warning"), ["warning", "error", "rubbish"]),
        (("--severity", "info"), ["warning", "info", "error", "rubbish"]),
        (("--only", "damaged", "--severity", "error"), ["error"]),
    ],
)
def test_files_are_selected_by_verdict_and_severity(
    run: Run, files: dict[str, Path], options: tuple[str, ...], listed: list[str]
) -> None:
    for style in STYLES:
        ran = run("check", "--format", style, *options, *files.values(), EXAMPLE)
        assert ran.code == 1  # the exit code is that of all files
        assert [name for name in files if f"{name}.3ds" in ran.out] == listed
        assert "windmill" not in ran.out
        assert f"5 files checked, {len(listed)} of them listed, 2 failed" in ran.err


def test_severity_also_selects_issues(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "both.3ds"
    path.write_bytes(w.editor(w.mesh(name=b"<b>"), w.mesh(name=b"")))
    assert [severity in run("check", path).out for severity in ("warning: ", "info: ")] == [True, True]
    assert "info: " not in run("check", "--severity", "warning", path).out
    record = run("check", "--severity", "warning", "--format", "json", path).json()["files"][0]
    assert (record["verdict"], record["infos"], set(record["counts"])) == (
        *("readable with problems", 0),
        {"SEC_NAME_MARKUP"},
    )


def test_json(run: Run, files: dict[str, Path]) -> None:
    report = run("check", "--format", "json", *files.values(), EXAMPLE).json()
    check_schema("check", report)
    assert [record["verdict"] for record in report["files"]] == [
        *("readable with problems", "clean", "damaged", "not readable", "clean"),
    ]
    assert report["files"][2]["issues"] == [
        {
            "pass": "links",
            "severity": "error",
            "code": "LINK_INDEX_OUT_OF_RANGE",
            "offset": 38,
            "path": "/4d4d/3d3d/4000[0]/4100/4120/faces[0]",
            "message": "face 0 refers to vertex 2, which does not exist (count: 0)",
        }
    ]
    assert report["files"][3]["format"] is None
    for line in run("check", "--format", "jsonl", *files.values()).out.splitlines():
        check_schema("check", json.loads(line))


def test_csv(run: Run, files: dict[str, Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(run("check", "--format", "csv", *files.values(), EXAMPLE).out)))
    assert [row["code"] for row in rows] == [
        *("SEC_NAME_MARKUP", "SEM_NAME_EMPTY", "LINK_INDEX_OUT_OF_RANGE", "IO_UNRECOGNISED", ""),
    ]
    assert rows[-1]["verdict"] == "clean"


@pytest.mark.parametrize("style", STYLES)
def test_issues_beyond_the_limit_are_counted(run: Run, tmp_path: Path, style: str) -> None:
    path = tmp_path / "many.3ds"
    path.write_bytes(w.editor(w.chunk(0x7777) * 70))
    out = run("check", "--format", style, path).out
    if style in ("json", "jsonl"):
        record = json.loads(out)["files"][0] if style == "json" else json.loads(out)
        assert (record["counts"], record["truncated"]) == ({"STRUCT_UNKNOWN_CHUNK": 70}, True)
        assert len(record["issues"]) == 20
    else:
        assert "50 more, not listed" in out


@pytest.mark.parametrize("style", STYLES)
def test_hostile_names_are_escaped(run: Run, tmp_path: Path, style: str) -> None:
    path = tmp_path / "x.3ds"
    path.write_bytes(
        w.editor(w.mesh(name=b"\x1b]0;x\x07<script>\xe2\x80\xae"), w.material(b"=1+1", w.texture(b"=cmd()")))
    )
    out = run("check", "--format", style, path).out
    assert not set(out) & {"\x1b", "\x07", "\u202e"}
    if style == "md":
        assert "<script>" not in out


def test_colours_only_on_a_terminal(run: Run, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("check", files["error"]).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert "\x1b[31merror\x1b[0m" in run("check", files["error"]).out
    assert run("check", "--no-color", files["error"]).out == plain


def test_stdin_zip_and_format(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    import zipfile

    archive = tmp_path / "pack.zip"
    with zipfile.ZipFile(archive, "w") as pack:
        pack.writestr("a.3ds", ERROR)
    assert "pack.zip!/a.3ds: damaged" in run("check", archive).out
    assert run("check", "--from", "uto3d", files["error"]).out.startswith(f"{files['error']}: not readable")
    assert run("check").code == 2


def test_clip_is_checked_with_the_skeleton_beside_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "walk.anim"
    path.write_bytes(clips.retail(clips.walk(4, 2)))
    assert "SCENE_DEFAULT_RIG" in run("check", path).out
    path.with_suffix(".skel").write_text("bone hips { offset 0 1 0 bone chest { offset 0 0.5 0 } }")
    assert "SCENE_DEFAULT_RIG" not in run("check", path).out
