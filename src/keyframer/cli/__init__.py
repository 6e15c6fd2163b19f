"""The command ``keyframer``: one module per command; the only package that prints and exits."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from keyframer.cli.exit_handling import run_guarded
from keyframer.text import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        return run_guarded(_run, arguments)
    finally:
        if arguments is None:  # run as a command: searching for cycles while Python ends took 2 to 25 ms
            gc.freeze()


def _run(arguments: Sequence[str] | None) -> int:
    from keyframer.cli.parser import run as parse_and_run  # inside the guard, like everything that may fail

    try:
        return parse_and_run(list(sys.argv[1:] if arguments is None else arguments))
    finally:
        _report_plugins()


def _report_plugins() -> None:
    """Print one line for each plugin that failed."""
    plugins = sys.modules.get("keyframer.plugins")
    for line in plugins.failures() if plugins is not None else ():
        print(f"keyframer: {safe_text(line)}", file=sys.stderr)
