"""Batches on a cluster: a real scheduler and real worker processes on loopback, one of which is killed at work."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keyframer.batch import Job
from keyframer.batch.cluster import ClusterError, connect, isolated_task
from keyframer.batch.job import LEDGER as NAME
from keyframer.batch.job_submission import run as run_jobs
from keyframer.batch.ledger import Ledger
from tests.batch.holding import Gate
from tests.batch.places import BAD, put, temporaries
from tests.cli.running import START
from tests.waiting import PATIENCE, wait_for

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="the extra 'cluster' is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


class Cluster:
    def __init__(
        self, address: str, scheduler: subprocess.Popen[bytes], workers: list[subprocess.Popen[bytes]]
    ) -> None:
        self.address = address
        self.scheduler = scheduler
        self.workers = workers


@contextmanager
def cluster(folder: Path, count: int, *security: str, environment: dict[str, str] | None = None) -> Iterator[Cluster]:
    note = folder / "scheduler.json"
    common = ["--no-dashboard", "--host", "127.0.0.1", *security]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, "env": environment}
    started: list[subprocess.Popen[bytes]] = []

    def start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, *common]
        started.append(subprocess.Popen(command, **quiet))  # type: ignore[call-overload]
        return started[-1]

    try:
        scheduler = start(
            "dask_scheduler", "--port", "0", "--scheduler-file", str(note), *(["--protocol", "tls"] if security else [])
        )
        wait_for(note.exists)
        wait_for(lambda: bool(note.read_text()))
        address = json.loads(note.read_text())["address"]
        workers = [start("dask_worker", address, "--nthreads", "1", "--no-nanny") for _ in range(count)]
        yield Cluster(address, scheduler, workers)
    finally:
        for process in started[::-1]:
            process.kill()
            process.wait()


def outputs(out: Path) -> int:
    return sum(1 for path in out.rglob("*.json"))


def is_abandoned(temporary: Path) -> bool:
    """Return whether the writer of a temporary file has ended: it holds a lock."""
    with temporary.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_killed_worker_loses_no_files(tmp_path: Path) -> None:
    from distributed import Client

    count = 200
    for number in range(count):
        put(tmp_path / "in" / f"{number % 7}" / f"{number:04}.nanim", *([BAD] if number % 50 == 0 else []))
    os.mkfifo(tmp_path / "hang.nanim")  # refused before a worker could hang
    out = tmp_path / "out"
    (tmp_path / "dask").mkdir()
    gate = Gate(tmp_path / "gate", "0060.nanim", writing=True)
    with cluster(tmp_path / "dask", 2, environment=gate.environment) as running_cluster:
        arguments = [
            "batch",
            "info",
            str(tmp_path / "in"),
            str(tmp_path / "hang.nanim"),
            "-o",
            str(out),
            "--cluster",
            running_cluster.address,
            "--time-limit",
            str(PATIENCE),
        ]
        with Client(running_cluster.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
        process = subprocess.Popen([sys.executable, "-c", START, *arguments], stderr=subprocess.PIPE, text=True)
        gate.wait_for_workers(2)
        assert len(temporaries(out)) == 2
        running_cluster.workers[0].send_signal(signal.SIGKILL)
        wait_for(lambda: any(map(is_abandoned, temporaries(out))))  # its process is dead and has not removed it
        gate.open()
        _, text = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, text
    with Ledger(str(out / NAME), read_only=True) as ledger:
        rows = list(ledger.rows())
    assert len(rows) == count + 1
    assert sum(row["status"] == "done" for row in rows) == outputs(out) == count - count // 50
    assert {row["code"] for row in rows if row["status"] == "failed"} == {"IO_UNRECOGNISED", "IO_READ_FAILED"}
    assert all(json.loads(path.read_text()) for path in out.rglob("*.json"))
    assert temporaries(out) == []


def test_killed_scheduler_marks_no_file_as_failed(tmp_path: Path) -> None:
    """The run ends with one line and exit code 3; the same command finishes the files on another cluster."""
    from distributed import Client

    count = 40
    for number in range(count):
        put(tmp_path / "in" / f"{number:04}.nanim", *([BAD] if number == 0 else []))
    out = tmp_path / "out"
    arguments = ["batch", "info", str(tmp_path / "in"), "-o", str(out), "--time-limit", str(PATIENCE), "--cluster"]
    gate = Gate(tmp_path / "gate", "0021.nanim")
    (tmp_path / "first").mkdir()
    with cluster(tmp_path / "first", 1, environment=gate.environment) as first:
        with Client(first.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
        process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments, first.address], stderr=subprocess.PIPE, text=True
        )
        gate.wait_for_workers(1)
        first.scheduler.send_signal(signal.SIGKILL)
        _, text = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, text
    (line,) = (line for line in text.splitlines() if "cluster" in line)
    assert "the same command" in line
    assert not [line for line in text.splitlines() if not line.startswith("keyframer: ")]
    with Ledger(str(out / NAME), read_only=True) as ledger:
        assert {row["code"] for row in ledger.rows() if row["status"] == "failed"} <= {"IO_UNRECOGNISED"}
    (tmp_path / "second").mkdir()
    gate.open()
    with cluster(tmp_path / "second", 1) as second:
        ran = subprocess.run(
            [sys.executable, "-c", START, *arguments, second.address], stderr=subprocess.PIPE, text=True, check=False
        )
    assert ran.returncode == 3, ran.stderr  # the one bad file
    with Ledger(str(out / NAME), read_only=True) as ledger:
        rows = {Path(row["source"]).name: row["status"] for row in ledger.rows()}
    assert rows == {f"{number:04}.nanim": "done" if number else "failed" for number in range(count)}


def test_batch_over_tls(tmp_path: Path) -> None:
    from distributed import Security

    certificates = Security.temporary()
    files = {name: tmp_path / name for name in ("ca", "cert", "key")}
    for name, text in (
        ("ca", certificates.tls_ca_file),
        ("cert", certificates.tls_client_cert),
        ("key", certificates.tls_client_key),
    ):
        files[name].write_text(text)
    tls_options = ("--tls-ca-file", str(files["ca"]), "--tls-cert", str(files["cert"]), "--tls-key", str(files["key"]))
    jobs = [Job("identify", str(put(tmp_path / f"{n}.nanim")), str(tmp_path / f"{n}.json")) for n in range(5)]
    with cluster(tmp_path, 1, *tls_options) as running:
        assert running.address.startswith("tls://")
        wrong = pytest.raises(ClusterError, match="no scheduler answers")
        with wrong, connect(running.address.replace("tls:", "tcp:"), seconds=2):
            pass
        options = {"ca": str(files["ca"]), "certificate": str(files["cert"]), "key": str(files["key"])}
        with connect(running.address, **options) as executor:  # type: ignore[arg-type]
            results = list(run_jobs(jobs, executor, files_per_task=2, task=isolated_task()))
    assert [result["status"] for result in results] == ["done"] * 5


def test_missing_scheduler_is_reported() -> None:
    with (
        pytest.raises(ClusterError, match="no scheduler answers at tcp"),
        connect("tcp://127.0.0.1:9", seconds=1),
    ):
        pass
