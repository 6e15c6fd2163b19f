"""Images in exported files: found beside the model, embedded unchanged or as PNG, merged if glTF has no such map."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

import keyframer
from keyframer.exchange.kit import images as written_images
from keyframer.exchange.kit.surfaces import image_matrix
from keyframer.scene import Material, Mesh, Node, Scene, Space, TextureMap
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.textures import TextureFinder, TextureSource, image_files
from keyframer.viewer.viewed_file import images_from
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.oracles.gltf.sampler import Gltf

FORMATS = {"tga": "TGA", "gif": "GIF", "bmp": "BMP", "pcx": "PCX", "tif": "TIFF", "png": "PNG", "jpg": "JPEG"}


def picture(size: tuple[int, int] = (8, 4)) -> Image.Image:
    """Return an image whose red increases to the right and whose green increases downwards."""
    red, green = np.meshgrid(np.linspace(0, 255, size[0]), np.linspace(0, 255, size[1]))
    return Image.fromarray(np.stack([red, green, np.full_like(red, 40)], 2).astype(np.uint8))


def stencil(size: tuple[int, int] = (8, 4)) -> Image.Image:
    """Return an image that is white on the left and black on the right."""
    grey = np.zeros((size[1], size[0]), np.uint8)
    grey[:, : size[0] // 2] = 255
    return Image.fromarray(grey)


def square(**maps: TextureMap) -> Scene:
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], np.float32)
    mesh = Mesh("square", points, np.array([(0, 1, 2), (0, 2, 3)]), uv=points[:, :2].copy())
    mesh.face_materials = np.zeros(2, np.int32)
    material = Material("painted", diffuse=(1.0, 0.5, 0.25), maps=dict(maps))
    return Scene(nodes=[Node("square", mesh=0)], meshes=[mesh], materials=[material], space=Space("z"))


def saved(scene: Scene, folder: Path, **options: Any) -> tuple[Gltf, LossReport, Path]:
    path = folder / f"out{len(list(folder.glob('out*.glb')))}.glb"
    report = keyframer.save(scene, path, texture_path=folder, **options)
    return Gltf(path.read_bytes()), report, path


def image_bytes(gltf: Gltf, number: int = 0) -> bytes:
    view = gltf.json["bufferViews"][gltf.json["images"][number]["bufferView"]]
    start = view.get("byteOffset", 0)
    return gltf.buffer[start : start + view["byteLength"]]


def embedded(gltf: Gltf, reference: dict[str, Any]) -> np.ndarray:
    """Return the pixels of a texture of a material."""
    data = image_bytes(gltf, gltf.json["textures"][reference["index"]]["source"])
    return np.asarray(Image.open(io.BytesIO(data)))


def outcome_of(report: LossReport, ending: str) -> tuple[Outcome, str]:
    (found,) = [loss for loss in report if loss.path.endswith(ending)]
    return found.outcome, str(found.args.get("image", found.type.key))


@pytest.mark.parametrize("extension", FORMATS)
def test_every_image_format(tmp_path: Path, extension: str) -> None:
    file = tmp_path / f"WALL.{extension}"
    picture().save(file, FORMATS[extension])
    gltf, report, _ = saved(square(texture1=TextureMap(f"WALL.{extension}")), tmp_path)
    data = image_bytes(gltf)
    untouched = extension in ("png", "jpg")
    assert (data == file.read_bytes()) is untouched
    assert gltf.json["images"][0]["mimeType"] == ("image/jpeg" if extension == "jpg" else "image/png")
    wanted = np.asarray(Image.open(io.BytesIO(file.read_bytes())).convert("RGB"))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")), wanted)
    assert outcome_of(report, "/maps/texture1")[0] is Outcome.EXACT
    assert "baseColorFactor" not in gltf.json["materials"][0]["pbrMetallicRoughness"]  # a full map replaces the colour


@needs_node_tools
def test_validator_finds_no_errors_and_no_warnings(tmp_path: Path) -> None:
    paths = []
    for extension, kind in FORMATS.items():
        picture().save(tmp_path / f"map.{extension}", kind)
        stencil((16, 16)).save(tmp_path / f"grey.{extension}", kind)
        scene = square(
            texture1=TextureMap(f"map.{extension}", scale=(2.0, 3.0), rotation_degrees=30.0),
            opacity=TextureMap(f"grey.{extension}"),
            bump=TextureMap(f"grey.{extension}", amount=0.3, offset=(0.25, 0.0), mirror=True),
            self_illumination=TextureMap(f"grey.{extension}", decal=True),
        )
        scene.meshes.append(Mesh("bare", scene.meshes[0].positions, scene.meshes[0].corners))
        scene.meshes[1].face_materials = np.zeros(2, np.int32)
        scene.nodes.append(Node("bare", mesh=1))
        for core_only in (False, True):
            gltf, _, path = saved(scene, tmp_path, core_only=core_only)
            paths.append(path)
            first, second = (gltf.json["meshes"][number]["primitives"][0] for number in (0, 1))
            assert "TANGENT" in first["attributes"]
            assert "baseColorTexture" not in gltf.json["materials"][second["material"]]["pbrMetallicRoughness"]
    assert_valid(paths)


@needs_node_tools
def test_display_settings_of_a_png_are_removed(tmp_path: Path) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    picture().save(tmp_path / "a.png", dpi=(72, 36), icc_profile=profile)
    gltf, _, path = saved(square(texture1=TextureMap("a.png")), tmp_path)
    assert len(image_bytes(gltf)) < (tmp_path / "a.png").stat().st_size
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(image_bytes(gltf)))), np.asarray(picture()))
    assert_valid([path])


@pytest.mark.parametrize("order", ["<", ">"])
def test_orientation_of_a_photograph_is_removed(tmp_path: Path, order: str) -> None:
    """Browsers would rotate the image, the programs of the time did not. Only the two bytes of the orientation
    change."""
    exif = Image.Exif()
    exif.endian = order
    exif[0x0112], exif[0x010F] = 6, "a camera"
    picture().save(tmp_path / "a.jpg", exif=exif)
    gltf, report, _ = saved(square(texture1=TextureMap("a.jpg")), tmp_path)
    before, after = (tmp_path / "a.jpg").read_bytes(), image_bytes(gltf)
    assert len(before) == len(after)
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == [(6, 1)]
    assert Image.open(io.BytesIO(after)).getexif() == {0x0112: 1, 0x010F: "a camera"}
    assert "Exif orientation" in outcome_of(report, "/maps/texture1")[1]


@pytest.mark.parametrize("cut", [1, 4, 11, 12, 13])
def test_truncated_png_is_written_anew(tmp_path: Path, cut: int) -> None:
    picture().save(tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[:-cut])
    gltf, report, _ = saved(square(texture1=TextureMap("a.png")), tmp_path)
    if not gltf.json.get("images"):
        assert outcome_of(report, "/maps/texture1")[1].startswith(
            "a.png: found as a.png, under its own name; PNG, damaged or cut off"
        )
        return
    assert image_bytes(gltf).endswith(whole[-12:])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(image_bytes(gltf)))), np.asarray(picture()))


@pytest.mark.parametrize(("blur", "mode"), [(False, "MASK"), (True, "BLEND")])
def test_opacity_maps_become_alpha(tmp_path: Path, blur: bool, mode: str) -> None:
    picture().save(tmp_path / "a.png")
    cover = picture().convert("RGB").getchannel("R") if blur else stencil()
    cover.save(tmp_path / "b.png")
    gltf, report, _ = saved(square(texture1=TextureMap("a.png"), opacity=TextureMap("b.png", amount=1.0)), tmp_path)
    material = gltf.json["materials"][0]
    assert material["alphaMode"] == mode
    pixels = embedded(gltf, material["pbrMetallicRoughness"]["baseColorTexture"])
    np.testing.assert_array_equal(pixels[..., 3], np.asarray(cover))
    np.testing.assert_array_equal(pixels[..., :3], np.asarray(picture()))
    assert outcome_of(report, "/maps/opacity")[0] is Outcome.BAKED


def test_opacity_map_without_a_texture_keeps_the_colour(tmp_path: Path) -> None:
    stencil().save(tmp_path / "b.png")
    gltf, _, _ = saved(square(opacity=TextureMap("b.png", amount=0.5, negative=True)), tmp_path)
    material = gltf.json["materials"][0]
    pixels = embedded(gltf, material["pbrMetallicRoughness"]["baseColorTexture"])
    assert (pixels[..., :3] == 255).all()
    assert set(np.unique(pixels[:, :4, 3])) == {128}  # half of the map, in negative: white hides half
    assert set(np.unique(pixels[:, 4:, 3])) == {255}
    assert material["pbrMetallicRoughness"]["baseColorFactor"][0] == 1.0
    assert material["alphaMode"] == "BLEND"


def test_bump_maps_become_normal_maps(tmp_path: Path) -> None:
    """A slope that rises to the right leans to the left; one that rises downwards leans up (green)."""
    ramp = np.repeat(np.arange(0, 256, 32, dtype=np.uint8)[None], 8, axis=0)
    for name, rows, channel, side in (("right", ramp, 0, -1), ("down", ramp.T, 1, 1)):
        Image.fromarray(np.ascontiguousarray(rows)).save(tmp_path / f"{name}.png")
        gltf, report, _ = saved(square(bump=TextureMap(f"{name}.png", tiled=False)), tmp_path)
        normals = embedded(gltf, gltf.json["materials"][0]["normalTexture"]) / 127.5 - 1
        assert np.abs(np.linalg.norm(normals, axis=2) - 1).max() < 0.02
        assert (normals[2:-2, 2:-2, channel] * side > 0.2).all()
        assert (np.abs(normals[..., 1 - channel]) < 0.01).all()
        assert outcome_of(report, "/maps/bump")[0] is Outcome.APPROXIMATED


@pytest.mark.parametrize(("how", "edge"), [({}, 1), ({"mirror": True}, 0), ({"decal": True}, 0), ({"tiled": False}, 0)])
def test_normals_at_the_edge_follow_the_wrap_mode(tmp_path: Path, how: dict[str, bool], edge: int) -> None:
    """A black and a white half: if the image repeats, white meets black at its edge; if mirrored, white meets white."""
    rows = np.zeros((8, 8), np.uint8)
    rows[:, 4:] = 255
    Image.fromarray(rows).save(tmp_path / "step.png")
    gltf, _, _ = saved(square(bump=TextureMap("step.png", **how)), tmp_path)
    red = embedded(gltf, gltf.json["materials"][0]["normalTexture"])[4, :, 0] / 127.5 - 1
    assert red[3] < -0.3  # the slope in the middle
    assert (red[0] > 0.3, red[7] > 0.3) == (bool(edge), bool(edge))


def test_self_illumination_has_the_colour_of_the_surface(tmp_path: Path) -> None:
    picture().save(tmp_path / "a.png")
    stencil().save(tmp_path / "b.png")
    maps = {"texture1": TextureMap("a.png"), "self_illumination": TextureMap("b.png")}
    material = saved(square(**maps), tmp_path)[0].json["materials"][0]
    gltf = saved(square(**maps), tmp_path)[0]
    pixels = embedded(gltf, material["emissiveTexture"])
    np.testing.assert_array_equal(pixels[:, :4], np.asarray(picture())[:, :4])
    assert (pixels[:, 4:] == 0).all()
    assert material["emissiveFactor"] == [1, 1, 1]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("amount", [None, 1.0, 0.5])
def test_self_illumination_is_taken_from_the_base_colour(tmp_path: Path, share: float, amount: float | None) -> None:
    """The two parts add up to the colour: 1 under an image, otherwise (0.5, 0.2, 0.8) as linear light, by the formula
    of sRGB. Reading gives both back."""
    picture().save(tmp_path / "a.png")
    scene = square(**({} if amount is None else {"texture1": TextureMap("a.png", amount=amount)}))
    material = scene.materials[0]
    material.diffuse, material.self_illumination = (0.5, 0.2, 0.8), share
    gltf, _, path = saved(scene, tmp_path)
    written = gltf.json["materials"][0]
    color = np.array([((level + 0.055) / 1.055) ** 2.4 for level in (0.5, 0.2, 0.8)])
    color = color if amount is None else np.ones(3)
    surface = written["pbrMetallicRoughness"]
    assert surface.get("baseColorFactor", [1, 1, 1])[:3] == pytest.approx(color * (1 - share), abs=1e-6)
    assert written.get("emissiveFactor", [0, 0, 0]) == pytest.approx(color * share, abs=1e-6)
    if share and amount:
        assert written["emissiveTexture"] == surface["baseColorTexture"]
    back = keyframer.load(path).materials[0]
    assert back.self_illumination == pytest.approx(share, abs=1e-6)
    assert back.diffuse == pytest.approx((0.5, 0.2, 0.8), abs=1e-6)
    assert set(back.maps) == set(material.maps)


def in_max(
    uv: tuple[float, float], scale: tuple[float, float], offset: tuple[float, float], degrees: float
) -> tuple[float, float]:
    """Return coordinates by the rule of 3ds Max in the numbers it shows, v up: moved, tiled and rotated about the
    centre."""
    x, y = (uv[0] - 0.5 - offset[0]) * scale[0], (uv[1] - 0.5 - offset[1]) * scale[1]
    turn = np.radians(degrees)
    return np.cos(turn) * x - np.sin(turn) * y + 0.5, np.sin(turn) * x + np.cos(turn) * y + 0.5


def in_gltf(uv: tuple[float, float], moved: dict[str, Any]) -> tuple[float, float]:
    """Return coordinates by the text of the extension: translation * rotation * scale of (u, 1 - v); the result has v
    up."""
    (su, sv), (ou, ov) = moved.get("scale", (1, 1)), moved.get("offset", (0, 0))
    c, s = np.cos(moved.get("rotation", 0.0)), np.sin(moved.get("rotation", 0.0))
    p, q = uv[0] * su, (1 - uv[1]) * sv
    return c * p + s * q + ou, 1 - (-s * p + c * q + ov)


def test_texture_transforms_match_3ds_max_and_gltf(tmp_path: Path) -> None:
    """3D Studio stores the V offset and the angle that 3ds Max shows with the opposite sign; pictures agree with
    glTF."""
    picture().save(tmp_path / "a.png")
    generator = np.random.default_rng(8)
    for _ in range(10):
        scale, offset = generator.uniform(0.5, 3, 2), generator.uniform(-1, 1, 2)
        angle = float(generator.uniform(-180, 180))
        laid = TextureMap("a.png", scale=tuple(scale), offset=tuple(offset), rotation_degrees=angle)
        gltf, _, _ = saved(square(texture1=laid), tmp_path)
        reference = gltf.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]
        moved = reference["extensions"]["KHR_texture_transform"]
        for u, v in generator.uniform(0, 1, (5, 2)).tolist():
            wanted = in_max((u, v), tuple(scale), (offset[0], -offset[1]), -angle)
            np.testing.assert_allclose(in_gltf((u, v), moved), wanted, atol=1e-6)
            for v_up, given in ((True, v), (False, 1 - v)):
                seen = image_matrix(laid, v_up) @ (u, given, 1)
                np.testing.assert_allclose((seen[0], 1 - seen[1]), wanted, atol=1e-5)


@needs_corpus
@pytest.mark.parametrize(
    ("name", "scale", "offset", "degrees"),
    [
        ("OffsetU0.56V0.5_ScaleU10V2_Rotate45.3DS", (10, 2), (0.56, 0.5), 45),
        ("OffsetU0.5_ScaleUV2_Rotate45_clampUV.3DS", (2, 2), (0.5, 0.0), 45),
        ("ScaleUV1-2_OffsetUV0-0.9_Rotate-72_mirrorU.3ds", (1, 2), (0.0, 0.9), -72),
        ("OffsetUV0.5-clampUV.3DS", (1, 1), (0.5, 0.5), 0),
    ],
)
def test_files_of_3ds_max_have_the_transforms_in_their_names(
    tmp_path: Path, name: str, scale: tuple[float, float], offset: tuple[float, float], degrees: float
) -> None:
    """These files were saved by 3ds Max and named after the numbers in its window."""
    picture().save(tmp_path / "UVTRANSF.PNG")
    (path,) = (CORPUS / "3ds").glob(f"*UVTransform_{name}")
    gltf, _, _ = saved(keyframer.load(path), tmp_path)
    reference = gltf.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"]
    moved = reference["extensions"]["KHR_texture_transform"]
    for uv in ((0.0, 0.0), (1.0, 0.0), (0.3, 0.8)):
        np.testing.assert_allclose(in_gltf(uv, moved), in_max(uv, scale, offset, degrees), atol=1e-5)


@pytest.mark.parametrize(
    ("how", "wrap"), [({}, 10497), ({"mirror": True}, 33648), ({"decal": True}, 33071), ({"tiled": False}, 33071)]
)
def test_wrap_modes(tmp_path: Path, how: dict[str, bool], wrap: int) -> None:
    picture().save(tmp_path / "a.png")
    gltf, report, _ = saved(square(texture1=TextureMap("a.png", **how)), tmp_path)  # type: ignore[arg-type]
    (sampler,) = gltf.json["samplers"]
    assert (sampler["wrapS"], sampler["wrapT"]) == (wrap, wrap)
    assert not any(loss.path.endswith(("/decal", "/tiled")) for loss in report)  # no face shows the outside


def test_guessed_and_missing_images_are_in_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "maps"
    folder.mkdir()
    picture().save(folder / "stonewall_large.png")
    picture().save(tmp_path / "outside.png")
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    names = ["STONEWAL.TGA", "gone.jpg", "../outside.png", "http://a.b/c.png", "broken.png"]
    scene = square(texture1=TextureMap(names[0]))
    scene.materials += [Material(name, maps={"texture1": TextureMap(name)}) for name in names[1:]]
    report = keyframer.save(scene, tmp_path / "a.glb", texture_path=[folder])
    losses = {loss.path.split("/")[2]: loss for loss in report if loss.path.endswith("/maps/texture1")}
    assert losses["painted"].code == "IMAGE_CHANGED"
    assert "stonewall_large.png, by its first eight characters" in str(losses["painted"].args["image"])
    kept_maps = [loss for loss in report if loss.outcome is Outcome.EXTRAS and "/maps/" in loss.path]
    assert len(kept_maps) == 4
    assert {loss.code for loss in kept_maps} == {"IMAGE_MISSING"}
    words = " ".join(str(loss.args["image"]) for loss in kept_maps)
    for expected in ("not found", "SEC_PATH_TRAVERSAL", "SEC_PATH_URL", "not an image that can be read"):
        assert expected in words
    assert len(Gltf((tmp_path / "a.glb").read_bytes()).json["images"]) == 1


def test_texture_options(tmp_path: Path) -> None:
    picture().save(tmp_path / "a.png")
    scene = square(texture1=TextureMap("a.png"))
    keyframer.save(scene, tmp_path / "none.glb", texture_path=tmp_path, textures=False)
    assert "images" not in Gltf((tmp_path / "none.glb").read_bytes()).json
    keyframer.save(scene, tmp_path / "nowhere.glb")  # a scene built in Python has no folder
    assert "images" not in Gltf((tmp_path / "nowhere.glb").read_bytes()).json
    with pytest.raises(ValueError, match="texture_path cannot be combined with images"):
        keyframer.save(scene, tmp_path / "x.glb", images=lambda *_: None, texture_path=tmp_path)


@needs_corpus
def test_makbot_has_its_panels(tmp_path: Path) -> None:
    model = CORPUS / "makbot" / "mak_running.3DS"
    keyframer.save(keyframer.load(model), tmp_path / "a.glb")
    gltf = Gltf((tmp_path / "a.glb").read_bytes())
    names = [image["name"] for image in gltf.json["images"]]
    assert image_bytes(gltf, names.index("Panels.jpg")) == (model.parent / "Panels.jpg").read_bytes()


@needs_corpus
@needs_node_tools
def test_validator_accepts_makbot_with_its_images(tmp_path: Path) -> None:
    keyframer.save(keyframer.load(CORPUS / "makbot" / "mak_running.3DS"), tmp_path / "a.glb")
    assert_valid([tmp_path / "a.glb"])


def test_materials_with_the_same_texture_share_an_image(tmp_path: Path) -> None:
    picture().save(tmp_path / "a.tga")
    scene = square(texture1=TextureMap("a.tga"))
    scene.materials += [Material(f"m{n}", maps={"texture1": TextureMap("A.TGA")}) for n in range(3)]
    gltf, _, _ = saved(scene, tmp_path)
    assert len(gltf.json["images"]) == len(gltf.json["textures"]) == 1


def test_decals_with_holes_show_the_colour_below(tmp_path: Path) -> None:
    clear = picture().convert("RGBA")
    clear.putalpha(stencil())
    clear.save(tmp_path / "a.png")
    gltf, report, _ = saved(square(texture1=TextureMap("a.png", decal=True)), tmp_path)
    pixels = embedded(gltf, gltf.json["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"])
    assert pixels.shape[2] == 3
    np.testing.assert_array_equal(pixels[:, :4], np.asarray(picture())[:, :4])
    assert (np.abs(pixels[:, 4:].astype(int) - (255, 128, 64)) <= 1).all()
    assert "alphaMode" not in gltf.json["materials"][0]
    assert outcome_of(report, "/maps/texture1")[0] is Outcome.BAKED
    holes = saved(square(texture1=TextureMap("a.png")), tmp_path)[0].json["materials"][0]
    assert holes["alphaMode"] == "MASK"


def test_cmyk_images_become_png(tmp_path: Path) -> None:
    picture().convert("CMYK").save(tmp_path / "a.jpg")
    gltf, _, _ = saved(square(texture1=TextureMap("a.jpg")), tmp_path)
    assert gltf.json["images"][0]["mimeType"] == "image/png"


def test_large_images_are_processed_in_little_memory(tmp_path: Path) -> None:
    """A PNG of a few kilobytes has 16 million pixels: unchanged it is embedded, merged or converted it is reduced."""
    Image.new("L", (4000, 4000), 128).save(tmp_path / "big.png")
    Image.new("RGB", (8, 8), (9, 9, 9)).save(tmp_path / "small.png")
    gltf, report, _ = saved(square(texture1=TextureMap("big.png")), tmp_path)
    assert image_bytes(gltf) == (tmp_path / "big.png").read_bytes()
    assert outcome_of(report, "/maps/texture1")[0] is Outcome.EXACT
    for maps in (
        {"bump": "big.png"},
        {"texture1": "big.png", "opacity": "small.png"},
        {"self_illumination": "big.png"},
    ):
        tracemalloc.start()
        gltf, report, _ = saved(square(**{slot: TextureMap(name) for slot, name in maps.items()}), tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 600 << 20
        assert Image.open(io.BytesIO(image_bytes(gltf))).size == (2048, 2048)
        outcome, detail = outcome_of(report, f"/maps/{next(iter(maps))}")
        assert "resized from 4000 x 4000 to 2048 x 2048 pixels" in detail
        assert outcome is not Outcome.EXACT


def test_every_map_is_reported(tmp_path: Path) -> None:
    """Also maps that glTF does not support, and a missing opacity map beside a base colour that was found."""
    picture().save(tmp_path / "wall.png")
    slots = ("texture1", "opacity", "texture2", "specular", "shininess", "reflection", "texture1_mask")
    maps = {slot: TextureMap("wall.png" if slot != "opacity" else "holes.png") for slot in slots}
    _, report, _ = saved(square(**maps), tmp_path)
    losses = {loss.path.rpartition("/")[2]: loss for loss in report if "/maps/" in loss.path}
    assert losses["texture1"].outcome is Outcome.EXACT
    missing = losses["opacity"]
    assert (missing.outcome, missing.code, missing.args["image"]) == (
        Outcome.EXTRAS,
        "IMAGE_MISSING",
        "holes.png: not found",
    )
    for slot in slots[2:]:
        assert (losses[slot].outcome, losses[slot].type.key) == (Outcome.EXTRAS, "IMAGES_KEPT:name")
        assert losses[slot].args == {"name": "wall.png", "reason": ", because this format has no map of this kind"}
    _, report, _ = saved(square(texture1=TextureMap("")), tmp_path)
    assert outcome_of(report, "/maps/texture1") == (Outcome.EXTRAS, "IMAGES_KEPT:without file")


@pytest.mark.parametrize("page", [False, True], ids=["a file", "the viewer's page"])
def test_image_is_encoded_once_for_all_materials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: bool) -> None:
    """24 materials of different colours and blurs; 8 image files, named in lower and upper case."""
    scene = square()
    scene.materials.clear()
    for number in range(24):
        name = f"picture{number % 8}.tga"
        made = Image.fromarray(np.full((8, 8, 3), 10 * (number % 8), np.uint8))
        made.save(tmp_path / name)
        map = TextureMap(name.upper() if number > 11 else name, blur=number / 100)
        scene.materials.append(Material(f"m{number}", diffuse=(number / 24, 0.5, 0.5), maps={"texture1": map}))
    encoded: list[Any] = []
    encode = image_files.as_png
    for module in (image_files, written_images):
        monkeypatch.setattr(module, "as_png", lambda image: encoded.append(image) or encode(image))
    source = TextureSource(TextureFinder([tmp_path]))
    asked = images_from(source) if page else written_images.Pictures(source)
    found = [asked(material, "base_color", material.maps["texture1"]) for material in scene.materials]
    assert len({image.data for image in found}) == 8
    assert len(encoded) == (16 if page else 8)  # the page's images are encoded again from their pixels alone
