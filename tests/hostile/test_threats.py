"""Every row of the threat tables, for all formats: the expected code, and the law of hostile files."""

from __future__ import annotations

import pytest

from tests.hostile.law import obey
from tests.hostile.threats import THREATS

ATTACKS = [
    (name, row, what, data, code)
    for name, rows in THREATS.items()
    for row, attacks in rows.items()
    for what, data, code in attacks
]


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [(name, data, code) for name, _, _, data, code in ATTACKS],
    ids=[f"{name}: {row}: {what}" for name, row, what, _, _ in ATTACKS],
)
def test_attack_has_its_code_and_obeys_the_law(name: str, data: bytes, code: str | None) -> None:
    report = obey(data, name)
    if code is None:
        assert report.issues.first_unsafe() is None, report
    else:
        assert code in report.counts, report
    obey(data, None)
