"""What stands in the way of a run: files that are not ours, folders and files that cannot be read, other systems."""

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
from keyframer.batch.defaults import LEDGER as NAME
from keyframer.batch.job import new_result
from keyframer.batch.output_names import safe_relative
from tests.batch.places import BAD, GOOD, OTHER, put, temporaries, unhashed
from tests.cli.conftest import run as run  # the fixture
from tests.cli.running import Run, spawn

posix = pytest.mark.skipif(os.name != "posix", reason="FIFOs and links")
TO_3DS = ("--to", "3ds", "--scale", "2", "-j", "1")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(NAME)
    }


def test_a_source_is_never_replaced(run: Run, tmp_path: Path) -> None:
    """The output folder is that of the sources, or is inside it, and what is written is of their own kind."""
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
def test_nor_is_it_by_way_of_a_link(run: Run, tmp_path: Path) -> None:
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
def test_a_file_that_no_run_wrote_is_left_alone(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], name: str
) -> None:
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
    assert run(*batch).code == 0  # what a run wrote, a run replaces
    assert theirs.read_bytes() == ours


@pytest.mark.parametrize("dialect", ["binary", "text"])
def test_an_output_whose_row_was_lost_is_taken_for_what_it_is(run: Run, tmp_path: Path, dialect: str) -> None:
    """As ``kill -9`` leaves it between the name of the output and its row."""
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
def test_numbers_whose_text_was_never_written_are_taken_for_what_they_are(
    run: Run, tmp_path: Path, damaged: bool
) -> None:
    """As somebody leaves them who takes the text away; what only has their name is somebody else's."""
    put(tmp_path / "in" / "a.3ds", OTHER)
    batch = ("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "--dialect", "text", "-j", "1")
    assert run(*batch).code == 0
    before = contents(tmp_path / "out")
    assert {unhashed(name) for name in before} == {"a.gltf", "a.bin"}
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


def test_a_link_that_leads_nowhere_is_not_written_through(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.glb").symlink_to(tmp_path / "elsewhere")
    ran = run("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "a.glb exists and was not written by an earlier run" in ran.err
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("closed", ["in", "in/closed"])
def test_a_folder_that_cannot_be_read_is_a_failure(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
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


def test_a_folder_that_was_empty_has_not_failed_for_ever(run: Run, tmp_path: Path) -> None:
    """A disk that was not mounted; of what is still missing nothing is forgotten."""
    (tmp_path / "in").mkdir()
    batch = ("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert run(*batch).code == 3
    assert run(*batch[:2], tmp_path / "missing.3ds", *batch[3:]).code == 3
    put(tmp_path / "in" / "a.3ds", OTHER)
    assert run(*batch).code == 0
    report = run("batch", "report", tmp_path / "out", "--format", "csv").out
    assert [Path(line.split(",")[1]).name for line in report.splitlines()[1:]] == ["a.3ds", "missing.3ds"]


@posix
def test_a_pipe_in_a_folder_keeps_nobody_waiting(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    os.mkfifo(tmp_path / "in" / "pipe.3ds")
    ran = run("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "pipe.3ds: not a regular file" in ran.err


def test_a_report_from_a_disk_that_is_read_only(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a run that was killed: its last rows are in the log beside the ledger."""
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "bad.3ds", BAD)
    out, kept = tmp_path / "out", tmp_path / "kept"
    run("batch", "identify", tmp_path / "in", "-o", out, "-j", "1", "-q")
    with Ledger(str(out / NAME)) as ledger:
        ledger.touch("identify", str(tmp_path / "in" / "a.3ds"), "1:1")
        kept.mkdir()
        for path in out.glob(NAME + "*"):
            shutil.copyfile(path, kept / path.name)
    (kept / f"{NAME}-shm").unlink()
    (kept / f"{NAME}.lock").unlink()
    assert (kept / f"{NAME}-wal").stat().st_size > 0
    there = sorted(os.listdir(kept))
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != kept and real(path, mode))
    ran = run("batch", "report", kept)
    assert ran.code == 0
    assert "identify: 1 done\nidentify: 1 failed (IO_UNRECOGNISED)\n" in ran.out
    assert sorted(os.listdir(kept)) == there
    with Ledger(str(kept / NAME), read_only=True) as ledger:
        assert {row["stamp"] for row in ledger.rows() if row["status"] == "done"} == {"1:1"}


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is on a disk that is read-only, and there is no room for a copy."""
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


def test_a_lock_that_cannot_be_closed_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was written through it, and the work is done."""
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
def test_a_drive_in_a_name_leads_nowhere(name: str, place: str) -> None:
    assert safe_relative(name) == place


LOADED = """
import sys
from keyframer.cli import main
code = main(sys.argv[1:])
print(code, [name for name in ("numpy", "keyframer.scene", "keyframer.checking") if name in sys.modules])
"""


@pytest.fixture
def coordinator() -> Callable[..., str]:
    import subprocess

    def work(*arguments: object) -> str:
        command = [sys.executable, "-c", LOADED, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return work


@pytest.mark.parametrize("operation", ["convert", "check", "info", "identify"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere workers are not forked")
def test_the_coordinator_loads_nothing_that_only_workers_need(
    coordinator: Callable[..., str], tmp_path: Path, operation: str
) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    assert coordinator("batch", operation, tmp_path / "in", "-o", tmp_path / "out", "-j", "1") == "0 []"


def test_spawned_as_a_program_it_reads_a_list_with_odd_names(tmp_path: Path) -> None:
    """Names that hold a line end can be listed, ended by NUL."""
    names = ["new\nline.3ds", " space .3ds", "-dash.3ds"]
    for name in names:
        put(tmp_path / "in" / name, OTHER)
    (tmp_path / "list").write_bytes(b"".join(os.fsencode(tmp_path / "in" / name) + b"\0" for name in names))
    ran = spawn("batch", "identify", "--files-from", tmp_path / "list", "-o", tmp_path / "out", "-j", "1")
    assert ran.returncode == 0, ran.stderr
    assert sorted(contents(tmp_path / "out")) == sorted(f"{name}.identify.json" for name in names)


def test_an_archive_and_its_members_are_named_twice(run: Run, tmp_path: Path) -> None:
    """Members of one name are told apart by their order in the archive, however often that is opened."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, warnings.catch_warnings(action="ignore"):
        for data in (OTHER, GOOD):
            archive.writestr("x.3ds", data)
        archive.writestr("y.3ds", OTHER)
    twice = [tmp_path / "a.zip", f"{tmp_path / 'a.zip'}!/x.3ds", tmp_path / "*.zip", tmp_path / "a.zip"]
    ran = run("batch", "identify", *twice, "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 0, ran.err
    assert "3 files: 3 done" in ran.err
    with Ledger(str(tmp_path / "out" / NAME), read_only=True) as ledger:
        assert sorted(row["format"] for row in ledger.rows()) == ["3ds", "3ds", "nodeanim"]
    again = run("batch", "identify", tmp_path / "a.zip", "-o", tmp_path / "out")
    assert "3 already finished by an earlier run" in again.err


def test_a_member_that_is_encrypted_says_so(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.3ds", OTHER)
    data = bytearray((tmp_path / "a.zip").read_bytes())
    data[6] |= 1  # general purpose flag of the member, and again in the directory
    data[data.find(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    ran = run("batch", "identify", tmp_path / "a.zip", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "x.3ds: the member of the archive is encrypted\n" in ran.err


def test_a_ledger_without_room_says_so(tmp_path: Path) -> None:
    with Ledger(str(tmp_path / NAME)) as ledger:
        (pages,) = ledger._database.execute("PRAGMA page_count").fetchone()
        ledger._database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match=r"cannot be written: database or disk is full"):
            ledger.record({**new_result(Job("check", "a", "x")), "stamp": "x" * 1_000_000})


def test_a_ledger_that_is_damaged_says_so(run: Run, tmp_path: Path) -> None:
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
