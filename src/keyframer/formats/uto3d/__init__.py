"""U3D: ``.u3d`` scenes of the demogroup RGBA's engine Fantasy 2 (2004 to 2006), exported from 3ds Max.

Not the U3D of ECMA-363. The signature is ``UTO!``; behind it stand sections in a fixed order, each a tag of four
letters and its records, without any length. Two exporters and the engine's loader are public; they disagree with the
document and with each other while all of them stamp version 0.9, so the layout is found by reading (see `dialect`).
Open: what the fifth controller type was meant for, and whether the first and last frame are frames or ticks.
"""

from __future__ import annotations

from keyframer.formats.contract import Format


class Uto3D(Format):
    name = "uto3d"
    title = "Fantasy 2 scene (UTO!)"
    extensions = (".u3d",)
    axes = ("y", "left")
    dialects = ("B", "A", "literal")
    record_per_track = True
    key_flags_are_tcb_bits = True


FORMAT = Uto3D()
