"""Materials and the texture maps they name."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.scene._arrays import Extras

Rgb = tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedImage:
    """An image that stands inside the file itself, as its bytes."""

    name: str
    """what the file calls it; no path"""
    data: bytes = field(repr=False)
    mime_type: str
    """``image/png``, ``image/jpeg``, or what the file claims"""
    role: str = "color"
    """what its pixels are: ``color``, ``alpha`` (white, with the opacity in its alpha), ``normal`` (a normal map is no
    height map), ``emission``, ``metallic_roughness``, ``occlusion``"""
    makes_holes: bool = True
    """whether its alpha counts"""


@dataclass(eq=False, slots=True)
class TextureMap(LazyFields):
    """An image in one slot of a material, and how it is laid on."""

    file_name: str
    raw_file_name: bytes = b""
    amount: float = 1.0
    """0 to 1"""
    scale: tuple[float, float] = (1.0, 1.0)
    """how often the image repeats along U and V"""
    offset: tuple[float, float] = (0.0, 0.0)
    """to the right and down, whichever way V runs, in texture coordinates"""
    rotation_degrees: float = 0.0
    """counter-clockwise as the image is seen, about its middle. 3ds Max shows -V and -angle of what 3D Studio stores,
    and that is what stands here: ``w' = R S (w - 1/2 - offset) + 1/2`` with v running down, ``R = [c -s; s c]``"""
    blur: float = 0.0
    mirror: bool = False
    negative: bool = False
    decal: bool = False
    tiled: bool = True
    summed_area: bool = False
    alpha_source: bool = False
    """take the alpha channel of the image"""
    ignore_alpha: bool = False
    tints: dict[str, Rgb] = lazy(dict)
    """colours that replace channels: ``first``, ``second``, ``red``, ``green``, ``blue``"""
    extras: Extras = lazy(dict)
    embedded: EmbeddedImage | None = field(default=None, metadata={"apart": True})
    """the image, where the file itself holds it; it comes before any file of that name"""

    def __repr__(self) -> str:
        return f"<TextureMap {self.file_name!r}>"


@dataclass(eq=False, slots=True)
class Material(LazyFields):
    """How a surface looks, in the terms of the old programs. Fractions are 0 to 1, None means not stated."""

    name: str
    ambient: Rgb | None = None
    diffuse: Rgb | None = None
    specular: Rgb | None = None
    shininess: float | None = None
    shininess_strength: float | None = None
    transparency: float = 0.0
    """0 is opaque"""
    transparency_falloff: float | None = None
    falloff_inwards: bool = False
    reflection_blur: float | None = None
    self_illumination: float = 0.0
    two_sided: bool = False
    additive: bool = False
    wire: bool = False
    wire_size: float | None = None
    wire_in_units: bool = False
    face_map: bool = False
    soften: bool = False
    supersample: bool = False
    shading: str | None = None
    """``wire``, ``flat``, ``gouraud``, ``phong`` or ``metal``"""
    maps: dict[str, TextureMap] = lazy(dict)
    """by slot: ``texture1``, ``texture2``, ``opacity``, ``bump``, ``specular``, ``shininess``, ``self_illumination``,
    ``reflection``, and the same with ``_mask``"""
    extras: Extras = lazy(dict)
    raw_name: bytes | None = None

    def __repr__(self) -> str:
        return f"<Material {self.name!r}{', maps: ' + ', '.join(self.maps) if self.maps else ''}>"
