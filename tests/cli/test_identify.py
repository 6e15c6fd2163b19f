"""``keyframer identify``: names the format of a file, starts fast, and reads only the first bytes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import Editor, Material, MaterialName, Mesh, MeshVersion, NamedObject, PointArray
from tests.cli.running import EXAMPLE, START, STYLES, Run, check_schema
from tests.corpus import CORPUS, needs_corpus
from tests.samples import unhex

APPLE_DOUBLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        " + bytes(60)
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 12345\n"
TIFF = unhex("4d 4d 00 2a  00 00 00 08  00 00  00 00 00 00")  # "MM", 42 big endian, first directory at 8


def crlf_scene() -> bytes:
    """Return a scene whose numbers contain CR LF in several places."""
    odd = np.frombuffer(b"\r\n\x80\x3f" * 9, "<f4").reshape(3, 3)
    plain = np.zeros((40, 3), np.float32)
    objects = [
        NamedObject(b"Box%d" % n, children=[Mesh(children=[PointArray(odd), PointArray(plain)])]) for n in range(4)
    ]
    return keyframer.encode(new_document(Editor(children=[MeshVersion(3), *objects])))


def test_output_has_format_version_reason_certainty_and_pronom(run: Run) -> None:
    ran = run("identify", EXAMPLE)
    assert ran.code == 0
    assert ran.err == ""
    for part in ("3D Studio", "3ds", "version 3", "x-fmt/19", "certain", "4d4d"):
        assert part in ran.out
    record = run("identify", "--format", "json", EXAMPLE).json()["files"][0]
    assert (record["format"], record["version"], record["pronom"], record["score"]) == ("3ds", "3", "x-fmt/19", 1.0)
    assert record["size"] == EXAMPLE.stat().st_size
    assert record["damage"] is None


def test_starts_without_numpy_and_other_large_modules() -> None:
    """Each of these modules costs milliseconds; see benchmarks/bench_startup.py."""
    code = START.replace("sys.exit(main())", "main(); print(*sys.modules, file=sys.stderr)")
    for arguments in (["identify", str(EXAMPLE)], ["--version"], ["--help"]):
        ran = spawn_code(code, *arguments)
        loaded = set(ran.split())
        assert "keyframer.cli" in loaded
        assert not loaded & {
            "numpy",
            "rich",
            "zipfile",
            "json",
            "secrets",
            "datetime",
            "keyframer.batch.storage",
        }


def test_garbage_is_not_collected_at_exit() -> None:
    """The collection takes 2 ms of ``identify`` and 25 ms of ``convert``; programs that call `main` keep their
    settings."""
    for call, frozen in (("main()", "True"), ("main(sys.argv[1:])", "False")):
        code = START.replace(
            "sys.exit(main())", f"{call}; import gc; print(gc.get_freeze_count() > 0, file=sys.stderr)"
        )
        assert spawn_code(code, "identify", str(EXAMPLE)).strip() == frozen


@pytest.mark.parametrize("command", ["info", "dump", "check", "convert"])
def test_commands_import_only_what_they_need(command: str, tmp_path: Path) -> None:
    """Each of these modules would slow the start without use; see benchmarks/bench_startup.py."""
    code = START.replace("sys.exit(main())", "main(); print(*sys.modules, file=sys.stderr)")
    output = ["-o", str(tmp_path / "windmill.glb")] if command == "convert" else []
    loaded = set(spawn_code(code, command, str(EXAMPLE), *output).split())
    assert "keyframer.formats.threeds.document" in loaded
    unneeded = {"numpy.ma", "numpy.random", "secrets", "rich", "PIL", "logging", "http", "email", "importlib.metadata"}
    unneeded |= {"subprocess", "tempfile", "multiprocessing", "xml", "zipfile"}
    unneeded |= {"keyframer.editing", "keyframer.rendering", "keyframer.batch.ledger", "keyframer.viewer"}
    unneeded |= {"keyframer.formats._matching", "keyframer.formats._saving"}
    assert not loaded & unneeded
    if command == "dump":
        assert not {name for name in loaded if name.startswith(("keyframer.scene", "keyframer.curves"))}


def test_commands_that_only_read_do_not_import_writers() -> None:
    code = START.replace("sys.exit(main())", "main(); print(*sys.modules, file=sys.stderr)")
    loaded = set(spawn_code(code, "info", str(EXAMPLE)).split())
    assert "keyframer.formats.threeds.bridge.scene" in loaded
    assert not {name for name in loaded if ".bridge.writ" in name or ".bridge.merg" in name or "PIL" in name}


def test_identify_imports_only_the_first_check_that_is_certain(run: Run) -> None:
    assert run("identify", EXAMPLE).out == run("identify", "--format", "pretty", EXAMPLE).out
    ran = spawn_code(
        START.replace("sys.exit(main())", "main(); print(*sys.modules, file=sys.stderr)"), "identify", str(EXAMPLE)
    )
    assert not {name for name in ran.split() if name.endswith(".sniff")} - {"keyframer.formats.threeds.sniff"}


def spawn_code(code: str, *arguments: str) -> str:
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True, text=True).stderr


def test_only_the_first_bytes_are_read(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from keyframer.cli.inputs import FileInput

    def refuse(self: FileInput) -> bytes:
        raise AssertionError("the whole file was read")

    monkeypatch.setattr(FileInput, "read", refuse)
    assert run("identify", EXAMPLE).code == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty file"),
        (APPLE_DOUBLE, "AppleDouble"),
        (LFS_POINTER, "Git LFS pointer"),
        (TIFF, "TIFF image"),
        (b"invalid 3ds file\n", "text file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(30), "PNG image"),
        (bytes(range(7, 90)), "not a file of a known format"),
    ],
)
def test_foreign_files_are_named(tmp_path: Path, run: Run, content: bytes, words: str) -> None:
    path = tmp_path / "scene.3ds"
    path.write_bytes(content)
    for style in STYLES:
        ran = run("identify", "--format", style, path)
        assert ran.code == 3
        assert words in ran.out
    check_schema("identify", run("identify", "--format", "json", path).json())


def test_text_mode_damage_is_reported(tmp_path: Path, run: Run) -> None:
    whole = crlf_scene()
    path = tmp_path / "scene.3ds"
    path.write_bytes(whole)
    assert "text mode" not in run("identify", path).out
    path.write_bytes(whole.replace(b"\r\n", b"\n"))
    ran = run("identify", path)
    assert ran.code == 0
    assert f"text mode: {whole.count(bytes([13, 10]))} bytes missing" in ran.out
    path.write_bytes(whole.replace(b"\n", b"\r\n"))
    added = run("identify", path).out
    assert (
        f"text mode: without the CR before each LF ({whole.count(bytes([10]))} in all) it is a 3D Studio file" in added
    )


def test_truncated_file_is_not_reported_as_text_mode_damage(tmp_path: Path, run: Run) -> None:
    material = Material(children=[MaterialName(b"line\nline\nline\nline\nline\nline")])
    whole = keyframer.encode(new_document(Editor(children=[MeshVersion(3), *[material] * 9])))
    for cut in (1, 2, 5):
        path = tmp_path / "cut.3ds"
        path.write_bytes(whole[:-cut])
        ran = run("identify", path)
        assert f"{cut} byte{'s' if cut > 1 else ''} missing" in ran.out
        assert "text mode" not in ran.out


@needs_corpus
def test_damaged_and_foreign_real_files(run: Run) -> None:
    ran = run("identify", CORPUS / "3ds" / "assimp__assimp__pyramob-3ec2cfe0.3DS")
    assert "text mode: 11 bytes missing" in ran.out
    records = run("identify", "-r", "--format", "json", CORPUS / "3ds" / "invalid").json()["files"]
    assert len(records) == 8
    assert sum("AppleDouble" in record["reason"] for record in records) == 6
    assert all(record["format"] is None for record in records)


@needs_corpus
def test_every_real_file_is_recognised(run: Run) -> None:
    ran = run("identify", "--format", "jsonl", CORPUS / "3ds" / "*.3[dD][sS]")
    records = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 0
    assert len(records) == 537
    assert {record["format"] for record in records} == {"3ds"}
    assert sum(record["damage"] is not None for record in records) == 1


@pytest.mark.parametrize("style", STYLES)
def test_unreadable_file_is_one_record(tmp_path: Path, run: Run, style: str) -> None:
    ran = run("identify", "--format", style, tmp_path / "none.3ds", EXAMPLE)
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    assert "none.3ds: no such file" in ran.err
    assert "3D Studio" in ran.out


def test_styles_agree(run: Run) -> None:
    report = run("identify", "--format", "json", EXAMPLE).json()
    check_schema("identify", report)
    line = json.loads(run("identify", "--format", "jsonl", EXAMPLE).out)
    check_schema("identify", line)
    assert {key: line[key] for key in report["files"][0]} == report["files"][0]
    row = next(csv.DictReader(io.StringIO(run("identify", "--format", "csv", EXAMPLE).out)))
    assert row["format"] == "3ds"
    assert list(row) == list(report["files"][0])
    lines = run("identify", "--format", "md", EXAMPLE, EXAMPLE).out.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("| --- |")
