"""The content of a file as tables: those that every format has, those of its own format, those of the scene, and a
summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from keyframer.curves import RotationForm, Track
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.document import Document
from keyframer.formats.kit.summary_tables import Table
from keyframer.formats.kit.summary_tables import overview as overview_table
from keyframer.inspecting import TABLES
from keyframer.inspecting.json_values import to_plain
from keyframer.inspecting.scene_tables import imported_overview, issue_table, scene_tables
from keyframer.inspecting.tables import json_rows, json_value
from keyframer.issues import IssueLog, Severity
from keyframer.scene import Scene
from keyframer.text import safe_text
from keyframer.textures import TextureFinder
from keyframer.wire.field_types import Blob
from keyframer.wire.record import Raw, Record

SCHEMA = "keyframer.info"
SCHEMA_VERSION = 1


def use_encoding(opened: OpenedFile, encoding: str | None) -> None:
    """Read the names of a file in a code page, if its format has such an option; before its scene is made."""
    if encoding is not None and opened.importer is None and "encoding" in opened.reader.option_types():
        opened.given_options["encoding"] = encoding


def file_tables(
    opened: OpenedFile, verdict: str, issues: IssueLog, finder: TextureFinder | None = None
) -> Iterator[Table]:
    """Yield all tables of ``keyframer info``: first the overview, then all others that have rows. Each is made when it
    is asked for.

    ``verdict`` and ``issues`` are the result of a check; ``finder`` searches for images.
    """
    others: Iterator[Table]
    if opened.importer is not None:
        imported = opened.scene(salvage=True)
        overview = imported_overview(imported, opened.importer, len(opened.data))
        others = (table for table in opened.importer.summarise(imported) if table.rows)
    else:
        others = document_tables(opened.document, len(opened.data))
        overview = next(others)
    overview.add("check", check_text(verdict, issues))
    yield overview
    yield from others
    if issues:
        yield issue_table(issues)
    if has_scene(opened):
        yield from scene_tables(opened.scene(salvage=True), finder)


def check_text(verdict: str, issues: IssueLog) -> str:
    """Return the result of a check in one line: the verdict, and the number of issues by severity."""
    counts = issues.counts_text()
    return f"{verdict} ({counts})" if counts else verdict


def document_tables(document: Document, size: int) -> Iterator[Table]:
    """Yield the tables of a document without its issues: first the overview, then all others that have rows."""
    bridge = document.format.bridge()
    own = iter(() if bridge is None else bridge.summarise(document))
    overview = _overview(document, size)
    overview.rows += next(own, overview_table()).rows
    yield overview
    yield from (table for table in (*own, *_statistics(document)) if table.rows)


def _overview(document: Document, size: int) -> Table:
    table = Table("overview", TABLES["overview"], ("what", "value"))
    table.add("format", f"{document.format.title} ({document.format.name})")
    table.add("size in bytes", size)
    if document.dialect is not None:
        plain = to_plain(document.dialect)
        layout = ", ".join(f"{key} {value}" for key, value in plain.items()) if isinstance(plain, dict) else None
        table.add("layout", layout or str(document.dialect))
    table.add("records", sum(1 for _ in document.find(Record)))
    if document.trailing:
        table.add("bytes after the end", len(document.trailing))
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
            cause = reason or ("after the fields" if record.tail else "layout unknown")
            raw.add(str(place), record.offset, uninterpreted, f"{type(record).__name__}: {cause}")
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


Summary = dict[str, Any]

COLUMNS = (
    "format", "title", "version", "size", "writer", "seconds", "first_frame", "last_frame", "frames_per_second",
    "clips", "nodes", "animated_nodes", "meshes", "triangles", "cameras", "lights", "materials", "images",
    "missing_images", "verdict", "errors", "warnings",
)  # fmt: skip

_NAMED = 3
"""maximum number of missing images that are named"""


def summary_of(opened: OpenedFile, tables: Sequence[Table], verdict: str, issues: IssueLog) -> Summary:
    """Return the summary of a file, with the keys `COLUMNS`; ``verdict`` and ``issues`` are the result of a check. Of
    the tables it needs the overview and the table of images.
    """
    scene = opened.scene(salvage=True) if has_scene(opened) else Scene()
    by_name = {table.name: table for table in tables}
    stated = {str(row[0]): row[1] for row in by_name["overview"].rows}
    clip = scene.clips[0] if scene.clips else None
    has_rate = clip is not None and clip.rate > 0 and clip.units_per_frame > 0
    return {
        "format": opened.reader.name,
        "title": opened.reader.title,
        "version": stated.get("version"),
        "size": len(opened.data),
        "writer": stated.get("written by", stated.get("made by")),
        "seconds": (clip.end - clip.start) / clip.rate if clip and has_rate else None,
        "first_frame": clip.start / clip.units_per_frame if clip and has_rate else None,
        "last_frame": clip.end / clip.units_per_frame if clip and has_rate else None,
        "frames_per_second": clip.frames_per_second if clip and has_rate else None,
        "clips": len(scene.clips),
        "nodes": len(scene.nodes),
        "animated_nodes": len(_animated(scene)),
        "meshes": len(scene.meshes),
        "triangles": sum(len(mesh.corners) for mesh in scene.meshes),
        "cameras": len(scene.cameras),
        "lights": len(scene.lights),
        "materials": len(scene.materials),
        "images": len(by_name["textures"].rows) if "textures" in by_name else 0,
        "missing_images": len(_missing(tables)),
        "verdict": verdict,
        "errors": issues.count(Severity.ERROR),
        "warnings": issues.count(Severity.WARNING),
    }


def has_scene(opened: OpenedFile) -> bool:
    """Return whether the format of a file has scenes; some have only documents."""
    return opened.importer is not None or opened.document.format.bridge() is not None


def summary_table(summary: Summary, tables: Sequence[Table]) -> Table:
    """Return the summary as a table for display."""
    table = Table("summary", "Summary", ("what", "value"))
    version = f", version {summary['version']}" if summary["version"] is not None else ""
    table.add("format", f"{summary['title']} ({summary['format']}){version}")
    table.add("size", f"{summary['size']:,} {'byte' if summary['size'] == 1 else 'bytes'}")
    if summary["writer"]:
        table.add("written by", summary["writer"])
    table.add("length", _length(summary))
    table.add(
        "nodes", f"{summary['nodes']}, {summary['animated_nodes']} of them animated" if summary["nodes"] else "none"
    )
    triangles = summary["triangles"]
    table.add(
        "meshes",
        f"{summary['meshes']} with {triangles:,} {'triangle' if triangles == 1 else 'triangles'}"
        if summary["meshes"]
        else "none",
    )
    for name in ("cameras", "lights", "materials"):
        table.add(name, summary[name] or "none")
    for other in tables:
        if other.in_summary and other.rows:
            table.add(other.name, len(other.rows))
    missing = _missing(tables)
    unnamed = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    missing_text = f", {len(missing)} missing: {', '.join(missing[:_NAMED])}{unnamed}" if missing else ""
    table.add("images", f"{summary['images']}{missing_text}" if summary["images"] else "none")
    table.add("check", next(value for what, value in tables[0].rows if what == "check"))
    return table


def info_record(name: str, summary: Summary, tables: Sequence[Table], encoding: str | None) -> dict[str, object]:
    """Return a summary and tables as a JSON object; ``name`` is that of the file."""
    return {
        "file": safe_text(name),
        "format": summary["format"],
        "size": summary["size"],
        "summary": {key: json_value(value, encoding) for key, value in summary.items()},
        "tables": {table.name: json_rows(table, encoding) for table in tables},
    }


def _length(summary: Summary) -> str:
    if not summary["clips"]:
        return "no animation"
    if summary["seconds"] is None:
        return "unknown: the file has no usable frame rate"
    clips = f"; the first of {summary['clips']} clips" if summary["clips"] != 1 else ""
    frames = f"frames {summary['first_frame']:g} to {summary['last_frame']:g}"
    return f"{summary['seconds']:.4g} s: {frames}, {summary['frames_per_second']:g} per second{clips}"


def _missing(tables: Sequence[Table]) -> list[str]:
    """Return the names of images that were not found or may not be opened."""
    rows = next((table.rows for table in tables if table.name == "textures"), [])
    return [str(row[0]) for row in rows if row[1] in ("missing", "refused")]


def _animated(scene: Scene) -> set[int]:
    """Return the nodes with at least one track whose keys differ."""
    return {channel.node for clip in scene.clips for channel in clip.channels if _changes(channel.track)}


def _changes(track: Track) -> bool:
    if len(track.times) < 2:
        return False
    if track.form is RotationForm.AXIS_ANGLE_RELATIVE:
        return bool((track.values[1:, 3] != 0).any())
    if track.form is RotationForm.QUATERNION_RELATIVE:
        return bool((track.values[1:, :3] != 0).any())
    return bool((track.values[1:] != track.values[0]).any())
