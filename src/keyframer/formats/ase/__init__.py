"""ASE: ``.ase`` scenes, the ASCII export of 3ds Max (1996 to about 2010).

Text: lines of ``*KEYWORD values``, nested in braces. The SDK of 3ds Max included the source of the exporter, so many
programs and games have their own exporters, with more keywords. Sampled tracks have the values that 3ds Max computed.
Unknown: the interpolation of Bezier rotation keys, and how exporters store skins, except for the two layouts that are
read.
"""

from __future__ import annotations

from keyframer.formats.contract import Format, ImageNames, Match

SLOTS = {
    b"MAP_DIFFUSE": "texture1",
    b"MAP_OPACITY": "opacity",
    b"MAP_BUMP": "bump",
    b"MAP_SPECULAR": "specular",
    b"MAP_SHINE": "shininess",
    b"MAP_SELFILLUM": "self_illumination",
    b"MAP_REFLECT": "reflection",
}
"""the slot of each map, by the keyword of its block"""


class Ase(Format):
    name = "ase"
    title = "3ds Max ASCII scene"
    extensions = (".ase",)
    tables = ("objects",)
    image_names = ImageNames(200, slots=tuple(SLOTS.values()))
    smooth_without_groups = False
    record_per_track = True

    def sniff(self, head: bytes, size: int) -> Match | None:
        from keyframer.formats.ase.sniff import sniff

        return sniff(head, size)


FORMAT = Ase()
