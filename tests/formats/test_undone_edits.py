"""Random edits that are saved, loaded and undone restore the original, in every format.

Many edits are made at once, saved into the original and loaded again; then each is undone, and the scene saved again.
If the first save added no record (the size is unchanged), the second gives the original bytes. If it added one, that
record may remain with its default value, and the second save gives the original scene. Edits that are undone without
loading always give the original bytes.
"""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats._scene_differences import Comparison
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import NodeKind, Scene
from tests.formats.editing import rewrite_reasons
from tests.slow import SLOW

SAMPLES = Path(__file__).parents[1] / "samples"
FILES = {
    "3ds": ("3ds/windmill.3ds", "3ds/tracks.3ds", "3ds/project.prj"),
    "uto3d": ("uto3d/flexporter.u3d", "uto3d/maxscript.u3d", "uto3d/literal.u3d"),
    "hale3d": ("hale3d/wave-length.anim", "hale3d/wave-nul-ended.anim", "hale3d/arm-length.mdl"),
    "midtown": ("midtown/retail.anim", "midtown/document-channels.anim", "midtown/document-long-channels.anim"),
    "ase": ("ase/controllers.ase", "ase/stage.ase", "ase/textured.ase"),
    "nodeanim": ("nodeanim/default_mixed.nanim", "nodeanim/big_no_header_u16_text.nanim", "nodeanim/u16_u16.nanim"),
}
EDITS_A_ROUND = 10
EDITS = (50_000 if SLOW else 2_000) // len(FILES) + 1
"""for each format"""

Change = tuple[Callable[[Scene], Any], str, Any]
"""how to find a part of a scene, the attribute that changes, and its new value"""


def part_at(*path: str | int) -> Callable[[Scene], Any]:
    def find(scene: Scene) -> Any:
        value: Any = scene
        for step in path:
            value = value[step] if isinstance(step, int) else getattr(value, step)
        return value

    return find


def random_number(chance: random.Random) -> float:
    """A number that is exact in 32 bits."""
    return chance.randrange(-4096, 4096) / 64


def random_color(chance: random.Random) -> tuple[float, ...]:
    """A colour that is exact in bytes."""
    return tuple(chance.randrange(6) / 5 for _ in range(3))


def random_name(chance: random.Random, old: str, taken: Container[str] = ()) -> str:
    """A random name of the same length that is not in ``taken``."""
    new = "".join(chance.choice(string.ascii_lowercase) for _ in old)
    return random_name(chance, old, taken) if old and new in taken else new


def possible_changes(scene: Scene, chance: random.Random) -> Iterator[Change]:
    """One change of each field in the scene that its format can store exactly."""
    names = {node.name for node in scene.nodes}
    for place, node in enumerate(scene.nodes):
        kinds = {channel.track.kind for channel in scene.channels_of(place)}
        if scene.source_format in ("3ds", "uto3d") and "visible" not in kinds:
            yield part_at("nodes", place), "hidden", not node.hidden
        is_named = scene.source_format != "hale3d" or node.kind is NodeKind.BONE  # its meshes have no names
        if scene.source_format not in ("3ds", "midtown") and node.kind is not NodeKind.TARGET and is_named:
            name = random_name(chance, node.name, names)
            names.add(name)
            yield part_at("nodes", place), "name", name
    for place, mesh in enumerate(scene.meshes):
        if mesh.uv is not None and len(mesh.uv) and scene.source_format in ("3ds", "hale3d", "uto3d"):
            uv = np.array(mesh.uv)
            uv[chance.randrange(len(uv))] = random_number(chance), random_number(chance)
            yield part_at("meshes", place), "uv", uv
    for place, light in enumerate(scene.lights):
        yield part_at("lights", place), "color", random_color(chance)
        if light.multiplier != 1.0:
            yield part_at("lights", place), "multiplier", random_number(chance)
    for place, camera in enumerate(scene.cameras):
        if camera.roll_degrees:
            yield part_at("cameras", place), "roll_degrees", random_number(chance)
    if scene.source_format in ("3ds", "ase"):
        for place, material in enumerate(scene.materials):
            for name in ("ambient", "diffuse", "specular"):
                if getattr(material, name) is not None:
                    yield part_at("materials", place), name, random_color(chance)
            yield part_at("materials", place), "two_sided", not material.two_sided
        if scene.environment.ambient is not None:
            yield part_at("environment"), "ambient", random_color(chance)
    for place, channel in enumerate(scene.clips[0].channels if scene.clips else []):
        track = channel.track
        if track.kind == "position" and len(track.times) > 1:
            values = track.values.copy()
            values[chance.randrange(1, len(values))] = [random_number(chance) for _ in range(3)]
            yield part_at("clips", 0, "channels", place, "track"), "values", values
    for place, raw in enumerate(scene.clips[0].raw_channels if scene.clips else []):
        values = np.array(raw.values)
        if values.size:
            values[chance.randrange(len(values))] = random_number(chance)
            yield part_at("clips", 0, "raw_channels", place), "values", values
    if scene.source_format == "nodeanim":
        yield part_at(), "author", random_name(chance, scene.author)


def save(scene: Scene) -> bytes:
    format = format_by_name(str(scene.source_format))
    written = format.from_scene(scene)
    assert rewrite_reasons(written) == [], rewrite_reasons(written)
    return keyframer.encode(written.document)


def load(data: bytes, format: str) -> Scene:
    return scene_of(keyframer.decode(data, format=format))


@pytest.mark.parametrize("format", FILES)
def test_edits_that_are_undone_restore_the_original(format: str) -> None:
    chance = random.Random(f"edits of {format}")
    exact = edits_made = 0
    for name in itertools.cycle(FILES[format]):
        if edits_made >= EDITS:
            break
        data = (SAMPLES / name).read_bytes()
        pristine, scene = load(data, format), load(data, format)
        changes = list(possible_changes(pristine, chance))
        changes = chance.sample(changes, min(EDITS_A_ROUND, len(changes)))
        for find, attribute, value in changes:
            setattr(find(scene), attribute, value)
        edits_made += len(changes)
        edited = save(scene)
        assert edited != data
        for find, attribute, _ in changes:
            setattr(find(scene), attribute, getattr(find(pristine), attribute))
        assert save(scene) == data
        loaded = load(edited, format)
        for find, attribute, value in changes:
            assert Comparison(1e-6).same(getattr(find(loaded), attribute), value), attribute
            setattr(find(loaded), attribute, getattr(find(pristine), attribute))
        last = save(loaded)
        exact += last == data
        if len(edited) == len(data):
            assert last == data
        else:
            assert misread_fields(pristine, load(last, format), set()) == []
    assert exact, "some edits change numbers in place"
