"""A job and its result: plain data that can be sent to other processes and machines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyframer import __version__
from keyframer.errors import FormatError, known_offset
from keyframer.text import safe_text

SECONDS = 60.0
"""default time limit for each file"""
MEMORY = 2 << 30
"""default limit of the address space of each worker process, in bytes"""
FILES_PER_TASK = 200
LEDGER = "keyframer-batch.sqlite"
PAYLOAD = "data"
"""folder of a bag with its outputs"""

DONE, FINDINGS, FAILED = "done", "findings", "failed"
STATUSES = (DONE, FINDINGS, FAILED)
"""``findings``: done, but a check found issues at or above ``fail_on``, or ``salvage`` left out parts"""

_MOST_CHARACTERS = 1_000
"""maximum number of characters of a message or path"""

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One file to process. A job contains paths and options, not the content of files."""

    operation: str
    """a key of `OPERATIONS`"""
    source: str
    """a path, a URL, or ``ARCHIVE!/MEMBER``"""
    output: str
    """path or URL of the file to write; files that belong to it (a ``.bin``) are written next to it"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """options of the operation: JSON values"""
    occurrence: int = 0
    """index among the members of the archive that have the same name"""
    stamp: str = ""
    """size and time of the source before it was read (`storage.local_stamp`, `storage.url_stamp`), or empty; copied to
    the result
    """
    replaces: bool = True
    """whether the output may replace a file with other content; otherwise the job fails with RUN_OUTPUT_COLLISION
    (an object at a URL is always replaced)
    """
    sha256: str = ""
    """the hash that the source must have, from a manifest; otherwise the job fails with IO_MANIFEST_MISMATCH"""
    writer: str = ""
    """empty or eight hex digits: part of the names of temporary files, by which the run finds those of killed workers
    """

    out: str = ""
    """the output folder of the run, for pages that link to each other; empty: the folder of the output"""

    @property
    def key(self) -> str:
        """Name of the source in the ledger."""
        return self.source if not self.occurrence else f"{self.source}!#{self.occurrence}"


def options_hash(operation: str, options: Mapping[str, Any]) -> str:
    """Return a hash of an operation and its options that does not depend on the order of the options."""
    text = json.dumps([operation, dict(options)], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def new_result(job: Job) -> Result:
    """Return the initial result of a job: no outputs, no error, and the status of a success, which `fail` changes."""
    return {
        "operation": job.operation,
        "source": job.key,
        "output": job.output,
        "status": DONE,
        "error": None,
        "stamp": job.stamp,
        "sha256": None,
        "size": None,
        "format": None,
        "outputs": [],
        "also": [],  # dependencies
        "issues": {},
        "worst": None,
        "details": {},
        "options": options_hash(job.operation, job.options),
        "version": __version__,
        "seconds": 0.0,
    }


def fail(result: Result, code: str, message: str, offset: int = 0, path: str = "/") -> Result:
    """Turn a result into a failure."""
    result["status"] = FAILED
    result["error"] = {
        "code": code,
        "offset": known_offset(code, offset, path),
        "path": safe_text(path)[:_MOST_CHARACTERS],
        "message": safe_text(message)[:_MOST_CHARACTERS],
    }
    return result


def fail_with(result: Result, error: FormatError) -> Result:
    return fail(result, error.code, error.message, error.offset, error.path)
