"""What the fields of a class mean: the texts below their declarations, for ``help()`` and for the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


def documented(cls: type[T]) -> type[T]:
    """Let ``help(cls)`` list the fields with their types and meanings. They are read from the source when asked for."""
    cls.__doc__ = _FieldsInDoc(cls.__doc__ or "")  # type: ignore[assignment]
    return cls


def field_meanings(cls: type[Any]) -> dict[str, tuple[str, str]]:
    """Type and meaning of each public field, in their order; nothing where the source is not at hand."""
    import ast
    import inspect
    import textwrap
    from itertools import pairwise

    try:
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError, SyntaxError):
        return {}
    assert isinstance(declared, ast.ClassDef)
    meanings: dict[str, tuple[str, str]] = {}
    for line, below in pairwise([*declared.body, ast.Pass()]):
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name) or line.target.id[:1] == "_":
            continue
        text = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            text = " ".join(str(below.value.value).split())
        meanings[line.target.id] = ast.unparse(line.annotation), text
    return meanings


class _FieldsInDoc:
    """Stands for the docstring of a class."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._whole: str | None = None

    def __get__(self, instance: object, owner: type[Any]) -> str:
        if self._whole is None:
            lines = [
                f"    {name} ({kind})" + (f": {meaning}" if meaning else "")
                for name, (kind, meaning) in field_meanings(owner).items()
            ]
            self._whole = "\n".join([self._text.rstrip(), "", "Fields:", *lines]) if lines else self._text
        return self._whole
