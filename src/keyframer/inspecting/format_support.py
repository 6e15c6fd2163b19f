"""What can be done with each format, from what its class offers; and with those that scenes are exchanged in."""

from __future__ import annotations

from keyframer.exchange import EXPORTERS, IMPORTERS, NativeExporter
from keyframer.formats import FORMATS, Format
from keyframer.formats.kit.summary_tables import Table
from keyframer.plugins import ask

SCHEMA = "keyframer.formats"
SCHEMA_VERSION = 1


def abilities(known: Format) -> list[str]:
    """What can be done with a format. Every one reads and writes documents byte for byte."""
    optional = {
        "info": known.summary() is not None,
        "diagnose": known.diagnoses_damage,
        "scene": known.reader() is not None,
        "checks": known.rules() is not None,
        "save": known.writer() is not None,
    }
    return ["read", "write", "text", *(words for words, offered in optional.items() if offered)]


def formats_table() -> Table:
    """One row for each format; those without documents last, also those that are only written."""
    table = Table("formats", "Formats", ("id", "title", "extensions", "can", "records", "pronom"))
    for known in FORMATS:
        offered = ask(known, abilities, known)
        records = ask(known, known.record_types)
        if offered is None or records is None:  # a package from outside that lacks a part
            continue
        table.add(known.name, known.title, " ".join(known.extensions), " ".join(offered), len(records), known.pronom)
    read = {known.name: known for known in IMPORTERS}
    written = {known.name: known for known in EXPORTERS if not isinstance(known, NativeExporter)}
    for name, exchanged in (written | read).items():
        can = ["scene"] if name in read else []
        if name in written:
            can.append("save" if written[name].takes_any_scene else "rewrite")
        table.add(name, exchanged.title, " ".join(exchanged.extensions), " ".join(can), 0, None)
    return table
