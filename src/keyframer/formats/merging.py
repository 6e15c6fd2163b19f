"""Write an edit into an original document: what did not change keeps its records, to the byte.

*Ours* is the original document. The writer of the format writes the scene as it was read (*base*) and as it is now
(*theirs*), both with the conventions of the original. A record that is the same in both did not change: that of ours
stays. A changed record takes its new fields from theirs. Children take the place of their like; new records go behind
records of their kind; records that theirs no longer has are removed. Records, bits of flags and trailing bytes that the
writer never writes are data that scenes do not model: they stay where they are.

Records correspond if they store the same part of the scene, else by the `RecordRules` of the format.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keyframer.arrays import Array
from keyframer.formats.document import Document
from keyframer.wire.record import Raw, Record

Parts = Mapping[int, Hashable]
"""the scene part of each record, by the record's `id`"""
Key = tuple[object, Hashable, int]
"""kind and name of a record, and its index among the siblings with both"""


class RecordRules:
    """How the records of a format correspond; a format with other rules has a subclass."""

    flags: ClassVar[Mapping[tuple[type[Record], str], int]] = {}
    """fields with bits that scenes do not model, and which column has the flags: 0 for a number or an array of one
    column
    """
    copied: ClassVar[Collection[object]] = ()
    """kinds of which a record may contain several equal copies"""

    def kind(self, record: Record) -> object:
        """Return the kind of a record; records of different kinds never correspond."""
        return type(record)

    def key(self, record: Record) -> Hashable:
        """Return a key that distinguishes records of one kind in one parent, besides their order."""
        return None

    def adapt(self, theirs: Record, ours: Record) -> Record:
        """Return ``theirs`` converted to the type of ``ours``, a record of the same kind; unchanged if that is not
        possible.
        """
        return theirs

    def update_dependent_fields(self, record: Record, ours: Record) -> None:
        """Update fields that depend on changed fields or children of a record, which was ``ours``."""

    def place(self, parent: Record | None, siblings: Sequence[Record], new: Record) -> int | None:
        """Return the index for a new record that has no siblings of its kind.

        None means that it is inserted after the records that it follows in theirs.
        """
        return None


class Tree(NamedTuple):
    """A document, and the scene part of each of its records."""

    document: Document
    parts: Parts


class Edited(NamedTuple):
    """An original document with an edit."""

    document: Document
    changed: Collection[Hashable]
    """scene parts with changed, new or removed records; None stands for records that belong to no part"""


def apply_changes(ours: Tree, base: Tree, theirs: Tree, rules: RecordRules) -> Edited:
    """Return the document of ``ours`` with the records that differ between ``base`` and ``theirs``.

    Unchanged records are shared.
    """
    work = _Edit(rules, {**ours.parts, **base.parts, **theirs.parts})
    records = work.children(None, None, ours.document.records, base.document.records, theirs.document.records)
    return Edited(replace(ours.document, records=records), work.changed)


class _Edit:
    def __init__(self, rules: RecordRules, parts: dict[int, Hashable]) -> None:
        self.rules = rules
        self.parts = parts
        self.changed: set[Hashable] = set()

    def children(
        self,
        parent: Record | None,
        part: Hashable,
        ours: Sequence[Record],
        base: Sequence[Record],
        theirs: Sequence[Record],
    ) -> list[Record]:
        """Return the edited children of one parent, which belongs to a scene part."""
        if not base and not theirs:
            return ours  # type: ignore[return-value]  # an empty tuple stands for no children
        base_by_key, theirs_by_key = self._by_key(base), self._by_key(theirs)
        places = self._places(ours, [*base_by_key, *theirs_by_key])
        edited: dict[int, Record | None] = {}
        added: list[Record] = []
        for key, record in theirs_by_key.items():
            old = base_by_key.get(key)
            for place in places.get(key, ()):
                edited[place] = self.record(ours[place], old, record, part)
            if key not in places and (old is None or not same(old, record)):
                added.append(record)
                self._mark(record, part)
        for key in base_by_key.keys() - theirs_by_key.keys():
            edited |= dict.fromkeys(places.get(key, ()))
            self._mark(base_by_key[key], part)
        if not added and all(record is ours[place] for place, record in edited.items()):
            return ours  # type: ignore[return-value]
        merged = [(self.rules.kind(record), edited.get(place, record)) for place, record in enumerate(ours)]
        self._insert(parent, merged, added, theirs)
        return [record for _, record in merged if record is not None]

    def _places(self, ours: Sequence[Record], keys: Sequence[Key]) -> dict[Key, list[int]]:
        """Return where each key is among ours. One copy in base and theirs stands for all copies in ours."""
        single = {kind for kind in self.rules.copied if all(key[0] != kind or key[2] == 0 for key in keys)}
        places: dict[Key, list[int]] = {}
        for place, (kind, name, number) in enumerate(self._keys(ours)):
            places.setdefault((kind, name, 0 if kind in single else number), []).append(place)
        return places

    def _insert(
        self,
        parent: Record | None,
        merged: list[tuple[object, Record | None]],
        added: Sequence[Record],
        theirs: Sequence[Record],
    ) -> None:
        """Insert new records behind their like; all of a kind stay together."""
        added_by_kind: dict[object, list[Record]] = {}
        for record in added:
            added_by_kind.setdefault(self.rules.kind(record), []).append(record)
        for kind, new in added_by_kind.items():
            place = self._place(parent, merged, kind, new[0], theirs)
            merged[place:place] = [(kind, record) for record in new]

    def _mark(self, record: Record, parent_part: Hashable) -> None:
        """Mark the parts of a record that came or went, and of its parent: a list of faces belongs to its material."""
        self.changed.add(self.parts.get(id(record), parent_part))
        if parent_part is not None:
            self.changed.add(parent_part)

    def _by_key(self, records: Sequence[Record]) -> dict[Key, Record]:
        return dict(zip(self._keys(records), records, strict=True))

    def _keys(self, records: Sequence[Record]) -> list[Key]:
        counts: Counter[tuple[object, Hashable]] = Counter()
        keys = []
        for record in records:
            name = self.rules.kind(record), self.parts.get(id(record)) or self.rules.key(record)
            keys.append((*name, counts[name]))
            counts[name] += 1
        return keys

    def _place(
        self,
        parent: Record | None,
        merged: list[tuple[object, Record | None]],
        kind: object,
        new: Record,
        theirs: Sequence[Record],
    ) -> int:
        """Return the index for new records of a kind: after the last one of their kind, removed or not.

        If there is none, the rules of the format decide, or else the records that ``new`` follows in theirs.
        """
        after_kind = max((i + 1 for i, (other, _) in enumerate(merged) if other == kind), default=0)
        if after_kind:
            return after_kind
        remaining = [(i, record) for i, (_, record) in enumerate(merged) if record is not None]
        chosen = self.rules.place(parent, [record for _, record in remaining], new)
        if chosen is None:
            preceding_kinds = {
                self.rules.kind(record) for record in itertools.takewhile(lambda record: record is not new, theirs)
            }
            return max((i + 1 for i, (other, _) in enumerate(merged) if other in preceding_kinds), default=0)
        return remaining[chosen][0] if chosen < len(remaining) else len(merged)

    def record(self, ours: Record, base: Record | None, theirs: Record, part: Hashable) -> Record:
        """Return ours with the changes from base to theirs: ours itself if nothing changed."""
        part = self.parts.get(id(theirs), part)
        if base is not None and type(base) is not type(theirs):
            base = None
        if type(ours) is not type(theirs):
            if base is not None and same(base, theirs):
                return ours
            theirs, base = self.rules.adapt(theirs, ours), None
            if type(ours) is not type(theirs):
                self.changed.add(part)
                written = copy.copy(theirs)
                written.children = [*theirs.children, *(child for child in ours.children if isinstance(child, Raw))]
                return written
        fields = self._changed_fields(ours, ours if base is None else base, theirs)
        children = self.children(ours, part, ours.children, () if base is None else base.children, theirs.children)
        if not fields and children is ours.children:
            return ours
        if fields:
            self.changed.add(part)
        written = copy.copy(ours)
        written.children = children
        for name, value in fields.items():
            setattr(written, name, value)
        self.rules.update_dependent_fields(written, ours)
        return written

    def _changed_fields(self, ours: Record, base: Record, theirs: Record) -> dict[str, Any]:
        """Return the new values of changed fields.

        If the tables of ours have other rows than those of base, they are all rewritten: rows refer to each other.
        """
        names = [plan.name for plan in ours.plan.fields]
        changed = [name for name in names if not equal(getattr(base, name), getattr(theirs, name))]
        if changed and any(_shape(getattr(ours, name)) != _shape(getattr(base, name)) for name in names):
            changed += [name for name in names if _shape(getattr(theirs, name)) and name not in changed]
        return {name: self._value(ours, base, theirs, name) for name in changed}

    def _value(self, ours: Record, base: Record, theirs: Record, name: str) -> Any:
        """Return the new value of a field: that of theirs, with the bits of ours that scenes do not model."""
        stored, old, new = getattr(ours, name), getattr(base, name), getattr(theirs, name)
        flags = self.rules.flags
        column = next((flags[kind, name] for kind in type(ours).__mro__ if (kind, name) in flags), None)
        if column is None or _shape(stored) != _shape(old) or _shape(old)[1:] != _shape(new)[1:]:
            return new
        if not isinstance(new, np.ndarray):
            return stored ^ old ^ new
        merged = np.array(new, stored.dtype)
        count = min(len(old), len(new))
        stored, old, rows = (table[:count].reshape(count, -1) for table in (stored, old, merged))
        others = np.arange(rows.shape[1]) != column
        in_place = (old[:, others] == rows[:, others]).all(axis=1)
        rows[in_place, column] ^= (stored ^ old)[in_place, column].astype(merged.dtype)
        return merged


def same(a: Record, b: Record) -> bool:
    """Return whether two records are equal, including their children."""
    return (
        type(a) is type(b)
        and len(a.children) == len(b.children)
        and all(equal(getattr(a, plan.name), getattr(b, plan.name)) for plan in a.plan.fields)
        and all(same(child_a, child_b) for child_a, child_b in zip(a.children, b.children, strict=True))
    )


def equal(a: Any, b: Any) -> bool:
    """Return whether two values of a field are equal; NaN equals NaN."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and _same_numbers(np.asarray(a), np.asarray(b))
    if hasattr(a, "columns") and hasattr(b, "columns"):
        columns_a, columns_b = a.columns(), b.columns()
        return columns_a.keys() == columns_b.keys() and all(
            equal(columns_a[name], columns_b[name]) for name in columns_a
        )
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b) or (a != a and b != b)  # NaN


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, the number of rows of a table of keys, and () for other values."""
    if hasattr(value, "columns"):
        return (len(value),)
    return value.shape if isinstance(value, np.ndarray) else ()


def _same_numbers(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f"))
