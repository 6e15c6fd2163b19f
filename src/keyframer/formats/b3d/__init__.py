"""Blitz3D: ``.b3d`` models with skeletons and keys, of Blitz3D (2001) and, today, Luanti.

Written by the exporters of Blender, fragMOTION, Ultimate Unwrap, Milkshape, 3ds Max (Pipeline) and others. A file is
one chunk ``BB3D`` with sub-chunks: a tag of four letters, u32 length without this header, fields, sub-chunks. The
specification is public. Unknown: the last number of ``SEQS``, a chunk of some exporters.
"""

from __future__ import annotations

import struct

from keyframer.formats.contract import Format, ImageNames, Match, Signature


class Blitz3D(Format):
    name = "b3d"
    title = "Blitz3D"
    extensions = (".b3d",)
    references = ("http://mojolabs.nz/sdkspecs/b3dfile_specs.txt",)
    signatures = (Signature("Blitz3D model", ((0, (b"BB3D",)), (8, (b"\x01\0\0\0",))), pronom="fmt/1182"),)
    axes = ("y", "left")
    image_names = ImageNames(200)
    tables = ("brushes", "sequences")
    bookkeeping = ("blend", "flags", "fx", "brush", "layers", "texture", "frames", "anim_rate", "version")

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Return a match by the tag; another length or version, or a truncated header, lowers the score."""
        if head[:4] != b"BB3D":
            return None
        if len(head) < 12:
            return Match(0.6, "begins with BB3D, but is truncated")
        length, number = struct.unpack_from("<Ii", head, 4)
        version = f"{number / 100:g}"
        if length + 8 != size:
            return Match(0.8, "begins with BB3D, but has another length than its first chunk", version)
        return Match(1.0, "begins with BB3D, which is as long as the file", version)

    def longest_end(self, data: bytes, start: int) -> int:
        return start + 8 + int.from_bytes(data[start + 4 : start + 8], "little")


FORMAT = Blitz3D()
