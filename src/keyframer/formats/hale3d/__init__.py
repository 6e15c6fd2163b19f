"""Hale3D: ``.anim`` skeletal animations and the ``.mdl`` models they move.

The binary form of Doom 3's MD5 files in a hobby engine. An animation has joints with their base pose, then frames of
equal size; a model has meshes, then joints in their bind pose. One real pair is known (``bob_lamp_update``); its text
ends with NUL. Unknown: how other writers store ``std::string`` (see `records.Dialect`), and versions other than 1:
animations of Horde3D have the same first four bytes, and version 2 or 3.
"""

from __future__ import annotations

import struct

from keyframer.formats.contract import Companion, Format, ImageNames, Match, Signature

ANIMATION_ID = b"H3DA"
MODEL_ID = b"H3DM"
VERSION = 1
_VERSION_BYTES = struct.pack("<I", VERSION)


class Hale3D(Format):
    name = "hale3d"
    title = "Hale3D"
    extensions = (".anim", ".mdl")
    signatures = (
        Signature("Hale3D animation", ((0, (ANIMATION_ID + _VERSION_BYTES,)),), extensions=()),  # many have .anim
        Signature("Hale3D model", ((0, (MODEL_ID + _VERSION_BYTES,)),), extensions=(".mdl",)),
    )
    dialects = ("nul-ended", "length-with-nul", "length")
    companions = (Companion("model", ".mdl", "the Hale3D model that an animation moves"),)
    image_names = ImageNames(60, slots=("texture1",))
    bookkeeping = ("flags", "model_version", "start_index", "version")

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Return a match by signature and version; a truncated header or implausible counts only lower the score."""
        if head[:4] not in (ANIMATION_ID, MODEL_ID) or not _VERSION_BYTES.startswith(head[4:8]):
            return None
        kind, header_size = ("animation", 24) if head[:4] == ANIMATION_ID else ("model", 16)
        start = f"{kind}: begins with {head[:4].decode('ascii')}"
        if len(head) < header_size:
            return Match(0.7, f"{start}, but the header is truncated")
        if least_size(head) > size:
            return Match(0.8, f"{start}, but the counts need a larger file", str(VERSION))
        return Match(1.0, f"{start}, and the counts fit the file", str(VERSION))


def least_size(header: bytes) -> int:
    """Return the smallest size of a file with these counts (all names empty)."""
    if header[:4] == MODEL_ID:
        meshes, joints = struct.unpack_from("<II", header, 8)
        return int(16 + 13 * meshes + 29 * joints)
    frames, _, joints, components = struct.unpack_from("<IIII", header, 8)
    return int(24 + 41 * joints + frames * (24 + 4 * components))


FORMAT = Hale3D()
