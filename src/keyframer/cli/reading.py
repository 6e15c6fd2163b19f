"""Reading one input as a document, and what all commands that do so have in common."""

from __future__ import annotations

from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS, importer_for
from keyframer.formats import FORMATS, detect, format_by_name

TYPE_CHECKING = False  # what reading needs is imported when something is read: ``--help`` needs none of it
if TYPE_CHECKING:
    import argparse
    from contextlib import AbstractContextManager
    from pathlib import Path

    from keyframer.cli.inputs import Input
    from keyframer.exchange import Importer
    from keyframer.formats.document import Document
    from keyframer.limits import Budget, Limits

READ_FAILURES = (FormatError, OSError)
"""what reading an input may raise"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit",
        action="append",
        type=_limit,
        default=[],
        metavar="NAME=N",
        help="allow more, or less: what reading a file and making something of it may cost (see docs/issues.md)",
    )
    ids = [*(known.name for known in FORMATS), *(known.name for known in IMPORTERS)]
    parser.add_argument(
        "--from",
        dest="from_format",
        metavar="ID",
        choices=ids,
        help=f"the format, where the content does not decide: {', '.join(ids)}",
    )


def _limit(text: str) -> tuple[str, str]:
    """NAME=N of the command line."""
    from argparse import ArgumentTypeError

    from keyframer.limits import limits_of

    name, _, value = text.partition("=")
    try:
        limits_of({name: value})
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return name, value


def chosen_limits(options: argparse.Namespace) -> Limits:
    """What the command may cost for each input."""
    from keyframer.limits import limits_of

    return limits_of(dict(options.limit))


def budget_for(options: argparse.Namespace) -> AbstractContextManager[Budget]:
    """The budget of all that is done with one input."""
    from keyframer.limits import Budget

    return Budget(chosen_limits(options)).opened()


def read_document(item: Input, from_format: str | None, data: bytes | None = None) -> tuple[Document, int]:
    """The document of an input, and its size in bytes; ``data`` is what was read of it already."""
    from keyframer.catalogue import IO_EMPTY, IO_UNRECOGNISED
    from keyframer.limits import DEFAULT_LIMITS, open_budget

    limits = open_budget(DEFAULT_LIMITS, 0).limits
    data = item.read() if data is None else data
    if not data:
        raise IO_EMPTY.failure(0, "/")
    if any(from_format == known.name for known in IMPORTERS):
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"{from_format} has no document: it can be loaded, but not kept")
    if from_format is not None:
        return format_by_name(from_format).decode(data, limits), len(data)
    found = detect(data, name=item.name)
    if found.format is None:
        raise FormatError("IO_UNRECOGNISED", 0, "/", found.reason)
    return found.format.decode(data, limits), len(data)


def find_importer(data: bytes, item: Input, from_format: str | None) -> Importer | None:
    """Who makes a scene of bytes that no document can be made of; None where that is nobody, or not needed."""
    if from_format is None and detect(data, name=item.name).format is not None:
        return None
    return importer_for(data, item.name, from_format)


def path_of(item: Input) -> Path | None:
    """Where an input stands, so that what belongs to it can be found; None for stdin and members of archives."""
    from pathlib import Path

    from keyframer.cli.inputs import FileInput

    return Path(item.name) if isinstance(item, FileInput) else None


def folder_of(item: Input) -> Path | None:
    """The folder of an input, where it has one."""
    path = path_of(item)
    return None if path is None else path.parent
