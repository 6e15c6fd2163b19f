"""The batch operation ``check``: reports the issues of a file."""

from __future__ import annotations

from contextlib import suppress

from keyframer.batch.defaults import FINDINGS
from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import json_file
from keyframer.checking import check_opened
from keyframer.checking.check_report import SCHEMA, SCHEMA_VERSION, report_record
from keyframer.errors import FormatError
from keyframer.issues import Severity


def carry_out(subject: JobInput, result: Result) -> None:
    options = subject.options
    with suppress(FormatError):  # no reader recognises it: the report says so
        subject.note_beside(result)
    report = check_opened(subject.opened).restricted(options.get("only") or (), options.get("ignore") or ())
    subject.write(subject.job.output, json_file(SCHEMA, SCHEMA_VERSION, report_record(report, subject.job.source)))
    note_issues(result, report.issues)
    result["format"] = None if report.format is None else report.format.name
    result["details"] = {"verdict": report.verdict}
    worst = report.issues.worst()
    least = Severity[str(options.get("fail_on") or "error").upper()]
    if not report.readable or (worst is not None and worst >= least):
        result["status"] = FINDINGS
