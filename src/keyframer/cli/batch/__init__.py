"""``keyframer batch``: run another command on many files, on one machine or many, with resuming."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from keyframer.batch import gallery_index, storage
from keyframer.batch.catalogue_run import CatalogueRun
from keyframer.batch.cluster import ClusterError, connect, isolated_task
from keyframer.batch.file_catalogue import Catalogue, is_catalogue
from keyframer.batch.job import FAILED, FILES_PER_TASK, FINDINGS, LEDGER, MEMORY, PAYLOAD, SECONDS, options_hash
from keyframer.batch.job_submission import ExecutorLost
from keyframer.batch.ledger import Ledger, LedgerError, folder_lock
from keyframer.batch.local_executor import LocalExecutor, available_cores
from keyframer.batch.operations import CATALOGUE_LOADS, OPERATIONS
from keyframer.batch.proof import ProofError
from keyframer.batch.resumable_run import InputFile, ResumableRun, Summary
from keyframer.batch.shards import Shard, check_same_shards
from keyframer.cli import operation_options, output_style, reading_options
from keyframer.cli.batch import inputs as batch_inputs
from keyframer.cli.batch import proof, report
from keyframer.cli.exit_handling import FINDINGS as EXIT_FINDINGS
from keyframer.cli.exit_handling import INPUTS_FAILED, INTERRUPTED, SUCCESS
from keyframer.cli.messages import StatusLine, detail, failure, note, shown_name
from keyframer.cli.outputs import output_errors, refuse_file_as_folder
from keyframer.errors import FormatError
from keyframer.files import check_output, note_input
from keyframer.text import counted, safe_text

_UPDATE_INTERVAL = 0.2
"""seconds between two updates of the progress"""
_MOST_LINES = 20
"""maximum number of failures, renamed outputs or codes that are shown"""
_UNSAFE = ("STRUCT_", "LINK_", "SEM_")
"""codes of failures that salvage can avoid by leaving out parts; files, limits and outputs are no such cause"""
_OTHERS_AGE = 600.0
"""seconds: another run, on another machine, may still be writing temporary files that are younger"""

ABOUT = """Run convert, check, info, identify or thumbnail on many files; show them in a
gallery; list their content in a catalogue; find duplicates.

Outputs go to a folder with the same tree as the inputs, next to a ledger with a
row for each finished file. A second run skips files that are done and
unchanged; an interrupted run is resumed by starting it again. If a file crashes
its worker, hangs or uses too much memory, only this file fails. keyframer batch
report shows the ledger; keyframer batch verify proves later that nothing has
changed."""

EXAMPLES = (
    "keyframer batch convert archive/ -o converted/",
    "keyframer batch check 'packs/*.zip' -o checked/ -j 8 --exclude '*.bak.3ds'",
    "keyframer batch thumbnail s3://bucket/models -o pictures/ --size 128",
    "keyframer batch convert /shared/in -o /shared/out --shard 0/10",
    "keyframer batch convert /shared/in -o /shared/out --cluster tcp://host:8786",
    "keyframer batch convert in/ -o bag/ --check-manifest in/sums.txt --bag",
    "keyframer batch gallery archive/ -o site/",
    "keyframer batch report converted/ --format html -o report.html",
    "keyframer batch catalogue archive/ -o archive.sqlite",
    "keyframer batch duplicates archive.sqlite",
    "keyframer batch verify bag/",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(
        title="operations", metavar="OPERATION", dest="operation", required=True, help="what to do with every file"
    )
    for name, operation in OPERATIONS.items():
        sub = subparsers.add_parser(
            name,
            help=operation.description,
            description=f"{operation.description[0].upper()}{operation.description[1:]}.",
        )
        batch_inputs.add_arguments(sub)
        _add_run_arguments(sub)
        proof.add_run_arguments(sub)
        operation_options.add_options(sub, name, in_batch=True)
        _add_messages(sub)
        sub.set_defaults(subparser=sub)
    for name, description, add in (
        ("catalogue", "list the content of every file in one SQLite database", _add_catalogue),
        (
            "duplicates",
            "find files that are there twice: the same bytes, or the same meshes and motion",
            _add_duplicates,
        ),
    ):
        sub = subparsers.add_parser(name, help=description, description=f"{description[0].upper()}{description[1:]}.")
        batch_inputs.add_arguments(sub)
        add(sub)
        _add_messages(sub)
        sub.set_defaults(subparser=sub)
    for name, add, description in (
        ("report", report.add_arguments, "show the ledger as a table, CSV, JSON or one HTML page"),
        (
            "verify",
            proof.add_arguments,
            "prove that sources and outputs are what the ledger says: one line for each deviation, and exit code 1",
        ),
    ):
        sub = subparsers.add_parser(name, help=description, description=f"{description[0].upper()}{description[1:]}.")
        add(sub)
        _add_messages(sub)
        sub.set_defaults(subparser=sub)


def _add_messages(parser: argparse.ArgumentParser) -> None:
    """Accept ``-q`` and ``-v`` after the operation, too."""
    hidden = {"action": "store_true", "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    parser.add_argument("-q", "--quiet", **hidden)  # type: ignore[arg-type]
    parser.add_argument("-v", "--verbose", **hidden)  # type: ignore[arg-type]


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="a folder, or a URL such as s3://bucket/out"
    )
    output.add_argument("-f", "--force", action="store_true", help="replace files in OUT that no earlier run wrote")
    output.add_argument(
        "--ledger",
        metavar="FILE",
        help=f"path of the ledger (default: {LEDGER} in OUT; if OUT is a URL, a file in the current folder)",
    )
    output.add_argument(
        "--retry-failed",
        action="store_true",
        help="process again the files that failed in an earlier run with the same options",
    )
    output.add_argument(
        "--verify", action="store_true", help="detect changed files by their hash instead of size and time"
    )
    _add_workers(parser)
    _add_shard(parser)


def _add_catalogue(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the catalogue to make or to bring up to date, such as archive.sqlite",
    )
    output.add_argument(
        "--retry-failed", action="store_true", help="process again the files that failed in an earlier run"
    )
    output.add_argument(
        "--verify", action="store_true", help="detect changed files by their hash instead of size and time"
    )
    _add_workers(parser)
    _add_shard(parser)
    operation_options.add_options(parser, "catalogue")


def _add_duplicates(parser: argparse.ArgumentParser) -> None:
    output_style.add_arguments(parser)
    _add_workers(parser)
    operation_options.add_options(parser, "catalogue")
    parser.set_defaults(retry_failed=False, verify=False, shard=None)


def _add_shard(parser: argparse.ArgumentParser) -> None:
    machines = parser.add_argument_group("many machines (docs/batch.md has examples)")
    machines.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="process only share I of N of the inputs, I from 0 to N - 1: start the same command N times, on any "
        "machines; each shard has its own ledger or catalogue",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    workers = parser.add_argument_group("workers")
    workers.add_argument(
        "-j", "--jobs", type=_count, metavar="N", help="number of local worker processes (default: one per core)"
    )
    workers.add_argument(
        "--time-limit",
        type=reading_options.number(0.1, 1e7),
        default=SECONDS,
        metavar="SECONDS",
        help=f"time limit per file (default: {SECONDS:g})",
    )
    workers.add_argument(
        "--memory-limit",
        type=_count,
        default=MEMORY >> 20,
        metavar="MIB",
        help=f"memory limit per worker process, in MiB (default: {MEMORY >> 20})",
    )
    cluster = parser.add_argument_group("cluster (needs the extra 'cluster'; docs/batch.md explains the risks)")
    cluster.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler: tcp://host:8786 or tls://host:8786")
    cluster.add_argument(
        "--tls-ca", metavar="FILE", help="certificate of the authority that signed the cluster certificate"
    )
    cluster.add_argument("--tls-cert", metavar="FILE", help="client certificate")
    cluster.add_argument("--tls-key", metavar="FILE", help="key of the client certificate")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) < 10**8):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 99999999")
    return int(text)


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    options.parser = options.subparser
    try:
        if options.operation == "report":
            return report.run(options)
        if options.operation == "catalogue":
            return _catalogue(options, options.output)
        if options.operation == "duplicates":
            return _duplicates(options)
        if options.operation == "verify":
            return proof.verify(options)
        return _run(options)
    except (LedgerError, ClusterError, ProofError, storage.StoreError) as error:
        print(f"keyframer: {safe_text(str(error))}", file=sys.stderr)
        return INPUTS_FAILED


def _check_arguments(options: argparse.Namespace) -> None:
    if not options.files and options.files_from is None:
        options.parser.error("no input: give a folder or a file")
    if (options.tls_ca or options.tls_cert or options.tls_key) and not options.cluster:
        options.parser.error("--tls-ca, --tls-cert and --tls-key need --cluster")


def _run(options: argparse.Namespace) -> int:
    _check_arguments(options)
    if not storage.is_url(options.output):
        refuse_file_as_folder(options, "the output of a batch is a folder")
    out = options.output if storage.is_url(options.output) else os.path.abspath(options.output)
    try:
        job_options = operation_options.values_of(options, options.operation)
        OPERATIONS[options.operation].suffix(job_options)
    except ValueError as error:
        options.parser.error(str(error))
    if options.shard is not None and batch_inputs.overlap(options, out):
        options.parser.error("--shard needs an output folder outside the inputs: other shards write there meanwhile")
    if options.ledger is None and not storage.is_url(out):
        check_same_shards(out, options.shard)
    inputs: Iterable[InputFile] = batch_inputs.find_files(options)
    if options.operation == "gallery":
        inputs = gallery_index.inputs_of(inputs, out)
        _check_viewer(options)
    ledger_path = options.ledger or _ledger_path(out, options)
    if os.path.lexists(ledger_path) and options.ledger:
        inputs = list(inputs)
        try:
            _check_ledger(ledger_path, inputs)
        except FormatError as error:
            failure(ledger_path, error)
            return INPUTS_FAILED
    expected: dict[str, str] | None = None
    if options.check_manifest is not None:
        expected = {}
        inputs = proof.with_manifest(options, iter(inputs), expected)
    proof.check_options(options)
    proof.check_folder(options, out, ledger_path)
    with (
        Ledger(ledger_path, out) as ledger,
        _folder_lock(out, ledger_path, options),
        _stopping(options) as stopping,
        _executor(options) as executor,
    ):
        batch_run = ResumableRun(
            options.operation,
            job_options,
            out,
            ledger,
            retry=options.retry_failed,
            verify=options.verify,
            force=options.force,
            shard=options.shard,
            expected=expected,
            folder=PAYLOAD if options.bag else "",
        )
        batch_run.plan(inputs)
        if options.operation == "gallery":
            gallery_index.check(out, ledger, force=options.force)
        for renamed in batch_run.summary.renamed[:_MOST_LINES]:
            note(options, f"RUN_OUTPUT_COLLISION: {renamed}")
        if len(batch_run.summary.renamed) > _MOST_LINES:
            count = counted(len(batch_run.summary.renamed), "output")
            note(options, f"{count} renamed; keyframer batch report lists all of them")
        report.show_refused(ledger)
        _sweep(batch_run, options)
        progress = Progress(options, batch_run.summary.total)
        try:
            lost = _work(batch_run, executor, options, progress, stopping)
        finally:
            _sweep(batch_run, options)
            report.show_refused(ledger)
        if options.operation == "gallery":
            index, damaged = gallery_index.write(out, ledger, batch_run.sources)
            note(options, f"open {shown_name(index)} in a browser")
        code = _summarise(batch_run, options, progress, ledger_path, stopping.is_set(), lost is not None)
        if options.operation == "gallery":
            where = shown_name(options.ledger or options.output)
            _show_damaged(options, damaged, f"keyframer batch report {where} --only damaged --only unreadable")
        if not stopping.is_set() and lost is None:
            proof.finish(options, out, ledger, batch_run.sources)
        _show_lost(lost)
        return code


def _show_damaged(options: argparse.Namespace, count: int, command: str) -> None:
    if count:
        note(options, f"{counted(count, 'file')} damaged or not readable; to list them: {command}")


def _show_lost(lost: ExecutorLost | None) -> None:
    if lost is not None:
        text = f"the cluster lost tasks ({lost}); the same command processes the files that are not finished"
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


def _catalogue(options: argparse.Namespace, path: str) -> int:
    """Make a catalogue or bring it up to date."""
    _check_arguments(options)
    job_options = operation_options.values_of(options, "catalogue")
    coverage = batch_inputs.coverage_of(options)
    options.files = [name for name in options.files if os.path.abspath(name) not in coverage.merged]
    with Catalogue(path, read_only=False) as catalogue, _stopping(options) as stopping, _executor(options) as executor:
        for other in coverage.merged:
            total, copied = catalogue.merge(other)
            note(options, f"{shown_name(other)}: {counted(total, 'file')}, {copied:,} of them new or changed")
        shard = options.shard
        files = (file for file in batch_inputs.find_files(options) if shard is None or shard.has(file.relative))
        batch_run = CatalogueRun(
            catalogue,
            files,
            job_options,
            coverage,
            retry=options.retry_failed,
            verify=options.verify,
        )
        progress = Progress(options, None)
        lost = _work(batch_run, executor, options, progress, stopping)
        batch_run.summary.total = batch_run.summary.finished
        if batch_run.removed:
            note(options, f"{counted(batch_run.removed, 'file')} removed from the catalogue: gone since the last run")
        code = SUCCESS
        if options.files or options.files_from is not None or stopping.is_set():
            code = _summarise(batch_run, options, progress, None, stopping.is_set(), lost is not None)
        if options.operation == "catalogue":
            command = f"keyframer search {shown_name(path)} --where \"verdict IN ('damaged', 'not readable')\""
            _show_damaged(options, catalogue.count_damaged(), command)
        _show_lost(lost)
        return code


def _duplicates(options: argparse.Namespace) -> int:
    """Find duplicates in a catalogue, or in files by a temporary catalogue."""
    from keyframer.cli.batch import duplicates  # loads numpy

    if len(options.files) == 1 and options.files_from is None and is_catalogue(options.files[0]):
        with Catalogue(options.files[0]) as catalogue:
            return duplicates.show(catalogue, options)
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        path = os.path.join(folder, "catalogue.sqlite")
        code = _catalogue(options, path)
        if code == INTERRUPTED:
            return code
        with Catalogue(path) as catalogue:
            return duplicates.show(catalogue, options) or code


def _check_viewer(options: argparse.Namespace) -> None:
    from keyframer.viewer.standalone_page import Assets, PageMissing  # loads numpy

    try:
        Assets()
    except PageMissing as missing:
        options.parser.error(str(missing))


def _check_ledger(path: str, inputs: list[InputFile]) -> None:
    """Refuse a ledger that is not a regular file or is one of the inputs: an empty input would become a ledger."""
    for file in inputs:
        note_input(storage.file_on_disk(file.source))
    with output_errors(path):
        check_output(path, overwrite=True)


def _folder_lock(out: str, ledger_path: str, options: argparse.Namespace) -> AbstractContextManager[None]:
    """Lock the output folder if the ledger, which is locked as well, is elsewhere: two runs would replace the outputs
    of each other."""
    usual = os.path.join(out, _ledger_name(options))
    if storage.is_url(out) or os.path.realpath(ledger_path) == os.path.realpath(usual):
        return nullcontext()
    return folder_lock(usual)


def _ledger_name(options: argparse.Namespace, name: str = LEDGER) -> str:
    return name if options.shard is None else options.shard.file_name(name)


def _ledger_path(out: str, options: argparse.Namespace) -> str:
    if not storage.is_url(out):
        return os.path.join(out, _ledger_name(options))
    path = _ledger_name(options, f"keyframer-batch-{options_hash(out, {})[:10]}.sqlite")
    note(options, f"the ledger of {out} is {path} in the current folder (--ledger chooses another place)")
    return path


def _sweep(batch_run: ResumableRun, options: argparse.Namespace) -> None:
    removed = batch_run.sweep(older_than=_OTHERS_AGE if options.cluster or options.shard else 0.0)
    if removed:
        detail(options, f"removed {counted(removed, 'temporary file')} of interrupted runs")


@contextmanager
def _stopping(options: argparse.Namespace) -> Iterator[threading.Event]:
    """Yield an event, which the first Ctrl-C or SIGTERM sets; the second raises KeyboardInterrupt."""
    event = threading.Event()

    def stop(number: int, frame: object) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()
        if not options.quiet:  # print is not safe in a signal handler
            os.write(2, b"\nkeyframer: stopping after the current files (Ctrl-C again: immediately)\n")

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _executor(options: argparse.Namespace) -> Iterator[Executor]:
    """Yield the executor of the cluster, or a local one, which starts loading modules while files are listed."""
    if options.cluster:
        with connect(options.cluster, ca=options.tls_ca, certificate=options.tls_cert, key=options.tls_key) as executor:
            yield executor
        return
    operation = OPERATIONS.get(options.operation)
    modules = CATALOGUE_LOADS if operation is None else operation.loads
    local = LocalExecutor(
        options.jobs or available_cores(),
        seconds=options.time_limit,
        memory=options.memory_limit << 20,
        modules=modules,
    )
    with local:
        local.start()
        yield local


def _work(
    batch_run: ResumableRun | CatalogueRun,
    executor: Executor,
    options: argparse.Namespace,
    progress: Progress,
    stopping: threading.Event,
) -> ExecutorLost | None:
    """Execute the jobs and show their progress and failures; returns why the executor was lost, if it was."""
    summary = batch_run.summary

    def show() -> None:
        progress.show(summary.finished, summary.processed, summary.counts[FAILED])

    arguments: dict[str, Any] = {"stop": stopping.is_set, "skipped": show}
    if options.cluster:
        arguments["task"] = isolated_task(options.time_limit, options.memory_limit << 20)
        workers = getattr(executor, "workers", 1)
        if summary.total:
            arguments["files_per_task"] = max(1, min(FILES_PER_TASK, summary.total // (2 * workers)))
    failures = 0
    try:
        for result in batch_run.execute(executor, **arguments):
            show()
            if result["status"] == FAILED:
                failures += 1
                if failures <= _MOST_LINES:
                    progress.clear()
                    _show_failure(result)
    except KeyboardInterrupt:
        stopping.set()
        if isinstance(executor, LocalExecutor):
            executor.kill()
    except ExecutorLost as error:
        return error
    finally:
        progress.clear()
    return None


def _show_failure(result: dict[str, Any]) -> None:
    error = result["error"]
    failure(result["source"], FormatError(error["code"], error["offset"] or 0, error["path"], error["message"]))


def _summarise(
    batch_run: ResumableRun | CatalogueRun,
    options: argparse.Namespace,
    progress: Progress,
    ledger_path: str | None,
    stopped: bool,
    cluster_lost: bool,
) -> int:
    summary = batch_run.summary
    failed, findings = summary.counts[FAILED], summary.counts[FINDINGS]
    note(options, _counts(summary, options, progress.seconds, is_unfinished=stopped or cluster_lost))
    if summary.codes:
        note(options, "failures: " + ", ".join(f"{code} {count:,}" for code, count in summary.codes.most_common()))
    if summary.findings:
        codes = ", ".join(f"{code} {count:,}" for code, count in summary.findings.most_common(_MOST_LINES))
        note(options, f"files with issues: {codes}")
    _suggest(summary, options, ledger_path)
    if stopped:
        note(options, "stopped; the same command resumes from here")
        return INTERRUPTED
    return INPUTS_FAILED if failed or cluster_lost else EXIT_FINDINGS if findings else SUCCESS


def _counts(summary: Summary, options: argparse.Namespace, seconds: float, *, is_unfinished: bool) -> str:
    """Return how many files were done, failed and skipped, and in which time."""
    failed, findings = summary.counts[FAILED], summary.counts[FINDINGS]
    begin = "" if options.shard is None else f"shard {options.shard}: "
    files = f"{summary.total:,} {'file' if summary.total == 1 else 'files'}"
    parts = [f"{begin}{files}: {summary.finished - failed:,} done"]
    parts += [f"{findings:,} of them with issues"] if findings or options.operation == "check" else []
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
