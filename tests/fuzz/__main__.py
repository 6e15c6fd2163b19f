"""``python -m tests.fuzz --seconds 600`` fuzzes; ``--summary`` adds up ledgers; ``--replay`` repeats findings."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.fuzz.mutating import Input
from tests.fuzz.operations import OPERATIONS, Place
from tests.fuzz.running import Clock, FuzzRun, Limits, examine, unpacked

WORK = Path(__file__).resolve().parents[2] / "build" / "fuzz"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default="0", help="the same seed in an empty folder gives the same inputs")
    parser.add_argument("--work", type=Path, default=WORK, metavar="FOLDER", help="ledger, findings, kept inputs")
    parser.add_argument("--summary", type=Path, nargs="+", metavar="LEDGER", help="add up ledgers and leave")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FINDING", help="do everything to findings and leave")
    options = parser.parse_args(arguments)
    if options.summary:
        summarise(options.summary)
        return 0
    if options.replay:
        return replay(options.replay)
    campaign = FuzzRun(options.work, options.seed)
    known = len(campaign.seen)
    campaign.run(options.seconds)
    new = len(campaign.seen) - known
    print(f"{sum(campaign.counts.values())} executions on {campaign.inputs} inputs, {new} new findings")
    return 1 if new else 0


def summarise(ledgers: list[Path]) -> None:
    """Return executions and processor time by operation and by kind, as Markdown."""
    by_operation: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    seconds = 0.0
    for ledger in ledgers:
        for line in ledger.read_text("utf-8").splitlines():
            _, _, operation, kind, times, spent = line.split("\t")
            by_operation[operation] += int(times)
            by_kind[kind] += int(times)
            seconds += float(spent)
    print("| operation | executions |\n| --- | --- |")
    for name, times in by_operation.most_common():
        print(f"| {name} | {times:,} |")
    print("\n| input | executions |\n| --- | --- |")
    for name, times in by_kind.most_common():
        print(f"| {name} | {times:,} |")
    print(f"\n{sum(by_operation.values()):,} executions, {seconds:,.0f} s of the processor")


def replay(paths: list[Path]) -> int:
    """Run every operation on each finding, and report the promises that are still broken."""
    clock = Clock(Limits())
    broken = 0
    with clock.watching_time():
        for path in paths:
            broken += _replay(path, clock)
    return 1 if broken else 0


def _replay(path: Path, clock: Clock) -> int:
    """Return how many operations break a promise."""
    seed = unpacked(json.loads(path.read_text("utf-8")))
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder) / "place", Input(seed.kind, seed.suffix, seed.data, seed.companions))
        for operation in OPERATIONS:
            if operation.suits(seed.kind):
                clock.mark()
                _, finding = examine(operation, place, clock)
                if finding is not None:
                    broken += 1
                    print(f"{path.name}: {operation.name}: {finding.words}")
    return broken


if __name__ == "__main__":
    sys.exit(main())
