"""The lights of a file as our pictures take them: colours as stored, no weakening with distance but by ranges, and as
much of a studio as a thumbnail needs. The page shades with these, not with what glTF makes of lights."""

from __future__ import annotations

from typing import Any

from keyframer.rendering import Renderer, Settings
from keyframer.rendering.lighting import of_file
from keyframer.scene import LightType, Scene
from keyframer.textures import TextureSource
from keyframer.viewer.json_data import number
from keyframer.viewer.track_curves import ClipCurves

_PIXELS = 64
"""of the picture that says how much light is missing"""
_PLAYED = ("color", "multiplier")


def describe_lamps(
    scene: Scene, clip: int, curves: ClipCurves | None, textures: TextureSource | None, heads: list[int]
) -> dict[str, Any]:
    """The lamps of one clip, by the number of their node in the model (``heads``), and what is added to them."""
    studio = Renderer(scene, Settings(_PIXELS, _PIXELS), textures=textures)
    theirs = of_file(studio.moment(studio.default_frame), 0)
    playing = {} if curves is None else _playing(scene, clip, curves)
    lamps = []
    for index, node in enumerate(scene.nodes):
        light = None if node.light is None else scene.lights[node.light]
        if light is None or light.type is LightType.AMBIENT:
            continue
        ranges = [light.inner_range, light.outer_range] if light.attenuated else [None, None]
        lamps.append(
            {
                "gltf": heads[index],
                "on": light.on,
                "color": [number(part) for part in light.color],
                "multiplier": number(light.multiplier),
                "ranges": [None if each is None else number(each) for each in ranges],
                "curves": playing.get(index, {}),
            }
        )
    fill, gain = studio.exposure()
    return {"lamps": lamps, "ambient": [0, 0, 0] if theirs is None else theirs.ambient, "fill": fill, "gain": gain}


def _playing(scene: Scene, clip: int, curves: ClipCurves) -> dict[int, dict[str, object]]:
    """The curves of the tracks that change lights, by node and kind."""
    found: dict[int, dict[str, object]] = {}
    for place, channel in enumerate(scene.clips[clip].channels):
        if channel.track.kind in _PLAYED and 0 <= channel.node < len(scene.nodes) and len(channel.track.times):
            found.setdefault(channel.node, {})[channel.track.kind] = curves.curve(place)["curve"]
    return found
