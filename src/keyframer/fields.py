"""Descriptions of the fields of dataclasses, for ``help()`` and the documentation."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise
from typing import Any, TypeVar

T = TypeVar("T")


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
