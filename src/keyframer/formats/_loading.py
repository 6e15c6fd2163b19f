"""From a file to what it means, strictly or saving what can be saved."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from keyframer.files import PathLike
from keyframer.formats import read
from keyframer.formats._document import Document
from keyframer.limits import Limits
from keyframer.scene import Origin, Scene


def load(
    source: PathLike | IO[bytes],
    *,
    format: str | None = None,
    salvage: bool = False,
    limits: Limits | None = None,
    **options: object,
) -> Scene:
    """The scene in a file. ``options`` are those of the format (for example ``geometry="raw"`` for 3D Studio).

    Strict by default: the first error in structure, links or counts raises `FormatError` with code, offset and path.
    With ``salvage`` unsafe parts are left out instead and ``scene.issues`` lists them; what is merely odd is listed
    there in any case.
    """
    document = read(source, format=format, limits=limits)
    if isinstance(source, (str, os.PathLike)):
        options = {**document.format.companions(document, Path(source), options), **options}
    return scene_of(document, options, salvage=salvage)


def scene_of(document: Document, options: Mapping[str, object] | None = None, *, salvage: bool = False) -> Scene:
    """The scene of a document, as `load` makes it."""
    unsafe = document.issues.first_unsafe()
    if unsafe is not None and not salvage:
        raise unsafe.as_error()
    with np.errstate(invalid="ignore", over="ignore"):  # odd numbers are kept and reported, not warned about
        scene = document.format.to_scene(document, options or {})
    scene.origin = Origin(document, dict(options or {}))
    unsafe = scene.issues.first_unsafe()
    if unsafe is not None and not salvage:
        raise unsafe.as_error()
    found, scene.issues = scene.issues, document.issues.copy()
    scene.issues.extend(found)
    return scene
