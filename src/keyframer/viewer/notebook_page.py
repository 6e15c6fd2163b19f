"""The viewer in a notebook: the page that ``keyframer view --export`` writes, inside a frame of its own."""

from __future__ import annotations

import html
import os

from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.files import PathLike, write_bytes
from keyframer.scene import Scene
from keyframer.textures import TextureFinder, TextureSource
from keyframer.viewer.standalone_page import packed_page
from keyframer.viewer.viewed_file import Material, ViewedFile


class Page:
    """One page that plays a scene and needs no server. A notebook shows it; `save` writes it to a file."""

    def __init__(self, name: str, data: bytes, height: int) -> None:
        self.name = name
        self.data = data
        """the page in HTML"""
        self.height = height
        """of the frame in a notebook, in pixels"""

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write the page, whole or not at all; an existing file is left alone unless ``overwrite``."""
        write_bytes(path, self.data, overwrite=overwrite)

    def _repr_html_(self) -> str:
        """The page in a frame that can run its script and nothing else: no access to the notebook, no network."""
        page = html.escape(self.data.decode("utf-8"), quote=True)
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe sandbox="allow-scripts" title="Keyframer" style="{style}" srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"<Page of {self.name!r}: {len(self.data)} bytes>"


def view(source: Scene | PathLike, *, height: int = 600) -> Page:
    """A scene or a file, playing, in a notebook; ``view(scene).save("scene.html")`` writes the same page to a file.

    The page holds the file's bytes, too, where the scene came from a document.
    """
    opened = OpenedFile.of_scene(source) if isinstance(source, Scene) else open_file(source)
    scene = opened.scene(salvage=isinstance(source, Scene))
    name = os.path.basename(opened.name) or scene.title or "scene"
    folder = opened.folder or (scene.folder if scene.origin is None else scene.origin.folder)
    images = TextureSource(TextureFinder([] if folder is None else [folder]))
    return Page(name, packed_page([ViewedFile(name, lambda: Material(opened, scene, textures=images))]), height)
