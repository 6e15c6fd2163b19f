"""Materials and the texture maps they name."""

from __future__ import annotations

from dataclasses import dataclass, field

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, check_color

Rgb = tuple[float, float, float]


@documented
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


@documented
@dataclass(eq=False, repr=False, slots=True)
class TextureMap(LazyFields):
    """An image in one slot of a material, and how it is laid on."""

    file_name: str
    """the image as the file names it"""
    raw_file_name: bytes = b""
    """the same as its bytes"""
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
    """0 to 1"""
    mirror: bool = False
    """every second repetition is mirrored"""
    negative: bool = False
    """the image is inverted"""
    decal: bool = False
    """outside the image the material itself shows"""
    tiled: bool = True
    """whether the image repeats"""
    summed_area: bool = False
    """the other way of filtering"""
    alpha_source: bool = False
    """take the alpha channel of the image"""
    ignore_alpha: bool = False
    """take no notice of the alpha channel of the image"""
    tints: dict[str, Rgb] = lazy(dict)
    """colours that replace channels: ``first``, ``second``, ``red``, ``green``, ``blue``"""
    extras: Extras = lazy(dict)
    """what else the file says, under the id of its format"""
    embedded: EmbeddedImage | None = field(default=None, metadata={"apart": True})
    """the image, where the file itself holds it; it comes before any file of that name"""

    def __repr__(self) -> str:
        return f"<TextureMap {self.file_name!r}>"


@documented
@dataclass(eq=False, repr=False, slots=True)
class Material(LazyFields):
    """How a surface looks, in the terms of the old programs. Fractions are 0 to 1, None means not stated."""

    name: str
    """shown name"""
    ambient: Rgb | None = None
    """red, green, blue where no light falls"""
    diffuse: Rgb | None = None
    """red, green, blue in the light"""
    specular: Rgb | None = None
    """red, green, blue of highlights"""
    shininess: float | None = None
    """how small highlights are"""
    shininess_strength: float | None = None
    """how bright highlights are"""
    transparency: float = 0.0
    """0 is opaque"""
    transparency_falloff: float | None = None
    """how much the transparency changes towards the edge"""
    falloff_inwards: bool = False
    """whether the middle is the more transparent part"""
    reflection_blur: float | None = None
    """0 to 1"""
    self_illumination: float = 0.0
    """how much it shines by itself"""
    two_sided: bool = False
    """whether faces are seen from behind, too"""
    additive: bool = False
    """transparency adds light instead of covering"""
    wire: bool = False
    """only the edges are drawn"""
    wire_size: float | None = None
    """thickness of the edges"""
    wire_in_units: bool = False
    """the thickness is in units of the scene instead of pixels"""
    face_map: bool = False
    """the image is laid on each face anew"""
    soften: bool = False
    """highlights are softened"""
    supersample: bool = False
    """rendered more finely"""
    shading: str | None = None
    """``wire``, ``flat``, ``gouraud``, ``phong`` or ``metal``"""
    maps: dict[str, TextureMap] = lazy(dict)
    """by slot: ``texture1``, ``texture2``, ``opacity``, ``bump``, ``specular``, ``shininess``, ``self_illumination``,
    ``reflection``, and the same with ``_mask``"""
    extras: Extras = lazy(dict)
    """what else the file says, under the id of its format"""
    raw_name: bytes | None = None
    """the name as it stands in the file"""

    def __post_init__(self) -> None:
        for name in ("ambient", "diffuse", "specular"):
            check_color(self, name)
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Material {self.name!r}{', maps: ' + ', '.join(self.maps) if self.maps else ''}>"
