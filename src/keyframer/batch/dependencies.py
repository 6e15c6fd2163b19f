"""The dependencies of a job: files that it searched for besides its input, found or not, so that a later run notices
changes.

The ledger stores them in the column ``also`` as entries of three values:

* a file that was read or is missing: its path, size and time (both None if it is missing);
* a search for companions: the path of the file that they belong to, `COMPANIONS`, and their names;
* a search for an image: a folder, ``//`` and the name of the image, as one path; `IMAGES` (searched for in the folder)
  or `INSIDE` (in its subfolders); and the matching names;
* all files in a folder: its path, `ANYTHING`, and a hash;
* the program: `PROGRAM` twice, and a hash.

The last two are for jobs that ended before their dependencies were known.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from keyframer.exchange import EXPORTERS
from keyframer.formats import COMPANION_ENDINGS, FORMATS
from keyframer.formats.contract import companion_names
from keyframer.limits import MOST_ENTRIES
from keyframer.text import dos_beginning

_NOT_IMAGES = frozenset(
    (
        *(ending for known in EXPORTERS for ending in known.extensions),
        *(companion.extension for known in FORMATS for companion in known.companions),
        *(".bin", ".json", ".sqlite"),
    )
)
"""extensions of files that are not images, including our own outputs"""


class ImageIndex:
    """Paths of files that may be images, indexed by the first eight characters of their names for fast matching."""

    def __init__(self) -> None:
        self._by_beginning: dict[str, list[str]] = {}
        self._sorted: list[str] | None = None

    def add(self, name: str, path: str) -> None:
        """Add a file that may be an image; others (`_NOT_IMAGES`) are ignored. `matches` will return ``path``."""
        stem, extension = os.path.splitext(name)
        if extension.lower() not in _NOT_IMAGES:
            self._by_beginning.setdefault(stem.casefold()[:8], []).append(path)
            self._sorted = None

    def matches(self, name: str) -> list[str]:
        """Return the paths of images that a search for this name could find."""
        stem = os.path.splitext(name)[0].casefold()
        letters = dos_beginning(stem)
        if letters is None:
            return self._by_beginning.get(stem[:8], [])
        return [path for beginning in self._starting_with(letters) for path in self._by_beginning[beginning]]

    def _starting_with(self, letters: str) -> Iterator[str]:
        if self._sorted is None:
            self._sorted = sorted(self._by_beginning)
        for index in range(bisect_left(self._sorted, letters), len(self._sorted)):
            if not self._sorted[index].startswith(letters):
                return
            yield self._sorted[index]


class Listing:
    """The names in one folder; empty if it cannot be read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.modification_time = modification_time(folder)
        """modification time of the folder when it was listed"""
        self.names: frozenset[str] = frozenset()
        self.images = ImageIndex()
        self._folders: dict[str, list[str]] = {}
        try:
            with os.scandir(folder) as entries:
                entries_sorted = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            return
        self.names = frozenset(name for name, _ in entries_sorted)
        for name, is_folder in entries_sorted:
            if is_folder:
                self._folders.setdefault(name.casefold(), []).append(name)
            else:
                self.images.add(name, name)

    def subfolder(self, name: str) -> str | None:
        """Return the subfolder of this name, or one whose name differs only in case; None if there is none."""
        names = self._folders.get(name.casefold())
        return None if names is None else name if name in names else names[0]


class Tree:
    """The images in the subfolders of a folder; after `MOST_ENTRIES` files and folders the search ends."""

    def __init__(self, folder: str) -> None:
        self.images = ImageIndex()
        self._seen: list[tuple[str, int | None]] = []
        count = 0
        for path, folders, names in os.walk(folder):
            folders.sort()
            self._seen.append((path, modification_time(path)))
            count += len(folders) + len(names)
            if count > MOST_ENTRIES:
                return
            if path != folder:
                for name in sorted(names):
                    self.images.add(name, os.path.relpath(os.path.join(path, name), folder))

    def is_unchanged(self) -> bool:
        """Return whether no folder has changed since it was listed."""
        return all(modification_time(path) == time for path, time in self._seen)


class Listings:
    """Listings and trees of folders, each made once, or again after a change if ``fresh``. At most ``most`` of each are
    kept.
    """

    def __init__(self, *, fresh: bool = False, most: int | None = None) -> None:
        self._fresh = fresh
        self._most = most
        self._listings: dict[str, Listing] = {}
        self._trees: dict[str, Tree] = {}

    def listing(self, folder: str) -> Listing:
        listing = self._listings.get(folder)
        if listing is None or (self._fresh and listing.modification_time != modification_time(folder)):
            if self._most is not None and len(self._listings) >= self._most:
                self._listings.clear()
            listing = self._listings[folder] = Listing(folder)
        return listing

    def tree(self, folder: str) -> Tree:
        tree = self._trees.get(folder)
        if tree is None or (self._fresh and not tree.is_unchanged()):
            if self._most is not None and len(self._trees) >= self._most:
                self._trees.clear()
            tree = self._trees[folder] = Tree(folder)
        return tree

    def images(self, top: str, parts: Sequence[str]) -> list[str]:
        """Return the images that match a name, as paths below ``top``: ``maps/wood.tga`` for ``MAPS``, ``WOOD.TGA``."""
        listing = self.listing(top)
        below = ""
        for part in parts[:-1]:
            subfolder = listing.subfolder(part)
            if subfolder is None:
                return []
            below = f"{below}{subfolder}/"
            listing = self.listing(f"{listing.folder}/{subfolder}")
        return [f"{below}{name}" for name in listing.images.matches(parts[-1])]

    def images_inside(self, top: str, name: str) -> list[str]:
        """Return the images that match a name in any subfolder of ``top``, as paths below it."""
        return self.tree(top).images.matches(name)


def modification_time(folder: str) -> int | None:
    """Return when a folder was last modified; None if that cannot be read."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None


COMPANIONS, IMAGES, INSIDE, ANYTHING, PROGRAM = "companions", "images", "inside", "anything", "program"

_BELOW = "//"
"""separates the folder of a search from the name that is searched for"""


class Dependencies:
    """Checks whether the dependencies of jobs are unchanged. Each folder is listed once."""

    def __init__(self) -> None:
        self._listings = Listings()
        self._hashes: dict[str, str] = {}

    def are_unchanged(self, entries: Iterable[list[Any]]) -> bool:
        """Return whether every entry is unchanged."""
        for path, size_or_purpose, known in entries:
            if size_or_purpose == COMPANIONS:
                names = self._listings.listing(os.path.dirname(path)).names
                if _companions(path, names.__contains__) != known and _companions_on_disk(path) != known:
                    return False
            elif size_or_purpose in (IMAGES, INSIDE):
                if _matching_images(self._listings, path, size_or_purpose) != known:
                    return False
            elif size_or_purpose in (ANYTHING, PROGRAM):
                if self._hash(path, size_or_purpose) != known:
                    return False
            elif _size_and_time(path) != [size_or_purpose, known]:
                return False
        return True

    def entries_if_unknown(self, folders: Iterable[str]) -> list[list[Any]]:
        """Return the entries of a job whose dependencies are unknown: all files in these folders, and the program."""
        searched = [(os.path.abspath(folder), ANYTHING) for folder in folders]
        return [[path, purpose, self._hash(path, purpose)] for path, purpose in [*searched, (PROGRAM, PROGRAM)]]

    def _hash(self, path: str, purpose: str) -> str:
        if path not in self._hashes:
            self._hashes[path] = _folder_hash(path) if purpose == ANYTHING else program_hash()
        return self._hashes[path]


def _folder_hash(folder: str) -> str:
    """Return a hash that changes with the name, the size or the time of any file in a folder; empty if it cannot be
    listed.
    """
    try:
        with os.scandir(folder) as entries:
            files = [entry for entry in entries if not entry.is_dir()]
            return _hash_of(sorted([file.name, *_size_and_time(file.path)] for file in files))
    except OSError:
        return ""


def program_hash() -> str:
    """Return a hash that changes with Python, with any installed package, and with any module of keyframer, which may
    be in development.
    """
    from importlib.metadata import distributions

    installed = sorted({(str(distribution.name), distribution.version) for distribution in distributions()})
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    walked = ((folder, name) for folder, _, names in os.walk(top) for name in names)
    modules = [os.path.join(folder, name) for folder, name in walked if name.endswith(".py")]
    return _hash_of(
        [sys.version, installed, sorted([os.path.relpath(path, top), *_size_and_time(path)] for path in modules)]
    )


def _hash_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()


def _size_and_time(path: str) -> list[int | None]:
    try:
        status = os.stat(path)
    except OSError:
        return [None, None]
    return [status.st_size, status.st_mtime_ns]


def _companions(path: str, exists: Callable[[str], bool]) -> list[str]:
    """Return the names of the existing companions of a file."""
    return [name for name in companion_names(os.path.basename(path), COMPANION_ENDINGS) if exists(name)]


def _companions_on_disk(path: str) -> list[str]:
    """Return the companions on the disk. A disk that ignores case finds all spellings of a name, but lists one."""
    folder = os.path.dirname(path)
    return _companions(path, lambda name: os.path.lexists(os.path.join(folder, name)))


def file_entry(path: str | os.PathLike[str]) -> list[Any]:
    """Return the entry of a file that was read, or searched for without success."""
    absolute = os.path.abspath(path)
    return [absolute, *_size_and_time(absolute)]


def companion_entries(path: str) -> list[list[Any]]:
    """Return the entries for companions: files next to a file with the same stem."""
    folder = os.path.dirname(path)
    names = _companions_on_disk(path)
    return [[path, COMPANIONS, names], *(file_entry(os.path.join(folder, name)) for name in names)]


_LISTED = Listings(fresh=True, most=8)
"""listings of folders that were searched for images: most files of a folder are processed one after the other"""


def image_entries(
    folders: Iterable[str | os.PathLike[str]], names: Sequence[Sequence[str]], *, recursive: bool = False
) -> list[list[Any]]:
    """Return entries for images of these names in these folders, and in their subfolders if ``recursive``.

    A name is given in parts: ``MAPS``, ``WOOD.TGA`` is searched for in the subfolder ``MAPS`` and in the folder itself.
    """
    wanted = dict.fromkeys(name for parts in names for name in ("/".join(parts), parts[-1]))
    base_names = dict.fromkeys(parts[-1] for parts in names)
    entries: list[list[Any]] = []
    for folder in folders:
        top = os.path.abspath(folder)
        searches = [(name, IMAGES) for name in wanted] + [(name, INSIDE) for name in base_names if recursive]
        for name, purpose in searches:
            path = f"{top}{_BELOW}{name}"
            entries.append([path, purpose, _matching_images(_LISTED, path, purpose)])
    return entries


def _matching_images(listings: Listings, path: str, purpose: str) -> list[str]:
    top, _, name = path.rpartition(_BELOW)
    return listings.images_inside(top, name) if purpose == INSIDE else listings.images(top, name.split("/"))
