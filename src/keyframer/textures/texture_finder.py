"""Finds an image by its name, folder by folder: exact, in another case, with another extension, by eight characters.

Stored names are often DOS names: at most eight characters, upper or lower case, and the image may have been converted
to another format. Folders are searched in the given order, each with its subfolder ``MAPS``; they are on a disk or in a
container, where ``MAPS`` may also be beside one of the folders above. In each folder the exact name has priority, then
the guesses in the order above. With ``recursive`` all subfolders are searched after it. The result says whether it is
a guess.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO

from keyframer.files import members, read_bytes
from keyframer.files.member_names import file_on_disk, may_be_member
from keyframer.issues import IssueType
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Limits
from keyframer.text import dos_beginning, safe_text
from keyframer.textures.file_names import SplitName, split_name

HOW_FOUND = {
    "exact": "under its own name",
    "case": "in another case",
    "extension": "with another extension",
    "prefix": "by its first eight characters",
    "embedded": "inside the file",
    "outside": "a link that leads outside the folders, which is not followed",
    "missing": "not found",
    "refused": "refused",
}
"""possible values of `TextureMatch.how`, in words"""

_MAPS = "MAPS"
"""the folder of images in installations of 3D Studio, and on discs with models for it"""


@dataclass(frozen=True, slots=True)
class TextureMatch:
    """The result of searching for one name."""

    name: str
    """name as stored in the file"""
    path: Path | None
    """path of the image in one of the folders; None if it was not found or is embedded"""
    how: str
    """one of `HOW_FOUND`"""
    refusal: IssueType | None = None
    """why the path in the name was not followed (the image may still be found by its last part)"""
    in_subfolder: bool = False
    """whether it was found in a subfolder (``recursive``)"""
    without_folder: bool = False
    """whether it was found without the folder that the name contains"""
    others: tuple[str, ...] = ()
    """other names that matched equally well; the first in order was used"""

    @property
    def is_guess(self) -> bool:
        """Whether the image found has another name or place than requested."""
        is_elsewhere = self.refusal is not None or self.in_subfolder or self.without_folder
        return self.path is not None and (self.how != "exact" or is_elsewhere)

    def __str__(self) -> str:
        """Return the result as one safe line."""
        parts = [f"{safe_text(self.name)[:200]}: "]
        if self.refusal is not None:
            parts.append(f"{self.refusal.code}, its path is not followed; ")
        if self.path is None:
            return "".join([*parts, HOW_FOUND[self.how]])
        parts.append(f"found as {safe_text(self.path.name)}, {HOW_FOUND[self.how]}")
        parts.append(", in a subfolder" if self.in_subfolder else "")
        parts.append(", outside the folder in its name" if self.without_folder else "")
        parts.append(f" (also matching: {', '.join(map(safe_text, self.others[:3]))})" if self.others else "")
        return "".join(parts)

    def as_dict(self) -> dict[str, object]:
        """Return JSON values for reports, with safe names."""
        return {
            "name": safe_text(self.name)[:1000],
            "found": None if self.path is None else safe_text(self.path.name),
            "how": self.how,
            "guess": self.is_guess,
            "refusal": None if self.refusal is None else self.refusal.code,
            "others": [safe_text(other) for other in self.others[:10]],
        }


class TextureFinder:
    """Searches ``folders`` in order, with their subfolders if ``recursive``. A folder may be in a container, or the
    container itself.
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]], *, recursive: bool = False) -> None:
        self.folders = list(dict.fromkeys(Path(members.folder_in_container(os.fspath(folder))) for folder in folders))
        self.recursive = recursive
        self._listings: dict[Path, Listing] = {}
        self._subfolders: dict[Path, list[Path]] = {}
        self._matches: dict[str, TextureMatch] = {}

    @property
    def matches(self) -> list[TextureMatch]:
        """The results for all requested names, in the order of the first requests."""
        return list(self._matches.values())

    def find(self, name: str) -> TextureMatch:
        """Search for a name; never raises: a missing or refused image is a result."""
        if name not in self._matches:
            self._matches[name] = self._search(name)
        return self._matches[name]

    def _search(self, text: str) -> TextureMatch:
        name = split_name(text)
        how = "missing"
        for top, folder, files_folder, file_names, match in self._candidates(name):
            kinds = {file_name: self.kind(top, files_folder / file_name) for file_name in file_names}
            usable = [file_name for file_name in file_names if kinds[file_name] == "file"]
            how = "outside" if "outside" in kinds.values() else how
            if usable:
                path, others = files_folder / usable[0], tuple(usable[1:])
                without_folder = len(name.parts) > 1 and files_folder == folder
                return TextureMatch(text, path, match, name.refusal, folder != top, without_folder, others)
        return TextureMatch(text, None, "refused" if name.refusal and not name.parts else how, name.refusal)

    def _candidates(self, name: SplitName) -> Iterator[tuple[Path, Path, Path, list[str], str]]:
        """Yield groups of matching files, the most likely first: the given folder, the searched folder (the given one
        or one of its subfolders), the folder of the files, their names, and how they match. ``MAPS\\WOOD.TGA`` is
        searched for in the subfolder ``maps`` of a searched folder, then in that folder itself.
        """
        for top in self.folders if name.parts else ():
            for folder in self._searched_folders(top):
                subfolder = self._subfolder(folder, name.parts[:-1])
                for files_folder in dict.fromkeys((folder if subfolder is None else subfolder, folder)):
                    for file_names, match in self.listing(files_folder).search(name.parts[-1]):
                        yield top, folder, files_folder, file_names, match

    def _searched_folders(self, top: Path) -> Iterator[Path]:
        """Yield a given folder, folders named ``MAPS`` that belong to it and, if ``recursive``, its subfolders."""
        yield top
        if top not in self._subfolders:
            maps = (self._subfolder(folder, (_MAPS,)) for folder in (top, *_folders_above(top)))
            subfolders = _subfolders_of(top) if self.recursive else ()
            self._subfolders[top] = [*(folder for folder in maps if folder is not None), *subfolders]
        yield from self._subfolders[top]

    def _subfolder(self, folder: Path, parts: tuple[str, ...]) -> Path | None:
        """Return the subfolder that the parts of a path lead to, in upper or lower case; None if there is none."""
        for part in parts:
            subfolders = self.listing(folder).folders.get(part.casefold())
            if subfolders is None:
                return None
            folder = folder / (part if part in subfolders else subfolders[0])
        return folder

    def listing(self, folder: Path) -> Listing:
        """Return the names in a folder."""
        if folder not in self._listings:
            self._listings[folder] = listing_of(folder)
        return self._listings[folder]

    def kind(self, top: Path, path: Path) -> str:
        """Return ``file`` for a regular file whose real path is inside the folder, or a file in a container;
        ``outside`` if the real path is outside, ``other`` for anything else.
        """
        try:
            real = os.path.realpath(path, strict=True)
            root = os.path.realpath(top, strict=True)
            if os.path.commonpath([real, root]) != root:
                return "outside"
            return "file" if stat.S_ISREG(os.stat(real).st_mode) else "other"
        except (OSError, ValueError):
            return "file" if members.is_file(str(path)) else "other"

    def place_of(self, path: Path) -> str:
        """Return where a folder or a file is, independent of the working folder."""
        return os.path.abspath(path)

    def open(self, path: Path) -> IO[bytes]:
        """Open a file that was found, to read its beginning; raises OSError."""
        if may_be_member(str(path)):
            return BytesIO(self.read(path, DEFAULT_LIMITS.file_size))
        return open(path, "rb")

    def read(self, path: Path, most_bytes: int) -> bytes:
        """Return the content of a file that was found; raises OSError, and `FormatError` if it is too large."""
        return read_bytes(path, Limits(file_size=most_bytes))


def _folders_above(folder: Path) -> Iterator[Path]:
    """Yield the folders above a folder in a container; none on a disk: no name may lead out of a folder."""
    if members.names_in(str(folder)) is not None:
        for above in folder.parents:
            if members.names_in(str(above)) is None:
                return
            yield above


def _subfolders_of(top: Path) -> Iterator[Path]:
    """Yield subfolders in the order of names, each before its own subfolders, until `MOST_ENTRIES` entries were seen;
    links are not followed.
    """
    entries, waiting = 0, [top]
    while waiting:
        folder = waiting.pop()
        names = _names_in(folder)
        entries += len(names)
        if entries > MOST_ENTRIES:
            return
        if folder != top:
            yield folder
        waiting += [folder / name for name, is_folder in reversed(names) if is_folder]


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
        """Return the images that ``stem`` abbreviates: a DOS name of eight characters, the beginning of a longer one,
        or one such as ``STONEW~1``; None if there are none. A longer name is not one of DOS: an image with its first
        eight characters is another image.
        """
        dos_prefix = dos_beginning(stem)
        if dos_prefix is not None:
            matches = [name for key, names in self.prefixes.items() if key.startswith(dos_prefix) for name in names]
        elif len(stem) == 8:
            matches = self.prefixes.get(stem, [])
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
        modified = os.stat(file_on_disk(f"{folder}/") if may_be_member(f"{folder}/") else folder).st_mtime_ns
    except OSError:
        return Listing(_names_in(folder) if may_be_member(f"{folder}/") else ())  # dropped files are in memory
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
    if may_be_member(f"{folder}/"):
        return members.names_in(str(folder)) or []
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
