"""Textures that materials refer to: which image, how it repeats, and how it is laid on."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import unquote

from keyframer.catalogue import SEM_EXTENSION_UNKNOWN, SEM_UNKNOWN_ENUM
from keyframer.exchange.gltf.reading.embedded import ImageReader
from keyframer.exchange.gltf.reading.extensions import advice
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item
from keyframer.exchange.gltf.textures import CLAMP, MIRRORED, REPEAT
from keyframer.issues import Severity
from keyframer.scene import TextureMap

_SAMPLING = ("magFilter", "minFilter", "wrapS", "wrapT")


class TextureReader:
    def __init__(self, root: Item, images: ImageReader, issues: Findings) -> None:
        self.images = images
        self._issues = issues
        self._samplers = root.children("samplers")
        self._textures = root.children("textures")

    def read(self, reference: Item, role: str, makes_holes: bool) -> TextureMap | None:
        source = self.source(reference)
        if source is None:
            return None
        inside = self.images.is_inside(source)
        name = self.images.name(source) if inside else unquote(self.images.items[source].text("uri"))
        made = TextureMap(name, extras={"gltf": {"image": source, "embedded": inside, "role": role}})
        made.embedded = self._issues.attempt(self.images.take, source, role, makes_holes)
        self._check_coordinates(reference)
        self._repeat(made, self._texture(reference))
        _lay(made, reference.extension("KHR_texture_transform"))
        if reference.has("scale") or reference.has("strength"):
            made.amount = reference.number("scale", reference.number("strength", 1.0))
        return made

    def source(self, reference: Item) -> int | None:
        """The number of the image that a material refers to."""
        texture = self._texture(reference)
        webp = texture.extension("EXT_texture_webp")
        if not texture.has("source") and webp is not None:
            texture = webp
        found = texture.index("source", len(self.images.items), "image")
        if found is None:
            others = sorted((texture.child("extensions") or Item({}, texture.path)).value)
            if others:
                effect = "the texture has no other image"
                known = advice(others[0])
                effect += f"; {known}" if known else ""
                self._issues.add(SEM_EXTENSION_UNKNOWN, texture.path, 0, name=", ".join(others)[:80], effect=effect)
        return found

    def _texture(self, reference: Item) -> Item:
        return self._textures[reference.needed_index("index", len(self._textures), "texture")]

    def _repeat(self, made: TextureMap, texture: Item) -> None:
        """Old maps repeat alike both ways and are always smooth; what else a sampler says is kept."""
        number = texture.index("sampler", len(self._samplers), "sampler")
        sampler = Item({}, texture.path) if number is None else self._samplers[number]
        stated = {name: sampler.integer(name) for name in _SAMPLING if sampler.has(name)}
        wrap = stated.get("wrapS", REPEAT)
        made.mirror, made.tiled = wrap == MIRRORED, wrap != CLAMP
        if stated:
            about: dict[str, Any] = made.extras["gltf"]
            about["sampler"] = stated

    def _check_coordinates(self, reference: Item) -> None:
        """Meshes of a scene have one set of texture coordinates."""
        moved = reference.extension("KHR_texture_transform")
        chosen = reference.integer("texCoord", 0)
        chosen = chosen if moved is None else moved.integer("texCoord", chosen)
        if chosen:
            self._issues.add(
                SEM_UNKNOWN_ENUM,
                reference.at("texCoord"),
                0,
                severity=Severity.WARNING,
                value=f"TEXCOORD_{chosen}",
                known="TEXCOORD_0",
            )


def _lay(texture: TextureMap, moved: Item | None) -> None:
    """The way back from `textures.transform`: turned about the middle, not the corner, and the other way round."""
    if moved is None:
        return
    (su, sv), (x, y) = moved.numbers("scale", 2, (1.0, 1.0)), moved.numbers("offset", 2, (0.0, 0.0))
    turn = moved.number("rotation", 0.0)
    cosine, sine = math.cos(turn), math.sin(turn)
    u, v = cosine * (0.5 - x) - sine * (0.5 - y), sine * (0.5 - x) + cosine * (0.5 - y)
    texture.scale = (su, sv)
    texture.offset = (round(u / su - 0.5, 9) if su else 0.0, round(v / sv - 0.5, 9) if sv else 0.0)
    texture.rotation_degrees = -math.degrees(turn)
