"""``keyframer identify``: tell the format of a file from its first bytes. Starts without numpy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from keyframer.cli import inputs, output_style
from keyframer.cli.each_input import EachInput
from keyframer.cli.exit_handling import INPUTS_FAILED
from keyframer.cli.messages import detail, error_record, note, one_line, shown_name
from keyframer.formats import FORMATS
from keyframer.inspecting.identity import COLUMNS, SCHEMA, SCHEMA_VERSION, identify
from keyframer.inspecting.listing import Listing
from keyframer.text import counted, safe_text

if TYPE_CHECKING:
    import argparse

    from keyframer.inspecting.identity import Identity

ABOUT = """Tell the format of a file from its first bytes.

Shows the format, version and layout, as far as they can be told, and the
certainty. Only the first 4096 bytes and the size are examined; the whole file
is read only if they are suspicious, for example a wrong length. Also
recognised: AppleDouble files, Git LFS pointers, TIFF images, empty files, and
files damaged by a transfer in text mode. Well-known formats that Keyframer does
not read, for example Quake II models or FBX, are named. The exit code is 3 if a
file is of an unknown format, or one that Keyframer does not read."""

EXAMPLES = (
    "keyframer identify scene.3ds",
    "keyframer identify -r --format csv archive/ > list.csv",
    "keyframer identify 'models/*.3ds' pack.zip",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    output_style.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, COLUMNS)
    for item in (each := EachInput(options, inputs.LOADABLE)):
        with each.guarded(item):
            head, size = item.head()
            identity = identify(head, size, item.name, item.read)
        if each.error is not None:
            listing.json({"file": safe_text(item.name), "error": error_record(each.error)})
            if options.format in ("csv", "md"):
                listing.row([item.name, *[None] * 8, one_line(each.error), None])
            continue
        detail(options, f"{item.name}: {counted(size, 'byte')}")
        if identity.format is None:
            each.code = INPUTS_FAILED
        if options.format == "pretty":
            listing.text(f"{shown_name(item.name)}: {safe_text(str(identity))}\n")
            if getattr(options, "suggest_commands", False):
                _suggest_commands(identity, options)
        elif options.format in ("csv", "md"):
            listing.row([getattr(identity, column) for column in COLUMNS])
        else:
            listing.json(identity.record())
    listing.close()
    return each.code


def _suggest_commands(identity: Identity, options: argparse.Namespace) -> None:
    """Name the commands that accept a file, for a user who gave no command."""
    commands = ["info", "check", "view", "thumbnail", "plot", "sample", "convert", "diff"]
    if identity.format is None:
        note(
            options,
            "this file cannot be read (keyframer formats lists the known formats; keyframer build reads dumps)",
        )
        return
    if any(known.name == identity.format for known in FORMATS):
        commands.append("dump")
    note(options, f"commands for this file: {', '.join(commands)} (keyframer COMMAND FILE; see keyframer help COMMAND)")
