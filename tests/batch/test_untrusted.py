"""Ledgers are not trusted: rows with paths outside the folder, damaged rows, foreign databases, files that killed a
worker."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import Ledger, LedgerError, ResumableRun, dependencies
from keyframer.batch.job import LEDGER as NAME
from keyframer.errors import FormatError
from tests.batch.places import GOOD, OTHER, input_files, put
from tests.batch.test_resumable_run import Place
from tests.batch.test_run import LosesBadTasks
from tests.cli.running import Run

posix = pytest.mark.skipif(os.name != "posix", reason="links and FIFOs")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Make a folder with two files, and convert them."""
    place = Place(tmp_path)
    put(place.source / "a.nanim")
    put(place.source / "deep" / "b.3ds", OTHER)
    place.run()
    return place


def execute_sql(place: Place, text: str, *values: Any) -> None:
    base = sqlite3.connect(place.out / NAME)
    base.execute(text, values)
    base.commit()
    base.close()


def run_again(run: Run, place: Place, *more: str) -> Any:
    return run("batch", "convert", place.source, "-o", place.out, "-j", "1", *more)


@pytest.mark.parametrize("output", ["../outside.glb", "/{}/outside.glb", "deep/../../outside.glb", "deep//b.glb", "."])
def test_row_with_an_output_outside_the_folder_is_refused(run: Run, place: Place, output: str) -> None:
    place_of_row = output.format(str(place.out.parent).strip("/"))
    execute_sql(place, "UPDATE files SET output = ?, output_key = ? WHERE source LIKE '%a.nanim'", *[place_of_row] * 2)
    before = (place.out / "a.glb").read_bytes()
    (place.out / "a.glb").unlink()
    ran = run_again(run, place, "--scale", "1")
    assert ran.code == 0, ran.err
    (line,) = [line for line in ran.err.splitlines() if "refused" in line]
    assert f"a.nanim in the ledger is refused: its output {place_of_row} leads outside the output folder" in line
    assert not (place.out.parent / "outside.glb").exists()
    assert (place.out / "a.glb").read_bytes() == before
    assert "refused" not in run_again(run, place, "--scale", "1").err


@posix
def test_row_with_an_output_behind_a_link_is_refused(run: Run, place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (place.out / "link").symlink_to(tmp_path / "elsewhere")
    execute_sql(place, "UPDATE files SET output = 'link/a.glb' WHERE source LIKE '%a.nanim'")
    ran = run_again(run, place)
    assert ran.code == 0, ran.err
    assert ran.err.count("its output link/a.glb leads through a link (link)") == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (place.out / "a.glb").exists()


@posix
def test_output_is_not_written_through_a_link(run: Run, place: Place, tmp_path: Path) -> None:
    """A folder for outputs was replaced by a link that leads elsewhere."""
    (place.out / "deep").rename(tmp_path / "elsewhere")
    (place.out / "deep").symlink_to(tmp_path / "elsewhere")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").iterdir()}
    for _ in range(2):
        ran = run_again(run, place, "--scale", "2")
        assert ran.code == 3
        (line,) = [line for line in ran.err.splitlines() if "link" in line]
        assert "b.3ds: its output deep/b.glb leads through a link (deep)" in line
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "elsewhere").iterdir()} == before


@posix
def test_link_with_the_name_of_an_output_is_not_replaced(run: Run, place: Place, tmp_path: Path) -> None:
    put(tmp_path / "mine.glb", b"mine")
    (place.out / "a.glb").unlink()
    (place.out / "a.glb").symlink_to(tmp_path / "mine.glb")
    ran = run_again(run, place)
    assert ran.code == 3
    assert "a.glb exists and was not written by an earlier run" in ran.err
    assert (tmp_path / "mine.glb").read_bytes() == b"mine"
    assert (place.out / "a.glb").is_symlink()


def test_row_cannot_claim_a_source_as_its_output(run: Run, tmp_path: Path) -> None:
    """Sources and outputs are in one folder, and a row names another source as its output."""
    folder = tmp_path / "models"
    put(folder / "a.3ds", OTHER)
    arguments = ("batch", "convert", folder, "-o", folder, "-j", "1", "--to", "3ds")
    assert run(*arguments).code == 0
    base = sqlite3.connect(folder / NAME)
    base.execute("UPDATE files SET output = 'c.3ds', output_key = 'x' WHERE source LIKE '%a.3ds'")
    base.commit()
    base.close()
    put(folder / "c.3ds", OTHER + b"tail")
    run(*arguments)
    assert (folder / "c.3ds").read_bytes() == OTHER + b"tail"


def test_two_rows_never_share_an_output(run: Run, place: Place) -> None:
    execute_sql(place, "UPDATE files SET output = 'a.glb', output_key = 'odd'")
    ran = run_again(run, place)
    assert ran.code == 0, ran.err
    assert ran.err.count("its output a.glb is that of another row") == 1
    outputs = [row["output"] for row in place.rows().values()]
    assert sorted(outputs) == ["a.glb", "deep/b.glb"]


DEEP = "[" * 100_000 + "]" * 100_000
DAMAGE = {
    "outputs": ("{", "null", "7", '{"path": 1}', '[{"path": "x"}]', '[["path"]]', DEEP, "[NaN]", b"\xff\x00"),
    "also": ("[", "[7]", "[[1, 2, 3]]", '[["x", 1]]', '[["\\ud800", null, null]]', '[["a\\u0000b", 1, 2]]', "[null]"),
    "issues": ("[]", '{"A": "x"}', '{"A": NaN}', "", b"{}"),
    "details": ("[]", '{"a": NaN}', '{"a": 1e999}', '{"a":' + "[" * 60 + "]" * 60 + "}", DEEP),
    "status": ("odd", "", b"done", 7),
    "code": ("\x1b[31m", b"X"),
    "message": (b"\x1b[31m",),
    "offset": ("x", -5, b""),
    "size": ("x", 1.5),
    "sha256": (7, "not a hash", b""),
    "stamp": (b"", b"\x1b"),
    "options": (b"",),
    "version": (b"",),
    "seconds": ("x", b"x", float("inf")),
    "output": (b"x", "a\0b.glb", ""),
    "source": (b"x", "a\0b"),
}


@pytest.mark.parametrize(("column", "value"), [(name, value) for name, values in DAMAGE.items() for value in values])
def test_damaged_rows_are_refused(run: Run, place: Place, column: str, value: Any) -> None:
    """The report and the next run print one line for the damaged row; the other row is kept, and all files are done."""
    execute_sql(place, f"UPDATE files SET {column} = ? WHERE source LIKE '%a.nanim'", value)
    for style in ("pretty", "jsonl", "html"):
        ran = run("batch", "report", place.out, "--format", style)
        assert ran.code == 3, ran.err
        (line,) = ran.err.splitlines()
        assert f"in the ledger is refused: its {column} is damaged" in line
        assert "b.3ds" in ran.out
        assert "\x1b" not in ran.out + ran.err
    again = Place(place.out.parent)
    worked, resumable = again.run()
    used = column in (
        "outputs", "also", "issues", "status", "code", "sha256", "stamp", "options", "version", "output", "source",
    )  # fmt: skip
    assert worked == (["a.nanim"] if used else [])
    assert resumable.summary.counts["done"] == 2
    with Ledger(str(place.out / NAME), read_only=True) as ledger:
        assert len(list(ledger.rows())) == (2 if used else 1)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER evil AFTER INSERT ON files BEGIN DELETE FROM files; END",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TABLE more (x)",
        "ALTER TABLE files ADD COLUMN more TEXT",
        "DROP TABLE renamed",
    ],
)
def test_ledger_with_other_tables_is_refused(run: Run, place: Place, statement: str) -> None:
    execute_sql(place, statement)
    before = (place.out / NAME).read_bytes()
    ran = run("batch", "report", place.out)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.endswith("is not a usable ledger: its tables are not those of keyframer\n")
    ran = run_again(run, place)
    if statement.startswith("DROP"):  # as after a run that was killed while it created the tables
        assert ran.code == 0
        return
    assert ran.code == 3
    assert len(ran.err.splitlines()) == 1
    assert (place.out / NAME).read_bytes() == before


def test_ledger_whose_tables_are_not_utf8_is_refused_with_one_line(run: Run, place: Place) -> None:
    whole = (place.out / NAME).read_bytes()
    (place.out / NAME).write_bytes(whole.replace(b"CREATE INDEX", b"CR\xffATE INDEX"))
    for ran in (run("batch", "report", place.out), run_again(run, place)):
        assert (ran.code, len(ran.err.splitlines())) == (3, 1)
        assert "is not a usable ledger" in ran.err


def test_damage_anywhere_in_the_ledger_prints_one_line(run: Run, place: Place) -> None:
    for number in range(30):
        put(place.source / f"{number}.nanim")
    place.run("identify")
    whole = (place.out / NAME).read_bytes()
    assert len(whole) > 30_000
    refused = 0
    for begin in range(0, len(whole), 900):
        damage = bytes((offset * 37 + begin) % 256 for offset in range(300))
        (place.out / NAME).write_bytes(whole[:begin] + damage + whole[begin + len(damage) :])
        ran = run("batch", "report", place.out)
        assert ran.code in (0, 3)
        assert "internal" not in ran.err
        try:
            place.run("identify")
        except LedgerError:
            refused += 1
    assert refused > 3


@posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink(str(path) + "-real", path)])
@pytest.mark.parametrize("ending", ["", ".lock"])
def test_ledger_must_be_a_regular_file(run: Run, tmp_path: Path, make: Callable[[Path], None], ending: str) -> None:
    put(tmp_path / "in" / "a.nanim")
    (tmp_path / "out").mkdir()
    make(tmp_path / "out" / (NAME + ending))
    ran = run("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert len(ran.err.splitlines()) == 1
    assert "is not a regular file" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [NAME + ending]


@posix
def test_pipe_with_the_name_of_an_output_is_not_read(place: Place) -> None:
    (place.out / "a.glb").unlink()
    os.mkfifo(place.out / "a.glb")
    (row,) = (row for row in place.rows().values() if row["output"] == "a.glb")
    outputs = [{**row["outputs"][0], "size": 0}]
    execute_sql(place, "UPDATE files SET outputs = ? WHERE output = 'a.glb'", json.dumps(outputs))
    assert place.run()[0] == ["a.nanim"]


class KillsWorker(LosesBadTasks):
    """Every file kills its worker."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(FormatError("RUN_WORKER_KILLED", 0, "/", "twice"))
        return future


def kill_all(place: Place, options: dict[str, Any] | None = None) -> None:
    with Ledger(str(place.out / NAME), str(place.out)) as ledger:
        resumable = ResumableRun("convert", options or {}, str(place.out), ledger)
        resumable.plan(input_files(place.source))
        for result in resumable.execute(KillsWorker(), files_per_task=1):
            assert result["error"]["code"] == "RUN_WORKER_KILLED"


@pytest.fixture
def killed(tmp_path: Path) -> Place:
    """Convert a file, then let it kill its worker when it is converted again with other options."""
    place = Place(tmp_path)
    put(place.source / "a.anim", GOOD)
    put(tmp_path / "images" / "wood.png", b"png")
    place.run(options=FIRST)
    kill_all(place, options_of(place))
    assert place.run(options=options_of(place))[0] == []
    return place


FIRST = {"dialect": "text"}


def options_of(place: Place) -> dict[str, Any]:
    return {**FIRST, "scale": 2.0, "texture_path": [str(place.out.parent / "images")]}


@pytest.mark.parametrize(
    "change_input",
    [
        lambda place: put(place.source / "a.anim", GOOD, seconds=99),
        lambda place: put(place.source / "a.mdl"),
        lambda place: put(place.source / "other.png"),
        lambda place: put(place.out.parent / "images" / "wood.png", b"gnp", seconds=99),
        lambda place: execute_sql(place, "UPDATE files SET also = '[]'"),
    ],
    ids=["source", "companion", "image", "texture path", "older ledger"],
)
def test_file_that_killed_its_worker_is_tried_again_when_inputs_change(
    killed: Place, change_input: Callable[[Place], object]
) -> None:
    change_input(killed)
    assert "a.anim" in killed.run(options=options_of(killed))[0]
    assert killed.rows()["a.anim"]["status"] == "done"
    assert killed.run(options=options_of(killed))[0] == []


def test_file_that_killed_its_worker_is_tried_again_when_the_program_changes(
    killed: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependencies, "program_hash", lambda: "another")
    assert killed.run(options=options_of(killed))[0] == ["a.anim"]


def test_outputs_of_a_killed_worker_are_repaired(
    killed: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The killed worker may have left parts of them."""
    (killed.out / "a.gltf").write_bytes(b"{")
    (numbers,) = killed.out.glob("a.*.bin")
    numbers.unlink()
    monkeypatch.setattr(dependencies, "program_hash", lambda: "another")
    assert killed.run(options=options_of(killed))[1].summary.counts["done"] == 1
    fresh = Place(tmp_path / "fresh")
    put(fresh.source / "a.anim", GOOD)
    fresh.run(options=options_of(killed))
    for name in ("a.gltf", numbers.name):
        assert (killed.out / name).read_bytes() == (fresh.out / name).read_bytes()


def test_hash_of_the_program_depends_on_the_python_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dependencies.program_hash()
    assert dependencies.program_hash() == before
    monkeypatch.setattr(dependencies.sys, "version", "4.0")
    assert dependencies.program_hash() != before


def test_database_of_another_program_is_not_changed(tmp_path: Path) -> None:
    """``--ledger`` names the database of another program: nothing is written to it."""
    base = sqlite3.connect(tmp_path / "mail.sqlite")
    base.execute("CREATE TABLE mail (text)")
    base.commit()
    base.close()
    before = (tmp_path / "mail.sqlite").read_bytes()
    with pytest.raises(LedgerError, match="its tables are not those of keyframer"):
        Ledger(str(tmp_path / "mail.sqlite"), str(tmp_path / "out"))
    assert (tmp_path / "mail.sqlite").read_bytes() == before
    assert os.listdir(tmp_path) == ["mail.sqlite"]


def test_no_files_are_written_beside_an_unusable_ledger(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.nanim")
    put(tmp_path / "a.3ds", OTHER)
    ran = run("batch", "info", tmp_path / "in", "-o", tmp_path / "out", "--ledger", tmp_path / "a.3ds")
    assert ran.code == 3
    assert "is not a usable ledger" in ran.err
    assert sorted(os.listdir(tmp_path)) == ["a.3ds", "in"]
    assert (tmp_path / "a.3ds").read_bytes() == OTHER
