"""Random edits that are saved, loaded and taken back leave nothing behind, in every format.

Edits are made in rounds: many at once, saved into the original, loaded again, each set back to what it was, saved
again. Where the first save kept every record (the file has its size), the second gives the original bytes; where it had
to insert one, a file may go on saying what was only meant before, and the second save gives the original meaning. Taken
back without loading, edits always give the original bytes.
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
from keyframer.formats._merge_check import misread_fields
from keyframer.formats._scene_differences import Comparison
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import NodeKind, Scene
from tests.formats.editing import why_anew
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


def part(*path: str | int) -> Callable[[Scene], Any]:
    def find(scene: Scene) -> Any:
        found: Any = scene
        for step in path:
            found = found[step] if isinstance(step, int) else getattr(found, step)
        return found

    return find


def number(chance: random.Random) -> float:
    """One that 32 bits hold."""
    return chance.randrange(-4096, 4096) / 64


def color(chance: random.Random) -> tuple[float, ...]:
    """One that bytes hold as well."""
    return tuple(chance.randrange(6) / 5 for _ in range(3))


def word(chance: random.Random, old: str, taken: Container[str] = ()) -> str:
    """As long as another one, and not yet taken: two nodes of one name would not both keep it."""
    new = "".join(chance.choice(string.ascii_lowercase) for _ in old)
    return word(chance, old, taken) if old and new in taken else new


def possible(scene: Scene, chance: random.Random) -> Iterator[Change]:
    """One change of each field that the scene states, if its format can store it as it is."""
    names = {node.name for node in scene.nodes}
    for place, node in enumerate(scene.nodes):
        kinds = {channel.track.kind for channel in scene.channels_of(place)}
        if scene.source_format in ("3ds", "uto3d") and "visible" not in kinds:
            yield part("nodes", place), "hidden", not node.hidden
        is_named = scene.source_format != "hale3d" or node.kind is NodeKind.BONE  # its meshes have no names
        if scene.source_format not in ("3ds", "midtown") and node.kind is not NodeKind.TARGET and is_named:
            name = word(chance, node.name, names)
            names.add(name)
            yield part("nodes", place), "name", name
    for place, mesh in enumerate(scene.meshes):
        if mesh.uv is not None and len(mesh.uv) and scene.source_format in ("3ds", "hale3d", "uto3d"):
            uv = np.array(mesh.uv)
            uv[chance.randrange(len(uv))] = number(chance), number(chance)
            yield part("meshes", place), "uv", uv
    for place, light in enumerate(scene.lights):
        yield part("lights", place), "color", color(chance)
        if light.multiplier != 1.0:
            yield part("lights", place), "multiplier", number(chance)
    for place, camera in enumerate(scene.cameras):
        if camera.roll_degrees:
            yield part("cameras", place), "roll_degrees", number(chance)
    if scene.source_format in ("3ds", "ase"):
        for place, material in enumerate(scene.materials):
            for name in ("ambient", "diffuse", "specular"):
                if getattr(material, name) is not None:
                    yield part("materials", place), name, color(chance)
            yield part("materials", place), "two_sided", not material.two_sided
        if scene.environment.ambient is not None:
            yield part("environment"), "ambient", color(chance)
    for place, channel in enumerate(scene.clips[0].channels if scene.clips else []):
        track = channel.track
        if track.kind == "position" and len(track.times) > 1:
            values = track.values.copy()
            values[chance.randrange(1, len(values))] = [number(chance) for _ in range(3)]
            yield part("clips", 0, "channels", place, "track"), "values", values
    for place, raw in enumerate(scene.clips[0].raw_channels if scene.clips else []):
        values = np.array(raw.values)
        if values.size:
            values[chance.randrange(len(values))] = number(chance)
            yield part("clips", 0, "raw_channels", place), "values", values
    if scene.source_format == "nodeanim":
        yield part(), "author", word(chance, scene.author)


def saved(scene: Scene) -> bytes:
    format = format_by_name(str(scene.source_format))
    written = format.from_scene(scene)
    assert why_anew(written) == [], why_anew(written)
    return keyframer.encode(written.document)


def loaded(data: bytes, format: str) -> Scene:
    return scene_of(keyframer.decode(data, format=format))


@pytest.mark.parametrize("format", FILES)
def test_edits_that_are_taken_back_leave_nothing(format: str) -> None:
    chance = random.Random(f"edits of {format}")
    exact = made = 0
    for name in itertools.cycle(FILES[format]):
        if made >= EDITS:
            break
        data = (SAMPLES / name).read_bytes()
        pristine, scene = loaded(data, format), loaded(data, format)
        changes = list(possible(pristine, chance))
        changes = chance.sample(changes, min(EDITS_A_ROUND, len(changes)))
        for find, attribute, value in changes:
            setattr(find(scene), attribute, value)
        made += len(changes)
        edited = saved(scene)
        assert edited != data
        for find, attribute, _ in changes:
            setattr(find(scene), attribute, getattr(find(pristine), attribute))
        assert saved(scene) == data
        again = loaded(edited, format)
        for find, attribute, value in changes:
            assert Comparison(1e-6).same(getattr(find(again), attribute), value), attribute
            setattr(find(again), attribute, getattr(find(pristine), attribute))
        last = saved(again)
        exact += last == data
        if len(edited) == len(data):
            assert last == data
        else:
            assert misread_fields(pristine, loaded(last, format), set()) == []
    assert exact, "some edits change numbers in place"
