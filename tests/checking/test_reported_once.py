"""A non-finite number anywhere in a document is reported exactly once, by the rules or while building the scene."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.wire.record import Record
from tests.samples import all_samples

SMALL = 20_000
"""bytes of a sample that is changed field by field"""
CODES = {"DATA_NON_FINITE", "DATA_BOUNDS_INVERTED", "DATA_MATRIX_SINGULAR", "DATA_QUATERNION_INVALID"}
"""codes that may say it: a box, a matrix or a turn with such a number is none"""


def with_nan(value: object) -> object | None:
    """Return the value with a NaN in it; None if it holds no floating-point number."""
    if isinstance(value, float):
        return math.nan
    if isinstance(value, tuple) and value and isinstance(value[0], float):
        return (*value[:-1], math.nan)
    if isinstance(value, np.ndarray) and len(value):
        changed = value.copy()
        if changed.dtype.kind == "f":
            changed.reshape(len(changed), -1)[0, -1] = math.nan
            return changed
        for name in changed.dtype.names or ():
            if changed.dtype[name].base.kind == "f":
                changed[name].reshape(len(changed), -1)[0, -1] = math.nan
                return changed
    return None


def places(document: keyframer.Document) -> Iterator[tuple[int, str]]:
    """Yield the number of a record and the name of a field, once for each type of record and field."""
    seen = set()
    for number, record in enumerate(document.find(Record)):
        for plan in record.plan.fields:
            place = type(record), plan.name
            stored = plan.when is None or plan.when(record)
            if place not in seen and stored and with_nan(getattr(record, plan.name)) is not None:
                seen.add(place)
                yield number, plan.name


def reported_issues(document: keyframer.Document) -> list[tuple[str, str]]:
    return [(issue.code, issue.path) for issue in keyframer.check(document).issues if issue.code in CODES]


@pytest.mark.parametrize(
    ("name", "sample"),
    [sample for sample in all_samples() if sample[1].stat().st_size <= SMALL],
    ids=lambda value: getattr(value, "name", value),
)
def test_nan_in_every_field_is_reported_once(name: str, sample: Path) -> None:
    document = keyframer.read(sample, format=name)
    before = set(reported_issues(document))
    for number, field in places(document):
        changed = keyframer.read(sample, format=name)
        record = list(changed.find(Record))[number]
        place = f"{type(record).__name__}.{field}"
        setattr(record, field, with_nan(getattr(record, field)))
        new_issues = [issue for issue in reported_issues(changed) if issue not in before]
        assert len(new_issues) == len(set(new_issues)), f"{place} is told twice: {new_issues}"
        assert new_issues or before, f"{place}: nothing says that it is no number"
