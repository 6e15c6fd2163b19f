"""Records as JSON files."""

from __future__ import annotations

import json


def json_file(schema: str, version: int, record: object) -> bytes:
    """One document with one record, as the commands print it with ``--format json``."""
    content = {"schema": schema, "schema_version": version, "files": [record]}
    return (json.dumps(content, allow_nan=False, indent=1) + "\n").encode("ascii")
