"""The fuzzer itself: the same seed gives the same inputs, and every kind of broken promise is caught and counted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import keyframer
from tests.fuzz import running
from tests.fuzz.__main__ import main
from tests.fuzz.mutating import LARGEST, Seed, mutate, tree_changed
from tests.fuzz.operations import OPERATIONS, Broken, Operation, Place, command
from tests.fuzz.running import FuzzRun, Limits, next_input
from tests.fuzz.seeds import all_seeds
from tests.samples import all_samples
from tests.slow import SLOW

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are forked and watched through /proc"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

POOL: dict[str, list[Seed]] = {kind: [] for kind in all_seeds()}


def inputs(seed: str, count: int) -> list[running.Input]:
    return [next_input(POOL, Random(f"{seed}/{number}")) for number in range(count)]


def test_same_seed_gives_the_same_inputs() -> None:
    assert inputs("a", 60) == inputs("a", 60)
    assert inputs("a", 60) != inputs("b", 60)


def test_inputs_of_every_kind_are_made_and_none_is_large() -> None:
    inputs_made = inputs("kinds", 200)
    assert {given.kind for given in inputs_made} == set(all_seeds())
    assert {way for given in inputs_made for way in given.how} == {"structure", "bytes", "beside", "as it is"}
    assert max(len(given.data) for given in inputs_made) <= LARGEST


def test_mutations_of_records_keep_the_format() -> None:
    """Files whose records were moved or changed are still files of their format, but other files than before."""
    still, changed = Counter[str](), Counter[str]()
    for name in ("3ds", "uto3d", "hale3d", "midtown", "nodeanim", "ase"):
        seeds = all_seeds()[name]
        for number in range(40):
            random = Random(f"{name}{number}")
            seed = random.choice(seeds)
            given = mutate(seed, seeds, random)
            changed[name] += given.data != seed.data or given.companions != seed.companions
            if given.how == ("structure",):
                with contextlib.suppress(keyframer.FormatError):
                    keyframer.decode(given.data, format=name)
                    still[name] += 1
    assert min(still.values()) >= 5
    assert min(changed.values()) >= 32


def test_changing_a_tree_leaves_the_original_unchanged() -> None:
    tree = {"nodes": [{"name": "a", "children": [1]}, {"name": "b"}], "asset": {"version": "2.0"}}
    before = json.dumps(tree)
    changed = {json.dumps(tree_changed(tree, Random(number))) for number in range(50)}
    assert json.dumps(tree) == before
    assert len(changed) > 25


FIRST = [seed for kind in ("gltf", "mvr", "gdtf", "text", "zip") for seed in all_seeds()[kind][:2]]
VALID = [*(Seed(name, path.suffix, path.read_bytes()) for name, path in all_samples()), *FIRST]


@pytest.mark.parametrize("seed", VALID, ids=lambda seed: f"{seed.kind}{seed.suffix}")
def test_valid_files_break_no_promise(seed: Seed, tmp_path: Path) -> None:
    """Every sample of every format: all commands, all conversions, the viewer and batch."""
    place = Place(tmp_path / "place", running.Input(seed.kind, seed.suffix, seed.data, seed.companions))
    for operation in OPERATIONS:
        if operation.suits(seed.kind):
            assert operation.run(place)


@pytest.mark.parametrize("kind", all_seeds())
def test_damaged_files_break_no_promise(kind: str, tmp_path: Path) -> None:
    """Some mutants of each kind, each with operations by their shares; ``make fuzz`` does this for hours."""
    random, seeds = Random(f"damaged {kind}"), all_seeds()[kind]
    for number in range(400 if SLOW else 12):
        place = Place(tmp_path / str(number), mutate(random.choice(seeds), seeds, random))
        for operation in OPERATIONS:
            if operation.suits(kind) and random.random() * 1000 < operation.share * 3:
                operation.run(place)


def test_every_command_that_takes_files_is_fuzzed() -> None:
    names = {operation.name.split()[0] for operation in OPERATIONS}
    assert names >= {"identify", "info", "check", "dump", "build", "sample", "convert", "plot", "diff", "thumbnail"}
    assert names >= {"view", "batch", "archive", "load", "decode"}
    for kind in all_seeds():
        assert sum(operation.suits(kind) for operation in OPERATIONS) >= 2


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("Traceback (most recent call last):\n", 3, "noise"),
        ("keyframer: x: RuntimeWarning: overflow\n", 0, "noise"),
        ("keyframer: \x1b[31m\n", 0, "noise"),
        ("something else\n", 0, "not a message"),
        ("", 3, "without a word"),
        ("keyframer: internal error: KeyError\n", 4, "exit code 4"),
    ],
)
def test_forbidden_behaviour_of_commands_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, said: str, code: int, words: str
) -> None:
    def fake(arguments: list[str]) -> int:
        sys.stderr.write(said)
        return code

    monkeypatch.setattr("tests.fuzz.operations.main", fake)
    with pytest.raises(Broken, match=words):
        command("info", "x")


# -- campaigns over operations that go wrong --------------------------------------------------------------------------


def raises(place: Place) -> str:
    raise KeyError(len(place.given.data))


def warns(place: Place) -> str:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    return "fine"


def dies(place: Place) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def hangs(place: Place) -> str:
    while True:
        pass


def hangs_ignoring_signals(place: Place) -> str:
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
    return hangs(place)


def is_slow(place: Place) -> str:
    end = time.process_time() + 0.25
    while time.process_time() < end:
        pass
    return "slow"


def grows(place: Place) -> str:
    return str(len(bytearray(b"x") * (80 << 20)))


def eats(place: Place) -> str:
    return str(len(bytearray(1 << 40)))


BROKEN: list[tuple[Callable[[Place], str], str]] = [
    (raises, "KeyError"),
    (warns, "RuntimeWarning"),
    (dies, "signal 9"),
    (hangs, "ended after"),
    (hangs_ignoring_signals, "signal 9"),
    (is_slow, "ended by itself"),
    (grows, "grew by"),
    (eats, "MemoryError"),
]


ROOMY = Limits(growth=64 << 20)
"""the usual limits of time: on a busy machine even a short operation may need a tenth of a second"""
TIGHT = Limits(slow=0.1, hung=0.5, growth=64 << 20)
"""for operations that break the limits of time"""
TIMED = (hangs, hangs_ignoring_signals, is_slow)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SLICE", 2)


def run_slices(work: Path, count: int, *functions: Callable[[Place], str]) -> FuzzRun:
    """Fuzz with operations that call these functions on every input."""
    limits = TIGHT if set(functions) & set(TIMED) else ROOMY
    kinds = tuple(all_seeds())
    operations = tuple(Operation(function.__name__, function, 1000, kinds) for function in functions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "OPERATIONS", operations)
        campaign = FuzzRun(work, "t", limits, quiet=True)
        for _ in range(count):
            campaign.run_slice(work / "place")
    return campaign


@pytest.mark.parametrize(("function", "words"), BROKEN, ids=[function.__name__ for function, _ in BROKEN])
def test_every_failure_is_a_finding(small: None, tmp_path: Path, function: Callable[[Place], str], words: str) -> None:
    campaign = run_slices(tmp_path, 1, function)
    (row,) = campaign.index.read_text("utf-8").splitlines()  # the same finding is written once
    name, _, operation, *_ = row.split("\t")
    assert operation == function.__name__
    assert words in row
    kept = json.loads((tmp_path / "findings" / name).read_text("utf-8"))
    assert kept["kind"] in all_seeds()
    assert kept["data"] or kept["beside"]


def test_dead_worker_costs_one_operation(small: None, tmp_path: Path) -> None:
    """Each slice runs until the first death; finished operations are counted, and the next slice continues."""

    def dies_at_times(place: Place) -> str:
        if len(place.given.data) % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return "fine"

    campaign = run_slices(tmp_path, 6, dies_at_times)
    assert campaign.next_slice == 6
    assert campaign.deaths >= 1
    rows = [line.split("\t") for line in campaign.ledger.read_text("utf-8").splitlines()]
    assert sum(int(row[4]) for row in rows) == sum(campaign.counts.values()) == campaign.inputs + campaign.deaths


def test_run_continues_where_it_stopped(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fine(place: Place) -> str:
        return str(len(place.given.data) % 7)

    first = run_slices(tmp_path / "two", 1, fine)
    second = run_slices(tmp_path / "two", 1, fine)
    whole = run_slices(tmp_path / "one", 2, fine)
    assert (first.next_slice, second.next_slice) == (1, 2)
    for name in ("kept-t.jsonl",):
        assert (tmp_path / "two" / name).read_text() == (tmp_path / "one" / name).read_text()
    assert whole.outcomes == second.outcomes
    assert whole.counts == first.counts + second.counts
    assert main(["--summary", str(first.ledger), str(whole.ledger)]) == 0
    assert f"| fine | {2 * sum(whole.counts.values())} |" in capsys.readouterr().out


def test_replaying_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = run_slices(tmp_path, 1, raises)
    (name,) = (row.split("\t")[0] for row in campaign.index.read_text("utf-8").splitlines())
    monkeypatch.setattr("tests.fuzz.__main__.OPERATIONS", (Operation("raises", raises, 1000, tuple(all_seeds())),))
    assert main(["--replay", str(tmp_path / "findings" / name)]) == 1
    assert "raises: KeyError" in capsys.readouterr().out
