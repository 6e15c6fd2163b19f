"""Opens images with Pillow within our own limits: a small file must not become gigabytes of pixels.

Autodesk's own formats are recognised: Animator CEL, which Pillow cannot read, is read here; image lists (IFL) are
parsed.
"""

from __future__ import annotations

import io
import os
import struct
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.arrays import Bytes
from keyframer.errors import FormatError
from keyframer.limits import spend
from keyframer.textures import pillow
from keyframer.textures.texture_finder import TextureFinder


class ImageRefused(Exception):
    """An image that is not used; ``reason`` is one line for a report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def pillow_or_refuse() -> ModuleType:
    """Return the image module of Pillow; raises `ImageRefused` if Pillow is not installed."""
    try:
        return pillow.Image
    except FormatError as error:
        raise ImageRefused(f"{error.code}: {error.message}") from None


def why_unreadable(size: int, autodesk_description: str | None, opened_as: str | None) -> str:
    """Return why a file of this size cannot be read; ``opened_as`` is the format that Pillow recognised, if any."""
    if not size:
        return "the file is empty"
    if autodesk_description is not None:
        return f"{autodesk_description}, which cannot be read"
    return "not an image that can be read" if opened_as is None else f"{opened_as}, damaged or cut off"


_CEL = struct.Struct("<HHHHHBBI")  # 0x9119, width, height, x, y, bits, compression, size of the data
_CEL_MAGIC = 0x9119
_HEADER_SIZE = 32
_PALETTE_SIZE = 768
IFL_DESCRIPTION = "an Autodesk image list (IFL)"


def autodesk_kind(data: bytes, name: str) -> str | None:
    """Return ``CEL`` for a CEL that can be read, a description of other Autodesk files, else None."""
    extension = os.path.splitext(name)[1].casefold()
    if len(data) >= _HEADER_SIZE + _PALETTE_SIZE and _CEL.unpack_from(data)[0] == _CEL_MAGIC:
        return "CEL" if _CEL.unpack_from(data)[5:7] == (8, 0) else "an Autodesk Animator CEL of an unknown layout"
    if extension == ".ifl":
        return IFL_DESCRIPTION
    if extension == ".cel":
        return "an Autodesk Animator picture (CEL)"
    return None


def ifl_names(data: bytes, limit: int = 10_000) -> list[str]:
    """Return the first ``limit`` file names in an image list (IFL).

    A line has one name, optionally followed by a number of frames; ``;`` starts a comment.
    """
    names: list[str] = []
    for line in data.decode("cp1252", "replace").splitlines():
        words = line.partition(";")[0].split()
        if not words:
            continue
        if len(words) > 1 and words[-1].isdigit():
            words.pop()
        names.append(" ".join(words))
        if len(names) >= limit:
            break
    return names


def cel_size(head: bytes, size: int, most_pixels: int) -> tuple[int, int]:
    """Return width and height of a CEL in a file of ``size`` bytes; raises `ImageRefused` if it cannot be used."""
    width, height = _CEL.unpack_from(head)[1:3]
    if width * height > most_pixels:
        raise ImageRefused(f"{width} x {height} pixels, the limit is {most_pixels} in all")
    if not width * height or size < _HEADER_SIZE + _PALETTE_SIZE + width * height:
        raise ImageRefused("an Autodesk Animator CEL that is empty or cut off")
    return width, height


def read_cel(data: bytes, most_pixels: int) -> tuple[tuple[int, int], bytes]:
    """Return width, height and the pixels of a CEL as RGB; palette entries are 0 to 63, as for VGA."""
    width, height = cel_size(data, len(data), most_pixels)
    levels = np.frombuffer(data, np.uint8, _PALETTE_SIZE, _HEADER_SIZE).astype(np.uint16).reshape(256, 3)
    palette = np.minimum(levels * 255 // 63, 255).astype(np.uint8)
    indices = np.frombuffer(data, np.uint8, width * height, _HEADER_SIZE + _PALETTE_SIZE)
    return (width, height), palette[indices].tobytes()


if TYPE_CHECKING:
    from PIL.Image import Image as Picture

FORMATS = (
    "PNG", "JPEG", "TGA", "GIF", "BMP", "DIB", "PCX", "DCX", "TIFF", "DDS", "WEBP", "PSD", "PPM", "SGI", "FLI",
    "JPEG2000", "QOI",
)  # fmt: skip
"""formats that Pillow may open here: textures, but none that runs another program (EPS) or needs one, and none that is
decoded by opening it, before its size is known (ICO)
"""
MIME_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Limits on the cost of an image."""

    pixels: int = 8192 * 8192
    """width x height; more than any texture from the time of these files"""
    file_size: int = 128 * 1024 * 1024
    """bytes of the file"""


DEFAULT_IMAGE_LIMITS = ImageLimits()


@dataclass(eq=False, repr=False)
class Texture:
    """An opened image: the bytes of the file, and its pixels."""

    name: str
    data: bytes
    """content of the file"""
    format: str
    """Pillow's name: ``JPEG``, ``PNG``, ``TGA`` …; ``CEL`` for Autodesk Animator"""
    image: Picture
    """the first picture, RGB or RGBA"""

    @property
    def mime_type(self) -> str | None:
        """MIME type if other files can embed the file unchanged: JPEG and PNG."""
        return MIME_TYPES.get(self.format)

    @property
    def has_alpha(self) -> bool:
        return self.image.mode == "RGBA"

    def pixels(self) -> Bytes:
        """Return (height, width, 4) red, green, blue, alpha; the first row is the top."""
        return np.asarray(self.image.convert("RGBA"), np.uint8)

    def png(self) -> bytes:
        """Return the image as PNG; the same bytes with the same version of Pillow."""
        return as_png(self.image)

    def __repr__(self) -> str:
        return f"<Texture {self.name!r}: {self.format}, {self.image.width} x {self.image.height}>"


def as_png(image: Picture) -> bytes:
    """Return an image as PNG; the same bytes with the same version of Pillow."""
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def open_texture(path: str | os.PathLike[str], limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> Texture:
    """Open the image in a file; raises `ImageRefused` with the reason if that is impossible."""
    return decode_texture(read_image(TextureFinder(()), Path(path), limits), Path(path).name, limits)


def read_image(finder: TextureFinder, path: Path, limits: ImageLimits) -> bytes:
    """Return the content of an image file; raises `ImageRefused` if it cannot be read."""
    try:
        return finder.read(path, limits.file_size)
    except FormatError as error:
        raise ImageRefused(error.message) from None
    except OSError as error:
        raise ImageRefused(error.strerror or "cannot be read") from None


def decode_texture(data: bytes, name: str, limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> Texture:
    """Decode an image; ``name`` is its file name. Raises `ImageRefused` with the reason if that is impossible."""
    Image = pillow_or_refuse()
    kind = autodesk_kind(data, name)
    if kind == "CEL":
        size, pixels = read_cel(data, limits.pixels)
        spend_on_image(*size)
        return Texture(name, data, "CEL", Image.frombytes("RGB", size, pixels))
    opened_as: str | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow only warns at its own limit; ours refuses
            with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
                width, height = opened.size
                if width * height > limits.pixels:
                    raise ImageRefused(f"{width} x {height} pixels, the limit is {limits.pixels} in all")
                spend_on_image(width, height)
                opened_as = str(opened.format)
                picture = _as_rgb(opened)
    except ImageRefused:
        raise
    except Image.DecompressionBombError:
        raise ImageRefused(f"more pixels than the limit of {limits.pixels}") from None
    except Exception:  # a decoder may raise anything on damaged data
        raise ImageRefused(why_unreadable(len(data), kind, opened_as)) from None
    return Texture(name, data, opened_as, picture)


def spend_on_image(width: int, height: int) -> None:
    """Charge an image that is about to be decoded or computed to the budget; raises `ImageRefused` if the budget is
    exceeded."""
    try:
        spend("image_bytes", 4 * width * height)
    except FormatError as error:
        raise ImageRefused(f"{width} x {height} pixels: {error.code}: {error.message}") from None


def _as_rgb(opened: Any) -> Picture:
    """Return the image as RGB or RGBA, 8 bits per channel; 16-bit, 32-bit and floating-point greys are scaled."""
    opened.load()
    if opened.mode[0] in "IF":
        grey = np.nan_to_num(np.asarray(opened, np.float64))
        top = 65535.0 if opened.mode.startswith("I;16") else _white(float(grey.max(initial=0)))
        return pillow.Image.fromarray((np.clip(grey / top, 0, 1) * 255).astype(np.uint8)).convert("RGB")
    transparent = "A" in opened.getbands() or "transparency" in opened.info
    converted: Picture = opened.convert("RGBA" if transparent else "RGB")
    levels = converted.getchannel("A").getextrema() if transparent else None
    if levels == (255, 255):
        return converted.convert("RGB")
    if levels == (0, 0) and opened.format == "TGA":
        return converted.convert("RGB")  # 32-bit Targas with an empty alpha channel were shown opaque
    return converted


def _white(brightest: float) -> float:
    """Return white of 32-bit or floating-point greys: the smallest usual maximum that suffices, else ``brightest``."""
    return next((top for top in (1.0, 255.0, 65535.0) if brightest <= top), brightest)
