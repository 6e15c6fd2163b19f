"""Which images a scene wants and what became of each: one entry for every map of every material."""

from __future__ import annotations

from dataclasses import dataclass

from keyframer.scene import Scene, TextureMap
from keyframer.textures.finding import TextureFinder, TextureMatch


@dataclass(frozen=True, slots=True)
class TextureUse:
    """A map of a material and the image found for it."""

    material: int
    """number into the scene's materials"""
    slot: str
    map: TextureMap
    match: TextureMatch


def scene_textures(scene: Scene, finder: TextureFinder) -> list[TextureUse]:
    """Every map of the scene that names an image, in the order of materials."""
    return [
        TextureUse(number, slot, found, finder.find(found.file_name))
        for number, material in enumerate(scene.materials)
        for slot, found in material.maps.items()
        if found.file_name
    ]
