"""Materials of brushes and textures, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keyframer.arrays import Ints
from keyframer.catalogue import LINK_INDEX_OUT_OF_RANGE
from keyframer.formats.b3d import document as d
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.scene import Material, TextureMap
from keyframer.text import decode_name
from keyframer.wire.record import Record

LAYERS = (*(f"texture{number}" for number in range(1, 9)), "reflection")
"""the map slots of the textures of a brush: its layers, and the first environment map"""
_CLAMPED = d.CLAMP_U | d.CLAMP_V
_WITH_ALPHA = d.ALPHA | d.MASKED


class Surfaces:
    """The brushes and textures of a document, numbered over all their chunks."""

    def __init__(self, reporter: Reporter, document: Document, encoding: str) -> None:
        self.reporter = reporter
        self.encoding = encoding
        self.textures = list(document.find(d.Texture))
        self.brushes = list(document.find(d.Brush))

    def materials(self) -> list[Material]:
        """Return a material for each brush."""
        names = UniqueNames()
        return [self._material(brush, names) for brush in self.brushes]

    def checked(self, record: Record, brush: int) -> int:
        """Return the number of a brush; -1 if there is none, which is reported."""
        if -1 <= brush < len(self.brushes):
            return brush
        args: Any = {"what": "brush", "item": 0, "kind": "brush", "index": brush, "count": len(self.brushes)}
        self.reporter.report(LINK_INDEX_OUT_OF_RANGE, record, "brush", **args)
        return -1

    def fx(self, brushes: Ints) -> int:
        """Return the effects of these brushes together."""
        return int(np.bitwise_or.reduce([self.brushes[number].fx for number in brushes.tolist() if number >= 0] or [0]))

    def _material(self, brush: d.Brush, names: UniqueNames) -> Material:
        red, green, blue, alpha = (min(max(level, 0.0), 1.0) if math.isfinite(level) else 1.0 for level in brush.color)
        material = Material(names.claim(decode_name(brush.name, self.encoding)), raw_name=brush.name)
        material.diffuse = (red, green, blue)
        material.transparency = 1.0 - alpha
        material.shininess_strength = float(brush.shininess) if math.isfinite(brush.shininess) else 0.0
        material.self_illumination = float(brush.fx & d.FULL_BRIGHT != 0)
        material.shading = "flat" if brush.fx & d.FLAT else None
        material.two_sided = bool(brush.fx & d.TWO_SIDED)
        material.additive = brush.blend == d.ADD
        self.reporter.mark(material, "b3d", brush, {"blend": brush.blend, "fx": brush.fx})
        slots: list[str] = []
        for number in np.asarray(brush.textures).tolist():
            slot = ""
            if 0 <= number < len(self.textures):
                texture = self.textures[number]
                is_environment = texture.flags & (d.SPHERE_MAP | d.CUBE_MAP) and "reflection" not in material.maps
                free = [layer for layer in LAYERS[:-1] if layer not in material.maps]
                slot = "reflection" if is_environment else free[0] if free else ""
            elif number != -1:
                args: Any = {"what": "texture", "item": 0, "kind": "texture", "index": number}
                self.reporter.report(LINK_INDEX_OUT_OF_RANGE, brush, "textures", count=len(self.textures), **args)
            if slot:
                material.maps[slot] = self._map(texture, number)
            slots.append(slot)
        material.extras["b3d"]["layers"] = slots
        return material

    def _map(self, texture: d.Texture, number: int) -> TextureMap:
        map = TextureMap(decode_name(texture.file, self.encoding), texture.file)
        map.tiled = not texture.flags & _CLAMPED
        map.second_coordinates = bool(texture.flags & d.SECOND_COORDINATES)
        map.ignore_alpha = not texture.flags & _WITH_ALPHA
        map.scale, map.offset, map.rotation_degrees = _placement(texture)
        self.reporter.mark(map, "b3d", texture, {"texture": number, "flags": texture.flags, "blend": texture.blend})
        return map


def _placement(texture: d.Texture) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Return scale, offset and rotation of a map. Blitz3D computes ``R S w + position`` about the corner of the image;
    a map is ``R S (w - 1/2 - offset) + 1/2``, about its centre."""
    (su, sv), (x, y), angle = texture.scale, texture.position, texture.rotation
    numbers = (su, sv, x, y, angle)
    if not all(map(math.isfinite, numbers)) or not su or not sv or numbers == (1.0, 1.0, 0.0, 0.0, 0.0):
        return (1.0, 1.0), (0.0, 0.0), 0.0
    cosine, sine = math.cos(angle), math.sin(angle)
    u, v = 0.5 - x, 0.5 - y
    return (su, sv), ((cosine * u + sine * v) / su - 0.5, (cosine * v - sine * u) / sv - 0.5), math.degrees(angle)


def texture_of(map: TextureMap, file: bytes) -> d.Texture:
    """Return the texture record of a map."""
    stored: dict[str, Any] = map.extras.get("b3d", {})
    flags = stored.get("flags", d.COLOUR | d.MIP_MAPS)
    changes = {
        _CLAMPED: not map.tiled and (flags & _CLAMPED or _CLAMPED),
        d.SECOND_COORDINATES: map.second_coordinates and d.SECOND_COORDINATES,
        _WITH_ALPHA: not map.ignore_alpha and (flags & _WITH_ALPHA or d.ALPHA),
    }
    for bits, wanted in changes.items():
        flags = flags & ~bits | wanted
    texture = d.Texture(file, flags, stored.get("blend", 2))
    if (map.scale, map.offset, map.rotation_degrees) != ((1.0, 1.0), (0.0, 0.0), 0.0):
        angle = math.radians(map.rotation_degrees)
        cosine, sine = math.cos(angle), math.sin(angle)
        u, v = (map.offset[0] + 0.5) * map.scale[0], (map.offset[1] + 0.5) * map.scale[1]
        texture.scale, texture.rotation = map.scale, angle
        texture.position = (0.5 - (cosine * u - sine * v), 0.5 - (sine * u + cosine * v))
    return texture
