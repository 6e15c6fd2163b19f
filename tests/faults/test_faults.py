"""Every command that writes, interrupted at each of its steps by a disk error or a kill.

Afterwards every file has its old or its new content. A glTF file has its own buffer, a file that names images has them;
only of a pair, one file may be old and the other new. The same command then succeeds and leaves the same files as
without interruption. ``make slow`` interrupts at every step, ``make test`` at some.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import keyframer
from keyframer.batch.job import LEDGER
from tests.building.images import picture
from tests.samples import sample_files
from tests.slow import SLOW

COUNT, FAIL, KILL, KILL_ALL = range(4)
ROOT = Path(__file__).resolve().parents[2]
SAMPLES = {path.name: path.read_bytes() for name in ("3ds", "hale3d", "midtown") for path in sample_files(name)}
SMALL, OTHER = SAMPLES["tracks.3ds"], SAMPLES["windmill.3ds"]

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs Linux and gcc"
)


class Server:
    """Runs commands with faults: ``server(arguments, root, at=3, mode=KILL)``."""

    def __init__(self, folder: Path) -> None:
        shim = folder / "shim.so"
        source = str(Path(__file__).with_name("shim.c"))
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(shim), source, "-ldl"], check=True)
        environment = {**os.environ, "LD_PRELOAD": str(shim), "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(
        self, arguments: list[str], root: Path, *, skip: str = "", at: int = 0, mode: int = COUNT
    ) -> dict[str, Any]:
        asked = {"arguments": arguments, "root": str(root), "skip": skip, "at": at, "mode": mode}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="keyframer-faults-") as folder:
        running = Server(Path(folder))
        yield running
        running.close()


@dataclass(frozen=True)
class Scenario:
    name: str
    command: str
    """``IN`` and ``OUT`` are folders"""
    inputs: dict[str, bytes]
    before: str = ""
    """a command that writes what is to be replaced; none where everything is new"""
    main: str = ""
    """the output that readers begin with"""
    kills: tuple[int, ...] = (FAIL, KILL)
    skip: str = LEDGER
    """what the name of a file holds that is not cut"""

    def arguments(self, folder: Path, command: str) -> list[str]:
        return command.replace("IN", str(folder / "in")).replace("OUT", str(folder / "out")).split()


def _textured() -> dict[str, bytes]:
    """Return two binary glTF files with embedded images that have the same name and different content."""
    files = {}
    for name, colour in (("a.glb", (255, 0, 0)), ("b.glb", (0, 0, 255))):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "w.3ds").write_bytes(OTHER)
            (Path(folder) / "STONE.PNG").write_bytes(picture(color=colour))
            keyframer.save(keyframer.load(Path(folder) / "w.3ds"), Path(folder) / name)
            files[name] = (Path(folder) / name).read_bytes()
    return files


TWO = {"a.3ds": SMALL, "b.3ds": OTHER}
SMALLEST = {"a.3ds": SAMPLES["bare_editor.3ds"], "c.anim": SAMPLES["wave-nul-ended.anim"]}
ALL = (FAIL, KILL, KILL_ALL)
PAIR = {"a.anim": SAMPLES["wave-nul-ended.anim"], "a.mdl": SAMPLES["arm-nul-ended.mdl"], "b.3ds": SMALL}
RETAIL = {"a.anim": SAMPLES["retail.anim"], "b.3ds": OTHER}
SCENARIOS = (
    Scenario("dump", "dump IN/a.3ds -o OUT/a.json -f", TWO, "dump IN/b.3ds -o OUT/a.json"),
    Scenario("build", "build IN/a.json -o OUT/a.3ds -f", TWO, "build IN/b.json -o OUT/a.3ds"),
    Scenario("sample", "sample IN/a.3ds -o OUT/a.csv --format csv -f", TWO, "sample IN/b.3ds -o OUT/a.csv"),
    Scenario("glb", "convert IN/a.3ds OUT/a.glb -f", TWO, "convert IN/b.3ds OUT/a.glb", "a.glb"),
    Scenario("new gltf", "convert IN/a.3ds OUT/a.gltf -f", TWO, "", "a.gltf"),
    Scenario("gltf", "convert IN/a.3ds OUT/a.gltf -f", TWO, "convert IN/b.3ds OUT/a.gltf", "a.gltf"),
    Scenario("new pair", "convert IN/a.anim OUT/a.anim --to hale3d -f", PAIR, "", "a.anim"),
    Scenario(
        "pair",
        "convert IN/a.anim OUT/a.anim --to hale3d -f",
        PAIR,
        "convert IN/a.anim OUT/a.anim --to hale3d --scale 3",
        "a.anim",
    ),
    Scenario(
        "pair by its model",
        "convert IN/a.mdl OUT/a.mdl --to hale3d -f",
        PAIR,
        "convert IN/a.mdl OUT/a.mdl --to hale3d --scale 3",
        "a.mdl",
    ),
    Scenario(
        "clip and skeleton",
        "convert IN/b.3ds OUT/a.anim --to midtown -f",
        RETAIL,
        "convert IN/b.3ds OUT/a.anim --to midtown --scale 3",
        "a.anim",
    ),
    Scenario("images", "convert IN/a.glb OUT/a.3ds -f", _textured(), "convert IN/b.glb OUT/a.3ds", "a.3ds"),
    Scenario(
        "report",
        "convert IN/a.3ds OUT/a.glb --report OUT/r.json -f",
        TWO,
        "convert IN/b.3ds OUT/a.glb --report OUT/r.json",
    ),
    Scenario("several", "convert IN/a.3ds IN/b.3ds OUT/ --dialect text -f", TWO, ""),
    Scenario("plot", "plot IN/a.3ds -o OUT/a.svg -f", TWO, "plot IN/b.3ds -o OUT/a.svg"),
    Scenario("diff", "diff IN/a.3ds IN/b.3ds --plot OUT/a.svg -f -q", TWO, "plot IN/b.3ds -o OUT/a.svg"),
    Scenario(
        "thumbnail", "thumbnail IN/a.3ds --size 16 -o OUT/a.png -f", TWO, "thumbnail IN/b.3ds --size 16 -o OUT/a.png"
    ),
    Scenario("view", "view IN/a.3ds --export OUT/a.html -f", TWO, "view IN/b.3ds --export OUT/a.html"),
    Scenario("batch", "batch convert IN -o OUT -j 1 --force", SMALLEST, "", kills=ALL),
    Scenario("batch text", "batch convert IN -o OUT -j 1 --dialect text", SMALLEST, "", kills=ALL),
    Scenario(
        "batch pairs",
        "batch convert IN -o OUT -j 1 --to hale3d",
        {"b.3ds": OTHER},
        "batch convert IN -o OUT -j 1 --to hale3d --scale 3",
        kills=ALL,
    ),
    Scenario("batch check", "batch check IN -o OUT -j 1", SMALLEST, "", kills=ALL),
    Scenario("ledger", "batch identify IN -o OUT -j 1", SMALLEST, "", kills=ALL, skip=""),
    Scenario("batch report", "batch report OUT -o OUT/r.csv --format csv -f", TWO, "batch identify IN -o OUT -j 1"),
)
QUICK = ("gltf", "pair", "images")
"""scenarios of ``make test``, with some of the cuts"""
REPORT = "out/r.json"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(LEDGER)
    }


class Place:
    """The folder before the command; each interruption gets a copy."""

    def __init__(self, scenario: Scenario, folder: Path, run: Server) -> None:
        self.scenario, self.folder, self.run = scenario, folder, run
        self.kept, self.now = folder / "kept", folder / "now"
        for name, data in scenario.inputs.items():
            (self.now / "in").mkdir(parents=True, exist_ok=True)
            (self.now / "in" / name).write_bytes(data)
        if scenario.name == "build":
            for name in "ab":
                run(["dump", str(self.now / f"in/{name}.3ds"), "-o", str(self.now / f"in/{name}.json")], folder)
        (self.now / "out").mkdir()
        if scenario.before:
            assert self.run_command(scenario.before)["code"] in (0, 1)
        shutil.copytree(self.now, self.kept)
        self.old = contents(self.now)
        undisturbed = self.run_command(scenario.command)
        assert undisturbed["code"] in (0, 1), undisturbed
        self.calls, self.code = undisturbed["calls"], undisturbed["code"]
        self.new = contents(self.now)
        assert self.new != self.old
        assert not [name for name in self.new if "/.kf-" in name]

    def run_command(self, command: str, **fault: int) -> dict[str, Any]:
        return self.run(self.scenario.arguments(self.now, command), self.now / "out", skip=self.scenario.skip, **fault)

    def reset(self) -> None:
        shutil.rmtree(self.now)
        shutil.copytree(self.kept, self.now)

    def cut(self, at: int, mode: int) -> None:
        self.reset()
        ran = self.run_command(self.scenario.command, at=at, mode=mode)
        where = f"{self.scenario.name}, call {at} of {self.calls}, mode {mode}: {ran['err']}"
        assert ran["code"] in {FAIL: (0, 1, 3), KILL: (-signal.SIGKILL, 0, 1, 3), KILL_ALL: (-signal.SIGKILL,)}[mode], (
            where
        )
        assert "internal error" not in ran["err"], where
        assert "Traceback" not in ran["err"], where
        if mode == FAIL and ran["code"] == 3:
            assert len(ran["err"].splitlines()) >= 1, where
        self.check(where)
        again = self.run_command(self.scenario.command)
        assert again["code"] == self.code, (where, again)
        assert contents(self.now) == self.new, where

    def check(self, where: str) -> None:
        files_after = contents(self.now)
        views = [_view(files_after, name) for name in _main_files(files_after)]
        allowed = [_view(state, name) for state in (self.old, self.new) for name in _main_files(state)]
        for view in views:
            assert view in allowed or view[0] == REPORT, where
        for name, data in files_after.items():
            if name == REPORT:
                json.loads(data)  # complete, and it may report the fault
            elif "/.kf-" not in name:
                assert data in (self.old.get(name), self.new.get(name)), (where, name)
        for name, data in self.old.items():
            if name.startswith("in/"):
                assert files_after[name] == data, where


def _main_files(state: dict[str, bytes]) -> list[str]:
    return [name for name in state if name.startswith("out/") and "/.kf-" not in name and not name.endswith(".bin")]


def _view(state: dict[str, bytes], name: str) -> Any:
    """Return a file with the files that it names."""
    ending = os.path.splitext(name)[1]
    with_it = {}
    if ending == ".gltf":
        for buffer in json.loads(state[name])["buffers"]:
            with_it[buffer["uri"]] = state["out/" + unquote(buffer["uri"])]  # KeyError: a glTF file without its buffer
    elif ending == ".3ds":
        with_it = {
            other: data
            for other, data in state.items()
            if other.lower().endswith(".png") and os.path.basename(other).encode() + b"\0" in state[name]
        }
    return name, state[name], with_it


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, id=scenario.name, marks=[] if scenario.name in QUICK else [pytest.mark.slow])
        for scenario in SCENARIOS
    ],
)
def test_interrupted_command_leaves_the_old_or_the_new_files(
    scenario: Scenario, server: Server, tmp_path: Path
) -> None:
    place = Place(scenario, tmp_path, server)
    stride = 1 if SLOW else 9
    first = 1 + SCENARIOS.index(scenario) % stride
    for mode in scenario.kills:
        for at in range(first, place.calls + 1, stride):
            place.cut(at, mode)


def test_shim_intercepts_every_kind_of_step(server: Server, tmp_path: Path) -> None:
    """Open, write, sync, close, link, rename, remove: otherwise the other test would prove nothing."""
    place = Place(next(scenario for scenario in SCENARIOS if scenario.name == "images"), tmp_path, server)
    place.reset()
    assert place.run_command(place.scenario.command)["kinds"] & 0x7F == 0x7F
