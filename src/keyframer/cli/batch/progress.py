"""The progress of a batch, and its summary at the end."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from keyframer.batch.job import FAILED, FINDINGS
from keyframer.batch.operation_table import ALL, CATALOGUE
from keyframer.cli.exit_handling import FINDINGS as EXIT_FINDINGS
from keyframer.cli.exit_handling import INPUTS_FAILED, INTERRUPTED, SUCCESS
from keyframer.cli.messages import StatusLine, detail, note, shown_name
from keyframer.text import counted

if TYPE_CHECKING:
    from keyframer.batch.base_run import Summary

_UPDATE_INTERVAL = 0.2
"""seconds between two updates of the progress"""
MOST_LINES = 20
"""maximum number of failures, renamed outputs or codes that are shown"""
_UNSAFE = ("STRUCT_", "LINK_", "SEM_")
"""codes of failures that salvage can avoid by leaving out parts; files, limits and outputs are no such cause"""


class Progress:
    """The progress of a batch, in one line on stderr."""

    def __init__(self, options: argparse.Namespace, total: int | None) -> None:
        """``total`` is the number of files; None if it is not known."""
        self._line = StatusLine(options)
        self.clear = self._line.clear
        self._total = total
        self._start = time.monotonic()
        self._next = self._start + _UPDATE_INTERVAL

    def show(self, finished: int, processed: int, failed: int) -> None:
        """Update the line. ``processed`` is the number of finished files that were not skipped, for the rate."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _UPDATE_INTERVAL
            self._line.show(progress_line(self._total, finished, processed, failed, now - self._start))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start


def progress_line(total: int | None, finished: int, processed: int, failed: int, seconds: float) -> str:
    share = 100 * finished / total if total else 100
    line = f"{finished:,} of {total:,} ({share:.0f} %)" if total is not None else counted(finished, "file")
    if processed and seconds > 0:
        rate = processed / seconds
        line += f", {rate:.{0 if rate >= 10 else 1}f} per second"
        line += f", {clock((total - finished) / rate)} left" if total is not None else ""
    return line + (f", {failed:,} failed" if failed else "")


def clock(seconds: float) -> str:
    """Return seconds as ``1:02:03`` or ``2:03``."""
    minutes, whole_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_seconds:02}" if hours else f"{minutes}:{whole_seconds:02}"


def summarise(
    summary: Summary,
    options: argparse.Namespace,
    seconds: float,
    ledger_path: str | None,
    *,
    stopped: bool,
    lost: bool,
) -> int:
    """Print what became of the files, and what to do next; returns the exit code. A run was stopped by the user, or
    ``lost`` by the cluster."""
    failed, findings = summary.counts[FAILED], summary.counts[FINDINGS]
    note(options, _counts(summary, options, seconds, is_unfinished=stopped or lost))
    if summary.codes:
        note(options, "failures: " + ", ".join(f"{code} {count:,}" for code, count in summary.codes.most_common()))
    if summary.findings:
        codes = ", ".join(f"{code} {count:,}" for code, count in summary.findings.most_common(MOST_LINES))
        note(options, f"files with issues: {codes}")
    _suggest(summary, options, ledger_path)
    if stopped:
        note(options, "stopped; the same command resumes from here")
        return INTERRUPTED
    return INPUTS_FAILED if failed or lost else EXIT_FINDINGS if findings else SUCCESS


def _counts(summary: Summary, options: argparse.Namespace, seconds: float, *, is_unfinished: bool) -> str:
    """Return how many files were done, failed and skipped, and in which time."""
    failed, findings = summary.counts[FAILED], summary.counts[FINDINGS]
    begin = "" if options.shard is None else f"shard {options.shard}: "
    files = f"{summary.total:,} {'file' if summary.total == 1 else 'files'}"
    parts = [f"{begin}{files}: {summary.finished - failed:,} done"]
    if findings or ALL.get(options.operation, CATALOGUE).counts_findings:
        parts.append(f"{findings:,} of them with issues")
    parts.append(f"{failed:,} failed")
    parts += [f"{summary.skipped:,} already finished by an earlier run"] if summary.skipped else []
    parts += [f"{summary.total - summary.finished:,} not finished"] if is_unfinished else []
    rate = f", {summary.processed / seconds:.0f} per second" if summary.processed and seconds >= 1 else ""
    return f"{', '.join(parts)}; {clock(seconds)}{rate}"


def _suggest(summary: Summary, options: argparse.Namespace, ledger_path: str | None) -> None:
    """Print the commands for files that failed and files with issues."""
    failed = summary.counts[FAILED]
    unsafe = sum(count for code, count in summary.codes.items() if code.startswith(_UNSAFE))
    if unsafe and getattr(options, "salvage", None) is False:
        files = "this file" if unsafe == failed == 1 else "these files" if unsafe == failed else f"{unsafe:,} of them"
        note(options, f"the same command with --salvage processes {files} again, without the unsafe parts")
    if ledger_path is None:
        return
    for status, what in ((FAILED, "failures"), (FINDINGS, "files with issues")):
        if summary.counts[status]:
            where = shown_name(options.ledger or options.output)
            note(options, f"to list the {what}: keyframer batch report {where} --status {status}")
    detail(options, f"ledger: {ledger_path}")
