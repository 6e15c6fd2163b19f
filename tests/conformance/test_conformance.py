"""Requirements on every format, tested once for all: the suite runs over `FORMATS` and the samples of each."""

from __future__ import annotations

import inspect
import sys
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.formats import FORMATS
from keyframer.wire.record import Record, describe_fields
from tests.building import uto3d
from tests.conformance.shapes import GENERIC, SHAPES, Shape
from tests.growth import assert_linear
from tests.samples import all_samples, make_3ds, sample_files
from tests.samples.ase import make as ase
from tests.samples.b3d import make as b3d
from tests.samples.hale3d import make_samples as hale3d
from tests.samples.horde3d import make as horde3d
from tests.samples.md5 import make as md5
from tests.samples.midtown import make_samples as midtown
from tests.samples.nodeanim import make as nodeanim
from tests.samples.vue import make as vue
from tests.slow import SLOW

SAMPLES = all_samples()
SMALL = [(name, path) for name, path in SAMPLES if path.stat().st_size <= 8192]
per_sample = pytest.mark.parametrize(("name", "path"), SAMPLES, ids=[f"{n}-{p.name}" for n, p in SAMPLES])
per_small_sample = pytest.mark.parametrize(("name", "path"), SMALL, ids=[f"{n}-{p.name}" for n, p in SMALL])
per_format = pytest.mark.parametrize("name", [known.name for known in FORMATS])


def read_or_refuse(data: bytes, name: str | None) -> keyframer.Document | None:
    """Decode: a located FormatError, or a document that encodes to the same bytes. Anything else is a failure."""
    document, error = None, None
    try:
        document = keyframer.decode(data, format=name)
    except keyframer.FormatError as caught:
        error = caught
    if error is not None:
        assert isinstance(error.offset, int)
        assert 0 <= error.offset <= len(data)
        assert error.path.startswith("/")
        assert error.code
        assert error.message
        assert "\n" not in str(error)
        return None
    assert keyframer.encode(document) == data
    for issue in document.issues:
        assert 0 <= issue.offset <= len(data)
        assert issue.path.startswith("/")
        assert issue.message
    return document


KEPT = {"windmill.3ds"}
"""samples that no module makes: the first example that the project shipped"""
MADE = {
    "3ds": {name: make() for name, make in make_3ds.SAMPLES.items()},
    "uto3d": uto3d.samples(),
    "hale3d": hale3d.samples(),
    "midtown": midtown.samples(),
    "nodeanim": {f"{name}.nanim": data for name, data in nodeanim.samples().items()},
    "ase": ase.samples(),
    "b3d": {f"{name}.b3d": make() for name, make in b3d.SAMPLES.items()},
    "vue": {name: make() for name, make in vue.SAMPLES.items()},
    "md5": {name: make() for name, make in md5.SAMPLES.items()},
    "horde3d": {name: make() for name, make in horde3d.SAMPLES.items()},
}


@pytest.mark.parametrize("name", MADE)
def test_samples_are_as_their_modules_make_them(name: str) -> None:
    """``python -m`` with the module that makes them writes them again."""
    made = {path.name: path.read_bytes() for path in sample_files(name) if path.name not in KEPT}
    assert made == MADE[name]


@per_format
def test_every_record_type_is_described(name: str) -> None:
    """In the words of the specification: a sentence for each record, and words for each field."""
    for cls in next(known for known in FORMATS if known.name == name).record_types().values():
        assert cls.__doc__, cls
        assert not cls.__doc__.startswith(f"{cls.__name__}("), f"{cls} has only the words that a dataclass makes"
        assert all(row.description and row.type for row in describe_fields(cls)), cls


@per_sample
def test_detected_from_content_alone(name: str, path: Path) -> None:
    data = path.read_bytes()
    detection = keyframer.detect(data)
    assert detection.format.name == name
    assert 0 < detection.score <= 1
    assert detection.reason
    assert keyframer.detect(data, name="wrong.txt").format is detection.format


@per_sample
def test_lossless(name: str, path: Path) -> None:
    data = path.read_bytes()
    document = keyframer.decode(data)
    assert document.format.name == name
    assert keyframer.encode(document) == data


@per_sample
def test_decoding_is_deterministic(name: str, path: Path) -> None:
    data = path.read_bytes()
    first, second = keyframer.decode(data), keyframer.decode(data)
    assert list(map(str, first.issues)) == list(map(str, second.issues))
    assert [(str(place), repr(record)) for place, record in first.walk()] == [
        (str(place), repr(record)) for place, record in second.walk()
    ]


@per_sample
def test_records_have_unique_paths_and_rising_offsets(name: str, path: Path) -> None:
    document = keyframer.decode(path.read_bytes())
    places = [(str(place), record.offset) for place, record in document.walk()]
    assert len({place for place, _ in places}) == len(places)
    offsets = [offset for _, offset in places]
    assert None not in offsets
    assert offsets == sorted(offsets)  # type: ignore[type-var]


def offsets_in(data: bytes) -> list[int]:
    """Evenly spaced offsets: 24, or up to 512 with `make slow`."""
    count = min(len(data), 512 if SLOW else 24)
    return [place * len(data) // count for place in range(count)]


@per_small_sample
def test_byte_flips(name: str, path: Path) -> None:
    data = path.read_bytes()
    for at in offsets_in(data):
        for change in (0x01, 0x80, 0xFF):
            flipped = bytearray(data)
            flipped[at] ^= change
            read_or_refuse(bytes(flipped), name)


@per_sample
def test_trailing_bytes_survive(name: str, path: Path) -> None:
    for extra in (b"\0", b"rubbish behind the end", bytes(64)):
        read_or_refuse(path.read_bytes() + extra, name)


@per_format
@settings(max_examples=300 if SLOW else 100, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=400))
def test_any_bytes(name: str, data: bytes) -> None:
    read_or_refuse(data, name)
    read_or_refuse(data, None)


@per_format
@settings(max_examples=300 if SLOW else 100, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_samples(name: str, data: st.DataObject) -> None:
    """Cut, repeat and overwrite parts of a sample, as a bad disk or a bad editor might do."""
    sample = data.draw(st.sampled_from(sample_files(name))).read_bytes()
    start = data.draw(st.integers(0, len(sample)))
    stop = data.draw(st.integers(start, min(len(sample), start + 64)))
    patch = data.draw(st.binary(max_size=64) | st.sampled_from([b"\xff" * 4, bytes(4), b"\x01\x00\xa0\x7f"]))
    read_or_refuse(sample[:start] + patch + sample[stop:], name)


@per_format
def test_empty_input_is_refused(name: str) -> None:
    with pytest.raises(keyframer.FormatError, match=r"^IO_EMPTY\b"):
        keyframer.decode(b"", format=name)


@per_format
def test_size_limit(name: str) -> None:
    data = sample_files(name)[0].read_bytes()
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_FILE_SIZE\b"):
        keyframer.decode(data, limits=keyframer.Limits(file_size=len(data) - 1))


@per_format
def test_record_limit(name: str) -> None:
    """Of the sample with most records: all of them pass, half as many are refused."""
    counts = {path: sum(1 for _ in keyframer.read(path).walk()) for path in sample_files(name)}
    path, most = max(counts.items(), key=lambda item: item[1])
    assert keyframer.read(path, limits=keyframer.Limits(records=most))
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.read(path, limits=keyframer.Limits(records=most // 2))
    assert (caught.value.code, caught.value.path != "/") == ("LIMIT_RECORDS", True)


@pytest.mark.parametrize("name", [known.name for known in FORMATS if known.name != "midtown"])
def test_name_limit(name: str) -> None:
    """Clips of Midtown contain no names."""
    largest = max(sample_files(name), key=lambda path: path.stat().st_size)
    with pytest.raises(keyframer.FormatError, match=r"^LIMIT_NAME\b"):
        keyframer.read(largest, limits=keyframer.Limits(name=1))


@per_sample
def test_arrays_are_read_only_views(name: str, path: Path) -> None:
    """To edit, assign a new array."""
    for record in keyframer.decode(path.read_bytes()).find(Record):
        for plan in record.plan.fields:
            value = getattr(record, plan.name)
            for array in (value, getattr(value, "rows", None)):
                assert not isinstance(array, np.ndarray) or not array.flags.writeable or not array.size, plan.name


def shapes() -> list[tuple[str, str, Shape]]:
    """Every shape of every format: those added for the format, and the generic ones with its smallest and largest
    small sample.
    """
    result: list[tuple[str, str, Shape]] = []
    for known in FORMATS:
        result += [(known.name, title, shape) for title, shape in SHAPES.get(known.name, {}).items()]
        samples = sorted(sample_files(known.name), key=lambda path: path.stat().st_size)
        small = [path for path in samples if path.stat().st_size <= 2048]
        for path in dict.fromkeys(small[:1] + small[-1:]):
            result += [
                (known.name, f"{path.name}, {title}", partial(grow, path.read_bytes()))
                for title, grow in GENERIC.items()
            ]
    return result


SHAPED = shapes()
per_shape = pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name, _, shape in SHAPED],
    ids=[f"{name}: {title}" for name, title, _ in SHAPED],
)


@per_shape
def test_reading_takes_linear_time(name: str, shape: Shape) -> None:
    """Sixteen times the records may cost 2.5 ** 4 = 39 times the time; quadratic growth would be 256 times."""

    few, many = shape(250), shape(4_000)
    assert len(many) > 10 * len(few)
    assert_linear(partial(read_or_refuse, name=name), few, many, times=16)


@per_shape
def test_memory_is_proportional_to_size(name: str, shape: Shape) -> None:
    data = shape(1_000)
    read_or_refuse(shape(10), name)  # readers are generated once
    tracemalloc.start()
    try:
        read_or_refuse(data, name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(data) + 1_000_000


@per_shape
def test_nesting_needs_no_recursion(name: str, shape: Shape) -> None:
    """Reading, walking and writing a deep file need no more Python frames than for a small file."""
    data = shape(500)
    read_or_refuse(shape(1), name)  # so that everything is imported
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 60)
    try:
        document = read_or_refuse(data, name)
        if document is not None:
            assert sum(1 for _ in document.walk()) == sum(1 for _ in document.find(Record))
    finally:
        sys.setrecursionlimit(limit)
