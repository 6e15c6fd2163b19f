"""Runs of batches from beginning to end: an operation on many files, a catalogue, and a search for duplicates."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from keyframer.batch import storage
from keyframer.batch.base_run import InputFile, Run
from keyframer.batch.catalogue_run import CatalogueRun
from keyframer.batch.cluster import connect, isolated_task
from keyframer.batch.file_catalogue import Catalogue, is_catalogue
from keyframer.batch.job import FAILED, FILES_PER_TASK, LEDGER, PAYLOAD, options_hash
from keyframer.batch.job_submission import ExecutorLost
from keyframer.batch.ledger import Ledger, folder_lock
from keyframer.batch.local_executor import LocalExecutor, available_cores
from keyframer.batch.operation_table import CATALOGUE, OPERATIONS
from keyframer.batch.resumable_run import ResumableRun
from keyframer.batch.shards import check_same_shards
from keyframer.cli.batch import proof, report
from keyframer.cli.batch.inputs import coverage_of, find_files, overlap
from keyframer.cli.batch.progress import MOST_LINES, Progress, summarise
from keyframer.cli.exit_handling import INPUTS_FAILED, INTERRUPTED, SUCCESS
from keyframer.cli.messages import detail, failure, note, shown_name
from keyframer.cli.outputs import output_errors, refuse_file_as_folder
from keyframer.errors import FormatError
from keyframer.files import check_output, note_input
from keyframer.operations import Operation
from keyframer.text import counted, safe_text

_OTHERS_AGE = 600.0
"""seconds: another run, on another machine, may still be writing temporary files that are younger"""


def run_operation(options: argparse.Namespace) -> int:
    """Run an operation on many files."""
    operation = OPERATIONS[options.operation]
    _check_arguments(options)
    out = _output_folder(options)
    values = _values(operation, options)
    ledger_path = options.ledger or _ledger_path(out, options)
    inputs: Iterable[InputFile] = operation.inputs_of(find_files(options), out)
    if options.ledger and os.path.lexists(ledger_path):
        inputs = list(inputs)
        try:
            _check_ledger(ledger_path, inputs)
        except FormatError as error:
            failure(ledger_path, error)
            return INPUTS_FAILED
    expected: dict[str, str] | None = None
    if options.check_manifest is not None:
        expected = {}
        inputs = proof.with_manifest(options, inputs, expected)
    proof.check_options(options)
    proof.check_folder(options, out, ledger_path)
    with (
        Ledger(ledger_path, out) as ledger,
        _folder_lock(out, ledger_path, options),
        _stopping(options) as stopping,
        _executor(options, operation) as executor,
    ):
        batch_run = ResumableRun(
            operation.name,
            values,
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
        operation.before(out, ledger, force=options.force)
        _show_renamed(batch_run, options)
        progress = Progress(options, batch_run.summary.total)
        _tidy(batch_run, ledger, options)
        try:
            lost = _work(batch_run, executor, options, progress, stopping)
        finally:
            _tidy(batch_run, ledger, options)
        page, damaged = operation.after(out, ledger, batch_run.sources)
        if page:
            note(options, f"open {shown_name(page)} in a browser")
        stopped = stopping.is_set()
        code = summarise(
            batch_run.summary, options, progress.seconds, ledger_path, stopped=stopped, lost=lost is not None
        )
        where = shown_name(options.ledger or options.output)
        _show_damaged(options, damaged, f"keyframer batch report {where} --only damaged --only unreadable")
        if not stopped and lost is None:
            proof.finish(options, out, ledger, batch_run.sources)
        _show_lost(lost)
        return code


def run_catalogue(options: argparse.Namespace) -> int:
    """Make a catalogue or bring it up to date."""
    return _fill(options, options.output, shown_name(options.output))


def find_duplicates(options: argparse.Namespace) -> int:
    """Find duplicates in a catalogue, or in files by a temporary catalogue."""
    from keyframer.cli.batch import duplicates  # loads numpy

    if len(options.files) == 1 and options.files_from is None and is_catalogue(options.files[0]):
        with Catalogue(options.files[0]) as catalogue:
            return duplicates.show(catalogue, options)
    with tempfile.TemporaryDirectory(prefix="keyframer-") as folder:
        path = os.path.join(folder, "catalogue.sqlite")
        code = _fill(options, path)
        if code == INTERRUPTED:
            return code
        with Catalogue(path) as catalogue:
            return duplicates.show(catalogue, options) or code


def _fill(options: argparse.Namespace, path: str, name: str = "") -> int:
    """Bring a catalogue up to date; returns the exit code. A temporary one has no ``name`` for messages."""
    _check_arguments(options)
    values = CATALOGUE.values_of(options)
    coverage = coverage_of(options)
    options.files = [name for name in options.files if os.path.abspath(name) not in coverage.merged]
    with (
        Catalogue(path, read_only=False) as catalogue,
        _stopping(options) as stopping,
        _executor(options, CATALOGUE) as executor,
    ):
        for other in coverage.merged:
            total, copied = catalogue.merge(other)
            note(options, f"{shown_name(other)}: {counted(total, 'file')}, {copied:,} of them new or changed")
        shard = options.shard
        files = (file for file in find_files(options) if shard is None or shard.has(file.relative))
        batch_run = CatalogueRun(catalogue, files, values, coverage, retry=options.retry_failed, verify=options.verify)
        progress = Progress(options, None)
        lost = _work(batch_run, executor, options, progress, stopping)
        batch_run.summary.total = batch_run.summary.finished
        if batch_run.removed:
            note(options, f"{counted(batch_run.removed, 'file')} removed from the catalogue: gone since the last run")
        code, stopped = SUCCESS, stopping.is_set()
        if options.files or options.files_from is not None or stopped:
            code = summarise(batch_run.summary, options, progress.seconds, None, stopped=stopped, lost=lost is not None)
        if name:
            command = f"keyframer search {name} --where \"verdict IN ('damaged', 'not readable')\""
            _show_damaged(options, catalogue.count_damaged(), command)
        _show_lost(lost)
        return code


def _check_arguments(options: argparse.Namespace) -> None:
    if not options.files and options.files_from is None:
        options.parser.error("no input: give a folder or a file")
    if (options.tls_ca or options.tls_cert or options.tls_key) and not options.cluster:
        options.parser.error("--tls-ca, --tls-cert and --tls-key need --cluster")


def _output_folder(options: argparse.Namespace) -> str:
    """Return the output folder as a URL or an absolute path; ends the command if it does not fit the inputs."""
    is_url = storage.is_url(options.output)
    if not is_url:
        refuse_file_as_folder(options, "the output of a batch is a folder")
    out: str = options.output if is_url else os.path.abspath(options.output)
    if options.shard is not None and overlap(options, out):
        options.parser.error("--shard needs an output folder outside the inputs: other shards write there meanwhile")
    if options.ledger is None and not is_url:
        check_same_shards(out, options.shard)
    return out


def _values(operation: Operation, options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the operation; ends the command if they are invalid."""
    try:
        values = operation.values_of(options)
        operation.suffix(values)
    except ValueError as error:
        options.parser.error(str(error))
    return values


def _show_renamed(batch_run: ResumableRun, options: argparse.Namespace) -> None:
    renamed = batch_run.summary.renamed
    for output in renamed[:MOST_LINES]:
        note(options, f"RUN_OUTPUT_COLLISION: {output}")
    if len(renamed) > MOST_LINES:
        note(options, f"{counted(len(renamed), 'output')} renamed; keyframer batch report lists all of them")


def _tidy(batch_run: ResumableRun, ledger: Ledger, options: argparse.Namespace) -> None:
    """Show the rows that were refused, and remove the temporary files of killed writers."""
    report.show_refused(ledger)
    removed = batch_run.sweep(older_than=_OTHERS_AGE if options.cluster or options.shard else 0.0)
    if removed:
        detail(options, f"removed {counted(removed, 'temporary file')} of interrupted runs")


def _show_damaged(options: argparse.Namespace, count: int, command: str) -> None:
    if count:
        note(options, f"{counted(count, 'file')} damaged or not readable; to list them: {command}")


def _show_lost(lost: ExecutorLost | None) -> None:
    if lost is not None:
        text = f"the cluster lost tasks ({lost}); the same command processes the files that are not finished"
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


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
def _executor(options: argparse.Namespace, operation: Operation) -> Iterator[Executor]:
    """Yield the executor of the cluster, or a local one, which starts loading modules while files are listed."""
    if options.cluster:
        with connect(options.cluster, ca=options.tls_ca, certificate=options.tls_cert, key=options.tls_key) as executor:
            yield executor
        return
    local = LocalExecutor(
        options.jobs or available_cores(),
        seconds=options.time_limit,
        memory=options.memory_limit << 20,
        modules=("keyframer.batch.job_execution", *operation.loads),
    )
    with local:
        local.start()
        yield local


def _work(
    batch_run: Run,
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
                if failures <= MOST_LINES:
                    progress.clear()
                    code, offset, *place = (result["error"][name] for name in ("code", "offset", "path", "message"))
                    failure(result["source"], FormatError(code, offset or 0, *place))
    except KeyboardInterrupt:
        stopping.set()
        if isinstance(executor, LocalExecutor):
            executor.kill()
    except ExecutorLost as error:
        return error
    finally:
        progress.clear()
    return None
