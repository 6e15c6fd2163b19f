"""3D Studio: ``.3ds`` scenes with their keyframer, ``.prj`` projects and ``.mli`` material libraries.

Written by 3D Studio R1 to R4 (1990 to 1996) and, to this day, by 3ds Max, Cinema 4D, Rhino, Vectorworks, Blender and
others. A tree of chunks: u16 id, u32 length, fields, sub-chunks. Open: the order of the gradient's colours, the unit of
the morph angle, the layouts of what is declared opaque in `records`.
"""

from __future__ import annotations

from keyframer.formats._format import Format
from keyframer.formats.threeds.sniff import sniff

FORMAT = Format(
    name="3ds",
    title="3D Studio",
    extensions=(".3ds", ".prj", ".mli"),
    sniff=sniff,
    package=__name__,
    pronom="x-fmt/19",
)
