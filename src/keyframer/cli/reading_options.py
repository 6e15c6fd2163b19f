"""The arguments of all commands that read files, and opening one input with them."""

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
        help="change a limit on the cost of reading and converting (see docs/issues.md)",
    )
    ids = [*(known.name for known in FORMATS), *(known.name for known in IMPORTERS)]
    parser.add_argument(
        "--from",
        dest="from_format",
        metavar="ID",
        choices=ids,
        help=f"format of the input, if the content does not decide: {', '.join(ids)}",
    )


def _limit(text: str) -> tuple[str, str]:
    """Parse NAME=N."""
    name, _, value = text.partition("=")
    try:
        limits_of({name: value})
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    return name, value


def chosen_limits(options: argparse.Namespace) -> Limits:
    """Return the limits for each input."""
    return limits_of(dict(options.limit))


def budget_for(options: argparse.Namespace, item: Input | None = None) -> AbstractContextManager[Budget]:
    """Open the budget for one input; the members of an archive share one."""
    shared = None if item is None else item.budget
    return (shared or Budget(chosen_limits(options))).opened()


def open_input(
    item: Input, options: argparse.Namespace, reading_options: dict[str, object] | None = None
) -> OpenedFile:
    """Read and open an input with the options of the command line."""
    path, format = path_of(item), options.from_format
    return OpenedFile(item.read(), name=item.name, path=path, format=format, options=reading_options)


def path_of(item: Input) -> Path | None:
    """Return the path of an input, for finding its companions; None for stdin and members of archives."""
    return Path(item.name) if isinstance(item, FileInput) else None
