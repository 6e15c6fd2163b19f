"""Declared fields: values written to chunks are read back, and all declared fields are in the capabilities."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from dataclasses import fields as dataclass_fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyframer
from keyframer.formats.kit.declared_fields import read_declared_fields, write_declared_fields
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import declared_fields as fields
from keyframer.formats.threeds.bridge.context import first_chunks
from keyframer.formats.threeds.bridge.declared_fields import ChunkField
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Camera, Environment, Fog, Gradient, LayeredFog, Light, LightType, Material, TextureMap

TABLES: dict[str, tuple[tuple[ChunkField, ...], Any, type]] = {
    "material": (fields.MATERIAL, Material("paint"), r.Material),
    "map": (fields.MAP, TextureMap("A.TGA"), r.TextureMap1),
    "light": (fields.LIGHT, Light("lamp"), r.Light),
    "spot": ((*fields.SPOT, *fields.PROJECTOR, *fields.SPOT_NUMBERS), Light("lamp"), r.Spotlight),
    "camera": (fields.CAMERA, Camera("eye"), r.Camera),
    "environment": ((*fields.BACKGROUND_IMAGE, *fields.ENVIRONMENT), Environment(), r.Editor),
}
CASES = [(table, field.name) for table, (declared, _, _) in TABLES.items() for field in declared]
NUMBERS = st.floats(-1000, 1000, width=32)
COLORS = ("ambient", "diffuse", "specular", "background_color")
OPTIONAL = {"shininess", "shininess_strength", "transparency_falloff", "reflection_blur", "wire_size", "inner_range"}
OPTIONAL |= {"outer_range", "ranges", *COLORS}


COLOR = st.tuples(NUMBERS, NUMBERS, NUMBERS)
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "shading": st.none() | st.sampled_from(fields.SHADINGS),
    "tints": st.dictionaries(
        st.sampled_from(list(fields.TINTS.values())), st.tuples(*[st.integers(0, 255).map(lambda part: part / 255)] * 3)
    ),
    "fog": st.none() | st.builds(Fog, NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.none() | COLOR, st.booleans()),
    "distance_cue": st.none() | st.builds(Fog, NUMBERS, NUMBERS, NUMBERS, NUMBERS, affects_background=st.booleans()),
    "layered_fog": st.none()
    | st.builds(LayeredFog, NUMBERS, NUMBERS, NUMBERS, st.integers(0, 1 << 20), st.none() | COLOR),
    "gradient": st.none() | st.builds(Gradient, NUMBERS, st.lists(COLOR, min_size=3, max_size=3)),
    "projector": st.none() | st.binary(min_size=1, max_size=12),
    "background_image": st.none() | st.binary(min_size=1, max_size=12),
    "uses": st.sets(st.sampled_from(list(fields.USES.values()))),
}


def values(name: str, usual: Any) -> st.SearchStrategy[Any]:
    if name in SPECIAL:
        return SPECIAL[name]
    if isinstance(usual, bool):
        return st.booleans()
    kind: st.SearchStrategy[Any] = NUMBERS
    if name in COLORS:
        kind = st.tuples(NUMBERS, NUMBERS, NUMBERS)
    elif name in ("scale", "offset", "ranges"):
        kind = st.tuples(NUMBERS, NUMBERS)
    return st.none() | kind if name in OPTIONAL else kind


def plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


@pytest.mark.parametrize(("table", "name"), CASES)
@given(data=st.data())
def test_fields_are_read_as_written(table: str, name: str, data: Any) -> None:
    declared, part, home = TABLES[table]
    field = next(row for row in declared if row.name == name)
    value = data.draw(values(name, getattr(part, name)))
    chunk = home(children=list(field.put(value)))
    restored = field.get(first_chunks(chunk))
    if isinstance(value, float):
        assert math.isclose(restored, value, rel_tol=1e-6, abs_tol=1e-6)  # percentages may be whole ones
    else:
        assert plain(restored) == plain(value)
    assert {type(child) for child in chunk.children} <= set(field.kinds)


@pytest.mark.parametrize(("table", "name"), CASES)
def test_a_missing_chunk_gives_the_default_of_the_model(table: str, name: str) -> None:
    declared, part, home = TABLES[table]
    field = next(row for row in declared if row.name == name)
    if name != "casts_shadows":
        assert field.get(first_chunks(home())) == getattr(part, name)


@given(data=st.data())
def test_map_flags(data: Any) -> None:
    texture, restored = TextureMap("A.TGA"), TextureMap("A.TGA")
    (declared,) = fields.MAP_FLAGS
    for name in declared.names:
        setattr(texture, name, data.draw(st.booleans()))
    (chunk,) = write_declared_fields(texture, fields.MAP_FLAGS)
    read_declared_fields(restored, chunk, fields.MAP_FLAGS)
    assert [getattr(restored, name) for name in declared.names] == [getattr(texture, name) for name in declared.names]


@given(hotspot=NUMBERS, falloff=NUMBERS, fov=st.floats(1, 160), roll=NUMBERS)
def test_light_cones_and_camera_lenses(hotspot: float, falloff: float, fov: float, roll: float) -> None:
    light = Light("lamp", LightType.SPOT, hotspot_degrees=hotspot, falloff_degrees=falloff)
    lamp = Light("lamp", LightType.SPOT)
    read_declared_fields(lamp, r.Spotlight((0.0, 0.0, 0.0), *write_declared_fields(light, fields.CONE)), fields.CONE)
    assert (lamp.hotspot_degrees, lamp.falloff_degrees) == (hotspot, falloff)
    assert write_declared_fields(Light("lamp", LightType.SPOT, falloff_degrees=30.0), fields.CONE) == [29.0, 30.0]
    numbers = write_declared_fields(Camera("eye", fov_degrees=fov, roll_degrees=roll), fields.CAMERA_NUMBERS)
    eye = Camera("eye")
    read_declared_fields(eye, r.Camera((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), *numbers), fields.CAMERA_NUMBERS)
    assert (eye.roll_degrees, eye.fov_degrees) == (roll, pytest.approx(fov))
    eye.extras["3ds"] = {"lens": 50.0}
    eye.fov_degrees = 48.0
    assert write_declared_fields(eye, fields.CAMERA_NUMBERS)[1] == 50.0, "the lens of the file"


@given(names=st.lists(st.text("abcXYZ 019_", min_size=1, max_size=10)))
def test_names_excluded_by_a_light(names: list[str]) -> None:
    light, restored = Light("lamp", excludes=names), Light("lamp")
    chunk = r.Light((0.0, 0.0, 0.0), children=list(write_declared_fields(light, fields.EXCLUDES)))
    read_declared_fields(restored, (chunk, bytes.decode), fields.EXCLUDES)
    assert restored.excludes == names


def test_every_field_of_the_model_is_declared() -> None:
    parts = {"materials": Material, "maps": TextureMap, "cameras": Camera, "lights": Light, "environment": Environment}
    elsewhere = {"name", "raw_name", "extras", "maps", "file_name", "raw_file_name", "embedded", "type", "target"}
    for part, kind in parts.items():
        names = {item.name for item in dataclass_fields(kind)} - elsewhere
        assert {f"{part}.{name}" for name in names} == {
            word for word in fields.CAPABILITIES.handled if word.startswith(f"{part}.")
        }


def test_chunks_of_fields_are_encoded_and_decoded() -> None:
    """The order of the table is that of the file."""
    paint = Material("paint", diffuse=(1.0, 0.5, 0.25), shininess=0.25, two_sided=True, wire_size=2.5)
    chunks = write_declared_fields(paint, fields.MATERIAL)
    document = new_document(r.Version(3), r.Editor(children=[r.Material(children=list(chunks))]))
    (chunk,) = keyframer.decode(keyframer.encode(document), format="3ds").find(r.Material)
    restored = Material("paint")
    read_declared_fields(restored, first_chunks(chunk), fields.MATERIAL)
    for field in fields.MATERIAL:
        assert getattr(restored, field.name) == getattr(paint, field.name), field.name
