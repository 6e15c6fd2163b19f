"""What a job looked for beside its file, found or not, so that a later run sees when that changes.

The ledger keeps it as ``also``, a list of three values each: a file with its size and time, or with None twice if it
was not there; or what was looked for, what for (`COMPANIONS`, `IMAGES` or `INSIDE`), and the names that would do. Of an
image that is the folder and, behind ``//``, its name in the folder (`IMAGES`), or in the folders inside (`INSIDE`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from keyframer.batch.listings import Listings

COMPANIONS, IMAGES, INSIDE = "companions", "images", "inside"

_COMPANION_ENDINGS = (".anim", ".mdl", ".skel")
_BELOW = "//"


class Surroundings:
    """Tells whether all is as it was. A folder is listed once."""

    def __init__(self) -> None:
        self._listings = Listings()

    def stand(self, also: Iterable[list[Any]]) -> bool:
        """Whether every entry is still true."""
        for path, size, known in also:
            if size == COMPANIONS:
                there = self._listings.listing(os.path.dirname(path)).names
                if _companions(path, there.__contains__) != known and _companions_there(path) != known:
                    return False
            elif size in (IMAGES, INSIDE):
                if _would_do(self._listings, path, size) != known:
                    return False
            elif _seen(path) != [size, known]:
                return False
        return True


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


_LISTED = Listings(fresh=True, most=8)
"""of folders in which images were looked for: most files of a folder come one after the other"""


def images_of(
    folders: Iterable[str | os.PathLike[str]], names: Sequence[Sequence[str]], *, recursive: bool = False
) -> list[list[Any]]:
    """Entries for images of these names in these folders, and in those inside if ``recursive``. Names are in parts:
    ``MAPS\\WOOD.TGA`` is looked for in the folder ``MAPS`` and without it."""
    wanted = dict.fromkeys(way for parts in names for way in ("/".join(parts), parts[-1]))
    lasts = dict.fromkeys(parts[-1] for parts in names)
    found: list[list[Any]] = []
    for folder in folders:
        top = os.path.abspath(folder)
        looked_for = [(way, IMAGES) for way in wanted] + [(last, INSIDE) for last in lasts if recursive]
        for way, what in looked_for:
            entry = f"{top}{_BELOW}{way}"
            found.append([entry, what, _would_do(_LISTED, entry, what)])
    return found


def _would_do(listings: Listings, entry: str, what: str) -> list[str]:
    top, _, way = entry.rpartition(_BELOW)
    return listings.images_inside(top, way) if what == INSIDE else listings.images(top, way.split("/"))
