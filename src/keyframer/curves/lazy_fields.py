"""Lazy fields: defaults that are created on first use, for classes with hundreds of thousands of instances.

An empty dictionary, three zeros or a record of the location in the file take several times the bytes that a small part
of a scene, such as a track of one key, has in its file. `lazy` is a ``default_factory`` that is called when the field
is first read; its result belongs to the part and may be changed like any other value. The savings:
docs/decisions/0010-lazy-fields-and-garbage-collection.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any


class Lazy:
    """The default of a field that is created when it is first read."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make

    def __repr__(self) -> str:
        return "<factory>"  # what `dataclasses` shows in signatures for any default factory


def lazy(make: Callable[[], object]) -> Any:
    """Declare a field of `LazyFields` with the default ``make()``, created when it is first read."""
    return Lazy(make)


_NAMES: dict[type, tuple[str, ...]] = {}
"""the lazy fields of each class"""
_SHARED: dict[tuple[str, ...], tuple[str, ...]] = {}
"""each tuple of names of extras, stored once; there are few, because our code chooses the names, not a file"""


class LazyFields:
    """Base of dataclasses with slots whose fields may be `lazy`; ``extras`` is one of these fields."""

    __slots__ = ("_compact_extras", "_deferred")
    if TYPE_CHECKING:
        extras: dict[str, Any]
        _compact_extras: tuple[Any, ...] | None
        """extras of one format in compact form: a shared tuple of the format's id and their names, then their values"""
        _deferred: tuple[Any, ...]
        """the function that makes the fields that were left out, and its arguments (see `defer_fields`)"""

    def __post_init__(self) -> None:
        self._compact_extras = None
        names = _NAMES.get(type(self))
        if names is None:
            declared = type(self).__dataclass_fields__.values()  # type: ignore[attr-defined]
            names = _NAMES[type(self)] = tuple(field.name for field in declared if type(field.default) is Lazy)
        for name in names:
            if type(getattr(self, name)) is Lazy:
                delattr(self, name)

    if not TYPE_CHECKING:  # hidden from mypy, which would accept any attribute

        def __getattr__(self, name: str) -> Any:
            declared = type(self).__dataclass_fields__.get(name)
            if declared is None or type(declared.default) is not Lazy:
                deferred = None if declared is None else stored(self, "_deferred")
                if deferred is None:
                    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
                make, *arguments = deferred
                for field, value in make(*arguments).items():
                    if not _is_set(self, field):  # another thread or a caller may have set it
                        setattr(self, field, value)
                return object.__getattribute__(self, name)
            value = declared.default.make()
            if name == "extras" and self._compact_extras is not None:
                (format, *keys), *values = self._compact_extras
                value[format] = dict(zip(keys, values, strict=True))
                self._compact_extras = None
            setattr(self, name, value)
            return value


def _is_set(part: LazyFields, name: str) -> bool:
    try:
        object.__getattribute__(part, name)
    except AttributeError:
        return False
    return True


def stored(part: LazyFields, name: str, default: Any = None) -> Any:
    """Return a field if it was set, otherwise ``default``, without creating the field."""
    try:
        return object.__getattribute__(part, name)
    except AttributeError:
        return default


def stored_values(parts: Sequence[LazyFields], name: str, default: Any) -> list[Any]:
    """Return a field of each part as `stored` does, in less time than a call for each."""
    values = []
    for part in parts:
        try:
            values.append(object.__getattribute__(part, name))
        except AttributeError:
            values.append(default)
    return values


def unchecked_constructor(cls: type[Any], *, without: Collection[str] = ()) -> Callable[..., Any]:
    """Return a constructor without checks, for readers that pass valid values.

    It is generated from the declaration: ``__init__`` and ``__post_init__`` of a track of one key took longer than
    everything else that is done with it. Lazy fields cannot be given; set them afterwards. Fields in ``without`` must
    be set or deferred afterwards (`defer_fields`).
    """
    names: dict[str, Any] = {"create": cls.__new__, "cls": cls}
    arguments, lines = [], []
    for name, declared in cls.__dataclass_fields__.items():
        if type(declared.default) is Lazy or name in without:
            continue
        names[f"default_{name}"] = declared.default
        arguments.append(name if declared.default is MISSING else f"{name}=default_{name}")
        lines.append(f"    part.{name} = {name}")
    head = [f"def make({', '.join(arguments)}):", "    part = create(cls)", "    part._compact_extras = None"]
    exec(compile("\n".join([*head, *lines, "    return part"]), f"<unchecked {cls.__name__}>", "exec"), names)
    make: Callable[..., Any] = names["make"]
    return make


def defer_fields(part: LazyFields, make: Callable[..., dict[str, Any]], *arguments: object) -> None:
    """Leave fields of this part unset: ``make(*arguments)`` returns them all when one is first read."""
    part._deferred = (make, *arguments)


def set_extras(part: LazyFields, names: tuple[str, ...], *values: object) -> None:
    """Set the extras of a new part in compact form: ``names`` are the id of the format and a name for each value, the
    same tuple for all parts of a kind.
    """
    part._compact_extras = (names, *values)


def extras_without_keeping(part: Any) -> Mapping[str, Mapping[str, object]]:
    """Return the extras of a part for one look at them: those in compact form stay compact."""
    compact = getattr(part, "_compact_extras", None)
    if compact is None:
        extras: Mapping[str, Mapping[str, object]] = part.extras
        return extras
    (format, *keys), *values = compact
    return {format: dict(zip(keys, values, strict=True))}


def add_extras(part: LazyFields, format: str, content: Mapping[str, object]) -> None:
    """Add to the extras of a format, in compact form unless extras were read before or belong to several formats."""
    compact = part._compact_extras
    if stored(part, "extras") is not None or (compact is not None and compact[0][0] != format):
        part.extras.setdefault(format, {}).update(content)
        return
    names, values = ((format,), ()) if compact is None else (compact[0], compact[1:])
    if not content.keys().isdisjoint(names[1:]):
        content = {**dict(zip(names[1:], values, strict=True)), **content}
        names, values = (format,), ()
    keys = (*names, *content)
    part._compact_extras = (_SHARED.setdefault(keys, keys), *values, *content.values())
