"""Listings of folders by the names under which `keyframer.textures` would find an image.

Images are found in any case, with another extension, and by their first eight characters; folders in any case.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from keyframer.exchange import EXPORTERS
from keyframer.formats import FORMATS
from keyframer.limits import MOST_ENTRIES
from keyframer.text import dos_beginning

_NO_IMAGES = frozenset(
    (
        *(ending for known in EXPORTERS for ending in known.extensions),
        *(companion.extension for known in FORMATS for companion in known.companions),
        *(".bin", ".json", ".sqlite"),
    )
)
"""what stands beside images and is none, our own outputs among it"""


class Names:
    """Names, by what they could stand for."""

    def __init__(self) -> None:
        self._by_short: dict[str, list[str]] = {}
        self._sorted: list[str] | None = None

    def add(self, name: str, shown: str) -> None:
        stem, extension = os.path.splitext(name)
        if extension.lower() not in _NO_IMAGES:
            self._by_short.setdefault(stem.casefold()[:8], []).append(shown)
            self._sorted = None

    def like(self, name: str) -> list[str]:
        """Those that an image of this name could be found under."""
        stem = os.path.splitext(name)[0].casefold()
        letters = dos_beginning(stem)
        if letters is None:
            return self._by_short.get(stem[:8], [])
        return [shown for key in self._beginning(letters) for shown in self._by_short[key]]

    def _beginning(self, letters: str) -> Iterator[str]:
        if self._sorted is None:
            self._sorted = sorted(self._by_short)
        for place in range(bisect_left(self._sorted, letters), len(self._sorted)):
            if not self._sorted[place].startswith(letters):
                return
            yield self._sorted[place]


class Listing:
    """One folder; empty if it cannot be read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen = changed(folder)
        self.names: frozenset[str] = frozenset()
        self.images = Names()
        self._folders: dict[str, list[str]] = {}
        try:
            with os.scandir(folder) as entries:
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            return
        self.names = frozenset(name for name, _ in found)
        for name, is_folder in found:
            if is_folder:
                self._folders.setdefault(name.casefold(), []).append(name)
            else:
                self.images.add(name, name)

    def inner(self, name: str) -> str | None:
        """The folder of this name in any case."""
        found = self._folders.get(name.casefold())
        return None if found is None else name if name in found else found[0]


class Tree:
    """All folders inside one, without what stands in it directly."""

    def __init__(self, folder: str) -> None:
        self.images = Names()
        self._seen: list[tuple[str, int | None]] = []
        count = 0
        for where, folders, names in os.walk(folder):
            folders.sort()
            self._seen.append((where, changed(where)))
            count += len(folders) + len(names)
            if count > MOST_ENTRIES:
                return
            if where != folder:
                for name in sorted(names):
                    self.images.add(name, os.path.relpath(os.path.join(where, name), folder))

    def stands(self) -> bool:
        """Whether no folder changed since."""
        return all(changed(where) == time for where, time in self._seen)


class Listings:
    """Listings and trees, each made once; with ``fresh`` one that has changed since is made again."""

    def __init__(self, *, fresh: bool = False, most: int | None = None) -> None:
        self._fresh = fresh
        self._most = most
        self._listings: dict[str, Listing] = {}
        self._trees: dict[str, Tree] = {}

    def listing(self, folder: str) -> Listing:
        kept = self._listings.get(folder)
        if kept is None or (self._fresh and kept.seen != changed(folder)):
            if self._most is not None and len(self._listings) >= self._most:
                self._listings.clear()
            kept = self._listings[folder] = Listing(folder)
        return kept

    def tree(self, folder: str) -> Tree:
        kept = self._trees.get(folder)
        if kept is None or (self._fresh and not kept.stands()):
            if self._most is not None and len(self._trees) >= self._most:
                self._trees.clear()
            kept = self._trees[folder] = Tree(folder)
        return kept

    def images(self, top: str, parts: Sequence[str]) -> list[str]:
        """``MAPS\\WOOD.TGA`` below ``top``: what would do in the folder ``maps``, as paths below ``top``."""
        listing = self.listing(top)
        below = ""
        for part in parts[:-1]:
            inner = listing.inner(part)
            if inner is None:
                return []
            below = f"{below}{inner}/"
            listing = self.listing(f"{listing.folder}/{inner}")
        return [f"{below}{name}" for name in listing.images.like(parts[-1])]

    def images_inside(self, top: str, name: str) -> list[str]:
        """What would do in any folder inside ``top``, as paths below it."""
        return self.tree(top).images.like(name)


def changed(folder: str) -> int | None:
    """When it last changed; None if it is not there."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None
