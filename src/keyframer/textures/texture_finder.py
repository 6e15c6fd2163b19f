"""Finds an image by its name, folder by folder: exact, in another case, with another extension, by eight characters.

Stored names are DOS names: eight characters, in any case, and often the image has since been converted to another
format. Folders are searched in the given order (that of the file first); in each the exact name has priority, then the
guesses in the order above. With ``recursive`` subfolders follow their folder. The result names every guess.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from keyframer.fields import dataclass
from keyframer.issues import IssueType
from keyframer.limits import MOST_ENTRIES
from keyframer.text import safe_text
from keyframer.textures.file_names import Name, split_name
from keyframer.textures.folder_listing import Listing, listing_of

HOW = {
    "exact": "under its own name",
    "case": "in another case",
    "extension": "with another extension",
    "prefix": "by its first eight characters",
    "embedded": "inside the file",
    "outside": "a link that leads outside the folders, which is not followed",
    "missing": "not found",
    "refused": "refused",
}
"""possible values of `TextureMatch.how`"""


@dataclass(frozen=True, slots=True)
class TextureMatch:
    """The result of searching for one name."""

    name: str
    """name as stored in the file"""
    path: Path | None
    """path of the image in one of the folders; None if it was not found"""
    how: str
    """one of `HOW`"""
    refusal: IssueType | None = None
    """why the path in the name was not followed (the image may still be found by its last part)"""
    from_inside: bool = False
    """whether it was found in a subfolder (``recursive``)"""
    without_folder: bool = False
    """whether it was found without the folder that the name contains"""
    others: tuple[str, ...] = ()
    """other names that matched equally well; the first in order was used"""

    @property
    def is_guess(self) -> bool:
        """Whether the image found has another name or place than requested."""
        moved = self.refusal is not None or self.from_inside or self.without_folder
        return self.path is not None and (self.how != "exact" or moved)

    def __str__(self) -> str:
        """Return the result as one safe line."""
        description = [f"{safe_text(self.name)[:200]}: "]
        if self.refusal is not None:
            description.append(f"{self.refusal.code}, its path is not followed; ")
        if self.path is None:
            return "".join([*description, HOW[self.how]])
        description.append(f"{safe_text(self.path.name)} {HOW[self.how]}")
        description.append(" in a subfolder" if self.from_inside else "")
        description.append(" without its folder" if self.without_folder else "")
        description.append(f" (others: {', '.join(map(safe_text, self.others[:3]))})" if self.others else "")
        return "".join(description)

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
        self._inside: dict[Path, list[Path]] = {}
        self._matches: dict[str, TextureMatch] = {}

    @property
    def matches(self) -> list[TextureMatch]:
        """All requested names, in order."""
        return list(self._matches.values())

    def find(self, name: str) -> TextureMatch:
        """Return the image of this name, or the reason why there is none; never raises."""
        if name not in self._matches:
            self._matches[name] = self._search(name)
        return self._matches[name]

    def _search(self, text: str) -> TextureMatch:
        name = split_name(text)
        how = "missing"
        for top, folder, place, names, fit in self._candidates(name):
            kinds = {name: _kind(top, place / name) for name in names}
            usable = [name for name in names if kinds[name] == "file"]
            how = "outside" if "outside" in kinds.values() else how
            if usable:
                without_folder = len(name.parts) > 1 and place == folder
                return TextureMatch(
                    text, place / usable[0], fit, name.refusal, folder != top, without_folder, tuple(usable[1:])
                )
        return TextureMatch(text, None, "refused" if name.refusal else how, name.refusal)

    def _candidates(self, name: Name) -> Iterator[tuple[Path, Path, Path, list[str], str]]:
        """Yield matching names, the most likely first: the given folder, a subfolder, the path in it, and how it
        matches. ``MAPS\\WOOD.TGA`` is searched for in the folder ``maps`` first, then without it.
        """
        for top in self.folders if name.parts else ():
            for folder in self._places(top):
                subfolder = self._below(folder, name.parts[:-1])
                for place in dict.fromkeys((folder if subfolder is None else subfolder, folder)):
                    for names, fit in self._list(place).search(name.parts[-1]):
                        yield top, folder, place, names, fit

    def _places(self, top: Path) -> Iterator[Path]:
        """Yield a given folder and, if ``recursive``, its subfolders."""
        yield top
        if self.recursive:
            if top not in self._inside:
                self._inside[top] = list(_folders_inside(top))
            yield from self._inside[top]

    def _below(self, folder: Path, parts: tuple[str, ...]) -> Path | None:
        """Return the subfolder that the parts of a path lead to, in any case; None if there is none."""
        for part in parts:
            inside = self._list(folder).folders.get(part.casefold())
            if inside is None:
                return None
            folder = folder / (part if part in inside else inside[0])
        return folder

    def _list(self, folder: Path) -> Listing:
        if folder not in self._listings:
            self._listings[folder] = listing_of(folder)
        return self._listings[folder]


def _kind(top: Path, path: Path) -> str:
    """Return ``file`` for a regular file inside the folder even after following links, ``outside`` if it is outside,
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


def _folders_inside(top: Path) -> Iterator[Path]:
    """Yield subfolders in the order of names, each before its own subfolders; links are not followed."""
    seen = 0
    for where, folders, names in os.walk(top, followlinks=False):
        folders.sort()
        seen += len(folders) + len(names)
        if seen > MOST_ENTRIES:
            return
        if Path(where) != top:
            yield Path(where)
