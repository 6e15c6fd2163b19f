"""Proof of batches: the options ``--check-manifest``, ``--manifest`` and ``--bag``, and ``keyframer batch verify``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Iterable, Iterator

from keyframer.batch import InputFile, storage
from keyframer.batch.job import PAYLOAD
from keyframer.batch.ledger import Ledger
from keyframer.batch.proof import (
    BAG_DECLARATION,
    MANIFEST,
    SOURCES,
    BagInfo,
    ProofError,
    Verification,
    is_own_bag,
    read_manifest,
    write_bag,
    write_manifest,
)
from keyframer.batch.shards import Ledgers
from keyframer.catalogue import IO_MANIFEST_MISMATCH
from keyframer.cli.batch import report
from keyframer.cli.batch.inputs import path_if_taken
from keyframer.cli.exit_handling import FINDINGS, INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import note, shown_name
from keyframer.text import counted


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    proof = parser.add_argument_group("proof")
    proof.add_argument(
        "--check-manifest",
        metavar="FILE",
        help="a manifest of the inputs, as sha256sum writes it: a file that is missing, has changed or is not listed "
        "fails before anything is made of it",
    )
    _add_output_arguments(proof)
    proof.add_argument(
        "--with-sources",
        action="store_true",
        help=f"with --bag: put copies of the inputs into OUT/{SOURCES}, of members their archive or disc image",
    )
    proof.add_argument("--organization", metavar="NAME", default="", help="with --bag: whose it is, for bag-info.txt")
    proof.add_argument(
        "--contact", metavar="NAME", default="", help="with --bag: a person or address for mail, for bag-info.txt"
    )


def _add_output_arguments(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    group.add_argument(
        "--manifest",
        choices=("sha256",),
        help=f"write {MANIFEST} of all outputs to OUT, of a gallery with its index: sha256sum -c {MANIFEST} in OUT "
        "verifies them (each shard has a manifest of its own, without the index)",
    )
    group.add_argument(
        "--bag",
        action="store_true",
        help=f"make OUT a BagIt bag: outputs in OUT/{PAYLOAD}, {MANIFEST}, and the index of a gallery next to it",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where", nargs="+", metavar="OUT", help="output folder of a batch, with all its shards, or a ledger"
    )
    parser.add_argument("--no-sources", action="store_true", help="verify only the outputs")
    parser.add_argument(
        "--urls",
        action="store_true",
        help="verify sources and outputs at URLs, too; a ledger of somebody else can name any URL",
    )
    _add_output_arguments(parser)
    parser.add_argument("-f", "--force", action="store_true", help=f"replace {MANIFEST} and the files of a bag")


def verify(options: argparse.Namespace) -> int:
    """Print a line for each deviation; then write the manifest or bag of outputs that are as the ledgers say."""
    writes = options.bag or options.manifest
    if writes and (len(options.where) > 1 or not os.path.isdir(options.where[0])):
        options.parser.error("--manifest and --bag need one output folder")
    ledgers = Ledgers(report.ledger_paths(options))
    verification = Verification(
        ledgers, with_sources=not options.no_sources, with_urls=options.urls, new_bag=options.bag
    )
    deviations = 0
    for line in verification.deviations():
        deviations += 1
        print(shown_name(line))
    counts = [counted(verification.sources, "source"), counted(verification.outputs, "output")]
    files = f"{counts[1] if options.no_sources else ' and '.join(counts)} verified"
    note(options, f"{files}: {counted(deviations, 'deviation') if deviations else 'no deviation'}")
    if verification.urls:
        note(options, f"not verified: {counted(verification.urls, 'file')} at URLs (--urls verifies them)")
    code = report.show_refused(ledgers)
    if deviations:
        return FINDINGS
    if writes and code == SUCCESS:
        out = options.where[0]
        if options.bag:
            count = write_bag(ledgers.rows(), out, overwrite=options.force or is_own_bag(out))
        else:
            count = write_manifest(ledgers.rows(), out, overwrite=options.force)
        note(options, f"{MANIFEST}: {counted(count, 'output')}")
    if not (verification.sources or verification.outputs):
        note(options, "nothing was verified, so nothing is proven")
        return INPUTS_FAILED
    return code


def check_folder(options: argparse.Namespace, out: str, ledger_path: str) -> None:
    """Raise `ProofError` if a run would spoil a bag, or replace a manifest that no earlier run wrote."""
    if storage.is_url(out):
        return
    if not options.bag and os.path.lexists(os.path.join(out, BAG_DECLARATION)):
        raise ProofError(f"{out} is a bag: give --bag, or choose another folder")
    path = os.path.join(out, _manifest_name(options))
    is_new_run = not os.path.lexists(ledger_path) and not options.force
    if (options.manifest or options.bag) and is_new_run and os.path.lexists(path):
        raise ProofError(f"{path} exists and was not written by an earlier run (--force replaces it)")


def check_options(options: argparse.Namespace) -> None:
    """End the command with a message if options do not fit each other."""
    if (options.with_sources or options.organization or options.contact) and not options.bag:
        options.parser.error("--with-sources, --organization and --contact need --bag")
    if (options.with_sources or options.organization or options.contact) and options.shard is not None:
        options.parser.error("--with-sources, --organization and --contact cannot be given with --shard")
    if options.with_sources and storage.is_url(options.output):
        options.parser.error("--with-sources needs an OUT on a disk")


def finish(options: argparse.Namespace, out: str, ledger: Ledger, sources: Collection[str]) -> None:
    """Write the manifest or bag of a finished run over these sources; raises `ProofError`."""
    if options.bag and options.shard is not None:
        where = shown_name(options.output)
        note(options, f"when all shards are finished, keyframer batch verify {where} --bag completes the bag")
        return
    if options.bag:
        info = BagInfo(sources if options.with_sources else (), options.organization, options.contact)
        count = write_bag(ledger.rows(), out, info=info)
    elif options.manifest:
        count = write_manifest(ledger.rows(), out, name=_manifest_name(options))
    else:
        return
    note(options, f"{_manifest_name(options)}: {counted(count, 'output')}")


def _manifest_name(options: argparse.Namespace) -> str:
    return MANIFEST if options.shard is None or options.bag else str(options.shard.file_name(MANIFEST))


def with_manifest(
    options: argparse.Namespace, inputs: Iterable[InputFile], expected: dict[str, str]
) -> Iterator[InputFile]:
    """Yield the inputs, and an input with an error for each file below a folder IN that the manifest lists and that is
    missing. ``expected`` gets the hashes of the inputs, without those of other shards.
    """
    own: set[str] = set()
    for file in inputs:
        if options.shard is None or options.shard.has(file.relative):
            own.add(storage.file_on_disk(file.source))
        yield file
    for source, sha256 in read_manifest(options.check_manifest):
        if source in own:
            expected[source] = sha256
            continue
        relative = None if os.path.lexists(source) else path_if_taken(source, options)
        if relative is not None and (options.shard is None or options.shard.has(relative)):
            error = IO_MANIFEST_MISMATCH.failure(0, "/", reason="the manifest lists it, but it is missing")
            yield InputFile(source, relative, error=error)
