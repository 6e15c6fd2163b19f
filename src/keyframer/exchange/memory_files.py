"""Files in memory that belong to a model: members of its archive, or what was dropped on the viewer with it."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import unquote

from keyframer.scene import EmbeddedImage, Scene

FindFile = Callable[[str], tuple[str, bytes] | None]
"""the file that a name leads to: what it is called, and its content; None where there is none"""

_MIME_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


def mime_type(name: str) -> str | None:
    """Of an image that glTF can hold, by its extension."""
    return _MIME_TYPES.get(os.path.splitext(name)[1].lower())


def embed_images(scene: Scene, find: FindFile) -> None:
    """Give the textures of a scene the images that are in memory; those that the file holds itself stay."""
    for material in scene.materials:
        for texture in material.maps.values():
            image_data = find(texture.file_name) if texture.file_name and texture.embedded is None else None
            if image_data is not None:
                name, data = image_data
                kind = mime_type(name) or "application/octet-stream"
                texture.embedded = EmbeddedImage(name, data, kind, makes_holes=not texture.ignore_alpha)


def with_parts_inside(data: bytes, find: FindFile) -> bytes:
    """The JSON of a glTF model with the buffers and images put into it that are in memory; other bytes as they are."""
    if data.lstrip()[:1] != b"{":
        return data
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):  # whoever reads it says what is wrong
        return data
    listed = [root.get(kind) for kind in ("buffers", "images")]
    parts = [part for parts in listed if isinstance(parts, list) for part in parts if isinstance(part, dict)]
    for part in parts:
        uri = part.get("uri")
        if not isinstance(uri, str) or uri.startswith("data:"):
            continue
        part_data = find(unquote(uri))
        if part_data is not None:
            kind = mime_type(part_data[0]) or "application/octet-stream"
            part["uri"] = f"data:{kind};base64,{b64encode(part_data[1]).decode('ascii')}"
    return json.dumps(root).encode()
