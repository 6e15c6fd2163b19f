"""``keyframer batch``: run another command on many files, on one machine or many, with resuming."""

from __future__ import annotations

import argparse

from keyframer.batch.job import LEDGER, MEMORY, SECONDS
from keyframer.batch.operations import OPERATIONS
from keyframer.cli import batch_inputs, batch_options, batch_report, batch_run, reading_options

ABOUT = """Run convert, check, info, identify or thumbnail on many files.

Outputs go to a folder with the same tree as the inputs, next to a ledger with a
row for each finished file. A second run skips files that are done and
unchanged; an interrupted run is resumed by starting it again. If a file crashes
its worker, hangs or uses too much memory, only this file fails. keyframer batch
report shows the ledger."""

EXAMPLES = (
    "keyframer batch convert archive/ -o converted/",
    "keyframer batch check 'packs/*.zip' -o checked/ -j 8 --exclude '*.bak.3ds'",
    "keyframer batch thumbnail s3://bucket/models -o pictures/ --size 128",
    "keyframer batch convert /shared/in -o /shared/out --cluster tcp://host:8786",
    "keyframer batch report converted/ --format html -o report.html",
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
        batch_options.add_arguments(sub, name)
        _add_messages(sub)
        sub.set_defaults(subparser=sub)
    description = "show the ledger as a table, CSV, JSON or one HTML page"
    sub = subparsers.add_parser("report", help=description, description=f"{description[0].upper()}{description[1:]}.")
    batch_report.add_arguments(sub)
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


def run(options: argparse.Namespace) -> int:
    return batch_run.run(options)
