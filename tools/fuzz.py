"""Fuzzing with atheris: ``python tools/fuzz.py SECONDS`` (or ``make fuzz SECONDS=60``).

Every input is decoded and written back; the first byte chooses the format (or detection). Of some a scene is made
(salvaging, and strictly), of some a report. Any exception but `FormatError`, a report or a scene that contradicts
itself, other bytes on the way back, or more than a few seconds for a few hundred bytes is a finding. It is kept as a
numbered file in tests/crashers, which a test replays for ever; the run goes on. What was executed so far is counted in
build/fuzz/ledger.tsv.
"""

from __future__ import annotations

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
CRASHERS = ROOT / "tests" / "crashers"
MOST_BYTES = 256
SLOW_SECONDS = 5.0
PACKAGES = ("wire", "formats", "scene", "curves", "posing", "maths", "checking", "text", "issues", "files")


DECODE, LOAD, CHECK = "decode", "load", "check"
TARGETS = (DECODE, DECODE, DECODE, DECODE, DECODE, LOAD, DECODE, DECODE, DECODE, DECODE, DECODE, CHECK)
"""what is done with inputs besides decoding and writing back, in turn: cheap things more often"""


SLOWER = ("nodeanim",)
"""formats whose many layouts make them slow to refuse: fewer inputs are theirs"""


def formats() -> list[str | None]:
    """What the first byte of an input may choose: the formats by name, or detection."""
    from keyframer.formats import FORMATS

    names = [known.name for known in FORMATS]
    return [None, *names, *(name for name in names * 2 if name not in SLOWER)]


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


def run_worker(arguments: list[str]) -> None:
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
    choices = formats()
    seen: set[str] = set()
    turns = itertools.cycle(TARGETS)
    warnings.simplefilter("error")

    def one_input(data: bytes) -> None:
        if not data:
            return
        format, target, content = choices[data[0] % len(choices)], next(turns), data[1:]
        start = time.perf_counter()
        try:
            examine(content, format, target)
        except Exception as error:
            _keep(content, format, error, seen)
        if time.perf_counter() - start > SLOW_SECONDS:
            _keep(content, format, TimeoutError(f"{len(content)} bytes took too long"), seen)

    atheris.Setup([sys.argv[0], *arguments], one_input, enable_python_coverage=True)
    atheris.Fuzz()


def _keep(content: bytes, format: str | None, error: Exception, seen: set[str]) -> None:
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
    number = max((int(path.name[:4]) for path in CRASHERS.glob("[0-9]*.bin")), default=0) + 1
    path = CRASHERS / f"{number:04}.{format or 'any'}.bin"
    path.write_bytes(content)
    line = f"{path.name}\t{len(content)} bytes\t{type(error).__name__}: {str(error)[:200]!r}\t{' '.join(where)}"
    with open(WORK / "findings.tsv", "a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    os.write(2, f"FINDING {line}\n".encode())


def write_seeds(folder: Path) -> None:
    """Every small sample and crasher as an input, for its format and for detection."""
    from tests.samples import all_samples

    choices = formats()
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in all_samples():
        data = path.read_bytes()
        if len(data) < MOST_BYTES:
            for choice in (0, choices.index(name)):
                (folder / f"seed-{path.parent.name}-{path.name}-{choice}").write_bytes(bytes([choice]) + data)
    for path in CRASHERS.glob("*.bin"):
        name = path.suffixes[0][1:]
        choice = 0 if name == "any" else choices.index(name)
        if path.stat().st_size < MOST_BYTES:
            (folder / f"crasher-{path.name}").write_bytes(bytes([choice]) + path.read_bytes())


def main(seconds: float) -> int:
    """Fuzz for this long; processes that libFuzzer ends (a hang, no memory) are started anew."""
    sys.path.insert(0, str(ROOT))
    WORK.mkdir(parents=True, exist_ok=True)
    corpus, artifacts = WORK / "corpus", WORK / "artifacts"
    artifacts.mkdir(exist_ok=True)
    write_seeds(corpus)
    before = {path.name for path in CRASHERS.glob("*.bin")}
    end = time.monotonic() + seconds
    executed = stops = 0
    while (left := end - time.monotonic()) > 1:
        done = subprocess.run(
            [
                *(sys.executable, __file__, "--worker", str(corpus), f"-max_total_time={max(1, int(left))}"),
                *(f"-max_len={MOST_BYTES}", "-timeout=30", "-rss_limit_mb=2048", "-print_final_stats=1"),
                *(f"-artifact_prefix={artifacts}/", "-verbosity=0", "-reload=0"),
            ],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
        found = re.findall(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
        executed += int(found[-1]) if found else 0
        for line in done.stderr.splitlines():
            if line.startswith(("FINDING", "ERROR", "==", "ALARM", "SUMMARY")):
                print(line)
        if done.returncode:
            stops += 1
            _adopt(artifacts)
            if not found:
                print(done.stderr[-2000:], file=sys.stderr)
                break
    new = {path.name for path in CRASHERS.glob("*.bin")} - before
    with open(WORK / "ledger.tsv", "a", encoding="utf-8") as stream:
        stream.write(f"{int(seconds)}\t{executed}\t{len(new)}\n")
    rows = [line.split("\t") for line in (WORK / "ledger.tsv").read_text("utf-8").splitlines()]
    print(f"{executed} executions, {len(new)} new findings, {stops} stops")
    print(f"in all {sum(int(row[1]) for row in rows)} executions, {sum(int(row[2]) for row in rows)} findings")
    return 1 if new else 0


def _adopt(artifacts: Path) -> None:
    """What ended a process (a hang, memory) becomes a numbered crasher too."""
    choices = formats()
    for path in sorted(artifacts.iterdir()):
        data = path.read_bytes()
        number = max((int(each.name[:4]) for each in CRASHERS.glob("[0-9]*.bin")), default=0) + 1
        if data:
            name = choices[data[0] % len(choices)] or "any"
            (CRASHERS / f"{number:04}.{name}.bin").write_bytes(data[1:])
            print(f"FINDING {number:04}.{name}.bin: {path.name}")
        path.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        run_worker(sys.argv[2:])
    else:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
