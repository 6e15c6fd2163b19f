"""Fuzzing with atheris: ``python tools/fuzz.py SECONDS`` (or ``make fuzz SECONDS=60``).

Each format, and detection, has a corpus of its own in build/fuzz/corpus and gets the same share of the time, in a
process of its own. Every input is decoded and written back; of each fourth a scene is made (salvaging, and strictly),
of each fourth a report. Any exception but `FormatError`, a report or a scene that contradicts itself, other bytes on
the way back, or more than a few seconds for a few hundred bytes is a finding. It is kept as a numbered file in
tests/crashers, which a test replays for ever; the run goes on. What was executed so far is counted in
build/fuzz/ledger.tsv: seconds, executions, findings and the format of each share.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import re
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "fuzz"
LEDGER = WORK / "ledger.tsv"
CRASHERS = ROOT / "tests" / "crashers"
MOST_BYTES = 256
SLOW_SECONDS = 5.0
SHARE_SECONDS = 300.0
"""how long one process runs before it is another format's turn"""
PACKAGES = ("wire", "formats", "scene", "curves", "posing", "maths", "checking", "text", "issues", "files")
ANY = "any"
"""the share in which the content decides what the format is"""

DECODE, LOAD, CHECK = "decode", "load", "check"
TARGETS = (DECODE, LOAD, DECODE, CHECK)
"""what is done with inputs besides decoding and writing back, in turn"""


def shares() -> list[str]:
    """Whose turn it is, one after the other: formats by name, and detection."""
    from keyframer.formats import FORMATS

    return [*(known.name for known in FORMATS), ANY]


def examine(data: bytes, format: str | None, target: str) -> None:
    """What reading may do to one input; returns quietly, or raises what is a finding."""
    import keyframer
    from keyframer.formats._loading import scene_of

    try:
        document = keyframer.decode(data, format=format)
    except keyframer.FormatError:
        if target is CHECK:
            assert keyframer.check(data, format=format).verdict == "not readable"
        return
    assert keyframer.encode(document) == data, "other bytes on the way back"
    if target is LOAD:
        scene = scene_of(document, salvage=True)
        if scene.issues.first_unsafe() is not None:
            try:
                scene_of(document)
            except keyframer.FormatError:
                return
            raise AssertionError(f"accepted although {scene.issues.first_unsafe()}")
    elif target is CHECK:
        report = keyframer.check(document)
        for issue in report.issues:
            assert 0 <= issue.offset <= len(data), f"{issue} is outside of the file"
            assert issue.message
            assert issue.path.startswith("/")
        assert (report.verdict == "clean") == (report.issues.total == report.count("info")), report.verdict


def run_worker(share: str, arguments: list[str]) -> None:
    """The fuzzing process itself: libFuzzer never returns."""
    import atheris
    import numpy  # noqa: F401  # before instrumentation: only our own code is watched

    with atheris.instrument_imports(include=["keyframer"], enable_loader_override=False):
        import importlib
        import pkgutil

        import keyframer

        for package in PACKAGES:
            module = importlib.import_module(f"keyframer.{package}")
            for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
                importlib.import_module(found.name)
        keyframer.check  # noqa: B018
    for found in pkgutil.walk_packages(importlib.import_module("keyframer.exchange").__path__, "keyframer.exchange."):
        importlib.import_module(found.name)  # what the first glTF file would load in the midst of a run
    format = None if share == ANY else share
    seen: set[str] = set()
    turns = itertools.cycle(TARGETS)
    warnings.simplefilter("error")
    gc.freeze()  # what was imported need not be looked through again and again

    def one_input(content: bytes) -> None:
        start = time.process_time()
        try:
            examine(content, format, next(turns))
        except Exception as error:
            _keep(content, share, error, seen)
        if time.process_time() - start > SLOW_SECONDS:
            _keep(content, share, TimeoutError(f"{len(content)} bytes took too long"), seen)

    atheris.Setup([sys.argv[0], *arguments], one_input, enable_python_coverage=True)
    atheris.Fuzz()


def _keep(content: bytes, share: str, error: Exception, seen: set[str]) -> None:
    """A finding, once for each place that it came from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "keyframer" in frame.filename]
    where = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-3:]]
    place = f"{type(error).__name__} {where} {'' if frames else error}"
    if place in seen:
        return
    seen.add(place)
    digest = hashlib.sha256(content).hexdigest()
    if any(hashlib.sha256(path.read_bytes()).hexdigest() == digest for path in CRASHERS.glob("*.bin")):
        return
    path = _next_crasher(share)
    path.write_bytes(content)
    line = f"{path.name}\t{len(content)} bytes\t{type(error).__name__}: {str(error)[:200]!r}\t{' '.join(where)}"
    with open(WORK / "findings.tsv", "a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    os.write(2, f"FINDING {line}\n".encode())


def _next_crasher(share: str) -> Path:
    number = max((int(path.name[:4]) for path in CRASHERS.glob("[0-9]*.bin")), default=0) + 1
    return CRASHERS / f"{number:04}.{share}.bin"


def write_seeds(corpus: Path) -> None:
    """Every small sample and crasher as an input, for its format and for detection."""
    from tests.samples import all_samples

    for share in shares():
        (corpus / share).mkdir(parents=True, exist_ok=True)
    for name, path in all_samples():
        if path.stat().st_size <= MOST_BYTES:
            for share in (name, ANY):
                (corpus / share / f"seed-{path.parent.name}-{path.name}").write_bytes(path.read_bytes())
    for path in CRASHERS.glob("*.bin"):
        if path.stat().st_size <= MOST_BYTES:
            (corpus / path.suffixes[0][1:] / f"crasher-{path.name}").write_bytes(path.read_bytes())


def main(seconds: float) -> int:
    """Fuzz for this long, each share in its turn; one that libFuzzer ends (a hang, no memory) comes again later."""
    sys.path.insert(0, str(ROOT))
    corpus = WORK / "corpus"
    (WORK / "artifacts").mkdir(parents=True, exist_ok=True)
    write_seeds(corpus)
    end = time.monotonic() + seconds
    share_seconds = min(SHARE_SECONDS, max(1.0, seconds / len(shares())))
    all_executed = all_new = 0
    for turn, share in enumerate(itertools.cycle(shares())):
        if time.monotonic() >= end and turn >= len(shares()):  # starting costs time too: everyone gets one turn
            break
        executed, new = fuzz_share(share, corpus / share, round(share_seconds))
        all_executed += executed
        all_new += new
    rows = [line.split("\t") for line in LEDGER.read_text("utf-8").splitlines()]
    print(f"{all_executed} executions, {all_new} new findings")
    print(f"in all {sum(int(row[1]) for row in rows)} executions, {sum(int(row[2]) for row in rows)} findings")
    return 1 if all_new else 0


def fuzz_share(share: str, corpus: Path, seconds: int) -> tuple[int, int]:
    """One process for one format: how many executions and new findings, which the ledger keeps at once."""
    before = {path.name for path in CRASHERS.glob("*.bin")}
    artifacts = WORK / "artifacts"
    done = subprocess.run(
        [
            *(sys.executable, __file__, "--worker", share, str(corpus), f"-max_total_time={seconds}"),
            *(f"-max_len={MOST_BYTES}", "-timeout=30", "-rss_limit_mb=2048", "-print_final_stats=1"),
            *(f"-artifact_prefix={artifacts}/", "-verbosity=0", "-reload=0"),
        ],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    for line in done.stderr.splitlines():
        if line.startswith(("FINDING", "ERROR", "==", "ALARM", "SUMMARY")):
            print(line)
    found = re.findall(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    if done.returncode:
        _adopt(artifacts, share)
    if not found:
        raise SystemExit(f"the fuzzing process for {share} failed:\n{done.stderr[-2000:]}")
    executed = int(found[-1])
    new = len({path.name for path in CRASHERS.glob("*.bin")} - before)
    with open(LEDGER, "a", encoding="utf-8") as stream:
        stream.write(f"{seconds}\t{executed}\t{new}\t{share}\n")
    print(f"{share}: {executed} executions in {seconds} s, {new} new findings", flush=True)
    return executed, new


def _adopt(artifacts: Path, share: str) -> None:
    """What ended a process (a hang, memory) becomes a numbered crasher too."""
    for path in sorted(artifacts.iterdir()):
        crasher = _next_crasher(share)
        crasher.write_bytes(path.read_bytes())
        print(f"FINDING {crasher.name}: {path.name}")
        path.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        run_worker(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
