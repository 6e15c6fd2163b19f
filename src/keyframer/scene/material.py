"""Materials and their texture maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, check_color, check_numbers
from keyframer.scene.environment import Rgb


@documented
@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedImage:
    """An image embedded in the file, as bytes."""

    name: str
    """name of the image in the file, without a path"""
    data: bytes = field(repr=False)
    mime_type: str
    """``image/png``, ``image/jpeg``, or the type stated in the file"""
    role: str = "color"
    """what its pixels are: ``color``, ``alpha`` (white, with the opacity in its alpha), ``normal`` (a normal map, not a
    height map), ``emission``, ``metallic_roughness``, ``occlusion``; empty: those of an image file, to which the
    options of its map apply
    """
    alpha_is_opacity: bool = True
    """whether its alpha makes the material transparent"""


@documented
@dataclass(eq=False, repr=False, slots=True)
class TextureMap(LazyFields):
    """An image in one slot of a material, with its texture transform."""

    file_name: str
    """file name of the image"""
    raw_file_name: bytes = b""
    """the file name as stored in the file"""
    amount: float = 1.0
    """strength of the map, 0 to 1"""
    scale: tuple[float, float] = (1.0, 1.0)
    """how often the image repeats along U and V"""
    offset: tuple[float, float] = (0.0, 0.0)
    """offset to the right and down in texture coordinates, whichever way V runs"""
    rotation_degrees: float = 0.0
    """counter-clockwise as the image is seen, about its centre: texture coordinates w become ``R S (w - 1/2 - offset) +
    1/2``, with v running down and ``R = [c -s; s c]``. 3D Studio stores this angle and this offset; 3ds Max shows the
    negatives of the angle and of the V offset
    """
    blur: float = 0.0
    """0 to 1"""
    mirror: bool = False
    """every second repetition is mirrored"""
    negative: bool = False
    """the image is inverted"""
    decal: bool = False
    """the material shows outside the image, and through its transparent parts"""
    tiled: bool = True
    """whether the image repeats; otherwise the material shows outside the image, unless it is mirrored"""
    second_coordinates: bool = False
    """placed by ``uv2`` of the mesh instead of ``uv``"""
    summed_area: bool = False
    """summed-area filtering"""
    alpha_source: bool = False
    """use the alpha channel of the image as opacity"""
    ignore_alpha: bool = False
    """ignore the alpha channel of the image"""
    tints: dict[str, Rgb] = lazy(dict)
    """colours that replace channels: ``first``, ``second``, ``red``, ``green``, ``blue``"""
    extras: Extras = lazy(dict)
    """further data of the file, under the id of its format"""
    embedded: EmbeddedImage | None = field(default=None, metadata={"not_in_extras": True})
    """the image, if it is embedded in the file; it is used instead of a file of that name"""

    if TYPE_CHECKING:

        def __init__(
            self, file_name: str, raw_file_name: bytes = b"", amount: float = 1.0, scale: ArrayLike = (1.0, 1.0),
            offset: ArrayLike = (0.0, 0.0), rotation_degrees: float = 0.0, blur: float = 0.0, mirror: bool = False,
            negative: bool = False, decal: bool = False, tiled: bool = True, second_coordinates: bool = False,
            summed_area: bool = False,
            alpha_source: bool = False, ignore_alpha: bool = False, tints: dict[str, Rgb] = ...,
            extras: Extras = ..., embedded: EmbeddedImage | None = None,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        check_numbers(self, {"scale": 2, "offset": 2})
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<TextureMap {self.file_name!r}>"


@documented
@dataclass(eq=False, repr=False, slots=True)
class Material(LazyFields):
    """A material with the parameters of the original programs. Fractions are 0 to 1; None means not stored."""

    name: str
    """name, made safe to show"""
    ambient: Rgb | None = None
    """ambient colour: red, green, blue"""
    diffuse: Rgb | None = None
    """diffuse colour: red, green, blue"""
    specular: Rgb | None = None
    """specular colour: red, green, blue"""
    shininess: float | None = None
    """size of highlights; 1 is the smallest"""
    shininess_strength: float | None = None
    """brightness of highlights"""
    transparency: float = 0.0
    """0 is opaque"""
    transparency_falloff: float | None = None
    """change of the transparency towards the edge"""
    falloff_inwards: bool = False
    """whether the middle is more transparent than the edge"""
    reflection_blur: float | None = None
    """0 to 1"""
    self_illumination: float = 0.0
    """how much it glows without light: 0 not at all, 1 in its full colour"""
    two_sided: bool = False
    """whether faces are visible from both sides"""
    additive: bool = False
    """additive transparency"""
    wire: bool = False
    """wireframe: only edges are drawn"""
    wire_size: float | None = None
    """thickness of the edges"""
    wire_in_units: bool = False
    """the thickness is in units of the scene instead of pixels"""
    face_map: bool = False
    """the image is mapped to each face"""
    soften: bool = False
    """highlights are softened"""
    supersample: bool = False
    """rendered with supersampling"""
    shading: str | None = None
    """``wire``, ``flat``, ``gouraud``, ``phong`` or ``metal``"""
    maps: dict[str, TextureMap] = lazy(dict)
    """by slot: ``texture1``, ``texture2``, ``opacity``, ``bump``, ``specular``, ``shininess``, ``self_illumination``,
    ``reflection``, and the same with ``_mask``; from glTF also ``metallic_roughness`` and ``occlusion``"""
    extras: Extras = lazy(dict)
    """further data of the file, under the id of its format"""
    raw_name: bytes | None = None
    """the name as stored in the file"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str, ambient: ArrayLike | None = None, diffuse: ArrayLike | None = None,
            specular: ArrayLike | None = None, shininess: float | None = None, shininess_strength: float | None = None,
            transparency: float = 0.0, transparency_falloff: float | None = None, falloff_inwards: bool = False,
            reflection_blur: float | None = None, self_illumination: float = 0.0, two_sided: bool = False,
            additive: bool = False, wire: bool = False, wire_size: float | None = None, wire_in_units: bool = False,
            face_map: bool = False, soften: bool = False, supersample: bool = False, shading: str | None = None,
            maps: dict[str, TextureMap] = ..., extras: Extras = ..., raw_name: bytes | None = None,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("ambient", "diffuse", "specular"):
            check_color(self, name)
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Material {self.name!r}{', maps: ' + ', '.join(self.maps) if self.maps else ''}>"
