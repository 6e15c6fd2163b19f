"""Runs the fuzzer for hours: slices of inputs in forked workers, with limits, a ledger and numbered findings.

A slice is some hundred inputs in one worker. The worker reports to the parent after each input. If a worker dies or
hangs, its current operation becomes a finding, and the next slice continues. Inputs with a new outcome are kept and
mutated further. Seed, slice number and the kept inputs decide everything: the same seed in an empty folder gives the
same inputs again.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.fuzz.mutating import Input, Seed, mutate
from tests.fuzz.operations import OPERATIONS, Broken, Operation, Place
from tests.fuzz.seeds import all_seeds

SLICE = 300
"""inputs of one worker"""
SLOW_SECONDS = 2.0
"""of the processor, for an operation on an input of up to 64 KB"""
HUNG_SECONDS = 20.0
"""of the processor: an operation that is still at work is ended"""
GROWTH = 300 << 20
"""bytes by which the memory of the process may grow"""
MOST_MEMORY = 3 << 30
"""bytes of address space besides what the process has already: what asks for more gets a MemoryError"""
MOST_KEPT = 400
"""inputs of new outcomes kept for each kind"""


class Hung(BaseException):
    """An operation took too long and was ended; not an Exception, so that no handler catches it."""


@dataclass
class Limits:
    slow: float = SLOW_SECONDS
    hung: float = HUNG_SECONDS
    growth: int = GROWTH
    memory: int = MOST_MEMORY


@dataclass
class Finding:
    """A broken promise; findings from the same functions count as one."""

    operation: str
    place: str
    words: str

    @property
    def key(self) -> str:
        return hashlib.sha256(self.place.encode()).hexdigest()[:16]


def frames_of(trace: traceback.StackSummary) -> str:
    """Return the innermost functions of the library in a traceback, which do not depend on line numbers."""
    frames = [frame for frame in trace if f"{os.sep}keyframer{os.sep}" in frame.filename] or list(trace)
    return " < ".join(f"{Path(frame.filename).stem}.{frame.name}" for frame in reversed(frames[-3:]))


def place_of(error: BaseException, operation: str) -> str:
    if isinstance(error, Broken):
        words = "".join(letter for letter in str(error)[:100] if not letter.isdigit())
        return f"{operation.split()[0]} Broken {words[:60]}"
    if isinstance(error, MemoryError):
        return f"{operation} MemoryError"
    return f"{type(error).__name__} {frames_of(traceback.extract_tb(error.__traceback__))}"


@dataclass
class Clock:
    """Measures operations: processor time by a signal, memory since `mark` by the kernel's high-water mark."""

    limits: Limits
    seen: str = ""
    fired: int = 0
    _before: int = field(default=0)

    @contextmanager
    def watching_time(self) -> Iterator[None]:
        self.mark()
        before = signal.signal(signal.SIGPROF, self._ring)
        try:
            yield
        finally:
            signal.signal(signal.SIGPROF, before)

    def limit_memory(self) -> None:
        """Limit the memory of this process, permanently. The libraries of other tests may take up gigabytes of its
        address space already."""
        with open("/proc/self/statm") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + self.limits.memory,) * 2)

    def mark(self) -> None:
        """Count the growth of memory from here."""
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")  # the peak is now what is in use
        self._before = _peak()

    def start(self) -> None:
        self.seen, self.fired = "", 0
        signal.setitimer(signal.ITIMER_PROF, self.limits.slow, self.limits.hung - self.limits.slow)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def growth(self) -> int:
        return _peak() - self._before

    def _ring(self, number: int, frame: FrameType | None) -> None:
        self.fired += 1
        if self.fired == 1:
            self.seen = frames_of(traceback.extract_stack(frame))
        else:
            raise Hung


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def examine(operation: Operation, place: Place, clock: Clock) -> tuple[str, Finding | None]:
    """Run one operation; return its outcome and its finding."""
    error: BaseException | None = None
    outcome = ""
    clock.start()
    try:
        outcome = operation.run(place)
    except Hung as ended:
        error = ended
    except Exception as raised:
        error = raised
    finally:
        clock.stop()
    growth = clock.growth()
    if error is not None and not isinstance(error, Hung):
        where = place_of(error, operation.name)
        words = f"{type(error).__name__}: {str(error)[:300]} [{frames_of(traceback.extract_tb(error.__traceback__))}]"
        return outcome, Finding(operation.name, where, words)
    if clock.fired:
        ended_by = f"ended after {clock.limits.hung:g} s" if error else "ended by itself"
        words = f"more than {clock.limits.slow:g} s of the processor, {ended_by}, in {clock.seen}"
        return outcome, Finding(operation.name, f"slow {clock.seen}", words)
    if growth > clock.limits.growth:
        clock.mark()
        name = operation.name
        return outcome, Finding(name, f"memory {name}", f"grew by {growth >> 20} MiB")
    return outcome, None


def choose(kind: str, random: Random) -> list[Operation]:
    return [operation for operation in OPERATIONS if operation.suits(kind) and random.randrange(1000) < operation.share]


def next_input(pool: dict[str, list[Seed]], random: Random) -> Input:
    kind = random.choice(sorted(pool))
    base = all_seeds()[kind]
    seed = random.choice(pool[kind]) if pool[kind] and random.random() < 0.5 else random.choice(base)
    if random.random() < 0.02:
        return Input(seed.kind, seed.suffix, seed.data, seed.companions, ("as it is",))
    others = base if random.random() < 0.7 else all_seeds()[random.choice(sorted(pool))]
    return mutate(seed, others, random)


class Worker:
    """Runs one slice in a separate process: sends lines of JSON to the parent, one before each operation, one after
    each input."""

    def __init__(self, folder: Path, pool: dict[str, list[Seed]], outcomes: set[str], limits: Limits) -> None:
        self.folder = folder
        self.pool = pool
        self.outcomes = outcomes
        self.clock = Clock(limits)

    def run(self, seed: str, number: int, pipe: int) -> None:
        os.environ["KEYFRAMER_DEBUG"] = "1"  # the command raises what it would call an internal error
        warnings.simplefilter("error")
        self.clock.limit_memory()
        with self.clock.watching_time():
            for index in range(SLICE):
                self._one(Random(f"{seed}/{number}/{index}"), pipe)

    def _one(self, random: Random, pipe: int) -> None:
        given = next_input(self.pool, random)
        place = Place(self.folder, given)
        self.clock.mark()
        done: Counter[str] = Counter()
        findings: list[Finding] = []
        new: list[str] = []
        for operation in choose(given.kind, random):
            _send(pipe, {"at": operation.name, "kind": given.kind})
            outcome, finding = examine(operation, place, self.clock)
            done[operation.name] += 1
            if finding is not None:
                findings.append(finding)
            elif (mark := f"{given.kind} {operation.name} {outcome}") not in self.outcomes:
                self.outcomes.add(mark)
                new.append(mark)
        message: dict[str, Any] = {"kind": given.kind, "done": done, "new": new}
        message["findings"] = [vars(finding) for finding in findings]
        message["how"] = given.how
        if findings or new:
            message["input"] = packed(given)
            if new:
                self.pool[given.kind] = [*self.pool[given.kind], unpacked(message["input"])][-MOST_KEPT:]
        _send(pipe, message)


def packed(given: Input) -> dict[str, Any]:
    companions = [[name, content.hex()] for name, content in given.companions]
    return {"kind": given.kind, "suffix": given.suffix, "data": given.data.hex(), "beside": companions}


def unpacked(value: dict[str, Any]) -> Seed:
    companions = tuple((name, bytes.fromhex(content)) for name, content in value["beside"])
    return Seed(value["kind"], value["suffix"], bytes.fromhex(value["data"]), companions)


def _send(pipe: int, message: dict[str, Any]) -> None:
    line = memoryview(json.dumps(message).encode() + b"\n")
    while line:
        line = line[os.write(pipe, line) :]


class FuzzRun:
    """The parent process: starts workers, counts, and writes findings."""

    def __init__(self, work: Path, seed: str, limits: Limits | None = None, *, quiet: bool = False) -> None:
        self.work = work
        self.seed = seed
        self.limits = limits or Limits()
        self.quiet = quiet
        (work / "findings").mkdir(parents=True, exist_ok=True)
        self.ledger = work / "ledger.tsv"
        self.index = work / "findings.tsv"
        self.kept = work / f"kept-{seed}.jsonl"
        self.counts: Counter[tuple[str, str]] = Counter()
        self.inputs = 0
        self.deaths = 0
        self.seen: Counter[str] = Counter()
        self.pool: dict[str, list[Seed]] = {kind: [] for kind, seeds in all_seeds().items() if seeds}
        self.outcomes: set[str] = set()
        self.next_slice = 0
        self._resume()

    def _resume(self) -> None:
        """Continue where a run of the same seed stopped."""
        if self.index.exists():
            for line in self.index.read_text("utf-8").splitlines():
                self.seen[line.split("\t")[1]] += 1
        if self.ledger.exists():
            rows = [line.split("\t") for line in self.ledger.read_text("utf-8").splitlines()]
            self.next_slice = max((int(row[1]) + 1 for row in rows if row[0] == self.seed), default=0)
        if self.kept.exists():
            for line in self.kept.read_text("utf-8").splitlines():
                self._keep(json.loads(line))

    def _keep(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        self.outcomes.update(message["new"])
        self.pool[kind] = [*self.pool[kind], unpacked(message["input"])][-MOST_KEPT:]

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for seeds in all_seeds().values():
            for seed in seeds:
                _ = seed.places, seed.tree  # built once here, not again in every worker
        gc.collect()
        gc.freeze()  # so that workers do not traverse the imported objects
        with tempfile.TemporaryDirectory(prefix="keyframer-fuzz-", dir=_memory_disk()) as scratch:
            while time.monotonic() < end:
                self.run_slice(Path(scratch) / "place", end)

    def run_slice(self, folder: Path, end: float = float("inf")) -> None:
        """Run one worker until it ends or dies."""
        number, self.next_slice = self.next_slice, self.next_slice + 1
        start = time.monotonic()
        before = os.times()
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            self._be_worker(folder, number, reading, writing)
        os.close(writing)
        counts: Counter[tuple[str, str]] = Counter()
        last = self._listen(child, reading, counts, end)
        _, status = os.waitpid(child, 0)
        os.close(reading)
        if last is not None and time.monotonic() < end:
            self._died(last, status, folder, counts)
        shutil.rmtree(folder, ignore_errors=True)
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        self._count(number, counts, spent)
        if not self.quiet:
            print(
                f"slice {number}: {sum(counts.values())} executions, {spent:.1f} s of {time.monotonic() - start:.1f} s",
                f"{sum(self.counts.values())} in all, {len(self.seen)} findings",
                sep="; ",
                flush=True,
            )

    def _be_worker(self, folder: Path, number: int, reading: int, writing: int) -> None:
        code = 1
        try:
            os.close(reading)
            Worker(folder, self.pool, self.outcomes, self.limits).run(self.seed, number, writing)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _listen(self, child: int, pipe: int, counts: Counter[tuple[str, str]], end: float) -> dict[str, Any] | None:
        """Count what the worker reports. Return its current operation if it ended early, None if all was done."""
        waiting, underway, done = b"", None, 0
        beat = _processor_seconds(child)
        while True:
            ready, _, _ = select.select([pipe], [], [], 1.0)
            if ready:
                part = os.read(pipe, 1 << 20)
                if not part:
                    return underway if done < SLICE else None
                *lines, waiting = (waiting + part).split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    if "at" in message:
                        underway = message
                        continue
                    done += 1
                    underway = None
                    self._note(message, counts)
                beat = _processor_seconds(child)
            spent = _processor_seconds(child) - beat
            if spent > 2 * self.limits.hung or time.monotonic() > end + 5:
                os.kill(child, signal.SIGKILL)

    def _note(self, message: dict[str, Any], counts: Counter[tuple[str, str]]) -> None:
        self.inputs += 1
        for name, times in message["done"].items():
            counts[name, message["kind"]] += times
        for finding in message["findings"]:
            self._write(Finding(**finding), message["input"])
        if message["new"] and "input" in message:
            self._keep(message)
            with open(self.kept, "a", encoding="utf-8") as stream:
                stream.write(json.dumps({key: message[key] for key in ("kind", "new", "input")}) + "\n")

    def _died(self, last: dict[str, Any], status: int, folder: Path, counts: Counter[tuple[str, str]]) -> None:
        """Record an operation whose worker was killed by us or by the system, or crashed."""
        self.deaths += 1
        counts[last["at"], last["kind"]] += 1
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
        files = sorted(path for path in folder.glob("*") if path.is_file())
        main = next((path for path in files if path.stem == "in" and path.suffix), None)
        if main is not None:
            companions = [[path.name, path.read_bytes().hex()] for path in files if path != main]
            content = {
                "kind": last["kind"],
                "suffix": main.suffix,
                "data": main.read_bytes().hex(),
                "beside": companions,
            }
            self._write(Finding(last["at"], f"death {last['at']} {how}", f"the worker ended by {how}"), content)

    def _write(self, finding: Finding, content: dict[str, Any]) -> None:
        """Write a finding as a numbered file, once for each place; the index counts how often it occurred."""
        self.seen[finding.key] += 1
        if self.seen[finding.key] > 1:
            return
        number = len(list((self.work / "findings").glob("*.json"))) + 1
        name = f"{number:04}.{content['kind']}.json"
        (self.work / "findings" / name).write_text(json.dumps(content), "utf-8")
        row = (name, finding.key, finding.operation, f"{len(content['data']) // 2} bytes", finding.place, finding.words)
        with open(self.index, "a", encoding="utf-8") as stream:
            stream.write("\t".join(" ".join(str(cell).split()) for cell in row) + "\n")
        if not self.quiet:
            print(f"FINDING {name} {finding.operation}: {finding.words}", flush=True)

    def _count(self, number: int, counts: Counter[tuple[str, str]], spent: float) -> None:
        self.counts += counts
        share = spent / max(1, sum(counts.values()))
        with open(self.ledger, "a", encoding="utf-8") as stream:
            for (operation, kind), times in sorted(counts.items()):
                stream.write(f"{self.seed}\t{number}\t{operation}\t{kind}\t{times}\t{share * times:.3f}\n")


def _processor_seconds(process: int) -> float:
    try:
        with open(f"/proc/{process}/stat") as stream:
            cells = stream.read().rpartition(")")[2].split()
        return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _memory_disk() -> str | None:
    """Return a folder in memory, where syncing costs nothing."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
