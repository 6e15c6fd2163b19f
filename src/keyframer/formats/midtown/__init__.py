"""Midtown Madness 2: pedestrian ``.anim`` clips, and the ``.skel`` text that names their bones.

Angel Studios, 2000. Frames of floats behind a short header, without a signature and in three layouts: the retail
game's, the one of the public document (a beta) and an older one. Open: channels other than type 1, of which no file is
known, and the compressed variant of Smuggler's Run 2.
"""

from __future__ import annotations

from keyframer.formats.contract import Companion, Format


class Midtown(Format):
    name = "midtown"
    title = "Midtown Madness 2"
    extensions = (".anim",)
    axes = ("y", "right")
    dialects = ("retail", "document", "old")
    companions = (Companion("skeleton", ".skel", "the .skel of a Midtown Madness 2 clip"),)
    plays_between_frames = False

    def name_relative(self, head: bytes, size: int) -> str | None:
        if head.startswith(b"cmp\x00"):
            return "a compressed animation of Smuggler's Run 2, whose layout nobody has documented"
        return None


FORMAT = Midtown()
