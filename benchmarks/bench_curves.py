"""Sampling of curves, compared with three other measurements of the same run.

These are a pass over the memory of the output (np.copyto), a loop over single curves, and the slow evaluator in
tests/reference_curves.
Usage: python -m benchmarks.bench_curves [--large]; --large adds 6,000 tracks x 500 keys x 1,000 times (some seconds,
about 1.5 GB).
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from tests.reference_curves.slow import SlowTrack, evaluate

from keyframer.curves import CurveBank, Interpolation, RotationForm, Track, Wrap, compile_track


def seconds(work: Callable[[], object], at_least: float = 0.3) -> float:
    """Return the seconds of the fastest run; repeats the work until ``at_least`` seconds have passed."""
    best, spent = np.inf, 0.0
    while spent < at_least:
        begin = time.perf_counter()
        work()
        elapsed = time.perf_counter() - begin
        best, spent = min(best, elapsed), spent + elapsed
    return float(best)


def tracks_of(kind: str, count: int, keys: int, seed: int = 0) -> list[Track]:
    """Return random tracks on whole frames."""
    rng = np.random.default_rng(seed)
    tracks = []
    for _ in range(count):
        times = np.sort(rng.choice(keys * 4, keys, replace=False)).astype(float)
        if kind == "rotation":
            values = np.column_stack([rng.normal(size=(keys, 3)), rng.uniform(-2, 2, keys)])
            form = RotationForm.AXIS_ANGLE_RELATIVE
        else:
            values, form = rng.normal(size=(keys, 3)), RotationForm.NONE
        tracks.append(Track(kind, times, values, Interpolation.TCB, Wrap.SINGLE, form))
    return tracks


def memory_pass(outputs: dict[str, np.ndarray]) -> float:
    """Return the seconds of one pass over the memory of these outputs."""
    sources = [values.copy() for values in outputs.values()]
    targets = [np.empty_like(values) for values in sources]

    def copy() -> None:
        for target, source in zip(targets, sources, strict=True):
            np.copyto(target, source)

    return seconds(copy, 0.1)


def print_row(title: str, elapsed: float, points: int, *ratios: str) -> None:
    """Print one row of the report."""
    print(f"{title:<48} {elapsed * 1e3:9.3f} ms {elapsed / points * 1e9:8.1f} ns/value  {'; '.join(ratios)}")


def report(title: str, tracks: list[Track], times: np.ndarray, with_loop: bool = True) -> None:
    """Print the time of compiling and sampling, compared with a memory pass and with single curves."""
    bank = CurveBank(tracks)
    points = len(tracks) * len(times)
    compiling = seconds(lambda: CurveBank(tracks))
    sampling = seconds(lambda: bank.evaluate(times))
    floor = memory_pass(bank.evaluate(times))
    ratios = [f"{sampling / floor:.0f} memory passes"]
    if with_loop:
        curves = [compile_track(track) for track in tracks]
        loop = seconds(lambda: [curve(times) for curve in curves])
        ratios.append(f"single curves take {loop / sampling:.1f} x")
    print_row(f"{title}: compile", compiling, sum(len(track.times) for track in tracks))
    print_row(f"{title}: sample", sampling, points, *ratios)


def against_slow(kind: str) -> None:
    """Compare one track of 20 keys at 200 times with the slow evaluator."""
    track = tracks_of(kind, 1, 20)[0]
    slow = SlowTrack(track.times.tolist(), track.values.tolist(), form=track.form.name)
    times = np.linspace(-1, 80, 200)
    curve = compile_track(track)
    fast = seconds(lambda: curve(times))
    slow_time = seconds(lambda: [evaluate(slow, t, []) for t in times.tolist()])
    print_row(f"one {kind} track x 200 times", fast, 200, f"the slow evaluator takes {slow_time / fast:.0f} x")


def large() -> None:
    """Measure a large case, in which blocks of times must keep temporary arrays small."""
    for kind in ("position", "rotation"):
        tracks = tracks_of(kind, 6000, 500)
        times = np.linspace(0, 2000, 1000)
        begin = time.perf_counter()
        bank = CurveBank(tracks)
        compiled = time.perf_counter() - begin
        begin = time.perf_counter()
        size = sum(values.nbytes for values in bank.evaluate(times).values())
        sampled = time.perf_counter() - begin
        tracemalloc.start()
        bank.evaluate(times[:300])
        peak = tracemalloc.get_traced_memory()[1] - size * 300 // 1000
        tracemalloc.stop()
        print_row(f"6000 x 500 keys {kind}: compile", compiled, 3_000_000)
        print_row(
            f"6000 x 500 keys {kind} x 1000 times: sample",
            sampled,
            6_000_000,
            f"output {size / 1e6:.0f} MB, temporaries {peak / 1e6:.0f} MB",
        )


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    small = [*tracks_of("position", 20, 8), *tracks_of("rotation", 20, 8, 1), *tracks_of("scale", 20, 8, 2)]
    report("60 mixed tracks x 100 times", small, np.linspace(0, 32, 100))
    report("60 mixed tracks x 1 time", small, np.array([7.3]))
    report("6000 position tracks x 1 time", tracks_of("position", 6000, 10), np.array([17.3]))
    report("6000 rotation tracks x 1 time", tracks_of("rotation", 6000, 10), np.array([17.3]))
    report("600 position tracks x 1000 times", tracks_of("position", 600, 50), np.linspace(0, 200, 1000))
    report("600 rotation tracks x 1000 times", tracks_of("rotation", 600, 50), np.linspace(0, 200, 1000))
    against_slow("position")
    against_slow("rotation")
    if options.large:
        large()


if __name__ == "__main__":
    main()
