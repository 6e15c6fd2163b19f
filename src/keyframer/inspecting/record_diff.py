"""The differences between two documents of one format: records added, removed, changed or moved, with their paths.

Records of one parent are paired in three steps: identical ones, then those of one type with the same name or number,
then the remaining ones of one type in order. Each step uses a dictionary, so that the time is linear in the size of the
files.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from keyframer.arrays import Floats
from keyframer.formats.document import Document, place_of
from keyframer.inspecting.json_values import extra_attributes, to_plain
from keyframer.text import bytes_to_hex, counted
from keyframer.wire.cursor import Place
from keyframer.wire.record import Record, dump_fields

MOST_CHANGES = 1_000
"""maximum number of changes listed; all are counted"""
_IDENTITY = ("name", "node_id", "id", "number")
"""fields that identify a record, in the record or in its direct children"""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a record in both files; for arrays the number of different entries and the largest difference."""

    field: str
    a: object
    b: object
    entries: int | None = None
    largest: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One record that was added, removed, changed or moved."""

    kind: str
    """``added``, ``removed``, ``changed`` or ``moved``"""
    record: str
    path_a: str | None
    path_b: str | None
    fields: tuple[FieldChange, ...] = ()

    @property
    def path(self) -> str:
        return self.path_a or self.path_b or "/"


@dataclass(eq=False)
class Changes:
    """The changes found: all counted, the first ones listed."""

    listed: list[Change] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, change: Change) -> None:
        self.counts[change.kind] += 1
        if len(self.listed) < MOST_CHANGES:
            self.listed.append(change)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def truncated(self) -> bool:
        return self.total > len(self.listed)


def diff_documents(a: Document, b: Document) -> Changes:
    """Return all differences between two documents of the same format."""
    changes = Changes()
    digests: dict[int, bytes] = {}
    for records in (a.records, b.records):
        _digest(records, digests)
    if a.dialect != b.dialect:
        fields = (FieldChange("dialect", _plain(a.dialect), _plain(b.dialect)),)
        changes.add(Change("changed", "document", "/", "/", fields))
    if a.trailing != b.trailing:
        fields = (FieldChange("trailing", _short(a.trailing), _short(b.trailing)),)
        changes.add(Change("changed", "document", "/", "/", fields))
    todo: deque[tuple[Sequence[Record], Sequence[Record], Place, Place]] = deque(
        [(a.records, b.records, Place(), Place())]
    )
    while todo:
        before, after, parent_a, parent_b = todo.popleft()
        placed_a, placed_b = list(_placed(before, parent_a)), list(_placed(after, parent_b))
        latest = -1
        for index_a, index_b in _pairs(placed_a, placed_b, digests):
            if index_a is None:
                assert index_b is not None
                place_b, record_b = placed_b[index_b]
                changes.add(Change("added", type(record_b).__name__, None, str(place_b)))
                continue
            place_a, record_a = placed_a[index_a]
            name = type(record_a).__name__
            if index_b is None:
                changes.add(Change("removed", name, str(place_a), None))
                continue
            place_b, record_b = placed_b[index_b]
            if index_b < latest:
                changes.add(Change("moved", name, str(place_a), str(place_b)))
            latest = max(latest, index_b)
            if digests[id(record_a)] == digests[id(record_b)]:
                continue
            differing = tuple(_changed_fields(record_a, record_b))
            if differing:
                changes.add(Change("changed", name, str(place_a), str(place_b), differing))
            if record_a.children or record_b.children:
                todo.append((record_a.children, record_b.children, place_a, place_b))
    return changes


def _placed(records: Sequence[Record], parent: Place) -> Iterator[tuple[Place, Record]]:
    counts: Counter[str] = Counter()
    for record in records:
        yield place_of(record, counts[record.segment], parent), record
        counts[record.segment] += 1


def _pairs(
    a: list[tuple[Place, Record]], b: list[tuple[Place, Record]], digests: dict[int, bytes]
) -> list[tuple[int | None, int | None]]:
    """Return pairs of indices of matching records, in the order of ``a``; those only in ``b`` come last."""
    partner: dict[int, int] = {}
    free_a, free_b = list(range(len(a))), list(range(len(b)))
    for key_of in (
        lambda record: (type(record), digests[id(record)]),
        lambda record: (type(record), record.segment, _identity(record)),
        lambda record: (type(record), record.segment),
    ):
        free_by_key: dict[Hashable, deque[int]] = {}
        for index in free_b:
            free_by_key.setdefault(key_of(b[index][1]), deque()).append(index)
        unpaired: list[int] = []
        for index in free_a:
            candidates = free_by_key.get(key_of(a[index][1]))
            if candidates:
                partner[index] = candidates.popleft()
            else:
                unpaired.append(index)
        taken = set(partner.values())
        free_a, free_b = unpaired, [index for index in free_b if index not in taken]
    return [*((index, partner.get(index)) for index in range(len(a))), *((None, index) for index in free_b)]


def _identity(record: Record) -> Hashable:
    """Return the names and numbers that identify a record."""
    identifiers: list[Hashable] = []
    for candidate in (record, *record.children[:8]):
        for plan in candidate.plan.fields:
            if plan.name in _IDENTITY:
                value = getattr(candidate, plan.name)
                if isinstance(value, (bytes, int)):
                    identifiers.append(value)
    return tuple(identifiers)


def _digest(records: Sequence[Record], digests: dict[int, bytes]) -> None:
    """Compute a digest of every record with its children, from its text form, which contains every byte."""
    order: list[Record] = []
    stack = list(records)
    while stack:
        record = stack.pop()
        order.append(record)
        stack.extend(record.children)
    for record in reversed(order):
        digest = hashlib.blake2b(type(record).__name__.encode() + b"\0" + record.segment.encode(), digest_size=16)
        digest.update(json.dumps(_content_of(record)).encode())
        for child in record.children:
            digest.update(digests[id(child)])
        digests[id(record)] = digest.digest()


def _changed_fields(a: Record, b: Record) -> Iterator[FieldChange]:
    before, after = _content_of(a), _content_of(b)
    for name in dict.fromkeys([*before, *after]):
        value_a, value_b = before.get(name), after.get(name)
        if json.dumps(value_a) != json.dumps(value_b):
            yield _field_change(name, value_a, value_b)


def _content_of(record: Record) -> dict[str, object]:
    """Return all content of a record without its children: fields, other attributes and uninterpreted bytes."""
    content: dict[str, object] = dict(dump_fields(record))
    for name in extra_attributes(type(record)):
        content[name] = to_plain(getattr(record, name))
    if record.tail:
        content["tail"] = bytes_to_hex(record.tail)
    return content


def _field_change(name: str, a: object, b: object) -> FieldChange:
    if isinstance(a, list) and isinstance(b, list):
        entries = sum(1 for entry_a, entry_b in zip(a, b, strict=False) if entry_a != entry_b) + abs(len(a) - len(b))
        largest = _largest(a, b)
        return FieldChange(
            name, counted(len(a), "entry"), f"{counted(len(b), 'entry')}, {entries} different", entries, largest
        )
    return FieldChange(name, _short(a), _short(b))


def _largest(a: list[object], b: list[object]) -> float | None:
    """Return the largest difference of the numbers in two lists; None if their counts differ, or if it is 0 or not
    finite."""
    numbers_a, numbers_b = _numbers(a), _numbers(b)
    if len(numbers_a) != len(numbers_b) or not len(numbers_a):
        return None
    with np.errstate(all="ignore"):
        largest = float(np.nanmax(np.abs(numbers_a - numbers_b), initial=0.0))
    return largest if 0 < largest < np.inf else None


def _numbers(value: object) -> Floats:
    """Return all numbers in nested lists and objects, in order, without recursion."""
    numbers: list[float] = []
    stack: list[object] = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, list):
            stack.extend(reversed(part))
        elif isinstance(part, dict):
            stack.extend(reversed(list(part.values())))
        elif isinstance(part, (int, float)):
            numbers.append(float(part))
    return np.array(numbers)


def _plain(value: object) -> object:
    return None if value is None else _short(to_plain(value))


def _short(value: object) -> object:
    """Return numbers and None unchanged, other values as text of at most 200 characters."""
    if isinstance(value, bytes):
        value = bytes_to_hex(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:199]}…"
