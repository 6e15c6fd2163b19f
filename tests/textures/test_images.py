"""Opening images: every format, unchanged JPEG and PNG data, Autodesk formats, decompression bombs and damage."""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile

import keyframer
from keyframer.limits import Limits
from keyframer.scene import EmbeddedImage, Material, Mesh, Node, Scene, TextureMap
from keyframer.textures import ImageLimits, ImageRefused, TextureFinder, TextureSource, open_texture, scene_textures
from keyframer.textures.image_files import decode_texture, ifl_names
from keyframer.textures.texture_usage import describe_embedded_image
from tests.building.images import encoded, png
from tests.corpus import CORPUS, needs_corpus


def picture(mode: str = "RGB") -> Image.Image:
    """Red at the top, blue at the bottom."""
    rows = np.zeros((4, 6, 3), np.uint8)
    rows[:2] = (255, 0, 0)
    rows[2:] = (0, 0, 255)
    return Image.fromarray(rows).convert(mode)


def saved(kind: str, mode: str = "RGB") -> bytes:
    return encoded(picture(mode), kind)


@pytest.mark.parametrize("kind", ["PNG", "TGA", "GIF", "BMP", "PCX", "TIFF", "WEBP", "PPM", "SGI", "DDS"])
def test_formats(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.{kind.lower()}"
    path.write_bytes(saved(kind))
    texture = open_texture(path)
    assert texture.format == kind
    assert texture.mime_type == ("image/png" if kind == "PNG" else None)
    pixels = texture.pixels()
    assert (pixels[0, 0, 0] > 200, pixels[-1, -1, 2] > 200) == (True, True)
    assert pixels.shape[2] == 4
    decoded = decode_texture(texture.png(), "x.png")
    assert decoded.format == "PNG"
    assert np.array_equal(decoded.pixels(), pixels)


def test_jpeg_and_png_data_is_passed_on_unchanged() -> None:
    jpeg = decode_texture(saved("JPEG"), "x.jpg")
    assert (jpeg.mime_type, jpeg.data) == ("image/jpeg", saved("JPEG"))


def test_alpha() -> None:
    assert not decode_texture(saved("PNG", "RGBA"), "x").has_alpha  # opaque everywhere
    clear = picture("RGBA")
    clear.putalpha(128)
    assert decode_texture(encoded(clear, "PNG"), "x").has_alpha
    clear.putalpha(0)
    assert not decode_texture(encoded(clear, "TGA"), "x.tga").has_alpha  # an alpha channel that was never filled


@pytest.mark.parametrize(
    ("kind", "levels", "shown"),
    [
        (np.float32, [0.0, 0.5, 1.0], [0, 127, 255]),
        (np.float32, [0.0, 127.0, 255.0], [0, 127, 255]),
        (np.int32, [0, 32768, 65535], [0, 127, 255]),
        (np.float32, [0.0, np.nan, 1.0], [0, 0, 255]),
        (np.uint16, [0, 40_000, 65_535], [0, 40_000 * 255 // 65_535, 255]),
        (np.uint16, [0, 200, 200], [0, 0, 0]),  # not brighter than in a viewer of glTF, which gets the file unchanged
    ],
)
def test_greys_of_16_and_32_bits_and_floats(kind: type, levels: list[float], shown: list[int]) -> None:
    data = encoded(Image.fromarray(np.array([levels], kind)), "PNG" if kind is np.uint16 else "TIFF")
    assert decode_texture(data, "x").pixels()[0, :, 1].tolist() == shown


@pytest.mark.parametrize("kind", ["JPEG", "TGA", "BMP", "PCX", "TIFF"])
def test_truncated_images_are_reported_as_damaged(kind: str) -> None:
    data = saved(kind)
    with pytest.raises(ImageRefused, match=f"^{kind}, damaged or cut off$"):
        decode_texture(data[:-30], "x")


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that claims this size."""
    return png(width, height, zlib.compress(bytes(1000)), kind=0)


@pytest.mark.parametrize(
    ("width", "height"), [(10_000, 10_000), (20_000, 20_000), (2**31 - 1, 2**31 - 1), (9_000, 9_000)]
)
def test_bombs_are_refused(width: int, height: int) -> None:
    with pytest.raises(ImageRefused, match=r"pixels|no image"):
        decode_texture(bomb(width, height), "x.png")


def test_limits_are_options(tmp_path: Path) -> None:
    with pytest.raises(ImageRefused, match="6 x 4 pixels, the limit is 20"):
        decode_texture(saved("PNG"), "x.png", ImageLimits(pixels=20))
    (tmp_path / "x.png").write_bytes(saved("PNG"))
    with pytest.raises(ImageRefused, match="the limit is 10"):
        open_texture(tmp_path / "x.png", ImageLimits(file_size=10))
    with pytest.raises(ImageRefused):
        open_texture(tmp_path / "nothing.png")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"rubbish", "not an image that can be read"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image that can be read"),
        (saved("PNG")[:40], "not an image that can be read"),
        (bytes([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0]), "not an image that can be read"),  # 0 x 0
    ],
)
def test_data_that_is_not_an_image_is_refused(data: bytes, reason: str) -> None:
    for look in (decode_texture, describe_embedded_image):
        with pytest.raises(ImageRefused, match=f"^{reason}$"):
            look(data, "x.tga")


def test_damaged_images_are_read_or_refused() -> None:
    rng = np.random.default_rng(5)
    for kind in ("PNG", "TGA", "GIF", "BMP", "PCX", "TIFF", "JPEG"):
        good = bytearray(saved(kind))
        for _ in range(30):
            bad = bytearray(good)
            for at in rng.integers(0, len(bad), 4):
                bad[at] = rng.integers(0, 256)
            with contextlib.suppress(ImageRefused):
                decode_texture(bytes(bad), "x", ImageLimits(pixels=100_000))


def cel(width: int = 3, height: int = 2, pixels: bytes = b"\1\1\1\2\2\2") -> bytes:
    head = struct.pack("<HHHHHBBI", 0x9119, width, height, 0, 0, 8, 0, width * height) + bytes(16)
    palette = bytearray(768)
    palette[3:6] = (63, 0, 0)  # VGA's levels end at 63
    palette[6:9] = (0, 0, 63)
    return head + bytes(palette) + pixels


def test_autodesk_cel() -> None:
    texture = decode_texture(cel(), "x.cel")
    assert texture.format == "CEL"
    assert texture.pixels()[0, 0].tolist() == [255, 0, 0, 255]
    assert texture.pixels()[1, 2].tolist() == [0, 0, 255, 255]
    with pytest.raises(ImageRefused, match="empty or cut off"):
        decode_texture(cel(60_000, 60_000), "x.cel", ImageLimits(pixels=1 << 40))
    with pytest.raises(ImageRefused, match="the limit"):
        decode_texture(cel(60_000, 60_000), "x.cel")
    with pytest.raises(ImageRefused, match="Autodesk Animator picture"):
        decode_texture(b"something else", "x.cel")
    with pytest.raises(ImageRefused, match="image list"):
        decode_texture(b"a.png\nb.png\n", "x.ifl")


def test_image_lists(tmp_path: Path) -> None:
    assert ifl_names(b"; comment\r\nfire 01.png 3\r\n\r\nfire02.png\r\n") == ["fire 01.png", "fire02.png"]
    (tmp_path / "fire.ifl").write_bytes(b"FIRE01.PNG 2\nfire02.png\n")
    (tmp_path / "evil.ifl").write_bytes(b"../../etc/passwd\n")
    (tmp_path / "self.ifl").write_bytes(b"self.ifl\n")
    (tmp_path / "fire01.png").write_bytes(saved("PNG"))
    source = TextureSource(TextureFinder([tmp_path]))
    fire = source.open("FIRE.IFL")
    assert fire.texture is not None
    assert fire.reason == "an Autodesk image list (IFL): its first image fire01.png is used"
    for name in ("evil.ifl", "self.ifl"):
        opened = source.open(name)
        assert opened.texture is None
        assert opened.reason == "an Autodesk image list (IFL) whose first image is missing or another list"
    assert source.open("nothing.png").reason is None
    assert len(source.opened) == 4
    maps = {name: TextureMap(f"{name}.ifl") for name in ("fire", "evil", "self")}
    uses = scene_textures(Scene(materials=[Material("m", maps=maps)]), TextureFinder([tmp_path]))
    assert [(use.status, use.image or use.problem) for use in uses] == [
        ("found", "an Autodesk image list (IFL): fire01.png, PNG, 6 x 4"),
        ("unusable", "an Autodesk image list (IFL) whose first image is missing or another list"),
        ("unusable", "an Autodesk image list (IFL) whose first image is missing or another list"),
    ]


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The formats of the images that Pillow opens and decodes, in order: ``open PNG``, ``load PNG``."""
    seen: list[str] = []
    load, open_image = ImageFile.ImageFile.load, Image.open

    def counted_load(image: ImageFile.ImageFile) -> object:
        if image.tile:
            seen.append(f"load {image.format}")
        return load(image)

    def counted_open(*arguments: Any, **options: Any) -> Image.Image:
        opened = open_image(*arguments, **options)
        seen.append(f"open {opened.format}")
        return opened

    monkeypatch.setattr(ImageFile.ImageFile, "load", counted_load)
    monkeypatch.setattr(Image, "open", counted_open)
    return seen


@pytest.fixture
def spellings(tmp_path: Path) -> list[str]:
    """Names of one file, which is also in the folder as a link and, with the same content, as a copy."""
    (tmp_path / "stone.png").write_bytes(saved("PNG"))
    (tmp_path / "copy.png").write_bytes(saved("PNG"))
    os.symlink("stone.png", tmp_path / "link.png")
    return ["STONE.PNG", "stone.png", "Stone.tga", "maps/stone.png", "C:\\stone.png", "copy.png", "link.png"]


def test_image_is_decoded_once_for_all_names(spellings: list[str], tmp_path: Path, decodes: list[str]) -> None:
    source = TextureSource(TextureFinder([tmp_path]))
    textures = [source.open(name).texture for name in spellings]
    assert [texture.name for texture in textures if texture] == [*["stone.png"] * 5, "copy.png", "link.png"]
    assert decodes.count("load PNG") == 1
    for name in ("a", "b"):
        embedded = EmbeddedImage(name, saved("BMP"), "image/bmp")  # equal bytes in two objects
        assert source.open_map(TextureMap(name, embedded=embedded)).texture is not None
    assert decodes.count("load BMP") == 1


def test_damaged_image_is_decoded_once_for_all_names(tmp_path: Path, decodes: list[str]) -> None:
    (tmp_path / "bad.bmp").write_bytes(saved("BMP")[:-20])
    source = TextureSource(TextureFinder([tmp_path]))
    reasons = {source.open(name).reason for name in ("bad.bmp", "BAD.BMP", "Bad.Bmp")}
    assert reasons == {"BMP, damaged or cut off"}
    assert decodes.count("load BMP") == 1


def textured(names: list[str], slot: str = "texture1") -> Scene:
    materials = [Material(f"m{at}", maps={slot: TextureMap(name)}) for at, name in enumerate(names)]
    corners = [[0, 1, 2]] * len(names)
    mesh = Mesh("m", [[0, 0, 0], [1, 0, 0], [0, 1, 0]], corners, uv=[[0, 0], [1, 0], [0, 1]])
    mesh.face_materials = np.arange(len(names))
    return Scene([Node("n", mesh=0)], [mesh], materials)


def test_images_of_a_scene_are_opened_once(spellings: list[str], tmp_path: Path, decodes: list[str]) -> None:
    uses = scene_textures(textured(spellings), TextureFinder([tmp_path]))
    assert [use.image for use in uses] == ["PNG, 6 x 4"] * len(spellings)
    assert decodes == ["open PNG", "open PNG"]  # the file and its copy


def test_images_of_a_glb_are_decoded_once(spellings: list[str], tmp_path: Path, decodes: list[str]) -> None:
    report = keyframer.save(textured(spellings), tmp_path / "out.glb", texture_path=[tmp_path])
    assert not [loss for loss in report if loss.code == "IMAGE_MISSING"]
    assert decodes.count("load PNG") == 1


def test_images_that_are_computed_belong_to_the_budget(tmp_path: Path) -> None:
    """Decoding an image pays for one normal map: the budget of three images is enough for three normal maps."""
    (tmp_path / "stone.png").write_bytes(saved("PNG"))
    names = ["STONE.PNG", "stone.png", "Stone.png", "sTone.png", "stOne.png"]
    limits = Limits(image_bytes=3 * 4 * 6 * 4)
    report = keyframer.save(textured(names, "bump"), tmp_path / "out.glb", texture_path=[tmp_path], limits=limits)
    maps = [loss for loss in report if loss.path.endswith("/bump")]
    assert [("LIMIT_IMAGE_BYTES" in str(loss.args)) for loss in maps] == [False, False, False, True, True]


def test_icons_are_not_read() -> None:
    """Pillow decodes an icon when it is opened, before its size is known."""
    data = saved("ICO")
    for look in (decode_texture, describe_embedded_image):
        with pytest.raises(ImageRefused, match="not an image that can be read"):
            look(data, "x.ico")


@needs_corpus
def test_the_texture_of_the_robot_is_found() -> None:
    source = TextureSource(TextureFinder([CORPUS / "makbot"]))
    opened = source.open("PANELS.JPG")
    assert opened.match.how == "case"
    assert opened.texture.mime_type == "image/jpeg"
