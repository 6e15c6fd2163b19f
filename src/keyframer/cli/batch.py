"""``keyframer batch``: to many files what other commands do to one; resumed, on one machine or many."""

from __future__ import annotations

import argparse

from keyframer.batch.defaults import LEDGER, MEMORY, SECONDS
from keyframer.batch.operations import OPERATIONS
from keyframer.cli import batch_inputs, batch_options, batch_report, operation_options

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(
        title="operations", metavar="OPERATION", dest="operation", required=True, help="what to do to every file"
    )
    for name, operation in OPERATIONS.items():
        sub = subparsers.add_parser(
            name, help=operation.words, description=f"{operation.words[0].upper()}{operation.words[1:]}."
        )
        batch_inputs.add_arguments(sub)
        _add_run_arguments(sub)
        batch_options.add_arguments(sub, name)
        _add_messages(sub)
        sub.set_defaults(subparser=sub)
    words = "the ledger as a table, CSV, JSON or one HTML page"
    sub = subparsers.add_parser("report", help=words, description=f"{words[0].upper()}{words[1:]}.")
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
    output.add_argument("-f", "--force", action="store_true", help="replace files in OUT that no earlier run wrote")
    output.add_argument("--ledger", metavar="FILE", help=f"the ledger (default: {LEDGER} in OUT)")
    output.add_argument(
        "--retry-failed",
        action="store_true",
        help="try again what failed with these options (--salvage alone does again what failed without it)",
    )
    output.add_argument(
        "--verify", action="store_true", help="compare the content of what is done by its hash, not size and time"
    )
    workers = parser.add_argument_group("workers")
    workers.add_argument("-j", "--jobs", type=_count, metavar="N", help="worker processes (default: one for each core)")
    workers.add_argument(
        "--time-limit",
        type=operation_options.number(0.1, 1e7),
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
    from keyframer.cli import batch_run

    return batch_run.run(options)
