"""Messages about problems outside of files (missing inputs, refused outputs), and about skipped files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from keyframer.exchange import EXPORTERS, IMPORTERS
from keyframer.formats import FORMATS
from tests.batch.places import BAD, OTHER, put
from tests.cli.running import EXAMPLE, Run
from tests.samples import FOLDER as SAMPLES
from tests.viewer_page import needs_page

MAC = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X" + bytes(60)


@pytest.mark.parametrize("command", ["identify", "info", "dump", "sample", "plot", "thumbnail", "convert", "diff"])
def test_missing_file_is_reported_without_code_and_offset(run: Run, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "none.3ds"
    more = {"convert": [tmp_path / "a.glb"], "diff": [EXAMPLE], "thumbnail": ["-o", tmp_path / "a.png"]}
    ran = run(command, missing, *more.get(command, []))
    assert ran.code == 3
    assert f"keyframer: {missing}: no such file\n" in ran.err
    assert "0x0" not in ran.err


def test_missing_file_has_a_code_in_json(run: Run, tmp_path: Path) -> None:
    error = run("info", "--format", "json", tmp_path / "none.3ds").json()["files"][0]["error"]
    assert (error["code"], error["message"]) == ("IO_READ_FAILED", "no such file")


def test_problem_inside_a_file_has_code_and_offset(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.3ds"
    path.write_bytes(EXAMPLE.read_bytes()[:5160])
    assert f"keyframer: {path}: STRUCT_TRUNCATED at 0x2 in /4d4d: " in run("sample", path).err


@pytest.mark.parametrize("command", ["dump", "sample", "thumbnail", "plot", "convert"])
def test_existing_file_is_overwritten_only_with_force(run: Run, tmp_path: Path, command: str) -> None:
    out = tmp_path / ("there.3ds" if command == "convert" else "there.png")
    out.write_bytes(b"mine")
    ran = run(command, EXAMPLE, "-o", out)
    assert ran.code == 3
    assert f"{out} exists (-f overwrites it)" in ran.err
    assert "RUN_" not in ran.err
    assert out.read_bytes() == b"mine"
    assert run(command, EXAMPLE, "-o", out, "-f").code == 0
    assert out.read_bytes() != b"mine"
    assert list(tmp_path.iterdir()) == [out]


def test_message_names_a_refused_report_once(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    ran = run("convert", EXAMPLE, tmp_path / "a.glb", "--report", folder, "-f")
    assert ran.err.startswith(f"keyframer: {folder} is a folder")
    assert ran.err.count(str(folder)) == 1


@needs_page
def test_export_of_no_readable_files_writes_no_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = run("view", tmp_path / "none.3ds", "--export", page)
    assert ran.code == 3
    assert "no such file" in ran.err
    assert "not written: none of the files can be shown" in ran.err
    assert not page.exists()
    assert run("view", tmp_path / "none.3ds", EXAMPLE, "--export", page).code == 3
    assert page.exists()


class TestAppleDouble:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "in"
        put(folder / "a.3ds", OTHER)
        put(folder / "._a.3ds", MAC)
        put(folder / "deep" / "._b.glb", MAC)
        put(folder / "deep" / "._c.3ds", OTHER)  # not AppleDouble, only an unusual name
        put(folder / "._notes.txt", MAC)
        with zipfile.ZipFile(folder.parent / "pack.zip", "w") as archive:
            archive.writestr("a.3ds", OTHER)
            archive.writestr("__MACOSX/._a.3ds", MAC)
        return folder

    @pytest.mark.parametrize("command", ["identify", "check", "info"])
    def test_apple_double_files_are_skipped_and_counted_in_folders(self, run: Run, folder: Path, command: str) -> None:
        ran = run(command, "-r", folder, "--format", "json")
        assert [Path(record["file"]).name for record in ran.json()["files"]] == ["a.3ds", "._c.3ds"]
        assert "keyframer: skipped 2 AppleDouble files" in ran.err

    def test_apple_double_files_are_skipped_in_archives(self, run: Run, folder: Path) -> None:
        ran = run("identify", folder.parent / "pack.zip")
        assert ran.out.count("\n") == 1
        assert ran.code == 0
        assert "skipped 1 AppleDouble file (" in ran.err

    def test_apple_double_files_are_read_if_named(self, run: Run, folder: Path) -> None:
        ran = run("identify", folder / "._a.3ds")
        assert ran.code == 3
        assert "an AppleDouble file" in ran.out
        assert run("identify", "-r", "--all-files", folder).out.count("an AppleDouble file") == 3

    def test_apple_double_files_are_skipped_in_batches(self, run: Run, folder: Path, tmp_path: Path) -> None:
        ran = run("batch", "identify", folder, folder.parent / "pack.zip", "-o", tmp_path / "out", "-j", "1")
        assert ran.code == 0
        assert "3 files: 3 done" in ran.err
        assert "skipped 3 AppleDouble files" in ran.err


class TestBatch:
    def test_codes_of_findings_are_counted(self, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in" / "a.3ds", EXAMPLE.read_bytes() + b"behind the end")
        put(tmp_path / "in" / "b.3ds", EXAMPLE.read_bytes())
        out = tmp_path / "out"
        for again in range(2):
            ran = run("batch", "check", tmp_path / "in", "-o", out, "-j", "1", "--fail-on", "warning")
            assert ran.code == 1, again
            assert "files with issues: STRUCT_TRAILING_DATA 1" in ran.err
        assert "STRUCT_TRAILING_DATA 1)" in run("batch", "report", out).out
        assert "STRUCT_TRAILING_DATA:1" in run("batch", "report", out, "--format", "csv").out
        rows = run("batch", "report", out, "--format", "json").json()["files"]
        assert [row["issues"].get("STRUCT_TRAILING_DATA") for row in rows] == [1, None]
        assert "STRUCT_TRAILING_DATA" in run("batch", "report", out, "--format", "html").out

    def test_summary_counts_files_and_not_their_issues(self, run: Run, tmp_path: Path) -> None:
        odd = (SAMPLES / "3ds/oddities.3ds").read_bytes()
        put(tmp_path / "in" / "a.3ds", odd)
        put(tmp_path / "in" / "b.3ds", odd)
        out = tmp_path / "out"
        for again in range(2):
            ran = run("batch", "check", tmp_path / "in", "-o", out, "-j", "1")
            (line,) = (line for line in ran.err.splitlines() if line.startswith("keyframer: files with issues: "))
            codes = dict(entry.split() for entry in line.partition("files with issues: ")[2].split(", "))
            assert set(codes.values()) == {"2"}, again
        rows = run("batch", "report", out, "--format", "json").json()["files"]
        assert any(count > 1 for row in rows for count in row["issues"].values())

    def test_salvage_repeats_only_failed_files(self, run: Run, tmp_path: Path) -> None:
        put(tmp_path / "in" / "good.3ds", OTHER)
        put(tmp_path / "in" / "cut.3ds", EXAMPLE.read_bytes()[:5160])
        put(tmp_path / "in" / "rubbish.3ds", BAD)
        before: set[str] = set()

        def convert(*options: str) -> str:
            return run("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "-j", "1", *options).err

        def options_of_rows() -> dict[str, str]:
            report = run("batch", "report", tmp_path / "out", "--format", "json").json()
            return {Path(row["source"]).name: row["options"] for row in report["files"]}

        assert "1 done, 2 failed" in convert()
        before |= set(options_of_rows().values())
        assert "2 done, 1 of them with issues, 1 failed, 1 already finished by" in convert("--salvage")
        assert [name for name, given in options_of_rows().items() if given not in before] == ["cut.3ds", "rubbish.3ds"]
        assert "3 already finished by an earlier" in convert("--salvage")
        assert "2 already finished by an earlier" in convert("--salvage", "--retry-failed")


def test_formats_lists_everything_that_can_be_written(run: Run, tmp_path: Path) -> None:
    formats = json.loads(run("formats", "--format", "json").out)["formats"]
    assert {row["id"] for row in formats} >= {known.name for known in (*FORMATS, *EXPORTERS, *IMPORTERS)}
    for row in formats:
        if row["id"] in ("mvr", "gdtf"):  # archives of stage lighting are only written again
            continue
        target = tmp_path / f"{row['id']}{row['extensions'][0]}"
        ran = run("convert", EXAMPLE, target, "--to", row["id"], "--no-textures")
        assert target.exists() == ("save" in row["can"]), ran.err
