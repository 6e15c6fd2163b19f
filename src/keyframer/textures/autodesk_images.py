"""Autodesk's own image files: Animator's CEL, read here because Pillow does not, and lists of images (IFL), named."""

from __future__ import annotations

import os
import struct

import numpy as np

from keyframer.textures.image_errors import ImageRefused

_CEL = struct.Struct("<HHHHHBBI")  # 0x9119, width, height, x, y, bits, compression, size of the data
_CEL_MAGIC = 0x9119
_HEADER = 32
_PALETTE = 768
AN_IFL = "an Autodesk image list (IFL)"


def autodesk_kind(data: bytes, name: str) -> str | None:
    """``CEL`` where it can be read; else what it is in words, or None where it is none of Autodesk's."""
    extension = os.path.splitext(name)[1].casefold()
    if len(data) >= _HEADER + _PALETTE and _CEL.unpack_from(data)[0] == _CEL_MAGIC:
        return "CEL" if _CEL.unpack_from(data)[5:7] == (8, 0) else "an Autodesk Animator CEL of an unknown layout"
    if extension == ".ifl":
        return AN_IFL
    if extension == ".cel":
        return "an Autodesk Animator picture (CEL)"
    return None


def ifl_names(data: bytes, most: int = 10_000) -> list[str]:
    """The images of a list, in its order: one a line, perhaps with the frames it is shown for; ``;`` is a comment."""
    names: list[str] = []
    for line in data.decode("cp1252", "replace").splitlines():
        words = line.partition(";")[0].split()
        if not words:
            continue
        if len(words) > 1 and words[-1].isdigit():
            words.pop()
        names.append(" ".join(words))
        if len(names) >= most:
            break
    return names


def cel_size(head: bytes, size: int, most_pixels: int) -> tuple[int, int]:
    """Width and height; ``size`` is that of the whole file."""
    width, height = _CEL.unpack_from(head)[1:3]
    if width * height > most_pixels:
        raise ImageRefused(f"{width} x {height} pixels, the limit is {most_pixels} in all")
    if not width * height or size < _HEADER + _PALETTE + width * height:
        raise ImageRefused("an Autodesk Animator CEL that ends too early")
    return width, height


def read_cel(data: bytes, most_pixels: int) -> tuple[tuple[int, int], bytes]:
    """Width and height, and the pixels as RGB; palette entries run from 0 to 63, as those of VGA did."""
    width, height = cel_size(data, len(data), most_pixels)
    levels = np.frombuffer(data, np.uint8, _PALETTE, _HEADER).astype(np.uint16).reshape(256, 3)
    palette = np.minimum(levels * 255 // 63, 255).astype(np.uint8)
    indices = np.frombuffer(data, np.uint8, width * height, _HEADER + _PALETTE)
    return (width, height), palette[indices].tobytes()
