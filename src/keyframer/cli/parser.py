"""The parser of the command line. Only the command that is asked for is loaded, so that it starts fast."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext

from keyframer._version import __version__
from keyframer.cli.exit_handling import FINDINGS, FINE
from keyframer.text import did_you_mean, safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any, NoReturn

COMMANDS: dict[str, str] = {
    "identify": "what a file is, from its first bytes",
    "info": "what a file holds, in one screen or as tables",
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

ABOUT = "Read, write, play, check and convert keyframed 3D files of discontinued programs."


class Parser(argparse.ArgumentParser):
    """Takes options anywhere among names, and refuses wrong usage in one safe line that says what to write instead. An
    option that a format of another package adds for its companion makes room for one of ours with the same name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(conflict_handler="resolve", **settings)

    def error(self, message: str) -> NoReturn:
        message = message.replace("the following arguments are required: ", "this is missing: ")
        words = safe_text(message.removeprefix("argument "))[:1_000]
        self.exit(2, f"{self.prog}: {words} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        operations = next((action.choices for action in self._actions if action.nargs == argparse.PARSER), None)
        return super().parse_known_args(
            self._options_first(words) if operations is None else self._operation_first(words, operations), namespace
        )

    def _operation_first(self, words: list[str], operations: Iterable[Any]) -> list[str]:
        """The same words with the operation in front: the options before it may be its own."""
        chosen = next((at for at, word in enumerate(words) if word in operations), None)
        if chosen is not None:
            return [words[chosen], *words[:chosen], *words[chosen + 1 :]]
        if words and _is_option(words[0]):
            self._option(words[0])
        return words

    def _options_first(self, words: list[str]) -> list[str]:
        """The same words, options with their values before all names: argparse wants names in one piece."""
        options: list[str] = []
        names: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == "--":
                names += words[at:]
                break
            if not _is_option(word):
                names.append(word)
                continue
            option, action, needs_value = self._option(word)
            if needs_value:
                if at == len(words) or _is_option(words[at]) or words[at] == "--":
                    self.error(f"{word} needs a value: {word} {action.metavar or '|'.join(action.choices or ())}")
                value = words[at]
                at += 1
                if option.startswith("--") or value:
                    option += ("=" if option.startswith("--") else "") + value  # a value may begin with a minus
                else:
                    options.append(option)
                    option = value
            options.append(option)
        return [*options, "--", *names] if names else options

    def _option(self, word: str) -> tuple[str, argparse.Action, bool]:
        """The option with its full name, its action, and whether its value is the next word."""
        known = self._option_string_actions
        if not word.startswith("--"):
            for at, letter in enumerate(word[1:], 2):  # several short options may share a minus
                action = known.get(f"-{letter}")
                if action is None:
                    break
                if action.nargs != 0 or at == len(word):
                    return word, action, action.nargs != 0 and at == len(word)
            self.error(f"there is no option {word}{did_you_mean('-' + word, known)}")
        name, mark, value = word.partition("=")
        fitting = [name] if name in known else [other for other in known if other.startswith(name)]
        if not fitting:
            self.error(f"there is no option {name}{did_you_mean(name, known)}")
        if len({known[other] for other in fitting}) > 1:
            self.error(f"{name} could be {' or '.join(fitting)}")
        action = known[fitting[0]]
        return fitting[0] + mark + value, action, action.nargs != 0 and not mark

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = ", ".join(map(str, action.choices))
            words = f"{str(value)!r} is not one of {known}{did_you_mean(str(value), action.choices)}"
            raise argparse.ArgumentError(action, words)


def _is_option(word: str) -> bool:
    """Whether a word is an option: neither ``-`` for stdin nor a negative number."""
    return word.startswith("-") and word not in ("-", "--") and not word[1:].lstrip(".")[:1].isdigit()


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
    words = list(given)
    if words[:1] == ["help"]:
        words = [*(word for word in words if word != "help"), "--help"]
    try:
        return _run(words)
    except SystemExit as left:  # argparse leaves this way
        return left.code if isinstance(left.code, int) else 0


def _run(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first.startswith("-") and first != "-":  # options may stand before the command, too
        first = next((word for word in words if word in COMMANDS), first)
    if first in COMMANDS:
        words.remove(first)
        return _run_command(first, words)
    if first.startswith("-") and first != "-":
        build_parser(with_options=False).parse_args(words or ["--help"])
    return _introduce(first, words)


def _run_command(name: str, words: list[str], **given: object) -> int:
    module = command_module(name)
    parser = _filled(Parser(prog=f"keyframer {name}", **_texts(module)), module)
    options = parser.parse_args(words)
    options.parser = parser
    vars(options).update(given)
    with _running(options):
        code = int(module.run(options))
    if getattr(options, "skipped", 0):
        from keyframer.cli.inputs import say_skipped

        say_skipped(options)
    return FINDINGS if code == FINE and getattr(options, "salvaged", False) else code


def _introduce(first: str, words: list[str]) -> int:
    """No command was given: say what the files are, and which commands fit them."""
    if os.path.isdir(first):
        print(
            f"keyframer: {safe_text(first)} is a folder: identify, info and check look into it with -r, "
            "batch works through all of its files (see keyframer --help)",
            file=sys.stderr,
        )
        return FINE
    if first == "-" or os.path.lexists(first) or os.path.isfile(first.partition("!/")[0]):
        return _run_command("identify", words, introduce=True)
    return Parser(prog="keyframer").error(f"no command and no file is called {first!r}{did_you_mean(first, COMMANDS)}")


def _running(options: argparse.Namespace) -> AbstractContextManager[object]:
    """No output of a command takes the place of its inputs. Every command that writes files has ``-f``."""
    if not hasattr(options, "force"):
        return nullcontext()
    from keyframer.files import running

    return running()


def build_parser(*, with_options: bool = True) -> Parser:
    """The parser with all commands: for the documentation and for completion; for ``--help`` without their options."""
    parser = Parser(
        prog="keyframer",
        description=ABOUT,
        formatter_class=_Help,
        epilog="examples:\n  keyframer info scene.3ds\n  keyframer view scene.3ds\n"
        "  keyframer convert scene.3ds scene.glb\n  keyframer batch convert archive/ -o converted/\n\n"
        "keyframer help COMMAND tells more about a command; keyframer FILE says what a file is.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"keyframer {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, words in COMMANDS.items():
        if with_options:
            module = command_module(name)
            _filled(commands.add_parser(name, help=words, **_texts(module)), module)
        else:
            commands.add_parser(name, help=words)
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
