"""The batch operation ``info``: writes the summary and the tables of a file."""

from __future__ import annotations

from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import json_file
from keyframer.checking import check_opened
from keyframer.inspecting.document_tables import (
    SCHEMA,
    SCHEMA_VERSION,
    file_tables,
    info_record,
    summary_of,
    use_encoding,
)


def execute(job_input: JobInput, result: Result) -> None:
    encoding, wanted = job_input.options.get("encoding"), job_input.options.get("table")
    finder = job_input.finder()
    job_input.note_companions(result)
    opened = job_input.opened
    use_encoding(opened, encoding)
    checked = check_opened(opened)
    tables = file_tables(opened, checked.verdict, checked.issues, finder)
    note_issues(result, checked.issues)
    result["details"] = {"verdict": checked.verdict}
    job_input.note_images(result, finder)
    summary = summary_of(opened, tables, checked.verdict, checked.issues)
    shown = [table for table in tables if not wanted or table.name in wanted]
    record = info_record(job_input.job.source, summary, shown, encoding)
    job_input.write(job_input.job.output, json_file(SCHEMA, SCHEMA_VERSION, record))
