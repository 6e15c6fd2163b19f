"""Pictures of scenes without a GPU: one frame, a contact sheet, or the playback as GIF, APNG, WebP or MP4.

    keyframer.render(keyframer.load("scene.3ds")).save("scene.png")

    renderer = Renderer(keyframer.load("scene.3ds"), Settings(width=256, height=256))
    data = encode_still(renderer.picture(renderer.default_frame))

A small rasteriser in numpy draws faces smooth or flat as in the file, with its images, and with its lights and camera
or default ones. The same scene gives the same bytes with the same versions of numpy, Pillow and ffmpeg.
"""

from keyframer.rendering.encoding import ANIMATED, encode_animation, encode_still
from keyframer.rendering.renderer import Renderer, Settings, render

__all__ = ["ANIMATED", "Renderer", "Settings", "encode_animation", "encode_still", "render"]
