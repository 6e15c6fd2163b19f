"""MD5 of Doom 3 (2004): ``.md5mesh`` models, the ``.md5anim`` animations that move them, and ``.md5camera`` shots.

Text of id Software's exporter for Maya and of many scripts for Blender. The layout is known from the public source of
the engine. Unknown: nothing; version 10 is the only one that the engine reads.
"""

from __future__ import annotations

import re

from keyframer.formats.contract import Companion, Format, ImageNames, Match, Signature

VERSION = 10
_START = re.compile(rb"\s*MD5Version\s+(\d+)\b")
_CAMERA = re.compile(rb"\bnumCuts\b|\bcuts\s*\{")
_MODEL, _ANIMATION = re.compile(rb"\bnumMeshes\b|\bjoints\s*\{"), re.compile(rb"\bnumFrames\b|\bhierarchy\s*\{")


class Md5(Format):
    name = "md5"
    title = "Doom 3 MD5"
    extensions = (".md5mesh", ".md5anim", ".md5camera")
    signatures = (Signature("Doom 3 MD5 mesh, animation or camera", ((0, (b"MD5Version ", b"MD5Version\t")),)),)
    companions = (Companion("model", ".md5mesh", "the .md5mesh that an .md5anim moves"),)
    image_names = ImageNames(200, slots=("texture1",))
    bookkeeping = ("flags", "model_version", "start_index", "version")

    def sniff(self, head: bytes, size: int) -> Match | None:
        start = _START.match(head)
        if start is None:
            return None
        version = start[1].decode("ascii")
        if _CAMERA.search(head):
            return Match(0.99, "begins with MD5Version and has cuts", version)
        if _MODEL.search(head) or _ANIMATION.search(head):
            return Match(0.99, "begins with MD5Version and has joints", version)
        return Match(0.6, "begins with MD5Version", version)

    def extension_of(self, data: bytes) -> str:
        if _CAMERA.search(data):
            return ".md5camera"
        return ".md5mesh" if _MODEL.search(data) else ".md5anim"

    def longest_end(self, data: bytes, start: int) -> int:
        end = data.find(b"\0", start)
        return end if end >= 0 else len(data)


FORMAT = Md5()
