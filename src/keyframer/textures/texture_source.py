"""Finds and opens images by their names in a file; a failure is a result, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from keyframer.files import note_input
from keyframer.scene import EmbeddedImage, Scene, TextureMap
from keyframer.text import safe_text
from keyframer.textures.image_files import (
    DEFAULT_IMAGE_LIMITS,
    IFL_DESCRIPTION,
    ImageLimits,
    ImageRefused,
    Texture,
    decode_texture,
    ifl_names,
    read_image,
)
from keyframer.textures.texture_finder import TextureFinder, TextureMatch

_LIST_SIZE = 1 << 20
"""number of bytes that are read of an image list"""


@dataclass(frozen=True, slots=True)
class OpenedTexture:
    """The result for one name: the match, and the image if it could be opened."""

    match: TextureMatch
    texture: Texture | None = None
    reason: str | None = None
    """why an image that was found is not used, or what was done to use it"""

    def __str__(self) -> str:
        return str(self.match) + (f"; {safe_text(self.reason)}" if self.reason else "")


class TextureSource:
    """Opens images by name; ``opened`` lists the results of all names. A file is read once, and equal files are decoded
    once, whatever the number of their names."""

    def __init__(self, finder: TextureFinder, limits: ImageLimits = DEFAULT_IMAGE_LIMITS) -> None:
        self.finder = finder
        self.limits = limits
        self._opened: dict[str | tuple[str, int], OpenedTexture] = {}
        self._files: dict[str, bytes] = {}
        """contents of files by their real paths"""
        self._decoded: dict[bytes, Texture | ImageRefused] = {}
        """images by their content, or the reason why it is not used"""

    @property
    def opened(self) -> list[OpenedTexture]:
        return list(self._opened.values())

    def open_map(self, map: TextureMap) -> OpenedTexture:
        """Open the image of a map: the embedded one, else the file of its name; never raises, like `open`."""
        if map.embedded is None:
            return self.open(map.file_name)
        key = (map.file_name, id(map.embedded.data))
        if key not in self._opened:
            self._opened[key] = self._open_embedded(map)
        return self._opened[key]

    def open(self, name: str) -> OpenedTexture:
        """Open an image by name; never raises: a missing, refused or unreadable image is a result."""
        if name not in self._opened:
            self._opened[name] = self._open(name)
        return self._opened[name]

    def not_found(self, scene: Scene) -> list[str]:
        """Return the names of all images of a scene that were not found, and list them in ``opened``."""
        names = dict.fromkeys(name for _, name, embedded in image_references(scene) if embedded is None)
        matches = [self.finder.find(name) for name in names]
        for match in matches:
            if match.path is None:
                self._opened.setdefault(match.name, OpenedTexture(match))
        return [match.name for match in matches if match.path is None]

    def _open(self, name: str) -> OpenedTexture:
        match = self.finder.find(name)
        if match.path is None:
            return OpenedTexture(match)
        try:
            if is_image_list(match.path):
                return self._open_first_of_list(match)
            return OpenedTexture(match, self._from_file(match.path))
        except ImageRefused as refused:
            return OpenedTexture(match, None, refused.reason)

    def _open_embedded(self, map: TextureMap) -> OpenedTexture:
        assert map.embedded is not None
        match = TextureMatch(map.file_name, None, "embedded")
        try:
            if len(map.embedded.data) > self.limits.file_size:
                raise ImageRefused(f"{len(map.embedded.data)} bytes, the limit is {self.limits.file_size}")
            return OpenedTexture(match, self._decode(map.embedded.data, map.embedded.name))
        except ImageRefused as refused:
            return OpenedTexture(match, None, refused.reason)

    def _open_first_of_list(self, match: TextureMatch) -> OpenedTexture:
        """Open the first image of an image list (IFL)."""
        assert match.path is not None
        first = first_of_list(self.finder, match.path)
        return OpenedTexture(match, self._from_file(first), f"{IFL_DESCRIPTION}: its first image {first.name} is used")

    def _from_file(self, path: Path) -> Texture:
        real = os.path.realpath(path)
        if real not in self._files:
            self._files[real] = read_image(self.finder, path, self.limits)
        return self._decode(self._files[real], path.name)

    def _decode(self, data: bytes, name: str) -> Texture:
        if data not in self._decoded:
            try:
                self._decoded[data] = decode_texture(data, name, self.limits)
            except ImageRefused as refused:
                self._decoded[data] = refused
        decoded = self._decoded[data]
        if isinstance(decoded, ImageRefused):
            raise decoded
        return decoded if decoded.name == name else replace(decoded, name=name)


def first_of_list(finder: TextureFinder, path: Path) -> Path:
    """Return the path of the first image that a list (IFL) names. Raises `ImageRefused` if it is not found or is
    another list.
    """
    try:
        note_input(path)
        with finder.open(path) as stream:
            names = ifl_names(stream.read(_LIST_SIZE), 1)
    except OSError as error:
        raise ImageRefused(error.strerror or "cannot be read") from None
    first = finder.find(names[0]).path if names else None
    if first is None or is_image_list(first):
        raise ImageRefused(f"{IFL_DESCRIPTION} whose first image is missing or another list")
    return first


def is_image_list(path: Path) -> bool:
    return path.suffix.casefold() == ".ifl"


def image_references(scene: Scene) -> Iterator[tuple[str, str, EmbeddedImage | None]]:
    """Yield every use of an image: its user, its file name, and the image itself if it is embedded."""
    for material in scene.materials:
        for slot, texture in material.maps.items():
            if texture.file_name or texture.embedded is not None:
                yield f"material {material.name}: {slot}", texture.file_name, texture.embedded
    if scene.environment.background_image:
        yield "background", scene.environment.background_image, None
    for light in scene.lights:
        if light.projector:
            yield f"light {light.name}: projector", light.projector, None
