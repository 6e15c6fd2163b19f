"""The batch operation ``check``: reports the issues of a file."""

from __future__ import annotations

from contextlib import suppress

from keyframer.batch.defaults import FINDINGS
from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import json_file
from keyframer.checking import SCHEMA, SCHEMA_VERSION, check_opened, report_record
from keyframer.errors import FormatError


def execute(job_input: JobInput, result: Result) -> None:
    options = job_input.options
    with suppress(FormatError):  # the format is unknown: the report says so
        job_input.note_companions(result)
    report = check_opened(job_input.opened).restricted(options.get("only") or (), options.get("ignore") or ())
    job_input.write(
        job_input.job.output, json_file(SCHEMA, SCHEMA_VERSION, report_record(report, job_input.job.source))
    )
    note_issues(result, report.issues)
    result["format"] = None if report.format is None else report.format.name
    result["details"] = {"verdict": report.verdict}
    if report.fails(options.get("fail_on") or "error"):
        result["status"] = FINDINGS
