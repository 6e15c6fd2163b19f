"""Images of models in stores: a `TextureFinder` whose first folder is that of an object.

The store is asked for one listing of the folder, and only for images that are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO

from keyframer.batch import storage
from keyframer.limits import Limits
from keyframer.textures import DEFAULT_IMAGE_LIMITS, TextureFinder
from keyframer.textures.texture_finder import Listing


class StoreFinder(TextureFinder):
    """Searches the folder at a URL, then ``folders`` on disks. ``list_folder`` is `storage.list_folder`, or a function
    that remembers its results.

    Subfolders of the store are searched only for names that contain them. Raises OSError if the store does not answer.
    """

    def __init__(
        self,
        url: str,
        folders: Sequence[str | os.PathLike[str]] = (),
        list_folder: Callable[[str], dict[str, str | None]] = storage.list_folder,
        *,
        recursive: bool = False,
    ) -> None:
        self._url = url
        self._top = Path(url)
        """only a name: there is no such path on a disk"""
        self._list_folder = list_folder
        self._stamps: dict[Path, dict[str, str | None]] = {}
        super().__init__([self._top, *folders], recursive=recursive)

    def _url_of(self, path: Path) -> str | None:
        """Return the URL of a path; None if it is on a disk."""
        if path != self._top and self._top not in path.parents:
            return None
        return "/".join((self._url, *path.relative_to(self._top).parts))

    def place_of(self, path: Path) -> str:
        """Return the URL of a folder in the store, the URL and the stamp of an image there, or a path on a disk."""
        url = self._url_of(path)
        return super().place_of(path) if url is None else f"{url} {self._stamp(path)}".rstrip()

    def _stamp(self, path: Path) -> str:
        return self._stamps.get(path.parent, {}).get(path.name) or ""

    def listing(self, folder: Path) -> Listing:
        url = self._url_of(folder)
        if url is None:
            return super().listing(folder)
        if folder not in self._listings:
            self._stamps[folder] = self._list_folder(url)
            self._listings[folder] = Listing((name, stamp is None) for name, stamp in self._stamps[folder].items())
        return self._listings[folder]

    def kind(self, top: Path, path: Path) -> str:
        return "file" if top == self._top else super().kind(top, path)

    def open(self, path: Path) -> IO[bytes]:
        if self._url_of(path) is None:
            return super().open(path)
        return BytesIO(self.read(path, DEFAULT_IMAGE_LIMITS.file_size))

    def read(self, path: Path, most_bytes: int) -> bytes:
        url = self._url_of(path)
        if url is None:
            return super().read(path, most_bytes)
        return storage.read_url(url, self._stamp(path), Limits(file_size=most_bytes))
