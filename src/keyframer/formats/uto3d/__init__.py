"""U3D (UTO!): ``.u3d`` scenes of the demogroup RGBA's engine Fantasy 2 (2004 to 2006), exported from 3ds Max.

Not the U3D of ECMA-363. The signature is ``UTO!``; sections follow in a fixed order, each with a tag of four letters
and its records, without a length. Two exporters and the engine's loader are public. They differ from the specification
and from each other, but both exporters write version 0.9, so the layout is detected from the content (see
`section_reader`). Unknown: the purpose of controller type 5, and whether the MAXScript exporter wrote the first and
last frame as frames or as ticks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.formats.contract import Format, Match

if TYPE_CHECKING:
    from typing import Any

    from keyframer.formats.bridge import Merger, SceneReader, SceneWriter
    from keyframer.formats.contract import Codec, Rules
    from keyframer.formats.uto3d.bridge.scene import Options
    from keyframer.formats.uto3d.bridge.writing import WriteOptions


class Uto3D(Format):
    name = "uto3d"
    title = "U3D (UTO!)"
    extensions = (".u3d",)
    axes = ("y", "left")
    dialects = ("B", "A", "literal")
    record_per_track = True
    key_flags_are_tcb_bits = True
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

    def codec(self) -> Codec:
        from keyframer.formats.uto3d import document

        return document

    def reader(self) -> SceneReader[Options]:
        from keyframer.formats.uto3d.bridge.scene import Reader

        return Reader()

    def writer(self) -> SceneWriter[WriteOptions]:
        from keyframer.formats.uto3d.bridge.writing import Writer

        return Writer()

    def merger(self) -> Merger[Options]:
        from keyframer.formats.uto3d.bridge.merging import Merger

        return Merger()

    def rules(self) -> Rules:
        from keyframer.formats.uto3d.rules import apply_rules

        return apply_rules

    def dialect_type(self) -> type[Any]:
        from keyframer.formats.uto3d.sections import Dialect

        return Dialect


FORMAT = Uto3D()
