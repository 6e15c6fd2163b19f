"""An operation with a help text, listed in the table of batches, is a command and what a batch does with every file."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyframer.batch import Job, operation_table, perform
from keyframer.operations import Operation, WorkFile
from tests.cli.running import EXAMPLE, Run


class Count(Operation):
    name = "count"
    help = "count the nodes of every file"
    about = "Count the nodes of a file."
    examples = ("keyframer count scene.3ds",)
    ending = ".count"
    reads_scenes = True

    def perform(self, file: WorkFile) -> None:
        nodes = len(file.scene().nodes)
        file.details = {"nodes": nodes}
        file.write(f"{nodes} nodes\n".encode())


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    for operations in (operation_table.ALL, operation_table.OPERATIONS):
        monkeypatch.setitem(operations, "count", Count())


def test_the_command_and_the_batch_write_the_same(run: Run, tmp_path: Path) -> None:
    assert run("count", EXAMPLE).out == "12 nodes\n"  # as `keyframer info` says
    assert run("-q", "count", "-r", EXAMPLE.parent, "-o", tmp_path).code == 0
    result = perform(Job("count", str(EXAMPLE), str(tmp_path / "batch.count")))
    assert (result["status"], result["details"]) == ("done", {"nodes": 12})
    assert (tmp_path / "batch.count").read_bytes() == (tmp_path / f"{EXAMPLE.name}.count").read_bytes()


def test_failures_of_the_command_and_the_batch_are_the_same(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.3ds"
    bad.write_bytes(b"junk")
    ran = run("count", bad, EXAMPLE, "-o", tmp_path / "out/")
    error = perform(Job("count", str(bad), str(tmp_path / "x")))["error"]
    assert ran.code == 3
    assert error["message"] in ran.err
    assert (tmp_path / "out" / f"{EXAMPLE.name}.count").exists()


def test_the_operation_is_in_help_and_reports(run: Run) -> None:
    assert "count the nodes of every file" in run("--help").out
    assert "count the nodes of every file" in run("batch", "--help").out
    assert "Count the nodes of a file." in run("count", "--help").out
    assert "several files need -o: a folder, or a suffix such as .count" in run("count", EXAMPLE, EXAMPLE).err
    assert "did you mean 'count'" in run("cuont").err
