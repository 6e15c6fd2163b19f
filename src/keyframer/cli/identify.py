"""``keyframer identify``: what a file is, from its first bytes. Starts without numpy."""

from __future__ import annotations

from keyframer.cli import inputs, record_output
from keyframer.cli.exit_handling import FINE, NOT_ALL_DONE
from keyframer.cli.messages import detail, error_record, failure, note, one_line, shown_name
from keyframer.errors import FormatError
from keyframer.inspecting.identity import COLUMNS, SCHEMA, SCHEMA_VERSION, identify
from keyframer.text import safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from keyframer.inspecting.identity import Identity

ABOUT = """What a file is: format, version, layout where the size gives it, how it was recognised and how surely.

Only the first 4096 bytes and the size are looked at; the whole file is read only where these are
suspicious (a length that is wrong). Files that merely look like one of ours are named for what they are:
AppleDouble files, Git LFS pointers, TIFF images, files that a transfer in text mode damaged, empty files.
The exit code is 3 if a file is of no known format."""

EXAMPLES = (
    "keyframer identify scene.3ds",
    "keyframer identify -r --format csv archive/ > list.csv",
    "keyframer identify 'models/*.3ds' pack.zip",
)


PLAIN = {
    "recursive": False,
    "all_files": False,
    "files_from": None,
    "format": "pretty",
    "no_color": False,
    "quiet": False,
    "verbose": False,
}
"""What the options are when none is given: the parser is then not even loaded."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    record_output.add_arguments(parser)


class _Plain:
    """Options as `argparse` would give them, without `argparse` and without `types`."""

    def __init__(self, files: list[str]) -> None:
        self.__dict__.update(PLAIN, files=files)


def run_plain(files: list[str]) -> int:
    """`run` without any option."""
    options = _Plain(files)
    code = run(options)  # type: ignore[arg-type]
    inputs.say_skipped(options)  # type: ignore[arg-type]
    return code


def run(options: argparse.Namespace) -> int:
    if not options.files and options.files_from is None:
        options.parser.error("nothing to identify: give a FILE, or - for stdin")
    records = record_output.Records(options.format, SCHEMA, SCHEMA_VERSION, COLUMNS)
    code = FINE
    for item in inputs.inputs_of(options, inputs.LOADABLE):
        try:
            head, size = item.head()
            identity = identify(head, size, item.name, item.read)
        except (FormatError, OSError) as error:
            code = NOT_ALL_DONE
            failure(item.name, error)
            records.json({"file": safe_text(item.name), "error": error_record(error)})
            if options.format in ("csv", "md"):
                records.row([item.name, *[None] * 8, one_line(error), None])
            continue
        detail(options, f"{item.name}: {size} bytes")
        if identity.format is None:
            code = NOT_ALL_DONE
        if options.format == "pretty":
            records.text(f"{shown_name(item.name)}: {safe_text(str(identity))}\n")
            if getattr(options, "introduce", False):
                _introduce(identity, options)
        elif options.format in ("csv", "md"):
            records.row([getattr(identity, column) for column in COLUMNS])
        else:
            records.json(
                {
                    key: safe_text(value) if isinstance(value, str) else value
                    for key, value in identity.as_dict().items()
                }
            )
    records.close()
    return code


def _introduce(identity: Identity, options: argparse.Namespace) -> None:
    """Which commands fit a file, for somebody who gave no command."""
    from keyframer.formats import FORMATS

    fitting = ["info", "check", "view", "thumbnail", "plot", "sample", "convert", "diff"]
    if identity.format is None:
        note(options, "it cannot be read; keyframer formats lists what can, keyframer build takes the text of a dump")
        return
    if any(known.name == identity.format for known in FORMATS):
        fitting.append("dump")
    note(
        options, f"commands that fit: {', '.join(fitting)} (keyframer COMMAND FILE; keyframer help COMMAND tells more)"
    )
