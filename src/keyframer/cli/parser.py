"""The parser of the command line. Only the module of the chosen command is loaded, so that the command starts fast."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from keyframer import __version__
from keyframer.cli.exit_handling import FINDINGS, SUCCESS
from keyframer.cli.inputs import report_skipped
from keyframer.files.member_names import split_member
from keyframer.text import did_you_mean, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any, NoReturn

    from keyframer.cli.file_command import FileCommand

COMMANDS: dict[str, str] = {
    "identify": "tell the format of a file from its first bytes",
    "info": "summarise a file in one screen, or show its tables",
    "check": "list everything that is wrong with a file",
    "salvage": "make a clean file of a damaged one, and a map of its bytes",
    "dump": "write the whole file as text, to read, compare and edit",
    "build": "make a file from the text that dump writes",
    "sample": "compute the world transform of every node at given times",
    "convert": "convert to glTF 2.0 or another format, and report losses",
    "plot": "draw curves and keys, or the path of a node",
    "diff": "compare the content and the motion of two files",
    "thumbnail": "render a picture, a contact sheet or the playback",
    "view": "play files in the browser: timeline, curves, tree, bytes",
    "batch": "run another command on many files; can be resumed",
    "search": "list the files of a catalogue by words and conditions",
    "formats": "list the known formats and what they support",
    "setup": "install completion, man pages and desktop files for your user",
}
"""each command and what it does; its module has the same name and defines ABOUT, EXAMPLES, add_arguments and run. Of an
operation with ``about``, `FileCommand` is the module, and the name need not be listed here."""

ABOUT = "Read, write, play, check and convert keyframed 3D files of discontinued programs."


class Parser(argparse.ArgumentParser):
    """A parser that accepts options anywhere among file names and reports wrong usage in one line, perhaps with a hint.

    If a format of another package adds an option with a name in use, the option that is added last is used.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(conflict_handler="resolve", **settings)

    def error(self, message: str) -> NoReturn:
        message = message.replace("the following arguments are required: ", "missing: ")
        text = safe_text(message.removeprefix("argument "))[:1_000]
        self.exit(2, f"{self.prog}: {text} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        arguments = list(sys.argv[1:] if args is None else args)
        operations = next((action.choices for action in self._actions if action.nargs == argparse.PARSER), None)
        return super().parse_known_args(
            self._options_first(arguments) if operations is None else self._operation_first(arguments, operations),
            namespace,
        )

    def _operation_first(self, arguments: list[str], operations: Iterable[Any]) -> list[str]:
        """Move the operation to the front: options before it may belong to it."""
        chosen = next((at for at, word in enumerate(arguments) if word in operations), None)
        if chosen is not None:
            return [arguments[chosen], *arguments[:chosen], *arguments[chosen + 1 :]]
        if arguments and _is_option(arguments[0]):
            self._option(arguments[0])  # reports an unknown option
        return arguments

    def _options_first(self, arguments: list[str]) -> list[str]:
        """Move options and their values before all file names, which argparse expects without options in between."""
        options: list[str] = []
        names: list[str] = []
        at = 0
        while at < len(arguments):
            word = arguments[at]
            at += 1
            if word == "--":
                names += arguments[at:]
                break
            if not _is_option(word):
                names.append(word)
                continue
            option, action, needs_value = self._option(word)
            if needs_value:
                if at == len(arguments) or _is_option(arguments[at]) or arguments[at] == "--":
                    self.error(f"{word} needs a value: {word} {action.metavar or '|'.join(action.choices or ())}")
                value = arguments[at]
                at += 1
                if option.startswith("--") or value:
                    option += ("=" if option.startswith("--") else "") + value  # a value may begin with a minus
                else:
                    options.append(option)
                    option = value
            options.append(option)
        return [*options, "--", *names] if names else options

    def _option(self, word: str) -> tuple[str, argparse.Action, bool]:
        """Return the option with its full name, its action, and whether its value is the next word."""
        known = self._option_string_actions
        if not word.startswith("--"):
            for at, letter in enumerate(word[1:], 2):  # several short options may share a minus
                action = known.get(f"-{letter}")
                if action is None:
                    break
                if action.nargs != 0 or at == len(word):
                    return word, action, action.nargs != 0 and at == len(word)
            self._refuse_option(f"-{word[at - 1]}", did_you_mean("-" + word, known))
        name, mark, value = word.partition("=")
        matching = [name] if name in known else [other for other in known if other.startswith(name)]
        if not matching:
            self._refuse_option(name, did_you_mean(name, known))
        if len({known[other] for other in matching}) > 1:
            self.error(f"{name} is ambiguous: {' or '.join(matching)}")
        action = known[matching[0]]
        return matching[0] + mark + value, action, action.nargs != 0 and not mark

    def _refuse_option(self, name: str, hint: str) -> NoReturn:
        """Report an unknown option, with the commands that have it."""
        owners = [command for command, parser in _all_parsers(build_parser()) if name in parser._option_string_actions]
        if not owners:
            self.error(f"unknown option {name}{hint}")
        command = self.prog.partition(" ")[2]
        self.error(f"{name} belongs to {', '.join(owners)}" + (f", not to {command}" if command else ""))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = ", ".join(map(str, action.choices))
            message = f"{str(value)!r} is not one of {known}{did_you_mean(str(value), action.choices)}"
            raise argparse.ArgumentError(action, message)


def _all_parsers(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of every command, and of every operation of a command."""
    for action in parser._actions:
        if action.nargs == argparse.PARSER:
            for word, command in dict(action.choices or {}).items():
                yield f"{name}{word}", command
                yield from _all_parsers(command, f"{name}{word} ")


def _is_option(word: str) -> bool:
    """Return whether a word is an option: neither ``-`` for stdin nor a negative number."""
    return word.startswith("-") and word not in ("-", "--") and not word[1:].lstrip(".")[:1].isdigit()


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps descriptions to the width of the terminal, or 80 columns if it is unknown; keeps examples unchanged."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())  # without a width argparse loads shutil

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        wrap = super(argparse.RawDescriptionHelpFormatter, self)._fill_text
        return "\n\n".join(p if p.startswith("examples:") else wrap(p, width, indent) for p in paragraphs)


def _width() -> int:
    try:
        return max(60, min(120, int(os.environ.get("COLUMNS") or os.get_terminal_size(1).columns) - 2))
    except (OSError, ValueError):
        return 78


def run(given: Sequence[str]) -> int:
    """Parse the arguments and run the command; returns the exit code, 2 for wrong usage."""
    arguments = list(given)
    if arguments[:1] == ["help"]:
        arguments = [*(word for word in arguments if word != "help"), "--help"]
    try:
        return _run(arguments)
    except SystemExit as exit_request:  # argparse ends this way
        return exit_request.code if isinstance(exit_request.code, int) else 0


def _run(arguments: list[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first.startswith("-") and first != "-":  # options may come before the command
        commands = all_commands()
        first = next((word for word in arguments if word in commands), first)
    if first in COMMANDS or (not os.path.lexists(first) and first in all_commands()):
        arguments.remove(first)
        return _run_command(first, arguments)
    if first.startswith("-") and first != "-":
        build_parser(with_options=False).parse_args(arguments or ["--help"])
    return _identify_files(first, arguments)


def _run_command(name: str, arguments: list[str], **given: object) -> int:
    module = command_module(name)
    parser = _with_arguments(Parser(prog=f"keyframer {name}", **_help_texts(module)), module)
    options = parser.parse_args(arguments)
    options.parser = parser
    vars(options).update(given)
    with _running(options):
        code = int(module.run(options))
    if getattr(options, "skipped", 0):
        report_skipped(options)
    return FINDINGS if code == SUCCESS and getattr(options, "salvaged", False) else code


def _identify_files(first: str, arguments: list[str]) -> int:
    """Identify the files and name the commands that accept them, for a command line without a command.

    For a folder only a message is printed.
    """
    if os.path.isdir(first):
        print(
            f"keyframer: {safe_text(first)} is a folder: identify, info and check search it with -r, "
            "batch processes its files (see keyframer --help)",
            file=sys.stderr,
        )
        return SUCCESS
    if first == "-" or os.path.lexists(first) or split_member(first) is not None:
        return _run_command("identify", arguments, suggest_commands=True)
    return Parser(prog="keyframer").error(f"no command or file is named {first!r}{did_you_mean(first, all_commands())}")


def _running(options: argparse.Namespace) -> AbstractContextManager[object]:
    """Prevent outputs from replacing inputs of the same run. Every command that writes files has ``-f``."""
    if not hasattr(options, "force"):
        return nullcontext()
    from keyframer.files import running

    return running()


def build_parser(*, with_options: bool = True) -> Parser:
    """Return the parser of all commands, for the documentation; ``keyframer --help`` needs no options of commands."""
    parser = Parser(
        prog="keyframer",
        description=ABOUT,
        formatter_class=_HelpFormatter,
        epilog="examples:\n  keyframer info scene.3ds\n  keyframer view scene.3ds\n"
        "  keyframer convert scene.3ds scene.glb\n  keyframer batch convert archive/ -o converted/\n\n"
        "keyframer help COMMAND explains a command; keyframer FILE identifies a file.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"keyframer {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, description in all_commands().items():
        if with_options:
            module = command_module(name)
            _with_arguments(commands.add_parser(name, help=description, **_help_texts(module)), module)
        else:
            commands.add_parser(name, help=description)
    return parser


def all_commands() -> dict[str, str]:
    """Return all commands and what they do. The operations take some milliseconds to load."""
    from keyframer.batch.operation_table import OPERATIONS

    return COMMANDS | {name: known.help for name, known in OPERATIONS.items() if known.about and name not in COMMANDS}


def command_module(name: str) -> ModuleType | FileCommand:
    if find_spec(f"keyframer.cli.{name}") is not None:
        return import_module(f"keyframer.cli.{name}")
    from keyframer.batch.operation_table import ALL
    from keyframer.cli.file_command import FileCommand

    return FileCommand(ALL[name])


def _help_texts(module: ModuleType | FileCommand) -> dict[str, Any]:
    examples = "\n".join(f"  {line}" for line in module.EXAMPLES)
    return {"description": module.ABOUT, "formatter_class": _HelpFormatter, "epilog": f"examples:\n{examples}"}


def _with_arguments(parser: Parser, module: ModuleType | FileCommand) -> Parser:
    module.add_arguments(parser)
    messages = parser.add_argument_group("messages")
    messages.add_argument("-q", "--quiet", action="store_true", help="print only failures on stderr")
    messages.add_argument("-v", "--verbose", action="store_true", help="print more on stderr")
    return parser
