"""Many files: any ``concurrent.futures`` executor, a ledger, and resuming where a run was cut off.

    from keyframer import batch

    jobs = [batch.Job("convert", "a.3ds", "out/a.glb"), batch.Job("check", "b.3ds", "out/b.json")]
    with batch.LocalExecutor(4) as executor:      # or any other executor: threads, processes, Dask
        for result in batch.run(jobs, executor):
            print(result["source"], result["status"], result["error"])

A job never raises: what became of it is its result, a plain dict. `Campaign` adds names for outputs, the ledger and
resuming; ``keyframer batch`` is that on the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from keyframer.batch.job import Job, Result
    from keyframer.batch.job_execution import perform, perform_all
    from keyframer.batch.job_submission import run
    from keyframer.batch.ledger import Ledger, LedgerError
    from keyframer.batch.local_executor import LocalExecutor
    from keyframer.batch.operations import OPERATIONS, Operation
    from keyframer.batch.resumable_run import Campaign, Found, Summary

_HOMES = {
    "OPERATIONS": "operations",
    "Campaign": "resumable_run",
    "Found": "resumable_run",
    "Job": "job",
    "Ledger": "ledger",
    "LedgerError": "ledger",
    "LocalExecutor": "local_executor",
    "Operation": "operations",
    "Result": "job",
    "Summary": "resumable_run",
    "perform": "job_execution",
    "perform_all": "job_execution",
    "run": "job_submission",
}

__all__ = [
    "OPERATIONS",
    "Campaign",
    "Found",
    "Job",
    "Ledger",
    "LedgerError",
    "LocalExecutor",
    "Operation",
    "Result",
    "Summary",
    "perform",
    "perform_all",
    "run",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
