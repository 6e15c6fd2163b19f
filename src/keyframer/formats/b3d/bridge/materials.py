"""Write brushes and textures of materials and their maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyframer.formats.b3d import document as d
from keyframer.formats.b3d.bridge.meshes import Part
from keyframer.formats.b3d.bridge.surfaces import LAYERS, texture_of
from keyframer.formats.kit.scene_writing import UniqueByteNames
from keyframer.formats.kit.scene_writing import plain_path as path_of
from keyframer.scene import Material, Scene, TextureMap
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import FIELD_UNSUPPORTED, MATERIAL_CONVERTED, TEXTURES_UNSUPPORTED
from keyframer.text import encode_name
from keyframer.wire.record import Record

_KEPT_FX = d.NO_FOG


class MaterialWriter:
    """Writes the materials of a scene as brushes. In a merge, ``textures`` and ``counts`` are those of the original:
    the textures, and the numbers of brushes and of textures per brush of each chunk."""

    def __init__(
        self,
        scene: Scene,
        report: LossReport,
        encoding: str,
        textures: Sequence[d.Texture] = (),
        counts: Sequence[tuple[int, int]] = (),
        reserved: Sequence[bytes] = (),
    ) -> None:
        self.scene = scene
        self.report = report
        self.encoding = encoding
        self.names = UniqueByteNames(encoding=encoding)
        self.counts = counts
        self.textures = [_copy(texture) for texture in textures]
        self._set: set[int] = set()
        """numbers of original textures that a map has written"""
        self._written: dict[tuple[object, ...], int] = {}
        self.layers = [self._layers(number, material) for number, material in enumerate(scene.materials)]
        self.brushes = [self._brush(material) for material in scene.materials]
        self.parts: dict[int, tuple[str, int]] = {
            id(brush): ("materials", number) for number, brush in enumerate(self.brushes)
        }

    def use(self, part: Part) -> None:
        """Set the effects that a mesh needs: brushes use its colours and their opacity."""
        effects = d.USE_COLOURS * ("color" in part.columns) | d.USE_ALPHA * part.is_translucent
        for number in np.unique(part.brushes).tolist() if effects else ():
            if number >= 0:
                self.brushes[number].fx |= effects

    def chunks(self) -> list[Record]:
        """Return the chunks of textures and brushes."""
        chunks: list[Record] = [d.Textures(children=list(self.textures))] if self.textures else []
        widest = max((len(layers) for layers in self.layers), default=0)
        begin = 0
        for count, width in [*self.counts[:-1], (len(self.brushes), self.counts[-1][1] if self.counts else 0)]:
            brushes = self.brushes[begin : begin + count]
            begin += count
            width = max([width, *(len(layers) for layers in self.layers[begin - count : begin])])
            if not self.counts:
                width = max(widest, 1)
            for brush, layers in zip(brushes, self.layers[begin - count : begin], strict=False):
                brush.textures = np.array([*layers, *[-1] * (width - len(layers))], "<i4")
            if brushes or self.counts:
                chunks.append(d.Brushes(width, children=list(brushes)))
        return chunks

    def _brush(self, material: Material) -> d.Brush:
        stored = material.extras.get("b3d", {})
        red, green, blue = material.diffuse or (1.0, 1.0, 1.0)
        brush = d.Brush(self.names.claim(material.name, material.raw_name, "brush"))
        brush.color = (float(red), float(green), float(blue), 1.0 - material.transparency)
        brush.shininess = material.shininess_strength or 0.0
        blend = stored.get("blend", d.ALPHA_BLEND)
        brush.blend = d.ADD if material.additive else d.ALPHA_BLEND if blend == d.ADD else blend
        brush.fx = stored.get("fx", 0) & _KEPT_FX
        if material.self_illumination >= 0.5:
            brush.fx |= d.FULL_BRIGHT
        if material.self_illumination not in (0.0, 1.0):
            self.report.add(
                MATERIAL_CONVERTED["self-illumination"], f"{path_of('materials', material.name)}/self_illumination"
            )
        brush.fx |= d.FLAT * (material.shading == "flat") | d.TWO_SIDED * material.two_sided
        if material.shading not in (None, "flat"):
            path = f"{path_of('materials', material.name)}/shading"
            self.report.add(FIELD_UNSUPPORTED["value"], path, what=f"the shading {material.shading!r}")
        return brush

    def _layers(self, number: int, material: Material) -> list[int]:
        """Return the numbers of the textures of a material, in the order of its layers."""
        path = path_of("materials", material.name)
        for slot in material.maps.keys() - set(LAYERS):
            self.report.add(TEXTURES_UNSUPPORTED["slot"], f"{path}/maps/{slot}", slot=slot)
        slots = list(material.extras.get("b3d", {}).get("layers", ()))
        slots += [slot for slot in LAYERS if slot in material.maps and slot not in slots]
        layers = [self._texture(material.maps[slot], slot) if slot in material.maps else -1 for slot in slots]
        while layers and layers[-1] == -1 and not self.counts:
            layers.pop()
        if len(layers) > 8:
            self.report.add(TEXTURES_UNSUPPORTED["number"], f"{path}/maps", most=8)
        return layers[:8]

    def _texture(self, map: TextureMap, slot: str) -> int:
        """Return the number of the texture of a map: that of the original, if no other map changed it."""
        raw = map.raw_file_name
        file = raw if raw and raw.decode(self.encoding, "replace") == map.file_name else encode_name(map.file_name)
        texture = texture_of(map, file.replace(b"\0", b"_"))
        if slot == "reflection" and not texture.flags & (d.SPHERE_MAP | d.CUBE_MAP):
            texture.flags |= d.SPHERE_MAP
        key = tuple(getattr(texture, plan.name) for plan in texture.plan.fields)
        if map.amount != 1.0:
            self.report.add(TEXTURES_UNSUPPORTED["amount"], f"/maps/{map.file_name}/amount")
        number = map.extras.get("b3d", {}).get("texture", -1)
        if 0 <= number < len(self.textures) and self.counts and number not in self._set:
            self._set.add(number)
            self.textures[number] = texture
            self._written.setdefault(key, number)
            return int(number)
        if self.counts and 0 <= number < len(self.textures) and _same(self.textures[number], texture):
            return int(number)
        if key not in self._written:
            self._written[key] = len(self.textures)
            self.textures.append(texture)
        return self._written[key]


def _copy(texture: d.Texture) -> d.Texture:
    return d.Texture(*(getattr(texture, plan.name) for plan in texture.plan.fields))


def _same(one: d.Texture, other: d.Texture) -> bool:
    return all(getattr(one, plan.name) == getattr(other, plan.name) for plan in one.plan.fields)
