"""The command line's parser."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from keyframer._version import __version__


def run(arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(prog="keyframer")
    parser.add_argument("--version", action="version", version=f"keyframer {__version__}")
    parser.parse_args(arguments)
    parser.print_help()
    return 0
