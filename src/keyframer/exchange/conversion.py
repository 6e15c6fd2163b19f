"""Saves the scene of an opened file: with its images, and with a note on the file that it came from."""

from __future__ import annotations

import os
from typing import IO, Any

from keyframer.exchange.contract import Exporter
from keyframer.exchange.kit.images import Pictures, no_images
from keyframer.exchange.opening import OpenedFile
from keyframer.exchange.saving import save
from keyframer.files import PathLike
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.text import safe_text
from keyframer.textures import TextureSource


def save_opened(
    opened: OpenedFile,
    scene: Scene,
    target: PathLike | IO[bytes],
    exporter: Exporter,
    *,
    textures: TextureSource | None = None,
    name: str = "",
    **options: Any,
) -> LossReport:
    """Save the scene of an opened file; ``name`` is that of the file, ``options`` are those of `save`."""
    if exporter.takes_images:
        options |= source_options(opened, textures, name)
    return save(scene, target, format=exporter.name, **options)


def source_options(opened: OpenedFile, textures: TextureSource | None, name: str = "") -> dict[str, Any]:
    """Return the options of exporters that `Exporter.takes_images`: the images of a file, and a note on it."""
    images = no_images if textures is None else Pictures(textures)
    return {"images": images, "source": _source_note(opened, name) if opened.data else {}}


def _source_note(opened: OpenedFile, name: str) -> dict[str, object]:
    name = safe_text(name or os.path.basename(opened.name))
    note: dict[str, object] = {"name": name, "sha256": opened.sha256, "format": opened.reader.name}
    if opened.detection.version is not None:
        note["version"] = opened.detection.version
    if opened.importer is None and opened.document.dialect is not None:
        note["dialect"] = str(opened.document.dialect)
    return note
