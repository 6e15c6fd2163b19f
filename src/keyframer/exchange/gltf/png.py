"""PNG files as glTF wants them: without chunks that say how to show them."""

from __future__ import annotations

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEPT = {b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS"}
"""glTF takes images as sRGB with square pixels; Khronos' validator warns of profiles, gammas, sizes and animation"""


def bare_png(data: bytes) -> bytes | None:
    """The same compressed pixels without the other chunks; the very same bytes where there are none. None where the
    file does not reach its end mark: some decoders still show it, others do not."""
    parts, at, ended = [_SIGNATURE], len(_SIGNATURE), False
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if kind in _KEPT:
            parts.append(data[at:end])
        at = end
        ended = kind == b"IEND"
        if ended or end > len(data):
            break
    if not ended or at > len(data):
        return None
    made = b"".join(parts)
    return data if len(made) == len(data) else made
