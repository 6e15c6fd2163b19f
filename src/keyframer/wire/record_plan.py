"""The plan of a record, made once from its declaration.

Adjacent numbers become one `struct.Struct`. Each step writes its fields, and generates the lines that read them (see
`reader_source`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol, cast

from keyframer.text import counted
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import Attribute, Kind, Numbers
from keyframer.wire.reader_source import Reader, Source
from keyframer.wire.sink import Sink


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """One declared field."""

    name: str
    kind: Kind
    description: str
    when: Callable[[Any], bool] | None


class Step(Protocol):
    """A part of a plan: one or more adjacent fields."""

    def write(self, sink: Sink, record: Any) -> None: ...

    def generate_read(self, source: Source) -> None:
        """Generate code that reads these fields."""


class NumberRun:
    """Adjacent numbers, read and written with one struct."""

    __slots__ = ("count_offsets", "counts", "exact", "layout", "names", "single", "spans")

    def __init__(self, fields: list[FieldPlan], counts: dict[str, list[FieldPlan]]) -> None:
        kinds = [cast(Numbers, plan.kind) for plan in fields]
        self.names = [plan.name for plan in fields]
        self.spans = [kind.count for kind in kinds]
        self.layout = struct.Struct(kinds[0].order + "".join(kind.struct_code for kind in kinds))
        self.exact = not any(kind.is_float for kind in kinds)
        self.single = all(span is None for span in self.spans)
        self.counts = {name: counts[name] for name in self.names if name in counts}
        starts = accumulate((kind.minimum for kind in kinds), initial=0)
        self.count_offsets = [(name, at) for name, at in zip(self.names, starts, strict=False) if name in counts]

    def generate_read(self, source: Source) -> None:
        for name, at in self.count_offsets:
            source.count_offsets[name] = source.name(name)
            source.add(f"{source.count_offsets[name]} = pos + {at}")
        source.unpack(self.layout, self.names[0], floats=not self.exact)
        if self.single:
            source.add(f"{''.join(f'record.{name}, ' for name in self.names)} = values")
            return
        ends = list(accumulate((span or 1 for span in self.spans), initial=0))
        for name, span, start, stop in zip(self.names, self.spans, ends, ends[1:], strict=False):
            all_values = start == 0 and stop == ends[-1]
            expression = f"values[{start}]" if span is None else "values" if all_values else f"values[{start}:{stop}]"
            source.set(name, expression)

    def write(self, sink: Sink, record: Any) -> None:
        values: list[Any] = []
        for name, span in zip(self.names, self.spans, strict=True):
            value: Any = self._count(record, name) if name in self.counts else getattr(record, name)
            if span is None:
                values.append(value)
                continue
            try:
                numbers = tuple(value)
            except TypeError:
                raise ValueError(
                    f"{type(record).__name__}.{name}: expected {counted(span, 'number')}, not {value!r}"
                ) from None
            if len(numbers) != span:
                raise ValueError(
                    f"{type(record).__name__}.{name}: expected {counted(span, 'number')}, not {len(numbers)}"
                )
            values.extend(numbers)
        try:
            sink.write(self.layout.pack(*values))
        except (struct.error, OverflowError) as error:
            raise ValueError(f"{type(record).__name__}: {', '.join(self.names)}: {error}") from None

    def _count(self, record: Any, name: str) -> int:
        """Return the value to write for a count field: the length of its arrays, or its own value if there are none."""
        present = [plan for plan in self.counts[name] if plan.when is None or plan.when(record)]
        arrays = {plan.name: getattr(record, plan.name) for plan in present}
        lengths = {array_name: len(array) for array_name, array in arrays.items() if array is not None}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{type(record).__name__}: {name} cannot count arrays of different lengths {lengths}")
        return next(iter(lengths.values()), getattr(record, name))


class OneField:
    """A field that is not part of a `NumberRun`, with an optional condition."""

    __slots__ = ("kind", "name", "when")

    def __init__(self, plan: FieldPlan) -> None:
        self.name, self.kind, self.when = plan.name, plan.kind, plan.when

    def generate_read(self, source: Source) -> None:
        if self.when is None:
            self.kind.generate_read(source, self.name)
            return
        source.open_condition(self.when)
        self.kind.generate_read(source, self.name)
        source.close_condition(self.name, self.kind)

    def write(self, sink: Sink, record: Any) -> None:
        if self.when is not None and not self.when(record):
            return
        try:
            self.kind.write(sink, getattr(record, self.name), record)
        except (ValueError, TypeError, OverflowError, struct.error) as error:
            raise ValueError(f"{type(record).__name__}.{self.name}: {error}") from None


class Plan:
    """The plan of a record class, made once (and once more for each other encoding style)."""

    __slots__ = ("attributes", "cls", "fields", "minimum", "read", "steps", "variants")

    def __init__(self, cls: type[Any], attributes: dict[str, Attribute]) -> None:
        declared = {name: attribute for name, attribute in attributes.items() if attribute.kind is not None}
        fields = [
            FieldPlan(name, cast(Kind, attribute.kind), attribute.description, attribute.when)
            for name, attribute in declared.items()
        ]
        self._prepare(cls, attributes, fields)

    def _prepare(self, cls: type[Any], attributes: dict[str, Attribute], fields: list[FieldPlan]) -> None:
        self.cls = cls
        self.attributes = attributes
        self.fields = fields
        self.minimum = sum(plan.kind.minimum for plan in fields if plan.when is None)
        self.steps = self._group(fields)
        self.variants: dict[Style, Plan] = {}
        self.read: Reader = self._generate
        """reads a record; generated when the first one is read"""

    def adapted(self, style: Style) -> Plan:
        """Return the plan for files of this style; pass it to `take_record` and `write_fields`."""
        plan = self.variants.get(style)
        if plan is None:
            plan = Plan.__new__(Plan)
            fields = [
                FieldPlan(field.name, field.kind.adapted(style), field.description, field.when) for field in self.fields
            ]
            plan._prepare(self.cls, self.attributes, fields)
            self.variants[style] = plan
        return plan

    def _generate(self, *arguments: Any) -> tuple[Any, int]:
        """Generate the reader and read the first record with it."""
        source = Source()
        source.create(self.attributes)
        for step in self.steps:
            step.generate_read(source)
        self.read = source.compiled(self.cls.__name__)
        return self.read(*arguments)

    @staticmethod
    def _group(fields: list[FieldPlan]) -> list[Step]:
        counts: dict[str, list[FieldPlan]] = {}
        for plan in fields:
            if plan.kind.counted_by is not None:
                counts.setdefault(plan.kind.counted_by, []).append(plan)
        steps: list[Step] = []
        run: list[FieldPlan] = []
        for plan in fields:
            if type(plan.kind) is Numbers and plan.when is None:
                run.append(plan)
                continue
            if run:
                steps.append(NumberRun(run, counts))
                run = []
            steps.append(OneField(plan))
        if run:
            steps.append(NumberRun(run, counts))
        return steps
