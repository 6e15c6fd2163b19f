"""What a job looked for beside its file, found or not, so that a later run sees when that changes.

The ledger keeps it as ``also``, a list of three values each: a file with its size and time, or with None twice if it
was not there; or the name that was looked for, what for (`COMPANIONS` or `IMAGES`), and the names that would do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

COMPANIONS, IMAGES = "companions", "images"

_COMPANION_ENDINGS = (".anim", ".mdl", ".skel")
_NO_IMAGES = frozenset(
    (*_COMPANION_ENDINGS, ".3ds", ".prj", ".mli", ".u3d", ".nanim", ".glb", ".gltf", ".bin", ".json", ".sqlite")
)
"""what stands beside images and is none, our own outputs among it"""


class Surroundings:
    """Tells whether all is as it was. A folder is listed once."""

    def __init__(self) -> None:
        self._listings: dict[str, _Listing] = {}

    def stand(self, also: Iterable[list[Any]]) -> bool:
        """Whether every entry is still true."""
        for path, size, known in also:
            if size == COMPANIONS:
                there = self._listing(os.path.dirname(path)).names
                if _companions(path, there.__contains__) != known and _companions_there(path) != known:
                    return False
            elif size == IMAGES:
                folder, name = os.path.split(path)
                if self._listing(folder).images.get(_short(name), []) != known:
                    return False
            elif _seen(path) != [size, known]:
                return False
        return True

    def _listing(self, folder: str) -> _Listing:
        if folder not in self._listings:
            self._listings[folder] = _Listing(folder)
        return self._listings[folder]


class _Listing:
    def __init__(self, folder: str) -> None:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            names = []
        self.names = frozenset(names)
        self.images: dict[str, list[str]] = {}
        for name in names:
            if os.path.splitext(name)[1].lower() not in _NO_IMAGES:
                self.images.setdefault(_short(name), []).append(name)


def _short(name: str) -> str:
    """Images are found in any case, with another extension, and by their first eight characters."""
    return os.path.splitext(name)[0].casefold()[:8]


def _seen(path: str) -> list[int | None]:
    try:
        status = os.stat(path)
    except OSError:
        return [None, None]
    return [status.st_size, status.st_mtime_ns]


def _companions(path: str, exists: Callable[[str], bool]) -> list[str]:
    """The names beside a file under its stem in the usual spellings, as `keyframer.formats` tries them."""
    own = os.path.basename(path)
    stem = os.path.splitext(own)[0]
    endings = [spelt for ending in _COMPANION_ENDINGS for spelt in (ending, ending.upper())]
    names = dict.fromkeys(spelt + ending for spelt in (stem, stem.lower(), stem.upper()) for ending in endings)
    return [name for name in names if name != own and exists(name)]


def _companions_there(path: str) -> list[str]:
    """As the disk has it: one that folds case knows a name in every spelling, its listing in one."""
    folder = os.path.dirname(path)
    return _companions(path, lambda name: os.path.lexists(os.path.join(folder, name)))


def file_of(path: str | os.PathLike[str]) -> list[Any]:
    """The entry of a file that was read, or looked for in vain."""
    place = os.path.abspath(path)
    return [place, *_seen(place)]


def companions_of(path: str) -> list[list[Any]]:
    """The entries for what may belong to a file and stand beside it under the same stem."""
    folder = os.path.dirname(path)
    names = _companions_there(path)
    return [[path, COMPANIONS, names], *(file_of(os.path.join(folder, name)) for name in names)]


_LISTED: dict[str, tuple[int | None, _Listing]] = {}
"""folders in which images were looked for, with their times: most files of a folder come one after the other"""
_MOST_LISTED = 8


def images_of(folders: Iterable[str | os.PathLike[str]], names: Sequence[Sequence[str]]) -> list[list[Any]]:
    """Entries for images of these names in these folders. Names are in parts: ``MAPS\\WOOD.TGA`` is looked for in the
    folder ``MAPS`` and without it."""
    places = {(*parts[:-1],): None for parts in names} | {(): None}
    tops = [os.path.abspath(folder) for folder in folders]
    found = []
    for top in tops:
        for place in places:
            folder = os.path.join(top, *place)
            lasts = dict.fromkeys(parts[-1] for parts in names if place in ((), (*parts[:-1],)))
            found += [
                [os.path.join(folder, last), IMAGES, _listed(folder).images.get(_short(last), [])] for last in lasts
            ]
    return found


def _listed(folder: str) -> _Listing:
    _, time = _seen(folder)
    kept = _LISTED.get(folder)
    if kept is None or kept[0] != time:
        if len(_LISTED) >= _MOST_LISTED:
            _LISTED.clear()
        kept = _LISTED[folder] = (time, _Listing(folder))
    return kept[1]
