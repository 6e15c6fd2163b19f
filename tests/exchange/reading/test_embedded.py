"""Images inside glTF files: kept as bytes, copied to other glTF files, written beside files of the old formats."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.errors import FormatError
from keyframer.scene import Node, TextureMap
from keyframer.scene.loss_report import Outcome
from tests.building.gltf import data_uri, glb, loaded
from tests.building.images import encoded
from tests.cli.running import Run
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.test_gltf_textures import image_bytes, outcome_of, picture, square, stencil
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.oracles.gltf.sampler import Gltf

BASE, BUMPS = encoded(picture((16, 8)), "JPEG"), encoded(Image.new("RGB", (4, 4), (128, 128, 255)))
SHADE = encoded(Image.new("RGB", (2, 2), (200, 90, 180)))
GLOW = encoded(Image.new("RGB", (2, 2), (10, 250, 20)))


def foreign(name: str = "Bricks of the old wall.png", **material: Any) -> bytes:
    """Return a square with a base colour and a normal map in buffer views, and emission in a data URI."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], "<f4")
    parts = [points.tobytes(), points[:, :2].astype("<f4").tobytes(), np.array([0, 1, 2, 0, 2, 3], "<u2").tobytes()]
    parts += [BASE + bytes(-len(BASE) % 4), BUMPS]
    views, at = [], 0
    for part in parts:
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(part)})
        at += len(part)
    views[3]["byteLength"] = len(BASE)
    surface = {"baseColorTexture": {"index": 0}, "baseColorFactor": [0.5, 1, 1, 1], "metallicFactor": 0.75}
    surface["metallicRoughnessTexture"] = {"index": 3}
    root = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "square"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [
            {
                "name": "wall",
                "pbrMetallicRoughness": surface,
                "normalTexture": {"index": 1, "scale": 0.5},
                "occlusionTexture": {"index": 3, "strength": 0.25},
                "emissiveTexture": {"index": 2},
                "emissiveFactor": [1.0, 0.5, 0.25],
                **material,
            }
        ],
        "textures": [{"source": number} for number in range(4)],
        "images": [
            {"bufferView": 3, "mimeType": "image/jpeg", "name": name},
            {"bufferView": 4, "mimeType": "image/png", "name": name},
            {"uri": data_uri(GLOW).replace("application/octet-stream", "image/png")},
            {"uri": data_uri(SHADE).replace("application/octet-stream", "image/png"), "name": "shade"},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": at}],
    }
    return glb(root, b"".join(parts))


def test_embedded_images_are_in_the_scene() -> None:
    maps = loaded(foreign()).materials[0].maps
    images = {slot: map.embedded for slot, map in maps.items() if map.embedded is not None}
    assert {slot: (image.data, image.mime_type, image.role) for slot, image in images.items()} == {
        "texture1": (BASE, "image/jpeg", "color"),
        "bump": (BUMPS, "image/png", "normal"),
        "self_illumination": (GLOW, "image/png", "emission"),
        "metallic_roughness": (SHADE, "image/png", "metallic_roughness"),
        "occlusion": (SHADE, "image/png", "occlusion"),
    }
    assert maps["self_illumination"].file_name == "image 2"


@needs_node_tools
def test_images_are_copied_from_glb_to_glb(tmp_path: Path) -> None:
    report = keyframer.save(loaded(foreign()), tmp_path / "a.glb")
    keyframer.save(keyframer.load(tmp_path / "a.glb"), tmp_path / "b.glb")
    for name in ("a.glb", "b.glb"):
        gltf = Gltf((tmp_path / name).read_bytes())
        assert [image_bytes(gltf, number) for number in range(4)] == [BASE, BUMPS, GLOW, SHADE]
        material = gltf.json["materials"][0]
        kept = material["pbrMetallicRoughness"]
        assert kept["metallicFactor"] == 0.75
        assert np.allclose(kept["baseColorFactor"], [0.5, 1, 1, 1], atol=1e-6)
        assert material["emissiveFactor"] == [1.0, 0.5, 0.25]
        order = [kept["baseColorTexture"], material["normalTexture"], material["emissiveTexture"]]
        order += [kept["metallicRoughnessTexture"], material["occlusionTexture"]]
        sources = [gltf.json["textures"][reference["index"]]["source"] for reference in order]
        assert [image_bytes(gltf, source) for source in sources] == [BASE, BUMPS, GLOW, SHADE, SHADE]
        assert (material["normalTexture"]["scale"], material["occlusionTexture"]["strength"]) == (0.5, 0.25)
        assert "alphaMode" not in material
    assert outcome_of(report, "maps/texture1")[0] is Outcome.EXACT
    assert_valid([tmp_path / "a.glb", tmp_path / "b.glb"])


@needs_node_tools
def test_images_merged_from_maps_are_kept_when_saved_again(tmp_path: Path) -> None:
    picture().save(tmp_path / "wood.tga")
    stencil().save(tmp_path / "holes.png")
    names = {"texture1": "WOOD.TGA", "opacity": "HOLES.PNG", "bump": "HOLES.PNG", "self_illumination": "WOOD.TGA"}
    scene = square(**{slot: TextureMap(name) for slot, name in names.items()})
    keyframer.save(scene, tmp_path / "a.glb", texture_path=tmp_path)
    keyframer.save(square(opacity=TextureMap("HOLES.PNG")), tmp_path / "c.glb", texture_path=tmp_path)
    half = square(texture1=TextureMap("GONE.PNG"), opacity=TextureMap("HOLES.PNG"))
    keyframer.save(half, tmp_path / "e.glb", texture_path=tmp_path)
    maps = keyframer.load(tmp_path / "e.glb").materials[0].maps
    assert (maps["texture1"].embedded is None, maps["opacity"].embedded is None) == (True, False)
    for first, second in (("a", "b"), ("c", "d"), ("e", "f")):
        again = keyframer.load(tmp_path / f"{first}.glb")
        keyframer.save(again, tmp_path / f"{second}.glb")
        one, other = (Gltf((tmp_path / f"{name}.glb").read_bytes()) for name in (first, second))
        assert one.json["materials"][0] == other.json["materials"][0]
        count = len(one.json["images"])
        assert [image_bytes(one, at) for at in range(count)] == [image_bytes(other, at) for at in range(count)]
    assert {slot: map.file_name for slot, map in keyframer.load(tmp_path / "b.glb").materials[0].maps.items()} == names
    assert_valid([tmp_path / f"{name}.glb" for name in "bdf"])
    keyframer.save(keyframer.load(tmp_path / "f.glb"), tmp_path / "f.3ds")
    grey = np.asarray(Image.open(tmp_path / "HOLES.PNG"))
    assert np.array_equal(grey, np.asarray(stencil()))


def test_unsupported_texture_coordinates_are_reported() -> None:
    scene = loaded(foreign(normalTexture={"index": 1, "texCoord": 2}))
    (issue,) = list(scene.issues)
    assert (issue.code, issue.path, issue.severity.label) == (
        "SEM_UNKNOWN_ENUM", "/materials[0]/normalTexture/texCoord", "warning",
    )  # fmt: skip
    assert "TEXCOORD_2" in issue.message


def test_alpha_modes(tmp_path: Path) -> None:
    """Soft edges of a mask stay a mask, and alpha that is ignored stays ignored."""
    soft = picture((8, 4)).convert("RGBA")
    soft.putalpha(100)
    for mode in ("OPAQUE", "MASK", "BLEND"):
        data = foreign(alphaMode=mode).replace(b'"mimeType": "image/jpeg"', b'"mimeType": "image/png" ')
        scene = loaded(data)
        embedded = scene.materials[0].maps["texture1"].embedded
        scene.materials[0].maps["texture1"].embedded = type(embedded)(
            "soft.png", encoded(soft), "image/png", "color", embedded.alpha_is_opacity
        )
        keyframer.save(scene, tmp_path / f"{mode}.glb")
        written = Gltf((tmp_path / f"{mode}.glb").read_bytes()).json["materials"][0]
        assert written.get("alphaMode", "OPAQUE") == mode


def test_materials_that_share_an_image_keep_their_alpha_modes(tmp_path: Path) -> None:
    """One image is a mask for one material and blended by the other: it is written once for each."""
    soft = picture((8, 4)).convert("RGBA")
    soft.putalpha(100)
    scene = loaded(foreign(alphaMode="MASK"))
    old = scene.materials[0].maps["texture1"].embedded
    assert old is not None
    shared = type(old)("soft.png", encoded(soft), "image/png", "color", True)
    scene.materials[0].maps["texture1"].embedded = shared
    veil = copy.deepcopy(scene.materials[0])
    veil.name, veil.maps["texture1"].embedded = "veil", shared
    veil.extras["gltf"]["alpha_mode"] = "BLEND"
    scene.materials.append(veil)
    scene.meshes.append(replace(scene.meshes[0], face_materials=np.ones(len(scene.meshes[0].corners), np.int64)))
    scene.nodes.append(Node("veil", mesh=len(scene.meshes) - 1))
    keyframer.save(scene, tmp_path / "two.glb")
    written = Gltf((tmp_path / "two.glb").read_bytes()).json["materials"]
    assert [material.get("alphaMode", "OPAQUE") for material in written] == ["MASK", "BLEND"]


def test_images_are_written_beside_3ds(tmp_path: Path) -> None:
    report = keyframer.save(loaded(foreign()), tmp_path / "wall.3ds")
    assert [Path(name).name for name in report.written] == ["wall.3ds", "BRICKS_O.JPG", "IMAGE_2.PNG"]
    assert (tmp_path / "BRICKS_O.JPG").read_bytes() == BASE
    assert (tmp_path / "IMAGE_2.PNG").read_bytes() == GLOW
    maps = keyframer.load(tmp_path / "wall.3ds").materials[0].maps
    assert (maps["texture1"].file_name, maps["self_illumination"].file_name) == ("BRICKS_O.JPG", "IMAGE_2.PNG")
    losses = {loss.path.rpartition("/")[2]: loss for loss in report if loss.path.startswith("/materials/wall/maps/")}
    image = losses["texture1"]
    assert (image.outcome, image.type.key, image.args["file"]) == (Outcome.EXACT, "IMAGE_WRITTEN:file", "BRICKS_O.JPG")
    assert losses["bump"].type.key == "IMAGES_UNSUPPORTED:refused"
    assert losses["bump"].args["reason"] == "a normal map cannot be used as a height map"
    assert "bump" not in maps
    for slot, words in (("metallic_roughness", "no metallic roughness map"), ("occlusion", "no occlusion map")):
        assert losses[slot].type.key == "IMAGES_UNSUPPORTED:refused"
        assert words in str(losses[slot].args["reason"])


def beside(folder: Path) -> Path:
    """Write the same scene with all images as files beside a ``.gltf``."""
    size = int.from_bytes(foreign()[12:16], "little")
    root = json.loads(foreign()[20 : 20 + size])
    root["buffers"][0]["uri"] = data_uri(foreign()[28 + size :])
    folder.mkdir()
    names = ("skin of wall.jpg", "bumps.png", "glow.png", "shade.png")
    for number, (name, content) in enumerate(zip(names, (BASE, BUMPS, GLOW, SHADE), strict=True)):
        root["images"][number] = {"uri": name.replace(" ", "%20")}
        (folder / name).write_bytes(content)
    (folder / "a.gltf").write_text(json.dumps(root))
    return folder / "a.gltf"


def test_images_beside_a_gltf_are_copied_beside_3ds(tmp_path: Path) -> None:
    scene = keyframer.load(beside(tmp_path / "in"))
    report = keyframer.save(scene, tmp_path / "w.3ds")
    assert {path.name for path in tmp_path.iterdir()} == {"in", "w.3ds", "SKIN_OF_.JPG", "GLOW.PNG"}
    assert (tmp_path / "SKIN_OF_.JPG").read_bytes() == BASE
    assert (tmp_path / "GLOW.PNG").read_bytes() == GLOW
    maps = keyframer.load(tmp_path / "w.3ds").materials[0].maps
    assert {slot: map.file_name for slot, map in maps.items()} == {
        "texture1": "SKIN_OF_.JPG",
        "self_illumination": "GLOW.PNG",
    }
    assert outcome_of(report, "maps/texture1") == (Outcome.EXACT, "IMAGE_WRITTEN:file")
    for slot in ("bump", "metallic_roughness", "occlusion"):
        assert outcome_of(report, f"maps/{slot}")[0] is Outcome.DROPPED
    report = keyframer.save(scene, tmp_path / "w.u3d")
    assert {outcome_of(report, f"maps/{slot}")[0] for slot in scene.materials[0].maps} == {Outcome.DROPPED}


def test_missing_image_beside_a_gltf_is_reported(tmp_path: Path) -> None:
    path = beside(tmp_path / "in")
    (path.parent / "skin of wall.jpg").unlink()
    report = keyframer.save(keyframer.load(path), tmp_path / "w.3ds")
    assert outcome_of(report, "maps/texture1") == (
        Outcome.DROPPED,
        "'skin of wall.jpg' next to the file",
    )


def test_image_outside_the_folder_is_not_copied(tmp_path: Path) -> None:
    path = beside(tmp_path / "in")
    (tmp_path / "secret.jpg").write_bytes(BASE)
    path.write_text(path.read_text().replace("skin%20of%20wall.jpg", "../secret.jpg"))
    keyframer.save(keyframer.load(path), tmp_path / "w.3ds")
    assert {path.name for path in tmp_path.iterdir()} == {"in", "secret.jpg", "w.3ds", "GLOW.PNG"}


def test_two_images_with_the_same_name(tmp_path: Path) -> None:
    scene = loaded(foreign("../../CON"))
    bump = scene.materials[0].maps["bump"]
    bump.embedded = type(bump.embedded)(bump.embedded.name, encoded(picture(), "JPEG"), "image/jpeg", "color")
    report = keyframer.save(scene, tmp_path / "x.3ds")
    assert sorted(Path(name).name for name in report.written) == ["CON2.JPG", "CON3.JPG", "IMAGE_2.PNG", "x.3ds"]
    assert {path.name for path in tmp_path.iterdir()} == {"CON2.JPG", "CON3.JPG", "IMAGE_2.PNG", "x.3ds"}


def test_existing_images_are_not_overwritten(tmp_path: Path, run: Run) -> None:
    (tmp_path / "wall.glb").write_bytes(foreign())
    (tmp_path / "BRICKS_O.JPG").write_bytes(b"mine")
    assert run("convert", tmp_path / "wall.glb", tmp_path / "wall.3ds").code == 0
    assert run("convert", "-f", tmp_path / "wall.glb", tmp_path / "wall.3ds").code == 0
    assert (tmp_path / "BRICKS_O.JPG").read_bytes() == b"mine"
    assert (tmp_path / "BRICKS_2.JPG").read_bytes() == BASE
    assert run("convert", tmp_path / "wall.glb", tmp_path / "second.3ds").code == 0  # the same image exists already


def test_formats_that_store_fewer_images(tmp_path: Path) -> None:
    report = keyframer.save(loaded(foreign()), tmp_path / "wall.mdl", format="hale3d")
    assert "Bricks_of_the_old_wall.jpg" in {Path(name).name for name in report.written}
    assert keyframer.load(tmp_path / "wall.mdl").materials[0].maps["texture1"].file_name == "Bricks_of_the_old_wall.jpg"
    report = keyframer.save(loaded(foreign()), tmp_path / "wall.u3d")
    assert outcome_of(report, "maps/texture1")[0] is Outcome.DROPPED
    assert [Path(name).suffix for name in report.written] == [".u3d"]


def test_invalid_image_is_not_written(tmp_path: Path) -> None:
    data = foreign().replace(BASE, b"#!/bin/sh\n" + bytes(len(BASE) - 10))
    report = keyframer.save(loaded(data), tmp_path / "x.3ds")
    assert outcome_of(report, "maps/texture1")[0] is Outcome.DROPPED
    assert {path.name for path in tmp_path.iterdir()} == {"x.3ds", "IMAGE_2.PNG"}


def test_images_beside_a_gltf_are_embedded(tmp_path: Path) -> None:
    """`save` knows the folder that the scene was loaded from."""
    size = int.from_bytes(foreign()[12:16], "little")
    root = json.loads(foreign()[20 : 20 + size])
    root["buffers"][0]["uri"] = data_uri(foreign()[28 + size :])
    root["images"][0] = {"uri": "skin%20of%20wall.jpg"}
    root["images"][1] = {"uri": "bumps.png"}
    (tmp_path / "a.gltf").write_text(json.dumps(root))
    (tmp_path / "skin of wall.jpg").write_bytes(BASE)
    (tmp_path / "bumps.png").write_bytes(BUMPS)
    keyframer.save(keyframer.load(tmp_path / "a.gltf"), tmp_path / "a.glb")
    gltf = Gltf((tmp_path / "a.glb").read_bytes())
    assert {image_bytes(gltf, number) for number in range(4)} == {BASE, BUMPS, GLOW, SHADE}


def test_missing_image_is_reported() -> None:
    data = foreign().replace(b'"bufferView": 3, "mimeType"', b'"bufferView": 9, "mimeType"')
    with pytest.raises(FormatError, match=r"LINK_INDEX_OUT_OF_RANGE .* in /images\[0\]/bufferView"):
        loaded(data)
    material = loaded(data, salvage=True).materials[0]
    assert material.maps["texture1"].embedded is None
    assert material.maps["texture1"].file_name == "Bricks of the old wall.png"
    assert material.maps["bump"].embedded is not None


def test_thumbnails_show_embedded_images(tmp_path: Path, run: Run) -> None:
    red = encoded(Image.new("RGB", (16, 8), (255, 0, 0)), "JPEG")
    data = foreign(emissiveFactor=[0, 0, 0]).replace(BASE, red + bytes(len(BASE) - len(red)))
    (tmp_path / "a.glb").write_bytes(data)
    assert run("thumbnail", tmp_path / "a.glb", "-o", tmp_path / "a.png").code == 0
    pixels = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"), int)
    assert (pixels[..., 0] - pixels[..., 1:].max(axis=2)).max() > 100


@needs_corpus
def test_makbot_keeps_its_panels(tmp_path: Path) -> None:
    folder = CORPUS / "makbot"
    keyframer.save(keyframer.load(folder / "mak_running.3DS"), tmp_path / "a.glb")
    keyframer.save(keyframer.load(tmp_path / "a.glb"), tmp_path / "b.glb")
    keyframer.save(keyframer.load(tmp_path / "b.glb"), tmp_path / "c.3ds")
    assert (tmp_path / "PANELS.JPG").read_bytes() == (folder / "Panels.jpg").read_bytes()
