"""The dependencies of a job: files that it searched for besides its input, found or not, so that a later run notices
changes.

The ledger stores them as ``also``, a list of three values each: a file with its size and time (None twice if it was
missing); or the file that was searched for, its purpose (`COMPANIONS`, `IMAGES` or `INSIDE`), and the matching names.
For an image that is the folder and, after ``//``, its name in the folder (`IMAGES`) or in subfolders (`INSIDE`). The
dependencies of a job that never finished are unknown: they could be anything in a folder (`ANYTHING`, with a hash of
its content) or the program itself (`PROGRAM`).
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

_NO_IMAGES = frozenset(
    (
        *(ending for known in EXPORTERS for ending in known.extensions),
        *(companion.extension for known in FORMATS for companion in known.companions),
        *(".bin", ".json", ".sqlite"),
    )
)
"""extensions of files next to images that are not images, our own outputs included"""


class Names:
    """Names of images, indexed by the beginning of their stems for fast matching."""

    def __init__(self) -> None:
        self._by_short: dict[str, list[str]] = {}
        self._sorted: list[str] | None = None

    def add(self, name: str, shown: str) -> None:
        stem, extension = os.path.splitext(name)
        if extension.lower() not in _NO_IMAGES:
            self._by_short.setdefault(stem.casefold()[:8], []).append(shown)
            self._sorted = None

    def matches(self, name: str) -> list[str]:
        """Return the names under which an image of this name could be found."""
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
    """The names in one folder; empty if it cannot be read."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen = change_time(folder)
        """change time of the folder when it was listed"""
        self.names: frozenset[str] = frozenset()
        self.images = Names()
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
        """Return the subfolder of this name, ignoring case."""
        folder = self._folders.get(name.casefold())
        return None if folder is None else name if name in folder else folder[0]


class Tree:
    """All subfolders of a folder, without its own files."""

    def __init__(self, folder: str) -> None:
        self.images = Names()
        self._seen: list[tuple[str, int | None]] = []
        count = 0
        for path, folders, names in os.walk(folder):
            folders.sort()
            self._seen.append((path, change_time(path)))
            count += len(folders) + len(names)
            if count > MOST_ENTRIES:
                return
            if path != folder:
                for name in sorted(names):
                    self.images.add(name, os.path.relpath(os.path.join(path, name), folder))

    def is_unchanged(self) -> bool:
        """Return whether no folder has changed since."""
        return all(change_time(path) == time for path, time in self._seen)


class Listings:
    """Listings and trees, each made once; with ``fresh`` changed ones are made again."""

    def __init__(self, *, fresh: bool = False, most: int | None = None) -> None:
        self._fresh = fresh
        self._most = most
        self._listings: dict[str, Listing] = {}
        self._trees: dict[str, Tree] = {}

    def listing(self, folder: str) -> Listing:
        kept = self._listings.get(folder)
        if kept is None or (self._fresh and kept.seen != change_time(folder)):
            if self._most is not None and len(self._listings) >= self._most:
                self._listings.clear()
            kept = self._listings[folder] = Listing(folder)
        return kept

    def tree(self, folder: str) -> Tree:
        kept = self._trees.get(folder)
        if kept is None or (self._fresh and not kept.is_unchanged()):
            if self._most is not None and len(self._trees) >= self._most:
                self._trees.clear()
            kept = self._trees[folder] = Tree(folder)
        return kept

    def images(self, top: str, parts: Sequence[str]) -> list[str]:
        """Return the matches of a name in parts (``MAPS\\WOOD.TGA``: ``maps/wood.tga``), as paths below ``top``."""
        listing = self.listing(top)
        below = ""
        for part in parts[:-1]:
            inner = listing.subfolder(part)
            if inner is None:
                return []
            below = f"{below}{inner}/"
            listing = self.listing(f"{listing.folder}/{inner}")
        return [f"{below}{name}" for name in listing.images.matches(parts[-1])]

    def images_inside(self, top: str, name: str) -> list[str]:
        """Return the matches in any subfolder of ``top``, as paths below it."""
        return self.tree(top).images.matches(name)


def change_time(folder: str) -> int | None:
    """Return when a folder was last changed; None if it does not exist."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return None


COMPANIONS, IMAGES, INSIDE, ANYTHING, PROGRAM = "companions", "images", "inside", "anything", "program"

_BELOW = "//"


class Dependencies:
    """Checks whether the dependencies of jobs are unchanged. Each folder is listed once."""

    def __init__(self) -> None:
        self._listings = Listings()
        self._hashes: dict[str, str] = {}

    def are_unchanged(self, also: Iterable[list[Any]]) -> bool:
        """Return whether every entry is unchanged."""
        for path, size_or_purpose, known in also:
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

    def entries_for_unfinished(self, folders: Iterable[str]) -> list[list[Any]]:
        """Return the entries of a job that never finished: everything in these folders, and the program."""
        tops = [(os.path.abspath(folder), ANYTHING) for folder in folders]
        return [[path, purpose, self._hash(path, purpose)] for path, purpose in [*tops, (PROGRAM, PROGRAM)]]

    def _hash(self, path: str, purpose: str) -> str:
        if path not in self._hashes:
            self._hashes[path] = _hashed_folder(path) if purpose == ANYTHING else hashed_program()
        return self._hashes[path]


def _hashed_folder(folder: str) -> str:
    """Return a hash that changes with the name, the size or the time of any file in a folder."""
    try:
        with os.scandir(folder) as entries:
            return _hashed(sorted([entry.name, *_size_and_time(entry.path)] for entry in entries if not entry.is_dir()))
    except OSError:
        return ""


def hashed_program() -> str:
    """Return a hash that changes with Python, any installed package, and the files of this one (it may be in
    development).
    """
    from importlib.metadata import distributions

    installed = sorted({(str(distribution.name), distribution.version) for distribution in distributions()})
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    modules = [os.path.join(where, name) for where, _, names in os.walk(top) for name in names if name.endswith(".py")]
    return _hashed(
        [sys.version, installed, sorted([os.path.relpath(path, top), *_size_and_time(path)] for path in modules)]
    )


def _hashed(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode("ascii")).hexdigest()


def _size_and_time(path: str) -> list[int | None]:
    try:
        status = os.stat(path)
    except OSError:
        return [None, None]
    return [status.st_size, status.st_mtime_ns]


def _companions(path: str, exists: Callable[[str], bool]) -> list[str]:
    """Return the names next to a file that belong to it."""
    return [name for name in companion_names(os.path.basename(path), COMPANION_ENDINGS) if exists(name)]


def _companions_on_disk(path: str) -> list[str]:
    """Return the companions on the disk: if it ignores case, a name exists in every spelling but is listed in one."""
    folder = os.path.dirname(path)
    return _companions(path, lambda name: os.path.lexists(os.path.join(folder, name)))


def file_entry(path: str | os.PathLike[str]) -> list[Any]:
    """Return the entry of a file that was read, or searched for without success."""
    place = os.path.abspath(path)
    return [place, *_size_and_time(place)]


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
    """Return entries for images of these names in these folders, and in their subfolders if ``recursive``. Names are in
    parts: ``MAPS\\WOOD.TGA`` is looked for in the folder ``MAPS`` and without it.
    """
    wanted = dict.fromkeys(name for parts in names for name in ("/".join(parts), parts[-1]))
    base_names = dict.fromkeys(parts[-1] for parts in names)
    images: list[list[Any]] = []
    for folder in folders:
        top = os.path.abspath(folder)
        looked_for = [(name, IMAGES) for name in wanted] + [(name, INSIDE) for name in base_names if recursive]
        for name, purpose in looked_for:
            entry = f"{top}{_BELOW}{name}"
            images.append([entry, purpose, _matching_images(_LISTED, entry, purpose)])
    return images


def _matching_images(listings: Listings, entry: str, purpose: str) -> list[str]:
    top, _, name = entry.rpartition(_BELOW)
    return listings.images_inside(top, name) if purpose == INSIDE else listings.images(top, name.split("/"))
