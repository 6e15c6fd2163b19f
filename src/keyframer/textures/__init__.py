"""Finding and opening the images that a scene names. A name from a file never leads outside the given folders.

    source = TextureSource(TextureFinder(["models"], recursive=True))
    opened = source.open("PANELS.JPG")
    opened.match.path, opened.match.how    # models/Panels.jpg, "case"
    opened.texture                         # the image; None if it is missing or cannot be used

`TextureSource.opened` and `TextureFinder.matches` list every result, guesses and missing images included, in the
order of the requests.
"""

from keyframer.textures.image_files import DEFAULT_IMAGE_LIMITS, ImageLimits, ImageRefused, Texture, open_texture
from keyframer.textures.texture_finder import TextureFinder, TextureMatch
from keyframer.textures.texture_source import OpenedTexture, TextureSource
from keyframer.textures.texture_usage import STATUSES, TextureUse, scene_textures

__all__ = [
    "DEFAULT_IMAGE_LIMITS",
    "STATUSES",
    "ImageLimits",
    "ImageRefused",
    "OpenedTexture",
    "Texture",
    "TextureFinder",
    "TextureMatch",
    "TextureSource",
    "TextureUse",
    "open_texture",
    "scene_textures",
]
