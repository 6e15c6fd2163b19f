"""``keyframer batch``: to many files what other commands do to one; resumed, on one machine or many."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from keyframer.batch import OPERATIONS, Campaign, Ledger, LedgerError, LocalExecutor, stores
from keyframer.batch.cluster import ClusterError, connect, isolated_task
from keyframer.batch.job import FAILED, FINDINGS, options_hash
from keyframer.batch.ledger import NAME
from keyframer.batch.local import MEMORY, SECONDS, available_cores
from keyframer.batch.running import FILES_PER_TASK
from keyframer.cli import batch_inputs, batch_options, batch_report
from keyframer.cli.exits import FINDINGS as EXIT_FINDINGS
from keyframer.cli.exits import FINE, INTERRUPTED, NOT_ALL_DONE
from keyframer.cli.messages import detail, note, shown_name
from keyframer.cli.progress import Progress, clock
from keyframer.text import safe_text

ABOUT = """Does to many files what convert, check, info, identify and thumbnail do to one.

Outputs go to a folder that keeps the tree of the inputs, beside a ledger with a row for each finished file. A
second run skips what is done and unchanged; a run that was killed is resumed by starting it again. A file that
crashes, hangs or eats memory costs only itself. keyframer batch report shows the ledger."""

EXAMPLES = (
    "keyframer batch convert archive/ -o converted/",
    "keyframer batch check 'packs/*.zip' -o checked/ -j 8 --exclude '*.bak.3ds'",
    "keyframer batch thumbnail s3://bucket/models -o pictures/ --size 128",
    "keyframer batch convert /shared/archive -o /shared/out --cluster tcp://scheduler:8786",
    "keyframer batch report converted/ --format html -o report.html",
)

_MOST_LINES = 20
"""failures that are shown one by one"""
_CLUSTER_AGE = 600.0
"""seconds: on a cluster a temporary file this young may be somebody's who is still at work"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    operations = parser.add_subparsers(
        title="operations", metavar="OPERATION", dest="operation", required=True, help="what to do to every file"
    )
    for name, operation in OPERATIONS.items():
        sub = operations.add_parser(
            name, help=operation.words, description=f"{operation.words[0].upper()}{operation.words[1:]}."
        )
        batch_inputs.add_arguments(sub)
        _add_run_arguments(sub)
        batch_options.add_arguments(sub, name)
        _add_messages(sub)
        sub.set_defaults(subparser=sub)
    words = "the ledger as a table, CSV, JSON or one HTML page"
    sub = operations.add_parser("report", help=words, description=f"{words[0].upper()}{words[1:]}.")
    batch_report.add_arguments(sub)
    _add_messages(sub)
    sub.set_defaults(subparser=sub)


def _add_messages(parser: argparse.ArgumentParser) -> None:
    """``-q`` and ``-v`` also behind the operation."""
    hidden = {"action": "store_true", "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
    parser.add_argument("-q", "--quiet", **hidden)  # type: ignore[arg-type]
    parser.add_argument("-v", "--verbose", **hidden)  # type: ignore[arg-type]


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="a folder, or a URL such as s3://bucket/out"
    )
    output.add_argument("--ledger", metavar="FILE", help=f"the ledger (default: {NAME} in OUT)")
    output.add_argument("--retry-failed", action="store_true", help="try again what failed in an earlier run")
    output.add_argument(
        "--verify", action="store_true", help="compare the content of what is done by its hash, not size and time"
    )
    workers = parser.add_argument_group("workers")
    workers.add_argument("-j", "--jobs", type=_count, metavar="N", help="worker processes (default: one for each core)")
    workers.add_argument(
        "--time-limit",
        type=batch_options.positive,
        default=SECONDS,
        metavar="SECONDS",
        help=f"for each file (default: {SECONDS:g})",
    )
    workers.add_argument(
        "--memory-limit",
        type=_count,
        default=MEMORY >> 20,
        metavar="MIB",
        help=f"of each worker process, in MiB (default: {MEMORY >> 20})",
    )
    cluster = parser.add_argument_group("many machines (extra 'cluster'; docs/batch.md says what trusting one means)")
    cluster.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler: tcp://host:8786 or tls://host:8786")
    cluster.add_argument("--tls-ca", metavar="FILE", help="certificate of the authority that signed the cluster's")
    cluster.add_argument("--tls-cert", metavar="FILE", help="our certificate")
    cluster.add_argument("--tls-key", metavar="FILE", help="its key")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) < 10**8):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def run(options: argparse.Namespace) -> int:
    options.parser = options.subparser
    try:
        if options.operation == "report":
            return batch_report.run(options)
        return _run(options)
    except (LedgerError, ClusterError) as error:
        print(f"keyframer: {safe_text(str(error))}", file=sys.stderr)
        return NOT_ALL_DONE


def _run(options: argparse.Namespace) -> int:
    if not options.files and options.files_from is None:
        options.parser.error("nothing to do: give a folder or a file")
    if (options.tls_ca or options.tls_cert or options.tls_key) and not options.cluster:
        options.parser.error("--tls-… is for --cluster")
    out = options.output if stores.is_url(options.output) else os.path.abspath(options.output)
    try:
        chosen = batch_options.options_of(options)
        OPERATIONS[options.operation].suffix(chosen)
    except ValueError as error:
        options.parser.error(str(error))
    ledger_path = options.ledger or _ledger_path(out, options)
    with Ledger(ledger_path, out) as ledger, _stopping(options) as stopping:
        campaign = Campaign(options.operation, chosen, out, ledger, retry=options.retry_failed, verify=options.verify)
        campaign.plan(batch_inputs.find_files(options))
        for renamed in campaign.summary.renamed[:_MOST_LINES]:
            note(options, f"RUN_OUTPUT_COLLISION: {renamed}")
        if len(campaign.summary.renamed) > _MOST_LINES:
            note(options, f"{len(campaign.summary.renamed)} outputs have another name; the report lists them")
        _sweep(campaign, options)
        progress = Progress(options, campaign.summary.total)
        try:
            _work(campaign, options, progress, stopping)
        finally:
            progress.clear()
            _sweep(campaign, options)
        return _summed_up(campaign, options, progress, ledger_path, stopping.is_set())


def _ledger_path(out: str, options: argparse.Namespace) -> str:
    if not stores.is_url(out):
        return os.path.join(out, NAME)
    path = f"keyframer-batch-{options_hash(out, {})[:10]}.sqlite"
    note(options, f"the ledger of {out} is {path} in this folder (--ledger puts it elsewhere)")
    return path


def _sweep(campaign: Campaign, options: argparse.Namespace) -> None:
    removed = campaign.sweep(older_than=_CLUSTER_AGE if options.cluster else 0.0)
    if removed:
        detail(options, f"{removed} temporary files of killed writers removed")


@contextmanager
def _stopping(options: argparse.Namespace) -> Iterator[threading.Event]:
    """The first Ctrl-C (or SIGTERM) stops after the files at work; the second at once."""
    event = threading.Event()

    def stop(number: int, frame: object) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()
        if not options.quiet:  # print is not safe in a signal handler
            os.write(2, b"\nkeyframer: stopping after the files at work (Ctrl-C again: at once)\n")

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _work(campaign: Campaign, options: argparse.Namespace, progress: Progress, stopping: threading.Event) -> None:
    memory = options.memory_limit << 20
    arguments: dict[str, Any] = {"stop": stopping.is_set}
    shown = 0
    with ExitStack() as stack:
        if options.cluster:
            executor: Any = stack.enter_context(
                connect(options.cluster, ca=options.tls_ca, certificate=options.tls_cert, key=options.tls_key)
            )
            arguments["task"] = isolated_task(options.time_limit, memory)
            total = max(campaign.summary.total, 1)
            arguments["files_per_task"] = max(1, min(FILES_PER_TASK, total // (2 * executor.workers) or 1))
        else:
            executor = LocalExecutor(options.jobs or available_cores(), seconds=options.time_limit, memory=memory)
            stack.callback(executor.shutdown)
        try:
            for result in campaign.carry_out(executor, **arguments):
                summary = campaign.summary
                progress.show(summary.finished, summary.worked, summary.counts[FAILED])
                if result["status"] == FAILED:
                    shown += 1
                    if shown <= _MOST_LINES:
                        progress.clear()
                        _show_failure(result)
        except KeyboardInterrupt:
            stopping.set()
            if isinstance(executor, LocalExecutor):
                executor.kill()


def _show_failure(result: dict[str, Any]) -> None:
    error = result["error"]
    print(
        f"keyframer: {shown_name(result['source'])}: {error['code']} at {error['offset']:#x} in {error['path']}: "
        f"{error['message']}",
        file=sys.stderr,
    )


def _summed_up(campaign: Campaign, options: argparse.Namespace, progress: Progress, ledger: str, stopped: bool) -> int:
    summary = campaign.summary
    seconds = progress.seconds
    failed, findings = summary.counts[FAILED], summary.counts[FINDINGS]
    parts = [f"{summary.total:,} files: {summary.finished - failed:,} done"]
    parts += [f"{findings:,} of them with findings"] if options.operation == "check" else []
    parts += [f"{failed:,} failed", f"{summary.skipped:,} of these already by an earlier run"]
    if stopped:
        parts.append(f"{summary.total - summary.finished:,} not begun")
    rate = f", {summary.worked / seconds:.0f} a second" if summary.worked and seconds > 0 else ""
    note(options, f"{', '.join(parts)}; {clock(seconds)}{rate}")
    if summary.codes:
        note(options, "failures: " + ", ".join(f"{code} {count:,}" for code, count in summary.codes.most_common()))
    if failed or findings:
        note(options, f"keyframer batch report {shown_name(options.ledger or options.output)} lists them")
    detail(options, f"ledger: {ledger}")
    if stopped:
        note(options, "stopped; the same command goes on from here")
        return INTERRUPTED
    return NOT_ALL_DONE if failed else EXIT_FINDINGS if findings else FINE
