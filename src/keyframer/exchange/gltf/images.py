"""The hook for images: whoever can find and convert the textures of a scene is given to the exporter as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keyframer.scene import Material, TextureMap


@dataclass(frozen=True, slots=True)
class Image:
    """An image that glTF can hold."""

    name: str
    data: bytes
    mime_type: str
    """``image/png`` or ``image/jpeg``"""
    alpha: str = "opaque"
    """what its alpha channel wants: ``opaque``, ``mask`` or ``blend``"""


ImageSource = Callable[[Material, str, TextureMap], Image | None]
"""(material, slot, map) to the image for it, or None. Slots are ``base_color`` (for ``texture1``, with the opacity
map in its alpha where the source can do that), ``normal`` (for ``bump``: a normal map made of the height map) and
``emissive`` (for ``self_illumination``)."""


def no_images(material: Material, slot: str, map: TextureMap) -> None:
    """No image is found: names of textures are kept in extras only."""
