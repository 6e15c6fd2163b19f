"""A job and its result: plain data that can be sent to other processes and machines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from keyframer import __version__
from keyframer.batch.defaults import DONE, FAILED
from keyframer.errors import FormatError
from keyframer.fields import dataclass
from keyframer.text import safe_text

_LONGEST = 1_000
"""maximum number of characters of a message or path"""

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One file to process. Only text and numbers: paths and options are sent, content is not."""

    operation: str
    """a key of `OPERATIONS`"""
    source: str
    """a path, a URL, or ``ARCHIVE!/MEMBER``"""
    output: str
    """path or URL of the file to write; files that belong to it (a ``.bin``) are written next to it"""
    options: Mapping[str, Any] = field(default_factory=dict)
    """options of the operation: JSON values"""
    occurrence: int = 0
    """index among the members of an archive with this name"""
    stamp: str = ""
    """stamp of the source before it was read, see `storage.local_stamp`; returned with the result"""
    replaces: bool = True
    """whether a file with other content may be replaced by the output; otherwise the job fails with
    RUN_OUTPUT_COLLISION
    """

    @property
    def key(self) -> str:
        """Name of the source in the ledger."""
        return self.source if not self.occurrence else f"{self.source}!#{self.occurrence}"


def options_hash(operation: str, options: Mapping[str, Any]) -> str:
    """Return a hash of options that does not depend on their order."""
    text = json.dumps([operation, dict(options)], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def new_result(job: Job) -> Result:
    """Return a result with all fields empty; the operation fills them in."""
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
        "offset": offset,
        "path": safe_text(path)[:_LONGEST],
        "message": safe_text(message)[:_LONGEST],
    }
    return result


def fail_with(result: Result, error: FormatError) -> Result:
    return fail(result, error.code, error.message, error.offset, error.path)
