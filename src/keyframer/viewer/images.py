"""Images for the page's model: found below the folders the user named, and drawn anew as PNG by us."""

from __future__ import annotations

from keyframer.exchange.gltf.images import Image, ImageSource
from keyframer.scene import Material, TextureMap
from keyframer.textures import TextureSource
from keyframer.viewer.plain import shown


def images_from(source: TextureSource) -> ImageSource:
    """What the exporter asks for images. No byte of an image file reaches the page: only pixels, encoded again."""

    def image(material: Material, slot: str, map: TextureMap) -> Image | None:
        if slot != "base_color":
            return None
        texture = source.open(map.file_name).texture
        if texture is None:
            return None
        return Image(shown(texture.name), texture.png(), "image/png", "blend" if texture.has_alpha else "opaque")

    return image
