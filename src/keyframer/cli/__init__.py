"""The command ``keyframer``: one module for each command; the only place that prints and exits."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from keyframer.cli.parser import run

    return run(arguments)
