"""``keyframer batch``: run another command on many files, on one machine or many, with resuming."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from keyframer.batch.cluster import ClusterError
from keyframer.batch.job import LEDGER, MEMORY, SECONDS
from keyframer.batch.ledger import LedgerError
from keyframer.batch.operation_table import CATALOGUE, OPERATIONS
from keyframer.batch.proof import ProofError
from keyframer.batch.shards import Shard
from keyframer.batch.storage import StoreError
from keyframer.cli import output_style
from keyframer.cli.batch import inputs, proof, report
from keyframer.cli.batch.running import find_duplicates, run_catalogue, run_operation
from keyframer.cli.exit_handling import INPUTS_FAILED
from keyframer.operations.reading_options import number
from keyframer.text import safe_text

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

    def add(
        name: str,
        help: str,
        run: Callable[[argparse.Namespace], int],
        *adders: Callable[[argparse.ArgumentParser], object],
    ) -> None:
        sub = subparsers.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        sub.set_defaults(subparser=sub, run=run)
        for add_some in (*adders, _add_messages):
            add_some(sub)

    for known in OPERATIONS.values():
        adders = (inputs.add_arguments, _add_run_arguments, proof.add_run_arguments)
        add(known.name, known.help, run_operation, *adders, partial(known.add_options, in_batch=True))
    add(CATALOGUE.name, CATALOGUE.help, run_catalogue, inputs.add_arguments, _add_catalogue, CATALOGUE.add_options)
    about = "find files that are there twice: the same bytes, or the same meshes and motion"
    add("duplicates", about, find_duplicates, inputs.add_arguments, _add_duplicates, CATALOGUE.add_options)
    about = "show the ledger as a table, CSV, JSON or one HTML page"
    add("report", about, report.run, report.add_arguments)
    about = "prove that sources and outputs are what the ledger says: one line for each deviation, and exit code 1"
    add("verify", about, proof.verify, proof.add_arguments)


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
    _add_repeating(output)
    _add_workers(parser)
    _add_shard(parser)


def _add_catalogue(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    help = "the catalogue to make or to bring up to date, such as archive.sqlite"
    output.add_argument("-o", "--output", metavar="FILE", required=True, help=help)
    _add_repeating(output)
    _add_workers(parser)
    _add_shard(parser)


def _add_duplicates(parser: argparse.ArgumentParser) -> None:
    output_style.add_arguments(parser)
    _add_workers(parser)
    parser.set_defaults(retry_failed=False, verify=False, shard=None)


def _add_repeating(group: argparse._ArgumentGroup) -> None:
    failed = "process again the files that failed in an earlier run with the same options"
    group.add_argument("--retry-failed", action="store_true", help=failed)
    changed = "detect changed files by their hash instead of size and time"
    group.add_argument("--verify", action="store_true", help=changed)


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
        type=number(0.1, 1e7),
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
        return int(options.run(options))
    except (LedgerError, ClusterError, ProofError, StoreError) as error:
        print(f"keyframer: {safe_text(str(error))}", file=sys.stderr)
        return INPUTS_FAILED
