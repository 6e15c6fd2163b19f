"""Kills a batch with ``kill -9`` at random moments and resumes it, round after round: ``make batch-torture``.

The input is a tree of small files (2 % damaged). Each round starts ``keyframer batch``, kills the coordinator at a
random moment (at every second kill also its workers), and repeats this ``--kills`` times. The last start runs to its
end. Then the round checks that every file has one row, every output is complete and the same as after an undisturbed
run, no temporary file is left, and files that were recorded before a kill were not processed again.

Ctrl-C ends it; the current round is not counted. With ``--tally FILE`` each round adds a line to that file, and the
summary covers all lines: 100 rounds can be divided among several runs, each with another ``--seed``.
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

ROOT = Path(__file__).resolve().parents[1]
START = "import sys; from keyframer.cli import main; sys.exit(main())"
LEDGER = "keyframer-batch.sqlite"


def make_tree(folder: Path, count: int, damaged: float = 0.02) -> int:
    """Make small, different files from the samples; returns how many are damaged."""
    samples = [
        path.read_bytes()
        for path in sorted((ROOT / "tests" / "samples").rglob("*"))
        if path.suffix in (".3ds", ".u3d", ".anim", ".nanim")
        and path.stat().st_size < 2_000
        and path.stem not in ("cut", "oddities")
    ]
    broken = 0
    for number in range(count):
        place = folder / f"{number // 250:04}"
        place.mkdir(parents=True, exist_ok=True)
        data = samples[number % len(samples)]
        bad = number % round(1 / damaged) == 0
        if bad:
            broken += 1
            data = b"\x00damaged" + number.to_bytes(8, "little")
        (place / f"{number:06}.{'3ds' if number % 2 else 'anim'}").write_bytes(data)
    old = time.time() - 3_600  # a file changed a moment ago is not trusted by its time
    for path in folder.rglob("*.*"):
        os.utime(path, (old, old))
    return broken


def command(source: Path, out: Path, operation: str, jobs: int) -> list[str]:
    arguments = ["batch", operation, str(source), "-o", str(out), "-j", str(jobs), "-q"]
    return [sys.executable, "-c", START, *arguments]


def outputs(out: Path) -> dict[str, str]:
    """Return the hash of every file of the output folder except the ledger."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and not path.name.startswith(LEDGER)
    }


def rows(out: Path) -> dict[str, tuple[str, float]]:
    """Return source -> (hash, when finished), from the ledger."""
    if not (out / LEDGER).exists():
        return {}
    base = sqlite3.connect(out / LEDGER, timeout=10)
    try:
        found = base.execute("SELECT source, sha256, finished FROM files").fetchall()
    except sqlite3.OperationalError:  # killed before there was a table
        return {}
    finally:
        base.close()
    assert len({source for source, _, _ in found}) == len(found)
    return {source: (digest, finished) for source, digest, finished in found}


def descendants(parent: int) -> list[int]:
    """Return the descendants of this process, on Linux."""
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        found += [process for child in children for process in (child, *descendants(child))]
    return found


def _wait_for_a_moment(process: subprocess.Popen[bytes], out: Path, count: int, draw: random.Random) -> None:
    """Wait a random time: up to 0.3 seconds, or until a random number of outputs exists, but at most until the end."""
    if draw.random() < 0.3:
        time.sleep(draw.uniform(0.0, 0.3))
        return
    enough = draw.randrange(int(0.9 * count))
    while process.poll() is None and sum(len(names) for _, _, names in os.walk(out)) <= enough:
        time.sleep(0.01)


def torture_round(
    source: Path,
    out: Path,
    expected: dict[str, str],
    count: int,
    draw: random.Random,
    *,
    operation: str,
    jobs: int,
    kills: int,
) -> tuple[int, list[str]]:
    """Run one round; returns how many kills hit a running batch, and all errors."""
    wrong: list[str] = []
    hits = 0
    for attempt in range(kills + 1):
        before = rows(out)
        process = subprocess.Popen(
            command(source, out, operation, jobs), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if attempt == kills:
            code = process.wait()
            if code not in (0, 1, 3):
                wrong.append(f"the last run ended with {code}")
        else:
            _wait_for_a_moment(process, out, count, draw)
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
        after = rows(out)
        wrong += [f"{name} was recorded and is lost" for name in before if name not in after]
        wrong += [f"{name} was done twice" for name, seen in before.items() if after.get(name, seen) != seen]
    found = outputs(out)
    wrong += [f"{name} is missing" for name in expected if name not in found]
    wrong += [f"{name} is left over" for name in found if name not in expected]
    wrong += [f"{name} differs" for name, digest in found.items() if expected.get(name, digest) != digest]
    if len(rows(out)) != count:
        wrong.append(f"{len(rows(out))} rows for {count} files")
    return hits, wrong


def torture(
    rounds: int,
    count: int,
    *,
    operation: str = "check",
    jobs: int = 2,
    kills: int = 2,
    seed: int = 1,
    place: str | None = None,
    each: Callable[[int, int, list[str]], None] = lambda number, hits, wrong: None,
) -> tuple[int, list[str]]:
    """Run many rounds; returns how many kills hit a running batch, and all errors. ``each`` is called after every
    round."""
    draw = random.Random(seed)
    wrong: list[str] = []
    hits = 0
    with tempfile.TemporaryDirectory(prefix="keyframer-torture-", dir=place) as folder:
        source, calm = Path(folder) / "in", Path(folder) / "calm"
        make_tree(source, count)
        subprocess.run(command(source, calm, operation, jobs), check=False, capture_output=True)
        expected = outputs(calm)
        assert expected, "the undisturbed run wrote nothing"
        for number in range(rounds):
            out = Path(folder) / "out"
            hit, found = torture_round(source, out, expected, count, draw, operation=operation, jobs=jobs, kills=kills)
            hits += hit
            wrong += [f"round {number}: {what}" for what in found]
            shutil.rmtree(out)
            each(number, hit, found)
    return hits, wrong


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

    def note(number: int, hits: int, wrong: list[str]) -> None:
        tally.append({"seed": options.seed, "kills": options.kills, "hits": hits, "wrong": wrong})
        if options.tally:
            with open(options.tally, "a") as stream:
                stream.write(json.dumps(tally[-1]) + "\n")
        print(f"round {number + 1} of {options.rounds}: {hits} kills hit, {len(wrong)} errors", flush=True)

    try:
        torture(
            options.rounds,
            options.files,
            operation=options.operation,
            kills=options.kills,
            seed=options.seed,
            place=options.place,
            each=note,
        )
    except KeyboardInterrupt:
        print("stopped; the current round is not counted")
    wrong = [what for line in tally for what in line["wrong"]]
    for what in wrong[:50]:
        print(what)
    print(
        f"{len(tally)} rounds over {options.files} files, {sum(line['hits'] for line in tally)} of "
        f"{sum(line['kills'] for line in tally)} kills hit a running batch, {len(wrong)} errors, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
