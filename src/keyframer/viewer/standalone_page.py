"""The built page, and the standalone page that contains everything and works offline.

Script, style and data are inside the page; its policy allows them by their hashes. A notebook shows it in a frame.
"""

from __future__ import annotations

import base64
import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path

from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.files import PathLike, write_bytes
from keyframer.formats.guard import GcPaused
from keyframer.markup import HtmlPage, opening, script, script_source, tag, verbatim
from keyframer.scene import Scene
from keyframer.scene.moving import warn_of_overridden
from keyframer.textures import TextureFinder, TextureSource
from keyframer.viewer.json_data import to_json
from keyframer.viewer.resources import Resources
from keyframer.viewer.viewed_file import LoadedFile, ViewedFile

FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_NAME = re.compile(r"[A-Za-z0-9_-]+\.(?:js|css|svg)")

HOW_TO_BUILD = "the viewer's page is not built: run 'make viewer' in the source folder (it needs Node 20.19 or newer)"


class PageMissing(Exception):
    """The page has not been built; the message says how to build it."""


class Assets:
    """The files of the page, read once. Only names in this list can be requested."""

    def __init__(self, folder: Path = FOLDER) -> None:
        if not (folder / "index.html").is_file():
            raise PageMissing(HOW_TO_BUILD)
        self._files: dict[str, tuple[str, bytes]] = {}
        for path in sorted((folder / "assets").iterdir()):
            if _NAME.fullmatch(path.name):
                self._files[f"/assets/{path.name}"] = (_TYPES[path.suffix], path.read_bytes())
        self._files["/"] = (_TYPES[".html"], (folder / "index.html").read_bytes())

    def get(self, path: str) -> tuple[str, bytes] | None:
        return self._files.get(path)

    def only(self, suffix: str) -> str:
        """Return the text of the only asset of a kind: ``.js`` or ``.css``."""
        (content,) = (content for path, (_, content) in self._files.items() if path.endswith(suffix))
        return content.decode("utf-8")


SHARED_SCRIPT, SHARED_STYLE = "viewer.js", "viewer.css"
_SOURCES = {"img-src": "blob:", "connect-src": "blob:", "worker-src": "blob:", "require-trusted-types-for": "'script'"}


def packed_page(files: Sequence[ViewedFile], assets: Assets | None = None, *, shared: str | None = None) -> bytes:
    """Return the page as one HTML file. Data from files is never markup: it is base64 of a compressed archive.

    ``shared`` is the path from the page to the folder of `shared_files`, ending in a slash: script and style are then
    not in the page.
    """
    with GcPaused():
        data = base64.b64encode(packed_resources(Resources(files))).decode("ascii")
    head, style, script_sources = [tag("meta", name="referrer", content="no-referrer")], "", script_source(data)
    if shared is not None:
        sources = {"script-src": f"'self' file: {script_sources}", "style-src": "'self' file:"}
        head.append(tag("link", rel="stylesheet", href=shared + SHARED_STYLE))
        program = tag("script", src=shared + SHARED_SCRIPT)
    else:
        assets = assets or Assets()
        program, style = script(assets.only(".js"), type="module"), assets.only(".css")
        sources = {"script-src": f"{script_source(assets.only('.js'))} {script_sources}"}
    page = HtmlPage("Keyframer", {**sources, **_SOURCES}, style, head)
    parts = (
        page.begin(),
        tag("div", id="app"),
        tag("noscript", "This page plays an animation and needs JavaScript."),
        *(opening("script", type="application/octet-stream", id="packed"), data, "</script>\n"),
        program,
        page.end(),
    )
    return "".join(parts).encode("utf-8")


def shared_files(assets: Assets | None = None) -> dict[str, bytes]:
    """Return script and style by name, for pages made with ``shared``.

    The script is not a module, because browsers load no module from a disk. Its last lines wait, so it is a function.
    """
    assets = assets or Assets()
    script = f'(async () => {{"use strict";\n{assets.only(".js")}\n}})();\n'
    return {SHARED_SCRIPT: script.encode("utf-8"), SHARED_STYLE: assets.only(".css").encode("utf-8")}


def packed_resources(resources: Resources) -> bytes:
    """Return an archive: the length of an index, the index of paths and sizes in JSON, and the contents; with gzip."""
    parts: list[bytes] = []
    listed: list[tuple[str, int]] = []
    for path in resources.paths():
        resource = resources.get(path)
        if resource is not None:
            listed.append((path, len(resource[1])))
            parts.append(resource[1])
    index = to_json(listed)
    archive = b"".join([len(index).to_bytes(4, "little"), index, *parts])
    return gzip.compress(archive, 1, mtime=0)


class Page:
    """A standalone page that plays a scene. A notebook shows it; `save` writes it to a file."""

    def __init__(self, name: str, data: bytes, height: int) -> None:
        self.name = name
        self.data = data
        """the page as HTML"""
        self.height = height
        """height of the frame in a notebook, in pixels"""

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write the page atomically; an existing file is replaced only with ``overwrite``."""
        write_bytes(path, self.data, overwrite=overwrite)

    def _repr_html_(self) -> str:
        """Return the page in a frame that can only run its script: no access to the notebook, no network."""
        style = f"width: 100%; height: {self.height}px; border: 0"
        page = verbatim(self.data.decode("utf-8"))
        return tag("iframe", sandbox="allow-scripts", title="Keyframer", style=style, srcdoc=page)

    def __repr__(self) -> str:
        return f"<Page of {self.name!r}: {len(self.data)} bytes>"


def view(source: Scene | PathLike, *, height: int = 600) -> Page:
    """Show a scene or a file in a notebook; ``view(scene).save("scene.html")`` writes the same page to a file.

    The page also contains the bytes of the file; for a scene, those of its document, if it has one.
    """
    if isinstance(source, Scene):
        warn_of_overridden(source, stacklevel=2)
    opened = OpenedFile.of_scene(source) if isinstance(source, Scene) else open_file(source)
    scene = opened.scene(salvage=isinstance(source, Scene))
    name = os.path.basename(opened.name) or scene.title or "scene"
    folder = opened.folder or (scene.folder if scene.origin is None else scene.origin.folder)
    images = TextureSource(TextureFinder([] if folder is None else [folder]))
    return Page(name, packed_page([ViewedFile(name, lambda: LoadedFile(opened, scene, textures=images))]), height)
