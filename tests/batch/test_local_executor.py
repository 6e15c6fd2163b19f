"""`LocalExecutor`: a call that kills its worker, hangs or exhausts memory affects only itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import Job, LocalExecutor, local_executor, run
from keyframer.batch.local_executor import Stopped
from keyframer.errors import FormatError
from tests.batch.holding import apply_time_limit_only_if_hanging, read_count
from tests.batch.places import put
from tests.batch.poison import (
    HANGING,
    act_and_return,
    defer_until_file_exists,
    double,
    fail_in_deferred_answer,
    is_loaded,
    make_file,
    make_file_in_sync,
    parent_pid,
    perform_poisoned_jobs,
    return_unpicklable,
    wait_until_file_exists,
)
from tests.waiting import PATIENCE, wait_for

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and prctl")


def test_local_executor_runs_calls_and_shuts_down() -> None:
    with LocalExecutor(2) as executor:
        assert list(executor.map(double, range(500))) == [2 * number for number in range(500)]
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(double, 1)


def test_exceptions_are_returned_and_the_worker_continues() -> None:
    with LocalExecutor(1) as executor:
        assert isinstance(executor.submit(act_and_return, "raise").exception(), AssertionError)
        assert "cannot be sent" in str(executor.submit(return_unpicklable).exception())
        assert executor.submit(double, 3).result() == 6


def test_a_call_that_cannot_be_sent_leaves_no_process_behind() -> None:
    with LocalExecutor(1) as executor:
        assert executor.submit(lambda: 1).exception() is not None
        assert executor.submit(double, 3).result() == 6
        assert len(executor._alive) == 1


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the time limit only to workers that were told to hang."""
    folder = tmp_path / "hanging"
    folder.mkdir()
    monkeypatch.setenv(HANGING, str(folder))
    apply_time_limit_only_if_hanging(monkeypatch, lambda worker: read_count(folder / str(worker.process.pid)))


def test_failing_call_affects_only_itself(tmp_path: Path, hanging: None) -> None:
    """Calls of every failing kind among good ones, next to each other and far apart."""
    names = [f"{number:03}" for number in range(60)]
    for at, kind in ((0, "kill"), (1, "kill"), (17, "hang"), (30, "eat"), (31, "exit"), (59, "kill")):
        names[at] += kind
    jobs = [Job("identify", str(put(tmp_path / f"{name}.nanim")), str(tmp_path / f"{name}.json")) for name in names]
    with LocalExecutor(2, seconds=1, memory=1 << 30) as executor:
        results = list(run(jobs, executor, task=perform_poisoned_jobs))
    assert len(results) == len({result["source"] for result in results}) == 60
    wanted = {"kill": "RUN_WORKER_KILLED", "exit": "RUN_WORKER_KILLED", "hang": "LIMIT_TIME", "eat": "LIMIT_MEMORY"}
    for result in results:
        kind = Path(result["source"]).stem[3:]
        if kind:
            assert result["error"]["code"] == wanted[kind]
            assert not Path(result["output"]).exists()
        else:
            assert result["status"] == "done", result
    signals = {result["error"]["message"] for result in results if "kill" in result["source"]}
    assert signals == {"the worker process was killed by SIGKILL while it processed this file, twice"}
    assert not any("LIMIT_TIME" in str(result) and "hang" not in result["source"] for result in results)


def test_time_limit_applies_to_each_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three calls of six seconds each stay within ten seconds, one of eleven does not; the test moves the clock."""
    now = 1_000.0
    monkeypatch.setattr(local_executor, "monotonic", lambda: now)
    with LocalExecutor(1, seconds=10) as executor:
        for number, seconds in enumerate((6, 6, 6, 11)):
            gate = str(tmp_path / str(number))
            call = executor.submit(wait_until_file_exists, gate)
            wait_for(lambda: len(executor._alive) == 1)
            (worker,) = executor._alive
            wait_for(lambda heard=2 * number + 2, worker=worker: worker._serial == heard)  # asked, and begun
            now += seconds
            if seconds < 10:
                make_file(gate)
                assert call.result() == "made by another"
        late = call.exception()
    assert isinstance(late, FormatError)
    assert late.code == "LIMIT_TIME"


SubmitPortion = Callable[[LocalExecutor, list[tuple[Any, ...]]], list[Future[Any]]]


@pytest.fixture
def submit_as_one_portion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SubmitPortion:
    """Return a function that submits calls so that the only worker receives them together: the worker is busy until all
    calls are queued, and no call is expected to take long."""
    monkeypatch.setattr(local_executor, "_PORTION_SECONDS", 1e9)

    def submit(executor: LocalExecutor, calls: list[tuple[Any, ...]]) -> list[Future[Any]]:
        gate = str(tmp_path / "all of them wait")
        busy = executor.submit(wait_until_file_exists, gate)
        wait_for(busy.running)
        futures = [executor.submit(*call) for call in (*calls, *[(double, number) for number in range(100)])]
        make_file(gate)
        return futures

    return submit


def test_next_call_starts_while_an_answer_waits_for_the_disk(
    tmp_path: Path, submit_as_one_portion: SubmitPortion
) -> None:
    path = str(tmp_path / "made")
    with LocalExecutor(1, seconds=PATIENCE) as executor:
        calls = [
            (defer_until_file_exists, path),
            (make_file, path),
            (double, 4),
            (act_and_return, "raise"),
            (double, 5),
        ]
        answers = [future.exception() or future.result() for future in submit_as_one_portion(executor, calls)[:5]]
        failed = executor.submit(fail_in_deferred_answer).exception()
    assert [answers[0], answers[1], answers[2], answers[4]] == ["waited", "made", 8, 10]
    assert isinstance(answers[3], AssertionError)
    assert isinstance(failed, AssertionError)


def test_answers_are_synced_together_and_keep_their_order(tmp_path: Path, submit_as_one_portion: SubmitPortion) -> None:
    """The first answer is finished after the last one is synced."""
    path = str(tmp_path / "synced")
    with LocalExecutor(1, seconds=PATIENCE) as executor:
        calls = [(defer_until_file_exists, path), (double, 1), (fail_in_deferred_answer,), (make_file_in_sync, path)]
        futures = submit_as_one_portion(executor, calls)[:4]
        answers = [future.exception() or future.result() for future in futures]
    assert [*answers[:2], answers[3]] == ["waited", 2, "synced"]
    assert isinstance(answers[2], AssertionError)


def test_call_waiting_for_the_disk_is_not_blamed_for_a_later_kill(
    tmp_path: Path, submit_as_one_portion: SubmitPortion
) -> None:
    with LocalExecutor(1, seconds=PATIENCE) as executor:
        calls = [
            *((defer_until_file_exists, str(tmp_path / name)) for name in "abc"),
            (act_and_return, "kill"),
            (double, 1),
        ]
        *waiting, bad, good = submit_as_one_portion(executor, calls)[:5]
        assert [future.result() for future in waiting] == ["again"] * 3
        assert good.result() == 2
        culprit = bad.exception()
    assert isinstance(culprit, FormatError)
    assert culprit.code == "RUN_WORKER_KILLED"


@linux
def test_preloaded_modules_are_in_every_worker() -> None:
    with LocalExecutor(2, modules=["wave", "no.such.module"]) as executor:
        executor.start()
        assert executor.submit(is_loaded, "wave").result()
        assert not executor.submit(is_loaded, "aifc").result()
        assert len({executor.submit(parent_pid).result() for _ in range(20)}) == 1


@linux
def test_executor_continues_without_the_fork_server() -> None:
    """The process that forks workers is killed, by a user or for lack of memory: its workers die with it."""
    with LocalExecutor(2) as executor:
        server = executor.submit(parent_pid).result()
        os.kill(server, signal.SIGKILL)
        assert list(executor.map(double, range(50))) == [2 * number for number in range(50)]


def test_workers_are_started_as_processes_where_fork_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, submit_as_one_portion: SubmitPortion
) -> None:
    monkeypatch.setattr(local_executor, "CAN_FORK", False)
    with LocalExecutor(1, seconds=PATIENCE) as executor:
        calls = [(defer_until_file_exists, str(tmp_path / "a")), (act_and_return, "kill"), (double, 1)]
        waiting, bad, good = submit_as_one_portion(executor, calls)[:3]
        assert (waiting.result(), good.result()) == ("again", 2)
        culprit = bad.exception()
        assert executor.submit(parent_pid).result() == os.getpid()
    assert isinstance(culprit, FormatError)
    assert culprit.code == "RUN_WORKER_KILLED"


def test_kill_ends_all_processes() -> None:
    executor = LocalExecutor(2)
    futures = [executor.submit(time.sleep, 3_600) for _ in range(10)]
    wait_for(lambda: len(executor._alive) == 2)
    executor.kill()
    executor.shutdown()
    assert all(future.cancelled() or isinstance(future.exception(), Stopped) for future in futures)


def test_shutdown_can_cancel_calls(tmp_path: Path) -> None:
    executor = LocalExecutor(1)
    gate = str(tmp_path / "gate")
    begun = executor.submit(wait_until_file_exists, gate)
    wait_for(begun.running)
    waiting = [executor.submit(double, number) for number in range(50)]
    executor.shutdown(wait=False, cancel_futures=True)
    make_file(gate)
    executor.shutdown()
    assert begun.result() == "made by another"
    assert all(future.cancelled() for future in waiting)


SCRIPT = """
import time
from keyframer.batch import LocalExecutor
executor = LocalExecutor(2)
for _ in range(2):
    executor.submit(time.sleep, 300)
while len(executor._alive) < 2:
    time.sleep(0.01)
print(*[worker.process.pid for worker in executor._alive], flush=True)
time.sleep(300)
"""


@linux
def test_workers_die_with_their_coordinator() -> None:
    coordinator = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE)
    assert coordinator.stdout is not None
    workers = [int(word) for word in coordinator.stdout.readline().split()]
    coordinator.kill()
    coordinator.wait()
    coordinator.stdout.close()
    assert len(workers) == 2
    wait_for(lambda: not any(running(worker) for worker in workers))


def running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_modules_in_the_working_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive may contain a ``pickle.py``: it must not run because it is in the working folder."""
    (tmp_path / "pickle.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "signal.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    with LocalExecutor(1) as executor:
        assert executor.submit(os.getcwd).result() == str(tmp_path)
    assert not (tmp_path / "ran").exists()
