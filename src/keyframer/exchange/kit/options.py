"""Options that all exporters of today's formats have."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from keyframer.exchange.contract import UNITS
from keyframer.exchange.kit.images import ImageSource, Pictures, no_images
from keyframer.formats.contract import refuse_unknown
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, DEGREES_AT_DEFAULT, check_max_error
from keyframer.scene import Scene
from keyframer.textures import TextureFinder, TextureSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneOptions:
    """The options `Exporter.options` describes, with the images and the source of a scene."""

    max_error: float = DEFAULT_MAX_ERROR
    unit: str | float | None = None
    fps: float | None = None
    smooth: bool | None = None
    images: ImageSource = no_images
    """source of the images of materials; by default `save` searches next to the model"""
    source: Mapping[str, Any] = field(default_factory=dict)
    """properties of the source file, which are written: ``name``, ``sha256``, ``dialect``, ``version`` …"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if self.fps is not None and not (math.isfinite(self.fps) and self.fps > 0):
            raise ValueError(f"fps must be positive and finite, not {self.fps}")
        if isinstance(self.unit, str):
            if self.unit not in UNITS and self.unit != "file":
                raise ValueError(
                    f"unit must be a number of metres, file, or one of {', '.join(UNITS)}, not {self.unit!r}"
                )
        elif self.unit is not None and not (math.isfinite(self.unit) and self.unit > 0):
            raise ValueError(f"unit must be positive and finite, not {self.unit}")

    @property
    def max_degrees(self) -> float:
        return self.max_error / DEFAULT_MAX_ERROR * DEGREES_AT_DEFAULT

    def stated_unit(self) -> float | None:
        """Return the metres per unit of the scene that the options state; None if they leave it to the file."""
        if self.unit is None or self.unit == "file":
            return None
        return UNITS[self.unit] if isinstance(self.unit, str) else float(self.unit)


_SEARCH_OPTIONS = ("texture_path", "texture_recursive", "textures")
"""options of `save` for the search for images"""


def _image_source(
    scene: Scene,
    texture_path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    texture_recursive: bool = False,
    textures: bool = True,
) -> ImageSource:
    """Return a source of embedded images and of files in the folder of the scene, then in the given folders."""
    if not textures:
        return no_images
    extra_folders = [texture_path] if isinstance(texture_path, (str, os.PathLike)) else list(texture_path)
    folder = scene.origin.folder if scene.origin is not None else scene.folder
    folders = extra_folders if folder is None else [folder, *extra_folders]
    maps = [map for material in scene.materials for map in material.maps.values()]
    if not maps or not (folders or any(map.embedded is not None for map in maps)):
        return no_images
    return Pictures(TextureSource(TextureFinder(folders, recursive=texture_recursive)))


Made = TypeVar("Made", bound=SceneOptions)


def made_options(name: str, kind: type[Made], scene: Scene, given: dict[str, Any]) -> Made:
    """Return the options that were given to `save`, with a source of images if none is given; raises ValueError for an
    unknown option. ``name`` is that of the format."""
    refuse_unknown(name, [*(field.name for field in fields(kind)), *_SEARCH_OPTIONS], given)
    search_options = {name: given[name] for name in _SEARCH_OPTIONS if name in given}
    options = kind(**{name: value for name, value in given.items() if name not in _SEARCH_OPTIONS})
    if "images" not in given:
        return replace(options, images=_image_source(scene, **search_options))
    if search_options:
        raise ValueError(f"{next(iter(search_options))} cannot be combined with images")
    return options
