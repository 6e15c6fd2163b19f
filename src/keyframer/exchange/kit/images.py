"""Images for the exporter: the interface that supplies them, and the implementation for image files. JPEG and PNG files
are copied if possible, all other images become PNG; an opacity map is merged into the base colour.
"""

from __future__ import annotations

import hashlib
import io
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from keyframer.arrays import Bytes, Floats
from keyframer.exchange.kit.numbers import fraction
from keyframer.exchange.kit.surfaces import GltfMap, GltfMaterial
from keyframer.formats import properties_of
from keyframer.scene import Material, Scene, TextureMap
from keyframer.scene.loss_report import LossType
from keyframer.scene.losses import (
    IMAGE_CHANGED,
    IMAGE_COMPUTED,
    IMAGE_MISSING,
    IMAGE_WRITTEN,
)
from keyframer.text import safe_text
from keyframer.textures import ImageRefused, OpenedTexture, Texture, TextureSource, pillow
from keyframer.textures.image_files import as_png, spend_on_image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


GLTF_ONLY_SLOTS = ("metallic_roughness", "occlusion")
"""slots for images that only glTF files have: they are copied unchanged"""
SLOTS = {
    "base_color": "texture1",
    "alpha": "opacity",
    "normal": "bump",
    "emissive": "self_illumination",
    **{name: name for name in GLTF_ONLY_SLOTS},
}
"""glTF slots and the maps they are made from; ``alpha`` is used only if there is no base colour image"""


Notes = dict[str, tuple[LossType, str]]
"""what became of the maps that an image is made from, by their slots in the material: type of loss, and description"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that glTF can store."""

    name: str
    data: bytes
    """empty if only its name is written"""
    mime_type: str
    """``image/png`` or ``image/jpeg``"""
    alpha: str = "opaque"
    """use of its alpha channel: ``opaque``, ``mask`` or ``blend``"""
    has_border: bool = False
    """whether its outermost pixels have another colour, which reductions would blend with the image"""
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason why there is no image, for the report."""

    reason: str


ImageSource = Callable[[Material, str, TextureMap], Image | Missing | None]
"""function of material, slot and map that returns the image, the reason why there is none, or None. Slots:
``base_color`` (made from ``texture1`` and the colour of the material, with the opacity map in its alpha if possible;
an image that is not tiled gets a border of that colour, which a player that clamps it shows around it), ``alpha`` (from
``opacity`` if
there is no base colour image: white, with the map in its alpha), ``normal`` (from ``bump``: a normal map computed from
the height map), ``emissive`` (from ``self_illumination``, multiplied by the image of ``texture1`` if there is one), and
`GLTF_ONLY_SLOTS`. Maps that were read from glTF need no conversion
"""


def no_images(material: Material, slot: str, map: TextureMap) -> None:
    """Supply no images: texture names are kept in extras only."""


def named_images(material: Material, slot: str, map: TextureMap) -> Image | None:
    """Supply only the names of images of colours: for players that get the images in another way."""
    if slot != "base_color":
        return None
    return Image(map.file_name, b"", "", notes={"texture1": (IMAGE_WRITTEN["named"], map.file_name)})


OPACITY, SHOWS_MATERIAL, IGNORED = "opacity", "shows material", "ignored"
"""uses of the alpha channel of an image: it makes the surface transparent, or the colour of the material shows through
"""


def alpha_use(map: TextureMap) -> str:
    """Return how a map of colours uses the alpha of its image."""
    if map.embedded is not None and map.embedded.role:
        return OPACITY if map.embedded.alpha_is_opacity else IGNORED
    if map.ignore_alpha:
        return IGNORED
    shows_material = map.decal or any(properties_of(name).image_alpha_shows_material for name in map.extras)
    return SHOWS_MATERIAL if shows_material and not map.alpha_source else OPACITY


def is_shown_once(map: TextureMap) -> bool:
    """Return whether the material is visible outside of the image. In glTF, the border of an image continues."""
    return (map.decal or not map.tiled) and not map.mirror and role_of(map) is None


def role_of(map: TextureMap) -> str | None:
    """Return the role of an embedded image, or of a map that was read from glTF; None for other maps."""
    if map.embedded is not None:
        return map.embedded.role or None
    original = GltfMap.of(map)
    return None if original is None else original.role


_ALPHA_TOLERANCE = 8
"""alpha levels within this distance of 0 or 255 are treated as 0 or 255"""
_MASK_FRACTION = 0.98
"""an image is a mask if at least this fraction of its pixels has an alpha of 0 or 255: edges are slightly blurred"""
_MOST_COMPUTED_PIXELS = 2048 * 2048
"""maximum number of pixels of an image that is merged or computed: computing takes a hundred bytes per pixel, and a PNG
of a few kilobytes can have 67 million pixels; copied images may be larger
"""


class Pictures:
    """An `ImageSource` that opens the images of a `TextureSource`. Each image is made and encoded once. Decoding an
    image pays for the first one that is computed from it; each further one costs as much of the budget again."""

    def __init__(self, source: TextureSource) -> None:
        self._source = source
        self._images: dict[tuple[object, ...], Image | Missing] = {}
        self._pngs: dict[tuple[object, ...], bytes] = {}
        self._alpha_kinds: dict[int, str] = {}
        """by the id of a decoded image, which the source keeps: an image may have many names"""
        self._computed_from: set[int] = set()
        """ids of decoded images"""

    def __call__(self, material: Material, slot: str, map: TextureMap) -> Image | Missing | None:
        merged_maps = [material.maps[name] for name in _MERGED_MAPS.get(slot, ()) if name in material.maps]
        key = (
            slot,
            _key(map),
            material.diffuse if slot in ("base_color", "emissive") else None,
            *(_key(merged_map) for merged_map in merged_maps),
            GltfMaterial.of(material).alpha_mode,
        )
        if key not in self._images:
            try:
                self._images[key] = self._make(material, slot, map)
            except ImageRefused as refused:
                self._images[key] = Missing(f"{self._source.open_map(map)!s}; {refused.reason}")
        return self._images[key]

    def not_found(self, scene: Scene) -> list[str]:
        """Return the names of all images of a scene that were not found, also of those that glTF does not use."""
        return self._source.not_found(scene)

    def _make(self, material: Material, slot: str, map: TextureMap) -> Image | Missing:
        opened = self._source.open_map(map)
        texture = opened.texture
        if texture is None:
            return Missing(str(opened))
        if slot == "base_color" and covering(map) == 0:
            return Missing(f"{opened!s}; not shown: its amount is 0 %")
        if _ROLES[slot] == role_of(map) and (slot != "base_color" or covering(map) == 1):
            return self._from_gltf(material, map, slot, opened, texture)
        if slot in GLTF_ONLY_SLOTS:
            return Missing(f"{opened!s}; not usable as {slot}")
        if slot == "base_color":
            return self._base(material, map, opened, texture)
        original = texture
        texture, opened = _reduced(texture, opened)
        self._pay(original, texture)
        if slot == "alpha":
            return self._white_with_alpha(map, opened, texture)
        if slot == "normal":
            amount = map.amount if math.isfinite(map.amount) else 1.0
            normals = normal_map(_levels(texture, map), amount, tiled=map.tiled and not (map.decal or map.mirror))
            note = f"a normal map computed from heights; {opened!s}"
            return self._png(texture, normals, {"bump": (IMAGE_CHANGED, note)}, "_normal")
        return self._emission(material, map, opened, texture)

    def _base(self, material: Material, map: TextureMap, opened: OpenedTexture, texture: Texture) -> Image:
        notes = {"texture1": _note(opened, "")}
        is_negative = map.negative and role_of(map) is None
        use = alpha_use(map) if texture.has_alpha else IGNORED
        amount, has_border = covering(map), not map.tiled and is_shown_once(map)
        reduced = texture
        is_computed = is_negative or amount < 1 or has_border or use == SHOWS_MATERIAL
        if is_computed or "opacity" in material.maps:
            reduced, opened = _reduced(texture, opened)
        opacity_map = self._opacity(material, map, notes, reduced)
        if opacity_map is None and not is_computed:
            return self._copied(texture, notes, self._alpha_kind(texture) if use == OPACITY else "opaque")
        self._pay(texture, reduced)
        texture, notes["texture1"] = reduced, _note(opened, "")
        pixels = texture.pixels().copy()
        changes = []
        if is_negative:
            pixels[..., :3] = 255 - pixels[..., :3]
            changes.append("colours inverted")
        alpha = pixels[..., 3] / 255.0
        if use == SHOWS_MATERIAL or amount < 1:
            pixels[..., :3] = _over_material(
                material, pixels[..., :3], alpha if use == SHOWS_MATERIAL else None, amount
            )
            changes += ["a decal over the material's colour"] if use == SHOWS_MATERIAL else []
            changes += [f"{100 * amount:g} % of the image over the material's colour"] if amount < 1 else []
        opacity = alpha if use == OPACITY else np.ones_like(alpha)
        if opacity_map is not None:
            opacity = opacity * opacity_map
        pixels[..., 3] = np.round(255 * opacity)
        if has_border:
            pixels = _with_border(pixels, material, is_clear=use == OPACITY)
            changes.append("a border in the material's colour, which shows outside of the image")
        if changes:
            notes["texture1"] = _note(opened, ", ".join(changes), IMAGE_COMPUTED)
        kind = _alpha_kind(pixels[..., 3])
        suffix = "" if opacity_map is None else "_alpha"
        made = self._png(texture, pixels[..., :3] if kind == "opaque" else pixels, notes, suffix, kind)
        return replace(made, has_border=has_border)

    def _opacity(self, material: Material, base_map: TextureMap, notes: Notes, texture: Texture) -> Floats | None:
        """Return the opacity map at the size of ``texture``, and add its note; None if it is missing or unreadable."""
        map = material.maps.get("opacity")
        if map is None or not map.file_name:
            return None
        opened = self._source.open_map(map)
        if opened.texture is None:
            notes["opacity"] = (IMAGE_MISSING, str(opened))
            return None
        note = "merged into the alpha of the base colour"
        same_transform = _transform_of(map) == _transform_of(base_map)
        notes["opacity"] = _note(
            opened,
            note if same_transform else f"{note}, with the transform of the base colour",
            IMAGE_COMPUTED if same_transform else IMAGE_CHANGED,
        )
        return _weighted_opacity(_levels(opened.texture, map, texture.image.size), map)

    def _white_with_alpha(self, map: TextureMap, opened: OpenedTexture, texture: Texture) -> Image:
        pixels = np.full((texture.image.height, texture.image.width, 4), 255, np.uint8)
        pixels[..., 3] = np.round(255 * _weighted_opacity(_levels(texture, map), map))
        notes = {"opacity": _note(opened, "as the alpha of a white base colour", IMAGE_COMPUTED)}
        return self._png(texture, pixels, notes, "_alpha", _alpha_kind(pixels[..., 3]))

    def _emission(self, material: Material, map: TextureMap, opened: OpenedTexture, texture: Texture) -> Image:
        glow = _levels(texture, map)[..., None] * fraction(map.amount, 1.0)
        note = "as emission"
        base = material.maps.get("texture1")
        amount = 0.0 if base is None else covering(base)
        base_texture = self._source.open_map(base).texture if base is not None and base.file_name and amount else None
        color: Floats = np.full((1, 1, 3), 255.0)
        if base_texture is not None:
            image = np.asarray(base_texture.image.convert("RGB").resize(texture.image.size), np.float64)
            color = image if amount == 1 else _over_material(material, image, None, amount)
            note = "as emission, coloured by the base colour"
        notes = {"self_illumination": _note(opened, note, IMAGE_COMPUTED)}
        return self._png(texture, np.asarray(np.round(glow * color), np.uint8), notes, "_emission")

    def _from_gltf(
        self, material: Material, map: TextureMap, slot: str, opened: OpenedTexture, texture: Texture
    ) -> Image:
        """Return an image from a glTF file: its pixels need no conversion."""
        notes = {SLOTS[slot]: _note(opened, "")}
        alpha_is_opacity = map.embedded.alpha_is_opacity if map.embedded is not None else not map.ignore_alpha
        alpha = "opaque"
        if texture.has_alpha and alpha_is_opacity and slot in ("base_color", "alpha"):
            alpha = self._alpha_kind(texture)
            stated = GltfMaterial.of(material).alpha_mode
            alpha = stated.lower() if stated in ("MASK", "BLEND") else alpha
        return self._copied(texture, notes, alpha, SLOTS[slot])

    def _copied(self, texture: Texture, notes: Notes, alpha: str, map_name: str = "texture1") -> Image:
        name = safe_text(texture.name)
        kind, image_note = notes[map_name]
        if texture.format == "PNG":
            stripped = without_ancillary_chunks(texture.data)
            if stripped is not None:
                return Image(name, stripped, "image/png", alpha, notes=notes)
        if texture.format == "JPEG" and _is_plain_jpeg(texture.data):
            upright = without_exif_rotation(texture.data)
            if upright is not texture.data:
                notes[map_name] = kind, f"{image_note}; its Exif orientation is reset to upright"
            return Image(name, upright, "image/jpeg", alpha, notes=notes)
        change = "encoded again" if texture.format == "PNG" else f"converted from {texture.format} to PNG"
        notes[map_name] = kind, f"{image_note}; {change}"
        return Image(name, self._encoded(texture.image, (id(texture.image),)), "image/png", alpha, notes=notes)

    def _png(self, texture: Texture, pixels: Bytes, notes: Notes, suffix: str, alpha: str = "opaque") -> Image:
        key = (pixels.shape, hashlib.blake2b(pixels.tobytes()).digest())
        data = self._encoded(pillow.Image.fromarray(pixels), key)
        return Image(safe_text(texture.name) + suffix, data, "image/png", alpha, notes=notes)

    def _encoded(self, image: Picture, key: tuple[object, ...]) -> bytes:
        """Return the picture as PNG; pictures of the same key are encoded once, for all names and users."""
        if key not in self._pngs:
            self._pngs[key] = as_png(image)
        return self._pngs[key]

    def _pay(self, texture: Texture, computed: Texture) -> None:
        """Charge an image that is computed from ``texture``; raises `ImageRefused` if the budget is exceeded."""
        if id(texture.image) in self._computed_from:
            spend_on_image(*computed.image.size)
        self._computed_from.add(id(texture.image))

    def _alpha_kind(self, texture: Texture) -> str:
        key = id(texture.image)
        if key not in self._alpha_kinds:
            self._alpha_kinds[key] = _alpha_kind(np.asarray(texture.image.getchannel("A"), np.uint8))
        return self._alpha_kinds[key]


_MERGED_MAPS = {"base_color": ("opacity",), "emissive": ("texture1",)}
"""further maps that are merged into the image of a slot"""
_ROLES = {
    "base_color": "color",
    "alpha": "alpha",
    "normal": "normal",
    "emissive": "emission",
    **{name: name for name in GLTF_ONLY_SLOTS},
}
"""role of images that need no conversion, by slot"""


def _key(map: TextureMap) -> tuple[object, ...]:
    embedded = None if map.embedded is None else (id(map.embedded.data), map.embedded.role)
    options = (map.negative, map.alpha_source, map.ignore_alpha, map.decal, map.tiled)
    return map.file_name, embedded, role_of(map), repr(map.amount), *options, repr(_transform_of(map))


def _transform_of(map: TextureMap) -> tuple[object, ...]:
    return map.scale, map.offset, map.rotation_degrees, map.mirror, map.tiled


def _levels(texture: Texture, map: TextureMap, size: tuple[int, int] | None = None) -> Floats:
    """Return (height, width) levels 0 to 1: grey, or alpha if the map uses it; inverted for a negative."""
    channel = texture.image.getchannel("A") if map.alpha_source and texture.has_alpha else texture.image.convert("L")
    if size is not None and channel.size != size:
        channel = channel.resize(size)
    levels = np.asarray(channel, np.float64) / 255
    return 1 - levels if map.negative else levels


def _weighted_opacity(levels: Floats, map: TextureMap) -> Floats:
    """Return opacity weighted by the amount of the map."""
    return 1 - fraction(map.amount, 1.0) * (1 - levels)


def covering(map: TextureMap) -> float:
    """Return how much of the colour of the material an image replaces. Those of glTF files are multiplied by it."""
    return 1.0 if GltfMap.of(map) is not None else fraction(map.amount, 1.0)


def _material_color(material: Material) -> tuple[float, float, float]:
    """Return the colour under an image, 0 to 255."""
    red, green, blue = (255 * fraction(level) for level in material.diffuse or (0.8, 0.8, 0.8))
    return red, green, blue


def _over_material(material: Material, pixels: Bytes | Floats, alpha: Floats | None, amount: float) -> Floats:
    """Return the colours (height, width, 3) of an image on a material, both as numbers of the screen: the original
    programs did not know linear light."""
    share = np.full((*pixels.shape[:2], 1), amount) if alpha is None else amount * alpha[..., None]
    return np.asarray(np.round(pixels * share + np.array(_material_color(material)) * (1 - share)))


_LEAST_SIDE = 256
"""smallest side of an image with a border of one pixel: the border replaces pixels of the image"""


def _with_border(pixels: Bytes, material: Material, is_clear: bool) -> Bytes:
    """Return an image whose outermost pixels have the colour of a material; a small one is enlarged first."""
    height, width = pixels.shape[:2]
    factor = -(-_LEAST_SIDE // min(height, width))
    if width * height * factor**2 <= _MOST_COMPUTED_PIXELS:
        size = width * factor, height * factor
        pixels = np.array(pillow.Image.fromarray(pixels).resize(size, pillow.Image.Resampling.BILINEAR))
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        edge[:, :3] = np.round(_material_color(material))
        if is_clear:
            edge[:, 3] = 0
    return pixels


def _alpha_kind(alpha: Bytes) -> str:
    """Return ``opaque``, ``mask`` (almost all levels are close to 0 or 255) or ``blend``."""
    if not alpha.size or alpha.min() >= 255 - _ALPHA_TOLERANCE:
        return "opaque"
    is_extreme = (alpha <= _ALPHA_TOLERANCE) | (alpha >= 255 - _ALPHA_TOLERANCE)
    return "mask" if is_extreme.mean() >= _MASK_FRACTION else "blend"


def _reduced(texture: Texture, opened: OpenedTexture) -> tuple[Texture, OpenedTexture]:
    """Return an image for computations; a large one is resized, and the reason for the report says so."""
    width, height = texture.image.size
    if width * height <= _MOST_COMPUTED_PIXELS:
        return texture, opened
    factor = math.sqrt(_MOST_COMPUTED_PIXELS / (width * height))
    size = max(int(width * factor), 1), max(int(height * factor), 1)
    reason = f"resized from {width} x {height} to {size[0]} x {size[1]} pixels"
    reduced = replace(texture, image=texture.image.resize(size))
    return reduced, replace(opened, reason=f"{opened.reason}; {reason}" if opened.reason else reason)


def _note(opened: OpenedTexture, note: str, kind: LossType = IMAGE_WRITTEN["embedded"]) -> tuple[LossType, str]:
    """Return type of loss and description of an opened image; a guessed file or one with a `reason` is not exact."""
    if kind is IMAGE_WRITTEN["embedded"] and (opened.match.is_guess or opened.reason):
        kind = IMAGE_CHANGED
    return kind, f"{note}; {opened!s}" if note else str(opened)


def _is_plain_jpeg(data: bytes) -> bool:
    """Return whether a JPEG is RGB or grey: glTF viewers do not support CMYK."""
    with pillow.Image.open(io.BytesIO(data), formats=("JPEG",)) as opened:
        return opened.mode in ("RGB", "L")


_ORIENTATION = 0x0112
_UPRIGHT = 1


def without_exif_rotation(data: bytes) -> bytes:
    """Return the same file with Exif orientation 1; unchanged if it has no other orientation.

    Neither the original programs nor glTF use Exif, but browsers rotate images by it.
    """
    location = _orientation_at(data)
    if location is None:
        return data
    at, order = location
    return data[:at] + struct.pack(f"{order}H", _UPRIGHT) + data[at + 2 :]


def _orientation_at(data: bytes) -> tuple[int, str] | None:
    """Return offset and byte order of the orientation; None if it is missing or already upright."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF and 0xE0 <= data[at + 1] <= 0xEF:
        size = int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return _orientation_in_tags(data, at + 10, min(at + 2 + size, len(data)))
        at += 2 + size
    return None


def _orientation_in_tags(data: bytes, begin: int, end: int) -> tuple[int, str] | None:
    order = {b"II": "<", b"MM": ">"}.get(data[begin : begin + 2])
    if order is None or begin + 8 > end:
        return None
    table = begin + struct.unpack_from(f"{order}I", data, begin + 4)[0]
    if table + 2 > end:
        return None
    count = struct.unpack_from(f"{order}H", data, table)[0]
    for entry in range(table + 2, min(table + 2 + 12 * count, end - 11), 12):
        tag, kind, value_count = struct.unpack_from(f"{order}HHI", data, entry)
        if (tag, kind, value_count) == (_ORIENTATION, 3, 1):
            stated = struct.unpack_from(f"{order}H", data, entry + 8)[0]
            return None if stated == _UPRIGHT else (entry + 8, order)
    return None


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEPT_CHUNKS = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS"}
"""chunks that are kept: images of glTF are sRGB with square pixels; the Khronos validator warns of profiles, gammas,
sizes and animation
"""


def without_ancillary_chunks(data: bytes) -> bytes | None:
    """Return a PNG without the chunks that glTF does not need; unchanged if there are none. Returns None if the end
    chunk is missing: not all decoders show such a file.
    """
    parts, at, ended = [_SIGNATURE], len(_SIGNATURE), False
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if kind in _KEPT_CHUNKS:
            parts.append(data[at:end])
        at = end
        ended = kind == b"IEND"
        if ended or end > len(data):
            break
    if not ended or at > len(data):
        return None
    stripped = b"".join(parts)
    return data if len(stripped) == len(data) else stripped


STEEPNESS = 4.0
"""height of white above black, in pixels, for a map of full amount: the usual bump of 30 % gives slopes up to about 30
degrees along a row or column, and 40 diagonally. The original programs bent normals by an amount that glTF cannot
express.
"""
_ROWS = 16
"""rows of a normal map computed at once, so that temporaries stay in the cache of the processor"""


def normal_map(heights: Floats, amount: float, *, tiled: bool) -> Bytes:
    """Return a normal map (height, width, 3) with green up, as in glTF; ``heights`` are 0 to 1, the top row first."""
    padded = np.pad(heights, 1, "wrap" if tiled else "edge")
    slope = STEEPNESS * amount
    out = np.empty((*heights.shape, 3), np.uint8)
    for top in range(0, len(heights), _ROWS):
        rows = padded[top : top + _ROWS + 2]
        x = -slope * ((rows[1:-1, 2:] - rows[1:-1, :-2]) / 2)
        y = slope * ((rows[2:, 1:-1] - rows[:-2, 1:-1]) / 2)
        length = np.sqrt(x * x + y * y + 1.0)
        for axis, part in enumerate((x, y, 1.0)):
            out[top : top + _ROWS, :, axis] = np.rint((part / length + 1) * 127.5)
    return out
