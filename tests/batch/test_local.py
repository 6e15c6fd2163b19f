"""Our executor: a call that kills, hangs or eats memory costs only itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import wait
from pathlib import Path

import pytest

from keyframer.batch import Job, LocalExecutor, run
from keyframer.batch.local import Stopped
from keyframer.errors import FormatError
from tests.batch.places import put
from tests.batch.poison import act_and_return, double, poisoned, unsendable

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and prctl")


def test_it_is_an_executor() -> None:
    with LocalExecutor(2) as executor:
        assert list(executor.map(double, range(500))) == [2 * number for number in range(500)]
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(double, 1)


def test_exceptions_come_back_and_the_worker_goes_on() -> None:
    with LocalExecutor(1) as executor:
        assert isinstance(executor.submit(act_and_return, "raise").exception(), AssertionError)
        assert "cannot be sent" in str(executor.submit(unsendable).exception())
        assert executor.submit(double, 3).result() == 6


def test_poison_costs_only_itself(tmp_path: Path) -> None:
    """Every kind of bad file among good ones, next to each other and far apart."""
    names = [f"{number:03}" for number in range(60)]
    for at, kind in ((0, "kill"), (1, "kill"), (17, "hang"), (30, "eat"), (31, "exit"), (59, "kill")):
        names[at] += kind
    jobs = [Job("identify", str(put(tmp_path / f"{name}.nanim")), str(tmp_path / f"{name}.json")) for name in names]
    with LocalExecutor(2, seconds=2, memory=1 << 30) as executor:
        results = list(run(jobs, executor, task=poisoned))
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
    assert signals == {"the process that worked on it was killed by SIGKILL, twice"}
    assert not any("LIMIT_TIME" in str(result) and "hang" not in result["source"] for result in results)


def test_a_time_limit_is_for_one_call_not_for_all() -> None:
    with LocalExecutor(1, seconds=1.5) as executor:
        slow = [executor.submit(time.sleep, 0.4) for _ in range(6)]
        wait(slow)
        assert all(future.exception() is None for future in slow)
        late = executor.submit(time.sleep, 60).exception()
    assert isinstance(late, FormatError)
    assert late.code == "LIMIT_TIME"


def test_kill_leaves_nothing_behind() -> None:
    executor = LocalExecutor(2)
    futures = [executor.submit(time.sleep, 60) for _ in range(10)]
    time.sleep(0.5)
    executor.kill()
    executor.shutdown()
    assert all(future.cancelled() or isinstance(future.exception(), Stopped) for future in futures)


def test_shutdown_can_cancel() -> None:
    executor = LocalExecutor(1)
    futures = [executor.submit(time.sleep, 0.2) for _ in range(50)]
    time.sleep(0.3)
    executor.shutdown(cancel_futures=True)
    assert sum(future.cancelled() for future in futures) > 30


SCRIPT = """
import time
from keyframer.batch import LocalExecutor
executor = LocalExecutor(2)
for _ in range(2):
    executor.submit(time.sleep, 300)
time.sleep(0.6)
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
    end = time.monotonic() + 10
    while any(running(worker) for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.05)


def running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_is_imported_from_the_folder_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive may hold a ``pickle.py``: standing in it must not run it."""
    (tmp_path / "pickle.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "signal.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    with LocalExecutor(1) as executor:
        assert executor.submit(os.getcwd).result() == str(tmp_path)
    assert not (tmp_path / "ran").exists()
