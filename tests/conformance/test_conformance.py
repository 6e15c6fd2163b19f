"""What every format must do, tested once for all: the suite runs over `FORMATS` and the samples of each."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.formats import FORMATS
from tests.samples import all_samples, sample_files

SAMPLES = all_samples()
SMALL = [(name, path) for name, path in SAMPLES if path.stat().st_size <= 8192]
per_sample = pytest.mark.parametrize(("name", "path"), SAMPLES, ids=[f"{n}-{p.name}" for n, p in SAMPLES])
per_small_sample = pytest.mark.parametrize(("name", "path"), SMALL, ids=[f"{n}-{p.name}" for n, p in SMALL])
per_format = pytest.mark.parametrize("name", [known.name for known in FORMATS])


def read_or_refuse(data: bytes, name: str | None) -> keyframer.Document | None:
    """The law: a located FormatError, or a document that gives the same bytes back. Anything else is a failure."""
    try:
        document = keyframer.decode(data, format=name)
    except keyframer.FormatError as error:
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


@per_format
def test_there_are_samples(name: str) -> None:
    assert sample_files(name)


@per_sample
def test_detected_from_content_alone(name: str, path: Path) -> None:
    data = path.read_bytes()
    detection = keyframer.detect(data)
    assert detection.format is not None
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
def test_reading_twice_says_the_same(name: str, path: Path) -> None:
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


@per_small_sample
def test_every_prefix(name: str, path: Path) -> None:
    data = path.read_bytes()
    for size in range(len(data)):
        read_or_refuse(data[:size], None)
        read_or_refuse(data[:size], name)


@per_small_sample
def test_byte_flips(name: str, path: Path) -> None:
    data = path.read_bytes()
    for at in range(0, len(data), 1 if len(data) <= 1024 else 11):
        for change in (0x01, 0x80, 0xFF):
            flipped = bytearray(data)
            flipped[at] ^= change
            read_or_refuse(bytes(flipped), name)


@per_sample
def test_trailing_bytes_survive(name: str, path: Path) -> None:
    for extra in (b"\0", b"rubbish behind the end", bytes(64)):
        read_or_refuse(path.read_bytes() + extra, name)


@per_format
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=400))
def test_any_bytes(name: str, data: bytes) -> None:
    read_or_refuse(data, name)
    read_or_refuse(data, None)


@per_format
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_samples(name: str, data: st.DataObject) -> None:
    """Splices of a sample: cut, repeat, overwrite; what a bad disk or a bad editor leaves."""
    whole = data.draw(st.sampled_from(sample_files(name))).read_bytes()
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, min(len(whole), start + 64)))
    patch = data.draw(st.binary(max_size=64) | st.sampled_from([b"\xff" * 4, bytes(4), b"\x01\x00\xa0\x7f"]))
    read_or_refuse(whole[:start] + patch + whole[stop:], name)


@per_format
def test_empty_input_is_named(name: str) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(b"", format=name)
    assert caught.value.code == "IO_EMPTY"


@per_format
def test_size_limit(name: str) -> None:
    data = sample_files(name)[0].read_bytes()
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, limits=keyframer.Limits(file_size=len(data) - 1))
    assert caught.value.code == "LIMIT_FILE_SIZE"


@per_format
def test_reading_takes_linear_time(name: str) -> None:
    """A file with many bytes behind its end: 16 times the bytes may not cost 64 times the time."""
    sample = sample_files(name)[0].read_bytes()

    def seconds(size: int) -> float:
        data = sample + bytes(size)
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            read_or_refuse(data, name)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(16 << 20) < 64 * max(seconds(1 << 20), 0.001)
