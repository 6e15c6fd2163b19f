"""Rows of the ledger as JSON records, as cells of a table, and as one HTML page without scripts.

Text from files is made safe to show in records and on the page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any

from keyframer.batch.ledger import Ledger
from keyframer.inspecting.tables import shown

SCHEMA = "keyframer.batch"
SCHEMA_VERSION = 1

REPORT_COLUMNS = (
    "operation", "source", "status", "format", "output", "code", "message", "worst", "issues", "size", "sha256",
    "seconds",
)  # fmt: skip

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Keyframer batch report</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 }
th, td { border: 1px solid #ddd; padding: .2em .6em; text-align: left; vertical-align: top; white-space: nowrap }
th { background: #f3f3f3; position: sticky; top: 0 }
.failed td { background: #fdecea } .findings td { background: #fff6e0 }
td.n { text-align: right; font-variant-numeric: tabular-nums }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 12em }
td.hash { font-family: monospace; max-width: 9em; overflow: hidden; text-overflow: ellipsis }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1d; color: #ddd } th { background: #2a2a2d } th, td { border-color: #444 }
  .failed td { background: #43211e } .findings td { background: #40351a }
}
</style></head><body>
<h1>Keyframer batch report</h1>
"""


def record_of(row: dict[str, Any]) -> dict[str, object]:
    """Return a row of the ledger as a JSON record; text is safe to show."""
    record: dict[str, object] = {name: _safe(row[name]) for name in REPORT_COLUMNS}
    record["outputs"] = [
        {"path": _safe(output["path"]), "size": output["size"], "sha256": output["sha256"]} for output in row["outputs"]
    ]
    for name in ("offset", "path", "version", "options", "finished"):
        record[name] = _safe(row[name])
    record["details"] = _safe(row["details"])
    return record


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value, most=1_000)
    if isinstance(value, dict):
        return {_safe(name): _safe(content) for name, content in value.items()}
    return value


def cells_of(row: dict[str, Any]) -> list[Any]:
    """Return a row of the ledger as the cells of a table."""
    issues = " ".join(f"{code}:{count}" for code, count in row["issues"].items())
    return [issues if name == "issues" else row[name] for name in REPORT_COLUMNS]


def html_page(ledger: Ledger, rows: Iterable[dict[str, Any]], operation: str | None = None) -> Iterator[str]:
    """Yield the pieces of the HTML page."""
    yield _HEAD
    yield from _table(("operation", "status", "code", "files"), map(list, ledger.counts(operation)), status_column=1)
    renamed = ledger.renamed(operation)
    if renamed:
        yield "<h2>Outputs under another name</h2>\n"
        yield from _table(
            ("source", "wanted", "given", "reason"),
            ([renaming.source, renaming.wanted, renaming.given, renaming.reason] for renaming in renamed),
        )
    yield "<h2>Files</h2>\n"
    yield from _table(REPORT_COLUMNS, map(cells_of, rows), status_column=REPORT_COLUMNS.index("status"))
    yield "</body></html>\n"


def _table(columns: Iterable[str], rows: Iterable[list[Any]], status_column: int | None = None) -> Iterator[str]:
    names = list(columns)
    yield "<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in names) + "</tr>\n"
    for row in rows:
        attribute = f' class="{html.escape(str(row[status_column]))}"' if status_column is not None else ""
        yield f"<tr{attribute}>" + "".join(map(_cell, names, row)) + "</tr>\n"
    yield "</table>\n"


_CSS_CLASSES = {
    "sha256": "hash",
    **dict.fromkeys(("source", "output", "message", "issues", "wanted", "given", "reason"), "long"),
}


def _cell(column: str, value: Any) -> str:
    css_class = "n" if isinstance(value, (int, float)) and not isinstance(value, bool) else _CSS_CLASSES.get(column)
    attribute = f' class="{css_class}"' if css_class else ""
    return f"<td{attribute}>{html.escape(shown(value, most=500))}</td>"
