"""``keyframer search``: list the files of a catalogue by words and conditions."""

from __future__ import annotations

import argparse
import re
import sys
from itertools import chain, islice
from typing import Any

from keyframer.batch.catalogue_schema import COLUMNS
from keyframer.batch.file_catalogue import Catalogue, CatalogueError, ConditionError
from keyframer.cli import output_style
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import note, shown_name
from keyframer.inspecting.listing import Listing
from keyframer.inspecting.tables import json_value
from keyframer.text import counted, safe_text

ABOUT = """List the files of a catalogue that keyframer batch catalogue has made.

A file is listed if each word is the beginning of a word in its path, in a name
of its nodes, meshes, materials, images, cameras or lights, or in its title,
author or writer; upper and lower case are equal. Without words all files are
listed. Words such as animated:yes, cameras:no, format:3ds and verdict:damaged
are conditions; --before 1996 and --after 1994-06 compare dates. --where is an
SQL condition on the table files; docs/catalogue.md describes all tables. The
paths can be the inputs of other commands: --files-from -."""

EXAMPLES = (
    "keyframer search archive.sqlite rotor",
    "keyframer search discs.sqlite --before 1996 animated:yes",
    "keyframer search archive.sqlite --where \"verdict = 'damaged' AND size > 1e6\"",
    "keyframer search archive.sqlite stone --format json | jq '.files[].path'",
    "keyframer search a.sqlite cat | keyframer batch check --files-from - -o out/",
)

SCHEMA = "keyframer.search"
SCHEMA_VERSION = 1
_RECORD_COLUMNS = (*COLUMNS["files"][1:], "matches")
_MOST_MATCHES = 5
"""maximum number of matching names that are shown for a file"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("catalogue", metavar="CATALOGUE", help="a catalogue, such as archive.sqlite")
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="beginnings of words that a file must have, all of them"
    )
    parser.add_argument(
        "--before", type=_date, metavar="DATE", help="files last changed before a year, month or day: 1996, 1996-03"
    )
    parser.add_argument("--after", type=_date, metavar="DATE", help="files last changed then or later")
    parser.add_argument("--where", metavar="SQL", help="a condition on the columns of the table files")
    parser.add_argument(
        "-l", "--long", action="store_true", help="show format, verdict and matching names after each path"
    )
    output_style.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    count = 0
    try:
        with Catalogue(options.catalogue) as catalogue:
            words, conditions = _conditions(options)
            found = catalogue.search(words, options.where, conditions)
            first = list(islice(found, 1))  # a wrong condition fails before anything is written
            listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, _RECORD_COLUMNS)
            for _, *values, names in chain(first, found):
                count += 1
                matches = _matches(str(names or ""), words)
                file = dict(zip(COLUMNS["files"][1:], values, strict=True))
                if options.format == "pretty":
                    sys.stdout.write(f"{_line(file, matches) if options.long else safe_text(str(file['path']))}\n")
                else:
                    record = {name: json_value(value) for name, value in file.items()}
                    listing.json({**record, "matches": matches})
                    listing.row([*values, ", ".join(matches)])
            listing.close()
    except ConditionError as error:
        options.parser.error(safe_text(str(error)))
    except CatalogueError as error:
        print(f"keyframer: {safe_text(str(error))}", file=sys.stderr)
        return INPUTS_FAILED
    note(options, counted(count, "file"))
    return SUCCESS


_COUNTS = {"animated": "animated_nodes", **{name: name for name in ("cameras", "lights", "images", "missing_images")}}
"""words before ``:yes`` and ``:no``, and the column that then is not 0, or 0"""
_TEXTS = ("format", "verdict", "writer")
"""words before ``:TEXT``, which the column then begins with"""
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def _date(text: str) -> str:
    if _DATE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"expected a year, month or day such as 1996-03-31, not {text!r}")
    return text


def _conditions(options: argparse.Namespace) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the words that are no conditions; and the conditions, in SQL, each with its value."""
    words: list[str] = []
    conditions: list[tuple[str, str]] = []
    for word in options.words:
        name, _, value = word.partition(":")
        if name in _COUNTS and value in ("yes", "no"):
            conditions.append((f"({_COUNTS[name]} > 0) = (? = 'yes')", value))
        elif name in _TEXTS and value:
            conditions.append((f"instr(lower({name}), ?) = 1", value.lower()))
        else:
            words.append(word)
    for comparison, date in (("<", options.before), (">=", options.after)):
        if date is not None:
            conditions.append((f"modified {comparison} ?", date))
    return words, conditions


def _matches(names: str, words: list[str]) -> list[str]:
    """Return the first names that have one of the words."""
    wanted = [re.compile(rf"(?<![^\W_]){re.escape(word)}", re.IGNORECASE) for word in words]
    found = [name for name in names.split("\n") if any(word.search(name) for word in wanted)]
    return [safe_text(name) for name in found[:_MOST_MATCHES]]


def _line(file: dict[str, Any], matches: list[str]) -> str:
    facts = [str(file[name]) for name in ("format", "verdict") if file[name] is not None]
    if matches:
        facts.append(f"matches: {', '.join(matches)}")
    return f"{shown_name(str(file['path']))}  ({safe_text('; '.join(facts))})"
