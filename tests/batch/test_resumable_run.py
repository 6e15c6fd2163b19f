"""Ledger and resume: unchanged files are skipped, changed files are done again, no file is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import InputFile, Ledger, LedgerError, ResumableRun, base_run
from keyframer.batch.job import LEDGER as NAME
from keyframer.batch.job_submission import perform_all
from keyframer.errors import FormatError
from tests.batch.places import BAD, GOOD, OTHER, age, input_files, put, without_hash
from tests.batch.test_run import LosesBadTasks
from tests.building.images import picture
from tests.portable import needs_linux


class InProcess(LosesBadTasks):
    """Runs jobs at once in this process."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
        future = super().submit(function, [])
        future._result = function(*arguments)  # type: ignore[attr-defined]
        return future


class Place:
    """An input folder, an output folder, and runs from one to the other."""

    def __init__(self, folder: Path) -> None:
        self.source, self.out = folder / "in", folder / "out"

    def run(
        self, operation: str = "convert", options: dict[str, Any] | None = None, **more: Any
    ) -> tuple[list[str], ResumableRun]:
        """Return the names of the processed files, and the run."""
        with Ledger(str(self.out / NAME), str(self.out)) as ledger:
            resumable = ResumableRun(operation, options or {}, str(self.out), ledger, **more)
            resumable.plan(input_files(self.source))
            resumable.sweep()
            results = list(resumable.execute(InProcess(), task=perform_all))
        return sorted(Path(result["source"]).name for result in results), resumable

    def rows(self) -> dict[str, dict[str, Any]]:
        with Ledger(str(self.out / NAME), read_only=True) as ledger:
            return {Path(row["source"]).name: row for row in ledger.rows()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    put(place.source / "a.nanim")
    put(place.source / "deep" / "er" / "b.3ds", OTHER)
    put(place.source / "bad.3ds", BAD)
    return place


ALL = ["a.nanim", "b.3ds", "bad.3ds"]


def test_ledger_has_a_row_for_each_file(place: Place) -> None:
    worked, resumable = place.run()
    assert worked == ALL
    assert (resumable.summary.counts["done"], resumable.summary.counts["failed"]) == (2, 1)
    rows = place.rows()
    assert sorted(rows) == ALL
    row = rows["b.3ds"]
    assert row["output"] == "deep/er/b.glb"
    assert (row["status"], row["format"], row["size"]) == ("done", "3ds", len(OTHER))
    assert all(len(row[name]) == 64 for name in ("sha256", "options"))
    (output,) = row["outputs"]
    assert output["size"] == (place.out / "deep/er/b.glb").stat().st_size
    assert row["seconds"] > 0
    assert (rows["bad.3ds"]["code"], rows["bad.3ds"]["outputs"]) == ("IO_UNRECOGNISED", [])


def test_second_run_skips_finished_files(place: Place) -> None:
    place.run()
    worked, resumable = place.run()
    assert worked == []
    assert resumable.summary.skipped == 3
    assert (resumable.summary.counts["done"], resumable.summary.counts["failed"]) == (2, 1)


def test_unchanged_files_are_not_opened(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run()
    monkeypatch.setattr(base_run.storage, "read", None)
    assert place.run()[0] == []


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda place: put(place.source / "a.nanim", OTHER), ["a.nanim"]),
        (lambda place: put(place.source / "new.nanim"), ["new.nanim"]),
        (lambda place: age(place.source / "a.nanim", 99), []),
        (lambda place: put(place.source / "bad.3ds", OTHER), ["bad.3ds"]),
        (lambda place: (place.out / "a.glb").unlink(), ["a.nanim"]),
        (lambda place: (place.out / "a.glb").write_bytes(b""), ["a.nanim"]),
        (lambda place: (place.out / "a.glb").write_bytes(b"x" * (place.out / "a.glb").stat().st_size), ["a.nanim"]),
        (lambda place: age(place.out / "a.glb"), []),
    ],
    ids=["content", "new", "touched", "mended", "output gone", "output empty", "output spoilt", "output touched"],
)
def test_changed_files_are_done_again(place: Place, change: Any, again: list[str]) -> None:
    place.run()
    change(place)
    assert place.run()[0] == again
    assert place.run()[0] == []


def test_verify_finds_a_change_that_keeps_size_and_time(place: Place) -> None:
    place.run()
    old = (place.source / "a.nanim").stat()
    (place.source / "a.nanim").write_bytes(GOOD[:-1] + b"\x55")
    os.utime(place.source / "a.nanim", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert place.run()[0] == []
    assert place.run(verify=True)[0] == ["a.nanim"]


def test_recently_changed_file_is_compared_by_content(place: Place) -> None:
    (place.source / "a.nanim").write_bytes(GOOD)
    place.run()
    old = (place.source / "a.nanim").stat()
    (place.source / "a.nanim").write_bytes(GOOD[:-1] + b"\x55")
    os.utime(place.source / "a.nanim", ns=(old.st_atime_ns, old.st_mtime_ns))
    assert place.run()[0] == ["a.nanim"]


def test_changed_options_or_versions_repeat_files(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run()
    assert place.run(options={"core_only": True})[0] == ALL
    assert place.run(options={"core_only": True})[0] == []
    monkeypatch.setattr(base_run, "__version__", "99")
    assert place.run(options={"core_only": True})[0] == ALL


def test_changed_companion_repeats_a_file(tmp_path: Path) -> None:
    """A Hale3D animation is read with the model beside it."""
    from tests.samples import sample_files

    samples = {path.name: path.read_bytes() for path in sample_files("hale3d")}
    place = Place(tmp_path)
    put(place.source / "a.anim", samples["wave-length.anim"])
    put(place.source / "a.mdl", samples["arm-length.mdl"])
    place.run()
    read = [also for also in place.rows()["a.anim"]["also"] if isinstance(also[1], int)]
    assert [Path(also[0]).name for also in read] == ["a.mdl"]
    assert place.run()[0] == []
    age(place.source / "a.mdl", 50)
    assert "a.anim" in place.run()[0]


@pytest.mark.parametrize("operation", ["convert", "check"])
def test_added_or_removed_companion_repeats_a_file(tmp_path: Path, operation: str) -> None:
    from tests.samples import sample_files

    samples = {path.name: path.read_bytes() for path in (*sample_files("hale3d"), *sample_files("midtown"))}
    place = Place(tmp_path)
    put(place.source / "a.anim", samples["wave-length.anim"])
    put(place.source / "b.anim", samples["wave-length.anim"])
    put(place.source / "c.anim", samples["retail.anim"])
    put(place.source / "pedanim_manwalk.anim", samples["retail.anim"])
    alone = place.run(operation)[0]
    assert place.run(operation)[0] == []
    put(place.source / "A.MDL", samples["arm-length.mdl"])
    assert place.run(operation)[0] == ["A.MDL", "a.anim"]
    assert place.run(operation)[0] == []
    put(place.source / "c.skel", b"a skeleton that cannot be read")
    put(place.source / "unrelated.txt", b"beside them")
    assert place.run(operation)[0] == ["c.anim", "c.skel", "unrelated.txt"]
    put(place.source / "pedmodel_man.skel", b"bone root { offset 0 0 0 }")  # clips of the game share a skeleton
    assert place.run(operation)[0] == ["pedanim_manwalk.anim", "pedmodel_man.skel"]
    (place.source / "A.MDL").unlink()
    assert place.run(operation)[0] == ["a.anim"]
    assert alone == ["a.anim", "b.anim", "c.anim", "pedanim_manwalk.anim"]


@pytest.mark.parametrize("operation", ["convert", "info", "thumbnail"])
@pytest.mark.parametrize("name", ["Sleeve.png", "materials/sleeve.tga", "MaterialS/sleeve.tga", "sleeve.JPG"])
def test_added_or_removed_image_repeats_a_file(tmp_path: Path, operation: str, name: str) -> None:
    """The model names ``materials/sleeve.mat``: any image named ``sleeve`` is used."""

    from tests.samples import sample_files

    model = next(path for path in sample_files("hale3d") if path.name == "arm-length.mdl").read_bytes()
    place = Place(tmp_path)
    options = {"settings": {"two_sided": True}} if operation == "thumbnail" else {}  # the sheet shows its back
    put(place.source / "a.mdl", model)
    put(place.source / "b.nanim")
    place.run(operation, options)
    without = (place.out / place.rows()["a.mdl"]["output"]).read_bytes()
    put(place.source / "other.png", b"an image of another name")
    assert place.run(operation, options)[0] == ["other.png"]
    put(place.source / name, picture({"png": "PNG", "tga": "TGA", "jpg": "JPEG"}[name[-3:].lower()]))
    assert "a.mdl" in place.run(operation, options)[0]
    assert (place.out / place.rows()["a.mdl"]["output"]).read_bytes() != without
    assert place.run(operation, options)[0] == []
    (place.source / name).unlink()
    assert place.run(operation, options)[0] == ["a.mdl"]
    assert (place.out / place.rows()["a.mdl"]["output"]).read_bytes() == without


def test_image_added_to_a_subfolder_repeats_a_file(tmp_path: Path) -> None:
    from tests.samples import sample_files

    model = next(path for path in sample_files("hale3d") if path.name == "arm-length.mdl").read_bytes()
    place, maps = Place(tmp_path), tmp_path / "maps"
    put(place.source / "a.mdl", model)
    (maps / "old" / "wood").mkdir(parents=True)
    options = {"texture_path": [str(maps)], "texture_recursive": True}
    place.run(options=options)
    without = (place.out / "a.glb").read_bytes()
    put(maps / "old" / "wood" / "oak.png", picture())
    assert place.run(options=options)[0] == []
    put(maps / "old" / "wood" / "SLEEVE.png", picture())
    assert place.run(options=options)[0] == ["a.mdl"]
    assert (place.out / "a.glb").read_bytes() != without
    assert place.run(options=options)[0] == []
    shutil.rmtree(maps / "old")
    assert place.run(options=options)[0] == ["a.mdl"]
    assert (place.out / "a.glb").read_bytes() == without
    put(place.source / "new" / "sleeve.png", picture())
    assert "a.mdl" in place.run(options=options)[0]


def test_image_found_by_its_dos_short_name_repeats_a_file(tmp_path: Path) -> None:
    from tests.samples import sample_files

    model = next(path for path in sample_files("hale3d") if path.name == "arm-length.mdl").read_bytes()
    assert model.count(b"sleeve") == 1
    place = Place(tmp_path)
    put(place.source / "a.mdl", model.replace(b"sleeve", b"slee~1"))
    place.run()
    without = (place.out / "a.glb").read_bytes()
    put(place.source / "Slow.png", picture())
    assert place.run()[0] == ["Slow.png"]
    put(place.source / "Sleepwalker.png", picture())
    assert place.run()[0] == ["Sleepwalker.png", "a.mdl"]
    assert (place.out / "a.glb").read_bytes() != without
    assert place.run()[0] == []


def test_changed_gltf_buffer_repeats_a_file(tmp_path: Path) -> None:
    place = Place(tmp_path)
    from keyframer.batch import Job, perform

    result = perform(Job("convert", str(put(tmp_path / "b.3ds", OTHER)), str(place.source / "a.gltf")))
    text, numbers = (Path(output["path"]) for output in result["outputs"])
    assert (text.name, without_hash(numbers.name)) == ("a.gltf", "a.bin")
    renamed = numbers.rename(numbers.with_name("caf\N{LATIN SMALL LETTER E WITH ACUTE}.bin"))
    put(text, text.read_bytes().replace(numbers.name.encode(), rb"caf\u00e9.bin"))
    numbers = renamed
    age(numbers)
    assert "a.gltf" in place.run("info")[0]
    assert place.run("info")[0] == []
    age(numbers, 50)
    assert "a.gltf" in place.run("info")[0]
    numbers.unlink()
    assert "a.gltf" in place.run("info")[0]
    assert place.run("info")[0] == []


def test_failures_of_files_are_kept_and_failures_of_reading_are_retried(place: Place) -> None:
    place.run()
    assert place.run(retry=True)[0] == ["bad.3ds"]
    gone = InputFile(str(place.source / "gone.3ds"), "gone.3ds", error=FormatError("IO_READ_FAILED", 0, "/", "gone"))
    for _ in range(2):
        with Ledger(str(place.out / NAME), str(place.out)) as ledger:
            resumable = ResumableRun("convert", {}, str(place.out), ledger)
            resumable.plan([gone])
            (result,) = list(resumable.execute(InProcess()))
        assert result["error"]["code"] == "IO_READ_FAILED"


def test_operations_can_share_an_output_folder(place: Place) -> None:
    assert place.run("convert")[0] == ALL
    assert place.run("check")[0] == ALL
    assert place.run("convert")[0] == place.run("check")[0] == []


def test_a_file_named_twice_is_done_once(place: Place) -> None:
    with Ledger(str(place.out / NAME), str(place.out)) as ledger:
        resumable = ResumableRun("identify", {}, str(place.out), ledger)
        resumable.plan(input_files(place.source) * 2)
        assert len(list(resumable.execute(InProcess()))) == resumable.summary.total == 3


def test_moved_output_folder_keeps_its_rows(place: Place) -> None:
    place.run()
    moved = place.out.with_name("moved")
    shutil.move(place.out, moved)
    place.out = moved
    assert place.run()[0] == []


def test_new_files_do_not_take_names_of_earlier_outputs(place: Place) -> None:
    place.run()
    put(place.source / "a.3ds", OTHER)
    worked, resumable = place.run()
    assert worked == ["a.3ds"]
    assert [renamed.given for renamed in resumable.summary.renamed] == ["a.3ds.glb"]
    assert place.rows()["a.nanim"]["output"] == "a.glb"
    with Ledger(str(place.out / NAME), read_only=True) as ledger:
        assert [renamed.given for renamed in ledger.renamed()] == ["a.3ds.glb"]


def test_outputs_are_not_inputs(place: Place) -> None:
    place.out = place.source
    place.run("identify")
    worked, _ = place.run("identify")
    assert not [name for name in worked if name.endswith(".json")]


def test_temporary_files_of_killed_writers_are_removed(place: Place) -> None:
    place.run()
    for name in (".kf-0123456789ab", ".kf-mine", "kf-0123456789ab"):
        put(place.out / "deep" / "er" / name)
    place.run()
    assert sorted(path.name for path in (place.out / "deep" / "er").iterdir()) == [
        ".kf-mine",
        "b.glb",
        "kf-0123456789ab",
    ]


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    place = Place(tmp_path)
    put(place.source / os.fsdecode(b"caf\xe9.nanim"))
    assert len(place.run()[0]) == 1
    assert place.run()[0] == []
    assert (place.out / os.fsdecode(b"caf\xe9.glb")).exists()
    assert list(place.rows()) == [os.fsdecode(b"caf\xe9.nanim")]


@needs_linux
def test_second_run_on_a_folder_in_use_is_refused(place: Place) -> None:
    place.run()
    with (
        Ledger(str(place.out / NAME), str(place.out)),
        pytest.raises(LedgerError, match="another run"),
    ):
        Ledger(str(place.out / NAME), str(place.out))
    assert sorted(place.rows()) == ALL


def test_unusable_ledgers_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "text", b"x" * 5_000)
    with pytest.raises(LedgerError, match="is not a usable ledger"):
        Ledger(str(tmp_path / "text"), str(tmp_path))
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger(str(tmp_path / "missing"), read_only=True)
    Ledger(str(tmp_path / "one"), "/out/a").close()
    with pytest.raises(LedgerError, match="another folder"):
        Ledger(str(tmp_path / "one"), "/out/b")
    base = sqlite3.connect(tmp_path / "one")
    base.execute("UPDATE about SET value = '99' WHERE name = 'version'")
    base.commit()
    base.close()
    with pytest.raises(LedgerError, match="another version"):
        Ledger(str(tmp_path / "one"), "/out/a")


def test_file_that_killed_its_worker_is_not_tried_again(place: Place) -> None:
    from concurrent.futures import Future

    class Killed(LosesBadTasks):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(FormatError("RUN_WORKER_KILLED", 0, "/", "twice"))
            return future

    with Ledger(str(place.out / NAME), str(place.out)) as ledger:
        resumable = ResumableRun("identify", {}, str(place.out), ledger)
        resumable.plan(input_files(place.source))
        assert len(list(resumable.execute(Killed(), files_per_task=1))) == 3
    assert place.run("identify")[0] == []
    assert place.run("identify", retry=True)[0] == ALL


def test_second_run_queries_the_ledger_for_many_rows_at_once(place: Place) -> None:
    """One query for each of 100,000 files took most of the time of a second run."""
    for number in range(60):
        put(place.source / f"{number}.nanim")
    assert len(place.run("identify")[0]) == 63
    asked: list[str] = []
    with Ledger(str(place.out / NAME), str(place.out)) as ledger:
        ledger._database.set_trace_callback(asked.append)
        resumable = ResumableRun("identify", {}, str(place.out), ledger)
        resumable.plan(input_files(place.source))
        assert list(resumable.execute(InProcess())) == []
    assert resumable.summary.skipped == 63
    assert len(asked) < 20


@pytest.mark.parametrize("code", ["IO_READ_FAILED", "IO_CHANGED_DURING_READ", "IO_MANIFEST_MISMATCH"])
def test_failure_that_the_file_did_not_cause_is_repeated(place: Place, code: str) -> None:
    (file,) = (file for file in input_files(place.source) if file.relative == "a.nanim")
    statuses = []
    for error in (FormatError(code, 0, "/", "once"), None, None):
        with Ledger(str(place.out / NAME), str(place.out)) as ledger:
            resumable = ResumableRun("identify", {}, str(place.out), ledger)
            resumable.plan([file._replace(error=error)])
            statuses.append([result["status"] for result in resumable.execute(InProcess())])
    assert statuses == [["failed"], ["done"], []]
