"""Every field of every kind of part, edited alone in files of each format.

A field gets another value, the file is saved and loaded again. If the report says that the field was written, the
loaded scene has the new value, or at least the same pose. If it was dropped, the loaded scene has the old value.
Record types and unknown bytes of the original are there, nearly all its records have the same content, and setting the
old value in the loaded scene gives the old scene.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats._matching import Comparison
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Scene
from keyframer.scene.environment import Fog, Gradient, LayeredFog
from keyframer.scene.loss_report import Outcome
from keyframer.wire.record import Record
from tests.building.editing import rewrite_reasons
from tests.formats.test_edits import check_records, content
from tests.samples import FOLDER

FILES = {
    "3ds": ["windmill.3ds", "tracks.3ds"],
    "uto3d": ["maxscript.u3d", "flexporter.u3d"],
    "ase": ["textured.ase", "stage.ase"],
    "nodeanim": ["default_mixed.nanim", "other_chunks.nanim"],
    "hale3d": ["wave-length.anim", "arm-length.mdl"],
    "midtown": ["retail.anim", "document-channels.anim"],
}
PARTS = ("nodes", "meshes", "materials", "maps", "cameras", "lights", "environment", "clips", "scene")
OTHER_TESTS = {
    "mesh",
    "camera",
    "light",
    "skin",
    "morph",
    "kind",
    "type",
    "channels",
    "unit",
    "units_per_frame",
    "rate",
}
"""fields that other tests edit: references, kinds of parts and units of time"""
NOT_STORED = {
    "extras",
    "raw_name",
    "raw_file_name",
    "file_id",
    "embedded",
    "folder",
    "origin",
    "source_format",
    "issues",
}
RED, GREEN, BLUE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
VALUES: dict[str, Any] = {
    "nodes.parent": None,
    "nodes.target": None,
    "nodes.rotation_xyzw": np.array([0.0, 0.0, 0.6, 0.8]),
    "nodes.scale_axes_xyzw": np.array([0.0, 0.0, 0.6, 0.8]),
    "nodes.bounding_box": (np.full(3, -1.0), np.ones(3)),
    "meshes.bounding_sphere": (np.array([1.0, 2.0, 3.0]), 4.0),
    "materials.shading": "metal",
    "cameras.ranges": (1.0, 9.0),
    "cameras.clip": (2.0, 3.0),
    "cameras.target": (1.0, 2.0, 3.0),
    "lights.target": (1.0, 2.0, 3.0),
    "lights.inner_range": 2.0,
    "lights.outer_range": 4.0,
    "lights.projector": "GOBO.TGA",
    "environment.background_image": "SKY.TGA",
    "environment.gradient": Gradient(0.25, [RED, GREEN, BLUE]),
    "environment.fog": Fog(5.0, 6.0, 7.0, 8.0, GREEN, True),
    "environment.distance_cue": Fog(1.0, 2.0, 3.0, 4.0, None, True),
    "environment.layered_fog": LayeredFog(1.0, 2.0, 0.5, 3, BLUE),
    "clips.current": 3.0,
}
"""values of fields that may be None or have a type of their own"""
COLOURS = ("ambient", "diffuse", "specular", "background_color", "color")
SAME_POSE = ("position", "rotation_xyzw", "scale", "scale_axes_xyzw", "pivot", "parent", "target")
"""fields of a node that a format may store in another form: as keys, or in the vertices"""
SPECIAL = {
    ("3ds", "meshes.axes"): "follow from the node",
    ("uto3d", "cameras.roll_degrees"): "become a key",
    ("ase", "environment.uses"): "only the background colour",
    ("ase", "lights.inner_range"): "only of lights with attenuation",
    ("ase", "lights.outer_range"): "only of lights with attenuation",
    ("ase", "materials.falloff_inwards"): "only of materials with a falloff",
}
"""fields that a format declares and that these files cannot store, and why"""
MOST_CHANGED = 8
"""the most records without children that one edited field changes: a name that faces and nodes repeat"""


def other_value(part: str, name: str, value: Any) -> Any:
    """Another value for a field, of the same type and size; None if there is none."""
    if f"{part}.{name}" in VALUES:
        return VALUES[f"{part}.{name}"]
    if name in ("start", "end"):
        return value + 160  # ticks of a frame, or frames
    if name == "uses":
        return {*value, "fog"}
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return "edited"
    if isinstance(value, (int, float)):
        return type(value)(value / 2 + 1) if value else 0.25
    if isinstance(value, tuple) and value and all(isinstance(number, float) for number in value):
        return tuple(number / 2 + 0.125 for number in value)
    if isinstance(value, np.ndarray) and value.size:
        if value.dtype.kind == "f":
            return np.roll(value, 1, axis=-1) if name == "normals" else value + 0.25  # normals stay unit vectors
        if name == "face_materials":
            return np.zeros_like(value) if value.any() else np.full_like(value, -1)
        return np.roll(value, 1, axis=-1) if value.ndim > 1 else value ^ 1
    return GREEN if value is None and name in COLOURS else None


def part_of(scene: Scene, part: str) -> Any:
    """The first part of a kind, None if there is none."""
    if part in ("scene", "environment"):
        return scene if part == "scene" else scene.environment
    if part == "maps":
        return next((map for material in scene.materials for map in material.maps.values()), None)
    return next(iter(getattr(scene, part)), None)


def edited_fields(scene: Scene) -> Iterator[tuple[str, str, Any]]:
    for part in PARTS:
        found = part_of(scene, part)
        for field in fields(found) if found is not None else ():
            value = getattr(found, field.name)
            new = other_value(part, field.name, value)
            is_used = field.name not in OTHER_TESTS | NOT_STORED and not isinstance(value, (list, dict))
            if (
                is_used
                and not (new is None and value is None)
                and (new is not None or f"{part}.{field.name}" in VALUES)
            ):
                yield part, field.name, new


def read_again(written: Written) -> tuple[Document, Scene]:
    format = written.document.format
    saved = keyframer.decode(keyframer.encode(written.document), format=format.name)
    merger = format.scene_writer().merger
    return saved, scene_of(saved, merger.companion_options(written))


def outcome_of(written: Written, part: str, field: str) -> Outcome | None:
    """What the report says about a field of the first part of its kind."""
    ends = {"scene": f"/{field}", "environment": f"/environment/{field}", "maps": f"/{field}"}
    path = ends.get(part, f"/{part}/0/{field}")
    found = [
        loss.outcome for loss in written.report if loss.path == path or (part == "maps" and loss.path.endswith(path))
    ]
    return found[0] if found else None


def same_field(a: Scene, b: Scene, part: str, field: str) -> bool:
    """Whether the first part of a kind has the same value in both scenes, or the node the same pose."""
    comparison = Comparison(1e-5)
    if comparison.same(getattr(part_of(a, part), field), getattr(part_of(b, part), field)):
        return True
    if part != "nodes" or field not in SAME_POSE:
        return False
    poses = [keyframer.pose(scene, frames=[0.0, 7.0]) for scene in (a, b)]
    if a.nodes[0].mesh is not None:
        return np.allclose(*(pose.vertices(0) for pose in poses), atol=1e-4)
    return np.allclose(*(pose.world[:, 0] for pose in poses), atol=1e-4)


def leaves(document: Document) -> Counter[object]:
    return Counter(content(record) for record in document.find(Record) if not record.children)


def check_field(document: Document, part: str, field: str, value: Any) -> Outcome | None:
    """Edit one field of a file and check the result; return what the report says about it."""
    format = document.format
    before, edited = scene_of(document), scene_of(document)
    setattr(part_of(edited, part), field, value)
    written = format.from_scene(edited)
    if rewrite_reasons(written):
        return None
    saved, loaded = read_again(written)
    check_records("edit", document, saved)
    assert (leaves(document) - leaves(saved)).total() <= MOST_CHANGED
    outcome = outcome_of(written, part, field)
    if outcome is Outcome.DROPPED:
        assert same_field(before, loaded, part, field), "dropped, but not the old value"
    elif outcome is Outcome.EXACT:
        assert same_field(edited, loaded, part, field), "written, but not the new value"
        old = getattr(part_of(before, part), field)
        if part != "clips" and not (isinstance(old, str) and old == "dummy"):
            setattr(part_of(loaded, part), field, old)  # frames stay, and the name is reserved
            assert same_field(before, read_again(format.from_scene(loaded))[1], part, field), "not taken back"
    elif all(loss.outcome is Outcome.EXACT for loss in written.report):
        assert leaves(saved) == leaves(document), "changed without a report"
    return outcome


@pytest.mark.parametrize("format_name", FILES)
def test_an_edited_field_is_written_or_dropped_as_reported(format_name: str) -> None:
    outcomes: dict[str, set[Outcome | None]] = {}
    for name in FILES[format_name]:
        document = keyframer.decode((FOLDER / format_name / name).read_bytes(), format=format_name)
        for part, field, value in edited_fields(scene_of(document)):
            if (format_name, f"{part}.{field}") not in SPECIAL:
                try:
                    outcome = check_field(document, part, field, value)
                except AssertionError as error:
                    raise AssertionError(f"{name}: {part}.{field}: {error}") from error
                outcomes.setdefault(f"{part}.{field}", set()).add(outcome)
    declared = format_by_name(format_name).scene_writer().capabilities.supported
    stored = {field for field, found in outcomes.items() if Outcome.EXACT in found}
    assert declared & outcomes.keys() <= stored
    assert stored & {"nodes.name", "scene.title"}
