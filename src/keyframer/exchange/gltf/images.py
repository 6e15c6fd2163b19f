"""The hook for images: whoever can find and convert the textures of a scene is given to the exporter as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from keyframer.exchange.gltf.extras import said_in_gltf
from keyframer.exchange.report import Outcome
from keyframer.scene import Material, TextureMap

FROM_GLTF_ONLY = ("metallic_roughness", "occlusion")
"""slots for images that only glTF files have: they go on as they are"""
SLOTS = {
    "base_color": "texture1",
    "alpha": "opacity",
    "normal": "bump",
    "emissive": "self_illumination",
    **{name: name for name in FROM_GLTF_ONLY},
}
"""glTF's slots and the maps they are made of; ``alpha`` only where no image is the base colour"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that glTF can hold."""

    name: str
    data: bytes
    mime_type: str
    """``image/png`` or ``image/jpeg``"""
    alpha: str = "opaque"
    """what its alpha channel wants: ``opaque``, ``mask`` or ``blend``"""
    notes: dict[str, tuple[Outcome, str]] = field(default_factory=dict)
    """what became of the maps it was made of, by their slots in the material: the outcome, and how"""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no image, for the report."""

    reason: str


ImageSource = Callable[[Material, str, TextureMap], Image | Missing | None]
"""(material, slot, map) to the image for it, or why there is none. Slots are ``base_color`` (for ``texture1``, with the
opacity map in its alpha where the source can do that), ``alpha`` (for ``opacity`` where no image is the base colour:
white, with the map in its alpha), ``normal`` (for ``bump``: a normal map made of the height map) and ``emissive`` (for
``self_illumination``, multiplied with the image of ``texture1`` where there is one); and those of `FROM_GLTF_ONLY`."""


def no_images(material: Material, slot: str, map: TextureMap) -> None:
    """No image is found: names of textures are kept in extras only."""


def role_of(map: TextureMap) -> str | None:
    """What glTF says the pixels of an image are; None for maps that come from the old formats."""
    if map.embedded is not None:
        return map.embedded.role
    role = said_in_gltf(map.extras).get("role")
    return role if isinstance(role, str) else None
