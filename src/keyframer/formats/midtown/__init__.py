"""Midtown Madness 2: pedestrian ``.anim`` clips, and the ``.skel`` text that names their bones.

Angel Studios, 2000. Frames of floats after a short header, without a signature and in three layouts: that of the
retail game, that of a beta (described in a public document) and an older one. Unknown: channels other than type 1, of
which no file is known, and the compressed variant of Smuggler's Run 2.
"""

from __future__ import annotations

from keyframer.formats.contract import Companion, Format, Match


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


FORMAT = Midtown()
