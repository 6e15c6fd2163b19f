"""Structures as patterns of the hex editor ImHex (``.hexpat``).

A pattern has no blocks: a structure with a size has a local variable ``block_end``, which the structure inside it uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from keyframer.wire.structure import Cases, Next, Part, Structure, ToEnd, Until, inside

_KEYWORDS = {
    "as", "auto", "be", "bool", "break", "char", "const", "continue", "double", "else", "enum", "false", "float", "fn",
    "for", "from", "if", "import", "in", "le", "match", "namespace", "null", "out", "padding", "parent", "ref",
    "reference", "return", "section", "signed", "str", "struct", "this", "true", "try", "union", "unsigned", "while",
}  # fmt: skip
_NUMBERS = {"u1": "u8", "s1": "s8", "u2": "u16", "s2": "s16", "u4": "u32", "s4": "s32", "f4": "float", "f8": "double"}
_TOTAL = """fn total(ref auto counts, u64 number) {
    s64 sum = 0;
    for (u64 index = 0, index < number, index += 1) {
        sum = sum + counts[index];
    }
    return sum;
};
"""


def hexpat(structure: Structure, title: str) -> str:
    """Return the pattern for files of a structure."""
    writer = _Writer()
    writer.add(structure)
    endian = "big" if any(inner.big_endian for inner in structure.walk()) else "little"
    head = [f"#pragma description {title}", f"#pragma endian {endian}"]
    text = "\n".join(writer.lines)
    imports = ["import std.mem;", *(["import std.sys;"] if "std::assert(" in text else [])]
    head += ["#pragma array_limit 0x10000000", "#pragma pattern_limit 0x10000000", "", *imports, ""]
    return "\n".join([*head, *([_TOTAL] if "total(" in text else []), text, f"{_type(structure)} file @ 0x00;", ""])


class _Writer:
    """Collects the declarations of structures, those inside a structure before it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.begun: set[Structure] = set()
        self.done: set[Structure] = set()
        """structures that are declared, at least by name"""
        self.in_blocks: set[Structure] = set()
        """structures that end with the block around them"""

    def add(self, structure: Structure) -> None:
        self.begun.add(structure)
        for part in structure.parts:
            for inner in inside(part.type):
                if part.size:
                    self.in_blocks.add(inner)
                if inner not in self.begun:
                    self.add(inner)
                elif inner not in self.done:  # it contains itself
                    self.done.add(inner)
                    self.lines += [f"using {_type(inner)};", ""]
        self.done.add(structure)
        for part in structure.parts:
            if _needs_entry(part):
                assert isinstance(part.type, Cases)
                body = _match(part.type, part.type.selector, "body", "", "")
                self.lines += [f"struct {_type(structure, part)} {{", *_indented(body), "};", ""]
        if structure.description:
            self.lines.append(f"// {structure.description}")
        self.lines += [f"struct {_type(structure)} {{", *_indented(self._parts(structure)), "};", ""]

    def _parts(self, structure: Structure) -> Iterator[str]:
        counts = {part.name: part.count for part in structure.parts}
        end = "parent.block_end" if structure in self.in_blocks else "std::mem::size()"
        for part in structure.parts:
            lines = list(_member(structure, part, end))
            if part.size and not isinstance(part.type, str):
                size = _expression(part.size)
                lines = [f"u64 block_end = $ + {size};", *lines, "$ = block_end;"]
            if part.when:
                lines = [f"if ({_expression(part.when)}) {{", *_indented(lines), "}"]
            yield from (
                re.sub(r"total\((\w+)\)", lambda match: f"total({match[1]}, {counts[match[1]]})", line)
                for line in lines
            )


def _member(structure: Structure, part: Part, end: str) -> Iterator[str]:
    """Yield the lines of a part; ``end`` is where the block of the structure ends."""
    comment = f" [[comment({json.dumps(part.description, ensure_ascii=False)})]]" if part.description else ""
    array = _array(part, end)
    if _needs_entry(part):
        yield f"{_type(structure, part)} {_name(part.name)}{array}{comment};"
    elif isinstance(part.type, Cases):
        yield from _match(part.type, part.type.selector, _name(part.name), array, "block_end" if part.size else "")
    elif isinstance(part.type, Structure):
        yield f"{_type(part.type)} {_name(part.name)}{array}{comment};"
    else:
        kind = {"text": "char", "bytes": "u8"}.get(part.type) or _NUMBERS[part.type]
        yield f"{kind} {_name(part.name)}{array}{comment};"
        if part.only is not None:
            yield f'std::assert({_name(part.name)} == {part.only}, "the {part.name} must be {part.only}");'


def _match(kind: Cases, selector: str | Next, name: str, array: str, end: str) -> list[str]:
    """Return the selection of a case; without one that matches, bytes to ``end`` if it is given."""
    if isinstance(selector, Next):
        function = "unsigned" if selector.size == 1 else "string"
        selector = f"std::mem::read_{function}($, {selector.size})"
    lines = [f"match ({_expression(selector)}) {{"]
    for value, case in kind.cases.items():
        pattern = f"{value:#06x}" if isinstance(value, int) else json.dumps(value)
        lines.append(f"    ({pattern}): {_type(case)} {name}{array};")
    if kind.other is not None:
        lines.append(f"    (_): {_type(kind.other)} {name}{array};")
    elif end:
        lines.append(f"    (_): u8 {name}[while($ < {end})];")
    return [*lines, "}"]


def _array(part: Part, end: str) -> str:
    """Return the number of entries in brackets; nothing for a single value."""
    if part.type == "text":
        return f"[{_expression(part.size)}]"  # empty: up to a NUL
    if part.type == "bytes":
        return f"[{_expression(part.size)}]" if part.size else f"[while($ < {end})]"
    match part.count:
        case ToEnd():
            return f"[while($ + {part.count.least} <= {end})]"
        case Until():
            tags = "".join(f' && std::mem::read_string($, {len(tag)}) != "{tag}"' for tag in part.count.tags)
            return f"[while(!std::mem::eof(){tags})]"
        case "":
            return ""
        case _:
            return f"[{_expression(part.count)}]"


def _needs_entry(part: Part) -> bool:
    """Whether the entries of an array differ: the type of each is selected by its first bytes."""
    return isinstance(part.type, Cases) and isinstance(part.type.selector, Next) and bool(part.count)


def _type(structure: Structure, part: Part | None = None) -> str:
    names = [structure.name, *([part.name, "entry"] if part else [])]
    return "".join(word.capitalize() for word in "_".join(names).split("_"))


def _name(name: str) -> str:
    return f"{name}_" if name in _KEYWORDS else name


def _expression(text: str) -> str:
    return re.sub(r"\bnot ", "!", text.replace(" and ", " && ").replace(" or ", " || "))


def _indented(lines: Iterator[str] | list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
