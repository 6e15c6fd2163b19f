"""Detect Hale3D files from the signature, the counts and the size."""

from __future__ import annotations

import struct

from keyframer.formats.contract import Match

ANIMATION_ID = b"H3DA"
MODEL_ID = b"H3DM"


def sniff(head: bytes, size: int) -> Match | None:
    """Return a match by signature; a truncated header or implausible counts only lower the score."""
    if head[:4] == ANIMATION_ID:
        return _sniff(head, size, "animation", 24)
    if head[:4] == MODEL_ID:
        return _sniff(head, size, "model", 16)
    return None


def _sniff(head: bytes, size: int, kind: str, header_size: int) -> Match:
    start = f"{kind}: begins with {head[:4].decode('ascii')}"
    if len(head) < header_size:
        return Match(0.7, f"{start}, but the header is truncated")
    version = str(struct.unpack_from("<I", head, 4)[0])
    if least_size(head) > size:
        return Match(0.8, f"{start}, but the counts need a larger file", version)
    return Match(1.0, f"{start}, and the counts fit the file", version)


def least_size(header: bytes) -> int:
    """Return the smallest size of a file with these counts (all names empty)."""
    if header[:4] == MODEL_ID:
        meshes, joints = struct.unpack_from("<II", header, 8)
        return int(16 + 13 * meshes + 29 * joints)
    frames, _, joints, components = struct.unpack_from("<IIII", header, 8)
    return int(24 + 41 * joints + frames * (24 + 4 * components))
