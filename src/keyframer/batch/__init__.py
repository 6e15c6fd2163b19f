"""Runs jobs on many files, with any ``concurrent.futures`` executor, a ledger, and resuming of interrupted runs.

    from keyframer import batch

    jobs = [batch.Job("convert", "a.3ds", "out/a.glb"), batch.Job("check", "b.3ds", "out/b.json")]
    with batch.LocalExecutor(4) as executor:      # or any other executor: threads, processes, Dask
        for result in batch.run(jobs, executor):
            print(result["source"], result["status"], result["error"])

A job never raises: its outcome is its result, a plain dict. `ResumableRun` adds names for outputs, the ledger and
resuming; ``keyframer batch`` is its command.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from keyframer.batch.base_run import InputFile, Summary
    from keyframer.batch.job import Job, Result
    from keyframer.batch.job_execution import perform
    from keyframer.batch.job_submission import perform_all, run
    from keyframer.batch.ledger import Ledger, LedgerError
    from keyframer.batch.local_executor import LocalExecutor
    from keyframer.batch.operation_table import OPERATIONS
    from keyframer.batch.resumable_run import ResumableRun

_MODULES = {
    "OPERATIONS": "operation_table",
    "ResumableRun": "resumable_run",
    "InputFile": "base_run",
    "Job": "job",
    "Ledger": "ledger",
    "LedgerError": "ledger",
    "LocalExecutor": "local_executor",
    "Result": "job",
    "Summary": "base_run",
    "perform": "job_execution",
    "perform_all": "job_submission",
    "run": "job_submission",
}

__all__ = [
    "OPERATIONS",
    "InputFile",
    "Job",
    "Ledger",
    "LedgerError",
    "LocalExecutor",
    "Result",
    "ResumableRun",
    "Summary",
    "perform",
    "perform_all",
    "run",
]


def __getattr__(name: str) -> Any:
    module_name = _MODULES.get(name)
    if module_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module_name}"), name)
    globals()[name] = value
    return value
