"""Two small files for every issue code and format: one that has it, and one that does not, for the conformance pack.

They are the smallest that tests know: golden files, threats and samples (tests/golden, tests/hostile, tests/samples).
The file without the code is the nearest to the one with it, among those with the fewest codes that this has not.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any, NamedTuple

from tests.golden.make import EXTENSIONS, EXTRA, FOLDER, LIMITS, MOST_BYTES, NOT_BY_A_FILE, format_of
from tests.hostile.threats import THREATS
from tests.samples import sample_files

import keyframer
from keyframer.catalogue import CATALOGUE
from keyframer.formats import FORMATS

Checked = tuple[bytes, keyframer.Report]


class Pair(NamedTuple):
    """A code in a format, with two files; the reports are those of ``check``."""

    code: str
    format: str
    with_it: Checked
    without: Checked

    def names(self) -> tuple[str, str]:
        """Return the names of the two files in the pack."""
        extension = EXTENSIONS.get(self.format, self.format)
        return tuple(f"issues/{self.code}/{self.format}-{which}.{extension}" for which in ("with", "without"))  # type: ignore[return-value]

    def record(self) -> dict[str, Any]:
        """Return the entry of ``issues.json``."""
        limits = LIMITS.get(self.code)
        changed = {} if limits is None else _changed(limits)
        record: dict[str, Any] = {"code": self.code, "format": self.format} | ({"limits": changed} if changed else {})
        for key, name, (_, report) in zip(("with", "without"), self.names(), (self.with_it, self.without), strict=True):
            record[key] = {"file": name, "verdict": report.verdict, "codes": dict(sorted(report.counts.items()))}
        return record


def _changed(limits: keyframer.Limits) -> dict[str, Any]:
    usual = asdict(keyframer.Limits())
    return {name: value for name, value in asdict(limits).items() if value != usual[name]}


@cache
def pairs() -> list[Pair]:
    """Return the pairs of all codes that a file alone can cause, in all formats in which such a file is known."""
    found = []
    for known in FORMATS:
        reports = [(data, keyframer.check(data, format=known.name)) for data in _files(known.name)]
        for code in CATALOGUE:
            if code in NOT_BY_A_FILE:
                continue
            if code in LIMITS:
                checked = [
                    (data, keyframer.check(data, format=known.name, limits=LIMITS[code]))
                    for data in _files(known.name)
                    if len(data) <= MOST_BYTES
                ]
            else:
                checked = reports
            bad = [one for one in checked if code in one[1].counts]
            good = [one for one in checked if code not in one[1].counts]
            if bad and good:
                chosen = min(bad, key=lambda one: (len(one[0]), len(one[1].counts), one[0]))
                found.append(Pair(code, known.name, chosen, _twin(chosen, good)))
    return sorted(found, key=lambda pair: (pair.code, pair.format))


def _files(name: str) -> list[bytes]:
    """Return all small files of a format that tests know."""
    threats = (data for rows in THREATS.get(name, {}).values() for _, data, _ in rows if len(data) <= MOST_BYTES)
    extra = (data for cases in EXTRA.values() for where, data in cases if where == name)
    golden = (path for path in FOLDER.glob("*/*") if path.suffix != ".json" and format_of(path) == name)
    stored = (path.read_bytes() for path in [*golden, *sample_files(name)])
    return sorted({*threats, *extra, *stored}, key=lambda data: (len(data), data))


def _twin(chosen: Checked, good: list[Checked]) -> Checked:
    data, report = chosen

    def order(one: Checked) -> tuple[int, int, int, bytes]:
        other, its = one
        return len(set(its.counts) - set(report.counts)), _changes(data, other), len(other), other

    return min(good, key=order)


def _changes(one: bytes, two: bytes) -> int:
    """Return how many bytes of the longer one are between the equal beginnings and the equal ends."""
    shorter = min(len(one), len(two))
    begin = next((at for at in range(shorter) if one[at] != two[at]), shorter)
    end = next((at for at in range(shorter - begin) if one[-1 - at] != two[-1 - at]), shorter - begin)
    return max(len(one), len(two)) - begin - end
