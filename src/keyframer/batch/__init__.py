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

    from keyframer.batch.base_run import InputFile as InputFile
    from keyframer.batch.base_run import Summary as Summary
    from keyframer.batch.job import Job as Job
    from keyframer.batch.job import Result as Result
    from keyframer.batch.job_execution import perform as perform
    from keyframer.batch.job_submission import perform_all as perform_all
    from keyframer.batch.job_submission import run as run
    from keyframer.batch.ledger import Ledger as Ledger
    from keyframer.batch.ledger import LedgerError as LedgerError
    from keyframer.batch.local_executor import LocalExecutor as LocalExecutor
    from keyframer.batch.operation_table import OPERATIONS as OPERATIONS
    from keyframer.batch.resumable_run import ResumableRun as ResumableRun

_MODULES = {
    name: module
    for module, names in (
        ("base_run", ("InputFile", "Summary")),
        ("job", ("Job", "Result")),
        ("job_execution", ("perform",)),
        ("job_submission", ("perform_all", "run")),
        ("ledger", ("Ledger", "LedgerError")),
        ("local_executor", ("LocalExecutor",)),
        ("operation_table", ("OPERATIONS",)),
        ("resumable_run", ("ResumableRun",)),
    )
    for name in names
}


def __getattr__(name: str) -> Any:
    module_name = _MODULES.get(name)
    if module_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module_name}"), name)
    globals()[name] = value
    return value
