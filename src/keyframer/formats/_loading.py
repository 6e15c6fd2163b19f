"""From a document to what it means, strictly or saving what can be saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from keyframer.formats.document import Document
from keyframer.scene import Origin, Scene


def scene_of(
    document: Document,
    options: Mapping[str, object] | None = None,
    *,
    salvage: bool = False,
    folder: Path | None = None,
) -> Scene:
    """The scene of a document, as `load` makes it."""
    unsafe = document.issues.first_unsafe()
    if unsafe is not None and not salvage:
        raise unsafe.as_error()
    scene = document.format.to_scene(document, options or {})
    scene.origin = Origin(document, dict(options or {}), folder)
    unsafe = scene.issues.first_unsafe()
    if unsafe is not None and not salvage:
        raise unsafe.as_error()
    found, scene.issues = scene.issues, document.issues.copy()
    scene.issues.extend(found)
    return scene
