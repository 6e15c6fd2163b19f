"""Checking a file: everything that is wrong with it."""

from __future__ import annotations

import argparse
from typing import Any

from keyframer.catalogue import CATALOGUE
from keyframer.operations import READING, Operation, WorkFile
from keyframer.text import did_you_mean

VERDICT_WORDS = {"damaged": "damaged", "problems": "readable with problems", "unreadable": "not readable"}
"""the verdicts that ``--only`` selects"""
SEVERITIES = ("error", "warning", "info")


class Check(Operation):
    name = "check"
    help = "check every file and write its report as JSON"
    loads = READING
    ending = ".check.json"
    plain = ("fail_on", "ignore", "only")
    counts_findings = True

    def add_own_options(self, parser: argparse.ArgumentParser, *, in_batch: bool) -> None:
        group = parser.add_argument_group("issues")
        group.add_argument(
            "--fail-on",
            choices=SEVERITIES,
            default="error",
            help="lowest severity that makes the exit code 1 (default: error)",
        )
        group.add_argument(
            "--ignore",
            action="append",
            default=[],
            metavar="CODE",
            help="leave out issues of this code (may be repeated)",
        )
        group.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="CODE",
            help="list only issues of this code (may be repeated)"
            # a batch writes something for every file, so it does not select files by their verdict
            + (f"; or only files with this verdict: {', '.join(VERDICT_WORDS)}" if not in_batch else ""),
        )

    def own_values(self, options: argparse.Namespace) -> dict[str, Any]:
        verdicts = [word for word in options.only if word in VERDICT_WORDS]  # the command check has taken them out
        if verdicts:
            raise ValueError(f"--only takes codes here; for a verdict: keyframer batch report OUT --only {verdicts[0]}")
        _refuse_unknown_codes((*options.only, *options.ignore))
        return {}

    def perform(self, file: WorkFile) -> None:
        """Write the report on a file, readable or not."""
        from keyframer import checking
        from keyframer.inspecting.listing import json_file

        values = file.values
        report = checking.check_opened(file.opened).restricted(values.get("only") or (), values.get("ignore") or ())
        file.write(json_file(checking.SCHEMA, checking.SCHEMA_VERSION, checking.report_record(report, file.name)))
        file.note_issues(report.issues)
        file.details = {"verdict": report.verdict}
        file.has_findings = report.fails(values.get("fail_on") or "error")


def _refuse_unknown_codes(wanted: tuple[str, ...]) -> None:
    for beginning in wanted:
        if not beginning or not any(code.startswith(beginning) for code in CATALOGUE):
            near = did_you_mean(beginning, CATALOGUE)
            raise ValueError(f"no code begins with {beginning!r} (docs/issues.md lists all codes){near}")
