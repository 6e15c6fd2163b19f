"""The documentation page of the command line, generated from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from keyframer.cli.exit_handling import CODES
from keyframer.cli.parser import ABOUT, COMMANDS, build_parser, command_module

_INTRODUCTION = """\
stdout has only data; messages go to stderr. Nothing is overwritten without `-f`, inputs of the same run are never
overwritten, and files are written atomically ([outputs](reliability.md#outputs)). Names from files are made safe before
they are shown, in every style.

**Inputs** are files, folders with `-r`, globs in quotes, `--files-from LIST`, `-` for stdin, and members of zip
archives (also `.mvr` and `.gdtf`): an archive stands for its members, `pack.zip!/scene.3ds` for one of them. In folders
and archives only files with the extension of a known format are taken, unless `--all-files` is given. A file that
cannot be read gives one record and one line on stderr, `keyframer: FILE: CODE at OFFSET in PATH: message`; the others
are still processed.

**Styles** (`--format`): `pretty` for people, `json` one document with a record per file, `jsonl` one record per
line, `csv`, and `md` for Markdown. The JSON styles have `schema` and `schema_version`; the schemas
are in `docs/schemas`."""


def page() -> str:
    """Return the page as Markdown, the same for every Python version."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "<!-- Generated from the parser: run `python tools/generate_docs.py`. -->"
    yield ""
    yield "# The command line"
    yield ""
    yield ABOUT
    yield ""
    yield "| command | does |"
    yield "| --- | --- |"
    for name, words in COMMANDS.items():
        yield f"| [`keyframer {name}`](#keyframer-{name}) | {words} |"
    yield ""
    yield _INTRODUCTION
    yield ""
    yield "| exit code | meaning |"
    yield "| --- | --- |"
    for code, words in CODES.items():
        yield f"| {code} | {words} |"
    for name, parser in _subcommands(build_parser()).items():
        yield ""
        yield f"## keyframer {name}"
        yield ""
        yield command_module(name).ABOUT
        yield ""
        yield "```sh"
        yield from command_module(name).EXAMPLES
        yield "```"
        yield ""
        yield from _options(parser)
        for inner, subparser in _subcommands(parser).items():
            yield ""
            yield f"### keyframer {name} {inner}"
            yield ""
            yield subparser.description or ""
            yield ""
            yield from _options(subparser)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield "| option | meaning |"
    yield "| --- | --- |"
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            yield f"| {_names(action)} | {_cell(action.help or '')} |"


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _names(action: argparse.Action) -> str:
    value = ""
    if action.nargs != 0:
        value = " " + ("|".join(action.choices) if action.choices and not action.metavar else str(action.metavar or ""))
    names = action.option_strings or [f"{action.metavar} …"]
    return ", ".join(f"`{name}{value if action.option_strings else ''}`".replace("|", "\\|") for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
