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
    """Return the MIME type of a PNG or JPEG file, which glTF can embed, from its extension; None for other files."""
    return _MIME_TYPES.get(os.path.splitext(name)[1].lower())


def embed_images(scene: Scene, find: FindFile) -> None:
    """Embed the images that ``find`` returns into the textures of a scene; already embedded images stay."""
    for material in scene.materials:
        for texture in material.maps.values():
            image = find(texture.file_name) if texture.file_name and texture.embedded is None else None
            if image is not None:
                name, data = image
                content_type = mime_type(name) or "application/octet-stream"
                texture.embedded = EmbeddedImage(name, data, content_type, role="")


def with_embedded_parts(data: bytes, find: FindFile) -> bytes:
    """Embed the buffers and images that ``find`` returns into the JSON of a glTF model, and return it. Other bytes are
    returned unchanged."""
    if data.lstrip()[:1] != b"{":
        return data
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):  # invalid: reported by the reader
        return data
    lists = [items for name in ("buffers", "images") if isinstance(items := root.get(name), list)]
    for part in [part for items in lists for part in items if isinstance(part, dict)]:
        uri = part.get("uri")
        if not isinstance(uri, str) or uri.startswith("data:"):
            continue
        file = find(unquote(uri))
        if file is not None:
            content_type = mime_type(file[0]) or "application/octet-stream"
            part["uri"] = f"data:{content_type};base64,{b64encode(file[1]).decode('ascii')}"
    return json.dumps(root).encode()
