"""The arguments for the style of what is listed on stdout, and what the terminal can show."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from keyframer.inspecting.listing import STYLES

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the style."""
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=STYLES, default="pretty", help="style of the output (default: pretty)")
    output.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")


def is_plain(options: argparse.Namespace) -> bool:
    """Return whether pretty output has no colours: not on a terminal, or with ``--no-color`` or ``NO_COLOR``."""
    return bool(options.no_color or os.environ.get("NO_COLOR") or not sys.stdout.isatty())


def terminal_width() -> int:
    """Return ``COLUMNS``, or the number of columns of the terminal, at least 20; 80 if both are unknown."""
    try:
        return max(20, int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns))
    except (OSError, ValueError):
        return 80
