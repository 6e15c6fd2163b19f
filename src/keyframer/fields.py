"""Classes with fields: dataclasses that are cheap to import, and the descriptions of their fields.

All modules of Keyframer use `dataclass` of this module. It does what `dataclasses.dataclass` does, and functions of
`dataclasses` accept its classes, but it generates no code for a class with few instances. ``convert`` imports
some 80 dataclasses; generating their methods took a third of the time of its imports. See
docs/decisions/0009-generated-readers.md.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from itertools import pairwise
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from dataclasses import dataclass as dataclass
    from typing import TypeVar

    T = TypeVar("T")
else:

    def dataclass(cls=None, /, **options):
        """Class decorator with the options ``frozen``, ``slots``, ``eq`` and ``repr`` of `dataclasses.dataclass`."""
        return (lambda declared: _make_class(declared, **options)) if cls is None else _make_class(cls, **options)


WORTH_GENERATING = 16
"""number of instances after which the constructor of a class is generated; generating it takes as long as making some
fifty instances without it"""


def _make_class(
    cls: type[Any], frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True
) -> type[Any]:
    """Return the class with the fields and methods of a dataclass; with ``slots`` it is a new class."""
    declared_here = {
        name: _field(cls, name, kind) for name, kind in cls.__annotations__.items() if "ClassVar" not in kind
    }
    fields: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get("__dataclass_fields__", {})
    fields |= declared_here
    constructor = _FirstConstructor(fields, frozen)
    added: dict[str, Any] = {
        "__init__": constructor,
        "__dataclass_fields__": fields,
        "__dataclass_params__": SimpleNamespace(frozen=frozen),  # read by `dataclasses` when it makes a subclass
        "__match_args__": tuple(name for name, field in fields.items() if field.init),
    }
    if repr:
        added["__repr__"] = _repr_of([field.name for field in fields.values() if field.repr])
    if eq:
        added |= _comparison_of([field.name for field in fields.values() if field.compare], frozen)
    if frozen:
        added |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}
        if slots:  # otherwise pickle would set attributes, which is refused
            added |= {"__getstate__": _state, "__setstate__": _set_state}
    content = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    added = {name: value for name, value in added.items() if content.get(name) is None}
    if slots:
        inherited = {name for base in cls.__mro__[1:] for name in base.__dict__.get("__slots__", ())}
        added["__slots__"] = tuple(name for name in fields if name not in inherited)
        content = {name: value for name, value in content.items() if name not in declared_here}
        metaclass: Any = type(cls)
        constructor.owner = metaclass(cls.__name__, cls.__bases__, content | added)
        constructor.owner.__qualname__ = cls.__qualname__
        return constructor.owner
    for name, field in declared_here.items():
        if field.default is not dataclasses.MISSING:
            added[name] = field.default
        elif name in content:
            delattr(cls, name)
    for name, value in added.items():
        setattr(cls, name, value)
    constructor.owner = cls
    return cls


def _field(cls: type[Any], name: str, annotation: Any) -> Field[Any]:
    """Return the dataclass field that an annotation declares."""
    declared = cls.__dict__.get(name, dataclasses.MISSING)
    field: Any = declared
    if not isinstance(declared, dataclasses.Field):
        field = dataclasses.field()
        field.default = declared
    if type(field.default).__hash__ is None:
        raise ValueError(f"{cls.__name__}.{name}: a mutable default needs a default_factory")
    field.name, field.type, field.kw_only = name, annotation, False
    field._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # how `dataclasses.fields` knows a field
    return field  # type: ignore[no-any-return]


class _FirstConstructor:
    """The ``__init__`` of a class until it has made `WORTH_GENERATING` instances: sets fields in a loop."""

    owner: type[Any]
    """the class"""

    def __init__(self, fields: dict[str, Field[Any]], frozen: bool) -> None:
        self.fields = fields
        self.frozen = frozen
        self.instances_left = WORTH_GENERATING

    def __get__(self, instance: Any, owner: type[Any]) -> Callable[..., None]:
        self.instances_left -= 1
        if instance is not None and self.instances_left >= 0:
            return lambda *values, **named: self.fill(instance, values, named)
        generated = _generate_constructor(self.owner, self.fields, self.frozen)
        self.owner.__init__ = generated
        bound: Callable[..., None] = generated.__get__(instance, owner)
        return bound

    def fill(self, instance: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Set the fields of a new instance. The generated constructor reports wrong arguments."""
        given = dict(zip(instance.__match_args__, values, strict=False)) | named
        put = object.__setattr__ if self.frozen else setattr
        is_valid = len(given) == len(values) + len(named)
        for name, field in self.fields.items():
            if field.init and name in given:
                put(instance, name, given.pop(name))
            elif field.default is not dataclasses.MISSING:
                put(instance, name, field.default)
            elif field.default_factory is not dataclasses.MISSING:
                put(instance, name, field.default_factory())
            else:
                is_valid = is_valid and not field.init
        if given or not is_valid:
            self.__get__(None, self.owner)(instance, *values, **named)
        elif hasattr(instance, "__post_init__"):
            instance.__post_init__()


class _FactoryDefault:
    """The default of an argument whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


_USE_FACTORY = _FactoryDefault()


def _generate_constructor(cls: type[Any], fields: dict[str, Field[Any]], frozen: bool) -> Any:
    """Return an ``__init__`` with one argument and one line for each field."""
    names: dict[str, Any] = {"_use_factory": _USE_FACTORY, "_put": object.__setattr__}
    arguments, lines = ["self"], []
    for name, field in fields.items():
        value = name
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _use_factory else {name}" if field.init else f"_make_{name}()"
        names[f"_default_{name}"] = _USE_FACTORY if value != name else field.default
        if field.init:
            has_default = names[f"_default_{name}"] is not dataclasses.MISSING
            arguments.append(f"{name}=_default_{name}" if has_default else name)
        elif value == name:
            if field.default is dataclasses.MISSING:
                continue
            value = f"_default_{name}"
        lines.append(f"    _put(self, {name!r}, {value})" if frozen else f"    self.{name} = {value}")
    lines += ["    self.__post_init__()"] if hasattr(cls, "__post_init__") else ["    pass"]
    text = "\n".join([f"def __init__({', '.join(arguments)}):", *lines])
    exec(compile(text, f"<constructor of {cls.__name__}>", "exec"), names)
    constructor = names["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__annotations__ = {name: field.type for name, field in fields.items() if field.init} | {"return": None}
    return constructor


def _repr_of(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _comparison_of(names: list[str], frozen: bool) -> dict[str, Any]:
    values = attrgetter(*names)

    def __eq__(self: Any, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _refuse_change(self: object, name: str, *value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def documented(cls: type[T]) -> type[T]:
    """Class decorator: ``help(cls)`` lists the fields with types and meanings, read from the source when needed."""
    cls.__doc__ = _DocstringWithFields(cls.__doc__ or "")  # type: ignore[assignment]
    return cls


def field_meanings(cls: type[Any]) -> dict[str, tuple[str, str]]:
    """Return type and meaning of the public fields that a class itself declares; empty without its source."""
    try:
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError, SyntaxError):
        return {}
    assert isinstance(declared, ast.ClassDef)
    meanings: dict[str, tuple[str, str]] = {}
    for line, next_line in pairwise([*declared.body, ast.Pass()]):
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name) or line.target.id[:1] == "_":
            continue
        text = ""
        if isinstance(next_line, ast.Expr) and isinstance(next_line.value, ast.Constant):
            text = " ".join(str(next_line.value.value).split())
        meanings[line.target.id] = ast.unparse(line.annotation), text
    return meanings


class _DocstringWithFields:
    """A docstring that is completed with the fields of its class when it is read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._complete: str | None = None

    def __get__(self, instance: object, owner: type[Any]) -> str:
        if self._complete is None:
            lines = [
                f"    {name} ({kind})" + (f": {meaning}" if meaning else "")
                for name, (kind, meaning) in field_meanings(owner).items()
            ]
            self._complete = "\n".join([self._text.rstrip(), "", "Fields:", *lines]) if lines else self._text
        return self._complete
