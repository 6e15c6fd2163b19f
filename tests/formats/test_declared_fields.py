"""What formats declare to hold: the words mean something, and declared fields are read as they are written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.formats import FORMATS
from keyframer.formats.ase.bridge import declared_fields as ase
from keyframer.formats.ase.records import Block
from keyframer.formats.contract import Format
from keyframer.formats.kit.declared_fields import FEATURES
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, every
from keyframer.formats.uto3d import records as uto3d_records
from keyframer.formats.uto3d.bridge import declared_fields as uto3d
from keyframer.scene import Camera, Light, Material, TextureMap

KNOWN = {*FEATURES, *(word for part in REPORTED_PARTS for word in every(part))}


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_every_word_is_a_feature_or_a_field_of_the_model(known: Format) -> None:
    holdings = known.scene_writer().holdings
    assert holdings.silent <= KNOWN
    assert not holdings.held & set(holdings.reported), "held, and reported as lost"


PARTS: dict[str, tuple[Any, tuple[ase.LineField, ...]]] = {
    "materials": (Material("paint"), (*ase.MATERIAL, *ase.MATERIAL_REST)),
    "maps": (TextureMap("a.tga"), (*ase.MAP_AMOUNT, *ase.MAP)),
    "lights": (Light("lamp"), (*ase.LIGHT, *ase.LIGHT_SETTINGS, *ase.CONE)),
    "cameras": (Camera("eye"), ase.CAMERA),
}
LINES = [(part, field.name) for part, (_, table) in PARTS.items() for field in table]
NUMBERS = st.floats(0, 1000, width=32)
PAIRS, COLORS = ("scale", "offset", "ranges", "clip"), ("ambient", "diffuse", "specular", "color")
ALWAYS = ("transparency", "self_illumination", "amount", "multiplier", "scale", "offset", "rotation_degrees", "color")


def values(name: str, usual: Any) -> st.SearchStrategy[Any]:
    if isinstance(usual, bool):
        return st.booleans()
    kind: st.SearchStrategy[Any] = NUMBERS
    if name in (*PAIRS, *COLORS):
        kind = st.tuples(*[NUMBERS] * (2 if name in PAIRS else 3))
    return kind if name in ALWAYS else st.none() | kind


@pytest.mark.parametrize(("part", "name"), LINES)
@given(data=st.data())
def test_lines_say_what_was_put_into_them(part: str, name: str, data: Any) -> None:
    thing, table = PARTS[part]
    field = next(each for each in table if each.name == name)
    value = data.draw(values(name, getattr(thing, name)))
    block = Block()
    block.children = list(field.put(value))
    if name == "falloff_inwards":  # it means nothing without a falloff
        block.children += next(each for each in table if each.name == "transparency_falloff").put(0.5)
    found = field.get(block)
    assert found == (pytest.approx(value, rel=1e-6, abs=1e-6) if not isinstance(value, (bool, type(None))) else value)


@pytest.mark.parametrize(("part", "name"), LINES)
def test_a_block_that_says_nothing_means_the_default_of_the_model(part: str, name: str) -> None:
    thing, table = PARTS[part]
    assert next(each for each in table if each.name == name).get(Block()) == getattr(thing, name)


@pytest.mark.parametrize("field", uto3d.LIGHT, ids=lambda field: field.name)
@given(data=st.data())
def test_records_say_what_was_put_into_them(field: uto3d.StoredField, data: Any) -> None:
    usual = getattr(Light("lamp"), field.name)
    value = data.draw(values(field.name, usual) if usual is not None else NUMBERS)
    value = 1.5 if value is None else value
    record = uto3d_records.Light()
    for name, stored in field.put(value):
        assert name == field.stored
        setattr(record, name, stored)
    assert field.get(record) == value
