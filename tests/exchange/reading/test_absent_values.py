"""From 3D Studio to glTF and back: what the file did not state is not stated afterwards, and empty names stay empty."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import keyframer
from keyframer.scene import Environment, Material, Mesh, Node, Scene, TextureMap
from tests.building.gltf import glb, loaded, split_glb
from tests.building.images import picture
from tests.corpus import needs_corpus, threeds_files
from tests.exchange.truth import glb_of
from tests.slow import SLOW

GREY = (0.8, 0.8, 0.8)
MATERIALS = [
    Material("nothing"),
    Material("as invented", diffuse=GREY, shininess=0.0),
    Material("only a colour", diffuse=(0.25, 0.5, 0.75)),
    Material("only a shine", shininess=0.5, shininess_strength=0.5),
    Material("dull", shininess_strength=0.0),
    Material("glowing", self_illumination=1.0, transparency=0.5),
    Material("map without a name", maps={"texture1": TextureMap("")}),
    Material("half a map", maps={"texture1": TextureMap("WALL.PNG", amount=0.5)}),
    Material("a map", maps={"texture1": TextureMap("WALL.PNG")}),
]


def there_and_back(original: Path, folder: Path) -> tuple[Scene, Scene]:
    """Convert a 3D Studio file to glTF and back; returns the scenes of both 3D Studio files."""
    keyframer.convert(original, folder / "between.glb")
    keyframer.convert(folder / "between.glb", folder / "back.3ds")
    return keyframer.load(original), keyframer.load(folder / "back.3ds")


def stated(part: object) -> set[str]:
    """The fields of a part that have a value, and those that are an empty text."""
    names = {field.name for field in dataclasses.fields(part) if getattr(part, field.name) is not None}  # type: ignore[arg-type]
    return names | {f"{name} is empty" for name in names if getattr(part, name) == ""}


def stated_by(scene: Scene) -> dict[str, set[str]]:
    """What the materials, their maps and the surroundings state, by name."""
    found = {"/": stated(scene.environment) - {"raw_name"}}
    for material in scene.materials:
        found[material.name] = stated(material) - {"raw_name"}
        found |= {f"{material.name}/{slot}": stated(map) for slot, map in material.maps.items()}
    return found


def test_absent_values_stay_absent(tmp_path: Path) -> None:
    mesh = Mesh("wall", positions=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], corners=[[0, 1, 2]], uv=[[0, 0], [1, 0], [0, 1]])
    mesh.face_materials = [7]
    scene = Scene(
        nodes=[Node("wall", mesh=0)],
        meshes=[mesh],
        materials=MATERIALS,
        environment=Environment(background_image="", background_color=(0.5, 0.5, 0.5)),
    )
    (tmp_path / "WALL.PNG").write_bytes(picture())
    keyframer.save(scene, tmp_path / "first.3ds")
    first, back = there_and_back(tmp_path / "first.3ds", tmp_path)
    assert (first.materials[0].diffuse, first.materials[0].shininess) == (None, None)
    assert first.environment.background_image == ""
    assert stated_by(back) == stated_by(first)
    for before, after in zip(first.materials, back.materials, strict=True):
        for name in ("diffuse", "shininess", "shininess_strength", "transparency", "self_illumination"):
            assert getattr(after, name) == pytest.approx(getattr(before, name), abs=0.01), (before.name, name)


def test_values_that_another_program_set_are_read() -> None:
    data, _ = glb_of(Scene(nodes=[Node("box")], materials=[Material("bare"), Material("bare too")]))
    root, binary = split_glb(data)
    surface = root["materials"][0]["pbrMetallicRoughness"]
    surface |= {"baseColorFactor": [1.0, 0.0, 0.0, 1.0], "roughnessFactor": 0.25}
    changed, bare = loaded(glb(root, binary)).materials
    assert changed.diffuse == (1.0, 0.0, 0.0)
    assert changed.shininess is not None
    assert changed.shininess > 0.3
    assert (bare.diffuse, bare.shininess) == (None, None)


@needs_corpus
def test_real_files(tmp_path: Path) -> None:
    """Every seventh real file; in 9 of 102, shininess came back as 0, in one the colour as grey."""
    files = [path for path in threeds_files() if path.stat().st_size < (1 << 22 if SLOW else 1 << 18)]
    compared = 0
    for number, path in enumerate(files[:: 1 if SLOW else 7]):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            first, back = there_and_back(path, folder)
        except (keyframer.FormatError, ValueError):  # damaged, or nothing to write
            continue
        names = {material.name for material in back.materials}
        expected = stated_by(first)
        compared += len(names)
        for name, found in stated_by(back).items():
            if name.partition("/")[0] in {"", *names} & {"", *(material.name for material in first.materials)}:
                assert found == expected[name], f"{path.name}: {name}"
    assert compared > 100
