"""Materials of glTF files: tinted images, alpha masks, emission, wrap modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from keyframer.scene import Material, TextureMap
from keyframer.textures import TextureFinder, TextureSource
from tests.rendering.simple import rendered, scene_of, square

GLTF = {"gltf": {"role": "color"}}


def render_square(tmp_path: Path, material: Material, uv: float = 1.0, **images: Image.Image) -> np.ndarray:
    """Render a square that fills the picture, with texture coordinates from 0 to ``uv``."""
    for name, image in images.items():
        image.save(tmp_path / f"{name}.png")
    mesh = square(2.0)
    mesh.uv = np.array([[0.0, 0.0], [1, 0], [1, 1], [0, 1]]) * uv
    return rendered(scene_of(mesh, materials=[material]), source=TextureSource(TextureFinder([tmp_path])))


def plain(color: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (4, 4), color)


def test_gltf_images_are_tinted_and_others_replace_the_colour(tmp_path: Path) -> None:
    for extras, green_is_left in ((GLTF, False), ({}, True)):
        base = TextureMap("white.png", extras=dict(extras))
        material = Material("m", diffuse=(1.0, 0.0, 1.0), maps={"texture1": base})
        pixel = render_square(tmp_path, material, white=plain((255, 255, 255)))[16, 16]
        assert pixel[0] > 100
        assert bool(pixel[1] > 100) is green_is_left


@pytest.mark.parametrize(("cutoff", "alpha"), [(None, 100), (0.25, 255), (0.75, 0)])
def test_alpha_masks_are_opaque_or_transparent(tmp_path: Path, cutoff: float | None, alpha: int) -> None:
    veil = plain((255, 255, 255)).convert("RGBA")
    veil.putalpha(100)
    gltf_extras: dict[str, Any] = (
        {"alpha_mode": "BLEND"} if cutoff is None else {"alpha_mode": "MASK", "alpha_cutoff": cutoff}
    )
    material = Material("m", maps={"texture1": TextureMap("veil.png", extras=GLTF)}, extras={"gltf": gltf_extras})
    assert render_square(tmp_path, material, veil=veil)[16, 16, 3] == alpha


def test_emission_is_added_to_a_black_surface(tmp_path: Path) -> None:
    """From the image alone, or from the factor; an sRGB level of 188 is half of the light."""
    emission = TextureMap("glow.png", extras={"gltf": {"role": "emission"}})
    red = {"gltf": {"emissive": [1.0, 0.0, 0.0], "alpha_mode": "OPAQUE"}}
    half = {"gltf": {"emissive": [0.0, 0.125, 0.0], "emissive_strength": 4.0}}
    with_image = Material("m", diffuse=(0.0, 0.0, 0.0), maps={"self_illumination": emission}, extras=red)
    with_base = Material("m", diffuse=(0.0, 0.0, 0.0), maps={"texture1": TextureMap("black.png")}, extras=half)
    ours = Material("m", diffuse=(0.0, 0.0, 0.0), maps={"self_illumination": emission})
    images = {"glow": plain((200, 100, 50)), "black": plain((0, 0, 0))}
    reflected = 31  # of a surface without any colour, which is lifted to dark grey
    for material, wanted in (
        (with_image, (200, 0, 0)),
        (with_base, (0, 188, 0)),
        (Material("m", diffuse=(0.0, 0.0, 0.0), extras=half), (0, 188, 0)),
        (ours, (200, 100, 50)),
    ):
        pixel = render_square(tmp_path, material, **images)[16, 16, :3].astype(int)
        assert (np.abs(pixel - wanted) <= reflected + 1).all()
        assert (pixel >= np.array(wanted) - 1).all()


def test_an_unlit_surface_shows_its_base_colour(tmp_path: Path) -> None:
    gltf_extras = {"gltf": {"emissive": [0.0, 0.0, 0.0], "unlit": True}}
    material = Material("m", diffuse=(0.2, 0.4, 0.6), self_illumination=1.0, extras=gltf_extras)
    mesh = square(2.0)
    mesh.positions = mesh.positions @ np.array([[1.0, 0, 0], [0, 1, 0], [0, -3, 1]])  # turned away from the lights
    scene = scene_of(mesh, materials=[material])
    pixel = rendered(scene)[16, 16, :3].astype(int)
    assert (np.abs(pixel - (51, 102, 153)) <= 12).all()


@pytest.mark.parametrize(("how", "red"), [({"tiled": True}, False), ({"tiled": False}, True), ({"mirror": True}, True)])
def test_wrap_modes_beyond_the_image(tmp_path: Path, how: dict[str, bool], red: bool) -> None:
    """Blue on the left, red on the right: beyond the right edge the image repeats, is clamped (only in glTF), or is
    mirrored."""
    image = plain((0, 0, 255))
    image.paste((255, 0, 0), (2, 0, 4, 4))
    material = Material("m", maps={"texture1": TextureMap("two.png", extras=GLTF, **how)})  # type: ignore[arg-type]
    pixel = render_square(tmp_path, material, 2.0, two=image)[16, 19]
    assert (pixel[0] > 100, pixel[2] > 100) == (red, not red)


def test_no_line_where_an_image_is_mirrored(tmp_path: Path) -> None:
    """The same image three times: at its right edge, between two mirrored ones, everything is red."""
    image = plain((0, 0, 255))
    image.paste((255, 0, 0), (2, 0, 4, 4))
    material = Material("m", maps={"texture1": TextureMap("two.png", mirror=True)})
    row = render_square(tmp_path, material, 2.0, two=image)[16].astype(int)
    assert row[12:20, 2].max() < 0.25 * row[12:20, 0].min()
