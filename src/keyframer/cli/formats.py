"""``keyframer formats``: list the known formats and what they support."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from keyframer.cli import output_style
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import failure
from keyframer.cli.outputs import check_file, output_errors, write_file
from keyframer.describing import DESCRIPTIONS, submissions
from keyframer.errors import FormatError
from keyframer.exchange import EXPORTERS, IMPORTERS, NativeExporter
from keyframer.formats import FORMATS, Format
from keyframer.formats.bridge import Bridge
from keyframer.formats.kit.summary_tables import Table
from keyframer.inspecting.listing import Listing
from keyframer.inspecting.tables import aligned, json_rows
from keyframer.plugins import call_plugin
from keyframer.text import safe_text

SCHEMA = "keyframer.formats"
SCHEMA_VERSION = 1

ABOUT = """List the known formats and what they support.

The column "can" lists: read and write (documents, byte for byte), text (dump
and build), info (tables of its own), diagnose (recognises damage from a
transfer), scene (can be converted from), checks (rules of its own), save (can
be converted to; docs/converting.md lists what each can store), rewrite (can be
written again with other models; docs/stage.md). Formats without read and write
have no documents: their files are loaded as scenes directly. The column
"records" has the number of declared record types.

With --magic, --pronom, --mime, --kaitai, --hexpat or --pronom-submission,
descriptions of the formats for other programs are written to a folder instead
(docs/describing.md)."""

EXAMPLES = (
    "keyframer formats",
    "keyframer formats --format json",
    "keyframer formats --magic . && file -m keyframer.magic windmill.3ds",
)

_DESCRIPTIONS = {
    "magic": "signatures for file(1): keyframer.magic",
    "pronom": "signatures for FIDO, in the style of PRONOM: keyframer-pronom.xml",
    "mime": "types for desktops, a package for shared-mime-info: keyframer.xml",
    "kaitai": "structures of the binary formats for Kaitai Struct (.ksy)",
    "hexpat": "structures of the binary formats for the hex editor ImHex (.hexpat)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    output_style.add_arguments(parser)
    descriptions = parser.add_argument_group("descriptions for other programs")
    for kind, description in _DESCRIPTIONS.items():
        descriptions.add_argument(f"--{kind}", metavar="DIR", help=f"write {description}")
    descriptions.add_argument(
        "--pronom-submission",
        metavar="DIR",
        help="write submissions of the formats that PRONOM lacks, a folder for each",
    )
    descriptions.add_argument(
        "--samples", action="append", metavar="DIR", help="add files below DIR to the submissions that they belong to"
    )
    descriptions.add_argument("-f", "--force", action="store_true", help="overwrite existing files")


def run(options: argparse.Namespace) -> int:
    kinds = {kind: folder for kind in _DESCRIPTIONS if (folder := getattr(options, kind)) is not None}
    if options.samples is not None and options.pronom_submission is None:
        options.parser.error("--samples goes with --pronom-submission")
    for folder in options.samples or ():
        if not os.path.isdir(folder):
            options.parser.error(f"--samples: there is no folder {safe_text(folder)}")
    if kinds or options.pronom_submission is not None:
        return write_descriptions(kinds, options.pronom_submission, options.samples or (), force=options.force)
    table = formats_table()
    listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, table.columns, key="formats")
    if options.format == "pretty":
        listing.text("\n".join(aligned(table)) + "\n")
    elif options.format in ("csv", "md"):
        for row in table.rows:
            listing.row(row)
    else:
        for row_record in json_rows(table):
            lists = {key: str(row_record[key]).split() for key in ("extensions", "can")}
            listing.json({**row_record, **lists})
    listing.close()
    return SUCCESS


def write_descriptions(kinds: dict[str, str], submitted: str | None, samples: Sequence[str], *, force: bool) -> int:
    """Write descriptions of each kind to its folder, and submissions with samples to ``submitted``. Print the name of
    each file. Return the exit code."""
    files = {
        os.path.join(folder, name): text.encode()
        for kind, folder in kinds.items()
        for name, text in DESCRIPTIONS[kind]().items()
    }
    path = ""
    try:
        if submitted is not None:
            found = {name: data for folder in samples for name, data in _files_below(folder)}
            files |= {os.path.join(submitted, name): data for name, data in submissions(FORMATS, found).items()}
        for folder in {os.path.dirname(path) for path in files}:
            path = folder
            with output_errors(folder):
                os.makedirs(folder or ".", exist_ok=True)
        for path in files:
            check_file(path, force=force)
        for path, data in files.items():
            write_file(path, data, force=force)
            print(path)
    except FormatError as error:
        failure(path, error)
        return INPUTS_FAILED
    return SUCCESS


def _files_below(folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the files below a folder."""
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            with output_errors(str(path)):
                yield path.name, path.read_bytes()


def supported_features(known: Format) -> list[str]:
    """Return what a format supports. Every format reads and writes documents byte for byte."""
    bridge = known.bridge()
    optional = {
        "info": bridge is not None and type(bridge).summarise is not Bridge.summarise,
        "diagnose": known.diagnose is not None,
        "scene": bridge is not None,
        "checks": bridge is not None and type(bridge).check is not Bridge.check,
        "save": bridge is not None and bridge.writer() is not None,
    }
    return ["read", "write", "text", *(feature for feature, supported in optional.items() if supported)]


def formats_table() -> Table:
    """Return a table with one row per format; those without documents come last."""
    table = Table("formats", "Formats", ("id", "title", "extensions", "can", "records", "pronom"))
    for known in FORMATS:
        features = call_plugin(known, supported_features, known)
        records = call_plugin(known, known.record_types)
        if features is None or records is None:  # a plugin that failed
            continue
        puids = " ".join(known.puids()) or None
        table.add(known.name, known.title, " ".join(known.extensions), " ".join(features), len(records), puids)
    read = {known.name: known for known in IMPORTERS}
    written = {known.name: known for known in EXPORTERS if not isinstance(known, NativeExporter)}
    for name, exchange_format in (written | read).items():
        can = ["scene"] if name in read else []
        if name in written:
            can.append("save" if written[name].takes_any_scene else "rewrite")
        table.add(name, exchange_format.title, " ".join(exchange_format.extensions), " ".join(can), 0, None)
    return table
