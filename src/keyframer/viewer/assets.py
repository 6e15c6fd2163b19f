"""The built page: what ``make viewer`` (or the build of the wheel) put beside this module."""

from __future__ import annotations

import re
from pathlib import Path

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
    """The page is not there; the message says how to build it."""


class Assets:
    """The files of the page, read once. Only names that are listed here can be asked for."""

    def __init__(self, folder: Path = FOLDER) -> None:
        if not (folder / "index.html").is_file():
            raise PageMissing(HOW_TO_BUILD)
        self._found: dict[str, tuple[str, bytes]] = {}
        for path in sorted((folder / "assets").iterdir()):
            if _NAME.fullmatch(path.name):
                self._found[f"/assets/{path.name}"] = (_TYPES[path.suffix], path.read_bytes())
        self._found["/"] = (_TYPES[".html"], (folder / "index.html").read_bytes())

    def get(self, path: str) -> tuple[str, bytes] | None:
        return self._found.get(path)

    def only(self, suffix: str) -> str:
        """The text of the one asset of a kind: ``.js`` or ``.css``."""
        (content,) = (content for path, (_, content) in self._found.items() if path.endswith(suffix))
        return content.decode("utf-8")
