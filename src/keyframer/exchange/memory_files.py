"""Files in memory that belong to a model: members of its archive, or files dropped on the viewer with it."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import unquote

from keyframer.scene import EmbeddedImage, Scene

FindFile = Callable[[str], tuple[str, bytes] | None]
"""returns name and content of the file that a name refers to; None if there is none"""

_MIME_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


def mime_type(name: str) -> str | None:
    """Return the MIME type of an image that glTF can embed, from its extension."""
    return _MIME_TYPES.get(os.path.splitext(name)[1].lower())


def embed_images(scene: Scene, find: FindFile) -> None:
    """Embed the images that are in memory into the textures of a scene; already embedded ones stay."""
    for material in scene.materials:
        for texture in material.maps.values():
            image = find(texture.file_name) if texture.file_name and texture.embedded is None else None
            if image is not None:
                name, data = image
                kind = mime_type(name) or "application/octet-stream"
                texture.embedded = EmbeddedImage(name, data, kind, alpha_is_opacity=not texture.ignore_alpha)


def with_embedded_parts(data: bytes, find: FindFile) -> bytes:
    """Return the JSON of a glTF model with buffers and images from memory embedded; other bytes are returned
    unchanged."""
    if data.lstrip()[:1] != b"{":
        return data
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):  # invalid: reported by the reader
        return data
    lists = [root.get(kind) for kind in ("buffers", "images")]
    parts = [part for parts in lists if isinstance(parts, list) for part in parts if isinstance(part, dict)]
    for part in parts:
        uri = part.get("uri")
        if not isinstance(uri, str) or uri.startswith("data:"):
            continue
        file = find(unquote(uri))
        if file is not None:
            kind = mime_type(file[0]) or "application/octet-stream"
            part["uri"] = f"data:{kind};base64,{b64encode(file[1]).decode('ascii')}"
    return json.dumps(root).encode()
