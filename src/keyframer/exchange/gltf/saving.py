"""A scene to a file: what the registry of exporters calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from keyframer.exchange.gltf.container import write_glb, write_gltf
from keyframer.exchange.gltf.exporting import export
from keyframer.exchange.gltf.images import ImageSource, no_images
from keyframer.exchange.gltf.options import GltfOptions
from keyframer.exchange.report import LossReport
from keyframer.files import check_output
from keyframer.scene import Scene

_TEXTURES = ("texture_path", "texture_recursive", "textures")
"""options that decide where images are looked for"""


def _images(
    scene: Scene,
    texture_path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    texture_recursive: bool = False,
    textures: bool = True,
) -> ImageSource:
    """Looks beside the file that the scene was loaded from, then in the folders given, nowhere else."""
    if not textures:
        return no_images
    given = [texture_path] if isinstance(texture_path, (str, os.PathLike)) else list(texture_path)
    own = scene.origin.folder if scene.origin is not None else scene.folder
    folders = given if own is None else [own, *given]
    maps = [map for material in scene.materials for map in material.maps.values()]
    if not maps or not (folders or any(map.embedded is not None for map in maps)):
        return no_images
    from keyframer.exchange.gltf.pictures import Pictures
    from keyframer.textures import TextureFinder, TextureSource

    return Pictures(TextureSource(TextureFinder(folders, recursive=texture_recursive)))


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """``dialect`` is ``binary`` or ``text``; None: as the extension says, binary where it says nothing."""
    known = [*(item.name for item in fields(GltfOptions)), *_TEXTURES]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"gltf has no option {unknown[0]!r} (it has: {', '.join(known)})")
    looked = {name: options[name] for name in _TEXTURES if name in options}
    chosen = GltfOptions(**{name: value for name, value in options.items() if name not in _TEXTURES})
    if "images" in options:
        if looked:
            raise ValueError(f"images says where images come from, so {next(iter(looked))} has no meaning")
    else:
        chosen = replace(chosen, images=_images(scene, **looked))
    check_output(path, overwrite=overwrite)
    asset, report = export(scene, chosen)
    as_text = dialect == "text" or (dialect is None and path.suffix.lower() == ".gltf")
    report.written = (write_gltf if as_text else write_glb)(asset, path, overwrite=overwrite)
    return report
