"""U3D (UTO!): ``.u3d`` scenes of the demogroup RGBA's engine Fantasy 2 (2004 to 2006), exported from 3ds Max.

Not the U3D of ECMA-363. The signature is ``UTO!``; sections follow in a fixed order, each with a tag of four letters
and its records, without a length. Two exporters and the engine's loader are public. They differ from the specification
and from each other, but both exporters write version 0.9, so the layout is detected from the content (see
`section_reader`). Unknown: the purpose of controller type 5, and whether the MAXScript exporter wrote the first and
last frame as frames or as ticks.
"""

from __future__ import annotations

from keyframer.formats.contract import Format, Match, Signature


class Uto3D(Format):
    name = "uto3d"
    title = "U3D (UTO!)"
    extensions = (".u3d",)
    signatures = (Signature("U3D (UTO!) scene", ((0, (b"UTO!",)),)),)
    axes = ("y", "left")
    dialects = ("B", "A", "literal")
    bookkeeping = (
        *("controller_id", "dialect", "first_frame", "flags", "fov", "id", "last_frame", "parent_id"),
        *("type", "version"),
    )

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Match the signature and the tag of the first section."""
        if head[:4] != b"UTO!" or size < 6:
            return None
        version = f"{head[4]}.{head[5]}"
        if head[6:10] == b"MAIN":
            return Match(1.0, "begins with UTO! and MAIN", version)
        if b"MAIN".startswith(head[6:10]):
            return Match(0.8, "begins with UTO! and ends early", version)
        return Match(0.7, "begins with UTO!, but MAIN does not follow", version)


FORMAT = Uto3D()
