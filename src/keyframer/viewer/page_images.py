"""Images for the model of the page: those of our exporter, encoded again as PNG."""

from __future__ import annotations

from dataclasses import replace

from keyframer.exchange.gltf.write.images import Image, ImageSource, Missing, Pictures
from keyframer.scene import Material, TextureMap
from keyframer.textures import ImageRefused, TextureSource
from keyframer.textures.image_files import decode_texture
from keyframer.viewer.json_data import shown


def images_from(source: TextureSource) -> ImageSource:
    """Return the image source for the exporter. The model never contains bytes of an image file, only its pixels
    as a new PNG.
    """
    pictures = Pictures(source)
    encoded: dict[bytes, bytes | Missing] = {}
    """results by the bytes of the exported image: many materials may use the same image"""

    def image(material: Material, slot: str, map: TextureMap) -> Image | Missing | None:
        picture = pictures(material, slot, map)
        if not isinstance(picture, Image):
            return picture
        if picture.data not in encoded:
            encoded[picture.data] = _reencoded(picture)
        data = encoded[picture.data]
        if isinstance(data, Missing):
            return data
        return replace(picture, name=shown(picture.name), data=data, mime_type="image/png")

    return image


def _reencoded(picture: Image) -> bytes | Missing:
    try:
        return decode_texture(picture.data, picture.name).png()
    except ImageRefused as refused:
        return Missing(str(refused))
