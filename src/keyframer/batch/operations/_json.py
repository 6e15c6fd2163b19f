"""Records as JSON files."""

from __future__ import annotations

import json


def json_file(schema: str, version: int, record: object) -> bytes:
    """One document with one record, as the commands print it with ``--format json``: the very same bytes."""
    head = json.dumps({"schema": schema, "schema_version": version})[1:-1]
    body = json.dumps(record, allow_nan=False, indent=2).replace("\n", "\n  ")
    return f'{{{head}, "files": [\n  {body}\n]}}\n'.encode("ascii")
