"""Runs jobs on many machines with Dask distributed (extra ``[cluster]``).

Anyone who can reach the scheduler can run code on the workers: see docs/batch.md before opening it to a network.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from keyframer.batch.job import MEMORY, SECONDS, Job, Result
from keyframer.batch.job_submission import run
from keyframer.batch.local_executor import LocalExecutor


class ClusterError(Exception):
    """The cluster cannot be used; the message says why."""


@contextmanager
def connect(
    address: str,
    *,
    ca: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    seconds: float = 15.0,
) -> Iterator[Executor]:
    """Yield an executor for the scheduler at this address; the connection uses TLS if any of its files is given."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise ClusterError(f"the extra 'cluster' is not installed (pip install keyframer[cluster]): {error}") from None
    security: Any = None
    if ca or certificate or key:
        security = distributed.Security(
            tls_ca_file=ca, tls_client_cert=certificate, tls_client_key=key, require_encryption=True
        )
    try:
        client = distributed.Client(address, security=security, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(f"no scheduler answers at {address}: {error}") from None
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "tornado.application")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:  # a lost connection is reported by `ExecutorLost`
        logger.setLevel(logging.CRITICAL)
    try:
        executor = client.get_executor(pure=False)
        executor.workers = sum(client.nthreads().values()) or 1
        executor.remote = True
        yield executor
    finally:
        client.close()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def isolated_task(seconds: float | None = SECONDS, memory: int | None = MEMORY) -> partial[list[Result]]:
    """Return a task for `run` that executes jobs in separate processes, so that a bad file does not kill the worker."""
    return partial(perform_isolated, seconds=seconds, memory=memory)


_EXECUTORS: dict[tuple[float | None, int | None], LocalExecutor] = {}
_EXECUTORS_LOCK = threading.Lock()


def perform_isolated(jobs: Sequence[Job], seconds: float | None, memory: int | None) -> list[Result]:
    """Execute jobs on a worker of the cluster, in separate processes that are kept between tasks."""
    with _EXECUTORS_LOCK:
        executor = _EXECUTORS.get((seconds, memory))
        if executor is None:
            executor = _EXECUTORS[seconds, memory] = LocalExecutor(_thread_count(), seconds=seconds, memory=memory)
    return list(run(jobs, executor))


def _thread_count() -> int:
    """Return how many tasks the worker of the cluster runs at once; 1 if unknown."""
    try:
        worker = import_module("distributed").get_worker()
    except (ImportError, ValueError):
        return 1
    return int(getattr(worker.state, "nthreads", 1))
