"""`run` on any executor: one result for each job, even if the job or its worker fails."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from keyframer import batch
from keyframer.batch import Job, LocalExecutor, perform, perform_all, run
from keyframer.batch.job import options_hash
from keyframer.batch.job_submission import ExecutorLost
from tests.batch.places import BAD, GOOD, OTHER, put
from tests.batch.poison import perform_poisoned_jobs
from tests.samples import all_samples

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "threads": lambda: ThreadPoolExecutor(2),
    "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    "ours": lambda: LocalExecutor(2),
}


@pytest.mark.parametrize("name", EXECUTORS)
def test_any_executor(name: str, tmp_path: Path) -> None:
    jobs = [
        Job("identify", str(path), str(tmp_path / f"{number}.json")) for number, (_, path) in enumerate(all_samples())
    ]
    jobs.append(Job("identify", str(tmp_path / "missing.3ds"), str(tmp_path / "missing.json")))
    with EXECUTORS[name]() as executor:
        results = list(run(jobs, executor))
    assert sorted(result["source"] for result in results) == sorted(job.source for job in jobs)
    assert {result["status"] for result in results if "missing" not in result["source"]} == {"done"}
    (lost,) = [result for result in results if "missing" in result["source"]]
    assert (lost["status"], lost["error"]["code"]) == ("failed", "IO_READ_FAILED")
    assert all(json.loads(Path(result["output"]).read_text()) for result in results if result["status"] == "done")


def test_results_are_plain_data(tmp_path: Path) -> None:
    for operation, known in batch.OPERATIONS.items():
        result = perform(Job(operation, str(put(tmp_path / "a.nanim")), str(tmp_path / f"a{known.suffix({})}")))
        assert result["status"] == "done", result
        assert json.loads(json.dumps(result, allow_nan=False)) == result
        assert result["format"] == "nodeanim"
        assert result["size"] == len(GOOD)
        assert [Path(output["path"]).stat().st_size for output in result["outputs"]] == [
            output["size"] for output in result["outputs"]
        ]


def test_jobs_are_plain_data() -> None:
    job = Job("convert", "a.3ds", "a.glb", {"unit": "cm"}, 1, "2:3")
    assert pickle.loads(pickle.dumps(job)) == job
    assert options_hash("convert", {"a": 1, "b": 2}) == options_hash("convert", {"b": 2, "a": 1})
    assert options_hash("convert", {"a": 1}) != options_hash("check", {"a": 1})


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (Job("convert", "nothing/there.3ds", "x.glb"), "IO_READ_FAILED"),
        (Job("juggle", "a.3ds", "x"), "RUN_REFUSED"),
        (Job("convert", "bad.3ds", "x.glb"), "IO_UNRECOGNISED"),
        (Job("convert", "empty.3ds", "x.glb"), "IO_EMPTY"),
        (Job("convert", "good.nanim", "file/x.glb"), "RUN_OUTPUT_REFUSED"),
        (Job("check", "good.nanim", "file/x.json"), "RUN_OUTPUT_REFUSED"),
        (Job("convert", "good.nanim", "x.glb", {"scene": {"colour": "red"}}), "RUN_REFUSED"),
        (Job("convert", "\0", "x.glb"), "RUN_REFUSED"),
        (Job("convert", "s4://nowhere/x", "x.glb"), "IO_READ_FAILED"),
        (Job("convert", "raise.3ds", "x.glb"), "RUN_INTERNAL_ERROR"),
        (Job("convert", "pack.zip!/missing.3ds", "x.glb"), "IO_READ_FAILED"),
    ],
)
def test_a_job_never_raises(job: Job, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "bad.3ds", BAD)
    put(tmp_path / "empty.3ds", b"")
    put(tmp_path / "good.nanim")
    put(tmp_path / "file", b"in the way")
    put(tmp_path / "pack.zip", b"PK\x05\x06" + bytes(18))
    (result,) = perform_poisoned_jobs([job])
    assert (result["status"], result["error"]["code"]) == ("failed", code)
    assert "\x1b" not in result["error"]["message"]


def test_a_failed_sync_fails_only_its_own_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [Job("identify", str(put(tmp_path / f"{name}.nanim")), str(tmp_path / f"{name}.json")) for name in "abc"]
    outcomes = iter([None, OSError(errno.EIO, os.strerror(errno.EIO))])

    def fsync(descriptor: int) -> None:
        if outcome := next(outcomes, None):
            raise outcome

    monkeypatch.setattr(os, "fsync", fsync)
    results = perform_all(jobs)
    assert [result["status"] for result in results] == ["done", "failed", "done"]
    assert results[1]["error"]["code"] == "RUN_OUTPUT_REFUSED"
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".nanim") == ["a.json", "c.json"]


def test_broken_pool_returns_failed_results(tmp_path: Path) -> None:
    """A ``ProcessPoolExecutor`` is unusable after one of its processes dies; still every job has a result."""
    jobs = [Job("identify", str(put(tmp_path / f"{number}.nanim")), str(tmp_path / f"{number}")) for number in range(6)]
    jobs.append(Job("identify", str(put(tmp_path / "kill.nanim")), str(tmp_path / "kill")))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        results = list(run(jobs, executor, files_per_task=2, task=perform_poisoned_jobs))
    assert len(results) == 7
    assert {result["error"]["code"] for result in results if result["error"]} == {"RUN_WORKER_KILLED"}


class LosesBadTasks(Executor):
    """Loses every task that contains a bad job, as a cluster does with a task that kills its workers."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        (jobs,) = arguments
        self.sizes.append(len(jobs))
        future: Future[Any] = Future()
        if any("bad" in job.source for job in jobs):
            future.set_exception(RuntimeError("KilledWorker"))
        else:
            future.set_result([{"source": job.source, "status": "done"} for job in jobs])
        return future


def test_lost_task_is_split_until_the_bad_job_is_alone() -> None:
    jobs = [Job("identify", f"{number}{'bad' if number == 77 else ''}", "x") for number in range(200)]
    executor = LosesBadTasks()
    results = list(run(jobs, executor, files_per_task=200))
    assert len({result["source"] for result in results}) == len(results) == 200
    (culprit,) = [result for result in results if result["status"] == "failed"]
    assert culprit["source"] == "77bad"
    assert culprit["error"]["code"] == "RUN_WORKER_KILLED"
    assert max(executor.sizes) == 200
    assert len(executor.sizes) <= 2 * 8 + 1  # halved down to the bad job, and nothing else is repeated


def test_remote_executor_that_loses_a_task_fails_no_file() -> None:
    jobs = [Job("identify", f"{number}{'bad' if number == 77 else ''}", "x") for number in range(200)]
    executor = LosesBadTasks()
    executor.remote = True  # type: ignore[attr-defined]
    results = run(jobs, executor, files_per_task=200)
    assert [next(results)["status"] for _ in range(199)] == ["done"] * 199
    with pytest.raises(ExecutorLost, match="KilledWorker"):
        next(results)


def test_jobs_are_taken_only_when_there_is_room() -> None:
    taken = 0

    def jobs() -> Any:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield Job("identify", str(number), "x")

    results = run(jobs(), LosesBadTasks(), files_per_task=10)
    next(iter(results))
    assert taken < 2_000


def test_stop_prevents_further_jobs() -> None:
    seen: list[str] = []
    for result in run(
        (Job("identify", str(number), "x") for number in range(10_000)),
        LosesBadTasks(),
        files_per_task=1,
        stop=lambda: len(seen) >= 5,
    ):
        seen.append(result["source"])
    assert 5 <= len(seen) < 10_000


def test_repeated_jobs_write_the_same_bytes(tmp_path: Path) -> None:
    """A cluster may run a task twice."""
    for operation, known in batch.OPERATIONS.items():
        job = Job(operation, str(put(tmp_path / "a.3ds", OTHER)), str(tmp_path / f"a{known.suffix({})}"))
        first, second = perform(job), perform(job)
        assert [output["sha256"] for output in first["outputs"]] == [output["sha256"] for output in second["outputs"]]


def test_image_of_one_file_does_not_replace_the_image_of_another(tmp_path: Path) -> None:
    """Images inside glTF files are written beside the 3DS files, under their original names."""
    from PIL import Image

    from tests.cli.running import EXAMPLE

    for name, colour in (("a", (255, 0, 0)), ("b", (0, 0, 255)), ("c", (255, 0, 0))):
        source = put(tmp_path / name / "w.3ds", EXAMPLE.read_bytes())
        Image.new("RGB", (4, 4), colour).save(source.parent / "STONE.PNG")
        assert perform(Job("convert", str(source), str(tmp_path / f"{name}.glb")))["status"] == "done"
    out = tmp_path / "out"
    jobs = [Job("convert", str(tmp_path / f"{name}.glb"), str(out / f"{name}.3ds"), {"to": "3ds"}) for name in "abc"]
    results = [perform(job) for job in jobs]
    assert [result["status"] for result in results] == ["done"] * 3
    images = [Path(output["path"]) for result in results for output in result["outputs"][1:]]
    assert [path.name for path in images] == ["STONE.PNG", "STONE2.PNG", "STONE.PNG"]
    for path, colour in zip(images, ((255, 0, 0), (0, 0, 255), (255, 0, 0)), strict=True):
        with Image.open(path) as opened:
            assert opened.convert("RGB").getpixel((0, 0)) == colour
    assert b"STONE2.PNG\0" in (out / "b.3ds").read_bytes()
