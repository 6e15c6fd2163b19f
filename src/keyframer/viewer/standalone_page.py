"""The built page, and the standalone page that contains everything and works offline.

Script, style and data are inside the page; its policy allows them by their hashes. A notebook shows it in a frame.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import os
import re
from collections.abc import Sequence
from pathlib import Path

from keyframer.exchange.opening import OpenedFile, open_file
from keyframer.files import PathLike, write_bytes
from keyframer.formats.guard import GcPaused
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


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{csp}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Keyframer</title>
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page plays an animation and needs JavaScript.</noscript>
<script type="application/octet-stream" id="packed">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


_SHARED_PAGE = _PAGE.replace("<style>{style}</style>", '<link rel="stylesheet" href="{style}">').replace(
    '<script type="module">{script}</script>', '<script src="{script}"></script>'
)
"""the page with script and style in files that many pages share"""
SHARED_SCRIPT, SHARED_STYLE = "viewer.js", "viewer.css"
_POLICY = (
    "default-src 'none'; script-src {}; style-src {}; img-src blob:; connect-src blob:; worker-src blob:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
)


def packed_page(files: Sequence[ViewedFile], assets: Assets | None = None, *, shared: str | None = None) -> bytes:
    """Return the page as one HTML file. Data from files is never markup: it is base64 of a compressed archive.

    ``shared`` is the path from the page to the folder of `shared_files`, ending in a slash: script and style are then
    not in the page.
    """
    with GcPaused():
        data = base64.b64encode(packed_resources(Resources(files))).decode("ascii")
    if shared is not None:
        csp = _POLICY.format(f"'self' file: {_hash(data)}", "'self' file:")
        paths = {"style": html.escape(shared + SHARED_STYLE), "script": html.escape(shared + SHARED_SCRIPT)}
        return _SHARED_PAGE.format(csp=csp, data=data, **paths).encode("utf-8")
    assets = assets or Assets()
    script, style = _in_script(assets.only(".js")), _in_style(assets.only(".css"))
    csp = _POLICY.format(f"{_hash(script)} {_hash(data)}", _hash(style))
    return _PAGE.format(csp=csp, style=style, data=data, script=script).encode("utf-8")


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


def _in_script(text: str) -> str:
    """Escape ``</script``, ``<script`` and ``<!--``, with which HTML could end the script or hide its end.

    The program stays the same.
    """
    return re.sub(r"<(?=/script|script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


def _in_style(text: str) -> str:
    return re.sub("</(?=style)", r"<\\/", text, flags=re.IGNORECASE)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


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
        page = html.escape(self.data.decode("utf-8"), quote=True)
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe sandbox="allow-scripts" title="Keyframer" style="{style}" srcdoc="{page}"></iframe>'

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
