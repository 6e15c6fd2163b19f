"""Writes the generated pages: ``python tools/generate_docs.py``. With ``--check`` it only lists those out of date.

docs/cli.md comes from the parser, docs/issues.md and docs/losses.md from the catalogues, docs/formats/<id>.md from the
records of each format and docs/formats/notes/<id>.md, docs/schemas/*.json from the schemas that the package ships, a
table in docs/converting.md from the capabilities that the formats declare, tables of options from the exporters, and
tables in docs/catalogue.md from the schema of catalogues. src/keyframer/cli/desktop gets completion for shells and the
man pages, from the parser.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import shtab
from argparse_manpage.manpage import Manpage

from keyframer import __version__, inspecting
from keyframer.batch.catalogue_schema import described_tables
from keyframer.catalogue import CATALOGUE
from keyframer.checking import PASSES, VERDICTS, pass_of
from keyframer.cli.exit_handling import CODES
from keyframer.cli.formats import supported_features
from keyframer.cli.parser import ABOUT, all_commands, build_parser, command_module
from keyframer.describing import DESCRIPTIONS, own_extensions
from keyframer.describing.mime import mime_types
from keyframer.exchange import EXPORTERS, NativeExporter
from keyframer.exchange.contract import Exporter, WriteOption
from keyframer.fields import field_meanings
from keyframer.formats import FORMATS, Format
from keyframer.formats.kit.declared_fields import FEATURES
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, all_fields
from keyframer.inspecting.tables import markdown
from keyframer.issues import ISSUES_PER_CODE, ISSUES_PER_FILE
from keyframer.limits import BASE_INPUT_SIZE, Limits
from keyframer.scene.loss_report import Outcome
from keyframer.scene.losses import LOSSES
from keyframer.text import counted
from keyframer.wire.record import describe_fields

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCHEMAS = Path(inspecting.__file__).parent / "schemas"
DESKTOP = DOCS.parent / "src/keyframer/cli/desktop"
COMMAND = "python tools/generate_docs.py"
"""the command that generates the pages"""

_NOTE = f"<!-- Generated from the code: edit the records or the notes, then run `{COMMAND}`. -->"


def format_page(known: Format, notes: str = "") -> str:
    """Return the page of a format as Markdown: a description, notes, and a table for each record type."""
    about = import_module(type(known).__module__).__doc__
    title = known.title[:1].upper() + known.title[1:]
    lines = [_NOTE, "", f"# {title} (`{known.name}`)", "", *_docstring_lines(about), ""]
    lines += markdown(
        ("extensions", "PRONOM", "supported"),
        [
            [
                " ".join(f"`{extension}`" for extension in known.extensions),
                " ".join(known.puids()),
                ", ".join(supported_features(known)),
            ]
        ],
    )
    lines += ["", notes.strip(), ""] if notes.strip() else [""]
    types = list(known.record_types().values())
    lines += ["## Records", "", f"{len(types)} record types are declared.", "", *_record_table(known, types), ""]
    lines += [
        "## Fields",
        "",
        "Fields are listed in file order. Binary numbers are little endian, unless the dialect says otherwise.",
        "",
    ]
    for cls in types:
        lines += _field_table(known, cls)
    return "\n".join(lines).rstrip() + "\n"


_BEGIN = f"<!-- Generated from the declarations of the formats by `{COMMAND}`. -->"
_TABLES = f"<!-- Generated from the schema of catalogues by `{COMMAND}`. -->"
_OPTIONS = f"<!-- Generated from the options of {{}} by `{COMMAND}`. -->"
_END = "<!-- End of the generated part. -->"


def with_capabilities(page: str, formats: Iterable[Format]) -> str:
    """Return a page with a new generated part: what files of each format can store, by feature and by field."""
    bridges = {known.name: known.bridge() for known in formats}
    writers = {name: bridge.writer() for name, bridge in bridges.items() if bridge is not None}
    supported = {name: writer.capabilities.supported for name, writer in writers.items() if writer is not None}
    others = {known.name: known.capabilities() for known in EXPORTERS if not isinstance(known, NativeExporter)}
    supported |= {name: known.supported for name, known in others.items() if known is not None}
    titles = dict(FEATURES)
    titles |= {field: f"`{field}`" for part in REPORTED_PARTS for field in all_fields(part)}
    rows = [
        [title, *("yes" if name in stored else "" for stored in supported.values())] for name, title in titles.items()
    ]
    begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    return "\n".join([page[:begin], "", *markdown(("", *supported), rows), "", page[end:]])


def with_options(page: str, exporter: Exporter) -> str:
    """Return a page with a new generated part: the options of an exporter."""
    rows = []
    for option in exporter.options:
        flag = f"--{option.name.replace('_', '-')}" if option.is_flag else f"--write {option.name}={_value(option)}"
        choices = f" ({', '.join(f'`{choice}`' for choice in option.choices)})" if option.choices else ""
        rows.append([f"`{option.name}`", f"`{flag}`", f"{option.meaning}{choices}"])
    mark = _OPTIONS.format(exporter.name)
    begin = page.index(mark) + len(mark)
    lines = markdown(("`save`", "command line", "meaning"), rows)
    return "\n".join([page[:begin], "", *lines, "", page[page.index(_END, begin) :]])


def _value(option: WriteOption) -> str:
    return {"bool": "true", "float": "X"}.get(option.type, "TEXT")


def with_tables(page: str) -> str:
    """Return the page of the catalogue with a new generated part: its tables and views."""
    lines = []
    for kind, name, description, columns in described_tables():
        lines += [
            f"### `{name}`{' (view)' if kind == 'VIEW' else ''}",
            "",
            f"{description[0].upper()}{description[1:]}.",
            "",
        ]
        if kind == "VIEW":
            lines += [f"Columns: {', '.join(f'`{column}`' for column, _, _ in columns)}.", ""]
        else:
            rows = [[f"`{column}`", words, _cell(text)] for column, words, text in columns]
            lines += [*markdown(("column", "type", "what"), rows), ""]
    begin, end = page.index(_TABLES) + len(_TABLES), page.index(_END)
    return "\n".join([page[:begin], "", *lines, page[end:]])


def _record_table(known: Format, types: list[type[Any]]) -> Iterator[str]:
    """Return a table of all record types, with additional columns from the bridge of the format."""
    extras = [_summary_columns(known, cls) for cls in types]
    columns = list(dict.fromkeys(name for extra in extras for name in extra))
    rows = []
    for cls, extra in zip(types, extras, strict=True):
        description = " ".join(filter(None, _docstring_lines(cls.__doc__)))
        rows.append([*(_cell(extra.get(name, "")) for name in columns), f"`{cls.__name__}`", _cell(description)])
    yield from markdown((*columns, "record", "what"), rows)


def _field_table(known: Format, cls: type[Any]) -> list[str]:
    """Return the section of a record type; empty if it has no fields."""
    fields = describe_fields(cls)
    if not fields:
        return []
    chunk_id = _summary_columns(known, cls).get("id", "")
    rows = [[f"`{field.name}`", _cell(field.type), _cell(field.description)] for field in fields]
    table = markdown(("field", "type", "what"), rows)
    return [f"### {chunk_id} {cls.__name__}".replace("  ", " "), "", *table, ""]


def _summary_columns(known: Format, cls: type[Any]) -> dict[str, str]:
    """Return the columns that the bridge of the format adds for a record type."""
    bridge = known.bridge()
    return {} if bridge is None else dict(bridge.describe(cls))


def _docstring_lines(text: str | None) -> list[str]:
    """Return a docstring as lines of Markdown, with single backquotes."""
    return [line.strip().replace("``", "`") for line in (text or "").strip().splitlines()]


def _cell(text: str) -> str:
    """Escape the text of a cell of a Markdown table."""
    return text.replace("|", "\\|")


_FAMILIES = {
    "IO": "The file itself.",
    "LIMIT": "Limits on the cost of reading a file and of what is made from it. Each is an option: see "
    "[below](#limits), and `--time-limit` and `--memory-limit` of `keyframer batch`.",
    "STRUCT": "The structure of the bytes.",
    "LINK": "References to other parts of the file.",
    "SEM": "The meaning of values: versions, flags, names, hierarchy.",
    "STAGE": "Rules of stage lighting for shows (MVR) and fixtures (GDTF).",
    "PROFILE": "What an engine refuses or ignores",
    "DATA": "Invalid or unusual numbers. They do not prevent building a scene.",
    "SEC": "Names that could be harmful if shown or followed as paths. Keyframer shows them with escapes and "
    "does not follow such paths; the bytes are kept.",
    "SCENE": "Decisions made while building the scene.",
    "RUN": "A run of a command or a batch.",
}

_PASSES = ", ".join(f"*{name}* ({words})" for name, words in PASSES.items())
_VERDICTS = "\n".join(f"* *{verdict}*: {words}" for verdict, words in VERDICTS.items())

_ABOUT_ISSUES = f"""\
`keyframer check` and `keyframer.check()` report issues with a code, a severity, a byte offset, a path and a message.
Codes never change; messages may. Issues come from four passes: {_PASSES}.

* An **error** makes a scene unsafe to build: an index out of range, a cycle, a count or a block that does not fit.
  `load`, `convert` and everything else that needs a scene refuse the file with this code, offset and path;
  `salvage=True` (`--salvage`) leaves out the unsafe parts and reports each. Errors with a `DATA_` code are invalid
  values: a file with no other errors is still loaded.
* A **warning** is about something odd that does not prevent loading the file.
* An **info** is worth knowing.

The severity of a few codes depends on the context: an unknown value is an error only if the length of the following
data depends on it, a duplicate id only if something refers to it; a missing parent is a warning in formats whose
writers leave helpers out; vertices that disagree with the keyframer are an info if a rule settles which of them is
right. The report states the severity of each issue.

The verdict is the same in every command, in batches and in the viewer:

{_VERDICTS}

At most {ISSUES_PER_CODE} issues of a code and {ISSUES_PER_FILE:,} of a file are listed; all are counted. Two small
files for every code that a file alone can cause, with the exact report, are in `tests/golden/files`."""


_LIMITS = f"""\
`keyframer.Limits(name=…)` for `load`, `read`, `check` and `save`, and `--limit NAME=N` on the command line; the
defaults are above what any known real file needs.

Limits marked *budget* apply to everything that is made from a file: a scene, another file, pictures, a table. They hold
for inputs of up to {BASE_INPUT_SIZE // 1024} KiB (`copies`: 4 MiB) and grow in proportion for larger ones. Companions,
buffers and images that were read with a file count as input; for a file in an archive, its compressed size counts. If a
budget is exceeded, the work is refused with its code, in one line. If a part is still useful, less is done and the
report says so: motion is *incomplete*, an image is left out, faces behind many others are not drawn."""


def _message(template: str) -> str:
    """Return a template in the plural: ``{size: byte}`` becomes ``{size} bytes``."""
    plural = re.sub(r"(\{\w+): ([^}]+)\}", lambda match: counted(match[1] + "}", match[2]), template)
    return plural.replace("|", "&#124;")


def issues_page() -> Iterator[str]:
    """Return the page of the issue codes, from the catalogue."""
    yield "<!-- Generated from the catalogue: run `python tools/generate_docs.py`. -->"
    yield ""
    yield "# Issue codes"
    yield ""
    yield _ABOUT_ISSUES
    families: dict[str, list[str]] = {family: [] for family in _FAMILIES}
    for code in CATALOGUE:
        families[code.partition("_")[0]].append(code)
    for family, codes in families.items():
        yield ""
        yield f"## {family}"
        yield ""
        yield _FAMILIES[family]
        yield ""
        yield "| code | severity | pass | message |"
        yield "| --- | --- | --- | --- |"
        for code in sorted(codes):
            kind = CATALOGUE[code]
            yield f"| `{code}` | {kind.severity.label} | {pass_of(code)} | {_message(kind.template)} |"
    yield ""
    yield "## Limits"
    yield ""
    yield _LIMITS
    yield ""
    yield "| limit | default | meaning |"
    yield "| --- | --- | --- |"
    for name, (_, meaning) in field_meanings(Limits).items():
        yield f"| `{name}` | {getattr(Limits(), name):,} | {meaning} |"


_ABOUT_LOSSES = """\
Every conversion returns a report of its losses ([the loss report](gltf.md#the-loss-report)). An entry has a code, an
outcome, the path of a part of the scene, a sentence, and where it helps advice and a measured error. Codes never
change; sentences may. `keyframer convert -v` lists the entries, `--report FILE` writes them as JSON, the viewer shows
them with a saved file, and `keyframer batch report --loss CODE` lists the files of an archive that have one:

```sh
keyframer batch report converted/ --loss LIGHTS_UNSUPPORTED
```

A code that stands for one loss with several reasons has cases, and `--loss CODE` finds all of them:
`--loss "VERTEX_DATA_UNSUPPORTED:vertex colours"` finds one. In JSON an entry has its `case`, and the values of its
sentence as `args`. The tables have the usual outcome of each code; where it is measured, an entry may have another
one."""


def losses_page() -> Iterator[str]:
    """Return the page of the codes of losses, from the catalogue."""
    yield "<!-- Generated from the catalogue: run `python tools/generate_docs.py`. -->"
    yield ""
    yield "# Loss codes"
    yield ""
    yield _ABOUT_LOSSES
    for outcome in reversed(Outcome):
        yield ""
        yield f"## {outcome.value.capitalize()}"
        yield ""
        yield "| code | case | what happened | advice |"
        yield "| --- | --- | --- | --- |"
        for code, kinds in sorted(LOSSES.items()):
            for number, (case, kind) in enumerate(kinds.items()):
                if kind.outcome is outcome:
                    name = "" if number else f"`{code}`"
                    yield f"| {name} | {case} | {_message(kind.template)} | {_message(kind.advice)} |"


_ABOUT_COMMANDS = """\
stdout has only data; messages go to stderr. Nothing is overwritten without `-f` (only `batch` replaces outputs of its
earlier runs), inputs of the same run are never overwritten, and files are written atomically
([outputs](reliability.md#outputs)). Names from files are made safe before they are shown, in every style.

**Inputs** are files, folders with `-r`, globs in quotes, `--files-from LIST`, `-` for stdin, and members of
[archives](containers.md): an archive stands for its members, `pack.zip!/scene.3ds` for one of them. A `.mvr` or
`.gdtf` is one input; `show.mvr!/model.3ds` names a member. In folders and archives only files with the extension of a
known format are taken, unless `--all-files` is given. A file that cannot be read gives one entry and one line on
stderr, `keyframer: FILE: CODE at OFFSET in PATH: message`; the others are still processed.

**Styles** (`--format`): `pretty` for people, `json` one JSON object with an entry for each file, `jsonl` one entry per
line, `csv`, and `md` for Markdown. The JSON styles have `schema` and `schema_version`; the schemas
are in `docs/schemas`."""


def commands_page() -> Iterator[str]:
    """Return the page of the command line, from the parser; it is the same for every Python version."""
    yield "<!-- Generated from the parser: run `python tools/generate_docs.py`. -->"
    yield ""
    yield "# The command line"
    yield ""
    yield ABOUT
    yield ""
    yield "| command | does |"
    yield "| --- | --- |"
    for name, words in all_commands().items():
        yield f"| [`keyframer {name}`](#keyframer-{name}) | {words} |"
    yield ""
    yield _ABOUT_COMMANDS
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
        for subcommand, subparser in _subcommands(parser).items():
            yield ""
            yield f"### keyframer {name} {subcommand}"
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
    names = action.option_strings or [f"{action.metavar} …" if action.nargs == "*" else str(action.metavar)]
    return ", ".join(f"`{name}{value if action.option_strings else ''}`".replace("|", "\\|") for name in names)


COMPLETIONS = {"bash": "keyframer.bash", "zsh": "_keyframer", "fish": "keyframer.fish"}
"""the name of the completion of each shell, in the folder ``desktop`` of the package"""
_COMPLETED = {"FILE": shtab.FILE, "OUT": shtab.FILE, "PAGE": shtab.FILE, "LIST": shtab.FILE, "DIR": shtab.DIRECTORY}


_TYPED = r"local typed=${1//[\\\"\']/}"
"""bash gives words as they were typed: names with spaces have backslashes or quotes"""


def desktop_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of what desktops and shells get: types, completion, and the man page of each command."""
    yield "keyframer.xml", DESCRIPTIONS["mime"]()["keyframer.xml"]
    types = "".join(f"{name};" for name in mime_types(FORMATS, own_extensions()))
    for name in ("keyframer.desktop", "keyframer.thumbnailer"):
        yield name, re.sub(r"(?m)^MimeType=.*$", f"MimeType={types}", (DESKTOP / name).read_text("utf-8"))
    parser = build_parser()
    commands = _subcommands(parser)
    for each in [*commands.values(), *_subcommands(commands["batch"]).values()]:
        for action in each._actions:
            if isinstance(action.metavar, str) and action.metavar in _COMPLETED:
                action.complete = _COMPLETED[action.metavar]  # type: ignore[attr-defined]
    for shell, name in COMPLETIONS.items():
        text = shtab.complete(parser, shell=shell)
        yield name, re.sub(r"compgen -([fd]) -- \$1", lambda found: f'{_TYPED}; compgen -{found[1]} -- "$typed"', text)
    whole = _man_page("keyframer", ABOUT.rstrip("."), build_parser(with_options=False))
    pages = ", ".join(rf"\fBkeyframer\-{command}\fR(1)" for command in commands)
    yield (
        "keyframer.1",
        re.sub(r"\n\.SH COMMAND .*?(?=\n\.SH EXAMPLES)", "", whole, flags=re.S) + f".SH SEE ALSO\n{pages}\n",
    )
    for command, each in commands.items():
        yield f"keyframer-{command}.1", _man_page(f"keyframer-{command}", all_commands()[command], each)


def _man_page(name: str, about: str, parser: argparse.ArgumentParser) -> str:
    examples, parser.epilog = (parser.epilog or "").partition("\n")[2], None
    page = Manpage(parser)
    page.prog, page.description, page.date = name, about, ""
    page.source, page.manual = f"Keyframer {__version__}", "Keyframer"
    text = re.sub(r"(?m)^\.(?=[a-z0-9])", r"\\&.", str(page))  # an extension at the start of a line is not a macro
    words = examples.replace("\\", r"\e").replace("-", r"\-")
    return f"{text}.SH EXAMPLES\n.nf\n{words}\n.fi\n"


def generated_pages() -> dict[Path, str]:
    """Return the text of every generated page."""
    catalogues = {"cli.md": commands_page(), "issues.md": issues_page(), "losses.md": losses_page()}
    pages = {DOCS / name: "\n".join([*lines, ""]) for name, lines in catalogues.items()}
    for known in FORMATS:
        notes = DOCS / "formats" / "notes" / f"{known.name}.md"
        text = notes.read_text("utf-8") if notes.is_file() else ""
        pages[DOCS / "formats" / f"{known.name}.md"] = format_page(known, text)
    converting = DOCS / "converting.md"
    pages[converting] = with_capabilities(converting.read_text("utf-8"), FORMATS)
    for page in sorted(DOCS.glob("*.md")):
        for exporter in EXPORTERS:
            if _OPTIONS.format(exporter.name) in (text := pages.get(page, page.read_text("utf-8"))):
                pages[page] = with_options(text, exporter)
    catalogue = DOCS / "catalogue.md"
    pages[catalogue] = with_tables(catalogue.read_text("utf-8"))
    for path in sorted(SCHEMAS.iterdir()):
        pages[DOCS / "schemas" / path.name] = path.read_text("utf-8")
    pages |= {DESKTOP / name: text for name, text in desktop_pages()}
    return pages


def is_stale(path: Path, text: str) -> bool:
    """Return whether a page is missing or differs from its generated text."""
    return not path.is_file() or path.read_text("utf-8") != text


def main() -> int:
    stale = {path: text for path, text in generated_pages().items() if is_stale(path, text)}
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.relative_to(DOCS.parent)} is out of date: run {COMMAND}")
        return 1 if stale else 0
    for path, text in stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
        print(f"wrote {path.relative_to(DOCS.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
