"""Opening one input, and what all commands that read have in common."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from contextlib import AbstractContextManager
from pathlib import Path

from keyframer.cli.inputs import FileInput, Input
from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS
from keyframer.exchange.opening import OpenedFile
from keyframer.formats import FORMATS
from keyframer.limits import Budget, Limits, limits_of

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
    name, _, value = text.partition("=")
    try:
        limits_of({name: value})
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return name, value


def chosen_limits(options: argparse.Namespace) -> Limits:
    """What the command may cost for each input."""
    return limits_of(dict(options.limit))


def budget_for(options: argparse.Namespace, item: Input | None = None) -> AbstractContextManager[Budget]:
    """The budget of all that is done with one input; the members of an archive share one."""
    shared = None if item is None else item.budget
    return (shared or Budget(chosen_limits(options))).opened()


def open_input(
    item: Input, options: argparse.Namespace, reading_options: dict[str, object] | None = None
) -> OpenedFile:
    """An input, read and opened as the command line says."""
    path, format = path_of(item), options.from_format
    return OpenedFile(item.read(), name=item.name, path=path, format=format, options=reading_options)


def path_of(item: Input) -> Path | None:
    """Where an input stands, so that what belongs to it can be found; None for stdin and members of archives."""
    return Path(item.name) if isinstance(item, FileInput) else None
