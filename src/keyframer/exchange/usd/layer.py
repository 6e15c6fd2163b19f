"""Text layers of USD (``.usda``): prims with attributes, relationships and metadata, written part by part.

Arrays stay arrays until the text is written, so that a large mesh is never text as a whole.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.formats.kit.scene_reading import UniqueNames
from keyframer.text import safe_text
from keyframer.wire.lossless_json import array_to_json

_ROWS = 20_000
"""rows of an array that are text at once"""
_INDENT = "    "


class PrimNames(UniqueNames):
    """Makes names of prims: identifiers of ASCII letters, digits and underscores, unique below one prim."""

    numbered = "{}_{:d}"

    def claim(self, wanted: str, fallback: str = "prim") -> str:
        return super().claim(identifier(wanted, fallback))


def identifier(name: str, fallback: str = "prim") -> str:
    """Return a name as an identifier; accents are removed, other characters become underscores."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", plain if plain.strip() else fallback)
    if not plain.strip("_"):
        plain = fallback
    return f"_{plain}" if plain[0].isdigit() else plain


def quoted(text: str) -> str:
    """Return a string or token."""
    escaped = safe_text(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def tokens(names: Iterable[str]) -> str:
    """Return an array of strings or tokens."""
    return f"[{', '.join(map(quoted, names))}]"


def asset(path: str) -> str:
    return f"@{path}@"


def number(value: float) -> str:
    """Return a number: a whole one without a point."""
    text = repr(float(value) + 0.0)
    return text.removesuffix(".0")


def row(values: Iterable[float] | Array) -> str:
    """Return a vector, a colour or a quaternion."""
    return f"({', '.join(_texts(values) if isinstance(values, np.ndarray) else map(number, values))})"


def matrix(values: Floats) -> str:
    """Return a matrix (4, 4) for column vectors, as USD writes it: for row vectors."""
    return f"({', '.join(map(row, values.T.tolist()))})"


def wxyz(rotation_xyzw: Array) -> Array:
    """Return quaternions in the order of USD."""
    return rotation_xyzw[..., [3, 0, 1, 2]]


def _texts(array: Array) -> list[str]:
    """Return the elements of an array (n,), or its rows (n, k), as texts."""
    encoded = json.dumps(array_to_json(array + array.dtype.type(0)))[1:-1].replace(".0,", ",").replace(".0]", "]")
    if array.ndim == 1:
        return encoded.removesuffix(".0").split(", ")
    return [f"({part})" for part in encoded[1:-1].split("], [")]


def _array_parts(array: Array) -> Iterator[str]:
    yield "["
    for begin in range(0, len(array), _ROWS):
        text = ", ".join(_texts(array[begin : begin + _ROWS]))
        yield f", {text}" if begin else text
    yield "]"


@dataclass(eq=False, repr=False, slots=True)
class Samples:
    """Values at time codes (n,), ascending: texts, or an array (n,), (n, k) or, for arrays of vectors, (n, m, k)."""

    codes: Floats
    values: Sequence[str] | Array

    def parts(self, indent: str) -> Iterator[str]:
        yield "{\n"
        for begin in range(0, len(self.codes), _ROWS):
            codes, values = _texts(self.codes[begin : begin + _ROWS]), self.values[begin : begin + _ROWS]
            if isinstance(values, np.ndarray) and values.ndim == 3:
                for code, rows in zip(codes, values, strict=True):
                    yield f"{indent}{_INDENT}{code}: "
                    yield from _array_parts(rows)
                    yield ",\n"
                continue
            texts = _texts(values) if isinstance(values, np.ndarray) else values
            yield "".join([f"{indent}{_INDENT}{code}: {text},\n" for code, text in zip(codes, texts, strict=True)])
        yield f"{indent}}}"


Value = str | Array | Samples | None
Property = tuple[Any, ...]
"""declaration such as ``float3[] extent``, value (`Value`), and lines of metadata"""


@dataclass(eq=False, repr=False)
class Prim:
    """A prim. Attributes and children are written in the order in which they are added."""

    kind: str
    """type, such as ``Xform``"""
    name: str
    parent: Prim | None = None
    schemas: list[str] = field(default_factory=list)
    """applied API schemas"""
    metadata: list[str] = field(default_factory=list)
    """lines such as ``kind = "component"``"""
    properties: list[Property] = field(default_factory=list)
    late: Callable[[], Iterable[Property]] = tuple
    """returns further properties, one after the other, when the text is written: those of large meshes"""
    children: list[Prim] = field(default_factory=list)
    names: PrimNames = field(default_factory=PrimNames)
    """of the children"""

    @property
    def path(self) -> str:
        return f"{'' if self.parent is None else self.parent.path}/{self.name}"

    def add(self, kind: str, wanted: str) -> Prim:
        """Add a child with a name like ``wanted``; other names are kept in its metadata."""
        child = Prim(kind, self.names.claim(wanted, identifier(kind)), self)
        if wanted and child.name != wanted:
            child.metadata.append(f"customData = {{ dictionary keyframer = {{ string name = {quoted(wanted)} }} }}")
        self.children.append(child)
        return child

    def set(self, declaration: str, value: Value = None, *metadata: str) -> None:
        """Add an attribute or a relationship; one without a value is only declared."""
        self.properties.append((declaration, value, *metadata))

    def animate(self, declaration: str, value: str, samples: Samples | None) -> None:
        """Add an attribute with a value and, if it is animated, its samples."""
        self.set(declaration, value)
        if samples is not None:
            self.set(f"{declaration}.timeSamples", samples)

    def relate(self, name: str, *targets: Prim) -> None:
        paths = ", ".join(f"<{target.path}>" for target in targets)
        self.set(f"rel {name}", paths if len(targets) == 1 else f"[{paths}]")

    def parts(self, depth: int = 0) -> Iterator[str]:
        indent, inner = _INDENT * depth, _INDENT * (depth + 1)
        lines = [*self.metadata]
        if self.schemas:
            lines.append(f"prepend apiSchemas = {tokens(self.schemas)}")
        yield f"{indent}def {self.kind} {quoted(self.name)}"
        yield _in_parentheses(lines, indent, "\n" + indent)
        yield f"\n{indent}{{\n"
        for declaration, value, *metadata in chain(self.properties, self.late()):
            yield inner + declaration
            if value is not None:
                yield " = "
                yield from _value_parts(value, inner)
            yield _in_parentheses(metadata, inner, " ")
            yield "\n"
        for child in self.children:
            yield "\n"
            yield from child.parts(depth + 1)
        yield f"{indent}}}\n"


def _value_parts(value: str | Array | Samples, indent: str) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Samples):
        yield from value.parts(indent)
    else:
        yield from _array_parts(value)


def _in_parentheses(lines: Sequence[str], indent: str, before: str) -> str:
    if not lines:
        return ""
    text = "".join(f"{indent}{_INDENT}{line}\n" for line in lines)
    return f"{before}(\n{text}{indent})"


def layer_parts(root: Prim, metadata: dict[str, Any]) -> Iterator[bytes]:
    """Yield the text of a layer with one root prim; ``metadata`` are texts by name."""
    lines = [f"{name} = {text}" for name, text in {**metadata, "defaultPrim": quoted(root.name)}.items()]
    yield f"#usda 1.0{_in_parentheses(lines, '', chr(10))}\n\n".encode()
    pending: list[str] = []
    size = 0
    for part in root.parts():
        pending.append(part)
        size += len(part)
        if size > 1 << 18:
            yield "".join(pending).encode("utf-8", "backslashreplace")
            pending, size = [], 0
    yield "".join(pending).encode("utf-8", "backslashreplace")
