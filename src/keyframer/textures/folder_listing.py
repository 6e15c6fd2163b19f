"""The names in a folder, indexed for searches: exact, in another case, with another extension, by eight characters."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from keyframer.limits import MOST_ENTRIES
from keyframer.text import dos_beginning

EXTENSIONS = (
    ".png", ".jpg", ".jpeg", ".tga", ".bmp", ".gif", ".tif", ".tiff", ".pcx", ".dds", ".webp",
    ".psd", ".ppm", ".pgm", ".sgi", ".rgb", ".rgba", ".jp2", ".flc", ".fli", ".cel", ".ifl",
)  # fmt: skip
"""extensions of images, best first: an image may be found with another extension"""
_RANK = {extension: rank for rank, extension in enumerate(EXTENSIONS)}


class Listing:
    """The names in a folder, indexed for `search`."""

    def __init__(self, names: Iterable[tuple[str, bool]]) -> None:
        """``names`` are pairs: a name, and whether it is a folder."""
        self.exact: set[str] = set()
        self.folded: dict[str, list[str]] = {}
        self.stems: dict[str, list[str]] = {}
        self.prefixes: dict[str, list[str]] = {}
        self.folders: dict[str, list[str]] = {}
        for name, is_folder in names:
            if is_folder:
                self.folders.setdefault(name.casefold(), []).append(name)
                continue
            self.exact.add(name)
            self.folded.setdefault(name.casefold(), []).append(name)
            stem, extension = os.path.splitext(name.casefold())
            if extension in _RANK:
                self.stems.setdefault(stem, []).append(name)
                self.prefixes.setdefault(stem[:8], []).append(name)

    def search(self, name: str) -> Iterator[tuple[list[str], str]]:
        """Yield lists of matching names, the best matches first, each with how they match (see `HOW_FOUND`)."""
        if name in self.exact:
            yield [name], "exact"
        folded = name.casefold()
        other_case = [other for other in self.folded.get(folded, ()) if other != name]
        if other_case:
            yield other_case, "case"
        stem, extension = os.path.splitext(folded)
        same_stem = [other for other in self.stems.get(stem, ()) if other.casefold() != folded]
        if same_stem:
            yield _ranked(same_stem, extension), "extension"
        same_prefix = self._by_prefix(stem, extension)
        if same_prefix is not None:
            yield same_prefix, "prefix"

    def _by_prefix(self, stem: str, extension: str) -> list[str] | None:
        """Return the images whose stem equals ``stem`` if the longer of the two is truncated to eight characters, as
        DOS did, or that a DOS name such as ``STONEW~1`` abbreviates; None if there are none.
        """
        dos_prefix = dos_beginning(stem)
        if dos_prefix is not None:
            matches = [name for key, names in self.prefixes.items() if key.startswith(dos_prefix) for name in names]
        elif len(stem) >= 8:
            candidates = self.prefixes.get(stem[:8], [])
            is_truncated = len(stem) == 8
            matches = [name for name in candidates if is_truncated or len(os.path.splitext(name)[0]) == 8]
        else:
            return None
        return _ranked(matches, extension) if matches else None


_CACHE: dict[Path, tuple[int, Listing]] = {}
"""listings by folder, with its modification time: a batch may search one folder for the images of thousands of files"""
_CACHE_SIZE = 16
_RECENT_NANOSECONDS = 2_000_000_000
"""a folder that changed this recently may change again without a new modification time"""


def listing_of(folder: Path) -> Listing:
    """Return the listing of a folder, from the cache if the folder is unchanged; empty if unreadable."""
    try:
        modified = os.stat(folder).st_mtime_ns
    except OSError:
        return Listing(())
    cached = _CACHE.get(folder)
    if cached is not None and cached[0] == modified:
        return cached[1]
    listing = Listing(_names_in(folder))
    if modified < time.time_ns() - _RECENT_NANOSECONDS:
        if len(_CACHE) >= _CACHE_SIZE:
            _CACHE.clear()
        _CACHE[folder] = (modified, listing)
    return listing


def _names_in(folder: Path) -> list[tuple[str, bool]]:
    """Return the sorted names in a folder, each with whether it is a folder (a link is not); empty if unreadable."""
    try:
        with os.scandir(folder) as entries:
            return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in _limited(entries))
    except OSError:
        return []


def _ranked(names: Sequence[str], extension: str) -> list[str]:
    """Sort by extension: ``extension`` first, then in the order of `EXTENSIONS`; then by name."""

    def rank(name: str) -> tuple[bool, int, str]:
        name_extension = os.path.splitext(name)[1].casefold()
        return name_extension != extension, _RANK.get(name_extension, len(_RANK)), name

    return sorted(names, key=rank)


def _limited(entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
    """Yield at most `MOST_ENTRIES` entries."""
    for count, entry in enumerate(entries):
        if count >= MOST_ENTRIES:
            return
        yield entry
