"""Structures as Kaitai Struct files (``.ksy``), which its compiler turns into readers in a dozen languages."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from types import MappingProxyType

from keyframer.formats.contract import Format
from keyframer.wire.structure import Cases, Next, Part, Structure, ToEnd, Until

_LEFT = "_io.size - _io.pos"

Node = dict[str, object]


def kaitai(structure: Structure, name: str, format: Format | None = None, extensions: tuple[str, ...] = ()) -> str:
    """Return the description of files of a structure, in the form of Kaitai Struct's gallery; ``name`` is its id, and
    ``extensions`` are those of the format without dots."""
    types: dict[str, Node] = {}
    enums: dict[str, Node] = {}
    top: Node = {}
    for inner in structure.walk():
        described = _Type(inner, types, enums).described()
        if inner is structure:
            top = described
        else:
            types[inner.name] = described
    meta: Node = {"id": name}
    if format is not None:
        meta["title"] = format.title
        meta |= {"file-extension": list(extensions)} if extensions else {}
        meta |= {"xref": {"pronom": list(format.puids())}} if format.puids() else {}
        about = cleandoc(sys.modules[type(format).__module__].__doc__ or "").replace("`", "")
        top = {"doc": about, **({"doc-ref": list(format.references)} if format.references else {}), **_without_doc(top)}
    endian = "be" if any(inner.big_endian for inner in structure.walk()) else "le"
    meta |= {"license": "MIT", "ks-version": 0.9, "encoding": "ISO-8859-1", "endian": endian}
    parts: Node = {"meta": meta, **top, "types": types, **({"enums": enums} if enums else {})}
    return "\n".join(_yaml(parts)) + "\n"


def _without_doc(node: Node) -> Node:
    return {key: value for key, value in node.items() if key != "doc"}


class _Type:
    """Describes one structure. What Kaitai Struct says only with a further type or enum is added to ``types`` or
    ``enums``."""

    def __init__(self, structure: Structure, types: dict[str, Node], enums: dict[str, Node]) -> None:
        self.structure = structure
        self.types = types
        expressions = [text for part in structure.parts for text in (part.when, part.count) if isinstance(text, str)]
        self.totals = {match[1] for text in expressions for match in re.finditer(r"total\((\w+)\)", text)}
        """names of arrays whose sum is needed"""
        self.enums: dict[str, str] = {}
        """names of numbers that select a case, and of their enums"""
        numbers = {part.name for part in structure.parts if isinstance(part.type, str) and not part.count}
        for part in structure.parts:
            kind = part.type
            if isinstance(kind, Cases) and kind.selector in numbers and all(isinstance(key, int) for key in kind.cases):
                self.enums[str(kind.selector)] = enum = f"{structure.name}_{kind.selector}"
                enums[enum] = {_number(key): case.name for key, case in kind.cases.items()}

    def described(self) -> Node:
        doc: Node = {"doc": self.structure.description} if self.structure.description else {}
        return {**doc, "seq": [self._attribute(part) for part in self.structure.parts]}

    def _attribute(self, part: Part) -> Node:
        attribute: Node = {"id": part.name}
        if part.description:
            attribute["doc"] = part.description
        conditions = [_expression(part.when)] if part.when else []
        if isinstance(part.count, ToEnd) and part.count.least > 1:
            conditions.append(f"{_LEFT} >= {part.count.least}")
        if conditions:
            attribute["if"] = " and ".join(f"({condition})" for condition in conditions)
        valid: Node = {} if part.only is None else {"valid": part.only}
        enum: Node = {"enum": self.enums[part.name]} if part.name in self.enums else {}
        return {**attribute, **self._type(part), **enum, **valid, **_repetition(part.count)}

    def _type(self, part: Part) -> Node:
        entry_name = f"{self.structure.name}_{part.name}_entry"
        if part.contents:
            return {"contents": part.contents.decode("ascii")}
        if part.type == "text":
            return {"type": "str" if part.size and not part.ends_with_nul else "strz", **_size(part.size)}
        if part.type == "bytes":
            return _size(part.size) or {"size-eos": True}
        if part.name in self.totals:
            self.types[entry_name] = self._running_total(part)
            return {"type": f"{entry_name}(_index)"}
        if isinstance(part.count, Until) or (isinstance(part.type, Cases) and isinstance(part.type.selector, Next)):
            self.types[entry_name] = _looking_ahead(part)
            return {"type": entry_name}
        if isinstance(part.type, str):
            return {"type": part.type}
        limit: Node = {}
        if part.size:  # a size that is too large ends with the block around it
            size = _expression(part.size)
            limit = {"size": f"{size} < {_LEFT} ? {size} : {_LEFT}"}
        return {"type": _type_name(part.type, self.enums), **limit}

    def _running_total(self, part: Part) -> Node:
        """Return the type of a count that also has the sum of all counts up to it."""
        before = f"_parent.{part.name}[index - 1].total.as<s4>"
        return {
            "params": [{"id": "index", "type": "s4"}],
            "seq": [
                {"id": "value", "type": part.type},
                {"id": "computed_in_order", "size": 0, "if": "total >= 0"},
            ],
            "instances": {"total": {"value": f"index == 0 ? value : value + {before}"}},
        }


def _looking_ahead(part: Part) -> Node:
    """Return the type of an entry that depends on the bytes at its start; with `Until`, the last entry is empty."""
    assert not isinstance(part.type, str)
    body: Node = {"id": "body", "type": _type_name(part.type)}
    if isinstance(part.count, Until):
        size = len(part.count.tags[0])
        is_end = " or ".join(f'next == "{tag}"' for tag in ("", *part.count.tags))
        following: Node = {"pos": "_io.pos", "type": "str", "size": f"{_LEFT} < {size} ? {_LEFT} : {size}"}
        return {"seq": [{**body, "if": "not is_end"}], "instances": {"next": following, "is_end": {"value": is_end}}}
    assert isinstance(part.type, Cases)
    assert isinstance(part.type.selector, Next)
    size = part.type.selector.size
    following = {"pos": "_io.pos", **({"type": "u1"} if size == 1 else {"type": "str", "size": size})}
    return {"seq": [body], "instances": {"next": following}}


def _type_name(kind: Structure | Cases, enums: Mapping[str, str] = MappingProxyType({})) -> object:
    """Return the name of a type, or the choice of one; ``enums`` are the enums of the parts that may select it."""
    if isinstance(kind, Structure):
        return kind.name
    enum = "" if isinstance(kind.selector, Next) else enums.get(kind.selector)
    cases: Node = {
        f"{enum}::{case.name}" if enum else _number(value) if isinstance(value, int) else f'"{value}"': case.name
        for value, case in kind.cases.items()
    }
    if kind.other is not None:
        cases["_"] = kind.other.name
    return {
        "switch-on": "next" if isinstance(kind.selector, Next) else _expression(kind.selector),
        "cases": cases,
    }


def _number(value: int | str) -> str:
    return f"{value:#06x}"


def _repetition(count: str | ToEnd | Until) -> Node:
    match count:
        case ToEnd(least=1):
            return {"repeat": "eos"}
        case ToEnd():
            return {"repeat": "until", "repeat-until": f"{_LEFT} < {count.least}"}
        case Until():
            return {"repeat": "until", "repeat-until": "_.is_end"}
        case "":
            return {}
        case _:
            return {"repeat": "expr", "repeat-expr": _expression(count)}


def _size(size: str) -> Node:
    return {"size": _expression(size)} if size else {}


def _expression(text: str) -> str:
    text = re.sub(r"\bparent\.", "_parent.", text)
    return re.sub(r"total\((\w+)\)", r"(\1.size == 0 ? 0 : \1.last.total)", text)


def _yaml(value: object) -> Iterator[str]:
    """Yield the lines of a mapping or a list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                yield f"{_scalar(key)}:"
                yield from (f"  {line}" for line in _yaml(inner))
            elif isinstance(inner, str) and "\n" in inner:
                yield f"{_scalar(key)}: |"
                yield from (f"  {line}".rstrip() for line in inner.splitlines())
            else:
                yield f"{_scalar(key)}: {_scalar(inner)}"
    elif isinstance(value, list):
        for inner in value:
            lines = list(_yaml(inner)) if isinstance(inner, dict) else [_scalar(inner)]
            yield f"- {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])


def _scalar(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    is_plain = not isinstance(value, str) or re.fullmatch(r"(?!(?:null|true|false|yes|no|on|off|y|n)$)[\w.-]+", text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)
