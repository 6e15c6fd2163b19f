"""Quick and careful reading give the same document and the same scene for any bytes: see docs/decisions/0009."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats import FORMATS
from keyframer.wire import quick_readers
from keyframer.wire.key_table import Keys
from keyframer.wire.record_plan import WORTH_GENERATING
from tests.corpus import needs_corpus, threeds_files
from tests.samples import all_samples

SAMPLES = all_samples()
per_sample = pytest.mark.parametrize("path", [p for _, p in SAMPLES], ids=[f"{n}-{p.name}" for n, p in SAMPLES])


def plain(value: Any) -> object:
    """A value that can be compared exactly."""
    if isinstance(value, Keys):
        return [plain(value.time), plain(value.flags), plain(value.value), plain(value.extras), value.text]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes(), value.flags.writeable
    if isinstance(value, (np.generic, float)):
        return type(value), np.asarray(value).tobytes()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if hasattr(value, "rows") and hasattr(value, "has_tcb"):
        return plain(value.rows), plain(value.has_tcb)
    return value


def described(data: bytes) -> Iterator[object]:
    """A description of the document, or of the error."""
    try:
        document = keyframer.decode(data)
    except keyframer.FormatError as error:
        yield str(error)
        return
    yield list(map(str, document.issues))
    yield dict(document.issues.counts)
    yield document.dialect
    yield document.trailing
    for place, record in document.walk():
        names = [name for cls in type(record).__mro__ for name in getattr(cls, "__slots__", ())]
        values = {name: plain(getattr(record, name)) for name in names if name != "children"}
        yield str(place), type(record), type(record.children), values
    assert keyframer.encode(document) == data


@pytest.fixture(autouse=True, scope="module")
def generated() -> None:
    """Generate quick readers at once instead of after several uses."""
    for known in FORMATS:
        for cls in known.record_types().values():
            cls.plan.generate()


def assert_same(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_readers, "ON", True)
    usual = list(described(data))
    monkeypatch.setattr(quick_readers, "ON", False)
    assert usual == list(described(data))


def content(part: Any) -> object:
    """All fields of a part of a scene, exactly."""
    if isinstance(part, (list, tuple)):
        return [content(element) for element in part]
    if isinstance(part, dict):
        return {key: content(value) for key, value in part.items()}
    if dataclasses.is_dataclass(part):
        return type(part), {item.name: content(getattr(part, item.name)) for item in dataclasses.fields(part)}
    return plain(part)


def loaded(data: bytes) -> Iterator[object]:
    """A description of the scene and of some poses, or of the error."""
    try:
        scene = keyframer.load(data, salvage=True)
    except keyframer.FormatError as error:
        yield str(error)
        return
    yield list(map(str, scene.issues))
    yield dict(scene.issues.counts)
    for name in ("nodes", "meshes", "materials", "cameras", "lights", "skins", "clips", "environment", "extras"):
        yield name, content(getattr(scene, name))
    yield keyframer.pose(scene, frames=[-1.0, 0.0, 0.4, 7.0, 1000.0]).world.tobytes()


def assert_same_scene(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_readers, "ON", True)
    usual = list(loaded(data))
    monkeypatch.setattr(quick_readers, "ON", False)
    assert usual == list(loaded(data))


@per_sample
def test_samples_load_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same_scene(path.read_bytes(), monkeypatch)


@pytest.mark.parametrize("path", [p for name, p in SAMPLES if name == "3ds"], ids=lambda path: path.name)
def test_damaged_samples_load_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of keys, flags, matrices and vertices become zero, huge, non-finite or unsorted."""
    data = path.read_bytes()[:20_000]
    chance = random.Random(path.name)
    for _ in range(40):
        damaged = bytearray(data)
        for at in chance.sample(range(12, len(data) - 4), min(3, len(data) - 16)):
            damaged[at : at + 4] = chance.choice([b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\x7f\x7f", bytes(4)])
        assert_same_scene(bytes(damaged), monkeypatch)


@needs_corpus
def test_the_corpus_loads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in threeds_files():
        if path.stat().st_size <= 100_000:
            assert_same_scene(path.read_bytes(), monkeypatch)


@per_sample
def test_samples_read_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(path.read_bytes(), monkeypatch)


@per_sample
def test_damaged_samples_read_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed bytes (also to signalling NaNs), truncated files, and removed or inserted ranges."""
    data = path.read_bytes()[:20_000]
    chance = random.Random(path.name)
    for _ in range(12):
        damaged = bytearray(data)
        at = chance.randrange(len(data))
        for patch in (bytes([chance.choice([0, 1, 0x7F, 0xFF])]), b"\x01\x00\xa0\x7f"):
            damaged[at : at + len(patch)] = patch
            assert_same(bytes(damaged), monkeypatch)
        assert_same(data[:at], monkeypatch)
        assert_same(data[:at] + data[at + chance.randrange(20) :], monkeypatch)
        assert_same(data[:at] + data[at : at + 30] + data[at:], monkeypatch)


@needs_corpus
def test_the_corpus_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in threeds_files():
        if path.stat().st_size <= 100_000:
            assert_same(path.read_bytes(), monkeypatch)


def test_limits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One record, one level, one character less than the sample needs."""
    data = next(path for name, path in SAMPLES if name == "3ds" and "windmill" in path.name).read_bytes()
    for limits in [keyframer.Limits(records=n) for n in (1, 2, 10, 60)] + [
        *(keyframer.Limits(depth=n) for n in range(7)),
        *(keyframer.Limits(name=n) for n in range(8)),
    ]:
        outcomes = []
        for on in (True, False):
            monkeypatch.setattr(quick_readers, "ON", on)
            try:
                outcomes.append(str(list(keyframer.decode(data, limits=limits).issues)))
            except keyframer.FormatError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


def test_most_records_of_every_format_have_a_quick_reader() -> None:
    """Every declaration gives one: of 3D Studio's classes only morph tracks (keys with texts) have none."""
    slow: dict[str, set[str]] = {}
    for known in FORMATS:
        for name, cls in known.record_types().items():
            if cls.plan.quick is quick_readers.never:
                slow.setdefault(known.name, set()).add(name)
    assert slow["3ds"] == {"MorphTrack"}
    assert "uto3d" not in slow


@pytest.mark.parametrize(("value", "on"), [("", True), ("0", True), ("1", False)])
def test_the_environment_switches_quick_readers_off(value: str, on: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from keyframer.wire import quick_readers; print(quick_readers.ON)"],
        env={**os.environ, "KEYFRAMER_CAREFUL": value},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(on)


def test_ordinary_chunks_are_read_without_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the whole windmill only tracks whose keys have different flags need the careful reader."""
    from keyframer.formats.threeds import document

    careful: list[int] = []
    step = document._Reader._step

    def noted(self: Any, parent: Any) -> None:
        careful.append(int.from_bytes(self.data[parent.at : parent.at + 2], "little"))
        step(self, parent)

    monkeypatch.setattr(quick_readers, "ON", True)
    monkeypatch.setattr(document._Reader, "_step", noted)
    example = Path(__file__).parents[2] / "examples" / "windmill.3ds"
    for _ in range(WORTH_GENERATING):
        careful.clear()
        read = keyframer.read(example)
    assert len(careful) < sum(1 for _ in read.walk()) / 20
    assert set(careful) <= {0xB020, 0xB021, 0xB022}
