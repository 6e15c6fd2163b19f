"""The batch operation ``info``: writes the summary and the tables of a file."""

from __future__ import annotations

from keyframer.batch.job import Result
from keyframer.batch.operations.job_input import JobInput, note_issues
from keyframer.batch.operations.outputs import json_file
from keyframer.checking import check_opened
from keyframer.inspecting.document_tables import SCHEMA, SCHEMA_VERSION, facts_of, file_tables
from keyframer.inspecting.tables import json_rows, json_value
from keyframer.text import safe_text


def carry_out(subject: JobInput, result: Result) -> None:
    encoding, wanted, size = subject.options.get("encoding"), subject.options.get("table"), len(subject.data)
    finder = subject.finder()
    subject.note_beside(result)
    issues, tables = file_tables(subject.opened, encoding, finder)
    note_issues(result, issues)
    checked = check_opened(subject.opened)
    subject.note_images(result, finder)
    counts = {"errors": checked.count("error"), "warnings": checked.count("warning")}
    facts = facts_of(subject.opened, tables, verdict=checked.verdict, **counts)
    record = {
        "file": safe_text(subject.job.source),
        "format": subject.format_name,
        "size": size,
        "summary": {name: json_value(value, encoding) for name, value in facts.items()},
        "tables": {table.name: json_rows(table, encoding) for table in tables if not wanted or table.name in wanted},
    }
    subject.write(subject.job.output, json_file(SCHEMA, SCHEMA_VERSION, record))
