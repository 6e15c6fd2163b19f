"""The parser of the command line. Only the command that is asked for is loaded, so that it starts fast."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext

from keyframer._version import __version__
from keyframer.cli.exits import FINDINGS, FINE
from keyframer.text import safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any, NoReturn

COMMANDS: dict[str, str] = {
    "identify": "what a file is, from its first bytes",
    "info": "what a file holds, as tables",
    "check": "what is wrong with a file, and where",
    "dump": "the whole file as text, to read, to diff and to edit",
    "build": "a file from such text, byte for byte",
    "sample": "where everything is at given times",
    "convert": "from any format to any other and to glTF 2.0, and what was lost on the way",
    "plot": "curves with their keys, or the path of a node, as a picture or in the terminal",
    "diff": "what differs between two files, in what they say and in how they move",
    "thumbnail": "a picture, a contact sheet, or the playback, without a GPU",
    "view": "the file playing in the browser: timeline, curves, tree, bytes",
    "batch": "to many files what other commands do to one, resumed, on one machine or many",
    "formats": "which formats are known and what can be done with them",
}
"""What each command does; its module has the same name, with ``ABOUT``, ``EXAMPLES``, ``add_arguments`` and ``run``."""

ABOUT = "Reads, writes, plays, checks and converts the keyframed 3D files that dead programs left behind."


class Parser(argparse.ArgumentParser):
    """Refuses wrong usage in one safe line behind the usage. An option that a format of another package adds for its
    companion makes room for one of ours with the same name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(conflict_handler="resolve", **settings)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {safe_text(message)} (--help shows an example)\n")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions and examples as they are written; long option names have room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())  # without a width argparse loads shutil


def _width() -> int:
    try:
        return max(60, min(120, int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns) - 2))
    except (OSError, ValueError):
        return 100


def run(given: Sequence[str]) -> int:
    """Parse and run; wrong usage leaves with code 2."""
    try:
        if given and given[0] in COMMANDS:
            module = command_module(given[0])
            parser = _filled(Parser(prog=f"keyframer {given[0]}", **_texts(module)), module)
            options = parser.parse_args(given[1:])
            options.parser = parser
            with _running(options):
                code = int(module.run(options))
            return FINDINGS if code == FINE and getattr(options, "salvaged", False) else code
        parser = build_parser()
        if given:
            parser.parse_args(given)
        parser.print_help()
    except SystemExit as left:  # argparse leaves this way
        return left.code if isinstance(left.code, int) else 0
    return 0 if not given else 2


def _running(options: argparse.Namespace) -> AbstractContextManager[object]:
    """No output of a command takes the place of its inputs. Every command that writes files has ``-f``."""
    if not hasattr(options, "force"):
        return nullcontext()
    from keyframer.files import running

    return running()


def build_parser() -> Parser:
    """The parser with all commands: for ``--help``, for the documentation, for completion."""
    parser = Parser(
        prog="keyframer",
        description=ABOUT,
        formatter_class=_Help,
        epilog="examples:\n  keyframer identify scene.3ds\n  keyframer info scene.3ds\n\n"
        "keyframer COMMAND --help tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"keyframer {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, words in COMMANDS.items():
        module = command_module(name)
        _filled(commands.add_parser(name, help=words, **_texts(module)), module)
    return parser


def command_module(name: str) -> ModuleType:
    from importlib import import_module

    return import_module(f"keyframer.cli.{name}")


def _texts(module: ModuleType) -> dict[str, Any]:
    examples = "\n".join(f"  {line}" for line in module.EXAMPLES)
    return {"description": module.ABOUT, "formatter_class": _Help, "epilog": f"examples:\n{examples}"}


def _filled(parser: Parser, module: ModuleType) -> Parser:
    module.add_arguments(parser)
    messages = parser.add_argument_group("messages")
    messages.add_argument("-q", "--quiet", action="store_true", help="say nothing on stderr but failures")
    messages.add_argument("-v", "--verbose", action="store_true", help="say more on stderr")
    return parser
