"""3D Studio: ``.3ds`` scenes with their keyframer, ``.prj`` projects, ``.mli`` material libraries, ``.shp`` shapes and
``.lft`` lofts.

Written by 3D Studio R1 to R4 (1990 to 1996) and, to this day, by 3ds Max, Cinema 4D, Rhino, Vectorworks, Blender and
others. A file is a tree of chunks: u16 id, u32 length, fields, sub-chunks. Sources disagree on the order of the
gradient's colours and the unit of the morph angle; the layouts that `records` declares as opaque are unknown.
"""

from __future__ import annotations

from keyframer.formats.contract import Format, ImageNames, Match
from keyframer.formats.threeds.sniff import SIGNATURES, diagnose, sniff


class ThreeDS(Format):
    name = "3ds"
    title = "3D Studio"
    extensions = (".3ds", ".prj", ".mli", ".shp", ".lft")
    mime_type = "image/x-3ds"
    references = ("http://fileformats.archiveteam.org/wiki/3DS", "http://fileformats.archiveteam.org/wiki/PRJ")
    signatures = SIGNATURES
    image_names = ImageNames(8, upper=True)
    smooth_without_groups = False
    image_alpha_shows_material = True
    tables = ("objects", "maps", "nodes", "tracks", "shapes")
    bookkeeping = (
        *("flags", "flags1", "flags2", "geometry", "header", "instance", "key_extras", "key_flags", "length", "lens"),
        *("parent", "revision", "time_max", "time_min", "toggles"),
        *("Version", "KeyframerVersion", "MeshVersion", "Null", "Dummy"),
    )
    preload = tuple(f"{__name__}.{module}" for module in ("document", "bridge"))

    def sniff(self, head: bytes, size: int) -> Match | None:
        return sniff(head, size)

    def longest_end(self, data: bytes, start: int) -> int:
        return start + int.from_bytes(data[start + 2 : start + 6], "little")

    def diagnose(self, data: bytes) -> str | None:
        return diagnose(data)


FORMAT = ThreeDS()
