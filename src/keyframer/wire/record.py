"""Records: a plain dataclass whose fields carry wire types, and a plan made once from them.

The plan groups neighbouring numbers into one `struct.Struct`; four small interpreters walk it: `read_fields`,
`write_fields`, `dump_fields` (with `restore_fields` back) and `describe_fields`.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, ClassVar, Protocol, TypeVar, cast, dataclass_transform

import numpy as np

from keyframer.catalogue import STRUCT_NOT_REPRODUCIBLE
from keyframer.wire.cursor import Cursor
from keyframer.wire.kinds import Kind, Numbers
from keyframer.wire.sink import Sink
from keyframer.wire.style import Style


@dataclass(slots=True, eq=False, kw_only=True, repr=False)
class Record:
    """A piece of a file: its declared fields, the records inside it in file order, and the bytes nobody claimed.

    ``offset`` is where it began in the file it was read from (None for a record made by hand).
    """

    plan: ClassVar[Plan]
    repeats: ClassVar[bool] = False
    """it is normal to have several in one parent: paths always show which"""

    children: list[Record] = field(default_factory=list, repr=False)
    tail: bytes = field(default=b"", repr=False)
    offset: int | None = field(default=None, repr=False)

    @property
    def segment(self) -> str:
        """What this record is called in paths."""
        return type(self).__name__.lower()

    @property
    def numbered(self) -> bool:
        """Whether its paths show a number even where it is the only one."""
        return self.repeats

    def __repr__(self) -> str:
        fields = [f"{plan.name}={short_repr(getattr(self, plan.name))}" for plan in self.plan.fields]
        fields += [f"{len(self.children)} inside"] if self.children else []
        fields += [f"{len(self.tail)} bytes behind"] if self.tail else []
        return f"{type(self).__name__}({', '.join(fields)})"


def short_repr(value: object) -> str:
    """One short line, however long the value is."""
    if isinstance(value, np.ndarray):
        return f"<array {'x'.join(map(str, value.shape))} {value.dtype}>"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


NO_CHILDREN = cast("list[Record]", ())
"""The children of records that were read and cannot have any: one empty tuple for all saves a list for each."""

R = TypeVar("R", bound=Record)


class Raw:
    """What a record that is kept as bytes has: the bytes, and the code of the issue that says why (empty if made by
    hand)."""

    __slots__ = ()

    data: bytes
    reason: str


@dataclass_transform(kw_only_default=False)
def record(cls: type[R]) -> type[R]:
    """Class decorator: make the declaration a dataclass with slots, and its plan."""
    made = dataclass(slots=True, eq=False, repr=False)(cls)
    made.plan = Plan(made)
    return made


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One declared field."""

    name: str
    kind: Kind
    words: str
    when: Callable[[Any], bool] | None


class Step(Protocol):
    """Part of a plan: one or more neighbouring fields."""

    def read(self, cursor: Cursor, target: Any) -> None: ...

    def write(self, sink: Sink, source: Any) -> None: ...


class NumberRun:
    """Neighbouring numbers, read and written with one struct."""

    __slots__ = ("claims", "counts", "exact", "layout", "names", "single", "spans")

    def __init__(self, fields: list[FieldPlan], counts: dict[str, list[FieldPlan]]) -> None:
        kinds = [cast(Numbers, plan.kind) for plan in fields]
        self.names = [plan.name for plan in fields]
        self.spans = [kind.count for kind in kinds]
        self.layout = struct.Struct(kinds[0].order + "".join(kind.struct_code for kind in kinds))
        self.exact = not any(kind.is_float for kind in kinds)
        self.single = all(span is None for span in self.spans)
        self.counts = {name: counts[name] for name in self.names if name in counts}
        starts = accumulate((kind.minimum for kind in kinds), initial=0)
        self.claims = [(name, at) for name, at in zip(self.names, starts, strict=False) if name in counts]

    def read(self, cursor: Cursor, target: Any) -> None:
        start = cursor.pos
        values = cursor.unpack(self.layout, self.names[0])
        if not self.exact and self.layout.pack(*values) != cursor.data[start : cursor.pos]:
            cursor.fail(STRUCT_NOT_REPRODUCIBLE, self.names[0], start)
        for name, at in self.claims:
            cursor.remember_claim(name, start + at)
        if len(self.names) == 1:
            setattr(target, self.names[0], values[0] if self.single else values)
            return
        if self.single:
            for name, value in zip(self.names, values, strict=True):
                setattr(target, name, value)
            return
        at = 0
        for name, span in zip(self.names, self.spans, strict=True):
            if span is None:
                setattr(target, name, values[at])
                at += 1
            else:
                setattr(target, name, values[at : at + span])
                at += span

    def write(self, sink: Sink, source: Any) -> None:
        values: list[Any] = []
        for name, span in zip(self.names, self.spans, strict=True):
            value: Any = self._count(source, name) if name in self.counts else getattr(source, name)
            if span is None:
                values.append(value)
                continue
            try:
                numbers = tuple(value)
            except TypeError:
                raise ValueError(f"{type(source).__name__}.{name}: {span} numbers are wanted, not {value!r}") from None
            if len(numbers) != span:
                raise ValueError(f"{type(source).__name__}.{name}: {span} numbers are wanted, not {len(numbers)}")
            values.extend(numbers)
        try:
            sink.write(self.layout.pack(*values))
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{type(source).__name__}: {', '.join(self.names)}: {error}") from None

    def _count(self, source: Any, name: str) -> int:
        """A count is what its arrays hold, whatever the field says."""
        present = [plan for plan in self.counts[name] if plan.when is None or plan.when(source)]
        arrays = {plan.name: getattr(source, plan.name) for plan in present}
        lengths = {other: len(array) for other, array in arrays.items() if array is not None}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{type(source).__name__}: {name} cannot count arrays of different lengths {lengths}")
        return next(iter(lengths.values()), getattr(source, name))


class OneField:
    """A field of any other kind, maybe behind a condition."""

    __slots__ = ("kind", "name", "when")

    def __init__(self, plan: FieldPlan) -> None:
        self.name, self.kind, self.when = plan.name, plan.kind, plan.when

    def read(self, cursor: Cursor, target: Any) -> None:
        if self.when is not None and not self.when(target):
            setattr(target, self.name, self.kind.default())
            return
        setattr(target, self.name, self.kind.read(cursor, target, self.name))

    def write(self, sink: Sink, source: Any) -> None:
        if self.when is not None and not self.when(source):
            return
        try:
            self.kind.write(sink, getattr(source, self.name), source)
        except (ValueError, TypeError, OverflowError, struct.error) as error:
            raise ValueError(f"{type(source).__name__}.{self.name}: {error}") from None


class Plan:
    """What a declaration says, worked out once (and once more for each other style that files come in)."""

    __slots__ = ("fields", "minimum", "steps", "variants")

    def __init__(self, cls: type[Record]) -> None:
        self._settle(
            [
                FieldPlan(item.name, item.metadata["kind"], item.metadata["words"], item.metadata["when"])
                for item in dataclasses.fields(cls)
                if "kind" in item.metadata
            ]
        )

    def _settle(self, fields: list[FieldPlan]) -> None:
        self.fields = fields
        self.minimum = sum(plan.kind.minimum for plan in fields if plan.when is None)
        self.steps = self._group(fields)
        self.variants: dict[Style, Plan] = {}

    def adapted(self, style: Style) -> Plan:
        """The plan for files of this style; give it to `read_fields` and `write_fields`."""
        plan = self.variants.get(style)
        if plan is None:
            plan = Plan.__new__(Plan)
            plan._settle([dataclasses.replace(one, kind=one.kind.adapted(style)) for one in self.fields])
            self.variants[style] = plan
        return plan

    @staticmethod
    def _group(fields: list[FieldPlan]) -> list[Step]:
        counts: dict[str, list[FieldPlan]] = {}
        for plan in fields:
            if plan.kind.counted_by is not None:
                counts.setdefault(plan.kind.counted_by, []).append(plan)
        steps: list[Step] = []
        run: list[FieldPlan] = []
        for plan in fields:
            if isinstance(plan.kind, Numbers) and plan.when is None:
                run.append(plan)
                continue
            if run:
                steps.append(NumberRun(run, counts))
                run = []
            steps.append(OneField(plan))
        if run:
            steps.append(NumberRun(run, counts))
        return steps


def read_fields(target: Record, cursor: Cursor, plan: Plan | None = None) -> None:
    """Fill the declared fields from the cursor; `FormatError` says where it failed. ``plan``: see `Plan.adapted`."""
    for step in (plan or target.plan).steps:
        step.read(cursor, target)


def write_fields(source: Record, sink: Sink, plan: Plan | None = None) -> None:
    """Write the declared fields; ValueError names a value that does not fit its field."""
    for step in (plan or source.plan).steps:
        step.write(sink, source)


def dump_fields(source: Record) -> dict[str, object]:
    """The declared fields as JSON values, in order; fields whose condition is not met are left out."""
    return {
        plan.name: plan.kind.dump(getattr(source, plan.name), source)
        for plan in source.plan.fields
        if plan.when is None or plan.when(source)
    }


def restore_fields(target: Record, values: dict[str, object]) -> None:
    """Set the declared fields from JSON values; ValueError names the field that is missing, unknown or wrong."""
    unknown = set(values) - {plan.name for plan in target.plan.fields}
    if unknown:
        raise FieldError(min(unknown), "unknown field")
    for plan in target.plan.fields:
        if plan.when is not None and not plan.when(target):
            if plan.name in values:
                raise FieldError(plan.name, "the fields before it rule it out")
            continue
        if plan.name not in values:
            raise FieldError(plan.name, "missing")
        try:
            setattr(target, plan.name, plan.kind.restore(values[plan.name], target))
        except ValueError as error:
            raise FieldError(plan.name, str(error)) from None


class FieldError(ValueError):
    """A value of a text twin that does not fit its field."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """A row of a documentation table."""

    name: str
    type: str
    words: str


def describe_fields(cls: type[Record]) -> list[FieldDescription]:
    return [
        FieldDescription(
            plan.name, plan.kind.type_name + (" (conditional)" if plan.when is not None else ""), plan.words
        )
        for plan in cls.plan.fields
    ]
