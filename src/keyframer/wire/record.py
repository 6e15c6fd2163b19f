"""Records: classes whose fields are declared with wire types.

The plan of a class (`record_plan`) groups adjacent numbers into one `struct.Struct`. `read_fields`, `write_fields`,
`dump_fields`, its inverse `restore_fields`, and `describe_fields` follow this plan.

To its users a record is a dataclass: keyword construction, ``repr``, `dataclasses.replace` and `dataclasses.fields`
work. It has no generated constructor, though: making one for each class took most of the time of importing the
reader of a format, so all share `Record.__init__`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, make_dataclass
from inspect import signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast, dataclass_transform, overload

import numpy as np

from keyframer.text import counted
from keyframer.wire.cursor import Cursor
from keyframer.wire.field_types import Attribute
from keyframer.wire.record_plan import Plan
from keyframer.wire.sink import Sink

T = TypeVar("T")


class Layout:
    """The attributes of a record class by name, those of its base classes first."""

    __slots__ = ("attributes", "defaults", "factories", "positional", "unstored")

    def __init__(self, attributes: dict[str, Attribute]) -> None:
        self.attributes = attributes
        self.positional = tuple(name for name, attribute in attributes.items() if not attribute.kw_only)
        """the positional arguments of the constructor"""
        self.defaults = {name: attribute.default for name, attribute in attributes.items() if attribute.make is None}
        self.factories = {name: attribute.make for name, attribute in attributes.items() if attribute.make is not None}
        self.unstored = {name: attribute.default for name, attribute in attributes.items() if attribute.kind is None}
        """attributes that are not stored in the file, with their defaults (None if a function makes the default)"""


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(eq_default=False)
def record(cls: type[Any] | None = None, /, *, kw_only: bool = False) -> Any:
    """Return the class as a record class, with slots and a plan (a class decorator).

    With ``kw_only`` the constructor takes the fields of this class by name only.
    """
    if cls is None:
        return lambda declared: _make_record(declared, kw_only)
    return _make_record(cls, kw_only)


def _make_record(cls: type[Any], kw_only: bool) -> type[Any]:
    """Return a copy of the class with slots for its attributes, a layout and a plan."""
    attributes: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__[1:]):
        if "_layout" in base.__dict__:
            attributes.update(base.__dict__["_layout"].attributes)
    inherited = set(attributes)
    content = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    for name, annotation in cls.__annotations__.items():
        if "ClassVar" in str(annotation):
            continue
        if name not in content:
            raise TypeError(f"{cls.__name__}.{name}: every field of a record needs a default")
        declared = content.pop(name)
        attribute = declared if isinstance(declared, Attribute) else Attribute(declared)
        attribute.kw_only, attribute.annotation = kw_only, annotation
        attributes[name] = attribute
    content["__slots__"] = tuple(name for name in attributes if name not in inherited)
    content["_layout"] = layout = Layout(attributes)
    content["__match_args__"] = layout.positional
    content["plan"] = _LAZY_PLAN
    metaclass: Any = type(cls)
    record_class: type[Any] = metaclass(cls.__name__, cls.__bases__, content)
    record_class.__qualname__ = cls.__qualname__
    return record_class


class _LazyPlan:
    """Makes the plan of a class on first use: a program that reads one file needs only a few plans."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type[Record]) -> Plan:
        declared: Any = next(cls for cls in owner.__mro__ if cls.__dict__.get("plan") is self)
        plan = declared.plan = Plan(declared, declared._layout.attributes)
        return plan


_LAZY_PLAN = _LazyPlan()


class _DataclassView:
    """Supports `dataclasses` and `inspect` with a dataclass of the same shape, made on first use."""

    __slots__ = ("_pick", "_views")

    def __init__(self, pick: Callable[[type[Any]], Any]) -> None:
        self._pick = pick
        self._views: dict[type[Any], Any] = {}

    def __get__(self, instance: object, owner: type[Record]) -> Any:
        if owner not in self._views:
            declared_fields = []
            for name, attribute in owner._layout.attributes.items():
                metadata = (
                    {}
                    if attribute.kind is None
                    else {"kind": attribute.kind, "description": attribute.description, "when": attribute.when}
                )
                common: Any = {"kw_only": attribute.kw_only, "metadata": metadata}
                common |= (
                    {"default_factory": attribute.make}
                    if attribute.make is not None
                    else {"default": attribute.default}
                )
                declared_fields.append((name, cast(Any, attribute.annotation), field(**common)))
            self._views[owner] = self._pick(make_dataclass(owner.__name__, declared_fields, eq=False))
        return self._views[owner]


@record(kw_only=True)
class Record:
    """A part of a file: its declared fields, the records inside it in file order, and the bytes after its known fields.

    ``offset`` is its start in the file (None for a record that was not read from a file).
    """

    _layout: ClassVar[Layout]
    plan: ClassVar[Plan]
    repeats: ClassVar[bool] = False
    """whether a parent often has several of these records: paths then always show the index"""

    children: list[Record] = Attribute.factory_default(list)
    tail: bytes = b""
    offset: int | None = None

    if not TYPE_CHECKING:  # type checkers derive the constructor of each class from its fields
        __dataclass_fields__ = _DataclassView(attrgetter("__dataclass_fields__"))
        __signature__ = _DataclassView(signature)

        def __init__(self, *values: Any, **named: Any) -> None:
            layout = self._layout
            if values:
                if len(values) > len(layout.positional):
                    raise TypeError(
                        f"{type(self).__name__} takes at most {counted(len(layout.positional), 'value')} "
                        f"({', '.join(layout.positional)}), not {len(values)}"
                    )
                for name, value in zip(layout.positional, values, strict=False):
                    if name in named:
                        raise TypeError(f"{type(self).__name__}: {name} was given twice")
                    named[name] = value
            for name, default in layout.defaults.items():
                setattr(self, name, named.pop(name, default))
            for name, make in layout.factories.items():
                setattr(self, name, named.pop(name) if name in named else make())
            if named:
                raise TypeError(f"{type(self).__name__} has no field {min(named)!r}")

    @property
    def segment(self) -> str:
        """The name of this record in paths."""
        return type(self).__name__.lower()

    @property
    def numbered(self) -> bool:
        """Whether paths show the index of this record even if it is the only one of its name."""
        return self.repeats

    def __repr__(self) -> str:
        fields = [f"{plan.name}={short_repr(getattr(self, plan.name))}" for plan in self.plan.fields]
        fields += [counted(len(self.children), "record") + " inside"] if self.children else []
        fields += [counted(len(self.tail), "byte") + " after"] if self.tail else []
        return f"{type(self).__name__}({', '.join(fields)})"


def short_repr(value: object) -> str:
    """Return a value as one short line."""
    if isinstance(value, np.ndarray):
        return f"<array {'x'.join(map(str, value.shape))} {value.dtype}>"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


NO_CHILDREN = cast("list[Record]", ())
"""the children of records without any: one shared empty tuple instead of a list for each"""

R = TypeVar("R", bound=Record)


class Raw:
    """The attributes of a record that is kept as bytes: the bytes, and the code of the issue that gives the reason
    (empty if the record was made by hand).
    """

    __slots__ = ()

    data: bytes
    reason: str


def blank(cls: type[R], at: int | None) -> R:
    """Return a new record that starts at ``at``, without values in its declared fields."""
    instance = cls.__new__(cls)
    for name, default in cls._layout.unstored.items():
        setattr(instance, name, default)
    instance.children = NO_CHILDREN
    instance.offset = at
    return instance


def take_record(cls: type[R], cursor: Cursor, plan: Plan | None = None) -> R:
    """Read the record at the cursor; raises `FormatError` if it is invalid. ``plan``: see `Plan.adapted`."""
    at = cursor.pos
    instance, cursor.pos = (plan or cls.plan).read(cls, at, cursor, cursor.data, at, cursor.end)
    return cast(R, instance)


def read_fields(target: Record, cursor: Cursor, plan: Plan | None = None) -> None:
    """Read the declared fields of a record that has been made already; raises `FormatError` if they are invalid."""
    at = cursor.pos
    _, cursor.pos = (plan or target.plan).read(type(target), at, cursor, cursor.data, at, cursor.end, target)


def write_fields(source: Record, sink: Sink, plan: Plan | None = None) -> None:
    """Write the declared fields; raises ValueError for a value that does not fit its field."""
    for step in (plan or source.plan).steps:
        step.write(sink, source)


def unstored_fields(cls: type[Record]) -> dict[str, Any]:
    """Return names and defaults of the attributes that files do not store, without those that every record has."""
    return {name: default for name, default in cls._layout.unstored.items() if name not in Record._layout.attributes}


def dump_fields(source: Record) -> dict[str, object]:
    """Return the declared fields as JSON values, in order; fields whose condition is not met are left out."""
    return {
        plan.name: plan.kind.dump(getattr(source, plan.name), source)
        for plan in source.plan.fields
        if plan.when is None or plan.when(source)
    }


def restore_fields(target: Record, values: dict[str, object]) -> None:
    """Set the declared fields from JSON values; raises `FieldError` for a field that is missing, unknown or invalid."""
    unknown = set(values) - {plan.name for plan in target.plan.fields}
    if unknown:
        raise FieldError(min(unknown), "unknown field")
    for plan in target.plan.fields:
        if plan.when is not None and not plan.when(target):
            if plan.name in values:
                raise FieldError(plan.name, "not allowed with the value of an earlier field")
            continue
        if plan.name not in values:
            raise FieldError(plan.name, "missing")
        try:
            setattr(target, plan.name, plan.kind.restore(values[plan.name], target))
        except ValueError as error:
            raise FieldError(plan.name, str(error)) from None


class FieldError(ValueError):
    """A field in the text form of a document that is missing, unknown or invalid."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class FieldDescription(NamedTuple):
    """A row of a documentation table."""

    name: str
    type: str
    description: str


def describe_fields(cls: type[Record]) -> list[FieldDescription]:
    """Return the rows of the documentation table of a record class."""
    return [
        FieldDescription(
            plan.name, plan.kind.type_name + (" (conditional)" if plan.when is not None else ""), plan.description
        )
        for plan in cls.plan.fields
    ]
