"""From any file to what it means: a document of one of the five formats, or a file of today's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from keyframer.catalogue import IO_EMPTY, IO_UNRECOGNISED
from keyframer.exchange import importer_for
from keyframer.files import PathLike, read_bytes
from keyframer.formats import detect, format_by_name
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.limits import DEFAULT_LIMITS, Limits, budgeted
from keyframer.scene import Scene


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
    limits = limits or DEFAULT_LIMITS
    with budgeted(limits):
        return _load(source, format, salvage, limits, options)


def _load(
    source: PathLike | IO[bytes], format: str | None, salvage: bool, limits: Limits, options: dict[str, object]
) -> Scene:
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    name = "" if path is None else str(path)
    data = read_bytes(source, limits)
    if not data:
        raise IO_EMPTY.failure(0, "/")
    detection = detect(data, name=name)
    if format is not None or detection.format is None:
        importer = importer_for(data, name, format)
        if importer is not None:
            return importer.load(data, None if path is None else path.parent, limits, options, salvage=salvage)
    known = format_by_name(format) if format is not None else detection.format
    if known is None:
        raise IO_UNRECOGNISED.failure(0, "/", reason=detection.reason)
    document = known.decode(data, limits)
    if path is not None:
        options = {**known.find_companions(document, path, options), **options}
    return scene_of(document, options, salvage=salvage, folder=None if path is None else path.parent)
