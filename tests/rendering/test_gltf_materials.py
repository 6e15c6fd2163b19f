"""Surfaces of glTF files: tinted images, cut edges, light that is added, borders that go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from keyframer.scene import Material, TextureMap
from keyframer.textures import TextureFinder, TextureSource
from tests.rendering.simple import scene_of, shot, square

GLTF = {"gltf": {"role": "color"}}


def shown(tmp_path: Path, material: Material, uv: float = 1.0, **images: Image.Image) -> np.ndarray:
    """A square that fills the picture, with texture coordinates from 0 to ``uv``."""
    for name, image in images.items():
        image.save(tmp_path / f"{name}.png")
    mesh = square(2.0)
    mesh.uv = np.array([[0.0, 0.0], [1, 0], [1, 1], [0, 1]]) * uv
    return shot(scene_of(mesh, materials=[material]), source=TextureSource(TextureFinder([tmp_path])))


def plain(color: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (4, 4), color)


def test_images_of_glTF_are_tinted_and_old_ones_replace(tmp_path: Path) -> None:
    for extras, green_is_left in ((GLTF, False), ({}, True)):
        base = TextureMap("white.png", extras=dict(extras))
        material = Material("m", diffuse=(1.0, 0.0, 1.0), maps={"texture1": base})
        pixel = shown(tmp_path, material, white=plain((255, 255, 255)))[16, 16]
        assert pixel[0] > 100
        assert bool(pixel[1] > 100) is green_is_left


@pytest.mark.parametrize(("cutoff", "alpha"), [(None, 100), (0.25, 255), (0.75, 0)])
def test_masks_have_no_soft_edges(tmp_path: Path, cutoff: float | None, alpha: int) -> None:
    veil = plain((255, 255, 255)).convert("RGBA")
    veil.putalpha(100)
    said: dict[str, Any] = {"alpha_mode": "BLEND"} if cutoff is None else {"alpha_mode": "MASK", "alpha_cutoff": cutoff}
    material = Material("m", maps={"texture1": TextureMap("veil.png", extras=GLTF)}, extras={"gltf": said})
    assert shown(tmp_path, material, veil=veil)[16, 16, 3] == alpha


def test_light_is_added_to_a_black_surface(tmp_path: Path) -> None:
    """By the colour of the image alone, or by the factor; an sRGB level of 188 is half of the light."""
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
        pixel = shown(tmp_path, material, **images)[16, 16, :3].astype(int)
        assert (np.abs(pixel - wanted) <= reflected + 1).all()
        assert (pixel >= np.array(wanted) - 1).all()


def test_an_unlit_surface_has_its_own_colour(tmp_path: Path) -> None:
    said = {"gltf": {"emissive": [0.0, 0.0, 0.0], "unlit": True}}
    material = Material("m", diffuse=(0.2, 0.4, 0.6), self_illumination=1.0, extras=said)
    mesh = square(2.0)
    mesh.positions = mesh.positions @ np.array([[1.0, 0, 0], [0, 1, 0], [0, -3, 1]])  # turned away from the lights
    scene = scene_of(mesh, materials=[material])
    pixel = shot(scene)[16, 16, :3].astype(int)
    assert (np.abs(pixel - (51, 102, 153)) <= 12).all()


@pytest.mark.parametrize(("how", "red"), [({"tiled": True}, False), ({"tiled": False}, True), ({"mirror": True}, True)])
def test_beyond_the_image(tmp_path: Path, how: dict[str, bool], red: bool) -> None:
    """Blue on the left, red on the right: a little beyond its right edge the image repeats, goes on, or comes back."""
    image = plain((0, 0, 255))
    image.paste((255, 0, 0), (2, 0, 4, 4))
    material = Material("m", maps={"texture1": TextureMap("two.png", **how)})  # type: ignore[arg-type]
    pixel = shown(tmp_path, material, 2.0, two=image)[16, 19]
    assert (pixel[0] > 100, pixel[2] > 100) == (red, not red)
