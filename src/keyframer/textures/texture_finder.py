"""Finds an image by its name, folder by folder: exact, in another case, with another extension, by eight characters.

Stored names are often DOS names: at most eight characters, upper or lower case, and the image may have been converted
to another format. Folders are searched in the given order. In each folder the exact name has priority, then the guesses
in the order above. With ``recursive`` the subfolders of a folder are searched after it. The result says whether it is a
guess.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keyframer.issues import IssueType
from keyframer.limits import MOST_ENTRIES
from keyframer.text import safe_text
from keyframer.textures.file_names import SplitName, split_name
from keyframer.textures.folder_listing import Listing, listing_of

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
    """Searches ``folders`` in order, with their subfolders if ``recursive``."""

    def __init__(self, folders: Sequence[str | os.PathLike[str]], *, recursive: bool = False) -> None:
        self.folders = list(dict.fromkeys(Path(folder) for folder in folders))
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
            kinds = {file_name: _kind(top, files_folder / file_name) for file_name in file_names}
            usable = [file_name for file_name in file_names if kinds[file_name] == "file"]
            how = "outside" if "outside" in kinds.values() else how
            if usable:
                path, others = files_folder / usable[0], tuple(usable[1:])
                without_folder = len(name.parts) > 1 and files_folder == folder
                return TextureMatch(text, path, match, name.refusal, folder != top, without_folder, others)
        return TextureMatch(text, None, "refused" if name.refusal else how, name.refusal)

    def _candidates(self, name: SplitName) -> Iterator[tuple[Path, Path, Path, list[str], str]]:
        """Yield groups of matching files, the most likely first: the given folder, the searched folder (the given one
        or one of its subfolders), the folder of the files, their names, and how they match. ``MAPS\\WOOD.TGA`` is
        searched for in the subfolder ``maps`` of a searched folder, then in that folder itself.
        """
        for top in self.folders if name.parts else ():
            for folder in self._searched_folders(top):
                subfolder = self._subfolder(folder, name.parts[:-1])
                for files_folder in dict.fromkeys((folder if subfolder is None else subfolder, folder)):
                    for file_names, match in self._listing(files_folder).search(name.parts[-1]):
                        yield top, folder, files_folder, file_names, match

    def _searched_folders(self, top: Path) -> Iterator[Path]:
        """Yield a given folder and, if ``recursive``, its subfolders."""
        yield top
        if self.recursive:
            if top not in self._subfolders:
                self._subfolders[top] = list(_subfolders_of(top))
            yield from self._subfolders[top]

    def _subfolder(self, folder: Path, parts: tuple[str, ...]) -> Path | None:
        """Return the subfolder that the parts of a path lead to, in upper or lower case; None if there is none."""
        for part in parts:
            subfolders = self._listing(folder).folders.get(part.casefold())
            if subfolders is None:
                return None
            folder = folder / (part if part in subfolders else subfolders[0])
        return folder

    def _listing(self, folder: Path) -> Listing:
        if folder not in self._listings:
            self._listings[folder] = listing_of(folder)
        return self._listings[folder]


def _kind(top: Path, path: Path) -> str:
    """Return ``file`` for a regular file whose real path is inside the folder, ``outside`` if the real path is outside,
    ``other`` for anything else.
    """
    try:
        real = os.path.realpath(path, strict=True)
        root = os.path.realpath(top, strict=True)
        if os.path.commonpath([real, root]) != root:
            return "outside"
        return "file" if stat.S_ISREG(os.stat(real).st_mode) else "other"
    except (OSError, ValueError):
        return "other"


def _subfolders_of(top: Path) -> Iterator[Path]:
    """Yield subfolders in the order of names, each before its own subfolders, until `MOST_ENTRIES` entries were seen;
    links are not followed.
    """
    entries = 0
    for folder, subfolders, names in os.walk(top, followlinks=False):
        subfolders.sort()
        entries += len(subfolders) + len(names)
        if entries > MOST_ENTRIES:
            return
        if Path(folder) != top:
            yield Path(folder)
