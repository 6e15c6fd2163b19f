"""The material block: colours, percentages, flags and maps."""

from __future__ import annotations

from keyframer.formats.threeds.chunk import Chunk, chunk, declare_opaque
from keyframer.formats.threeds.records.basics import MAP_IDS
from keyframer.wire.field_types import f32, i16, strz, u8, u16, u32
from keyframer.wire.record import record

_MATERIAL = (0xAFFF,)


@chunk(0xAFFF, parents=(0x3D3D, 0x3DAA), repeats=True)
class Material(Chunk):
    """Material block (MAT_ENTRY)."""


@chunk(0xA000, parents=_MATERIAL, once=True)
class MaterialName(Chunk):
    """Material name (MAT_NAME)."""

    name: bytes = strz("material name; 3D Studio allows 16 characters")


@chunk(0xA010, parents=_MATERIAL)
class MaterialAmbient(Chunk):
    """Material ambient color (MAT_AMBIENT): colour sub-chunks."""


@chunk(0xA020, parents=_MATERIAL)
class MaterialDiffuse(Chunk):
    """Material diffuse color (MAT_DIFFUSE): colour sub-chunks."""


@chunk(0xA030, parents=_MATERIAL)
class MaterialSpecular(Chunk):
    """Material specular color (MAT_SPECULAR): colour sub-chunks."""


@chunk(0xA040, parents=_MATERIAL)
class MaterialShininess(Chunk):
    """Material shininess percent (MAT_SHININESS): a percent sub-chunk."""


@chunk(0xA041, parents=_MATERIAL)
class MaterialShininessStrength(Chunk):
    """Material shininess strength percent (MAT_SHIN2PCT): a percent sub-chunk."""


@chunk(0xA042, parents=_MATERIAL)
class MaterialShininess3(Chunk):
    """Third shininess percent (MAT_SHIN3PCT), written by 3ds Max: a percent sub-chunk."""


@chunk(0xA050, parents=_MATERIAL)
class MaterialTransparency(Chunk):
    """Transparency percent (MAT_TRANSPARENCY), 0 is opaque: a percent sub-chunk."""


@chunk(0xA052, parents=_MATERIAL)
class MaterialTransparencyFalloff(Chunk):
    """Transparency falloff percent (MAT_XPFALL): a percent sub-chunk."""


@chunk(0xA053, parents=_MATERIAL)
class MaterialReflectionBlur(Chunk):
    """Reflection blur percent (MAT_REFBLUR): a percent sub-chunk."""


@chunk(0xA080, parents=_MATERIAL)
class MaterialSelfIlluminated(Chunk):
    """Self illuminated (MAT_SELF_ILLUM), flag of older releases."""


@chunk(0xA081, parents=_MATERIAL)
class MaterialTwoSided(Chunk):
    """2 sided (MAT_TWO_SIDE)."""


@chunk(0xA082, parents=_MATERIAL)
class MaterialDecal(Chunk):
    """Decal (MAT_DECAL), flag of older releases."""


@chunk(0xA083, parents=_MATERIAL)
class MaterialAdditive(Chunk):
    """Additive transparency (MAT_ADDITIVE)."""


@chunk(0xA084, parents=_MATERIAL)
class MaterialSelfIllumination(Chunk):
    """Self illum (MAT_SELF_ILPCT): a percent sub-chunk."""


@chunk(0xA085, parents=_MATERIAL)
class MaterialWire(Chunk):
    """Wire frame on (MAT_WIRE)."""


@chunk(0xA086, parents=_MATERIAL)
class MaterialSupersample(Chunk):
    """Supersampling (MAT_SUPERSMP)."""


@chunk(0xA087, parents=_MATERIAL)
class MaterialWireSize(Chunk):
    """Wire thickness (MAT_WIRESIZE)."""

    size: float = f32("thickness", default=1.0)


@chunk(0xA088, parents=_MATERIAL)
class MaterialFaceMap(Chunk):
    """Face map (MAT_FACEMAP)."""


@chunk(0xA08A, parents=_MATERIAL)
class MaterialFalloffIn(Chunk):
    """Inward falloff (MAT_XPFALLIN): the middle is more transparent than the edge."""


@chunk(0xA08C, parents=_MATERIAL)
class MaterialSoften(Chunk):
    """Soften (MAT_PHONGSOFT)."""


@chunk(0xA08E, parents=_MATERIAL)
class MaterialWireInUnits(Chunk):
    """Wire in units (MAT_WIREABS)."""


@chunk(0xA100, parents=_MATERIAL)
class MaterialShading(Chunk):
    """Render type (MAT_SHADING)."""

    shading: int = i16("0: wire, 1: flat, 2: Gouraud, 3: Phong, 4: metal", default=3)


@chunk(0xA240, parents=_MATERIAL)
class MaterialUseFalloff(Chunk):
    """Transparency falloff percent present (MAT_USE_XPFALL)."""


@chunk(0xA250, parents=_MATERIAL)
class MaterialUseReflectionBlur(Chunk):
    """Reflection blur percent present (MAT_USE_REFBLUR)."""


# In the specification this is a flag of the material; files have two bytes inside the bump map.
@chunk(0xA252, parents=(0xA230,))
class BumpPercent(Chunk):
    """Bump map present (true percent) (MAT_BUMP_PERCENT)."""

    percent: int = i16("percent")


class Map(Chunk):
    """A map slot: its amount (a percent sub-chunk), file name and texture transform. The default amount is 100 %."""


@chunk(0xA200, parents=_MATERIAL)
class TextureMap1(Map):
    """Texture map 1 (MAT_TEXMAP)."""


@chunk(0xA33A, parents=_MATERIAL)
class TextureMap2(Map):
    """Texture map 2 (MAT_TEX2MAP)."""


@chunk(0xA210, parents=_MATERIAL)
class OpacityMap(Map):
    """Opacity map (MAT_OPACMAP); white is opaque."""


@chunk(0xA230, parents=_MATERIAL)
class BumpMap(Map):
    """Bump map (MAT_BUMPMAP)."""


@chunk(0xA33C, parents=_MATERIAL)
class ShininessMap(Map):
    """Shininess map (MAT_SHINMAP)."""


@chunk(0xA204, parents=_MATERIAL)
class SpecularMap(Map):
    """Specular map (MAT_SPECMAP)."""


@chunk(0xA33D, parents=_MATERIAL)
class SelfIlluminationMap(Map):
    """Self illum. map (MAT_SELFIMAP)."""


@chunk(0xA220, parents=_MATERIAL)
class ReflectionMap(Map):
    """Reflection map (MAT_REFLMAP): an environment map without UV coordinates."""


@chunk(0xA33E, parents=_MATERIAL)
class TextureMask1(Map):
    """Mask for texture map 1 (MAT_TEXMASK)."""


@chunk(0xA340, parents=_MATERIAL)
class TextureMask2(Map):
    """Mask for texture map 2 (MAT_TEX2MASK)."""


@chunk(0xA342, parents=_MATERIAL)
class OpacityMask(Map):
    """Mask for opacity map (MAT_OPACMASK)."""


@chunk(0xA344, parents=_MATERIAL)
class BumpMask(Map):
    """Mask for bump map (MAT_BUMPMASK)."""


@chunk(0xA346, parents=_MATERIAL)
class ShininessMask(Map):
    """Mask for shininess map (MAT_SHINMASK)."""


@chunk(0xA348, parents=_MATERIAL)
class SpecularMask(Map):
    """Mask for specular map (MAT_SPECMASK)."""


@chunk(0xA34A, parents=_MATERIAL)
class SelfIlluminationMask(Map):
    """Mask for self illum. map (MAT_SELFIMASK)."""


@chunk(0xA34C, parents=_MATERIAL)
class ReflectionMask(Map):
    """Mask for reflection map (MAT_REFLMASK)."""


@chunk(0xA300, parents=MAP_IDS)
class MapName(Chunk):
    """Mapping filename (MAT_MAPNAME)."""

    name: bytes = strz("file name, 8.3, normally without a path")


@chunk(0xA310, parents=(*MAP_IDS, 0xAFFF))
class AutomaticCubic(Chunk):
    """Automatic reflection map (MAT_ACUBIC)."""

    shade: int = u8("shade")
    antialias: int = u8("antialias")
    flags: int = i16("bit 0: on, bit 3: first frame only, bit 4: flat mirror")
    size: int = u32("size")
    nth_frame: int = u32("nth frame")


@chunk(0xA351, parents=MAP_IDS)
class MapParameters(Chunk):
    """Mapping parameters (MAT_MAP_TILING)."""

    flags: int = u16(
        "bit 0: decal, 1: mirror, 3: negative, 4: no tile, 5: summed area, 6: use alpha, 7: one-channel tint, "
        "8: ignore alpha, 9: RGB tint"
    )


@record
class _MapNumber(Chunk):
    value: float = f32("value")


@chunk(0xA353, parents=MAP_IDS)
class MapBlur(_MapNumber):
    """Blur percent (MAT_MAP_TEXBLUR)."""


# A real file made with U scale 10 and V scale 2 has A354 = 10, A356 = 2: the specification has the two swapped.
@chunk(0xA354, parents=MAP_IDS)
class MapUScale(_MapNumber):
    """U scale (MAT_MAP_USCALE): 2 means that the texture repeats twice."""


@chunk(0xA356, parents=MAP_IDS)
class MapVScale(_MapNumber):
    """V scale (MAT_MAP_VSCALE): 2 means that the texture repeats twice."""


@chunk(0xA358, parents=MAP_IDS)
class MapUOffset(_MapNumber):
    """U offset (MAT_MAP_UOFFSET)."""


@chunk(0xA35A, parents=MAP_IDS)
class MapVOffset(_MapNumber):
    """V offset (MAT_MAP_VOFFSET); 3ds Max stores -V."""


# The specification prints A35A a second time in its description of this chunk; its chunk tree is correct.
@chunk(0xA35C, parents=MAP_IDS)
class MapRotation(_MapNumber):
    """Rotation angle (MAT_MAP_ANG) in degrees; 3ds Max stores the negative angle."""


@record
class _MapTint(Chunk):
    rgb: tuple[int, ...] = u8("red, green, blue", 3)


@chunk(0xA360, parents=MAP_IDS)
class MapTint1(_MapTint):
    """RGB luma/alpha tint 1 (MAT_MAP_COL1)."""


@chunk(0xA362, parents=MAP_IDS)
class MapTint2(_MapTint):
    """RGB luma/alpha tint 2 (MAT_MAP_COL2)."""


@chunk(0xA364, parents=MAP_IDS)
class MapTintRed(_MapTint):
    """RGB tint R (MAT_MAP_RCOL)."""


@chunk(0xA366, parents=MAP_IDS)
class MapTintGreen(_MapTint):
    """RGB tint G (MAT_MAP_GCOL)."""


@chunk(0xA368, parents=MAP_IDS)
class MapTintBlue(_MapTint):
    """RGB tint B (MAT_MAP_BCOL)."""


# Parameters of procedural textures (SXP), in a layout that each external process defines.
for _id, _slot in {
    0xA320: "Texture1", 0xA321: "Opacity", 0xA322: "Bump", 0xA324: "Specular", 0xA325: "Shininess",
    0xA326: "SelfIllumination", 0xA328: "Texture1Mask", 0xA32A: "Texture2Mask", 0xA32C: "OpacityMask",
    0xA32E: "BumpMask", 0xA330: "SpecularMask", 0xA332: "ShininessMask", 0xA334: "SelfIlluminationMask",
    0xA336: "ReflectionMask", 0xA338: "Texture2",
}.items():  # fmt: skip
    declare_opaque(_id, f"Procedural{_slot}", f"Procedural texture data (SXP), {_slot}.", (*_MATERIAL, *MAP_IDS))
