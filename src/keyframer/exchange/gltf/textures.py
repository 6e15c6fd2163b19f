"""Textures: images in the buffer, how they repeat, and how they are laid on (KHR_texture_transform)."""

from __future__ import annotations

import math

from keyframer.exchange.gltf.asset import Asset, Json
from keyframer.exchange.gltf.extras import said_in_gltf
from keyframer.exchange.gltf.images import Image
from keyframer.scene import TextureMap

REPEAT, MIRRORED, CLAMP = 10497, 33648, 33071
"""how an image goes on beyond its edges, in the numbers of samplers"""
_LINEAR, _LINEAR_MIPMAPS = 9729, 9987
_WRAPS = (REPEAT, MIRRORED, CLAMP)
_ALLOWED: dict[str, tuple[int, ...]] = {
    "magFilter": (9728, 9729),
    "minFilter": (9728, 9729, 9984, 9985, 9986, 9987),
    "wrapS": _WRAPS,
    "wrapT": _WRAPS,
}


class Textures:
    def __init__(self, asset: Asset, extensions: bool) -> None:
        self._asset = asset
        self._extensions = extensions
        self._images: dict[bytes, int] = {}
        self._samplers: dict[str, int] = {}
        self._textures: dict[tuple[int, int], int] = {}

    def write(self, image: Image, texture: TextureMap) -> Json:
        """The reference that a material holds."""
        key = (self._image(image), self._sampler(_sampling(texture)))
        if key not in self._textures:
            self._textures[key] = len(self._asset.textures)
            self._asset.textures.append({"source": key[0], "sampler": key[1]})
        reference: Json = {"index": self._textures[key]}
        moved = transform(texture)
        if moved and self._extensions:
            self._asset.extensions.add("KHR_texture_transform")
            reference["extensions"] = {"KHR_texture_transform": moved}
        return reference

    def _image(self, image: Image) -> int:
        if image.data not in self._images:
            self._images[image.data] = len(self._asset.images)
            view = self._asset.buffers.blob(image.data)
            self._asset.images.append({"name": image.name, "mimeType": image.mime_type, "bufferView": view})
        return self._images[image.data]

    def _sampler(self, entry: Json) -> int:
        key = repr(sorted(entry.items()))
        if key not in self._samplers:
            self._samplers[key] = len(self._asset.samplers)
            self._asset.samplers.append(entry)
        return self._samplers[key]


def _sampling(texture: TextureMap) -> Json:
    """How an image repeats and is filtered; what a glTF file said of it where it still repeats so."""
    wrap = MIRRORED if texture.mirror else REPEAT if texture.tiled and not texture.decal else CLAMP
    stated = said_in_gltf(texture.extras).get("sampler")
    if type(stated) is dict:
        known = {name: int(stated[name]) for name, allowed in _ALLOWED.items() if stated.get(name) in allowed}
        if known.get("wrapS", REPEAT) == wrap:
            return known
    return {"magFilter": _LINEAR, "minFilter": _LINEAR_MIPMAPS, "wrapS": wrap, "wrapT": wrap}


def transform(texture: TextureMap) -> Json:
    """Offset, rotation and scale for KHR_texture_transform; empty where the image lies as it is.

    The old programs tile and turn about the middle of the image, w' = R S (w - 1/2 - offset) + 1/2 with v running down
    and R = [c -s; s c] (`scene.TextureMap`). The extension does T R S about the corner, with [c s; -s c] as the turn.
    """
    (su, sv), (ou, ov) = texture.scale, texture.offset
    numbers = (su, sv, ou, ov, texture.rotation_degrees)
    if not all(map(math.isfinite, numbers)) or numbers == (1.0, 1.0, 0.0, 0.0, 0.0):
        return {}
    turn = math.radians(-texture.rotation_degrees)
    cosine, sine = math.cos(turn), math.sin(turn)
    u, v = su * (0.5 + ou), sv * (0.5 + ov)
    offset = (0.5 - (cosine * u + sine * v), 0.5 - (cosine * v - sine * u))
    found: Json = {}
    if any(abs(number) > 1e-9 for number in offset):
        found["offset"] = [round(number, 9) for number in offset]
    if turn:
        found["rotation"] = turn
    if (su, sv) != (1.0, 1.0):
        found["scale"] = [su, sv]
    return found
