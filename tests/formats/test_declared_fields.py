"""Capabilities of formats: the names are valid, and declared fields are read as they were written."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyframer.formats import FORMATS
from keyframer.formats.ase.bridge import declared_fields as ase
from keyframer.formats.ase.records import Block
from keyframer.formats.contract import Format
from keyframer.formats.kit.declared_fields import FEATURES, Field, read_declared_fields, write_declared_fields
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, all_fields
from keyframer.formats.uto3d import records as uto3d_records
from keyframer.formats.uto3d.bridge import objects as uto3d
from keyframer.scene import Camera, Environment, Light, LightType, Material, Mesh, TextureMap

KNOWN = {*FEATURES, "meshes.casts_shadows", *(word for part in REPORTED_PARTS for word in all_fields(part))}
"""shadows are reported as a feature, and stored as a field"""


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_every_capability_is_a_feature_or_a_field_of_the_model(known: Format) -> None:
    capabilities = known.scene_writer().capabilities
    assert capabilities.handled <= KNOWN
    assert not capabilities.supported & set(capabilities.reported), "held, and reported as lost"


PARTS: dict[str, tuple[Any, tuple[ase.LineField, ...]]] = {
    "materials": (Material("paint"), tuple(row for row in ase.MATERIAL if isinstance(row, Field))),
    "maps": (TextureMap("a.tga"), ase.MAP),
    "lights": (Light("lamp"), (*ase.LIGHT, *ase.LIGHT_SETTINGS, *ase.CONE)),
    "cameras": (Camera("eye"), ase.CAMERA),
    "environment": (Environment(), ase.ENVIRONMENT),
}
LINES = [(part, field.name) for part, (_, table) in PARTS.items() for field in table]
NUMBERS = st.floats(0, 1000, width=32)
PAIRS = ("scale", "offset", "ranges", "clip")
COLORS = ("ambient", "diffuse", "specular", "color", "background_color")
ALWAYS = ("transparency", "self_illumination", "amount", "multiplier", "scale", "offset", "rotation_degrees", "color")


def values(name: str, usual: Any) -> st.SearchStrategy[Any]:
    if name == "fov_degrees":
        return st.floats(0.125, 179.0, width=32)
    if name == "aspect":
        return st.floats(0.125, 1000, width=32)
    if name == "uses":
        return st.just({"background_color"})
    if isinstance(usual, bool):
        return st.booleans()
    kind: st.SearchStrategy[Any] = NUMBERS
    if name in (*PAIRS, *COLORS):
        kind = st.tuples(*[NUMBERS] * (2 if name in PAIRS else 3))
    return kind if name in ALWAYS else st.none() | kind


@pytest.mark.parametrize(("part", "name"), LINES)
@given(data=st.data())
def test_ase_fields_are_read_as_written(part: str, name: str, data: Any) -> None:
    default, table = PARTS[part]
    field = next(row for row in table if row.name == name)
    value = data.draw(values(name, getattr(default, name)))
    block = Block()
    block.children = list(field.put(value))
    if name == "falloff_inwards":  # it means nothing without a falloff
        block.children += next(row for row in table if row.name == "transparency_falloff").put(0.5)
    if name == "uses":  # what is stored is in use
        block.children += next(row for row in table if row.name == "background_color").put((0.5, 0.5, 0.5))
    restored = field.get(block)
    if isinstance(value, set):
        assert restored == value
        return
    assert restored == (
        pytest.approx(value, rel=1e-6, abs=1e-6) if not isinstance(value, (bool, type(None))) else value
    )


@given(inner=NUMBERS, outer=NUMBERS)
def test_ase_fields_stored_together_are_read_together(inner: float, outer: float) -> None:
    light, block = Light("lamp", attenuated=True, inner_range=inner, outer_range=outer), Block()
    block.children = list(write_declared_fields(light, ase.ATTENUATION))
    restored = Light("lamp")
    read_declared_fields(restored, block, ase.ATTENUATION)
    assert (restored.attenuated, restored.inner_range, restored.outer_range) == (
        True,
        pytest.approx(inner),
        pytest.approx(outer),
    )
    read_declared_fields(restored, Block(), ase.ATTENUATION)
    assert (restored.attenuated, restored.inner_range, restored.outer_range) == (False, None, None)


@pytest.mark.parametrize("stored", [b"Constant", b"Phong", b"Blinn", b"Metal"])
def test_an_ase_shading_keeps_its_original_name(stored: bytes) -> None:
    shading = next(row for row in ase.MATERIAL if row.names == ("shading",))
    material = Material("paint", shading=ase.SHADINGS[stored], extras={"ase": {"shading": stored.decode()}})
    block = Block()
    block.children = list(write_declared_fields(material, (shading,)))
    assert block.name(b"MATERIAL_SHADING") == stored
    restored = Material("paint")
    read_declared_fields(restored, block, (shading,))
    assert restored.shading == material.shading
    assert write_declared_fields(Material("paint"), (shading,)) == []


EDGES = st.lists(st.integers(0, 7), min_size=1, max_size=8).map(np.array)


@given(edges=EDGES, casts=st.booleans(), dynamic=st.booleans(), radius=st.none() | NUMBERS)
def test_edges_flags_and_bounding_sphere_of_a_u3d_mesh(
    edges: npt.NDArray[np.int64], casts: bool, dynamic: bool, radius: float | None
) -> None:
    sphere = None if radius is None else (np.array([1.0, 2.0, 3.0]), radius)
    mesh = example_mesh(edges=edges, casts_shadows=casts, dynamic=dynamic, bounding_sphere=sphere)
    record, restored = uto3d_records.Mesh(), example_mesh()
    for name, stored in write_declared_fields(mesh, uto3d.MESH):
        setattr(record, name, stored)
    read_declared_fields(restored, record, uto3d.MESH)
    assert (restored.casts_shadows, restored.dynamic) == (casts, dynamic)
    assert np.array_equal(restored.edges, edges)
    if sphere is None or restored.bounding_sphere is None:
        assert restored.bounding_sphere is sphere
    else:
        assert (restored.bounding_sphere[0].tolist(), restored.bounding_sphere[1]) == ([1.0, 2.0, 3.0], radius)


def example_mesh(**fields: Any) -> Mesh:
    return Mesh("thing", np.zeros((3, 3)), np.zeros((len(fields.get("edges", ())), 3), np.int32), **fields)


@pytest.mark.parametrize(("part", "name"), LINES)
def test_a_missing_ase_field_has_the_default_of_the_model(part: str, name: str) -> None:
    default, table = PARTS[part]
    assert next(row for row in table if row.name == name).get(Block()) == getattr(default, name)


RECORDS: dict[str, tuple[tuple[uto3d.StoredField, ...], Any, Any]] = {
    "light": ((*uto3d.LIGHT, *uto3d.CONE), Light("lamp"), uto3d_records.Light),
    "camera": ((*uto3d.CAMERA, *uto3d.DISTANCES.values()), Camera("eye"), uto3d_records.Camera),
}


@pytest.mark.parametrize(
    ("part", "name"), [(part, field.name) for part, (table, _, _) in RECORDS.items() for field in table]
)
@given(data=st.data())
def test_record_fields_are_read_as_written(part: str, name: str, data: Any) -> None:
    table, default, kind = RECORDS[part]
    field = next(row for row in table if row.name == name)
    usual = getattr(default, name)
    value = data.draw(values(name, usual) if usual is not None or name in PAIRS else NUMBERS)
    value = ((0.5, 1.5) if name in PAIRS else 1.5) if value is None else value
    record = kind()
    for stored_name, stored in field.put(value):
        assert stored_name in field.stored
        setattr(record, stored_name, stored)
    assert field.get(record) == value


@pytest.mark.parametrize("kind", [uto3d_records.Light, uto3d_records.FlexporterLight, uto3d_records.LiteralLight])
@pytest.mark.parametrize("type", [LightType.OMNI, LightType.SPOT, LightType.DIRECTIONAL])
@pytest.mark.parametrize("aims", [True, False])
def test_u3d_light_types(kind: Any, type: LightType, aims: bool) -> None:
    number = uto3d.light_number(kind, type, aims=aims)
    assert uto3d.light_type(kind(), number) is type
    words = kind.types[number]
    assert ("target" in words) is (aims and f"target {words.split()[-1]}" in kind.types.values())
