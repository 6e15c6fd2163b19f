"""Materials: metallic-roughness ones in the terms of the old programs, or the old numbers of a file of ours."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import unquote

from keyframer.exchange.gltf.reading import unpacking
from keyframer.exchange.gltf.reading.colors import shown_rgb
from keyframer.exchange.gltf.reading.values import Item
from keyframer.scene import Material, TextureMap

_SLOTS = (
    ("texture1", "baseColorTexture"),
    ("bump", "normalTexture"),
    ("self_illumination", "emissiveTexture"),
)
_MIRRORED, _CLAMP = 33648, 33071


class MaterialReader:
    def __init__(self, root: Item) -> None:
        self._images = root.children("images")
        self._samplers = root.children("samplers")
        self._textures = root.children("textures")
        self._items = root.children("materials")
        self.numbers: list[int] = []

    def read(self, *, ours: bool) -> list[Material]:
        """The materials; `numbers` then leads from those of the file to them, -1 for the one of faces without any."""
        made: list[Material] = []
        self.numbers = [-1] * len(self._items)
        stands_for: dict[int, int] = {}
        for number, item in enumerate(self._items):
            kept = item.kept if ours else None
            if kept is not None and kept.has("helper"):
                if kept.choice("helper", ("default", "unmapped")) == "unmapped":
                    stands_for[number] = kept.needed_index("of", len(self._items), "material")
                continue
            self.numbers[number] = len(made)
            made.append(self._material(item) if kept is None else _restored(item, kept))
        for number, other in stands_for.items():
            self.numbers[number] = self.numbers[other]
        return made

    def _material(self, item: Item) -> Material:
        surface = item.child("pbrMetallicRoughness") or Item({}, item.at("pbrMetallicRoughness"))
        color = surface.numbers("baseColorFactor", 4, (1.0, 1.0, 1.0, 1.0))
        mode = item.choice("alphaMode", ("OPAQUE", "MASK", "BLEND"), "OPAQUE")
        glow = item.numbers("emissiveFactor", 3, (0.0, 0.0, 0.0))
        roughness, metallic = surface.number("roughnessFactor", 1.0), surface.number("metallicFactor", 1.0)
        material = Material(
            item.text("name", ""),
            diffuse=shown_rgb(color[:3]),
            transparency=min(max(1.0 - color[3], 0.0), 1.0) if mode == "BLEND" else 0.0,
            self_illumination=min(max(glow) / max(*color[:3], 1e-6), 1.0) if max(glow) > 0 else 0.0,
            two_sided=item.flag("doubleSided"),
            shininess=_shininess(roughness),
        )
        material.extras = {
            "gltf": {"metallic": metallic, "roughness": roughness, "alpha_mode": mode, "emissive": list(glow)}
        }
        for slot, name in _SLOTS:
            reference = (surface if slot == "texture1" else item).child(name)
            if reference is not None:
                texture = self._texture(reference)
                if texture is not None:
                    material.maps[slot] = texture
        return material

    def _texture(self, reference: Item) -> TextureMap | None:
        texture = self._textures[reference.needed_index("index", len(self._textures), "texture")]
        source = texture.index("source", len(self._images), "image")
        if source is None:
            return None
        image = self._images[source]
        uri = image.text("uri", "")
        embedded = not uri or uri[:5].lower() == "data:"
        name = image.text("name", "") or f"image {source}" if embedded else unquote(uri)
        made = TextureMap(name, extras={"gltf": {"image": source, "embedded": embedded}})
        sampler = texture.index("sampler", len(self._samplers), "sampler")
        wrap = 10497 if sampler is None else self._samplers[sampler].integer("wrapS", 10497)
        made.mirror, made.tiled = wrap == _MIRRORED, wrap != _CLAMP
        _lay(made, reference.extension("KHR_texture_transform"))
        if reference.has("scale") or reference.has("strength"):
            made.amount = reference.number("scale", reference.number("strength", 1.0))
        return made


def _lay(texture: TextureMap, moved: Item | None) -> None:
    """The way back from `textures.transform`, with v running down: turned about the middle, not the corner."""
    if moved is None:
        return
    (su, sv), (x, y) = moved.numbers("scale", 2, (1.0, 1.0)), moved.numbers("offset", 2, (0.0, 0.0))
    turn = moved.number("rotation", 0.0)
    cosine, sine = math.cos(turn), math.sin(turn)
    u, v = cosine * (0.5 - x) - sine * (0.5 - y), sine * (0.5 - x) + cosine * (0.5 - y)
    texture.scale = (su, sv)
    texture.offset = (round(u / su - 0.5, 9) if su else 0.0, round(v / sv - 0.5, 9) if sv else 0.0)
    texture.rotation_degrees = math.degrees(turn)


def _shininess(roughness: float) -> float:
    """The way back from the exporter's roughness, for highlights of full strength."""
    width = min(max(roughness, 1e-3), 1.0)
    exponent = max(2.0 / (width * width) - 2.0, 1.0)
    return min(math.log2(exponent) / 10.0, 1.0)


def _restored(item: Item, kept: Item) -> Material:
    material = Material(item.text("name", ""), raw_name=unpacking.raw_name(kept), extras=unpacking.leftovers(kept))
    numbers = (
        "shininess shininess_strength transparency transparency_falloff reflection_blur self_illumination wire_size"
    )
    flags = "falloff_inwards two_sided additive wire wire_in_units face_map soften supersample"
    unpacking.restore(material, kept, numbers, flags, "shading")
    for name in ("ambient", "diffuse", "specular"):
        setattr(material, name, unpacking.triple(kept, name))
    maps = kept.child("maps")
    for slot in maps.value if maps is not None else ():
        content = maps.child(slot) if maps is not None else None
        if content is not None:
            material.maps[slot] = _map(content)
    return material


def _map(content: Item) -> TextureMap:
    made = TextureMap(content.text("file_name", ""))
    try:
        made.raw_file_name = bytes.fromhex(content.text("raw_file_name", ""))
    except ValueError:
        raise content.wrong("raw_file_name", "hex digits", content.value["raw_file_name"]) from None
    flags = "mirror negative decal tiled summed_area alpha_source ignore_alpha"
    unpacking.restore(made, content, "amount rotation_degrees blur", flags)
    for name in ("scale", "offset"):
        if content.has(name) and None not in content.entries(name):
            u, v = content.numbers(name, 2)
            setattr(made, name, (u, v))
    tints = content.child("tints")
    for name in tints.value if tints is not None else ():
        color: Any = None if tints is None else unpacking.triple(tints, name)
        if color is not None:
            made.tints[name] = color
    made.extras = unpacking.leftovers(content)
    return made
