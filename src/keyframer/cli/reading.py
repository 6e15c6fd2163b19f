"""Reading one input as a document, and what all commands that do so have in common."""

from __future__ import annotations

from keyframer.errors import FormatError
from keyframer.formats import FORMATS, detect, format_by_name

TYPE_CHECKING = False  # what reading needs is imported when something is read: ``--help`` needs none of it
if TYPE_CHECKING:
    import argparse

    from keyframer.cli.inputs import Input
    from keyframer.formats._document import Document

READ_FAILURES = (FormatError, OSError)
"""what reading an input may raise"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="from_format",
        metavar="ID",
        choices=[known.name for known in FORMATS],
        help=f"the format, where the content does not decide: {', '.join(known.name for known in FORMATS)}",
    )


def read_document(item: Input, from_format: str | None) -> tuple[Document, int]:
    """The document of an input, and its size in bytes."""
    from keyframer.catalogue import IO_EMPTY
    from keyframer.limits import DEFAULT_LIMITS

    data = item.read()
    if not data:
        raise IO_EMPTY.failure(0, "/")
    if from_format is not None:
        return format_by_name(from_format).decode(data, DEFAULT_LIMITS), len(data)
    found = detect(data, name=item.name)
    if found.format is None:
        raise FormatError("IO_UNRECOGNISED", 0, "/", found.reason)
    return found.format.decode(data, DEFAULT_LIMITS), len(data)
