"""Which images a scene uses, and the status of each: found, guessed, embedded, refused, missing …"""

from __future__ import annotations

import io
import os
import warnings
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from keyframer.scene import EmbeddedImage, Scene
from keyframer.text import safe_text
from keyframer.textures.image_files import (
    DEFAULT_IMAGE_LIMITS,
    FORMATS,
    IFL_DESCRIPTION,
    ImageLimits,
    ImageRefused,
    autodesk_kind,
    cel_size,
    pillow_or_refuse,
    why_unreadable,
)
from keyframer.textures.texture_finder import HOW_FOUND, TextureFinder, TextureMatch
from keyframer.textures.texture_source import first_of_list, image_references, is_image_list

_HEAD_SIZE = 1024
"""bytes read to recognise Autodesk formats: header and palette of a CEL"""


def describe_image(finder: TextureFinder, path: Path, limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> str:
    """Return kind and size, such as ``JPEG, 256 x 256``; raises `ImageRefused` if the file cannot be used."""
    try:
        with finder.open(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            return _describe(stream, path.name, size, limits)
    except OSError as error:
        raise ImageRefused(error.strerror or "cannot be read") from None


def describe_embedded_image(data: bytes, name: str, limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> str:
    """Return kind and size like `describe_image`, for an image in memory."""
    return _describe(io.BytesIO(data), name, len(data), limits)


def _describe(stream: IO[bytes], name: str, size: int, limits: ImageLimits) -> str:
    Image = pillow_or_refuse()
    if size > limits.file_size:
        raise ImageRefused(f"{size} bytes, the limit is {limits.file_size}")
    head = stream.read(_HEAD_SIZE)
    kind = autodesk_kind(head, name)
    if kind == "CEL":
        kind, (width, height) = "Autodesk Animator CEL", cel_size(head, size, limits.pixels)
    else:
        stream.seek(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow only warns at its own limit; ours refuses
                with Image.open(stream, formats=FORMATS) as opened:
                    (width, height), kind = opened.size, str(opened.format)
        except Image.DecompressionBombError:
            raise ImageRefused(f"more pixels than the limit of {limits.pixels}") from None
        except Exception:  # a decoder may raise anything on damaged data
            raise ImageRefused(why_unreadable(size, kind, None)) from None
    if width * height > limits.pixels:
        raise ImageRefused(f"{width} x {height} pixels, the limit is {limits.pixels} in all")
    return f"{kind}, {width} x {height}"


STATUSES = ("found", "guessed", "embedded", "unusable", "refused", "missing", "not looked for")
"""possible statuses of a name; ``unusable`` is an image that was found or is embedded, but cannot be opened"""


@dataclass(slots=True)
class TextureUse:
    """An image that the scene names: its users, and the file found."""

    name: str
    users: list[str] = field(default_factory=list)
    """``material STONE: texture1`` and so on, in the order of the scene"""
    embedded: EmbeddedImage | None = None
    match: TextureMatch | None = None
    """the result of the search; None without a search"""
    image: str | None = None
    """kind and size of the image, such as ``JPEG, 256 x 256``"""
    problem: str | None = None
    """why an existing image cannot be used"""

    @property
    def status(self) -> str:
        """One of `STATUSES`."""
        if self.problem is not None:
            return "unusable"
        if self.embedded is not None:
            return "embedded"
        if self.match is None:
            return "not looked for"
        if self.match.path is None:
            return "missing" if self.match.how == "missing" else "refused"
        return "guessed" if self.match.is_guess else "found"

    @property
    def rule(self) -> str | None:
        """How the image was found, in words; None if it was not."""
        if self.embedded is not None:
            return HOW_FOUND["embedded"]
        if self.match is None or self.match.path is None:
            return None
        subfolder = ", in a subfolder" if self.match.in_subfolder else ""
        elsewhere = ", outside the folder in its name" if self.match.without_folder else ""
        return HOW_FOUND[self.match.how] + subfolder + elsewhere

    @property
    def note(self) -> str | None:
        """Why the image cannot be used, why its path or link was not followed, which others matched; None if empty."""
        notes = [] if self.problem is None else [safe_text(self.problem)]
        if self.match is not None and self.match.refusal is not None:
            notes.append(f"{self.match.refusal.code}: its path is not followed")
        if self.match is not None and self.match.how == "outside":
            notes.append(HOW_FOUND["outside"])
        if self.match is not None and self.match.others:
            notes.append(f"also matching: {', '.join(map(safe_text, self.match.others[:3]))}")
        return "; ".join(notes) or None


def scene_textures(scene: Scene, finder: TextureFinder | None) -> list[TextureUse]:
    """Return every image of the scene once: those of materials, then background, then projectors.

    Each image is identified once, and not decoded. Without a finder, or with one without folders, nothing is searched.
    """
    uses: dict[tuple[str, int], TextureUse] = {}
    for user, name, embedded in image_references(scene):
        key = (name, 0 if embedded is None else id(embedded.data))
        if key not in uses:
            uses[key] = TextureUse(name, embedded=embedded)
        uses[key].users.append(user)
    described: dict[str | bytes, tuple[str | None, str | None]] = {}
    """description or problem by the real path of a file, or by the content of an embedded image"""
    for use in uses.values():
        place: str | bytes
        if use.embedded is not None:
            place = use.embedded.data
            describe = partial(describe_embedded_image, use.embedded.data, use.embedded.name)
        elif finder is not None and finder.folders:
            use.match = finder.find(use.name)
            if use.match.path is None:
                continue
            place = os.path.realpath(use.match.path)
            describe = partial(_describe_match, finder, use.match.path)
        else:
            continue
        if place not in described:
            try:
                described[place] = describe(), None
            except ImageRefused as refused:
                described[place] = None, refused.reason
        use.image, use.problem = described[place]
    return list(uses.values())


def _describe_match(finder: TextureFinder, path: Path) -> str:
    """Return kind and size of an image; for an image list, those of its first image."""
    if not is_image_list(path):
        return describe_image(finder, path)
    first = first_of_list(finder, path)
    return f"{IFL_DESCRIPTION}: {first.name}, {describe_image(finder, first)}"
