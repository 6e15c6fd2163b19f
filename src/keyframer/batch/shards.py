"""Shards: stable shares of the inputs, so that many machines do one batch without a coordinator. Each shard has its own
ledger; `Ledgers` reads those of all shards as one.

All shards list the same inputs. Only files of one folder whose names are equal up to the first dot, ignoring case and
composition, can get equal output names (``a.3ds``, ``A.anim`` and ``a.3ds.anim`` can), and these are always in the same
share. So collisions are decided as in one run, and no shard keeps anything about the files of another.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from keyframer.batch.job import FAILED, LEDGER
from keyframer.batch.ledger import Ledger, LedgerError
from keyframer.batch.output_names import Renamed, key_of

MOST_SHARDS = 1_000_000
_STEM, _EXTENSION = os.path.splitext(LEDGER)
_OF_SHARD = re.compile(rf"{re.escape(_STEM)}\.(\d{{1,7}})-of-(\d{{1,7}}){re.escape(_EXTENSION)}")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``count`` shares of the inputs; ``index`` counts from 0, as Kubernetes, AWS Batch and Slurm do."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard of a text such as ``3/10``; raises ValueError."""
        match = re.fullmatch(r"([0-9]{1,7})/([0-9]{1,7})", text)
        if match is None:
            raise ValueError(f"expected I/N such as 0/10, not {text!r}")
        index, count = int(match[1]), int(match[2])
        if not index < count <= MOST_SHARDS:
            raise ValueError(f"{text}: I is from 0 to N - 1, and N at most {MOST_SHARDS:,}")
        return cls(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has(self, relative: str) -> bool:
        """Return whether a file belongs to this share, by its path below the input."""
        return _number_of(relative) % self.count == self.index

    def file_name(self, name: str) -> str:
        """Return the name of a file that each shard has: ``a.txt`` becomes ``a.03-of-10.txt``."""
        stem, extension = os.path.splitext(name)
        return f"{stem}.{self.index:0{len(str(self.count - 1))}}-of-{self.count}{extension}"


@lru_cache(maxsize=4)  # listing and planning ask one after the other
def _number_of(relative: str) -> int:
    folder, slash, name = (relative.lower() if relative.isascii() else key_of(relative)).rpartition("/")
    beginning = folder + slash + name[:1] + name[1:].partition(".")[0]
    return int.from_bytes(hashlib.sha256(beginning.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def check_same_shards(folder: str, shard: Shard | None) -> None:
    """Raise `LedgerError` if an output folder has a ledger of a run with another number of shards, which this run would
    not know: the same files would be in both.
    """
    count = 1 if shard is None else shard.count
    for path in ledgers_of(folder):
        match = _OF_SHARD.fullmatch(os.path.basename(path))
        other = 1 if match is None else int(match[2])
        if other != count and os.path.lexists(path):
            how = f"with {other} shards (--shard I/{other})" if other > 1 else "without --shard"
            raise LedgerError(f"{path} belongs to a run {how}: go on with that, or choose another folder")


def ledgers_of(where: str) -> list[str]:
    """Return the ledgers in an output folder, the shards in order; if ``where`` is not a folder, it is a ledger."""
    if not os.path.isdir(where):
        return [where]
    matches = [match for name in os.listdir(where) if (match := _OF_SHARD.fullmatch(name))]
    names = [match[0] for match in sorted(matches, key=lambda match: (int(match[2]), int(match[1])))]
    if not names or os.path.lexists(os.path.join(where, LEDGER)):
        names.insert(0, LEDGER)
    return [os.path.join(where, name) for name in names]


def other_shards(path: str) -> tuple[str, list[str]]:
    """Return the path that a ledger would have without shards, and the ledgers of the other shards next to it."""
    folder, own = os.path.split(os.path.abspath(path))
    match = re.fullmatch(r"(.+)\.\d{1,7}(-of-\d{1,7})(\.[^.]+)", own)
    if match is None:
        return path, []
    stem, count, extension = map(re.escape, match.groups())
    same = re.compile(rf"{stem}\.\d{{1,7}}{count}{extension}")
    names = [name for name in sorted(os.listdir(folder)) if name != own and same.fullmatch(name)]
    return os.path.join(folder, match[1] + match[3]), [os.path.join(folder, name) for name in names]


def missing_shards(paths: Iterable[str]) -> list[str]:
    """Return a line for each folder some of whose shards have no ledger among ``paths``."""
    found: dict[tuple[str, int], set[int]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        match = _OF_SHARD.fullmatch(name)
        if match is not None:
            found.setdefault((folder, int(match[2])), set()).add(int(match[1]))
    lines = []
    for (folder, count), indices in found.items():
        missing = [index for index in range(min(count, MOST_SHARDS)) if index not in indices]
        if missing:
            listed = ", ".join(f"{index}/{count}" for index in missing[:10]) + (" …" if len(missing) > 10 else "")
            verb = "has" if len(missing) == 1 else "have"
            lines.append(f"{folder}: {len(missing):,} of {count:,} shards {verb} no ledger: {listed}")
    return lines


class Ledgers:
    """Several ledgers, read as one. Only one of them is open at a time: there may be thousands."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = list(dict.fromkeys(paths))
        self.refused: list[str] = []
        """one message for each refused row, with the reason"""

    def each(self) -> Iterator[Ledger]:
        """Open the ledgers one after the other."""
        for path in self.paths:
            with Ledger(path, read_only=True) as ledger:
                yield ledger
                self.refused += ledger.refused

    def rows(self, operation: str | None = None, status: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of all ledgers; see `Ledger.rows`."""
        for ledger in self.each():
            yield from ledger.rows(operation, status)

    def renamed(self, operation: str | None = None) -> list[Renamed]:
        return [renamed for ledger in self.each() for renamed in ledger.renamed(operation)]

    def counts(self, operation: str | None = None) -> list[tuple[str, str, str | None, int]]:
        """Return the sums of `Ledger.counts`, in the same order."""
        sums: Counter[tuple[str, str, str | None]] = Counter()
        for ledger in self.each():
            for name, status, code, count in ledger.counts(operation):
                sums[name, status, code] += count
        found = [(*key, count) for key, count in sums.items()]
        return sorted(found, key=lambda row: (row[0], row[1] == FAILED, row[1], -row[3], row[2] or ""))
