"""ASE: ``.ase`` scenes, the ASCII export of 3ds Max (1996 to about 2010).

Text: lines of ``*KEYWORD values``, nested in braces. The exporter's source came with the SDK of 3ds Max, so many
programs and games have exporters of their own that add keywords. Sampled tracks are what 3ds Max itself computed for
each frame.
Open: how Bezier rotation keys are interpolated, and the layout of the skins that some exporters add.
"""

from __future__ import annotations

from keyframer.formats.contract import Format, ImageNames

_SLOTS = ("texture1", "opacity", "bump", "specular", "shininess", "self_illumination", "reflection")


class Ase(Format):
    name = "ase"
    title = "3ds Max ASCII scene"
    extensions = (".ase",)
    tables = ("objects",)
    image_names = ImageNames(200, slots=_SLOTS)
    smooth_without_groups = False
    record_per_track = True


FORMAT = Ase()
