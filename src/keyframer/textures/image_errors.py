"""Why an image is not used."""

from __future__ import annotations

from types import ModuleType

from keyframer.errors import FormatError


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
