"""The dependencies of a job: files that it searched for besides its input, found or not, so that a later run notices
changes.

The ledger stores them in the column ``also`` as entries of three values. A later run repeats each search:

* a file that was read or is missing: its path, size and time (both None if it is missing);
* a search for companions: the path of the file that they belong to, `COMPANIONS`, and their names;
* a search for images: the folders and whether their subfolders are searched, as JSON; `IMAGES`; and each name with the
  path that was found, or None (in a store: the URL and the stamp of the object);
* all files in a folder: its path, `ANYTHING`, and a hash;
* the program: `PROGRAM` twice, and a hash.

The last two are for jobs that ended before their dependencies were known.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from keyframer.batch.storage import is_url
from keyframer.files import members
from keyframer.files.member_names import file_on_disk, may_be_member
from keyframer.formats import COMPANION_ENDINGS, COMPANION_STEMS
from keyframer.formats.contract import companion_names

if TYPE_CHECKING:
    from keyframer.textures import TextureFinder, TextureMatch

COMPANIONS, IMAGES, ANYTHING, PROGRAM = "companions", "images", "anything", "program"


class Dependencies:
    """Checks whether the dependencies of jobs are unchanged. Each search is made once."""

    def __init__(self) -> None:
        self._finders: dict[str, TextureFinder] = {}
        self._hashes: dict[str, str] = {}

    def are_unchanged(self, entries: Iterable[list[Any]], source: str) -> bool:
        """Return whether every search for the files of a source has the same result as before."""
        return all(self._is_unchanged(source, *entry) for entry in entries)

    def _is_unchanged(self, source: str, where: str, purpose: str | int | None, known: Any) -> bool:
        found: object
        if purpose == COMPANIONS:
            found = _companions(where)
        elif purpose == IMAGES:
            finder = self._finder(where, source)
            try:
                found = None if finder is None else [[name, _place(finder, finder.find(name))] for name, _ in known]
            except OSError:  # a store that does not answer
                return False
        elif purpose in (ANYTHING, PROGRAM):
            found = self._hash(where)
        else:
            return _size_and_time(where) == [purpose, known]
        return bool(found == known)

    def _finder(self, where: str, source: str) -> TextureFinder | None:
        """Return the finder of a search for images; None if its description is damaged, or names another store than
        the source: a ledger must not decide whom we send requests to.
        """
        if where not in self._finders:
            from keyframer.batch.store_images import StoreFinder
            from keyframer.textures import TextureFinder

            try:
                folders, recursive = json.loads(where)
                if not is_url(folders[0]):
                    self._finders[where] = TextureFinder(folders, recursive=bool(recursive))
                elif folders[0] == source.rpartition("/")[0]:
                    self._finders[where] = StoreFinder(folders[0], folders[1:], recursive=bool(recursive))
                else:
                    return None
            except (ValueError, TypeError, LookupError, RecursionError):
                return None
        return self._finders[where]

    def entries_if_unknown(self, folders: Iterable[str]) -> list[list[Any]]:
        """Return the entries of a job whose dependencies are unknown: all files in these folders, and the program."""
        searched = [[folder, ANYTHING, self._hash(folder)] for folder in map(os.path.abspath, folders)]
        return [*searched, [PROGRAM, PROGRAM, self._hash(PROGRAM)]]

    def _hash(self, where: str) -> str:
        if where not in self._hashes:
            self._hashes[where] = program_hash() if where == PROGRAM else _folder_hash(where)
        return self._hashes[where]


def file_entry(path: str | os.PathLike[str]) -> list[Any]:
    """Return the entry of a file that was read, or searched for without success."""
    absolute = os.path.abspath(path)
    return [absolute, *_size_and_time(absolute)]


def companion_entries(path: str) -> list[list[Any]]:
    """Return the entries for companions: files next to a file with the same stem."""
    names = _companions(path)
    return [[path, COMPANIONS, names], *(file_entry(os.path.join(os.path.dirname(path), name)) for name in names)]


def image_entries(finder: TextureFinder) -> list[list[Any]]:
    """Return the entries for all images that a finder has searched for."""
    found = [[match.name, _place(finder, match)] for match in finder.matches]
    if not found:
        return []
    where = json.dumps([[finder.place_of(folder) for folder in finder.folders], finder.recursive])
    return [[where, IMAGES, found], *(file_entry(path) for _, path in found if path is not None and not is_url(path))]


def _place(finder: TextureFinder, match: TextureMatch) -> str | None:
    return None if match.path is None else finder.place_of(match.path)


def _companions(path: str) -> list[str]:
    """Return the names of the existing companions of a file."""
    folder, name = os.path.split(path)
    names = companion_names(name, COMPANION_ENDINGS, COMPANION_STEMS)
    paths = {other: os.path.join(folder, other) for other in names}
    return [other for other, path in paths.items() if os.path.lexists(path) or members.is_file(path)]


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
    """Return size and time of a file; of a file in a container, those of the container."""
    try:
        if may_be_member(path) and members.is_file(path):
            path = file_on_disk(path)
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a name that cannot be encoded
        return [None, None]
    return [status.st_size, status.st_mtime_ns]
