"""Kills a batch with ``kill -9`` at random times and resumes it, in many rounds: ``make batch-torture``.

The input is a tree of small files (2 % damaged). Each round starts ``keyframer batch`` and kills the coordinator at a
random time (at every second kill also its workers). This is repeated ``--kills`` times; then the batch runs to its end.
The round checks that every file has one row, every output is the same as after an undisturbed run, no temporary file is
left, and files that were recorded before a kill were not processed again.

Ctrl-C ends the program; the current round is not counted. With ``--tally FILE`` each round adds a line to that file,
and the summary covers all lines: 100 rounds can be divided among several runs, each with another ``--seed``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keyframer.text import counted

ROOT = Path(__file__).resolve().parents[1]
START = "import sys; from keyframer.cli import main; sys.exit(main())"
LEDGER = "keyframer-batch.sqlite"


def make_tree(folder: Path, count: int, damaged_fraction: float = 0.02) -> int:
    """Write copies of small samples and some damaged files to a tree of folders; returns the number of the latter."""
    samples = [
        path.read_bytes()
        for path in sorted((ROOT / "tests" / "samples").rglob("*"))
        if path.suffix in (".3ds", ".u3d", ".anim", ".nanim")
        and path.stat().st_size < 2_000
        and path.stem not in ("cut", "oddities")
    ]
    damaged = 0
    for number in range(count):
        subfolder = folder / f"{number // 250:04}"
        subfolder.mkdir(parents=True, exist_ok=True)
        data = samples[number % len(samples)]
        if number % round(1 / damaged_fraction) == 0:
            damaged += 1
            data = b"\x00damaged" + number.to_bytes(8, "little")
        (subfolder / f"{number:06}.{'3ds' if number % 2 else 'anim'}").write_bytes(data)
    an_hour_ago = time.time() - 3_600  # a batch does not trust the time of a file that changed just before
    for path in folder.rglob("*.*"):
        os.utime(path, (an_hour_ago, an_hour_ago))
    return damaged


def batch_command(source: Path, out: Path, operation: str, jobs: int) -> list[str]:
    arguments = ["batch", operation, str(source), "-o", str(out), "-j", str(jobs), "-q"]
    return [sys.executable, "-c", START, *arguments]


def output_hashes(out: Path) -> dict[str, str]:
    """Return the hash of every file in the output folder except the ledger."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not path.name.startswith(LEDGER)
    }


def ledger_rows(out: Path) -> dict[str, tuple[str, float]]:
    """Return the hash and the finishing time of each source in the ledger."""
    if not (out / LEDGER).exists():
        return {}
    ledger = sqlite3.connect(out / LEDGER, timeout=10)
    try:
        rows = ledger.execute("SELECT source, sha256, finished FROM files").fetchall()
    except sqlite3.OperationalError:  # killed before the table was created
        return {}
    finally:
        ledger.close()
    assert len({source for source, _, _ in rows}) == len(rows)
    return {source: (digest, finished) for source, digest, finished in rows}


def descendants(parent: int) -> list[int]:
    """Return the ids of all descendants of a process (on Linux)."""
    processes = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        processes += [process for child in children for process in (child, *descendants(child))]
    return processes


def _wait_randomly(process: subprocess.Popen[bytes], out: Path, count: int, rng: random.Random) -> None:
    """Wait up to 0.3 seconds, or until a random number of outputs exists or the process has ended."""
    if rng.random() < 0.3:
        time.sleep(rng.uniform(0.0, 0.3))
        return
    wanted = rng.randrange(int(0.9 * count))
    while process.poll() is None and sum(len(names) for _, _, names in os.walk(out)) <= wanted:
        time.sleep(0.01)


def torture_round(
    source: Path,
    out: Path,
    expected: dict[str, str],
    count: int,
    rng: random.Random,
    *,
    operation: str,
    jobs: int,
    kills: int,
) -> tuple[int, list[str]]:
    """Run one round; returns how many kills hit a running batch, and all errors."""
    errors: list[str] = []
    hits = 0
    for attempt in range(kills + 1):
        before = ledger_rows(out)
        process = subprocess.Popen(
            batch_command(source, out, operation, jobs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if attempt == kills:
            code = process.wait()
            if code not in (0, 1, 3):
                errors.append(f"the last run ended with exit code {code}")
        else:
            _wait_randomly(process, out, count, rng)
            workers = descendants(process.pid) if attempt % 2 else []
            if process.poll() is None:
                hits += 1
            process.send_signal(signal.SIGKILL)
            for worker in workers:
                try:
                    os.kill(worker, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait()
        after = ledger_rows(out)
        errors += [f"the row of {name} was lost" for name in before if name not in after]
        errors += [f"{name} was processed twice" for name, row in before.items() if after.get(name, row) != row]
    hashes = output_hashes(out)
    errors += [f"{name} is missing" for name in expected if name not in hashes]
    errors += [f"{name} was not removed" for name in hashes if name not in expected]
    errors += [f"{name} differs" for name, digest in hashes.items() if expected.get(name, digest) != digest]
    if len(ledger_rows(out)) != count:
        errors.append(f"{len(ledger_rows(out))} rows for {count} files")
    return hits, errors


def torture(
    rounds: int,
    count: int,
    *,
    operation: str = "check",
    jobs: int = 2,
    kills: int = 2,
    seed: int = 1,
    place: str | None = None,
    after_round: Callable[[int, int, list[str]], None] = lambda number, hits, errors: None,
) -> tuple[int, list[str]]:
    """Run many rounds; returns how many kills hit a running batch, and all errors."""
    rng = random.Random(seed)
    errors: list[str] = []
    hits = 0
    with tempfile.TemporaryDirectory(prefix="keyframer-torture-", dir=place) as folder:
        source, undisturbed = Path(folder) / "in", Path(folder) / "undisturbed"
        make_tree(source, count)
        subprocess.run(batch_command(source, undisturbed, operation, jobs), check=False, capture_output=True)
        expected = output_hashes(undisturbed)
        assert expected, "the undisturbed run wrote nothing"
        for number in range(rounds):
            out = Path(folder) / "out"
            round_hits, round_errors = torture_round(
                source, out, expected, count, rng, operation=operation, jobs=jobs, kills=kills
            )
            hits += round_hits
            errors += [f"round {number}: {error}" for error in round_errors]
            shutil.rmtree(out)
            after_round(number, round_hits, round_errors)
    return hits, errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=2, help="number of kills in each round")
    parser.add_argument("--operation", default="check")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tally", metavar="FILE", help="add each round to this file, and summarise the whole file")
    parser.add_argument("--place", help="folder for temporary files (default: that of the system)")
    options = parser.parse_args()
    start = time.monotonic()
    tally: list[dict[str, Any]] = []
    if options.tally and Path(options.tally).exists():
        tally = [json.loads(line) for line in Path(options.tally).read_text().splitlines()]

    def record(number: int, hits: int, errors: list[str]) -> None:
        tally.append({"seed": options.seed, "kills": options.kills, "hits": hits, "wrong": errors})
        if options.tally:
            with open(options.tally, "a") as stream:
                stream.write(json.dumps(tally[-1]) + "\n")
        result = f"{counted(hits, 'kill')} hit, {counted(len(errors), 'error')}"
        print(f"round {number + 1} of {options.rounds}: {result}", flush=True)

    try:
        torture(
            options.rounds,
            options.files,
            operation=options.operation,
            kills=options.kills,
            seed=options.seed,
            place=options.place,
            after_round=record,
        )
    except KeyboardInterrupt:
        print("stopped; the current round is not counted")
    errors = [error for line in tally for error in line["wrong"]]
    for error in errors[:50]:
        print(error)
    print(
        f"{counted(len(tally), 'round')} over {options.files} files, {sum(line['hits'] for line in tally)} of "
        f"{sum(line['kills'] for line in tally)} kills hit a running batch, {counted(len(errors), 'error')}, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
