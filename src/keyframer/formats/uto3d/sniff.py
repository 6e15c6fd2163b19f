"""Detect U3D (UTO!) scenes by their first bytes."""

from __future__ import annotations

from keyframer.formats.contract import Match


def sniff(head: bytes, size: int) -> Match | None:
    """Return a score based on the signature and the tag of the first section."""
    if head[:4] != b"UTO!" or size < 6:
        return None
    version = f"{head[4]}.{head[5]}"
    if head[6:10] == b"MAIN":
        return Match(1.0, "begins with UTO! and MAIN", version)
    if b"MAIN".startswith(head[6:10]):
        return Match(0.8, "begins with UTO! and ends early", version)
    return Match(0.7, "begins with UTO!, but MAIN does not follow", version)
