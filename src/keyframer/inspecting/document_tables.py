"""The content of a file as tables: those of every format, those of its own format, and those of the scene."""

from __future__ import annotations

from collections import Counter

from keyframer.exchange.opening import OpenedFile
from keyframer.formats.document import Document
from keyframer.formats.kit.summary_tables import Table
from keyframer.inspecting import TABLES
from keyframer.inspecting.json_values import to_plain
from keyframer.inspecting.scene_tables import document_scene_tables, imported_tables
from keyframer.issues import IssueLog
from keyframer.textures import TextureFinder
from keyframer.wire.field_types import Blob
from keyframer.wire.record import Raw, Record

SCHEMA = "keyframer.info"
SCHEMA_VERSION = 1


def file_tables(
    opened: OpenedFile, encoding: str | None = None, finder: TextureFinder | None = None
) -> tuple[IssueLog, list[Table]]:
    """Return the issues of a file and all tables of ``keyframer info``. ``encoding`` is the code page of names,
    ``finder`` searches for images."""
    if opened.importer is not None:
        scene = opened.scene(salvage=True)
        return scene.issues, imported_tables(scene, opened.importer, len(opened.data), finder)
    document = opened.document
    tables = document_tables(document, len(opened.data))
    if document.format.reader() is None:
        return document.issues, tables
    if encoding is not None and "encoding" in document.format.option_types():
        opened.given["encoding"] = encoding
    return document.issues, [*tables, *document_scene_tables(document, opened.scene(salvage=True), finder)]


def document_tables(document: Document, size: int) -> list[Table]:
    """Return the tables of a document: always the overview, and all others that have rows."""
    summariser = document.format.summary()
    summary = [] if summariser is None else summariser.summarise(document)
    overview = _overview(document, size)
    for table in summary:
        if table.name == "overview":
            overview.rows.extend(table.rows)
    records, raw = _statistics(document)
    tables = [*(table for table in summary if table.name != "overview"), records, raw, _issues(document)]
    return [overview, *(table for table in tables if table.rows)]


def _overview(document: Document, size: int) -> Table:
    table = Table("overview", TABLES["overview"], ("what", "value"))
    table.add("format", f"{document.format.title} ({document.format.name})")
    table.add("size in bytes", size)
    if document.dialect is not None:
        plain = to_plain(document.dialect)
        words = ", ".join(f"{key} {value}" for key, value in plain.items()) if isinstance(plain, dict) else None
        table.add("layout", words or str(document.dialect))
    table.add("records", sum(1 for _ in document.find(Record)))
    if document.trailing:
        table.add("bytes after the end", len(document.trailing))
    severities = Counter(issue.severity.label for issue in document.issues)
    counts = ", ".join(f"{severities[label]} {label}" for label in ("error", "warning", "info") if severities[label])
    table.add("issues", (counts or "none") + (" (and more)" if document.issues.truncated else ""))
    return table


def _statistics(document: Document) -> tuple[Table, Table]:
    """Return the table of record types with their counts, and the table of bytes that are kept uninterpreted."""
    counts: Counter[tuple[str, str]] = Counter()
    raw = Table("raw", TABLES["raw"], ("path", "offset", "bytes", "what"))
    for place, record in document.walk():
        counts[record.segment, type(record).__name__] += 1
        uninterpreted = uninterpreted_bytes(record)
        if uninterpreted:
            reason = record.reason if isinstance(record, Raw) else ""
            why = reason or ("after the fields" if record.tail else "layout unknown")
            raw.add(str(place), record.offset, uninterpreted, f"{type(record).__name__}: {why}")
    records = Table("records", TABLES["records"], ("segment", "record", "count"))
    for (segment, name), count in sorted(counts.items()):
        records.add(segment, name, count)
    if document.trailing:
        raw.add("/", None, len(document.trailing), "after the end of the content")
    return records, raw


def uninterpreted_bytes(record: Record) -> int:
    """Return the number of uninterpreted bytes of a record, without those of its children."""
    blobs = (getattr(record, plan.name) for plan in record.plan.fields if isinstance(plan.kind, Blob))
    return len(record.tail) + sum(map(len, blobs))


def _issues(document: Document) -> Table:
    table = Table("issues", TABLES["issues"], ("severity", "code", "offset", "path", "message"))
    for issue in document.issues:
        table.add(issue.severity.label, issue.code, issue.offset, issue.path, issue.message)
    return table
