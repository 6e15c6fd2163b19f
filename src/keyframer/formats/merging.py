"""Merge three trees of records: apply the changes of an edit to an original document, and nothing else.

*Ours* is the original document. *Base* is the document that the writer makes from the scene as it was read, *theirs*
the one that it makes from the edited scene. If base and theirs agree, ours stays unchanged to the byte. If they differ,
ours takes the field, the row of an array, the cell of a table or the bit of a flag word from theirs. Records that only
theirs has are inserted, if possible after records of the same kind; records that theirs no longer has are removed. Data
of ours that the writer never writes is kept.

Records are matched by their scene part, else by the `RecordRules` of the format.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Flags, Ints
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import CannotMerge
from keyframer.wire.record import Raw, Record

Parts = Mapping[int, Hashable]
"""the scene part of each record, by the record's `id`"""
Key = tuple[object, Hashable, int]
"""kind and name of a record, and its index among the siblings with both"""


class ColumnTable(Protocol):
    """Keys as columns of equal length; ``time`` identifies the rows."""

    def columns(self) -> dict[str, Array]: ...

    def with_columns(self, columns: Mapping[str, Array]) -> ColumnTable: ...


class FrameTable:
    """A table with a row for every frame, as named columns of 32-bit floats.

    During a merge it replaces an array whose columns belong to different nodes. Each format defines the names: a node,
    a node and a component …
    """

    def __init__(self, named: Mapping[Any, npt.ArrayLike], origins: Ints) -> None:
        self.named = {name: np.asarray(column, "<f4") for name, column in named.items()}
        self.origins = origins
        """for each row the number of the same row in the original, or of the nearest one"""

    def columns(self) -> dict[Any, Array]:
        return {"time": self.origins, **self.named}

    def with_columns(self, columns: Mapping[Any, Array]) -> FrameTable:
        return FrameTable({name: column for name, column in columns.items() if name != "time"}, columns["time"])


def _is_table(value: Any) -> bool:
    return hasattr(value, "with_columns")


class RecordRules:
    """How the records of a format are matched and merged; a format with other rules has a subclass."""

    flags: ClassVar[Mapping[tuple[type[Record], str], int]] = {}
    """fields that are merged bit by bit, and which column has the flags: 0 for a number or an array of one column"""
    copied: ClassVar[Collection[object]] = ()
    """kinds of which a record may contain several equal copies"""
    outside: ClassVar[Collection[object]] = ()
    """kinds that may also be siblings of the record that they belong to"""

    def kind(self, record: Record) -> object:
        """Return the kind of a record; records of different kinds never match."""
        return type(record)

    def key(self, record: Record) -> Hashable:
        """Return a key that distinguishes records of one kind in one parent, besides their order."""
        return None

    def adapt(self, theirs: Record, ours: Record) -> Record:
        """Return ``theirs`` converted to the type of ``ours``, a record of the same kind; unchanged if that is not
        possible.
        """
        return theirs

    def corresponds(self, ours: Record, base: Record) -> bool:
        """Return whether two records have the same rows.

        If not, and any field has changed, all fields are taken from theirs.
        """
        return True

    def update_dependent_fields(self, record: Record) -> None:
        """Update fields that depend on changed fields or children of a record."""

    def place(self, parent: Record | None, siblings: Sequence[Record], new: Record) -> int | None:
        """Return the index for a new record that has no siblings of its kind.

        None means that it is inserted after the records that it follows in theirs.
        """
        return None


class Tree(NamedTuple):
    """A document, and the scene part of each of its records."""

    document: Document
    parts: Parts


def merge(ours: Tree, base: Tree, theirs: Tree, rules: RecordRules) -> Tree:
    """Return the document of ``ours`` with the differences between ``base`` and ``theirs``.

    Unchanged records are shared.
    """
    work = _Merge(rules, {**ours.parts, **base.parts, **theirs.parts})
    records = work.merge_children(None, ours.document.records, base.document.records, theirs.document.records, [])
    return Tree(replace(ours.document, records=records), work.parts)


class _Merge:
    """One merge: the rules of the format, and the scene part of each record."""

    def __init__(self, rules: RecordRules, parts: dict[int, Hashable]) -> None:
        self.rules = rules
        self.parts = parts
        self.substitutes: dict[int, Record | None] = {}
        """replacements of records that are siblings of the record they belong to, by `id`"""

    def merge_children(
        self,
        parent: Record | None,
        ours: Sequence[Record],
        base: Sequence[Record],
        theirs: Sequence[Record],
        parent_siblings: Sequence[Record],
    ) -> list[Record]:
        """Return the merged children of one parent.

        ``parent_siblings`` are the siblings of the parent; some may belong to the parent (see `RecordRules.outside`).
        """
        if not base and not theirs:
            return ours  # type: ignore[return-value]  # an empty tuple stands for no children
        base_by_key, theirs_by_key = self._by_key(base), self._by_key(theirs)
        single = {  # one copy in base and theirs stands for all copies in ours
            kind
            for kind in self.rules.copied
            if all(key[0] != kind or key[2] == 0 for key in (*base_by_key, *theirs_by_key))
        }
        our_places = self._places(ours, single)
        outside = [record for record in parent_siblings if self.rules.kind(record) in self.rules.outside]
        outside_places = self._places(outside, single)
        merged_records: dict[int, Record | None] = {}
        added: list[Record] = []
        for key, record in theirs_by_key.items():
            old = base_by_key.get(key)
            for place in our_places.get(key, ()):
                merged_records[place] = self.merge_record(ours[place], old, record, ours)
            if key in our_places or (old is not None and self.same(old, record)):
                continue
            for place in outside_places.get(key, ()):
                self.substitutes[id(outside[place])] = self.merge_record(outside[place], old, record, ())
            if key not in outside_places:
                added.append(record)
        for key in base_by_key.keys() - theirs_by_key.keys():
            merged_records |= dict.fromkeys(our_places.get(key, ()))
            self.substitutes |= {id(outside[place]): None for place in outside_places.get(key, ())}
        merged_records |= {
            place: self.substitutes[id(our)] for place, our in enumerate(ours) if id(our) in self.substitutes
        }
        if not added and all(record is ours[place] for place, record in merged_records.items()):
            return ours  # type: ignore[return-value]
        merged = [(self.rules.kind(record), merged_records.get(place, record)) for place, record in enumerate(ours)]
        for record in added:
            self._insert(parent, merged, record, theirs)
        return [record for _, record in merged if record is not None]

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

    def _places(self, records: Sequence[Record], single: Collection[object]) -> dict[Key, list[int]]:
        places: dict[Key, list[int]] = {}
        for place, (kind, name, number) in enumerate(self._keys(records)):
            places.setdefault((kind, name, 0 if kind in single else number), []).append(place)
        return places

    def _insert(
        self,
        parent: Record | None,
        merged: list[tuple[object, Record | None]],
        new: Record,
        theirs: Sequence[Record],
    ) -> None:
        """Insert a new record after the last record of its kind, removed or not.

        If there is none, the rules of the format decide, or else the records that it follows in theirs.
        """
        kind = self.rules.kind(new)
        place = max((i + 1 for i, (other, _) in enumerate(merged) if other == kind), default=None)
        if place is None:
            remaining = [(i, record) for i, (_, record) in enumerate(merged) if record is not None]
            chosen = self.rules.place(parent, [record for _, record in remaining], new)
            if chosen is None:
                preceding_kinds = {
                    self.rules.kind(record) for record in itertools.takewhile(lambda record: record is not new, theirs)
                }
                place = max((i + 1 for i, (other, _) in enumerate(merged) if other in preceding_kinds), default=0)
            else:
                place = remaining[chosen][0] if chosen < len(remaining) else len(merged)
        merged.insert(place, (kind, new))

    def merge_record(self, ours: Record, base: Record | None, theirs: Record, siblings: Sequence[Record]) -> Record:
        """Return the merged record: ``ours`` itself if nothing changed, values of ``theirs`` if ``base`` is None."""
        if base is not None and type(base) is not type(theirs):
            base = None
        if type(ours) is not type(theirs):
            if base is not None and self.same(base, theirs):
                return ours
            theirs, base = self.rules.adapt(theirs, ours), None
            if type(ours) is not type(theirs):
                merged = copy.copy(theirs)
                merged.children = [*theirs.children, *(child for child in ours.children if isinstance(child, Raw))]
                return merged
        fields: dict[str, Any] = {}
        for plan in ours.plan.fields:
            stored, new = getattr(ours, plan.name), getattr(theirs, plan.name)
            old = stored if base is None else getattr(base, plan.name)
            if not equal(old, new):
                fields[plan.name] = self._merged_value(ours, plan.name, stored, old, new)
        if fields and base is not None and not self.rules.corresponds(ours, base):
            fields = {plan.name: getattr(theirs, plan.name) for plan in ours.plan.fields}
        base_children = () if base is None else base.children
        children = self.merge_children(ours, ours.children, base_children, theirs.children, siblings)
        if not fields and children is ours.children:
            return ours
        merged = copy.copy(ours)
        if id(ours) in self.parts:
            self.parts[id(merged)] = self.parts[id(ours)]
        merged.children = children
        for name, value in fields.items():
            setattr(merged, name, value)
        self.rules.update_dependent_fields(merged)
        return merged

    def _merged_value(self, record: Record, name: str, ours: Any, base: Any, theirs: Any) -> Any:
        flags = self.rules.flags
        column = next((flags[kind, name] for kind in type(record).__mro__ if (kind, name) in flags), None)
        if isinstance(theirs, np.ndarray) and isinstance(ours, np.ndarray) and isinstance(base, np.ndarray):
            return merge_rows(ours, base, theirs, column)
        if column is not None:
            return ours ^ base ^ theirs
        if _is_table(theirs):
            return merge_tables(ours, base, theirs)
        return theirs

    def same(self, a: Record, b: Record) -> bool:
        """Return whether two records are equal, including their children."""
        return (
            type(a) is type(b)
            and len(a.children) == len(b.children)
            and all(equal(getattr(a, plan.name), getattr(b, plan.name)) for plan in a.plan.fields)
            and all(self.same(child_a, child_b) for child_a, child_b in zip(a.children, b.children, strict=True))
        )


def equal(a: Any, b: Any) -> bool:
    """Return whether two values of a field are equal; NaN equals NaN."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.shape(a) == np.shape(b) and not _differs(np.asarray(a), np.asarray(b)).any()
    if _is_table(a) and _is_table(b):
        columns_a, columns_b = a.columns(), b.columns()
        return columns_a.keys() == columns_b.keys() and all(
            equal(columns_a[name], columns_b[name]) for name in columns_a
        )
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b) or (a != a and b != b)  # NaN


def _differs(a: Array, b: Array) -> Flags:
    """Return which rows differ."""
    different = a != b
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        different &= ~(np.isnan(a) & np.isnan(b))
    return np.asarray(different.any(axis=tuple(range(1, a.ndim))) if a.ndim else different.reshape(1))


def merge_rows(ours: Array, base: Array, theirs: Array, flag_column: int | None = None) -> Array:
    """Return an array with the rows of ours where base and theirs agree, and those of theirs elsewhere.

    All rows are those of theirs if ours and base have different shapes, or theirs has another number of columns. In
    rows that otherwise agree, the bits of the column ``flag_column`` are merged one by one.
    """
    if ours.shape != base.shape or ours.shape[1:] != theirs.shape[1:]:
        return theirs
    merged = np.array(theirs, ours.dtype, order="C")
    common = min(len(base), len(theirs))
    if not common:
        return merged
    stored, old, new, rows = (table[:common].reshape(common, -1) for table in (ours, base, theirs, merged))
    compared: Any = slice(None) if flag_column is None else np.arange(new.shape[1]) != flag_column
    unchanged = np.flatnonzero(~_differs(old[:, compared], new[:, compared]))
    rows[unchanged] = stored[unchanged]
    if flag_column is not None:
        rows[unchanged, flag_column] = (stored ^ old ^ new)[unchanged, flag_column]
    return merged


def merge_tables(ours: ColumnTable, base: ColumnTable, theirs: ColumnTable) -> ColumnTable:
    """Return a table with the cells of ours where base and theirs agree, and those of theirs elsewhere.

    Rows of frames are matched by their origins, keys by order or time (see `_rows_in_base`). All cells are those of
    theirs if ours and base have different numbers of rows. Raises `CannotMerge` if new keys have no value for a column
    that only ours has.
    """
    our_columns, base_columns, their_columns = ours.columns(), base.columns(), theirs.columns()
    if len(our_columns["time"]) != len(base_columns["time"]):
        return theirs
    if isinstance(theirs, FrameTable):
        rows: npt.NDArray[Any] = theirs.origins
    else:
        rows = _rows_in_base(base_columns["time"], their_columns["time"])
    matched = rows >= 0
    columns: dict[str, Array] = {}
    for name in dict.fromkeys((*our_columns, *their_columns)):
        if name in base_columns and name not in their_columns:
            continue
        if name not in their_columns:
            if not matched.all():
                raise CannotMerge(f"new keys have no {name}, but the original keys do")
            columns[name] = our_columns[name][rows]
            continue
        new = their_columns[name]
        if name not in our_columns and name in base_columns and equal(base_columns[name][rows], new):
            continue
        columns[name] = np.array(new)
        if name not in our_columns:
            continue
        stored, old = our_columns[name][rows[matched]], base_columns.get(name, our_columns[name])[rows[matched]]
        if name == "flags":
            columns[name][matched] = stored ^ old ^ new[matched]
        else:
            unchanged = ~_differs(old, new[matched])
            columns[name][np.flatnonzero(matched)[unchanged]] = stored[unchanged]
    return ours.with_columns(columns)


def _rows_in_base(base: Array, theirs: Array) -> npt.NDArray[np.intp]:
    """Return for each key of theirs its row in base, -1 for a new key.

    Keys are matched by order if their number is the same, else by time.
    """
    if len(base) == len(theirs):
        return np.arange(len(theirs))
    rows: dict[Any, int] = {}
    for row, time in enumerate(base.tolist()):
        rows.setdefault(time, row)
    return np.array([rows.pop(time, -1) for time in theirs.tolist()], np.intp)
