"""Catalogues: what is stored, what a second run touches, merging, hostile catalogues, search and duplicates."""

from __future__ import annotations

import hashlib
import json
import shlex
import sqlite3
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.batch import catalogue_run as running
from keyframer.batch.catalogue_run import CatalogueRun, Coverage
from keyframer.batch.catalogue_schema import APPLICATION_ID, COLUMNS, SCHEMA, VERSION, described_tables
from keyframer.batch.duplicates import identical_files, near_files
from keyframer.batch.file_catalogue import Catalogue
from keyframer.batch.job import Job, Result
from keyframer.batch.job_submission import perform_all
from keyframer.cli.batch.progress import Progress
from keyframer.formats.threeds.records import ShadowBiasLow
from keyframer.inspecting.fingerprint import Fingerprint
from tests.batch.places import BAD, GOOD, OTHER, age, input_files, put
from tests.building import threeds_records as make
from tests.cli.running import EXAMPLE, Run, check_schema
from tests.corpus import CORPUS, needs_corpus
from tests.portable import needs_linux
from tests.samples import sample_files
from tests.waiting import PATIENCE


def rows(path: Path, text: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return list(database.execute(text))


def dump(path: Path) -> list[object]:
    """Everything in a catalogue, with the paths of files instead of their numbers, and without what runs note."""
    tables = [name for kind, name, _, _ in described_tables() if kind == "TABLE" and name not in ("resume", "search")]
    return [_content(path, name) for name in tables]


def _content(path: Path, table: str) -> list[object]:
    wanted = [name for name in COLUMNS[table] if name not in ("id", "file")]
    with closing(sqlite3.connect(path)) as database:
        paths = dict(database.execute("SELECT id, path FROM files"))
        key = "id" if table == "files" else "file"
        found = database.execute(f"SELECT {key}, {', '.join(wanted)} FROM {table}")
        return sorted(([paths[number], *values] for number, *values in found), key=repr)


class Runner:
    """Brings a catalogue up to date in this process, and counts the files that were processed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *folders: Path, stop_after: int | None = None) -> tuple[int, int, int]:
        """Return how many files were processed, skipped and removed."""
        finished: list[object] = []
        started: list[object] = []
        stopped = threading.Event()

        def stop() -> bool:
            if len(finished) == stop_after:
                stopped.set()
            return stopped.is_set()

        def perform(jobs: Sequence[Job]) -> list[Result]:
            if len(started) == stop_after:  # no further file before the run knows that it is stopped
                stopped.wait(PATIENCE)
            started.extend(jobs)
            return perform_all(jobs)

        inputs = [file for folder in folders for file in input_files(folder)]
        with Catalogue(str(self.path), read_only=False) as catalogue, ThreadPoolExecutor(1) as executor:
            run = CatalogueRun(catalogue, inputs, {}, Coverage(places=[str(folder) for folder in folders]))
            finished += run.execute(executor, stop=stop, task=perform, files_per_task=1)
        return run.summary.processed, run.summary.skipped, run.removed


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    put(folder / "windmill.3ds", EXAMPLE.read_bytes())
    put(folder / "deep" / "motion.nanim")
    put(folder / "deep" / "bare.3ds", OTHER)
    put(folder / "broken.3ds", BAD)
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive.sqlite"


@pytest.fixture
def catalogued(archive: Path, path: Path) -> Path:
    assert Runner(path)(archive) == (4, 0, 0)
    return path


def test_the_rows_are_the_content_of_the_files(catalogued: Path, archive: Path) -> None:
    scene = keyframer.load(EXAMPLE)
    data = EXAMPLE.read_bytes()
    where = "WHERE path LIKE '%windmill.3ds'"
    [facts] = rows(catalogued, f"SELECT size, sha256, format, pronom, verdict, nodes, meshes FROM files {where}")
    sha256 = hashlib.sha256(data).hexdigest()
    assert facts == (len(data), sha256, "3ds", "x-fmt/19", "clean", len(scene.nodes), len(scene.meshes))
    found = rows(catalogued, f"SELECT n.name, kind, parent, hidden FROM nodes n JOIN files ON id = file {where}")
    assert found == [(node.name, node.kind.value, node.parent, int(node.hidden)) for node in scene.nodes]
    found = rows(
        catalogued,
        f"SELECT node, kind, keys, interpolation, wrap, first, last FROM tracks JOIN files ON id = file {where}",
    )
    tracks = [(channel.node, channel.track) for clip in scene.clips for channel in clip.channels]
    assert found == [
        (node, t.kind, len(t.times), t.interpolation.value, t.wrap.value, t.times[0], t.times[-1]) for node, t in tracks
    ]
    found = rows(catalogued, f"SELECT m.name, vertices, m.triangles FROM meshes m JOIN files ON id = file {where}")
    assert found == [(mesh.name, len(mesh.positions), len(mesh.corners)) for mesh in scene.meshes]
    for table in ("materials", "cameras", "lights"):
        found = rows(catalogued, f"SELECT t.name FROM {table} t JOIN files ON id = file {where} ORDER BY number")
        assert found == [(part.name,) for part in getattr(scene, table)]


def test_a_file_that_cannot_be_read_has_a_row_and_its_reason(catalogued: Path) -> None:
    [(reason,)] = rows(catalogued, "SELECT reason FROM damaged_files WHERE path LIKE '%broken.3ds'")
    assert str(reason).startswith("IO_UNRECOGNISED: ")
    assert rows(catalogued, "SELECT verdict, format, nodes FROM files WHERE path LIKE '%broken.3ds'") == [
        ("not readable", None, 0)
    ]


def test_missing_and_found_images(catalogued: Path, archive: Path) -> None:
    """A missing image is listed; when it is there, only the file that needs it is processed again."""
    assert rows(catalogued, "SELECT image, status FROM missing_images") == [("STONE.PNG", "missing")]
    Image.new("RGB", (4, 4)).save(archive / "STONE.PNG")
    inputs = [file for file in input_files(archive) if not file.source.endswith("PNG")]
    with Catalogue(str(catalogued), read_only=False) as catalogue, ThreadPoolExecutor(1) as executor:
        run = CatalogueRun(catalogue, inputs, {}, Coverage())
        assert [Path(result["source"]).name for result in run.execute(executor)] == ["windmill.3ds"]
    assert rows(catalogued, "SELECT * FROM missing_images") == []
    found = rows(catalogued, "SELECT name, status, found FROM images")
    assert found == [("STONE.PNG", "found", str(archive / "STONE.PNG"))]


def test_the_catalogue_is_one_file_with_a_version(catalogued: Path, tmp_path: Path) -> None:
    assert sorted(p.name for p in tmp_path.iterdir()) == ["archive.sqlite", "in"]
    assert rows(catalogued, "PRAGMA user_version") == [(VERSION,)]
    assert rows(catalogued, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert rows(catalogued, "PRAGMA journal_mode") == [("delete",)]
    assert rows(catalogued, "PRAGMA integrity_check") == [("ok",)]
    assert rows(catalogued, "PRAGMA foreign_key_check") == []


def test_every_view_answers(catalogued: Path) -> None:
    counts = {
        name: len(rows(catalogued, f"SELECT * FROM {name}"))
        for kind, name, _, _ in described_tables()
        if kind == "VIEW"
    }
    assert counts["damaged_files"] == 1
    assert counts["files_per_format"] == len(rows(catalogued, "SELECT DISTINCT format, version FROM files"))
    assert counts["animated_files"] == 2  # the windmill and the .nanim
    assert counts["identical_files"] == 0
    assert sum(int(str(n)) for (n,) in rows(catalogued, "SELECT files FROM files_per_format")) == 4


def test_the_schema_describes_every_column() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for kind, name, description, columns in described_tables():
            assert description, name
            assert [column for column, _, _ in columns] == [
                row[1] for row in database.execute(f"PRAGMA table_info({name})")
            ]
            assert kind == "VIEW" or all(words and text for _, words, text in columns), name


def test_a_second_run_touches_only_what_changed_came_or_went(catalogued: Path, archive: Path) -> None:
    again = Runner(catalogued)
    before = dump(catalogued)
    assert again(archive) == (0, 4, 0)
    assert dump(catalogued) == before
    put(archive / "new.nanim")
    put(archive / "broken.3ds", OTHER, seconds=1_800)
    (archive / "deep" / "bare.3ds").unlink()
    assert again(archive) == (2, 2, 1)
    fresh = Runner(catalogued.with_name("fresh.sqlite"))
    assert fresh(archive) == (4, 0, 0)
    assert dump(catalogued) == dump(fresh.path)
    assert rows(catalogued, "SELECT count(*) FROM search") == [(4,)]


def test_a_new_time_without_new_content_is_not_a_change(catalogued: Path, archive: Path) -> None:
    age(archive / "windmill.3ds", 50_000)
    assert Runner(catalogued)(archive) == (0, 4, 0)
    (archive / "windmill.3ds").chmod(0o000)  # its new time is known now: the file is not read again
    assert Runner(catalogued)(archive) == (0, 4, 0)
    (archive / "windmill.3ds").chmod(0o644)


def test_files_of_other_inputs_stay(catalogued: Path, archive: Path, tmp_path: Path) -> None:
    put(tmp_path / "more" / "x.nanim")
    assert Runner(catalogued)(tmp_path / "more") == (1, 0, 0)
    assert rows(catalogued, "SELECT count(*) FROM files") == [(5,)]


def test_a_stopped_run_keeps_what_it_has_and_the_next_one_finishes(archive: Path, path: Path) -> None:
    runner = Runner(path)
    processed, _, removed = runner(archive, stop_after=2)
    assert 2 <= processed < 4
    assert removed == 0
    assert rows(path, "SELECT count(*) FROM files") == [(processed,)]
    assert runner(archive) == (4 - processed, processed, 0)


def test_rows_are_stored_some_hundred_at_a_time(archive: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transactions = []
    original = Catalogue.transaction

    def counted(catalogue: Catalogue) -> object:
        transactions.append(1)
        return original(catalogue)

    for number in range(21):
        put(archive / f"{number}.nanim")
    monkeypatch.setattr(Catalogue, "transaction", counted)
    monkeypatch.setattr(running, "_FILES", 10)
    monkeypatch.setattr(running, "_SECONDS", 1e9)
    assert Runner(path)(archive) == (25, 0, 0)
    assert len(transactions) == 3


def test_a_job_that_fails_is_a_row_that_is_tried_again(archive: Path, path: Path) -> None:
    """The worker cannot read the file: the next run tries again, and another failure stays until --retry-failed."""
    (archive / "gone.3ds").symlink_to(archive / "nothing")
    inputs = [running.InputFile(str(archive / "gone.3ds"), "gone.3ds")]

    def once() -> int:
        with Catalogue(str(path), read_only=False) as catalogue, ThreadPoolExecutor(1) as executor:
            run = CatalogueRun(catalogue, inputs, {}, Coverage())
            list(run.execute(executor))
            return run.summary.processed

    assert once() == once() == 1
    assert rows(path, "SELECT verdict, code FROM files JOIN issues ON id = file") == [
        ("not readable", "IO_READ_FAILED")
    ]


def test_names_that_are_not_utf_8(tmp_path: Path, path: Path) -> None:
    put(tmp_path / "in" / "caf\udce9.nanim")
    put(tmp_path / "in" / "größe.nanim")
    assert Runner(path)(tmp_path / "in") == (2, 0, 0)
    assert Runner(path)(tmp_path / "in") == (0, 2, 0)
    names = [Path(str(name)).name for (name,) in rows(path, "SELECT path FROM files ORDER BY path")]
    assert names == ["caf\\xe9.nanim", "größe.nanim"]


# merging


def test_catalogues_of_parts_merge_to_that_of_the_whole(archive: Path, tmp_path: Path, run: Run) -> None:
    put(tmp_path / "other" / "second.3ds", EXAMPLE.read_bytes())
    whole, merged = tmp_path / "whole.sqlite", tmp_path / "merged.sqlite"
    parts = [Runner(tmp_path / "1.sqlite"), Runner(tmp_path / "2.sqlite")]
    Runner(whole)(archive, tmp_path / "other")
    parts[0](archive), parts[1](tmp_path / "other")
    command = ("batch", "catalogue", parts[0].path, parts[1].path, "-o", merged, "-j", "1")
    ran = run(*command)
    assert ran.code == 0, ran.err
    assert "4 files, 4 of them new or changed" in ran.err
    assert dump(merged) == dump(whole)
    assert rows(merged, "SELECT count(*) FROM search WHERE search MATCH 'rotor*'") == [(2,)]
    (archive / "windmill.3ds").unlink()
    parts[0](archive)
    ran = run(*command)
    assert "3 files, 0 of them new or changed" in ran.err
    assert "1 file removed" in ran.err
    assert " done, " not in ran.err  # no file was processed
    Runner(whole)(archive, tmp_path / "other")
    assert dump(merged) == dump(whole)


def test_catalogues_of_shards_merge_to_that_of_the_whole(archive: Path, tmp_path: Path, run: Run) -> None:
    for number in range(6):
        put(archive / f"{number}.nanim")
    whole, merged = tmp_path / "whole.sqlite", tmp_path / "merged.sqlite"
    Runner(whole)(archive)
    shards = [tmp_path / f"shard{index}.sqlite" for index in range(2)]
    for index, shard in enumerate(shards):
        ran = run("batch", "catalogue", archive, "-o", shard, "--shard", f"{index}/2", "-j", "1")
        assert ran.code == 0
        assert f"shard {index}/2: " in ran.err
    counts = [len(rows(shard, "SELECT 1 FROM files")) for shard in shards]
    assert sum(counts) == 10
    assert min(counts) > 0
    assert run("batch", "catalogue", *shards, "-o", merged, "-j", "1").code == 0
    assert dump(merged) == dump(whole)


# the command


def test_the_command(run: Run, archive: Path, path: Path) -> None:
    ran = run("batch", "catalogue", archive, "-o", path, "-j", "1")
    assert ran.code == 0, ran.err
    assert ran.out == ""
    assert "4 files: 4 done, 0 failed" in ran.err
    command = f"keyframer search {path} --where \"verdict IN ('damaged', 'not readable')\""
    assert f"1 file damaged or not readable; to list them: {command}\n" in ran.err
    listed = run(*shlex.split(command)[1:])
    assert (listed.code, listed.out) == (0, f"{archive / 'broken.3ds'}\n")
    folder = run("search", archive)
    assert (folder.code, "is a folder, not a catalogue" in folder.err) == (3, True)
    ran = run("batch", "catalogue", archive, archive / "windmill.3ds", "-o", path, "-j", "1")
    assert "4 already finished by an earlier run" in ran.err
    ran = run("search", path, "rotor")
    assert (ran.code, ran.out) == (0, f"{archive / 'windmill.3ds'}\n")
    ran = run("batch", "catalogue", archive, archive.with_name("nothing"), "-o", path, "-j", "1")
    assert ran.code == 3
    assert "nothing" in ran.err
    assert rows(path, "SELECT count(*) FROM files") == [(4,)]


def test_a_folder_that_cannot_be_read_loses_nothing(run: Run, archive: Path, path: Path) -> None:
    assert run("batch", "catalogue", archive, "-o", path, "-j", "1", "-q").code == 0
    archive.rename(archive.with_name("away"))
    assert run("batch", "catalogue", archive, "-o", path, "-j", "1", "-q").code == 3
    assert rows(path, "SELECT count(*) FROM files") == [(4,)]


def test_globs_forget_only_files_that_do_not_exist(run: Run, archive: Path, path: Path) -> None:
    assert run("batch", "catalogue", archive, "-o", path, "-j", "1", "-q").code == 0
    (archive / "windmill.3ds").unlink()
    assert run("batch", "catalogue", f"{archive}/*.3ds", "-o", path, "-j", "1", "-q").code == 0
    names = {Path(str(name)).name for (name,) in rows(path, "SELECT path FROM files")}
    assert names == {"broken.3ds", "motion.nanim", "bare.3ds"}


@pytest.mark.parametrize(
    "choice",
    [("--shard", "0/4"), ("--include", "windmill*"), ("--exclude", "*.nanim")],
    ids=lambda choice: str(choice[0]),
)
def test_files_that_a_run_leaves_out_keep_their_rows(
    run: Run, archive: Path, path: Path, choice: tuple[str, str]
) -> None:
    for number in range(8):
        put(archive / "deep" / f"{number}.nanim")
    with zipfile.ZipFile(archive / "pack.zip", "w") as pack:
        pack.writestr("in.3ds", OTHER)
        pack.writestr("in.nanim", GOOD)
    named = "b\udcff.nanim"  # not UTF-8
    put(archive / named)
    inputs = (archive, archive / "pack.zip")
    assert run("batch", "catalogue", *inputs, "-o", path, "-j", "1", "-q").code == 0
    assert rows(path, "SELECT count(*) FROM files") == [(15,)]
    (archive / "deep" / "3.nanim").unlink()
    ran = run("batch", "catalogue", *inputs, "-o", path, "-j", "1", *choice)
    assert ran.code == 0, ran.err
    assert "1 file removed from the catalogue" in ran.err
    names = {str(name).rpartition("/")[2] for (name,) in rows(path, "SELECT path FROM files")}
    expected = {"windmill.3ds", "motion.nanim", "bare.3ds", "broken.3ds", "in.3ds", "in.nanim", "b\\xff.nanim"}
    assert names == expected | {f"{number}.nanim" for number in range(8) if number != 3}
    with zipfile.ZipFile(archive / "pack.zip", "w") as pack:
        pack.writestr("in.3ds", OTHER)
    (archive / named).unlink()
    assert run("batch", "catalogue", *inputs, "-o", path, "-j", "1", *choice).code == 0
    assert {str(name).rpartition("/")[2] for (name,) in rows(path, "SELECT path FROM files")} == names - {
        "in.nanim",
        "b\\xff.nanim",
    }


def test_files_of_a_store_that_a_run_leaves_out_keep_their_rows(run: Run, path: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.store.clear()
    for name in ("a.nanim", "b.nanim", "deep/c.nanim", "deep/d.nanim"):
        memory.pipe(f"/kept/{name}", GOOD)
    assert run("batch", "catalogue", "memory:///kept", "-o", path, "-j", "1", "-q").code == 3  # of other processes
    assert rows(path, "SELECT count(*) FROM files") == [(4,)]
    memory.rm("/kept/deep/c.nanim")
    for url in ("memory:///kept", "memory:///kept/*.nanim"):
        run("batch", "catalogue", url, "-o", path, "-j", "1", "-q", "--include", "a*")
        names = [str(name) for (name,) in rows(path, "SELECT path FROM files ORDER BY path")]
        assert [name.rpartition("/")[2] for name in names] == ["a.nanim", "b.nanim", "d.nanim"]
    memory.store.clear()


def test_a_catalogue_in_the_folder_is_not_in_itself(run: Run, archive: Path) -> None:
    command = ("batch", "catalogue", archive, "-o", archive / "all.sqlite", "--all-files", "-j", "1", "-q")
    assert [run(*command).code, run(*command).code] == [0, 0]
    assert rows(archive / "all.sqlite", "SELECT count(*) FROM files") == [(4,)]


# search


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    put(folder / "in" / "windmill.3ds", EXAMPLE.read_bytes())
    put(folder / "in" / "motion.nanim")
    put(folder / "in" / "broken.3ds", BAD)
    Runner(folder / "a.sqlite")(folder / "in")
    return folder / "a.sqlite"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), ["broken.3ds", "motion.nanim", "windmill.3ds"]),
        (("ROTOR",), ["windmill.3ds"]),
        (("rot", "windm"), ["windmill.3ds"]),
        (("rotor", "motion"), []),
        (("otor",), []),
        (('"',), []),
        (("rotor OR motion",), []),
        (("--where", "format = 'nodeanim'"), ["motion.nanim"]),
        (("--where", "verdict <> 'clean' -- a comment"), ["broken.3ds"]),
        (("3ds", "--where", "id IN (SELECT file FROM tracks)"), ["windmill.3ds"]),
    ],
)
def test_search(run: Run, searched: Path, arguments: tuple[str, ...], expected: list[str]) -> None:
    ran = run("search", searched, *arguments)
    assert ran.code == 0, ran.err
    assert [Path(line).name for line in ran.out.splitlines()] == expected


def test_search_shows_what_matches(run: Run, searched: Path) -> None:
    assert "(3ds; clean; matches: Rotor)" in run("search", searched, "rotor", "-l").out
    report = run("search", searched, "rotor", "--format", "json").json()
    check_schema("search", report)
    assert report["files"][0]["matches"] == ["Rotor"]
    for line in run("search", searched, "--format", "jsonl").out.splitlines():
        check_schema("search", json.loads(line))
    assert run("search", searched, "--format", "csv").out.startswith("path,size,sha256,format,")


@pytest.mark.parametrize(
    "condition",
    [
        "nonsense",
        "",
        "1; DROP TABLE files",
        "1); DELETE FROM files; --",
        "load_extension('x')",
        "1) UNION SELECT 1 --",
        "path = 'a\0b",
        "writefile('/tmp/x', 'y')",
        "'" * 99,
        "(" * 5000,
    ],
)
def test_a_wrong_condition_is_one_clear_line(run: Run, searched: Path, condition: str) -> None:
    before = searched.read_bytes()
    for style in ("pretty", "json"):
        ran = run("search", searched, "--where", condition, "--format", style)
        assert (ran.code, ran.out) == (2, "")
        assert len(ran.err.splitlines()) == 1
        assert ran.err.startswith("keyframer search: the condition ")
        assert len(ran.err) < 500
    assert searched.read_bytes() == before


# catalogues that are not ours


def hostile(path: Path, *texts: str) -> Path:
    with closing(sqlite3.connect(path)) as database:
        for text in texts:
            database.executescript(text)
    return path


@pytest.mark.parametrize(
    "change", ["text", "empty", "foreign", "version", "trigger", "view", "missing", "bytes", "cut"]
)
def test_a_file_that_is_no_catalogue_is_refused_and_not_changed(
    run: Run, archive: Path, catalogued: Path, change: str
) -> None:
    if change in ("text", "empty", "foreign"):
        catalogued.unlink()
    if change == "text":
        catalogued.write_text("hello")
    elif change == "empty":
        catalogued.write_bytes(b"")
    elif change == "foreign":
        hostile(catalogued, "CREATE TABLE files (id)")
    elif change == "version":
        hostile(catalogued, "PRAGMA user_version = 99")
    elif change == "trigger":
        hostile(catalogued, "CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM nodes; END")
    elif change == "view":
        hostile(catalogued, "DROP VIEW animated_files; CREATE VIEW animated_files AS SELECT 1")
    elif change == "missing":
        hostile(catalogued, "DROP TABLE cameras")
    elif change == "bytes":  # text that is not UTF-8
        catalogued.write_bytes(catalogued.read_bytes().replace(b"CREATE INDEX", b"CR\xffATE INDEX", 1))
    else:
        catalogued.write_bytes(catalogued.read_bytes()[:5000])
    before = catalogued.read_bytes()
    for arguments in (("batch", "catalogue", archive, "-o", catalogued, "-j", "1"), ("search", catalogued, "rotor")):
        ran = run(*arguments)
        assert ran.code == 3
        assert len(ran.err.splitlines()) == 1, ran.err
        assert "catalogue" in ran.err
        assert catalogued.read_bytes() == before
    assert not catalogued.with_name("archive.sqlite.lock").exists()


def test_own_tables_and_views_are_kept(archive: Path, catalogued: Path) -> None:
    hostile(catalogued, "CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine'); CREATE VIEW v AS SELECT 1 AS a")
    assert Runner(catalogued)(archive) == (0, 4, 0)
    assert rows(catalogued, "SELECT text FROM notes") == [("mine",)]


def test_damaged_rows_are_made_again(archive: Path, catalogued: Path) -> None:
    hostile(
        catalogued, "UPDATE resume SET also = '[[[' WHERE file = 1; UPDATE resume SET stamp = x'00ff' WHERE file = 2"
    )
    processed, skipped, removed = Runner(catalogued)(archive)
    assert (processed, skipped, removed) == (1, 3, 0)  # the other one has its hash


def test_a_run_that_was_killed_while_it_wrote(archive: Path, catalogued: Path, run: Run) -> None:
    before = dump(catalogued)
    text = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = 2")  # pages are written before the end of the transaction
database.execute("BEGIN IMMEDIATE")
for number in range(1000):
    database.execute("INSERT INTO nodes VALUES (1, ?, 'half', 'object', NULL, NULL, 0)", (1000 + number,))
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", text, str(catalogued)], check=False)
    assert catalogued.with_name("archive.sqlite-journal").exists()
    ran = run("search", catalogued, "rotor")
    assert ran.code == 3
    assert ran.err.endswith("a run was killed while it wrote; batch catalogue with the same inputs mends it\n")
    assert Runner(catalogued)(archive) == (0, 4, 0)
    assert dump(catalogued) == before
    assert run("search", catalogued, "rotor").code == 0


@needs_linux
def test_one_run_at_a_time(archive: Path, catalogued: Path, run: Run) -> None:
    with Catalogue(str(catalogued), read_only=False):
        ran = run("batch", "catalogue", archive, "-o", catalogued, "-j", "1")
        assert ran.code == 3
        assert "in use" in ran.err
        assert run("search", catalogued, "rotor").code == 0  # reading is possible
    assert run("batch", "catalogue", archive, "-o", catalogued, "-j", "1").code == 0


@pytest.mark.parametrize("change", [True, False])
def test_a_catalogue_that_is_removed_during_a_run(
    archive: Path, catalogued: Path, run: Run, monkeypatch: pytest.MonkeyPatch, change: bool
) -> None:
    if change:
        put(archive / "new.nanim")
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "show", lambda *_: catalogued.unlink(missing_ok=True))
        ran = run("batch", "catalogue", archive, "-o", catalogued, "-j", "1")
    assert ran.code == 3
    assert "removed or replaced during the run" in ran.err


def test_control_characters_of_a_path_are_not_shown(run: Run, path: Path, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a\x1b[31m.nanim")
    Runner(path)(tmp_path / "in")
    for style in ("pretty", "csv", "json", "md"):
        assert "\x1b" not in run("search", path, "--format", style).out


# duplicates


def groups(path: Path) -> list[tuple[str, list[str], str]]:
    with Catalogue(str(path)) as catalogue:
        found = [*identical_files(catalogue), *near_files(catalogue)]
    return [(group.kind, sorted(Path(p).name for p in group.paths), group.difference) for group in found]


def variants(folder: Path) -> None:
    """Files with the meshes and the motion of the example, and two that differ a little."""
    put(folder / "a.3ds", EXAMPLE.read_bytes())
    put(folder / "copy.3ds", EXAMPLE.read_bytes())
    scene = keyframer.load(EXAMPLE)
    for name in ("b.glb", "b.ase", "b.u3d"):
        keyframer.save(scene, folder / name)
    for number, node in enumerate(scene.nodes):
        node.name = f"N{number}"
    keyframer.save(scene, folder / "renamed.3ds")
    scene = keyframer.load(EXAMPLE)
    positions = np.array(scene.meshes[0].positions)
    positions[0] += 1e-2 * np.ptp(positions)
    scene.meshes[0].positions = positions
    keyframer.save(scene, folder / "vertex.3ds")
    scene = keyframer.load(EXAMPLE)
    track = next(c.track for c in scene.clips[0].channels if c.track.kind == "rotation" and len(c.track.times) > 2)
    values = np.array(track.values)
    values[1, -1] += 0.05
    track.values = values
    keyframer.save(scene, folder / "key.3ds")


def test_duplicates(tmp_path: Path, path: Path, run: Run) -> None:
    variants(tmp_path / "in")
    Runner(path)(tmp_path / "in")
    identical, near = groups(path)
    assert identical == ("identical", ["a.3ds", "copy.3ds"], "only the names of the files")
    assert near[:2] == ("near", ["a.3ds", "b.ase", "b.glb", "b.u3d", "renamed.3ds"])
    for words in ("format (", "3ds", "ase", "gltf", "uto3d", "names of nodes", "keys"):
        assert words in near[2]
    ran = run("batch", "duplicates", path)
    assert ran.code == 0
    assert ran.out.count("near; differs: format (") == 1
    assert "identical: 1 group with the same bytes: 1 file more than needed" in ran.err
    assert "near: 1 group with the same meshes and motion, but other bytes: 5 files" in ran.err
    for text in run("batch", "duplicates", path, "--format", "jsonl").out.splitlines():
        check_schema("duplicates", json.loads(text))
    check_schema("duplicates", run("batch", "duplicates", path, "--format", "json").json())
    lines = run("batch", "duplicates", path, "--format", "csv").out.splitlines()
    assert len(lines) == 1 + 2 + 5
    direct = run("batch", "duplicates", tmp_path / "in", "-j", "1")
    assert direct.out == ran.out


def test_what_differs_is_said(tmp_path: Path, path: Path) -> None:
    """Built by hand, so that exactly one thing differs from the first file."""
    mesh = [make.mesh("Box", [[0, 0, 0], [4, 0, 0], [0, 5, 1]]), make.mesh("Lid", [[0, 0, 3], [1, 0, 3], [0, 2, 4]])]
    nodes = [make.node("object", "Box", 0), make.node("object", "Lid", 1)]
    camera = make.camera("Eye", (0, -20, 5), (0, 0, 0))
    files = {
        "order of nodes": make.file_bytes(mesh, nodes[::-1]),
        "tree": make.file_bytes(mesh, [nodes[0], make.node("object", "Lid", 1, parent=0)]),
        "cameras": make.file_bytes([*mesh, camera], nodes),
    }
    for name, data in files.items():
        folder = tmp_path / name.replace(" ", "_")
        put(folder / "in" / "first.3ds", make.file_bytes(mesh, nodes))
        put(folder / "in" / "second.3ds", data)
        Runner(folder / "a.sqlite")(folder / "in")
        [(kind, _, difference)] = groups(folder / "a.sqlite")
        assert kind == "near"
        assert name in difference


def test_what_the_catalogue_does_not_list_is_not_guessed(tmp_path: Path) -> None:
    nodes = [make.node("object", "Box", 0)]
    data = make.file_bytes([make.mesh("Box")], nodes)
    flags = data.replace(b"\1\0\2\0\7\0", b"\1\0\2\0\6\0")  # which edges of the face are visible
    longer = make.file_bytes([make.mesh("Box"), ShadowBiasLow(bias=1.0)], nodes)
    for name, other, expected in (
        ("flags", flags, "data that the catalogue does not list"),
        ("longer", longer, f"size ({len(data)}, {len(longer)}), data that the catalogue does not list"),
    ):
        assert other != data
        put(tmp_path / name / "1.3ds", data)
        put(tmp_path / name / "2.3ds", other)
        Runner(tmp_path / f"{name}.sqlite")(tmp_path / name)
        assert groups(tmp_path / f"{name}.sqlite") == [("near", ["1.3ds", "2.3ds"], expected)]


def test_writers_are_those_that_files_name(tmp_path: Path, path: Path) -> None:
    """A writer without a name is unknown, and the date of an export is not part of it."""
    put(tmp_path / "in" / "none.3ds", make.file_bytes([make.mesh("Box")], [make.node("object", "Box", 0)]))
    sample = next(path for path in sample_files("ase") if b"2,00 - made by hand" in path.read_bytes())
    for number, date in enumerate((b"Sat Nov 08 18:02:21 2008", b"Tue May  6 17:21:38 2008", b"made by hand")):
        put(tmp_path / "in" / f"{number}.ase", sample.read_bytes().replace(b"made by hand", date))
    Runner(path)(tmp_path / "in")
    assert rows(path, "SELECT writer, files FROM files_per_writer ORDER BY writer") == [
        (None, 1),
        ("AsciiExport Version  2,00", 2),
        ("AsciiExport Version  2,00 - made by hand", 1),
    ]


def test_the_work_for_duplicates_grows_with_the_files(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each fingerprint is compared with the groups near it, not with all others: here with one."""
    comparisons = []
    original = Fingerprint.matches
    monkeypatch.setattr(Fingerprint, "matches", lambda a, b: comparisons.append(1) or original(a, b))
    for number in range(60):  # thirty pairs with the same number of triangles, and other names
        points = [[0, 0, 0], [4 + number // 2, 0, 0], [0, 5, 1]]
        name = f"N{number}"
        put(tmp_path / "in" / f"{name}.3ds", make.file_bytes([make.mesh(name, points)], [make.node("object", name, 0)]))
    Runner(path)(tmp_path / "in")
    found = groups(path)
    assert len(found) == 30
    assert all(difference == "names of nodes" for _, _, difference in found)
    assert len(comparisons) == 30


@needs_corpus
def test_real_twins(tmp_path: Path, path: Path) -> None:
    twins = {
        "assimp__CameraRollAnim.ase": CORPUS / "ase",
        "assimp__TargetCameraAnim.ase": CORPUS / "ase",
        "assimp__assimp__CameraRollAnim.3ds": CORPUS / "3ds",
        "assimp__assimp__TargetCameraAnim.3ds": CORPUS / "3ds",
    }
    others = ("assimp__assimp__RotatingCube.3DS", "CelestiaProject__Celestia__bacchus.3ds")
    resaved = {"CelestiaProject__Celestia__bacchus-9a6c74e6.3ds"}
    for name, folder in {**twins, **dict.fromkeys((*others, *resaved), CORPUS / "3ds")}.items():
        put(tmp_path / "in" / name, (folder / name).read_bytes())
    Runner(path)(tmp_path / "in")
    found = groups(path)
    assert [names for _, names, _ in found] == [sorted(twins), sorted({others[1], *resaved})]
    assert "motion of cameras or lights" in found[0][2]
    assert "version (" in found[1][2]


def test_merging_keeps_what_this_run_found_and_the_stamps(archive: Path, tmp_path: Path, run: Run) -> None:
    first, second, merged = (tmp_path / f"{name}.sqlite" for name in ("first", "second", "merged"))
    Runner(first)(archive)
    put(archive / "windmill.3ds", OTHER)
    Runner(second)(archive)
    mill = "FROM files JOIN resume ON id = file WHERE path LIKE '%windmill.3ds'"
    [(sha256, stamp)] = rows(first, f"SELECT sha256, stamp {mill}")
    assert stamp
    for _ in range(2):
        ran = run("batch", "catalogue", first, second, "-o", merged, "-j", "1")
        assert ran.code == 0, ran.err
        assert rows(merged, f"SELECT sha256, stamp {mill}") == [(sha256, stamp)]
