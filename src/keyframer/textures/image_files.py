"""Opening an image through Pillow, within limits of our own: a small file must not become gigabytes of pixels.

Autodesk's own files are known here: Animator's CEL is read, because Pillow does not; lists of images (IFL) are named.
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
import numpy.typing as npt

from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.limits import Limits, spend


class ImageRefused(Exception):
    """An image that is not used; ``reason`` is one line for a report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def pillow_or_refuse() -> ModuleType:
    """Pillow's module of images; `ImageRefused` where Pillow is not installed."""
    try:
        from keyframer.textures.pillow import Image
    except FormatError as error:
        raise ImageRefused(f"{error.code}: {error.message}") from None
    return Image


def why_unreadable(size: int, autodesk: str | None, opened_as: str | None) -> str:
    """Words for a file of so many bytes that no decoder took, or that one took (``opened_as``) and then gave up on."""
    if not size:
        return "an empty file"
    if autodesk is not None:
        return f"{autodesk}, which cannot be read"
    return "no image that can be read" if opened_as is None else f"{opened_as}, damaged or cut off"


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


if TYPE_CHECKING:
    from PIL.Image import Image as Picture

FORMATS = (
    "PNG", "JPEG", "TGA", "GIF", "BMP", "DIB", "PCX", "DCX", "TIFF", "DDS", "WEBP", "PSD", "PPM", "SGI", "FLI",
    "JPEG2000", "ICO", "QOI",
)  # fmt: skip
"""what Pillow may open here: formats of textures, none that runs another program (EPS) or needs one"""
MIME_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What an image may cost."""

    pixels: int = 8192 * 8192
    """width x height; the largest texture that graphics cards of the time of these files could dream of"""
    file_size: int = 128 * 1024 * 1024
    """bytes of the file"""


DEFAULT_IMAGE_LIMITS = ImageLimits()


@dataclass(eq=False, repr=False)
class Texture:
    """An image that was opened: its own bytes, and its pixels."""

    name: str
    data: bytes
    """the file as it is"""
    format: str
    """Pillow's name: ``JPEG``, ``PNG``, ``TGA`` …; ``CEL`` for Autodesk Animator"""
    image: Picture
    """the first picture, RGB or RGBA"""

    @property
    def mime_type(self) -> str | None:
        """Where the file can go into other files as it is: JPEG and PNG."""
        return MIME_TYPES.get(self.format)

    @property
    def has_alpha(self) -> bool:
        return self.image.mode == "RGBA"

    def pixels(self) -> npt.NDArray[np.uint8]:
        """(height, width, 4) red, green, blue, alpha; the first row is the top."""
        return np.asarray(self.image.convert("RGBA"), np.uint8)

    def png(self) -> bytes:
        """The picture as PNG, the same bytes every time."""
        return as_png(self.image)

    def __repr__(self) -> str:
        return f"<Texture {self.name!r}: {self.format}, {self.image.width} x {self.image.height}>"


def as_png(image: Picture) -> bytes:
    """A picture as PNG, the same bytes every time."""
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def open_texture(path: str | os.PathLike[str], limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> Texture:
    """The image in a file; `ImageRefused` says why there is none."""
    name = Path(path).name
    try:
        data = read_bytes(path, Limits(file_size=limits.file_size))
    except FormatError as error:
        raise ImageRefused(error.message) from None
    except OSError as error:
        raise ImageRefused(error.strerror or "cannot be read") from None
    return decode_texture(data, name, limits)


def decode_texture(data: bytes, name: str, limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> Texture:
    """The image in these bytes; ``name`` helps to say what it is."""
    Image = pillow_or_refuse()
    kind = autodesk_kind(data, name)
    if kind == "CEL":
        size, rows = read_cel(data, limits.pixels)
        _spend(*size)
        return Texture(name, data, "CEL", Image.frombytes("RGB", size, rows))
    problem: str | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own limit warns; ours refuses
            with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
                width, height = opened.size
                if width * height > limits.pixels:
                    raise ImageRefused(f"{width} x {height} pixels, the limit is {limits.pixels} in all")
                _spend(width, height)
                problem = str(opened.format)
                picture = _plain(opened)
    except ImageRefused:
        raise
    except Image.DecompressionBombError:
        raise ImageRefused(f"more pixels than the limit of {limits.pixels}") from None
    except Exception:  # a decoder may raise anything on damaged data
        raise ImageRefused(why_unreadable(len(data), kind, problem)) from None
    return Texture(name, data, problem, picture)


def _spend(width: int, height: int) -> None:
    """Count the pixels that are about to be decoded; `ImageRefused` where they are too many with those before."""
    try:
        spend("image_bytes", 4 * width * height)
    except FormatError as error:
        raise ImageRefused(f"{width} x {height} pixels: {error.code}: {error.message}") from None


def _plain(opened: Any) -> Picture:
    """RGB or RGBA, whatever the file has; 16-bit greys keep their upper half."""
    opened.load()
    if opened.mode[0] in "IF":
        from keyframer.textures.pillow import Image

        grey = np.nan_to_num(np.asarray(opened, np.float64))
        top = 65535.0 if opened.mode.startswith("I;16") else _white(float(grey.max(initial=0)))
        return Image.fromarray((np.clip(grey / top, 0, 1) * 255).astype(np.uint8)).convert("RGB")
    transparent = "A" in opened.getbands() or "transparency" in opened.info
    converted: Picture = opened.convert("RGBA" if transparent else "RGB")
    levels = converted.getchannel("A").getextrema() if transparent else None
    if levels == (255, 255):
        return converted.convert("RGB")
    if levels == (0, 0) and opened.format == "TGA":
        return converted.convert("RGB")  # 32-bit Targas whose alpha nobody filled: they were shown opaque
    return converted


def _white(brightest: float) -> float:
    """What white is in wide or floating greys, which files do not say: the least usual end that holds all levels."""
    return next((top for top in (1.0, 255.0, 65535.0) if brightest <= top), brightest)
