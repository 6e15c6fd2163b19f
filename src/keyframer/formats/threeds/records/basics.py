"""Top chunks, versions, colours and percentages."""

from __future__ import annotations

from keyframer.formats.threeds.chunk import ANYWHERE, Chunk, chunk, declare_opaque
from keyframer.wire.field_types import f32, i16, u8, u32

MAP_IDS = (
    0xA200, 0xA33A, 0xA210, 0xA230, 0xA33C, 0xA204, 0xA33D, 0xA220,
    0xA33E, 0xA340, 0xA342, 0xA344, 0xA346, 0xA348, 0xA34A, 0xA34C,
)  # fmt: skip
"""the sixteen map and mask slots of a material"""

PERCENT_PARENTS = (0xA040, 0xA041, 0xA042, 0xA050, 0xA052, 0xA053, 0xA084, *MAP_IDS)
COLOUR_PARENTS = (0x1200, 0x1300, 0x2100, 0x2200, 0x2302, 0x4600, 0xA010, 0xA020, 0xA030)

TOP_IDS = (0x4D4D, 0xC23D, 0x3DAA, 0x3D3D)
"""ids of the first chunk of a file"""


@chunk(0x4D4D, parents=())
class Main(Chunk):
    """Main chunk of a .3ds file (M3DMAGIC)."""


@chunk(0xC23D, parents=())
class Project(Chunk):
    """Main chunk of a .prj project file (CMAGIC)."""


@chunk(0x3DAA, parents=())
class MaterialLibrary(Chunk):
    """Main chunk of a .mli material library (MLIBMAGIC)."""


# Fixture models of one maker store the version in two bytes: kept as raw bytes with a warning.
@chunk(0x0002, parents=(0x4D4D, 0xC23D, 0x3DAA), optional=True)
class Version(Chunk):
    """3DS-Version (M3D_VERSION)."""

    version: int = u32("release of 3D Studio, 1 to 4; 3ds Max writes 3", default=3)


@chunk(0x0005, parents=(0x4D4D, 0xC23D, 0xB000))
class KeyframerVersion(Chunk):
    """Version of the keyframer section (M3D_KFVERSION)."""

    version: int = u32("version")


Null = declare_opaque(0x0000, "Null", "Null chunk (NULL_CHUNK).", ANYWHERE)
Dummy = declare_opaque(0xFFFF, "Dummy", "Placeholder of Autodesk's toolkit.", ANYWHERE)


@chunk(0x0010, parents=COLOUR_PARENTS)
class ColorFloat(Chunk):
    """Rgb color (float format) (COLOR_F)."""

    rgb: tuple[float, ...] = f32("red, green, blue, 0.0 to 1.0 (full intensity)", 3)


@chunk(0x0011, parents=COLOUR_PARENTS)
class ColorByte(Chunk):
    """Rgb color (byte format) (COLOR_24)."""

    rgb: tuple[int, ...] = u8("red, green, blue, 0 to 255 (full intensity)", 3)


@chunk(0x0012, parents=COLOUR_PARENTS)
class ColorByteGamma(Chunk):
    """Rgb color gamma corrected (byte format) (LIN_COLOR_24); overrides 0011 if both are present."""

    rgb: tuple[int, ...] = u8("red, green, blue, 0 to 255 (full intensity)", 3)


@chunk(0x0013, parents=COLOUR_PARENTS)
class ColorFloatGamma(Chunk):
    """Rgb color gamma corrected (float format) (LIN_COLOR_F); overrides 0010 if both are present."""

    rgb: tuple[float, ...] = f32("red, green, blue, 0.0 to 1.0 (full intensity)", 3)


@chunk(0x0030, parents=PERCENT_PARENTS)
class PercentInt(Chunk):
    """Percent (int format) (INT_PERCENTAGE)."""

    percent: int = i16("0 to 100")


@chunk(0x0031, parents=PERCENT_PARENTS)
class PercentFloat(Chunk):
    """Percent (float format) (FLOAT_PERCENTAGE)."""

    # The specification says 0 to 100; real files (VWSCENE) have 0.25 and 0.05.
    fraction: float = f32("0.0 to 1.0")
