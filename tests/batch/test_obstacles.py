"""Obstacles to a batch: foreign output files, links, unreadable folders and files, names of other systems."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import Job, Ledger, LedgerError
from keyframer.batch.job import LEDGER as NAME
from keyframer.batch.job import new_result
from keyframer.batch.ledger import RunInProgress, folder_lock, lock_ledger, remove_lock
from keyframer.batch.output_names import safe_relative
from keyframer.cli.batch.progress import Progress
from tests.batch.places import BAD, GOOD, OTHER, put, temporaries, without_hash
from tests.cli.running import Run, spawn
from tests.portable import needs_linux

posix = pytest.mark.skipif(os.name != "posix", reason="FIFOs and links")
TO_3DS = ("--to", "3ds", "--scale", "2", "-j", "1")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(NAME)
    }


def test_source_is_never_replaced(run: Run, tmp_path: Path) -> None:
    """The output folder is the source folder or inside it, and outputs have the format of the sources."""
    folder = tmp_path / "models"
    put(folder / "a.3ds", OTHER)
    put(folder / "b.nanim")
    put(folder / "out" / "A.3ds", OTHER)
    before = contents(folder)
    for out, written in ((folder, {"a.3ds.3ds", "b.3ds", "out/A.3ds.3ds"}), (folder / "out", set())):
        ran = run("batch", "convert", folder, "-o", out, *TO_3DS)
        assert ran.code == 0, ran.err
        after = contents(folder)
        assert {name: after[name] for name in before} == before
        assert written <= set(after)
        assert "a source or the ledger has this name" in ran.err
        assert run("batch", "convert", folder, "-o", out, *TO_3DS).code == 0
        assert contents(folder) == after


@posix
def test_source_is_not_replaced_through_a_link(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "models" / "a.3ds", OTHER)
    (tmp_path / "link").symlink_to("models")
    for source, out in (("models", "link"), ("link", "models")):
        ran = run("batch", "convert", tmp_path / source, "-o", tmp_path / out, "--force", *TO_3DS)
        assert ran.code == 0, ran.err
        assert (tmp_path / "models/a.3ds").read_bytes() == OTHER


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("convert",), "a.glb"),
        (("convert", "--dialect", "text"), "a.gltf"),
        (("check",), "a.3ds.check.json"),
        (("thumbnail", "--size", "16"), "a.3ds.png"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_file_that_no_run_wrote_is_left_alone(run: Run, tmp_path: Path, arguments: tuple[str, ...], name: str) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "b.3ds", OTHER)
    theirs = put(tmp_path / "out" / name, b"somebody's own work")
    batch = ("batch", arguments[0], tmp_path / "in", "-o", tmp_path / "out", *arguments[1:], "-j", "1")
    for _ in range(2):
        ran = run(*batch)
        assert ran.code == 3
        assert " 1 failed" in ran.err
        assert f"{theirs} exists and was not written by an earlier run" in ran.err
        assert theirs.read_bytes() == b"somebody's own work"
        assert temporaries(tmp_path / "out") == []
    assert run(*batch, "--force").code == 0
    ours = theirs.read_bytes()
    assert ours != b"somebody's own work"
    theirs.write_bytes(b"damaged since")
    assert run(*batch).code == 0  # a run may replace the output of a run
    assert theirs.read_bytes() == ours


@pytest.mark.parametrize("dialect", ["binary", "text"])
def test_output_without_a_row_is_recognised(run: Run, tmp_path: Path, dialect: str) -> None:
    """``kill -9`` leaves this between naming the output and adding its row to the ledger."""
    put(tmp_path / "in" / "a.3ds", OTHER)
    batch = ("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "--dialect", dialect, "-j", "1")
    assert run(*batch).code == 0
    before = contents(tmp_path / "out")
    for path in (tmp_path / "out").glob(NAME + "*"):
        path.unlink()
    assert run(*batch).code == 0
    assert contents(tmp_path / "out") == before
    assert "1 already finished by an earlier run" in run(*batch).err


@pytest.mark.parametrize("damaged", [False, True])
def test_buffer_without_its_gltf_is_recognised(run: Run, tmp_path: Path, damaged: bool) -> None:
    """The user deleted the glTF file; a file that only has the name of the buffer is left alone."""
    put(tmp_path / "in" / "a.3ds", OTHER)
    batch = ("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "--dialect", "text", "-j", "1")
    assert run(*batch).code == 0
    before = contents(tmp_path / "out")
    assert {without_hash(name) for name in before} == {"a.gltf", "a.bin"}
    for path in (*(tmp_path / "out").glob(NAME + "*"), tmp_path / "out" / "a.gltf"):
        path.unlink()
    if damaged:
        (theirs,) = (tmp_path / "out").iterdir()
        theirs.write_bytes(b"not what the name says")
        ran = run(*batch)
        assert ran.code == 3
        assert f"{theirs} exists and was not written by an earlier run" in ran.err
        assert theirs.read_bytes() == b"not what the name says"
    assert run(*batch, *(("--force",) if damaged else ())).code == 0
    assert contents(tmp_path / "out") == before


def test_output_is_not_written_through_a_dangling_link(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.glb").symlink_to(tmp_path / "elsewhere")
    ran = run("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "a.glb exists and was not written by an earlier run" in ran.err
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("closed", ["in", "in/closed"])
def test_unreadable_folder_is_a_failure(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "closed" / "b.3ds", OTHER)
    real = os.scandir

    def scandir(path: Any = ".") -> Any:
        if os.fspath(path) == str(tmp_path / closed):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ran = run("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1", "--exclude", "closed*")
    assert ran.code == 3
    assert f"{tmp_path / closed}: cannot list the folder: Permission denied" in ran.err
    assert f"{'2 files: 1' if closed == 'in/closed' else '1 file: 0'} done, 1 failed" in ran.err
    monkeypatch.undo()
    assert run("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1").code == 0
    assert "failed" not in run("batch", "report", tmp_path / "out").out


def test_empty_folder_can_be_filled_later(run: Run, tmp_path: Path) -> None:
    """For example a disk that was not mounted. Other missing inputs stay in the report."""
    (tmp_path / "in").mkdir()
    batch = ("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert run(*batch).code == 3
    assert run(*batch[:2], tmp_path / "missing.3ds", *batch[3:]).code == 3
    put(tmp_path / "in" / "a.3ds", OTHER)
    assert run(*batch).code == 0
    report = run("batch", "report", tmp_path / "out", "--format", "csv").out
    assert [Path(line.split(",")[1]).name for line in report.splitlines()[1:]] == ["a.3ds", "missing.3ds"]


@posix
def test_pipe_in_a_folder_does_not_block_the_run(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    os.mkfifo(tmp_path / "in" / "pipe.3ds")
    ran = run("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "pipe.3ds: not a regular file" in ran.err


@needs_linux
def test_report_from_a_read_only_disk(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a killed run, whose last rows are in the write-ahead log beside the ledger."""
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "bad.3ds", BAD)
    out, copy = tmp_path / "out", tmp_path / "kept"
    run("batch", "identify", tmp_path / "in", "-o", out, "-j", "1", "-q")
    with Ledger(str(out / NAME)) as ledger:
        ledger.touch("identify", str(tmp_path / "in" / "a.3ds"), "1:1")
        copy.mkdir()
        for path in out.glob(NAME + "*"):
            shutil.copyfile(path, copy / path.name)
    (copy / f"{NAME}-shm").unlink()
    (copy / f"{NAME}.lock").unlink()
    assert (copy / f"{NAME}-wal").stat().st_size > 0
    names_before = sorted(os.listdir(copy))
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != copy and real(path, mode))
    ran = run("batch", "report", copy)
    assert ran.code == 0
    assert "identify: 1 done\nidentify: 1 failed (IO_UNRECOGNISED)\n" in ran.out
    assert sorted(os.listdir(copy)) == names_before
    with Ledger(str(copy / NAME), read_only=True) as ledger:
        assert {row["stamp"] for row in ledger.rows() if row["status"] == "done"} == {"1:1"}


def test_failed_copy_of_the_ledger_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is on a read-only disk, and there is no room for a copy."""
    Ledger(str(tmp_path / "out" / NAME), str(tmp_path / "out")).close()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "no room", target)

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(LedgerError, match="no room"):
        Ledger(str(tmp_path / "out" / NAME), read_only=True)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_error_when_closing_the_lock_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was written to the lock file, and the work is finished."""
    real = os.close

    def broken(descriptor: int) -> None:
        real(descriptor)
        raise OSError(errno.EIO, "Input/output error")

    ledger = Ledger(str(tmp_path / "out" / NAME), str(tmp_path / "out"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", broken)
        ledger.close()
    Ledger(str(tmp_path / "out" / NAME), str(tmp_path / "out")).close()


def test_a_report_of_one_operation(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "A.3DS", OTHER)
    for operation in ("identify", "check"):
        run("batch", operation, tmp_path / "in", "-o", tmp_path / "out", "-j", "1", "-q")
    for style in ("pretty", "html", "csv"):
        text = run("batch", "report", tmp_path / "out", "--operation", "check", "--format", style).out
        assert "a.3ds.check" in text or "a.3ds~" in text
        assert "identify" not in text
    assert run("batch", "report", tmp_path / "out", "--operation", "juggle").code == 2


@pytest.mark.parametrize(
    ("name", "place"),
    [
        (r"C:\MAPS\a.3ds", "C/MAPS/a.3ds"),
        ("d:/a.3ds", "d/a.3ds"),
        ("./d:/a.3ds", "d/a.3ds"),
        ("/d:", "d"),
        ("odd:name.3ds", "odd:name.3ds"),
    ],
)
def test_drive_letter_in_a_name_is_removed(name: str, place: str) -> None:
    assert safe_relative(name) == place


LOADED = """
import sys
from keyframer.cli import main
code = main(sys.argv[1:])
print(code, [name for name in ("numpy", "keyframer.scene", "keyframer.checking") if name in sys.modules])
"""


@pytest.fixture
def run_coordinator() -> Callable[..., str]:
    import subprocess

    def work(*arguments: object) -> str:
        command = [sys.executable, "-c", LOADED, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return work


@pytest.mark.parametrize("operation", ["convert", "check", "info", "identify"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere workers are not forked")
def test_coordinator_does_not_import_modules_of_workers(
    run_coordinator: Callable[..., str], tmp_path: Path, operation: str
) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    assert run_coordinator("batch", operation, tmp_path / "in", "-o", tmp_path / "out", "-j", "1") == "0 []"


def test_list_of_files_may_contain_unusual_names(tmp_path: Path) -> None:
    """Names that contain a line break can be listed if they end with NUL."""
    names = ["new\nline.3ds", " space .3ds", "-dash.3ds"]
    for name in names:
        put(tmp_path / "in" / name, OTHER)
    (tmp_path / "list").write_bytes(b"".join(os.fsencode(tmp_path / "in" / name) + b"\0" for name in names))
    ran = spawn("batch", "identify", "--files-from", tmp_path / "list", "-o", tmp_path / "out", "-j", "1")
    assert ran.returncode == 0, ran.stderr
    assert sorted(contents(tmp_path / "out")) == sorted(f"{name}.identify.json" for name in names)


def test_archive_members_named_twice_are_processed_once(run: Run, tmp_path: Path) -> None:
    """Members with the same name are distinguished by their order in the archive, however often it is opened."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, warnings.catch_warnings(action="ignore"):
        for data in (OTHER, GOOD):
            archive.writestr("x.3ds", data)
        archive.writestr("y.3ds", OTHER)
    inputs = [tmp_path / "a.zip", f"{tmp_path / 'a.zip'}!/x.3ds", tmp_path / "*.zip", tmp_path / "a.zip"]
    ran = run("batch", "identify", *inputs, "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 0, ran.err
    assert "3 files: 3 done" in ran.err
    with Ledger(str(tmp_path / "out" / NAME), read_only=True) as ledger:
        assert sorted(row["format"] for row in ledger.rows()) == ["3ds", "3ds", "nodeanim"]
    again = run("batch", "identify", tmp_path / "a.zip", "-o", tmp_path / "out")
    assert "3 already finished by an earlier run" in again.err


def test_encrypted_member_is_reported(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.3ds", OTHER)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[6] |= 1  # general purpose flag of the member, and again in the directory
    data[data.find(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    ran = run("batch", "identify", tmp_path / "a.zip", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "x.3ds: the member of the archive is encrypted\n" in ran.err


def test_full_disk_under_the_ledger_is_reported(tmp_path: Path) -> None:
    with Ledger(str(tmp_path / NAME)) as ledger:
        (pages,) = ledger._database.execute("PRAGMA page_count").fetchone()
        ledger._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match=r"cannot be written: database or disk is full"):
            ledger.record({**new_result(Job("check", "a", "x")), "stamp": "x" * 1_000_000})


def test_damaged_ledger_is_reported(run: Run, tmp_path: Path) -> None:
    for number in range(40):
        put(tmp_path / "in" / f"{number}.3ds", OTHER)
    arguments = ("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert run(*arguments).code == 0
    with open(tmp_path / "out" / NAME, "r+b") as stream:
        stream.seek(4096)
        stream.write(b"\xff" * 30_000)
    for words in (arguments, ("batch", "report", tmp_path / "out")):
        ran = run(*words)
        assert ran.code == 3
        assert "ledger" in ran.err
        assert "internal" not in ran.err


REMOVED = {"out": "the output folder", "ledger": "the ledger", "out, with the ledger elsewhere": "the output folder"}


@pytest.mark.parametrize("results", [1, 2])
@pytest.mark.parametrize("removed", REMOVED)
def test_a_run_whose_output_folder_or_ledger_is_removed_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: str, results: int
) -> None:
    """Also after the last result."""
    for name in ("a.nanim", "b.nanim"):
        put(tmp_path / "in" / name)
    out, ledger = tmp_path / "out", tmp_path / "ledger"
    arguments = ["batch", "identify", tmp_path / "in", "-o", out, "-j", "1"]
    arguments += ["--ledger", ledger] if "elsewhere" in removed else []
    shown: list[None] = []

    def show(*_: object) -> None:
        shown.append(None)
        if len(shown) == results:
            os.rename(out / NAME if removed == "ledger" else out, tmp_path / "away")

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "show", show)
        ran = run(*arguments)
    assert ran.code == 3
    assert f"{'the ledger' if removed == 'out' else REMOVED[removed]} {tmp_path}" in ran.err
    assert "removed or replaced during the run" in ran.err
    assert "done" not in ran.err
    assert run(*arguments).code == 0
    assert len(list(out.rglob("*.json"))) == 2


@needs_linux
def test_a_second_run_with_another_ledger_is_refused(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.nanim")
    out = tmp_path / "out"
    arguments = ("batch", "identify", tmp_path / "in", "-o", out, "-j", "1")
    with Ledger(str(out / NAME), str(out)):
        ran = run(*arguments, "--ledger", tmp_path / "ledger")
        assert (ran.code, list(out.rglob("*.json"))) == (3, [])
        assert "another run is working in this folder" in ran.err
        assert run(*arguments, "--shard", "0/1", "--ledger", tmp_path / "of shard").code == 0  # shards work together
    (out / NAME).unlink()
    with folder_lock(str(out / NAME)):
        assert run(*arguments).code == 3
    assert run(*arguments, "--ledger", tmp_path / "ledger").code == 0
    assert not (out / f"{NAME}.lock").exists()


@needs_linux
def test_a_lock_that_is_removed_while_others_wait_for_it_is_locked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    path = str(tmp_path / "archive.sqlite")
    first = lock_ledger(path)
    flock = fcntl.flock

    def end_of_the_first_run(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        remove_lock(path, first)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", end_of_the_first_run)
    second = lock_ledger(path)
    with pytest.raises(RunInProgress):
        lock_ledger(path)
    remove_lock(path, second)
