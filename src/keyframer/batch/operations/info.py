"""The batch operation ``info``: writes the summary and the tables of a file."""

from __future__ import annotations

from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import json_file
from keyframer.checking import check_opened
from keyframer.inspecting.document_tables import SCHEMA, SCHEMA_VERSION, file_tables, summary_of
from keyframer.inspecting.tables import json_rows, json_value
from keyframer.text import safe_text


def execute(job_input: JobInput, result: Result) -> None:
    encoding, wanted, size = job_input.options.get("encoding"), job_input.options.get("table"), len(job_input.data)
    finder = job_input.finder()
    job_input.note_companions(result)
    issues, tables = file_tables(job_input.opened, encoding, finder)
    note_issues(result, issues)
    checked = check_opened(job_input.opened)
    job_input.note_images(result, finder)
    counts = {"errors": checked.count("error"), "warnings": checked.count("warning")}
    facts = summary_of(job_input.opened, tables, verdict=checked.verdict, **counts)
    record = {
        "file": safe_text(job_input.job.source),
        "format": job_input.format_name,
        "size": size,
        "summary": {name: json_value(value, encoding) for name, value in facts.items()},
        "tables": {table.name: json_rows(table, encoding) for table in tables if not wanted or table.name in wanted},
    }
    job_input.write(job_input.job.output, json_file(SCHEMA, SCHEMA_VERSION, record))
