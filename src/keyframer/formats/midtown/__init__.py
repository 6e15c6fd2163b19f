"""Midtown Madness 2: pedestrian ``.anim`` clips, and the ``.skel`` text that names their bones.

Angel Studios, 2000. Frames of floats after a short header, without a signature and in three layouts: that of the
retail game, that of a beta (described in a public document) and an older one. Unknown: channels other than type 1, of
which no file is known, and the compressed variant of Smuggler's Run 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.formats.contract import Companion, Format, Match

if TYPE_CHECKING:
    from typing import Any

    from keyframer.formats.bridge import Merger, SceneReader, SceneWriter
    from keyframer.formats.contract import Codec, Rules
    from keyframer.formats.midtown.bridge.scene import Options
    from keyframer.formats.midtown.bridge.writing import WriteOptions


class Midtown(Format):
    name = "midtown"
    title = "Midtown Madness 2"
    extensions = (".anim",)
    axes = ("y", "right")
    dialects = ("retail", "beta", "old")
    companions = (Companion("skeleton", ".skel", "the .skel of a Midtown Madness 2 clip"),)
    plays_between_frames = False

    def sniff(self, head: bytes, size: int) -> Match | None:
        from keyframer.formats.midtown.sniff import sniff

        return sniff(head, size)

    def describe_related_file(self, head: bytes, size: int) -> str | None:
        if head.startswith(b"cmp\x00"):
            return "a compressed animation of Smuggler's Run 2, whose layout is not documented"
        return None

    def codec(self) -> Codec:
        from keyframer.formats.midtown import document

        return document

    def reader(self) -> SceneReader[Options]:
        from keyframer.formats.midtown.bridge.scene import Reader

        return Reader()

    def writer(self) -> SceneWriter[WriteOptions]:
        from keyframer.formats.midtown.bridge.writing import Writer

        return Writer()

    def merger(self) -> Merger[Options]:
        from keyframer.formats.midtown.bridge.merging import Merger

        return Merger()

    def rules(self) -> Rules:
        from keyframer.formats.midtown.rules import apply_rules

        return apply_rules

    def dialect_type(self) -> type[Any]:
        from keyframer.formats.midtown.records import Dialect

        return Dialect


FORMAT = Midtown()
