"""`dump` and `build` are the identity: what can be read is dumped to a text that builds the same bytes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.formats import FORMATS
from keyframer.formats.ase.keywords import BLOCKS, CONTROLLERS, LINES
from keyframer.formats.ase.records import TABLES
from keyframer.inspecting.text_build import build_bytes
from tests.building.editing import dump_text
from tests.conformance.shapes import SHAPES
from tests.fuzz.mutating import mutate
from tests.fuzz.seeds import all_seeds
from tests.hostile.shapes import SHAPES as HOSTILE
from tests.samples import sample_files
from tests.slow import SLOW

MUTANTS = 600 if SLOW else 60
per_format = pytest.mark.parametrize("name", [known.name for known in FORMATS])


def check_identity(data: bytes, name: str) -> bool:
    """Whether the bytes can be read; then encoding, and dumping and building, must return them."""
    try:
        document = keyframer.decode(data, format=name)
    except keyframer.FormatError:
        return False
    assert keyframer.encode(document) == data
    assert build_bytes(dump_text(document))[1] == data
    return True


@per_format
def test_samples_golden_files_and_crashers(name: str) -> None:
    assert sum(check_identity(seed.data, name) for seed in all_seeds()[name]) >= len(sample_files(name))


@per_format
def test_mutants(name: str) -> None:
    seeds, random = all_seeds()[name], Random(f"text form of {name}")
    mutants = [mutate(random.choice(seeds), seeds, random) for _ in range(MUTANTS)]
    assert sum(check_identity(mutant.data, name) for mutant in mutants) > MUTANTS // 4


@per_format
@settings(max_examples=300 if SLOW else 60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_samples_with_replaced_parts(name: str, data: st.DataObject) -> None:
    """A part of a sample is replaced by other bytes or by a part of another sample."""
    contents = [path.read_bytes() for path in sample_files(name) if path.stat().st_size <= 8192]
    sample, other = data.draw(st.sampled_from(contents)), data.draw(st.sampled_from(contents))
    start, begin = data.draw(st.integers(0, len(sample))), data.draw(st.integers(0, len(other)))
    stop = data.draw(st.integers(start, min(len(sample), start + 64)))
    patch = data.draw(st.binary(max_size=16) | st.integers(0, 64).map(lambda size: other[begin : begin + size]))
    check_identity(sample[:start] + patch + sample[stop:], name)


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize(("name", "title"), [(name, title) for name in SHAPES for title in SHAPES[name]])
def test_generated_structures(name: str, title: str, count: int) -> None:
    check_identity(SHAPES[name][title](count), name)


@per_format
def test_hostile_structures(name: str) -> None:
    for shape in HOSTILE.get(name, {}).values():
        check_identity(shape(300), name)


KEYWORDS = sorted({*BLOCKS, *LINES, *TABLES, *(row for entry in CONTROLLERS.values() for row in entry.rows), b"OTHER"})
SPACE = st.sampled_from([b" ", b"\t", b"\n", b"\n\t", b"\n\t\t", b"\r\n", b"", b"\x0c", b"\xa0"])
NUMBERS = [b"0", b"1", b"-1", b"-0.0", b"1.5", b"1e400", b"nan", b"0,5", b"0x10", b"99999999999999999999", b"0:", b"A:"]
VALUE = st.sampled_from([*NUMBERS, b'"a"', b'""', b'"{"', b'"*X"', b'"', b"a", b"\xe9", b"\\x41"])
LINE = st.tuples(SPACE, st.just(b"*"), st.sampled_from(KEYWORDS), st.lists(VALUE, max_size=5).map(b" ".join))
LINE = LINE.map(lambda parts: parts[0] + parts[1] + parts[2] + (b" " + parts[3] if parts[3] else b""))
PIECE = st.one_of(
    LINE,
    st.tuples(LINE, st.sampled_from([b" {", b"{", b"\n{"])).map(b"".join),
    st.tuples(SPACE, st.just(b"}")).map(b"".join),
    st.tuples(SPACE, VALUE).map(b"".join),
)


@settings(max_examples=2_000 if SLOW else 300, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PIECE, max_size=14).map(b"".join))
def test_any_ase_text(text: bytes) -> None:
    check_identity(b"*3DSMAX_ASCIIEXPORT 200" + text, "ase")


EMPTY_CONTROLLER = b"*3DSMAX_ASCIIEXPORT 200\n*GEOMOBJECT {\n\t*TM_ANIMATION {\n\t*CONTROL_POS_TRACK {\n\t}\n\t}\n}\n"
"""found by an attack: called clean, and built with other bytes"""


@pytest.mark.parametrize(
    "data",
    [EMPTY_CONTROLLER, *(b"*%s {%s}" % (keyword, inside) for keyword in TABLES for inside in (b"", b" ", b"\n\n"))],
)
def test_tables_without_rows(data: bytes) -> None:
    assert check_identity(data, "ase")
