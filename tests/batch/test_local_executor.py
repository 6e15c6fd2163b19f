"""`LocalExecutor`: a call that kills its worker, hangs or exhausts memory affects only itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from keyframer.batch import Job, LocalExecutor, local_executor, run
from keyframer.batch.local_executor import Stopped
from keyframer.errors import FormatError
from tests.batch.holding import apply_time_limit_only_if_hanging
from tests.batch.holding import own_fork_server as own_fork_server  # the fixture
from tests.batch.places import put
from tests.batch.poison import (
    HANGING,
    act_and_return,
    double,
    is_loaded,
    make_file,
    parent_pid,
    perform_poisoned_jobs,
    return_unpicklable,
    wait_until_file_exists,
)
from tests.portable import needs_linux
from tests.waiting import PATIENCE, wait_for


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
    before = {*multiprocessing.active_children()}
    with LocalExecutor(1) as executor:
        assert executor.submit(lambda: 1).exception() is not None
        assert executor.submit(double, 3).result() == 6
        assert len({*multiprocessing.active_children()} - before) == 1


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_fork_server: None) -> None:
    """Apply the time limit only to workers that were told to hang."""
    folder = tmp_path / "hanging"
    folder.mkdir()
    monkeypatch.setenv(HANGING, str(folder))
    apply_time_limit_only_if_hanging(monkeypatch, lambda worker: (folder / str(worker.process.pid)).exists())


@needs_linux
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


@needs_linux
def test_preloaded_modules_are_in_every_worker(own_fork_server: None) -> None:
    with LocalExecutor(2, modules=["no.such.module", "wave"]) as executor:
        executor.start()
        assert executor.submit(is_loaded, "wave").result()
        assert not executor.submit(is_loaded, "aifc").result()
        assert len({executor.submit(parent_pid).result() for _ in range(20)}) == 1


@needs_linux
def test_executor_continues_without_the_fork_server(own_fork_server: None) -> None:
    """The process that forks workers is killed, by a user or for lack of memory; the next worker needs another."""
    with LocalExecutor(2) as executor:
        server = executor.submit(parent_pid).result()
        os.kill(server, signal.SIGKILL)
        assert isinstance(executor.submit(act_and_return, "kill").exception(), FormatError)
        assert list(executor.map(double, range(50))) == [2 * number for number in range(50)]


def test_workers_are_spawned_where_there_is_no_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_executor, "METHOD", "spawn")
    with LocalExecutor(1, seconds=PATIENCE) as executor:
        culprit = executor.submit(act_and_return, "kill").exception()
        assert executor.submit(parent_pid).result() == os.getpid()
    assert isinstance(culprit, FormatError)
    assert culprit.code == "RUN_WORKER_KILLED"


UNGUARDED = """
from keyframer.batch import LocalExecutor
print("once")
with LocalExecutor(1) as executor:
    print(executor.submit(len, "four").result())
"""


def test_script_needs_no_guard_around_its_main_part(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.stdout, ran.stderr) == ("once\n4\n", "")


def result_in_daemon(pipe: Any) -> None:
    with LocalExecutor(1) as executor:
        pipe.send(executor.submit(double, 4).result())


def test_daemon_can_start_workers() -> None:
    """Workers of a cluster may be daemons, for which ``multiprocessing`` refuses children."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=result_in_daemon, args=(theirs,), daemon=True)
    process.start()
    assert ours.poll(PATIENCE)
    assert ours.recv() == 8
    process.join()


def test_kill_ends_all_processes() -> None:
    before = {*multiprocessing.active_children()}
    executor = LocalExecutor(2)
    futures = [executor.submit(time.sleep, 3_600) for _ in range(10)]
    wait_for(lambda: len({*multiprocessing.active_children()} - before) == 2)
    executor.kill()
    executor.shutdown()
    assert not {*multiprocessing.active_children()} - before
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
import multiprocessing, time
from keyframer.batch import LocalExecutor
executor = LocalExecutor(2)
for _ in range(2):
    executor.submit(time.sleep, 300)
while len(multiprocessing.active_children()) < 2:
    time.sleep(0.01)
print(*[worker.pid for worker in multiprocessing.active_children()], flush=True)
time.sleep(300)
"""


@needs_linux
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


@pytest.mark.skipif(local_executor.METHOD != "forkserver", reason="there is no fork server")
def test_ctrl_c_while_the_fork_server_loads_modules(tmp_path: Path) -> None:
    """It goes to all processes of a terminal; the executor continues."""
    (tmp_path / "slow.py").write_text(f"open({str(tmp_path / 'pipe')!r}).read()\n")
    os.mkfifo(tmp_path / "pipe")
    script = (
        f"import signal, sys; sys.path.append({str(tmp_path)!r}); signal.signal(signal.SIGINT, lambda *_: None)\n"
        "from keyframer.batch.local_executor import LocalExecutor\n"
        "with LocalExecutor(1, modules=['slow']) as executor:\n"
        "    executor.start()\n"
        "    print(executor.submit(abs, -7).result())\n"
    )
    piped: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, **piped)
    with open(tmp_path / "pipe", "w"):  # waits until the server loads the module
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (out, err) == ("7\n", "")
