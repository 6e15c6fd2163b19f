"""The project's dataclasses, which are cheap to import, behave like those of `dataclasses`."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from pathlib import Path
from typing import Any, ClassVar

import pytest

import keyframer
from keyframer import fields
from keyframer.fields import WORTH_GENERATING, dataclass

PACKAGE = Path(keyframer.__file__).parent


def all_dataclasses() -> list[type[Any]]:
    for module in pkgutil.walk_packages(keyframer.__path__, "keyframer."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    classes = {
        cls for cls in every_subclass(object) if cls.__module__.startswith("keyframer.") and declares_fields(cls)
    }
    assert len(classes) > 150
    return sorted(classes, key=lambda cls: (cls.__module__, cls.__qualname__))


def declares_fields(cls: type[Any]) -> bool:
    return isinstance(cls.__dict__.get("__dataclass_fields__"), dict)


def every_subclass(cls: type[Any]) -> set[type[Any]]:
    below = set(type.__subclasses__(cls))
    return below.union(*(every_subclass(child) for child in below if child is not type))


def test_signatures_match_those_of_dataclasses() -> None:
    for cls in all_dataclasses():
        specified: list[Any] = []
        for field in dataclasses.fields(cls):
            kept = {"init": field.init, "default": field.default, "default_factory": field.default_factory}
            specified.append((field.name, field.type, dataclasses.field(**kept)))
        peer = dataclasses.make_dataclass(cls.__name__, specified)
        assert str(inspect.signature(cls)) == str(inspect.signature(peer)), cls


def test_every_module_uses_the_dataclass_that_is_cheap_to_import() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path == PACKAGE / "fields.py":
            continue
        for item in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(item, ast.ImportFrom) and item.module == "dataclasses":
                wrong += [path for alias in item.names if alias.name == "dataclass"]
            if isinstance(item, ast.Attribute) and item.attr == "dataclass":
                wrong.append(path)
    assert wrong == []


@dataclass(frozen=True, slots=True)
class Value:
    kind: ClassVar[str] = "value"

    number: int
    name: str = "none"
    parts: list[int] = dataclasses.field(default_factory=list, compare=False)


@dataclass
class Plain:
    number: int
    shown: list[int] = dataclasses.field(default_factory=list)
    sum: int = dataclasses.field(init=False)
    noted: str = dataclasses.field(default="", repr=False)

    def __post_init__(self) -> None:
        self.sum = self.number + len(self.shown)


@dataclass(slots=True)
class Derived(Plain):
    last: int = 3


@pytest.mark.parametrize("instances_before", [0, WORTH_GENERATING], ids=["first", "generated"])
def test_instances_behave_like_those_of_dataclasses(instances_before: int) -> None:
    for _ in range(instances_before):
        Value(0), Plain(0), Derived(0)
    assert (Value(1).number, Value(1).name, Value(1).parts) == (1, "none", [])
    assert Value(1).parts is not Value(1).parts
    assert Value(1, "a", [1]) == Value(number=1, name="a", parts=[2]) != Value(2, "a")
    assert hash(Value(1, "a")) == hash(Value(1, "a"))
    assert repr(Value(1)) == "Value(number=1, name='none', parts=[])"
    assert repr(Plain(1, [5])) == "Plain(number=1, shown=[5], sum=2)"
    assert Derived(1, [2], "x", 4).sum == 2
    assert Derived(1, last=5) == Derived(1, [], "", 5)
    assert Derived(1) != Plain(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Plain(1))
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'number'"):
        Value(1).number = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'number'"):
        del Value(1).number
    assert not hasattr(Value(1), "__dict__")
    for again in (pickle.loads(pickle.dumps(Value(1, "a", [3]))), copy.copy(Value(1, "a", [3]))):
        assert (again, again.parts) == (Value(1, "a"), [3])
    assert dataclasses.replace(Value(1), name="b") == Value(1, "b")
    assert dataclasses.asdict(Plain(1)) == {"number": 1, "shown": [], "sum": 1, "noted": ""}
    match Value(7, "c"):
        case Value(number, name):
            assert (number, name) == (7, "c")


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'number'"),
        ((1,), {"number": 2}, "multiple values for argument 'number'"),
        ((1, "a", [], 4), {}, "takes from 2 to 4 positional arguments but 5 were given"),
        ((1,), {"nmae": "a"}, "unexpected keyword argument 'nmae'"),
    ],
)
def test_wrong_arguments_raise_the_same_type_error(
    monkeypatch: pytest.MonkeyPatch, values: tuple[Any, ...], named: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(fields, "WORTH_GENERATING", 100)

    @dataclass(frozen=True)
    class Fresh:
        number: int
        name: str = "none"
        parts: list[int] = dataclasses.field(default_factory=list)

    with pytest.raises(TypeError, match=message):
        Fresh(*values, **named)


def test_constructor_is_not_generated_for_a_few_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    generated: list[type[Any]] = []
    monkeypatch.setattr(fields, "_generate_constructor", lambda cls, *_: generated.append(cls))

    @dataclass(slots=True)
    class Fresh:
        number: int

    assert [Fresh(number).number for number in range(WORTH_GENERATING)] == list(range(WORTH_GENERATING))
    assert generated == []


def test_dataclasses_of_other_packages_can_derive_from_ours() -> None:
    @dataclasses.dataclass(frozen=True)
    class Other(Value):
        more: int = 0

    assert (Other(1, more=2).more, Other(1).name) == (2, "none")
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclasses.dataclass
        class _Changeable(Value):
            more: int = 0


def test_mutable_defaults_are_refused() -> None:
    with pytest.raises(ValueError, match="default_factory"):

        @dataclass
        class _Shared:
            parts: list[int] = []  # noqa: RUF012
