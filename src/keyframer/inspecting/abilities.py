"""What can be done with each format, found out from its modules."""

from __future__ import annotations

from keyframer.formats import FORMATS, Format
from keyframer.formats._summary import Table

SCHEMA = "keyframer.formats"
SCHEMA_VERSION = 1

# Module of a format -> what it makes possible. Every format reads and writes documents byte for byte.
_PARTS = {"summary": "info", "damage": "diagnose", "bridge": "scene", "rules": "checks"}


def abilities(known: Format) -> list[str]:
    return ["read", "write", "text", *(words for part, words in _PARTS.items() if known.has(part))]


def formats_table() -> Table:
    """One row for each format."""
    table = Table("formats", "Formats", ("id", "title", "extensions", "can", "records", "pronom"))
    for known in FORMATS:
        records = len(known.record_types())
        table.add(
            known.name, known.title, " ".join(known.extensions), " ".join(abilities(known)), records, known.pronom
        )
    return table
