"""ImHex patterns: no program here can run them, so their form is checked, not their result."""

from __future__ import annotations

import re

import pytest

from keyframer.describing import DESCRIPTIONS, described_layouts
from keyframer.describing.hexpat import hexpat

BUILT_IN = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "float", "double", "char"}
LAYOUTS = {name: (known, structure) for known, structure, name in described_layouts()}


@pytest.mark.parametrize("file", [f"{name}.hexpat" for name in LAYOUTS])
def test_types_are_declared_before_their_use(file: str) -> None:
    text = DESCRIPTIONS["hexpat"]()[file]
    code = re.sub(r"//[^\n]*|\"[^\"\n]*\"", "", text)
    assert code.count("{") == code.count("}")
    declared = set(BUILT_IN)
    for line in code.splitlines():
        if match := re.match(r"(?:struct|using) (\w+)", line):
            declared.add(match[1])
        for match in re.finditer(r"(?:^\s+|\): )([A-Z]\w*|[us]\d+|float|double|char) \w+(?:\[|;| )", line):
            assert match[1] in declared, line


@pytest.mark.parametrize("name", LAYOUTS)
def test_all_fields_are_members(name: str) -> None:
    known, structure = LAYOUTS[name]
    text = hexpat(structure, known.title)
    for inner in structure.walk():
        if inner.record is not None:
            type_name = "".join(word.capitalize() for word in inner.name.split("_"))
            body = text.split(f"struct {type_name} {{\n")[1].split("\n};")[0]
            for plan in inner.record.plan.fields:
                assert re.search(rf" {plan.name}_?[\[;\s]", body), (type_name, plan.name)


def test_a_chunk_is_a_struct_with_cases() -> None:
    text = DESCRIPTIONS["hexpat"]()["threeds.hexpat"]
    assert "using Chunk;\n" in text
    assert "struct PointArray {\n    u16 points_count" in text
    assert "        (0x4110): PointArray body;\n" in text
    assert "    u64 block_end = $ + length - 6;\n" in text
    assert text.endswith("Threeds file @ 0x00;\n")


def test_names_that_are_keywords_of_the_language_get_an_underscore() -> None:
    assert "    s32 parent_ [[comment(" in DESCRIPTIONS["hexpat"]()["hale3d.hexpat"]
