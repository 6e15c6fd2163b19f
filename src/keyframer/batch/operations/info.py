"""What a file holds, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keyframer.batch.job import Result
from keyframer.batch.operations._json import json_file
from keyframer.batch.operations._subject import Subject, note_issues
from keyframer.inspecting.report import SCHEMA, SCHEMA_VERSION, report
from keyframer.inspecting.scene_tables import document_scene_tables
from keyframer.inspecting.tables import json_rows
from keyframer.text import safe_text


def suffix(options: Mapping[str, Any]) -> str:
    return ".info.json"


def carry_out(subject: Subject, result: Result) -> None:
    encoding, wanted = subject.options.get("encoding"), subject.options.get("table")
    document, size = subject.document, len(subject.data)
    beside = None if subject.folder is None else Path(subject.job.source)
    tables = [*report(document, size), *document_scene_tables(document, beside, encoding)]
    shown = {table.name: json_rows(table, encoding) for table in tables if not wanted or table.name in wanted}
    record = {"file": safe_text(subject.job.source), "format": document.format.name, "size": size, "tables": shown}
    subject.write(result, subject.job.output, json_file(SCHEMA, SCHEMA_VERSION, record))
    note_issues(result, document.issues)
