"""``keyframer check``: list everything that is wrong with a file."""

from __future__ import annotations

import argparse
import sys

from keyframer.checking import (
    COLUMNS,
    SCHEMA,
    SCHEMA_VERSION,
    Report,
    check_opened,
    report_record,
    truncated_text,
    unlisted,
    unreadable,
)
from keyframer.cli import inputs, output_style, scene_loading
from keyframer.cli.each_input import READ_FAILURES, EachInput, budget_for
from keyframer.cli.inputs import Input
from keyframer.cli.messages import as_format_error, note, shown_name
from keyframer.errors import known_offset
from keyframer.exchange import IMPORTERS, reader_by_name
from keyframer.inspecting.listing import Listing
from keyframer.operations.check import SEVERITIES, VERDICT_WORDS, Check

ABOUT = """List everything that is wrong with a file.

Each issue of structure, links, data or scene has a code, a severity, a byte
offset and a path. The verdict is clean, readable with problems, damaged
(loading is refused, --salvage may help), or not readable.

An error makes a scene unsafe to build, so load and convert refuse the file
(--salvage leaves out the unsafe parts). Errors with a DATA_ code are invalid
values; a file with no other errors is still loaded. A warning is odd but
harmless; an info is worth knowing. docs/issues.md explains every code. At most
20 issues of a code are listed, all are counted. The exit code is 1 if a file
cannot be read or has issues at or above --fail-on. --ignore and --only also
accept the beginning of codes: --ignore SEC_ --ignore SCENE_REST_POSE. A folder
without -r is not a file: the exit code is 3.

--only damaged, problems or unreadable lists only files with this verdict, and
--severity only files with such issues. Neither changes the exit code."""

CHECK = Check()
EXAMPLES = (
    "keyframer check scene.3ds",
    "keyframer check -r --format csv archive/ > findings.csv",
    "keyframer check -r --only damaged --only unreadable archive/",
    "keyframer check --fail-on warning --ignore SEM_NAME_TOO_LONG scene.3ds",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    CHECK.add_options(parser)
    parser.add_argument(
        "--severity",
        choices=SEVERITIES,
        help="list only files with issues of this severity or a higher one, and only these issues",
    )
    profiles = sorted({profile for known in IMPORTERS for profile in known.profiles})
    parser.add_argument("--profile", choices=profiles, help="check what an engine refuses or ignores, too (glTF)")
    output_style.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    verdicts = [VERDICT_WORDS.get(word) for word in options.only]
    options.only = [word for word, verdict in zip(options.only, verdicts, strict=True) if verdict is None]
    try:
        CHECK.values_of(options)
    except ValueError as error:
        options.parser.error(str(error))
    listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, COLUMNS)
    checked = failed = shown = 0
    for item in (each := EachInput(options, inputs.LOADABLE)):
        if isinstance(item, inputs.FolderInput):  # not a file, so it has no verdict
            each.fail(item, item.error)
            continue
        with budget_for(options, item):
            report = _check(item, options).restricted(options.only, options.ignore)
        checked += 1
        if report.fails(options.fail_on):
            failed += 1
            each.find()
        report = report.restricted(severity=options.severity)
        if any(verdicts) and report.verdict not in verdicts:
            continue
        if options.severity is not None and not report.issues.total:
            continue
        shown += 1
        if options.format == "pretty":
            _pretty(item.name, report, options)
        elif options.format in ("csv", "md"):
            _rows(listing, item.name, report)
        else:
            listing.json(report_record(report, item.name))
    listing.close()
    if checked > 1:
        listed = f", {shown} of them listed" if shown < checked else ""
        note(options, f"{checked} files checked{listed}, {failed} failed (--fail-on {options.fail_on})")
    return each.code


def _check(item: Input, options: argparse.Namespace) -> Report:
    """Return the report on an input, even if it cannot be read."""
    try:
        opened = scene_loading.open_input(item, options)
    except READ_FAILURES as error:
        return unreadable(
            as_format_error(error), None if options.from_format is None else reader_by_name(options.from_format)
        )
    try:
        return check_opened(opened, options.profile)
    except ValueError as error:  # the profile is for another format
        options.parser.error(f"{shown_name(item.name)}: {error}")
        raise


def _rows(listing: Listing, name: str, report: Report) -> None:
    """Write a row for each issue, for each code with unlisted issues, and for a file without issues."""
    for issue in report.issues:
        offset = known_offset(issue.code, issue.offset, issue.path)
        place = (offset, truncated_text(issue.path), truncated_text(issue.message))
        listing.row([name, report.verdict, issue.severity.label, issue.code, *place])
    for code, count in unlisted(report).items():
        listing.row([name, report.verdict, None, code, None, None, f"{count} more, not listed"])
    if not report.issues.total:
        listing.row([name, report.verdict, *[None] * 5])


def _pretty(name: str, report: Report, options: argparse.Namespace) -> None:
    """Print the verdict in one line, then one line for each issue."""
    counts = report.issues.counts_text()
    colour = not output_style.is_plain(options)
    verdict = _painted(report.verdict, _VERDICT_COLOURS[report.verdict]) if colour else report.verdict
    lines = [f"{shown_name(name)}: {verdict}" + (f" ({counts})" if counts else "")]
    for issue in report.issues:
        severity = issue.severity.label
        word = _painted(severity, _COLOURS[severity]) if colour else severity
        where = ""
        if known_offset(issue.code, issue.offset, issue.path) is not None:
            where = f"{issue.code} at {issue.offset:#x} in {truncated_text(issue.path)}: "
        lines.append(f"  {word}: {where}{truncated_text(issue.message)}")
    lines += [f"  {code}: {count} more, not listed" for code, count in unlisted(report).items()]
    sys.stdout.write("\n".join(lines) + "\n")


_COLOURS = {"error": 31, "warning": 33, "info": 36}
_VERDICT_COLOURS = {"not readable": 31, "damaged": 31, "readable with problems": 33, "clean": 32}


def _painted(text: str, colour: int) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"
