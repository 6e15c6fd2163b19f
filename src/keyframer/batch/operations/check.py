"""What is wrong with a file."""

from __future__ import annotations

from keyframer.batch.defaults import FINDINGS
from keyframer.batch.job import Result
from keyframer.batch.operations.outputs import json_file
from keyframer.batch.operations.subject import Subject, note_issues
from keyframer.checking import Report, check_document, check_imported, unreadable
from keyframer.checking.records import SCHEMA, SCHEMA_VERSION, report_record
from keyframer.errors import FormatError
from keyframer.issues import Severity


def carry_out(subject: Subject, result: Result) -> None:
    options = subject.options
    report = _report(subject, result)
    report = report.restricted(options.get("only") or (), options.get("ignore") or ())
    subject.write(subject.job.output, json_file(SCHEMA, SCHEMA_VERSION, report_record(report, subject.job.source)))
    note_issues(result, report.issues)
    result["format"] = None if report.format is None else report.format.name
    result["details"] = {"verdict": report.verdict}
    worst = report.issues.worst()
    least = Severity[str(options.get("fail_on") or "error").upper()]
    if not report.readable or (worst is not None and worst >= least):
        result["status"] = FINDINGS


def _report(subject: Subject, result: Result) -> Report:
    if subject.importer is not None:
        subject.note_parts(result)
        return check_imported(subject.importer, subject.data, subject.folder)
    try:
        document = subject.document
    except FormatError as error:
        return unreadable(error, subject.options.get("from"))
    subject.note_companions(result)
    return check_document(document, len(subject.data), path=subject.path)
