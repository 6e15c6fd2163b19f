"""Materials of other exporters: extensions for materials and textures, samplers, and their export."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.errors import FormatError
from tests.building.gltf import data_uri, glb, loaded, split_glb, triangle
from tests.building.images import encoded
from tests.exchange.reading.test_embedded import foreign
from tests.exchange.test_gltf_textures import image_bytes, in_gltf, picture
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.oracles.gltf.sampler import Gltf

STRONG = {"KHR_materials_emissive_strength": {"emissiveStrength": 4.0}}


def saved_again(data: bytes, folder: Path) -> Gltf:
    keyframer.save(loaded(data), folder / "again.glb", overwrite=True)
    return Gltf((folder / "again.glb").read_bytes())


def changed(data: bytes, **others: Any) -> bytes:
    root, binary = split_glb(data)
    return glb({**root, **others}, binary)


@pytest.mark.parametrize(
    "said",
    [
        {"extensions": {"KHR_materials_unlit": {}}},
        {"extensions": STRONG},
        {"alphaMode": "MASK", "alphaCutoff": 0.25},
        {"emissiveFactor": [0.0, 0.0, 0.0]},
        {"emissiveFactor": [0.5, 0.25, 0.0]},
        {"doubleSided": True},
    ],
    ids=lambda said: json.dumps(said)[:40],
)
def test_material_is_exported_unchanged(tmp_path: Path, said: dict[str, Any]) -> None:
    base = {"normalTexture": None, "occlusionTexture": None, "emissiveTexture": None, "emissiveFactor": [1.0, 0.5, 0.0]}
    root, binary = split_glb(foreign(**{**base, **said}))
    kept = {name: value for name, value in root["materials"][0].items() if value is not None}
    clear = picture((16, 8)).convert("RGBA")
    clear.putalpha(Image.fromarray(np.where(np.arange(16) < 8, 0, 255).astype(np.uint8)[None].repeat(8, 0)))
    root["images"][0] = {"uri": data_uri(encoded(clear)).replace("application/octet-stream", "image/png")}
    written = saved_again(glb({**root, "materials": [kept]}, binary), tmp_path).json
    material = written["materials"][0]
    surface = {name: kept["pbrMetallicRoughness"][name] for name in ("baseColorFactor", "metallicFactor")}
    for name, value in {**base, **said}.items():
        wanted = None if value in ([0.0, 0.0, 0.0], None) else value
        assert material.get(name) == wanted, name
    assert {name: material["pbrMetallicRoughness"][name] for name in surface} == surface
    assert written.get("extensionsUsed", []) == sorted(said.get("extensions", ()))


def test_core_only_writes_no_material_extensions(tmp_path: Path) -> None:
    scene = loaded(foreign(extensions={**STRONG, "KHR_materials_unlit": {}}))
    keyframer.save(scene, tmp_path / "core.glb", core_only=True)
    assert b"KHR_materials" not in json.dumps(Gltf((tmp_path / "core.glb").read_bytes()).json["materials"]).encode()


def test_emission_becomes_self_illumination() -> None:
    unlit = loaded(foreign(extensions={"KHR_materials_unlit": {}})).materials[0]
    dim = loaded(foreign(emissiveFactor=[0.1, 0.0, 0.0])).materials[0]
    strong = loaded(foreign(emissiveFactor=[0.1, 0.0, 0.0], extensions=STRONG)).materials[0]
    assert unlit.self_illumination == 1.0
    assert strong.self_illumination == pytest.approx(4 * (dim.self_illumination or 0.0)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("glow", "share"),
    [
        ([0.1, 0.1 / 3, 0.2 / 3], 0.25),
        ([0.3, 0.1, 0.2], 0.5),
        ([0.9, 0.3, 0.6], None),  # brighter than any colour
        ([0.0, 0.1, 0.0], None),  # another colour
    ],
)
def test_surface_that_glows_in_its_own_colour(tmp_path: Path, glow: list[float], share: float | None) -> None:
    """It is self-illuminated: the two parts of its colour are joined. Whatever it glows, it is exported unchanged."""
    root, binary = triangle()
    base = [0.3, 0.1, 0.2, 1.0]
    root["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": base}, "emissiveFactor": glow}]
    data = glb(root, binary)
    material = loaded(data).materials[0]
    if share is not None:
        assert material.self_illumination == pytest.approx(share, abs=1e-6)
        assert "emissive" not in material.extras["gltf"]
    written = saved_again(data, tmp_path).json["materials"][0]
    assert written["emissiveFactor"] == pytest.approx(glow, abs=1e-6)
    assert written["pbrMetallicRoughness"]["baseColorFactor"] == pytest.approx(base, abs=1e-6)


@pytest.mark.parametrize(
    "sampler",
    [
        {"magFilter": 9728, "minFilter": 9984, "wrapS": 33071, "wrapT": 10497},
        {"wrapT": 33648},
        {"magFilter": 9728},
        {},
    ],
)
def test_samplers_are_exported_unchanged(tmp_path: Path, sampler: dict[str, int]) -> None:
    textures = [{"source": 0, "sampler": 0}, *({"source": number} for number in range(1, 4))]
    written = saved_again(changed(foreign(), samplers=[sampler], textures=textures), tmp_path).json
    texture = written["textures"][written["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["index"]]
    usual = {"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497}
    assert written["samplers"][texture["sampler"]] == (sampler or usual)


def test_sampler_of_a_changed_map_is_not_exported(tmp_path: Path) -> None:
    textures = [{"source": number, "sampler": 0} for number in range(4)]
    scene = loaded(changed(foreign(), samplers=[{"wrapS": 33071}], textures=textures))
    map = scene.materials[0].maps["texture1"]
    assert (map.tiled, map.mirror) == (False, False)
    map.tiled = True
    keyframer.save(scene, tmp_path / "a.glb")
    written = Gltf((tmp_path / "a.glb").read_bytes()).json
    texture = written["textures"][written["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["index"]]
    assert written["samplers"][texture["sampler"]]["wrapS"] == 10497


def test_webp_images(tmp_path: Path) -> None:
    webp = encoded(picture((16, 8)), "WEBP", lossless=True)
    root, binary = split_glb(foreign())
    root["images"][0] = {"uri": data_uri(webp).replace("application/octet-stream", "image/webp")}
    root["textures"][0] = {"extensions": {"EXT_texture_webp": {"source": 0}}}
    root["extensionsUsed"] = root["extensionsRequired"] = ["EXT_texture_webp"]
    scene = loaded(glb(root, binary))
    assert not list(scene.issues)
    gltf = saved_again(glb(root, binary), tmp_path)
    shown = gltf.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["index"]
    source = gltf.json["textures"][shown]["source"]
    assert gltf.json["images"][source]["mimeType"] == "image/png"
    pixels = np.asarray(Image.open(io.BytesIO(image_bytes(gltf, source))).convert("RGB"))
    np.testing.assert_array_equal(pixels, np.asarray(picture((16, 8))))


def test_texture_with_an_unsupported_extension() -> None:
    root, binary = split_glb(foreign())
    root["textures"][0] = {"extensions": {"KHR_texture_basisu": {"source": 0}}}
    root["extensionsUsed"] = root["extensionsRequired"] = ["KHR_texture_basisu"]
    scene = loaded(glb(root, binary))
    assert "texture1" not in scene.materials[0].maps
    assert [(issue.code, issue.path, issue.severity.label) for issue in scene.issues] == [
        ("SEM_EXTENSION_UNKNOWN", "/extensionsRequired[0]", "warning"),
        ("SEM_EXTENSION_UNKNOWN", "/textures[0]", "warning"),
    ]


def test_specular_glossiness_materials() -> None:
    older = {"diffuseFactor": [0.0, 1.0, 0.0, 0.5], "diffuseTexture": {"index": 1}, "glossinessFactor": 0.25}
    extensions = {"KHR_materials_pbrSpecularGlossiness": older}
    (material,) = loaded(foreign(alphaMode="BLEND", extensions=extensions)).materials
    assert (material.diffuse, material.transparency) == ((0.0, 1.0, 0.0), 0.5)
    assert material.maps["texture1"].extras["gltf"]["image"] == 1
    extras = material.extras["gltf"]
    assert (extras["metallic"], extras["roughness"]) == (0.0, 0.75)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("KHR_materials_clearcoat", "warning"),
        ("KHR_texture_basisu", "warning"),
        ("EXT_mesh_gpu_instancing", None),
        ("KHR_texture_transform", ""),
    ],
)
def test_required_extensions(name: str, label: str | None) -> None:
    root, binary = triangle()
    root["extensionsUsed"] = root["extensionsRequired"] = [name]
    if label is None:
        words = f"unsupported extension {name}: the file requires it"
        with pytest.raises(FormatError, match=f"^SEM_EXTENSION_UNKNOWN at 0x.* in /extensionsRequired.0.: {words}$"):
            loaded(glb(root, binary))
        return
    assert "".join(issue.severity.label for issue in loaded(glb(root, binary)).issues) == label


def test_unknown_used_extensions_are_reported() -> None:
    root, binary = triangle()
    root["extensionsUsed"] = ["KHR_materials_unlit", "KHR_xmp_json_ld"]
    (issue,) = loaded(glb(root, binary)).issues
    assert (issue.code, issue.path, issue.severity.label) == ("SEM_EXTENSION_UNKNOWN", "/extensionsUsed[1]", "info")


@needs_node_tools
def test_validator_accepts_exported_materials(tmp_path: Path) -> None:
    textures = [{"source": number, "sampler": 0} for number in range(4)]
    data = changed(foreign(extensions={**STRONG}), samplers=[{"wrapS": 33071, "wrapT": 33648}], textures=textures)
    unlit = foreign(extensions={"KHR_materials_unlit": {}})
    for name, content in (("strong", data), ("unlit", unlit)):
        keyframer.save(loaded(content), tmp_path / f"{name}.glb")
    assert_valid([tmp_path / "strong.glb", tmp_path / "unlit.glb"])


def test_texture_coordinates_keep_their_place_in_3ds(tmp_path: Path) -> None:
    """V runs down in glTF and up in 3D Studio; each corner of the square keeps its place on the image."""
    moved = {"offset": [0.25, -0.5], "rotation": 0.6, "scale": [2.0, 3.0]}
    root, binary = split_glb(foreign())
    root["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]["extensions"] = {"KHR_texture_transform": moved}
    keyframer.save(loaded(glb(root, binary)), tmp_path / "wall.3ds")
    scene = keyframer.load(tmp_path / "wall.3ds")
    keyframer.save(scene, tmp_path / "again.glb", texture_path=tmp_path)
    material = Gltf((tmp_path / "again.glb").read_bytes()).json["materials"][0]
    laid = material["pbrMetallicRoughness"]["baseColorTexture"]["extensions"]["KHR_texture_transform"]
    (mesh,) = scene.meshes
    assert scene.space.v_up
    assert mesh.uv is not None
    corners = ((0, 0), (1, 0), (1, 1), (0, 1))  # of the square; their texture coordinates are the same, v running down
    up = mesh.uv if mesh.uv_corners is None else mesh.uv[np.unique(mesh.uv_corners)]
    np.testing.assert_allclose(up, [(u, 1 - v) for u, v in corners], atol=1e-6)
    wanted = [in_gltf((u, 1 - v), moved) for u, v in corners]
    np.testing.assert_allclose([in_gltf((u, v), laid) for u, v in up.tolist()], wanted, atol=1e-5)
