"""Shards: N shares of a batch, each with its own ledger, together give what one run gives."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyframer.batch import InputFile, Ledger, ResumableRun
from keyframer.batch.job import LEDGER, new_result
from keyframer.batch.shards import Ledgers, Shard, ledgers_of, missing_shards
from keyframer.cli.parser import build_parser
from tests.batch.places import BAD, OTHER, put
from tests.cli.running import Run

ROOT = Path(__file__).resolve().parents[2]


class Immediate(Executor):
    """Executes every task at once, in this thread."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments, **options))
        return future


def planned(relatives: Iterable[str], folder: str, shard: Shard | None = None) -> dict[str, str]:
    """Return the output of each file of a run."""
    name = LEDGER if shard is None else shard.file_name(LEDGER)
    with Ledger(os.path.join(folder, name), folder) as ledger:
        run = ResumableRun("convert", {}, folder, ledger, shard=shard)
        run.plan(InputFile(f"/in/{relative}", relative) for relative in relatives)
        results = run.execute(Immediate(), task=lambda jobs: [new_result(job) for job in jobs])
        return {result["source"]: os.path.relpath(result["output"], folder) for result in results}


_NAMES = st.sampled_from(
    ["a", "A", "a.3ds", "a.anim", "A.3DS", "a.3ds.3ds", "a.3ds.anim", "a.glb", ".a", ".a.3ds", "é.3ds"]
)
_FOLDERS = st.sampled_from(["", "a/", "A/", "a.glb/", "b/a.glb/", "b/a.GLB/c/"])


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(_FOLDERS, _NAMES).map("".join), unique=True, max_size=12),
    st.integers(2, 4),
)
def test_shards_name_outputs_as_one_run_does(relatives: list[str], count: int) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as many:
        expected = planned(relatives, one)
        shares = [planned(relatives, many, Shard(index, count)) for index in range(count)]
    assert sum(map(len, shares)) == len(expected)
    assert {source: output for share in shares for source, output in share.items()} == expected


def test_shares_are_even_and_stable() -> None:
    """The first numbers are pinned: a later version must not move files to other shards."""
    names = [f"{number % 100:03}/{number:06}.3ds" for number in range(10_000)]
    sizes = [sum(Shard(index, 10).has(name) for name in names) for index in range(10)]
    assert sum(sizes) == 10_000
    assert all(800 < size < 1_200 for size in sizes)
    # the first 8 bytes of sha256("a"), sha256("b/c") and sha256("ä"), modulo 1000
    assert all(Shard(index, 1000).has(name) for index, name in ((250, "a.3ds"), (81, "b/C.anim"), (132, "Ä.x.y")))


@pytest.mark.parametrize("text", ["", "1", "3/3", "-1/3", "1/0", "0/1000001", "1/3/5", "a/b", "٠/٣", "1.0/3"])
def test_wrong_shards_are_wrong_usage(run: Run, tmp_path: Path, text: str) -> None:
    ran = run("batch", "check", tmp_path, "-o", tmp_path / "out", f"--shard={text}")
    assert ran.code == 2
    assert "--shard" in ran.err


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with collisions, a bad file and files in folders."""
    folder = tmp_path_factory.mktemp("archive")
    for name in ("a.nanim", "b/a.nanim", "b/c.nanim", "d/e/f.nanim", "a.glb/x.nanim"):
        put(folder / name)
    for name in ("a.3ds", "b/c.3ds", "d/g.3ds"):
        put(folder / name, OTHER)
    put(folder / "d" / "bad.3ds", BAD)
    return folder


def tree(out: Path) -> dict[str, bytes]:
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and not path.name.startswith("keyframer-batch")
    }


def rows(out: Path) -> list[dict[str, Any]]:
    """Return the rows of all ledgers of an output folder, without times and with outputs relative to it."""
    found = []
    for row in Ledgers(ledgers_of(str(out))).rows():
        row["outputs"] = [(os.path.basename(output["path"]), output["sha256"]) for output in row["outputs"]]
        found.append({name: value for name, value in row.items() if name not in ("seconds", "finished")})
    return sorted(found, key=lambda row: str(row["source"]))


def test_shards_give_the_tree_and_rows_of_one_run(run: Run, archive: Path, tmp_path: Path) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    assert run("batch", "convert", archive, "-o", one, "-j", "1").code == 3
    codes = [
        run("batch", "convert", archive, "-o", many, "-j", "1", "--shard", f"{index}/3").code for index in range(3)
    ]
    assert sorted(codes) == [0, 0, 3]  # one share has the bad file
    assert tree(many) == tree(one)
    assert rows(many) == rows(one)
    reports = [run("batch", "report", out, "--format", "csv") for out in (one, many)]
    assert len({report.code for report in reports}) == 1
    without_seconds = [sorted(line.rpartition(",")[0] for line in report.out.splitlines()) for report in reports]
    assert without_seconds[0] == without_seconds[1]
    heads = [run("batch", "report", out).out.partition("\n\n")[0].splitlines() for out in (one, many)]
    assert sorted(heads[0]) == sorted(heads[1])  # counts and renamed outputs
    again = run("batch", "convert", archive, "-o", many, "-j", "1", "--shard", "1/3")
    count = re.search(r"shard 1/3: (\d) files: \d done, \d failed, (\d) already finished", again.err)
    assert count is not None, again.err
    assert count[1] == count[2] != "0"


def test_file_with_two_paths_is_in_one_shard(run: Run, archive: Path, tmp_path: Path) -> None:
    """Of inputs inside each other, the first gives a file its path, in shards as in one run."""
    inputs = (archive / "b", archive, archive / "d")
    for number in range(2):
        run("batch", "identify", *inputs, "-o", tmp_path / "many", "-j", "1", "--shard", f"{number}/2")
    run("batch", "identify", *inputs, "-o", tmp_path / "one", "-j", "1")
    assert rows(tmp_path / "many") == rows(tmp_path / "one")
    assert tree(tmp_path / "many") == tree(tmp_path / "one")


def test_folder_that_was_empty_has_no_row_once_it_has_files(run: Run, tmp_path: Path) -> None:
    """Its row is in the ledger of one shard, and the first file in that of another."""
    (tmp_path / "in").mkdir()
    for content in (False, True):
        if content:
            (shard,) = (shard for shard in (Shard(0, 2), Shard(1, 2)) if not shard.has("in"))
            put(tmp_path / "in" / next(f"{n}.nanim" for n in range(99) if shard.has(f"{n}.nanim")))
        for index in range(2):
            run("batch", "identify", tmp_path / "in", "-o", tmp_path / "out", "-j", "1", "--shard", f"{index}/2")
        assert [row["status"] for row in rows(tmp_path / "out")] == ["done" if content else "failed"]


def test_other_number_of_shards_is_refused(run: Run, archive: Path, tmp_path: Path) -> None:
    """The ledgers of the first run would not be known to the second, and every file would be in both."""
    assert run("batch", "identify", archive, "-o", tmp_path, "-j", "1", "--shard", "0/200").code in (0, 3)
    for arguments in (("--shard", "0/3"), ("--shard", "0/300"), ()):
        ran = run("batch", "identify", archive, "-o", tmp_path, *arguments)
        assert ran.code == 3
        assert "keyframer-batch.000-of-200.sqlite belongs to a run with 200 shards" in ran.err
    assert not (tmp_path / LEDGER).exists()
    report = run("batch", "report", tmp_path)
    assert "199 of 200 shards have no ledger: 1/200, 2/200" in report.err


def test_missing_shards_are_named() -> None:
    paths = [Shard(index, 12).file_name(f"/out/{LEDGER}") for index in range(12) if index not in (3, 11)]
    assert missing_shards([*paths, f"/other/{LEDGER}"]) == ["/out: 2 of 12 shards have no ledger: 3/12, 11/12"]


@pytest.mark.parametrize(("source", "out"), [("in", "in"), ("in", "in/out"), ("out/in", "out"), ("in/*.3ds", "in/out")])
def test_output_folder_inside_the_inputs_is_refused(run: Run, tmp_path: Path, source: str, out: str) -> None:
    """Other shards write while this one lists its inputs."""
    put(tmp_path / source / "a.3ds" if "*" not in source else tmp_path / "in" / "a.3ds", OTHER)
    ran = run("batch", "convert", tmp_path / source, "-o", tmp_path / out, "--to", "3ds", "--shard", "0/2")
    assert ran.code == 2
    assert "outside the inputs" in ran.err
    assert not list(tmp_path.rglob("*.sqlite"))


def test_files_of_other_shards_are_not_examined(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared disk takes milliseconds for the size of each file: a shard asks only for its own."""
    import argparse

    from keyframer.cli import inputs
    from keyframer.cli.batch.inputs import find_files

    asked: list[str] = []
    status = inputs.WalkedFile.status.fget
    monkeypatch.setattr(
        inputs.WalkedFile, "status", property(lambda item: (asked.append(item.relative), status(item))[1])
    )
    shard = Shard(0, 2)
    options = argparse.Namespace(
        files=[str(archive)], files_from=None, all_files=False, include=[], exclude=[], operation="check", shard=shard
    )
    found = list(find_files(options))
    assert len(found) == 9
    own = [file.relative for file in found if shard.has(file.relative)]
    assert set(asked) == set(own)
    assert [bool(file.stamp) for file in found] == [file.relative in own for file in found]


def test_files_of_other_shards_cost_no_memory(tmp_path: Path) -> None:
    """One of a million shards takes none of these files, and keeps nothing about them."""
    names = (f"{number % 50:02}/{number:06}.3ds" for number in range(5_000))
    with Ledger(str(tmp_path / LEDGER), str(tmp_path)) as ledger:
        run = ResumableRun("convert", {}, str(tmp_path), ledger, shard=Shard(0, 1_000_000))
        tracemalloc.start()
        try:
            run.plan(InputFile(f"/in/{name}", name) for name in names)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert run.summary.total == 0
    assert peak < 100_000  # 20 bytes for each file


def documented(language: str, words: str) -> str:
    """Return the block of the page that contains these words."""
    page = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    (block,) = (block for block in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) if words in block)
    return str(block)


def test_commands_of_the_documentation_name_a_shard() -> None:
    """The commands for Kubernetes and AWS Batch, after these have replaced the index."""
    import shlex

    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load(documented("yaml", "completionMode: Indexed"))["spec"]
    (container,) = job["template"]["spec"]["containers"]
    script = documented("sh", '--shard "$AWS_BATCH_JOB_ARRAY_INDEX').replace("\\\n", "")
    for command, index, count in (
        (container["command"], "$(JOB_COMPLETION_INDEX)", job["completions"]),
        (shlex.split(script), "$AWS_BATCH_JOB_ARRAY_INDEX", 100),
    ):
        assert command[0] == "keyframer"
        options = build_parser().parse_args([word.replace(index, "99") for word in command[1:]])
        assert options.shard == Shard(99, count)
        assert not [value for value in vars(options).values() if "$" in str(value)]


def test_slurm_script_of_the_documentation(archive: Path, tmp_path: Path) -> None:
    """The script runs once for each index that Slurm would set, in any order; the report is that of all shards."""
    script = documented("sh", "#SBATCH --array")
    last = re.search(r"--array=0-(\d+)", script)
    shards = re.search(r"SHARDS=(\d+)", script)
    assert last is not None
    assert shards is not None
    assert int(shards[1]) == int(last[1]) + 1
    script = script.replace("/shared/archive", str(archive)).replace("/shared/converted", str(tmp_path / "out"))
    script = script.replace(f"SHARDS={shards[1]}", "SHARDS=2")
    tool = tmp_path / "bin" / "keyframer"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m keyframer "$@"\n')
    tool.chmod(0o755)
    (tmp_path / "job.sh").write_text(script)
    for index in (1, 0):
        environment = {"SLURM_ARRAY_TASK_ID": str(index), "SLURM_CPUS_PER_TASK": "1"}
        environment["PATH"] = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
        ran = subprocess.run(
            ["bash", str(tmp_path / "job.sh")], env={**os.environ, **environment}, capture_output=True, check=False
        )
        assert ran.returncode in (0, 3), ran.stderr
    found = rows(tmp_path / "out")
    assert len(found) == 9
    assert sum(row["status"] == "done" for row in found) == 8
