"""Calls that kill, hang or exhaust the memory of a worker, chosen by the name of the file."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keyframer.batch import Job, job_execution
from keyframer.batch.job import Result

HANGING = "KEYFRAMER_HANGING"
"""names the folder in which a worker that hangs leaves a file named by its process id"""


def perform_poisoned_jobs(jobs: Sequence[Job]) -> list[Result]:
    """Perform jobs as usual, but first do what the name of each file says: kill, exit, hang, eat or raise."""
    usual = job_execution._perform

    def perform(job: Job, result: Result) -> None:
        act(job.source)
        usual(job, result)

    job_execution._perform = perform
    try:
        return [job_execution.perform(job) for job in jobs]
    finally:
        job_execution._perform = usual


def act(name: str) -> Any:
    """Do what a name says."""
    if "kill" in name:
        os.kill(os.getpid(), signal.SIGKILL)
    if "exit" in name:
        os._exit(7)
    if "hang" in name:
        Path(os.environ[HANGING], str(os.getpid())).touch()
        while True:
            time.sleep(1)
    if "eat" in name:
        return [bytearray(1 << 30) for _ in range(64)]
    if "raise" in name:
        raise AssertionError("\x1b[31mnever meant to happen")
    return None


def double(number: int) -> int:
    act(str(number))
    return 2 * number


def act_and_return(name: str) -> str:
    act(name)
    return name


def return_unpicklable() -> Any:
    return lambda: None


def wait_until_file_exists(path: str) -> str:
    """Stay busy until another process makes the file."""
    while not os.path.exists(path):
        time.sleep(0.01)
    return "made by another"


def make_file(path: str) -> str:
    with open(path, "w"):
        return "made"


def is_loaded(module: str) -> bool:
    import sys

    return module in sys.modules


def parent_pid() -> int:
    return os.getppid()
