"""The batch operation ``identify``: recognises the format of a file."""

from __future__ import annotations

from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput
from keyframer.batch.operations.outputs import json_file
from keyframer.catalogue import IO_UNRECOGNISED
from keyframer.formats.contract import HEAD_SIZE
from keyframer.inspecting.identity import SCHEMA, SCHEMA_VERSION, identify


def execute(job_input: JobInput, result: Result) -> None:
    data = job_input.data
    identity = identify(data[:HEAD_SIZE], len(data), job_input.job.source, lambda: data)
    job_input.write(job_input.job.output, json_file(SCHEMA, SCHEMA_VERSION, identity.record()))
    result["format"] = identity.format
    result["details"] = {"certainty": identity.certainty, "pronom": identity.pronom, "version": identity.version}
    if identity.format is None:  # the record is written, too, as `keyframer identify` prints it
        raise IO_UNRECOGNISED.failure(0, "/", reason=str(identity))
