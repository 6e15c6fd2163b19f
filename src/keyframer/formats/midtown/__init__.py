"""Midtown Madness 2: pedestrian ``.anim`` clips, and the texts of their ``.skel`` skeletons and ``.mod`` bodies.

Angel Studios, 2000. Frames of floats after a short header, without a signature and in three layouts: that of the
retail game, that of a beta (described in a public document) and an older one. Unknown: channels other than type 1, of
which no file is known, the compressed variant of Smuggler's Run 2, and blended vertices of models.
"""

from __future__ import annotations

from keyframer.formats.contract import Companion, Format, Match


class Midtown(Format):
    name = "midtown"
    title = "Midtown Madness 2"
    extensions = (".anim", ".skel", ".mod")
    axes = ("y", "right")
    dialects = ("retail", "beta", "old")
    companions = (
        Companion("skeleton", ".skel", "the .skel of a Midtown Madness 2 clip or model"),
        Companion("model", ".mod", "the .mod that a Midtown Madness 2 clip or skeleton moves"),
    )
    companion_stems = (("pedanim_man", "pedmodel_man"), ("pedanim_wom", "pedmodel_woman"))  # the clips of the game
    plays_between_frames = False

    def sniff(self, head: bytes, size: int) -> Match | None:
        from keyframer.formats.midtown.sniff import sniff

        return sniff(head, size)

    def extension_of(self, data: bytes) -> str:
        from keyframer.formats.midtown.sniff import MODEL, SKELETON

        return ".mod" if MODEL.match(data) else ".skel" if SKELETON.match(data) else ".anim"

    def describe_related_file(self, head: bytes, size: int) -> str | None:
        if head.startswith(b"cmp\x00"):
            return "a compressed animation of Smuggler's Run 2, whose layout is not documented"
        if head.startswith((b"version: 2.0", b"version: 2.1")) and b"\0" in head[:16]:
            return "a binary model of a later game of Angel Studios; only the text of versions 1.06 to 1.10 is read"
        return None


FORMAT = Midtown()
